"""Payloads and results of events."""

from dataclasses import dataclass
from typing import Any

from . import raw
from .jsontext import host_value, json_text


@dataclass(frozen=True, slots=True)
class Payload:
    """Bytes with a content type: a payload or a result of an event that is not JSON. It crosses unchanged."""

    content_type: str
    data: bytes


def exact_bytes(data: object) -> bytes:
    """The runtime of componentize-py takes nothing else for bytes."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError(f"expected `bytes`, got a value of the type `{type(data).__name__}`")


def lower_payload(value: object, what: str, name: str) -> raw.Payload:
    """`bytes` and `Payload` cross as bytes, any other value as JSON."""
    kind = type(value)
    if kind is int:
        return raw.Payload_Json(str(value))
    if kind is dict or kind is str or kind is list:
        return raw.Payload_Json(json_text(value, what, name))
    if value is None:
        return raw.Payload_Json("null")
    if isinstance(value, Payload):
        return raw.Payload_Bytes(raw.Binary(str(value.content_type), exact_bytes(value.data)))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return raw.Payload_Bytes(raw.Binary("application/octet-stream", bytes(value)))
    return raw.Payload_Json(json_text(value, what, name))


def lift_payload(payload: raw.Payload) -> Any:
    if isinstance(payload, raw.Payload_Json):
        return host_value(payload.value)
    return Payload(payload.value.content_type, payload.value.data)
