"""Errors of values that do not fit their type hints: 422, or 400 for a query."""

import inspect
from collections.abc import Callable
from typing import Any

from .exceptions import HttpError
from .jsonplaces import Places
from .misfits import MOST_FIELDS, Invalid, Misfit, Path, message_of, problems_of, shown
from .readers import COMPILERS


class InvalidField:
    """One field that is not valid."""

    __slots__ = ("_path", "_places", "field", "message")

    def __init__(self, field: str, message: str, *, path: Path = (), places: Places | None = None) -> None:
        self.field = field
        self.message = message
        self._path = path
        self._places = places

    @property
    def place(self) -> str | None:
        """The line and column of the end of its value, in a body of JSON. The text is searched when a place is first
        asked for, once for all fields of the error."""
        return None if self._places is None else self._places.of(self._path)


class ValidationError(HttpError):
    """A value that does not fit its type: 422, or 400 for a query, with at most 50 fields."""

    status = 422

    def __init__(self, found: list[InvalidField], status: int | None = None) -> None:
        count = f"more than {MOST_FIELDS}" if len(found) > MOST_FIELDS else str(len(found))
        message = "1 field is not valid" if len(found) == 1 else f"{count} fields are not valid"
        self.invalid = found[:MOST_FIELDS]
        fields = [{"field": one.field, "message": one.message} for one in self.invalid]
        super().__init__(message, status=status, fields=fields)


def structurer(hint: Any, *, of_texts: bool, closed: bool = False) -> Callable[[Any], Any]:
    """What converts to a type hint; a function converts by itself. A hint that nothing converts to is a `TypeError`
    here, when the module is made. With `closed`, an object has no further keys than its type.
    """
    if inspect.isfunction(hint) or inspect.ismethod(hint):
        return hint
    return COMPILERS[of_texts, closed].reader(hint).read


def validated(convert: Callable[[Any], Any], value: Any, text: str | None = None) -> Any:
    """The value as its type hint makes it, or 422. `text` is the JSON of which the value was read."""
    try:
        return convert(value)
    except (Invalid, Misfit) as error:
        found = problems_of(error)
    except (ValueError, AssertionError) as error:
        # Of a function of the program.
        found = [((), message_of(error))]
    places = None if text is None else Places(text, [path for path, _ in found[:MOST_FIELDS]])
    raise ValidationError(
        [InvalidField(shown(".".join(map(str, path))), told, path=path, places=places) for path, told in found]
    )


__all__ = ["Invalid", "InvalidField", "ValidationError", "shown", "structurer", "validated"]
