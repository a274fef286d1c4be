"""The variables that the configuration of the host gives the module."""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .exceptions import VariableError
from .host import host
from .jsontext import json_text

T = TypeVar("T")


class _Variables(Mapping[str, str]):
    """The variables by name, in each call. Outside of a call there are none."""

    def _read(self) -> dict[str, str]:
        return {variable.name: variable.value for variable in host.environment.variables()}

    def __getitem__(self, name: str) -> str:
        return self._read()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())


env: Mapping[str, str] = _Variables()
"""The variables of the module. `os.environ` has them too."""

_KINDS: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_NUMBER = {"integer": re.compile(r"[+-]?\d+"), "number": re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")}
_MOST_DIGITS = 400


def settings(kind: type[T]) -> T:
    """The variables of the call as a dataclass, which `Module(variables=…)` declares. A field with a default may be
    missing.

    The names of the variables are those of the fields in upper case.
    """
    values: dict[str, Any] = {}
    for field, hint in _fields(kind):
        name = field.name.upper()
        text = env.get(name)
        if text is None:
            if not _has_default(field):
                raise VariableError(f"the variable `{name}` is missing: expected {_expected(hint)}")
            continue
        value = _parsed(text, hint)
        if value is None:
            raise VariableError(f"the variable `{name}` does not fit: expected {_expected(hint)}")
        values[field.name] = value
    return kind(**values)


def _fields(kind: type[Any]) -> list[tuple["dataclasses.Field[Any]", Any]]:
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"`{kind.__name__}` declares variables and is no dataclass")
    hints = get_type_hints(kind)
    found = [(field, _without_none(hints[field.name])) for field in dataclasses.fields(kind)]
    for field, hint in found:
        if hint not in _KINDS and get_origin(hint) is not Literal:
            raise TypeError(
                f"`{kind.__name__}.{field.name}` cannot be a variable, "
                "expected `str`, `int`, `float`, `bool` or a `Literal` of texts"
            )
    return found


def _without_none(hint: Any) -> Any:
    parts = [part for part in get_args(hint) if part is not type(None)]
    return parts[0] if type(None) in get_args(hint) and len(parts) == 1 else hint


def _has_default(field: "dataclasses.Field[Any]") -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _parsed(text: str, hint: Any) -> Any:
    if get_origin(hint) is Literal:
        return text if text in get_args(hint) else None
    kind = _KINDS[hint]
    if kind == "string":
        return text
    if kind == "boolean":
        return {"true": True, "false": False}.get(text)
    return hint(text) if len(text) <= _MOST_DIGITS and _NUMBER[kind].fullmatch(text) else None


def _expected(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " or ".join(f"`{word}`" for word in get_args(hint))
    return {"string": "a text", "boolean": "`true` or `false`", "integer": "a whole number", "number": "a number"}[
        _KINDS[hint]
    ]


def schema_of(kind: type[Any]) -> str:
    """The JSON schema for the manifest."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field, hint in _fields(kind):
        name = field.name.upper()
        words = list(get_args(hint)) if get_origin(hint) is Literal else None
        declared: dict[str, Any] = {"type": "string", "enum": words} if words else {"type": _KINDS[hint]}
        if "description" in field.metadata:
            declared["description"] = field.metadata["description"]
        if not _has_default(field):
            required.append(name)
        elif field.default not in (dataclasses.MISSING, None):
            declared["default"] = field.default
        properties[name] = declared
    return json_text({"type": "object", "properties": properties, "required": required}, "the schema of the variables")
