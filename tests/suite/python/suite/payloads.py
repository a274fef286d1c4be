"""The texts of the suite's programs need not be JSON, as the contract does not ask it of a payload. The SDK reads and writes values, so
a text that is not the JSON of a value crosses the SDK as bytes of the type JSON.
"""

import json
from typing import Any

from pointwork_guest import Payload, raw

JSON = "application/json"


def text_of(data: bytes) -> str:
    """Bytes as a text of a program. Bytes that are no UTF-8 are surrogates."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def plain(text: str) -> str:
    """The text, if it is UTF-8."""
    text.encode()
    return text


def value_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_of_value(text: str) -> bool:
    """Whether the text is exactly the JSON of a value."""
    try:
        return value_text(json.loads(text)) == text
    except (ValueError, RecursionError):
        return False


def lifted(payload: raw.Payload) -> raw.Payload:
    """A payload of the host, as the SDK can read it."""
    if isinstance(payload, raw.Payload_Bytes) or is_of_value(payload.value):
        return payload
    return raw.Payload_Bytes(raw.Binary(JSON, payload.value.encode()))


def shown(value: object) -> str:
    """The text of a payload or a result."""
    return text_of(value.data) if isinstance(value, Payload) else value_text(value)


def payload_of(text: str, content_type: str) -> Any:
    """A payload or a result of this text: JSON, where an empty text is `null`, or bytes of another type."""
    if content_type == JSON and not text:
        return None
    if content_type == JSON and is_of_value(text):
        return json.loads(text)
    return Payload(content_type, bytes_of(text))
