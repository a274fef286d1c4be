"""Values of clients by their type hints: JSON bodies, forms, queries and parameters. The conversion is that of cattrs.

cattrs makes `7` a text where one is expected; a client is told instead.
"""

import inspect
import math
import re
from collections.abc import Callable, MutableSequence, MutableSet, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Literal, get_args, get_origin
from uuid import UUID

from cattrs import BaseValidationError, ClassValidationError, Converter
from cattrs.errors import AttributeValidationNote, IterableValidationNote, StructureHandlerNotFoundError
from cattrs.strategies import configure_union_passthrough

from .exceptions import HttpError
from .jsontext import JsonFault, line_and_column, value_end

_MOST_FIELDS = 50
"""What an error has is bounded."""
_LONGEST_TEXT = 200
_MOST_DIGITS = 400
_MISSING = object()
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class InvalidField:
    """One field that is not valid. `place` is the line and column of the end of its value, in a body of JSON."""

    field: str
    message: str
    place: str | None = None


class ValidationError(HttpError):
    """A value that does not fit its type: 422, or 400 for a query, with every field."""

    status = 422

    def __init__(self, found: list[InvalidField], status: int | None = None) -> None:
        shown = found[:_MOST_FIELDS]
        message = "1 field is not valid" if len(found) == 1 else f"{len(found)} fields are not valid"
        fields = [{"field": one.field, "message": one.message} for one in shown]
        super().__init__(message, status=status, fields=fields)
        self.invalid = shown


class Invalid(ValueError):
    """Why a value does not fit, for `__post_init__` of a dataclass and for functions that read a body. `path` leads
    to the part of
    the value that is wrong: `Invalid("expected 1 to 200 characters", "name")`."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path = path


def shown(value: object) -> str:
    """A client's value in an error, cut."""
    text = value if isinstance(value, str) else repr(value)
    return _CONTROL.sub("\ufffd", text[:_LONGEST_TEXT])


def _exactly(kind: type, expected: str) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        # `True` is an `int` of Python, and no number of JSON.
        if type(value) is kind:
            return value
        raise Invalid(f"expected {expected}, got {_of_json(value)}")

    return structure


def _of_json(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: f"`{str(value).lower()}`", type(None): "`null`"}
    return names.get(type(value)) or f"`{shown(value)}`"


def _number(value: Any, _: Any) -> float:
    if type(value) is float or type(value) is int:
        return float(value)
    raise Invalid(f"expected a number, got {_of_json(value)}")


def _from_text(make: Callable[[str], Any], expected: str) -> Callable[[Any, Any], Any]:
    def structure(value: Any, _: Any) -> Any:
        if isinstance(value, str):
            try:
                return make(value)
            except (ValueError, InvalidOperation):
                pass
        raise Invalid(f"expected {expected}, got {_of_json(value)}")

    return structure


def _decimal(value: Any, _: Any) -> Decimal:
    if type(value) is int or type(value) is float:
        return Decimal(str(value))
    found: Decimal = _from_text(_finite_decimal, "a decimal number")(value, None)
    return found


def _finite_decimal(text: str) -> Decimal:
    found = Decimal(text)
    if not found.is_finite():
        raise InvalidOperation
    return found


def _is_literal(hint: Any) -> bool:
    origin: Any = get_origin(hint)
    return origin is Literal


def _literal(hint: Any) -> Callable[[Any, Any], Any]:
    words = {str(word): word for word in get_args(hint)}
    expected = " or ".join(f"`{word}`" for word in words)

    def structure(value: Any, _: Any) -> Any:
        # A query has texts alone: a text that spells a number counts as that number.
        found = words.get(str(value), _MISSING) if isinstance(value, (str, int)) else _MISSING
        if found is _MISSING or (isinstance(found, str) and not isinstance(value, str)):
            raise Invalid(f"expected {expected}, got {_of_json(value)}")
        return found

    return structure


_LISTS = (list, set, frozenset, tuple, Sequence, MutableSequence, Set, MutableSet)


def _add_lists(converter: Converter, *, of_texts: bool) -> None:
    """Lists and sets are made of lists alone: Python would iterate over the characters of a text as well."""
    making: list[Any] = []

    def of_list(hint: Any) -> Callable[[Any, Any], Any]:
        making.append(hint)
        try:
            inner = converter.get_structure_hook(hint, cache_result=False)
        finally:
            making.pop()

        def structure(value: Any, hint: Any) -> Any:
            # A field of a query or a form that occurs once.
            if of_texts and isinstance(value, str):
                value = [value]
            if type(value) is not list:
                raise Invalid(f"expected a list, got {_of_json(value)}")
            return inner(value, hint)

        return structure

    def is_list(hint: Any) -> bool:
        origin: Any = get_origin(hint) or hint
        return origin in _LISTS and hint not in making

    converter.register_structure_hook_factory(is_list, of_list)


def _enum(hint: type[Enum]) -> Callable[[Any, Any], Any]:
    words = _literal(Literal[tuple(one.value for one in hint)])
    return lambda value, _: hint(words(value, None))


def _both(converter: Converter, *, of_texts: bool) -> Converter:
    _add_lists(converter, of_texts=of_texts)
    converter.register_structure_hook_factory(lambda hint: isinstance(hint, type) and issubclass(hint, Enum), _enum)
    converter.register_structure_hook_factory(_is_literal, _literal)
    # `dict` would take a list of pairs.
    converter.register_structure_hook_func(lambda hint: hint is dict, _exactly(dict, "an object"))
    converter.register_structure_hook(UUID, _from_text(UUID, "a UUID"))
    converter.register_structure_hook(
        datetime, _from_text(datetime.fromisoformat, "a date and time such as `2026-01-31T12:00:00Z`")
    )
    converter.register_structure_hook(date, _from_text(date.fromisoformat, "a date such as `2026-01-31`"))
    converter.register_structure_hook(time, _from_text(time.fromisoformat, "a time such as `12:00:00`"))
    return converter


_json = _both(Converter(), of_texts=False)
_json.register_structure_hook(str, _exactly(str, "a text"))
_json.register_structure_hook(int, _exactly(int, "a whole number"))
_json.register_structure_hook(bool, _exactly(bool, "`true` or `false`"))
_json.register_structure_hook(float, _number)
_json.register_structure_hook(Decimal, _decimal)
configure_union_passthrough(str | bool | int | float | None, _json)

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _str(value: Any, _: Any) -> str:
    if isinstance(value, str):
        return value
    raise Invalid(f"expected one value, got {len(value)}")


def _int(value: Any, _: Any) -> int:
    if _INT.fullmatch(_str(value, None)) and len(value) <= _MOST_DIGITS:
        return int(value)
    raise Invalid(f"expected a whole number, got `{shown(value)}`")


def _float(value: Any, _: Any) -> float:
    if _FLOAT.fullmatch(_str(value, None)):
        found = float(value)
        if math.isfinite(found):
            return found
    raise Invalid(f"expected a number, got `{shown(value)}`")


def _bool(value: Any, _: Any) -> bool:
    if isinstance(value, str) and value in ("true", "false"):
        return bool(value == "true")
    raise Invalid(f"expected `true` or `false`, got `{shown(_str(value, None))}`")


# Texts of paths, queries, headers and forms: their numbers are written out.
_texts = _both(Converter(), of_texts=True)
_texts.register_structure_hook(str, _str)
_texts.register_structure_hook(int, _int)
_texts.register_structure_hook(float, _float)
_texts.register_structure_hook(bool, _bool)
_texts.register_structure_hook(Decimal, _from_text(_finite_decimal, "a decimal number"))


def structurer(hint: Any, *, of_texts: bool) -> Callable[[Any], Any]:
    """What converts to a type hint; a function converts by itself. A hint that cattrs does not know is a `TypeError`
    here, when the module is made.
    """
    if inspect.isfunction(hint) or inspect.ismethod(hint):
        return hint
    converter = _texts if of_texts else _json
    try:
        # The hook is made once, when the module is.
        hook = converter.get_structure_hook(hint)
    except StructureHandlerNotFoundError as error:
        # The rest of the message is advice for users of cattrs.
        raise TypeError(str(error).partition(". Register")[0]) from None
    return lambda value: hook(value, hint)


def validated(convert: Callable[[Any], Any], value: Any, text: str | None = None) -> Any:
    """The value as its type hint makes it, or 422. `text` is the JSON of which the value was read."""
    try:
        return convert(value)
    except HttpError:
        raise
    except Exception as error:
        found: list[InvalidField] = []
        _collect(error, (), value, text, found)
        raise ValidationError(found) from None


Path = tuple[str | int, ...]


def _collect(error: BaseException, path: Path, value: Any, text: str | None, found: list[InvalidField]) -> None:
    if isinstance(error, ClassValidationError) and not isinstance(value, dict):
        found.append(_field(path, f"expected an object, got {_of_json(value)}", text))
        return
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            part = _part(inner)
            _collect(inner, path if part is None else (*path, part), _at(value, part), text, found)
        return
    if isinstance(error, Invalid):
        path = (*path, *error.path)
    found.append(_field(path, _message(error, value), text))


def _part(error: BaseException) -> str | int | None:
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            return note.name
        if isinstance(note, IterableValidationNote):
            return note.index if isinstance(note.index, int) else str(note.index)
    return None


def _at(value: Any, part: str | int | None) -> Any:
    if part is None:
        return value
    try:
        return value[part]
    except (KeyError, IndexError, TypeError):
        return _MISSING


def _message(error: BaseException, value: Any) -> str:
    if value is _MISSING and isinstance(error, (KeyError, TypeError)):
        return "missing field"
    if isinstance(error, Invalid):
        return str(error)
    if isinstance(error, AttributeError) and error.name == "items" and not isinstance(value, dict):
        return f"expected an object, got {_of_json(value)}"
    if isinstance(error, (TypeError, KeyError, AttributeError)):
        # Messages of cattrs and Python, which are about code.
        return f"expected another type of value, got {_of_json(value)}"
    return shown(str(error))


def _field(path: Path, message: str, text: str | None) -> InvalidField:
    end = None if text is None else value_end(text, path)
    place = None if text is None or end is None else line_and_column(text, end - 1)
    return InvalidField(shown(".".join(map(str, path))), message, place)


__all__ = ["InvalidField", "JsonFault", "ValidationError", "structurer", "validated"]
