"""Readers of values without parts: texts, numbers, `bool`, dates and times, from JSON and from texts.

A text of a path, query, header or form has to spell the number that JSON has, so each type has two readers.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any, Literal
from uuid import UUID

from .constraints import Measure
from .misfits import Invalid, refused

_MOST_DIGITS = 400
_MOST_DECIMAL_DIGITS = 4300
"""The digits of a `Decimal`, and its largest exponent. Python's own bound of the digits of an `int` is the same. Arithmetic
costs the square of the digits."""

Read = Callable[[Any], Any]
Kind = Literal["any", "null", "scalar", "text", "list", "object"]
"""What a type is made of. `text` is a scalar that every text fits."""


@dataclass(slots=True)
class Reader:
    """`expected` says in errors what fits. `exact` has the types whose values are themselves what is read."""

    read: Read
    expected: str
    kind: Kind
    measure: Measure | None = None
    exact: frozenset[type] = frozenset()


def exactly(kind: type, expected: str, of: Kind, measure: Measure | None = None) -> Reader:
    def read(value: Any) -> Any:
        # `True` is an `int` of Python, and no number of JSON.
        if type(value) is kind:
            return value
        raise refused(expected, value)

    return Reader(read, expected, of, measure, frozenset([kind]))


def _from_text(make: Callable[[str], Any], expected: str, measure: Measure | None = None) -> Reader:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            try:
                return make(value)
            except (ValueError, InvalidOperation):
                raise refused(expected, value, is_text=True) from None
        raise refused(expected, value)

    return Reader(read, expected, "scalar", measure)


def _number(value: Any) -> float:
    if type(value) is float or type(value) is int:
        try:
            return float(value)
        except OverflowError:
            pass
    raise refused("a number", value)


def _finite_decimal(text: str) -> Decimal:
    found = Decimal(text)
    # A program may write the digits of the number in place of its exponent.
    if not found.is_finite() or abs(found.adjusted()) > _MOST_DECIMAL_DIGITS:
        raise InvalidOperation
    # To count the digits takes longer than to make the number.
    if len(text) > _MOST_DECIMAL_DIGITS and len(found.as_tuple().digits) > _MOST_DECIMAL_DIGITS:
        raise InvalidOperation
    return found


_decimal_text = _from_text(_finite_decimal, "a decimal number", "number")


def _decimal(value: Any) -> Decimal:
    if type(value) is int or type(value) is float:
        return Decimal(str(value))
    found: Decimal = _decimal_text.read(value)
    return found


_BOTH = {
    UUID: _from_text(UUID, "a UUID"),
    datetime: _from_text(datetime.fromisoformat, "a date and time such as `2026-01-31T12:00:00Z`", "moment"),
    date: _from_text(date.fromisoformat, "a date such as `2026-01-31`", "moment"),
    time: _from_text(time.fromisoformat, "a time such as `12:00:00`", "moment"),
}
JSON_SCALARS = {
    **_BOTH,
    str: exactly(str, "a text", "text", "text"),
    int: exactly(int, "a whole number", "scalar", "number"),
    bool: exactly(bool, "`true` or `false`", "scalar"),
    float: Reader(_number, "a number", "scalar", "number", frozenset([float])),
    Decimal: Reader(_decimal, "a decimal number", "scalar", "number"),
}

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def one_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise Invalid(f"expected one value, got {len(value)}")


def _int(value: Any) -> int:
    if _INT.fullmatch(one_text(value)) and len(value) <= _MOST_DIGITS:
        return int(value)
    raise refused("a whole number", value, is_text=True)


def _float(value: Any) -> float:
    if _FLOAT.fullmatch(one_text(value)):
        found = float(value)
        if math.isfinite(found):
            return found
    raise refused("a number", value, is_text=True)


def _bool(value: Any) -> bool:
    if isinstance(value, str) and value in ("true", "false"):
        return bool(value == "true")
    raise refused("`true` or `false`", one_text(value), is_text=True)


# Texts of paths, queries, headers and forms: their numbers are written out.
TEXT_SCALARS = {
    **_BOTH,
    str: Reader(one_text, "a text", "text", "text", frozenset([str])),
    int: Reader(_int, "a whole number", "scalar", "number"),
    float: Reader(_float, "a number", "scalar", "number"),
    bool: Reader(_bool, "`true` or `false`", "scalar"),
    Decimal: _decimal_text,
}
