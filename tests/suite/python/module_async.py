"""The component of the asynchronous form."""

from typing import Any

import pointwork_guest.component_async  # noqa: F401  a component has no files to import later
from suite.component import Component
from twins import basic_later, channels_later, guards_later
from wit_world import exports

component = Component(
    is_async=True,
    twins={"basic": basic_later.app, "channels": channels_later.app, "guards": guards_later.app},
)


class HandlersAsync(exports.HandlersAsync):  # type: ignore[misc]
    async def handle(self, handler: int, context: Any) -> Any:
        return await component.handlers.handle(handler, context)


class ListenersAsync(exports.ListenersAsync):  # type: ignore[misc]
    async def deliver(self, listener: int, delivery: Any, payload: Any) -> Any:
        return await component.listeners.deliver(listener, delivery, component.lifted(payload))


class Manifest:
    def describe(self) -> Any:
        return component.manifest.describe()
