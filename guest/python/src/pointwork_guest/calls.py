"""What calls and events of contexts and deliveries have in common."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, TypeVar

from . import raw
from .events import AnyEvent, Event, made_events
from .exceptions import CallError
from .hints import without_none
from .host import host
from .jsontext import JsonFault
from .payload import Payload, lift_payload, lower_payload
from .projection import Unfit, project
from .validation import ValidationError, structurer, validated

T = TypeVar("T")
PAYLOAD = "the payload of"


def direct(called: str, make: Callable[[], T]) -> T:
    """Runs a function of the host; `called` names it in the error."""
    try:
        return make()
    except host.failure as error:
        raise CallError(called, error.value) from None


R = TypeVar("R", bound=raw.Owned)


class Lease(Generic[R]):
    """A resource of the host in the asynchronous form: another task may wait in a function of it when its owner is
    done with it, and
    the host refuses to drop what is in use.
    """

    __slots__ = ("_is_over", "_resource", "_uses")

    def __init__(self, resource: R) -> None:
        self._resource, self._uses, self._is_over = resource, 0, False

    @property
    def is_used(self) -> bool:
        return self._uses > 0

    async def wait(self, called: str, make: Callable[[R], Awaitable[T]]) -> T:
        """Waits in a function of the host; `called` names it in the error. Who waits may be cancelled, the function
        cannot: it goes on by itself, with the resource.
        """
        self._uses += 1
        use = self._use(called, make)
        loop = asyncio.get_running_loop()
        try:
            # Most functions of the host await one future, or none. A task for each of them would cost more than they do.
            while isinstance(pending := use.send(None), asyncio.Future):
                pending._asyncio_future_blocking = False
                waiter = loop.create_future()
                pending.add_done_callback(partial(_wake, waiter))
                try:
                    await waiter
                except asyncio.CancelledError:
                    loop.create_task(_to_end(use, pending))
                    raise
        except StopIteration as done:
            value: T = done.value
            return value
        return await asyncio.shield(loop.create_task(_rest(use, pending)))

    async def _use(self, called: str, make: Callable[[R], Awaitable[T]]) -> T:
        try:
            return await make(self._resource)
        except host.failure as error:
            raise CallError(called, error.value) from None
        finally:
            self._uses -= 1
            self._drop()

    def end(self) -> None:
        """The owner is done with the resource."""
        self._is_over = True
        self._drop()

    def _drop(self) -> None:
        if self._is_over and not self._uses:
            self._resource.__exit__(None, None, None)


def _wake(waiter: "asyncio.Future[None]", _: object) -> None:
    if not waiter.done():
        waiter.set_result(None)


class _Begun:
    """What a coroutine that has begun still does, from the future on that it awaits."""

    def __init__(self, use: Coroutine[Any, Any, Any], pending: Any) -> None:
        self._use, self._pending = use, pending

    def __await__(self) -> Generator[Any, Any, Any]:
        if isinstance(self._pending, asyncio.Future):
            self._pending._asyncio_future_blocking = True
        yield self._pending
        return (yield from self._use.__await__())


async def _to_end(use: Coroutine[Any, Any, Any], pending: Any) -> None:
    """Nobody gets its result any more."""
    with contextlib.suppress(Exception):
        await _Begun(use, pending)


async def _rest(use: Coroutine[Any, Any, T], pending: Any) -> T:
    value: T = await _Begun(use, pending)
    return value


def check_events() -> None:
    """Makes what converts the payloads and results of typed events when the module is made: an instance does not have
    to, and a type that cannot be converted is told at build.
    """
    for event in made_events():
        try:
            what = "payload"
            project(event.payload)
            what = "result"
            result, _ = without_none(event.result)
            if result not in (bytes, Payload):
                structurer(result, of_texts=False)
        except TypeError as error:
            raise TypeError(f"the {what} of the event `{event.name}`: {error}") from None


def name_of(event: AnyEvent) -> str:
    return event if isinstance(event, str) else event.name


def sent(event: AnyEvent, payload: object) -> raw.Payload:
    """The payload for the host. That of a typed event has the fields of its type alone."""
    if isinstance(event, Event):
        make = project(event.payload)
        if make is not None and not isinstance(payload, Payload):
            try:
                payload = make(payload)
            except Unfit as error:
                raise TypeError(f"{PAYLOAD} `{event.name}` does not fit its type: {error}") from None
    return lower_payload(payload, PAYLOAD, name_of(event))


def received(event: AnyEvent, result: raw.Payload) -> Any:
    """The result of a call, of the type that the event declares. Of an event without a result it is `None`."""
    kind = event.result if isinstance(event, Event) else Any
    if kind is None or kind is type(None):
        return None
    try:
        value = lift_payload(result)
        if kind is type(value) or kind is Any:
            return value
        if isinstance(value, Payload):
            binary, _ = without_none(kind)
            if binary in (bytes, Payload):
                return value.data if binary is bytes else value
            told = f"the result of `{name_of(event)}` is bytes of the type `{value.content_type}`, expected JSON"
            raise CallError(name_of(event), raw.Failure("bad-payload", 500, [], told, None))
        return validated(structurer(kind, of_texts=False), value)
    except JsonFault as fault:
        told = f"the result of `{name_of(event)}`: {fault}"
    except ValidationError as error:
        first = error.invalid[0]
        field = f"`{first.field}`: " if first.field else ""
        told = f"the result of `{name_of(event)}` does not fit its type: {field}{first.message}"
    raise CallError(name_of(event), raw.Failure("bad-payload", 500, [], told, None))
