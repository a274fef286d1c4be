"""The exports of the synchronous form."""

from componentize_py_types import Err
from wit_world.imports import context_sync, events_sync

from . import raw
from .component import Instance, waiting
from .host import host


def sync_exports(instance: Instance) -> tuple[type, type]:
    host.waiting = waiting(context_sync, events_sync)

    class Handlers:
        def handle(self, handler: int, context: raw.Context) -> raw.Outcome:
            try:
                instance.begin()
                outcome = instance.dispatcher.handle(handler, context)
                instance.end()
                return outcome
            except BaseException as error:
                instance.crashed(error)

    class Listeners:
        def deliver(self, listener: int, delivery: raw.Delivery, payload: raw.Payload) -> raw.Payload:
            try:
                instance.begin()
                result = instance.dispatcher.deliver(listener, delivery, payload)
                instance.end()
            except BaseException as error:
                instance.crashed(error)
            if isinstance(result, raw.Failure):
                raise Err(result)
            return result

    return Handlers, Listeners
