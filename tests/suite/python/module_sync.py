"""The component of the synchronous form."""

from typing import Any

import pointwork_guest.component_sync  # noqa: F401  a component has no files to import later
from suite.component import Component
from twins import basic, channels, guards

component = Component(
    is_async=False,
    twins={"basic": basic.app, "channels": channels.app, "guards": guards.app},
)


class Handlers:
    def handle(self, handler: int, context: Any) -> Any:
        return component.handlers.handle(handler, context)


class Listeners:
    def deliver(self, listener: int, delivery: Any, payload: Any) -> Any:
        return component.listeners.deliver(listener, delivery, component.lifted(payload))


class Manifest:
    def describe(self) -> Any:
        return component.manifest.describe()
