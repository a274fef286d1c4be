"""Names and values of a query or a form."""

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import parse_qsl, unquote_to_bytes

from .exceptions import BadRequest

_MOST_FIELDS = 65_536


class Fields:
    """Names with their values, in the order in which the client sent them."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs

    def get(self, name: str) -> str | None:
        """The first value of a name."""
        return next((value for found, value in self.pairs if found == name), None)

    def all(self, name: str) -> list[str]:
        """All values of a name."""
        return [value for found, value in self.pairs if found == name]

    def __contains__(self, name: object) -> bool:
        return any(found == name for found, _ in self.pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def grouped(self) -> dict[str, str | list[str]]:
        """The value of a name, or the list of its values if it occurs more than once."""
        found: dict[str, str | list[str]] = {}
        for name, value in self.pairs:
            before = found.get(name)
            found[name] = value if before is None else [*([before] if isinstance(before, str) else before), value]
        return found


def parse_fields(text: str, what: str) -> Fields:
    """What is not UTF-8 is refused, where browsers replace it."""
    try:
        return Fields(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS))
    except UnicodeDecodeError:
        raise BadRequest(f"{what}: {_not_utf8(text)}expected UTF-8") from None
    except ValueError:
        raise BadRequest(f"{what}: it has more than {_MOST_FIELDS} fields") from None


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
