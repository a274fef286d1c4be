"""The variables that the configuration of the host gives the module."""

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .exceptions import VariableError
from .hints import without_none
from .host import host
from .jsontext import json_text
from .misfits import Invalid
from .readers import TEXTS
from .records import without_extras

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


def settings(kind: type[T]) -> T:
    """The variables of the call as a dataclass, which `Module(variables=…)` declares. A field with a default may be
    missing.

    The names of the variables are those of the fields in upper case.
    """
    values: dict[str, Any] = {}
    for field, hint in _fields(kind):
        name = field.name.upper()
        reader = TEXTS.reader(hint)
        text = env.get(name)
        if text is None:
            if not _has_default(field):
                raise VariableError(f"the variable `{name}` is missing: expected {reader.expected}")
            continue
        try:
            values[field.name] = reader.read(text)
        except Invalid:
            # The value may be a secret.
            raise VariableError(f"the variable `{name}` does not fit: expected {reader.expected}") from None
    return kind(**values)


def _fields(kind: type[Any]) -> list[tuple["dataclasses.Field[Any]", Any]]:
    if not dataclasses.is_dataclass(kind):
        raise TypeError(f"`{getattr(kind, '__name__', kind)}` declares variables and is no dataclass")
    hints = get_type_hints(kind, include_extras=True)
    found = [(field, without_none(hints[field.name])[0]) for field in dataclasses.fields(kind)]
    for field, hint in found:
        plain = without_extras(hint)
        if plain not in _KINDS and not (_words(plain) and all(isinstance(word, str) for word in _words(plain))):
            raise TypeError(
                f"`{kind.__name__}.{field.name}` cannot be a variable, "
                "expected `str`, `int`, `float`, `bool`, or a `Literal` or an `Enum` of texts"
            )
        try:
            TEXTS.reader(hint)
        except TypeError as error:
            raise TypeError(f"`{kind.__name__}.{field.name}`: {error}") from None
    return found


def _words(hint: Any) -> list[Any]:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return [one.value for one in hint]
    return list(get_args(hint)) if get_origin(hint) is Literal else []


def _has_default(field: "dataclasses.Field[Any]") -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def schema_of(kind: type[Any]) -> str:
    """The JSON schema for the manifest."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field, hint in _fields(kind):
        name = field.name.upper()
        words = _words(without_extras(hint))
        kind_of = "string" if words else _KINDS[without_extras(hint)]
        declared: dict[str, Any] = {"type": kind_of, "enum": words} if words else {"type": kind_of}
        if "description" in field.metadata:
            declared["description"] = field.metadata["description"]
        if not _has_default(field):
            required.append(name)
        elif field.default not in (dataclasses.MISSING, None):
            declared["default"] = field.default
        properties[name] = declared
    return json_text({"type": "object", "properties": properties, "required": required}, "the schema of the variables")
