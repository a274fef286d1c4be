"""The host of a test: what answers the functions that a module calls."""

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from .. import raw
from ..exceptions import HttpError, failure
from ..host import HostFailure, host
from ..payload import lift_payload, lower_payload


@dataclass(frozen=True)
class Sent:
    """An event that the code under test called, emitted or handed its context over to."""

    how: Literal["call", "emit", "hand-over"]
    event: str
    payload: Any


@dataclass(frozen=True)
class LogLine:
    level: str
    message: str
    fields: dict[str, str]


class Deferred(Exception):
    """There is no reply: the handler handed the request over, or neither sent nor returned a reply. A host answers
    500 to the latter.
    """


def fail(code: str, status: int, message: str) -> HostFailure:
    return HostFailure(raw.Failure(code, status, [], message, None))


@dataclass
class World:
    """What a request, an event and the calls within them share."""

    listeners: dict[str, Callable[[Any], Any]]
    values: list[raw.Property]
    sent: list[Sent] = field(default_factory=list)
    lines: list[LogLine] = field(default_factory=list)
    exceptions: list[BaseException] = field(default_factory=list)

    def call(self, event: str, payload: raw.Payload) -> Any:
        self.sent.append(Sent("call", event, lift_payload(payload)))
        listener = self.listeners.get(event)
        if listener is None:
            raise fail(
                "unknown-event", 500, f'nobody listens to `{event}`, expected `app.on("{event}", …)` in the test'
            )
        try:
            return listener(lift_payload(payload))
        except HttpError as error:
            raise HostFailure(failure(error)) from error

    def variables(self) -> list[raw.Property]:
        return self.values

    def hand_over(self, event: str, context: raw.Context, payload: raw.Payload, /) -> None:
        self.sent.append(Sent("hand-over", event, lift_payload(payload)))

    def write(self, level: raw.Level, target: str, message: str, fields: list[raw.Property], /) -> None:
        self.lines.append(LogLine(level.name.lower(), message, {one.name: one.value for one in fields}))


_world: ContextVar[World] = ContextVar("world")


@contextmanager
def in_world(world: World) -> Iterator[None]:
    """The host is that of a test until the end of the block; several tests may run at a time."""
    before = host.environment, host.waiting, host.async_waiting, host.failure
    host.environment, host.waiting, host.async_waiting, host.failure = (
        _Environment(world),
        _Waiting(),
        _AsyncWaiting(),
        HostFailure,
    )
    token = _world.set(world)
    try:
        yield
    finally:
        _world.reset(token)
        host.environment, host.waiting, host.async_waiting, host.failure = before


class _Environment:
    """`world` is that of code in an empty context, as `contextvars.Context()` makes it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def hand_over(self, event: str, context: raw.Context, payload: raw.Payload, /) -> None:
        _world.get(self._world).hand_over(event, context, payload)

    def variables(self) -> list[raw.Property]:
        return _world.get(self._world).variables()

    def write(self, level: raw.Level, target: str, message: str, fields: list[raw.Property], /) -> None:
        _world.get(self._world).write(level, target, message, fields)

    def raised(self, error: BaseException, /) -> None:
        _world.get(self._world).exceptions.append(error)
        # A test that expects another reply shows it. Attributes of the program's class may fail.
        with suppress(Exception):
            traceback.print_exception(error)


class _Waiting:
    def body(self, context: Any, /) -> bytes:
        taken: bytes = context.take()
        return taken

    def text(self, context: Any, /) -> str:
        try:
            return self.body(context).decode()
        except UnicodeDecodeError:
            raise fail("bad-payload", 400, "the body is not UTF-8") from None

    def call(self, context: Any, event: str, payload: raw.Payload, /) -> raw.Payload:
        value = context.world.call(event, payload)
        if inspect.isawaitable(value):
            raise TypeError(
                f"what answers `{event}` is `async def`, expected `def` for a module of the synchronous form"
            )
        return lower_payload(value, "the result of", event)

    call_from = call

    def read(self, reader: Any, most: int, /) -> bytes | None:
        chunk: bytes = reader.rest[:most]
        reader.rest = reader.rest[most:]
        return chunk or None

    def write(self, writer: Any, chunk: bytes, /) -> None:
        writer.chunks.append(chunk)

    def finish(self, writer: Any, /) -> None:
        writer.is_finished = True


class _AsyncWaiting:
    _now = _Waiting()

    async def body(self, context: raw.Context, /) -> bytes:
        return self._now.body(context)

    async def text(self, context: raw.Context, /) -> str:
        return self._now.text(context)

    async def call(self, context: Any, event: str, payload: raw.Payload, /) -> raw.Payload:
        value = context.world.call(event, payload)
        try:
            result = await value if inspect.isawaitable(value) else value
        except HttpError as error:
            raise HostFailure(failure(error)) from error
        return lower_payload(result, "the result of", event)

    call_from = call

    async def read(self, reader: raw.Reader, most: int, /) -> bytes | None:
        return self._now.read(reader, most)

    async def write(self, writer: raw.Writer, chunk: bytes, /) -> None:
        self._now.write(writer, chunk)

    async def finish(self, writer: raw.Writer, /) -> None:
        self._now.finish(writer)

    async def closed(self, writer: raw.Writer, /) -> None:
        return None
