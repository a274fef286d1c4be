"""Names and values of a query or a form."""

import re
from binascii import a2b_qp
from collections.abc import Iterator
from functools import cached_property

from .exceptions import BadRequest, ContentTooLarge

_MOST_FIELDS = 100_000
_ESCAPE = re.compile("%(?=[0-9a-fA-F]{2})")
_NO_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
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
    if text.count("&") >= _MOST_FIELDS:
        raise ContentTooLarge(f"{what}: it has more than {_MOST_FIELDS} fields")
    pairs: list[tuple[str, str]] = []
    for field in text.split("&"):
        name, _, value = field.partition("=")
        try:
            shown = ""
            name = percent_decoded(name.replace("+", " "))
            shown = f"`{name}`: "
            value = percent_decoded(value.replace("+", " "))
        except UnicodeDecodeError:
            raise BadRequest(f"{what}: {shown}expected UTF-8") from None
        if field:
            check_name(name, what)
            pairs.append((name, value))
    return Fields(pairs)


def percent_decoded(text: str) -> str:
    """The text without percent-escapes; what is no escape stays. A `UnicodeDecodeError` if it is not UTF-8.

    `unquote` has a loop of Python, which takes a second for a megabyte in a component. Quoted-printable is decoded by
    C, and its escapes differ in their sign only.
    """
    if "%" not in text:
        return text
    text = text.replace("=", "=3D")
    text = _ESCAPE.sub("=", text) if _NO_ESCAPE.search(text) else text.replace("%", "=")
    return a2b_qp(text.encode()).decode()


def check_name(name: str, what: str) -> None:
    if name == _FORBIDDEN:
        raise BadRequest(f"{what}: the name `{name}` is not allowed")
