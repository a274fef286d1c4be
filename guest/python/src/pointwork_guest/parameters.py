"""Where the parameters of handlers come from: what a type hint may be annotated with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
    """The whole query as a dataclass or another type, 400 with the fields if it does not fit."""


@dataclass(frozen=True)
class Body:
    """The body from JSON, for a hint that would be a field of the query otherwise."""


@dataclass(frozen=True)
class Form:
    """The body from a form; `or_json` takes JSON too."""

    or_json: bool = False


@dataclass(frozen=True)
class Dependency:
    make: Callable[..., Any]


def Depends(make: Callable[..., Any]) -> Any:  # noqa: N802
    """What a function or a class makes of the request: its parameters are read as those of a handler.

    `user: Annotated[User, Depends(current_user)]`, or `user: User = Depends(current_user)`. It is made once for each
    request.
    """
    return Dependency(make)


MARKERS = (Query, Path, Header, Cookie, Queries, Body, Form, Dependency)
