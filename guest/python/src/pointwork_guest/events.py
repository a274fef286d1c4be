"""Typed events: a name with the types of its payload and its result."""

from functools import cached_property
from typing import Any, Generic, TypeVar, get_args
from weakref import WeakSet

P = TypeVar("P")
R = TypeVar("R")


_made: "WeakSet[Event[Any, Any]]" = WeakSet()


class Event(Generic[P, R]):
    """An event with the types of its payload and its result.

    `ONE = Event[int, Product | None]("db:product:one")`; then `ctx.call(ONE, 7)` returns a `Product` or `None`, and
    another
    payload does not pass mypy. An event that nobody answers has the result `None`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        _made.add(self)

    def __str__(self) -> str:
        return self.name

    @cached_property
    def payload(self) -> Any:
        """The type of the payload; `Any` if the event was made without types."""
        return self._types[0]

    @cached_property
    def result(self) -> Any:
        """The type of the result; `Any` if the event was made without types."""
        return self._types[1]

    @property
    def _types(self) -> tuple[Any, Any]:
        args = get_args(getattr(self, "__orig_class__", None))
        return (args[0], args[1]) if len(args) == 2 else (Any, Any)


def made_events() -> "list[Event[Any, Any]]":
    """The events of the program."""
    return list(_made)


AnyEvent = str | Event[Any, Any]
