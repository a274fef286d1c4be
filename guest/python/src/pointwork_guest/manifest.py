"""The manifest of `wit/manifest.wit`."""

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from .decorators import Guard
from .events import Event
from .hints import distinct
from .module import Module, join_path
from .variables import schema_of

SDK_VERSION = "0.2.0"


def guards_of(module: Module, handler: int) -> list[Guard]:
    """The guards of a handler, from the first that runs to the last."""
    found = module.handlers[handler]
    routes = found.routes
    skips = any(route.skip_guards for route in routes)
    own = [guard for route in routes for guard in route.guards]
    return distinct([*module.guards, *([] if skips else found.controller.declared.guards), *own])


def after_of(module: Module, handler: int) -> list[Guard]:
    """What sees the outcome of a handler, from the innermost to the outermost."""
    found = module.handlers[handler]
    own = [after for route in found.routes for after in route.after]
    return distinct([*own, *found.controller.declared.after, *module.after])


def describe(module: Module, facts: Mapping[str, str], uses: list[str] | None = None) -> dict[str, Any]:
    """The manifest as plain values. `uses` are the events of `events_used`, which a component has from its build."""
    schema = [("variables-schema", schema_of(module.variables))] if module.variables else []
    description = [("description", facts["description"])] if facts.get("description") else []
    return {
        "name": facts.get("name"),
        "version": facts.get("version"),
        "sdk": f"pointwork-guest {SDK_VERSION}",
        "language": "python",
        "controllers": [
            {
                "name": controller.declared.name,
                "prefix": controller.declared.path or "/",
                "routes": [
                    {
                        "handler": handler,
                        "name": module.handlers[handler].name,
                        "method": route.method,
                        "paths": route.paths,
                        "body": route.body,
                        "metadata": [*route.metadata, *_around(module, handler)],
                    }
                    for handler, route in controller.routes
                ],
                "metadata": controller.declared.metadata,
            }
            for controller in module.controllers
        ],
        "channels": [
            {
                "name": channel.declared.path,
                "listeners": [
                    {
                        "listener": number,
                        "name": module.listeners[number].name,
                        "event": module.listeners[number].event,
                        "metadata": module.listeners[number].metadata,
                    }
                    for number in channel.listeners
                ],
                "metadata": channel.declared.metadata,
            }
            for channel in module.channels
        ],
        "events_used": events_used(module) if uses is None else uses,
        "metadata": [*description, *schema, *module.metadata.items()],
    }


def routes_of(module: Module) -> list[str]:
    """The routes for people: `GET /products/:id`."""
    return [
        f"{route.method or 'ALL'} {join_path(controller.declared.path, path)}"
        for controller in module.controllers
        for _, route in controller.routes
        for path in route.paths or [""]
    ]


def _around(module: Module, handler: int) -> list[tuple[str, str]]:
    guards = [("guard", _name(guard)) for guard in guards_of(module, handler)]
    return [*guards, *(("after", _name(after)) for after in after_of(module, handler))]


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


_USE = re.compile(r"\.\s*(?:call|emit|hand_over)\(\s*(?:\"([^\"\\\n]+)\"|'([^'\\\n]+)'|([A-Za-z_][\w.]*))\s*[,)]")


def events_used(module: Module) -> list[str]:
    """The events that the module uses: literal names and typed events in the sources of its classes, and those that
    it names.
    """
    found = set(module.uses)
    files = {of.__module__ for of, _ in module.classes()}
    files |= {one.__module__ for number in range(len(module.handlers)) for one in guards_of(module, number)}
    for name in files:
        of = sys.modules.get(name)
        if of is None:
            continue
        try:
            source = inspect.getsource(of)
        except (OSError, TypeError):
            continue
        for double, single, variable in _USE.findall(source):
            value: Any = double or single
            if variable:
                value = of
                for part in variable.split("."):
                    value = getattr(value, part, None)
                value = value.name if isinstance(value, Event) else None
            if value:
                found.add(value)
    return sorted(found)
