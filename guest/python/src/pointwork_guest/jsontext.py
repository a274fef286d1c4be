"""JSON, with errors that name the value that cannot be written, and the place of what cannot be read."""

import dataclasses
import functools
import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from .jsonplaces import DEEPEST, forbidden_key, line_and_column, lone_surrogate, too_deep

_SURROGATE = re.compile("[\ud800-\udfff]")


@functools.lru_cache(maxsize=1024)
def field_names(kind: Any) -> tuple[str, ...] | None:
    """The fields of a dataclass or of an attrs class."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    attributes = getattr(kind, "__attrs_attrs__", None)
    return None if attributes is None else tuple(attribute.name for attribute in attributes)


def plain_value(value: Any) -> Any:
    """The JSON value of what the encoder does not know."""
    kind: Any = type(value)
    names = field_names(kind)
    if names is not None:
        return {name: getattr(value, name) for name in names}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (UUID, Decimal)):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a value of the type `{kind.__name__}` is no JSON")


def _encoder() -> Callable[[Any], str]:
    """The encoder of `json`, made once: `JSONEncoder.encode` makes another one for each value, which takes most of
    its time.
    """
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain_value).encode
    markers: dict[int, object] = {}
    encode = make(markers, plain_value, json.encoder.encode_basestring, None, ":", ",", False, False, False)

    def text(value: Any) -> str:
        try:
            return "".join(encode(value, 0))
        finally:
            markers.clear()

    return text


_encode = _encoder()
_scan: Callable[[str, int], tuple[Any, int]] = getattr(json.JSONDecoder(), "scan_once")


def json_text(value: object, what: str, name: str = "") -> str:
    """The text of a value. `what` and `name` say in the error which value it is."""
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        problem = _unfit(value, "", [])
        if problem is None:
            # An error of a property of the value has its own place.
            if isinstance(error, RecursionError):
                raise
            problem = str(error)
    else:
        if surrogate_problem(text) is None:
            return text
        problem = _unfit(value, "", [])
    # Not within `except`: an exception whose context is a `RecursionError` would trap, and clients may cause deep values.
    raise TypeError(f"{what}{_named(name)} cannot be written as JSON: {problem}")


def _named(name: str) -> str:
    return f" `{name}`" if name else ""


def utf8_text(text: str, what: str, name: str = "") -> str:
    """The text, if UTF-8 can write it. `what` and `name` say in the error which text it is."""
    problem = surrogate_problem(text)
    if problem is not None:
        raise TypeError(f"{what}{_named(name)} {problem}")
    return text


def surrogate_problem(text: str) -> str | None:
    found = None if text.isascii() else _SURROGATE.search(text)
    if found is None:
        return None
    return f"has half of a character, `\\u{ord(found[0]):x}`, at position {found.start()}, expected text that UTF-8 can write"


def host_value(text: str) -> Any:
    """The value of a payload or a result, which a module in another language may have written: a `JsonFault` if it has
    what a body may not have."""
    check_depth(text)
    try:
        value, end = _scan(text, 0)
        if end != len(text):
            value = json.loads(text)
    except StopIteration:
        value = json.loads(text)
    check_json(text)
    return value


def well_formed(text: str) -> str:
    """Text without surrogates, which UTF-8 does not have."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _unfit(value: Any, path: str, above: list[object]) -> str | None:
    """Finds what the encoder refuses, since its error does not say where it is."""
    at = f"`{path}`" if path else "the value"
    if isinstance(value, str):
        problem = surrogate_problem(value)
        return None if problem is None else f"{at} {problem}"
    if value is None or isinstance(value, (bool, int)):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{at} is {value}, expected a finite number"
    if any(one is value for one in above):
        return f"{at} refers to a value that contains it"
    if len(above) > 200:
        return f"{at} is nested more than 200 deep"
    if isinstance(value, (list, tuple)):
        parts: list[tuple[object, Any]] = list(enumerate(value))
    elif isinstance(value, dict):
        for key in value:
            if not (key is None or isinstance(key, (str, int, float))):
                return f"{at} has a key of the type `{type(key).__name__}`, expected a text"
            problem = surrogate_problem(key) if isinstance(key, str) else None
            if problem is not None:
                return f"a key of {at} {problem}"
        parts = list(value.items())
    else:
        try:
            return _unfit(plain_value(value), path, [*above, value])
        except TypeError:
            return f"{at} has the type `{type(value).__name__}`, expected a value that JSON has, or a dataclass"
    for key, part in parts:
        found = _unfit(part, f"{path}.{key}" if path else str(key), [*above, value])
        if found is not None:
            return found
    return None


class JsonFault(Exception):
    """A text that is no JSON; the message has the place."""


def _no_constant(name: str) -> Any:
    raise JsonFault(f"`{name}` is no JSON")


def _finite(text: str) -> float:
    # Python makes infinity of it, which no reply can have.
    value = float(text)
    if math.isinf(value):
        raise JsonFault(f"`{text[:32]}` is larger than a number can be")
    return value


_decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
_EXPECTED = {
    "Expecting value": "expected a JSON value",
    "Extra data": "expected the end of the text",
    "Expecting property name enclosed in double quotes": "expected a name in quotation marks",
    "Unterminated string starting at": 'expected a text that ends with `"`, which begins',
    "Invalid control character at": "expected no control character in a text",
}


def parse_json(text: str) -> Any:
    """The value of a client's text."""
    check_depth(text)
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        known = error.msg.replace("'", "`").replace("Expecting", "expected").removesuffix(" delimiter")
        expected = _EXPECTED.get(error.msg, known)
        raise JsonFault(f"{expected} at line {error.lineno} column {error.colno}") from None
    except ValueError:
        # Python bounds the digits of an integer.
        raise JsonFault(f"a whole number has more than {sys.get_int_max_str_digits()} digits") from None
    except RecursionError:
        raise JsonFault("it cannot be read as JSON") from None
    check_json(text)
    return value


def check_depth(text: str) -> None:
    """Refuses JSON that is nested more than `DEEPEST` deep: the code in C that reads it would exhaust the stack."""
    at = too_deep(text) if text.count("[") + text.count("{") > DEEPEST else None
    if at is not None:
        raise JsonFault(f"it is nested more than {DEEPEST} deep at {line_and_column(text, at)}")


def check_json(text: str) -> None:
    """Refuses what a text of JSON may not have: keys by which programs in JavaScript are attacked, and halves of
    characters."""
    key = forbidden_key(text)
    half = lone_surrogate(text)
    if half is not None and (key is None or half < key[1]):
        escape, place = text[half : half + 6].lower(), line_and_column(text, half, ", ")
        raise JsonFault(f"`{escape}` at {place} is half of a surrogate pair, expected both halves")
    if key is not None:
        raise JsonFault(f"the key `{key[0]}` at {line_and_column(text, key[1], ', ')} is not allowed")
