"""Why a value of a client does not fit its type: the errors of readers, and what they show of the value."""

import re
from typing import Any, get_args

from .records import validator_problem

MOST_FIELDS = 50
"""How many fields an error has."""
_LONGEST_TEXT = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NO_TEXT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|true|false|null")
"""Texts that look like another value of JSON."""

Path = tuple[str | int, ...]


class Invalid(ValueError):
    """Why a value does not fit, for `__post_init__` of a dataclass and for functions that read a body. `path` leads to
    the part of the value that is wrong: `Invalid("expected 1 to 200 characters", "name")`."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path: Path = path


class Misfit(Exception):
    """Several parts of a value that do not fit, with their paths and messages: at most one more than `MOST_FIELDS`."""

    def __init__(self, found: list[tuple[Path, str]]) -> None:
        super().__init__("several fields are not valid")
        self.found = found


def problems_of(error: Invalid | Misfit, *part: str | int) -> list[tuple[Path, str]]:
    """The problems of a part of a value."""
    if isinstance(error, Misfit):
        return [((*part, *path), message) for path, message in error.found]
    return [((*part, *error.path), str(error))]


def shown(value: object) -> str:
    """A client's value in an error, cut."""
    text = value if isinstance(value, str) else repr(value)
    return _CONTROL.sub("\ufffd", text[:_LONGEST_TEXT])


def of_json(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: f"`{str(value).lower()}`", type(None): "`null`"}
    # Without the word a text could not be told from the number.
    kind = "the text " if isinstance(value, str) and _NO_TEXT.fullmatch(value) else ""
    return names.get(type(value)) or f"{kind}`{shown(value)}`"


def refused(expected: str, value: object, *, is_text: bool = False) -> Invalid:
    """The error of a value. With `is_text` a text is what is expected, as in paths and queries, so that it is not called
    one."""
    told = f"`{shown(value)}`" if is_text and isinstance(value, str) else of_json(value)
    return Invalid(f"expected {expected}, got {told}")


def type_name(hint: Any) -> str:
    return f"`{hint.__qualname__}`" if isinstance(hint, type) and not get_args(hint) else f"`{hint}`"


VERDICTS = (Invalid, Misfit, ValueError, AssertionError, TypeError)
"""Exceptions by which a constructor of the program may refuse its arguments."""


def called(kind: Any, *arguments: Any) -> Any:
    try:
        return kind(*arguments)
    except VERDICTS as error:
        raise verdict(error) or error from None


def verdict(error: Exception) -> Invalid | Misfit | None:
    """What an exception of a constructor of the program says of its arguments. `None` if it is a fault of the program.
    """
    if isinstance(error, (Invalid, Misfit)):
        return error
    problem = validator_problem(error)
    if problem is not None:
        return Invalid(problem[1], problem[0])
    return Invalid(message_of(error)) if isinstance(error, (ValueError, AssertionError)) else None


def message_of(error: Exception) -> str:
    return shown(str(error)) or "expected another value"
