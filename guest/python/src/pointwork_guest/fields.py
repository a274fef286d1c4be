"""Names and values of a query or a form."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from urllib.parse import parse_qsl, unquote_to_bytes

from .exceptions import BadRequest

_MOST_FIELDS = 10_000
_FORBIDDEN = "__proto__"
"""A name by which programs in JavaScript are attacked."""


class Fields:
    """Names with their values, in the order in which the client sent them."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    @cached_property
    def _values(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, value in self.pairs:
            found.setdefault(name, []).append(value)
        return found

    def get(self, name: str) -> str | None:
        """The first value of a name."""
        found = self._values.get(name)
        return found[0] if found else None

    def all(self, name: str) -> list[str]:
        """All values of a name."""
        return [*self._values.get(name, ())]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def grouped(self) -> dict[str, str | list[str]]:
        """The value of a name, or the list of its values if it occurs more than once."""
        return {name: values[0] if len(values) == 1 else [*values] for name, values in self._values.items()}


def parse_fields(text: str, what: str) -> Fields:
    """What is not UTF-8 is refused, where browsers replace it."""
    try:
        fields = Fields(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS))
    except UnicodeDecodeError:
        raise BadRequest(f"{what}: {_not_utf8(text)}expected UTF-8") from None
    except ValueError:
        raise BadRequest(f"{what}: it has more than {_MOST_FIELDS} fields") from None
    check_name(_FORBIDDEN if _FORBIDDEN in fields else "", what)
    return fields


def check_name(name: str, what: str) -> None:
    if name == _FORBIDDEN:
        raise BadRequest(f"{what}: the name `{name}` is not allowed")


def _not_utf8(text: str) -> str:
    """The name of the first field that is not UTF-8, for an error."""
    for field in text.split("&"):
        try:
            parse_qsl(field, keep_blank_values=True, errors="strict")
        except UnicodeDecodeError:
            name = unquote_to_bytes(field.partition("=")[0].replace("+", " "))
            with suppress(UnicodeDecodeError):
                return f"`{name.decode()}`: "
            break
    return ""
