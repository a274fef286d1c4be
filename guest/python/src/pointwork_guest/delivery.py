"""The delivery of an event to a listener."""

from datetime import datetime
from typing import Any, TypeVar, overload

from . import raw
from .base_context import BaseContext, time_of
from .calls import Lease, name_of, received, sent
from .context import AsyncContext, Context
from .events import Event
from .exceptions import CallError
from .host import host
from .projection import Handle

P = TypeVar("P")
R = TypeVar("R")


class BaseDelivery(Handle):
    """What the deliveries of both forms have."""

    _kind: type[BaseContext] = BaseContext

    def __init__(self, delivery: raw.Delivery) -> None:
        self._raw: raw.Delivery | None = delivery
        self._taken = False
        self._context: Any = None
        self._has_reported = False

    @property
    def _open(self) -> raw.Delivery:
        if self._raw is None:
            raise RuntimeError("the delivery is closed: its listener has ended")
        return self._raw

    @property
    def id(self) -> str:
        """The id of the event, the same for each attempt to deliver it."""
        return self._open.id()

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self._open.attempt()

    @property
    def event(self) -> str:
        """The name of the event within its channel."""
        return self._open.event()

    @property
    def request_id(self) -> str | None:
        """The id of the request that began the chain."""
        return self._open.request_id()

    @property
    def deadline(self) -> datetime | None:
        found = self._open.deadline()
        return None if found is None else time_of(found)

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the value any more."""
        return self._open.cancelled()

    def _take(self) -> Any:
        if not self._taken:
            self._taken = True
            found = self._open.take_context()
            self._context = None if found is None else self._kind(found)
        return self._context

    @overload
    def emit(self, event: Event[P, Any], payload: P, /) -> None: ...
    @overload
    def emit(self, event: str, payload: object = None, /) -> None: ...
    def emit(self, event: Any, payload: Any = None, /) -> None:
        """Queues another event, and returns at once."""
        self._open.emit(name_of(event), sent(event, payload))

    def _close(self) -> None:
        if self._context is not None:
            self._context._close()
        delivery = self._raw
        self._raw = None
        if delivery is not None:
            self._release(delivery)

    def _release(self, delivery: raw.Delivery) -> None:
        delivery.__exit__(None, None, None)


class Delivery(BaseDelivery):
    """The delivery of an event, for modules of the synchronous form. Calls through it continue the chain of calls of
    the event.
    """

    _kind = Context

    @property
    def context(self) -> Context | None:
        """The context that was handed over with the event; the listener replies to its request."""
        found: Context | None = self._take()
        return found

    @overload
    def call(self, event: Event[P, R], payload: P, /) -> R: ...
    @overload
    def call(self, event: str, payload: object = None, /) -> Any: ...
    def call(self, event: Any, payload: Any = None, /) -> Any:
        """Calls another event and waits for its result."""
        try:
            result = host.waiting.call_from(self._open, name_of(event), sent(event, payload))
        except host.failure as error:
            raise CallError(name_of(event), error.value) from None
        return received(event, result)


class AsyncDelivery(BaseDelivery):
    """The delivery of an event, for modules of the asynchronous form. Calls through it continue the chain of calls
    of the event.
    """

    _kind = AsyncContext

    def __init__(self, delivery: raw.Delivery) -> None:
        super().__init__(delivery)
        self._lease = Lease(delivery)

    def _release(self, delivery: raw.Delivery) -> None:
        self._lease.end()

    @property
    def context(self) -> AsyncContext | None:
        """The context that was handed over with the event; the listener replies to its request."""
        found: AsyncContext | None = self._take()
        return found

    @overload
    async def call(self, event: Event[P, R], payload: P, /) -> R: ...
    @overload
    async def call(self, event: str, payload: object = None, /) -> Any: ...
    async def call(self, event: Any, payload: Any = None, /) -> Any:
        """Calls another event and waits for its result."""
        assert self._open
        name, lowered = name_of(event), sent(event, payload)
        result = await self._lease.wait(name, lambda delivery: host.async_waiting.call_from(delivery, name, lowered))
        return received(event, result)
