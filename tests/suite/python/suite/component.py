"""Takes the place of what the SDK's build writes. The SDK reads a module's declarations when the component is built; here they come with
the program, which the suite writes into the built component.
"""

import gc
import linecache
import os
from typing import Any

from pointwork_guest import Module
from pointwork_guest.component import exports
from pointwork_guest.crash import report_of
from pointwork_guest.host import host
from pointwork_guest.manifest import events_used
from wit_world.imports import log

from .declare import module
from .payloads import lifted
from .slot import program


class Component:
    """What the exports of the component run on: the module of the program, which each instance makes once.

    `twins` are modules by their names, of which a program may be one.
    """

    def __init__(self, *, is_async: bool, twins: dict[str, Module]) -> None:
        self._is_async = is_async
        # Known here, since an instance has no sources.
        self._twins = {name: (app, events_used(app)) for name, app in twins.items()}
        self._made: dict[str, Any] = {}
        self.lifted = lifted
        linecache.clearcache()
        # What is made by now is in each instance, whose garbage collector need not look through it.
        gc.collect()
        gc.freeze()

    def __getattr__(self, name: str) -> Any:
        """`handlers`, `listeners` or `manifest`."""
        if not self._made:
            try:
                self._make(program())
            except Exception as error:
                # What the build would tell.
                log.panicked(report_of(error))
                os.abort()
        return self._made[name]

    def _make(self, told: dict[str, Any]) -> None:
        if "twin" in told:
            app, uses = self._twins[told["twin"]]
            made = exports(app, {}, uses)
            self.lifted = lambda payload: payload
        else:
            made = exports(module(told, is_async=self._is_async), told["package"], told["uses"])
            read_results(self._is_async)
        self._made.update(zip(("handlers", "listeners", "manifest"), (one() for one in made), strict=True))


def read_results(is_async: bool) -> None:
    """The functions of the host that return payloads, with payloads that the SDK can read."""
    waiting: Any = host.async_waiting if is_async else host.waiting
    for name in ("call", "call_from"):
        setattr(waiting, name, _reading(getattr(waiting, name), is_async))


def _reading(call: Any, is_async: bool) -> Any:
    if is_async:

        async def later(*given: Any) -> Any:
            return lifted(await call(*given))

        return later
    return lambda *given: lifted(call(*given))
