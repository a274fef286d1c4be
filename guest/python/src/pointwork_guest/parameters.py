"""Where the parameters of handlers come from: what a type hint may be annotated with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Extra = Literal["ignore", "forbid"]
"""What becomes of names that a type does not have."""


@dataclass(frozen=True)
class Query:
    """A field of the query by another name: `page: Annotated[int, Query("page-number")]`."""

    name: str | None = None


@dataclass(frozen=True)
class Path:
    """A path parameter by another name."""

    name: str | None = None


@dataclass(frozen=True)
class Header:
    """A header; its default name is that of the parameter, with `-` for `_`."""

    name: str | None = None


@dataclass(frozen=True)
class Cookie:
    """A cookie."""

    name: str | None = None


@dataclass(frozen=True)
class Queries:
    """The whole query as a dataclass or another type, 400 with the fields if it does not fit. `extra="forbid"` refuses
    names that the type does not have."""

    extra: Extra = "ignore"


@dataclass(frozen=True)
class Body:
    """The body from JSON, for a hint that would be a field of the query otherwise. `extra="forbid"` refuses names that
    the type, or a type within it, does not have."""

    extra: Extra = "ignore"


@dataclass(frozen=True)
class Form:
    """The body from a form; `or_json` takes JSON too. `extra` is as that of `Body`."""

    or_json: bool = False
    extra: Extra = "ignore"


# `typing` makes one `Annotated` of two that are equal, and two functions that are equal are two dependencies.
@dataclass(frozen=True, eq=False)
class Dependency:
    make: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise TypeError(f"`Depends({self.make!r})` has nothing to call, expected a function or a class")


def Depends(make: Callable[..., Any]) -> Any:  # noqa: N802
    """What a function or a class makes of the request: its parameters are read as those of a handler.

    `user: Annotated[User, Depends(current_user)]`, or `user: User = Depends(current_user)`. It is made once for each
    request.
    """
    return Dependency(make)


def is_closed(extra: str) -> bool:
    """Whether further names are forbidden."""
    if extra not in ("ignore", "forbid"):
        raise TypeError(f"`extra` is `{extra}`, expected `ignore` or `forbid`")
    return extra == "forbid"


MARKERS = (Query, Path, Header, Cookie, Queries, Body, Form, Dependency)
