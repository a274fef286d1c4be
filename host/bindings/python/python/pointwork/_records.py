"""What an application tells of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

T = TypeVar("T")


def read(record: type[T], values: Mapping[str, Any]) -> T:
    """A record of an object of JSON. Fields that this version does not know are left out."""
    known = {known.name for known in fields(record)}  # type: ignore[arg-type]
    snake = {name.replace("-", "_"): value for name, value in values.items()}
    return record(**{name: value for name, value in snake.items() if name in known})


@dataclass(frozen=True)
class Route:
    """A route."""

    method: str
    """The method, or `ALL`."""
    path: str
    """The full pattern, prefix included."""
    origin: str
    """`manual` for a route of a function of Python. For a route of a module it is `replay` if the module
    was loaded before the first mount or server, otherwise `decorator`."""
    module: str | None = None
    """The module that declared it."""
    controller: str | None = None
    """The controller that declared it."""
    handler: str | None = None
    """The handler's name in its source."""
    unavailable_on: tuple[str, ...] = ()
    """The attached servers that cannot serve its method."""


@dataclass(frozen=True)
class ModuleInfo:
    """A loaded module."""

    name: str
    """The name under which it was loaded."""
    form: str
    """The form of its handlers: `sync` or `async`."""
    version: str
    """The version of the contract that it was built against."""
    digest: str
    """SHA-256 of its bytes, in hex."""
    size: int
    """Its size in bytes."""
    routes: int
    """The number of routes that it declares."""
    sdk: str = ""
    """The SDK that it was built with, and its version."""
    language: str = ""
    """The language that it is written in."""
    package: str | None = None
    """The name of its package."""
    package_version: str | None = None
    """The version of its package."""
    controllers: list[dict[str, Any]] = field(default_factory=list)
    """The controllers that it declares."""
    channels: list[dict[str, Any]] = field(default_factory=list)
    """The channels that it declares."""
    events_used: list[str] = field(default_factory=list)
    """The events that it may call, emit or hand over to."""
    metadata: list[list[str]] = field(default_factory=list)
    """Its open metadata: names with values."""
    asks: list[str] = field(default_factory=list)
    """The capabilities that it imports, beyond the contract."""
    granted: list[str] = field(default_factory=list)
    """The capabilities that it is granted, one text each."""
    warnings: list[str] = field(default_factory=list)
    """Declarations that are legal but probably mistakes."""
    state: Any = None
    """Whether it serves; only in `App.modules`."""
    since: int | None = None
    """When it became current, in milliseconds since 1970-01-01 UTC; only in `App.modules`."""
    previous: str | None = None
    """SHA-256 of the version that a roll-back would make current."""
    usage: dict[str, Any] = field(default_factory=dict)
    """Its calls and instances; only in `App.modules`."""
    draining: list[dict[str, Any]] = field(default_factory=list)
    """Earlier versions with calls in flight; only in `App.modules`."""


@dataclass(frozen=True)
class Diff:
    """The difference between two versions in one kind of declarations."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Change:
    """A change of a module that was published."""

    kind: str
    """`loaded`, `swapped`, `unchanged`, `removed` or `rolled-back`."""
    module: str
    """The module."""
    digest: str | None
    """SHA-256 of the version that is current now; `None` if the module was removed."""
    previous: str | None
    """SHA-256 of the version that was current before; `None` if the module is new."""
    routes: Diff
    """The changes of its routes; each is a method and a full pattern."""
    channels: Diff
    """The changes of its channels."""
    listeners: Diff
    """The changes of its listeners."""
    events_used: Diff
    """The changes of the events that it uses."""
    reason: str | None
    """The reason of a change that nobody requested."""
    time: int
    """When, in milliseconds since 1970-01-01 UTC."""


@dataclass(frozen=True)
class Figures:
    """Figures of an application."""

    routes: int
    """The number of registered routes."""
    requests_in_flight: int
    """The number of requests without their whole reply so far."""
    events_refused: int
    """The number of emitted events that nobody got, since the start: without a listener, or with a full queue."""


def module_of(text: str) -> ModuleInfo:
    return read(ModuleInfo, json.loads(text))


def modules_of(text: str) -> list[ModuleInfo]:
    return [read(ModuleInfo, module) for module in json.loads(text)]


def change_of(text: str) -> Change:
    values = json.loads(text)
    for name in ("routes", "channels", "listeners", "events-used"):
        values[name] = read(Diff, values.get(name) or {})
    return read(Change, values)


def routes_of(text: str) -> list[Route]:
    routes = json.loads(text)
    for route in routes:
        route["unavailable_on"] = tuple(route.pop("unavailable_on", ()))
    return [read(Route, route) for route in routes]
