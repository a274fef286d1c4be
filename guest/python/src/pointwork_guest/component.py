"""The exports of a component. Its entry, which the build writes, is
`Handlers, Listeners, Manifest = exports(app, …)`.
"""

import gc
import linecache
import logging
import os
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from componentize_py_types import Err
from wit_world.exports import manifest as wit
from wit_world.imports import context, environment
from wit_world.imports import log as wit_log

from . import raw
from .crash import forget_traces, report_of
from .dispatch import Dispatcher
from .finalizer import real_finalizers, short_finalizers
from .host import host
from .log import HostHandler, Lines, name_sources_in_warnings
from .manifest import describe
from .module import Module

PROGRAM = "=program"
"""The variable in which `pointwork dev` gives a component its program. It is none of the program's."""


@dataclass
class Declared:
    """A module that runs, and its manifest."""

    dispatcher: Dispatcher
    manifest: Any


class Instance:
    """The state of an instance of the component."""

    hand_over = staticmethod(context.hand_over)
    write = staticmethod(wit_log.write)

    dispatcher: Dispatcher
    """Set by the first call."""

    def __init__(self, declared: Callable[[], Declared]) -> None:
        self._declared = declared
        self._has_begun = False
        self._variables: list[raw.Property] = []
        self._out, self._err = Lines(raw.Level.INFO, 0), Lines(raw.Level.WARN, 1)
        sys.stdout, sys.stderr = self._out, self._err

    def variables(self) -> list[raw.Property]:
        return self._variables

    def begin(self) -> None:
        """Begins a call. With the first one of an instance, the snapshot's seed and environment are replaced: it
        would have those of
        the build, and every instance the same."""
        if self._has_begun:
            return
        real_finalizers()
        # Before the variables: top-level code of a build has none.
        self.dispatcher = self._declared().dispatcher
        self._has_begun = True
        self._variables = [one for one in environment.variables() if one.name != PROGRAM]
        os.environ.clear()
        os.environ.update((variable.name, variable.value) for variable in self._variables)
        random.seed(sum(environment.random() << 32 * part for part in range(4)))

    def end(self) -> None:
        """Ends a call."""
        self._out.end()
        self._err.end()

    def raised(self, error: BaseException) -> None:
        """Reports an exception that ends the running call. The instance goes on."""
        self.end()
        wit_log.raised(report_of(error))
        forget_traces(error)

    def crashed(self, error: BaseException) -> NoReturn:
        """An exception after which the instance must not go on is reported, and traps."""
        self.end()
        wit_log.panicked(report_of(error))
        # The exception itself would be printed, and componentize-py's panic as well.
        os.abort()


def declared_of(app: object, facts: Mapping[str, str], uses: list[str]) -> Declared:
    if not isinstance(app, Module):
        raise TypeError("the entry file has no `app`, expected `app = Module(controllers=[Products])`")
    return Declared(Dispatcher(app), _lower(describe(app, facts, uses)))


def exports(app: object, facts: Mapping[str, str], uses: list[str]) -> tuple[type, type, type]:
    """The classes that componentize-py wants of a component, for handlers, listeners and the manifest."""
    declared = declared_of(app, facts, uses)
    return export(lambda: declared, declared.dispatcher.module.is_async)


def export(declared: Callable[[], Declared], is_async: bool) -> tuple[type, type, type]:
    """The same for a module that is known when a call needs it."""
    logging.basicConfig(handlers=[HostHandler()], level=logging.DEBUG, force=True)
    name_sources_in_warnings()
    instance = Instance(declared)
    host.environment = instance
    host.failure = Err
    if is_async:
        from .component_async import async_exports as form
    else:
        from .component_sync import sync_exports as form
    handlers, listeners = form(instance)

    class Manifest:
        def describe(self) -> Any:
            try:
                real_finalizers()
                return declared().manifest
            except BaseException as error:
                instance.crashed(error)

    short_finalizers()
    # The sources that errors of the build would show, and garbage; instances need not look through what is left.
    linecache.clearcache()
    gc.collect()
    gc.freeze()
    return handlers, listeners, Manifest


def waiting(context: Any, events: Any) -> Any:
    """The functions that wait, in one object."""
    names = ("body", "text", "call", "read", "write", "finish", "closed")
    found: dict[str, Any] = {name: staticmethod(getattr(context, name)) for name in names if hasattr(context, name)}
    return type("Waiting", (), {**found, "call_from": staticmethod(events.call)})()


def _lower(declared: dict[str, Any]) -> Any:
    def properties(pairs: list[tuple[str, str]]) -> list[raw.Property]:
        return [raw.Property(name, value) for name, value in pairs]

    def with_metadata(make: Any, one: dict[str, Any], **more: Any) -> Any:
        return make(**{**one, **more, "metadata": properties(one["metadata"])})

    def controller(one: dict[str, Any]) -> Any:
        return with_metadata(wit.Controller, one, routes=[with_metadata(wit.Route, route) for route in one["routes"]])

    def channel(one: dict[str, Any]) -> Any:
        listeners = [with_metadata(wit.Listener, listener) for listener in one["listeners"]]
        return with_metadata(wit.Channel, one, listeners=listeners)

    controllers = [controller(one) for one in declared["controllers"]]
    channels = [channel(one) for one in declared["channels"]]
    return with_metadata(wit.Manifest, declared, controllers=controllers, channels=channels)
