"""JSON and text, and their content types."""

from __future__ import annotations

import json
from typing import Any

from ._errors import Failure

JSON = "application/json"
BYTES = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"


def json_bytes(value: Any) -> bytes:
    """A value as JSON."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        # A half of a surrogate pair, which JSON has as an escape only.
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def parse_json(data: bytes, what: str) -> Any:
    """The value of JSON that came from outside. Raises `Failure` with status 400 if it is not JSON."""
    try:
        return json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Failure(400, f"the {what} is not JSON: {error}", code="bad-payload") from error


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def parse_text(data: bytes, what: str) -> str:
    """A text that came from outside. Raises `Failure` with status 400 if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Failure(400, f"the {what} is no UTF-8 text: {error}", code="bad-payload") from error
