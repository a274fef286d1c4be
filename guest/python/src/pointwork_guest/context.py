"""The contexts of the synchronous and of the asynchronous form."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar, overload

from . import raw
from .base_context import BYTE_ORDER_MARK, FORM, BaseContext, form_value, json_value
from .calls import Lease, direct, name_of, received, sent
from .events import Event
from .exceptions import CallError
from .fields import Fields
from .header import HeadersLike
from .host import host
from .multipart import AsyncPart, Part, boundary_of, read_parts, read_parts_async
from .parameters import Extra
from .reply import Piece, Reply, piece_bytes

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")
Bytes = bytes
_CHUNK = 64 * 1024


class _Writer:
    """The body of a reply, chunk by chunk. Without `finish` the reply is broken off."""

    def __init__(self, writer: raw.Writer) -> None:
        self._raw: raw.Writer | None = writer

    @property
    def _open(self) -> raw.Writer:
        if self._raw is None:
            raise RuntimeError("the reply is finished")
        return self._raw

    def close(self) -> None:
        """Breaks the reply off, unless it is finished."""
        writer = self._raw
        self._raw = None
        if writer is not None:
            writer.__exit__(None, None, None)


class BodyWriter(_Writer):
    __doc__ = _Writer.__doc__

    def write(self, chunk: Piece) -> None:
        """Writes a chunk. Waits while the client is slower; fails with the code `gone` when the client has left."""
        direct("write", lambda: host.waiting.write(self._open, piece_bytes(chunk)))

    def finish(self) -> None:
        direct("finish", lambda: host.waiting.finish(self._open))
        self.close()


class AsyncBodyWriter(_Writer):
    __doc__ = _Writer.__doc__

    def __init__(self, writer: raw.Writer) -> None:
        super().__init__(writer)
        self._lease = Lease(writer)

    async def _wait(self, called: str, make: Callable[[raw.Writer], Awaitable[None]]) -> None:
        assert self._open
        await self._lease.wait(called, make)

    async def write(self, chunk: Piece) -> None:
        """Writes a chunk. Waits while the client is slower; fails with the code `gone` when the client has left."""
        data = piece_bytes(chunk)
        await self._wait("write", lambda writer: host.async_waiting.write(writer, data))

    async def finish(self) -> None:
        await self._wait("finish", host.async_waiting.finish)
        self.close()

    async def closed(self) -> None:
        """Waits until nobody reads the reply any more: the client has left, or wants no body."""
        await self._wait("closed", host.async_waiting.closed)

    def close(self) -> None:
        """Breaks the reply off, unless it is finished."""
        if self._raw is not None:
            self._raw = None
            self._lease.end()


class _BodyReader:
    """The body of a request. Its context lets go of it at the latest: the traceback of an error may keep a generator
    that reads it, and the host would wait for the rest of the body.
    """

    def __init__(self, ctx: BaseContext) -> None:
        self._raw: raw.Reader | None = direct("body", ctx._open.open_body)
        self._lease = Lease(self._raw)
        ctx._streams = [*(ctx._streams or ()), self]

    @property
    def open(self) -> raw.Reader:
        if self._raw is None:
            raise RuntimeError("the body is closed: its handler has ended")
        return self._raw

    async def read(self) -> Bytes | None:
        assert self.open
        return await self._lease.wait("read", lambda reader: host.async_waiting.read(reader, _CHUNK))

    def close(self) -> None:
        if self._raw is not None:
            self._raw = None
            self._lease.end()


def _opened(ctx: BaseContext, status: int, headers: HeadersLike) -> raw.Writer:
    head = Reply(status=status, headers=headers)
    if head.problem is not None:
        raise head.problem
    lowered = head.lowered_headers()
    writer = direct("open_reply", lambda: ctx._open.open_reply(int(status), lowered))
    ctx._has_replied = True
    return writer


class Context(BaseContext):
    """A request and its reply, for modules of the synchronous form. A controller reaches everything outside itself
    through it.
    """

    __slots__ = ()

    @overload
    def call(self, event: Event[P, R], payload: P, /) -> R: ...
    @overload
    def call(self, event: str, payload: object = None, /) -> Any: ...
    def call(self, event: Any, payload: Any = None, /) -> Any:
        """Calls an event and waits for the result of its listener. A failure is a `CallError`."""
        name = name_of(event)
        lowered = sent(event, payload)
        try:
            result = host.waiting.call(self._raw or self._open, name, lowered)
        except host.failure as error:
            raise CallError(name, error.value) from None
        return received(event, result)

    def text(self) -> str:
        """The whole body as text without a byte order mark, 400 if it is not UTF-8, 415 if it says another encoding.
        The body can be taken once."""
        self._expect(None)
        return direct("text", lambda: host.waiting.text(self._open)).removeprefix(BYTE_ORDER_MARK)

    def bytes(self) -> bytes:
        """The whole body."""
        return direct("bytes", lambda: host.waiting.body(self._open))

    @overload
    def json(self) -> Any: ...
    @overload
    def json(self, kind: Callable[..., T], *, extra: Extra = "ignore") -> T: ...
    def json(self, kind: Any = Any, *, extra: Extra = "ignore") -> Any:
        """The whole body from JSON: 400 if it is none, 415 for another content type, 422 if it does not fit the type.

        `kind` is a type, or a function that makes the value, and raises `Invalid` if it cannot. `extra="forbid"`
        refuses names that the type, or a type within it, does not have.
        """
        self._expect("application/json")
        return json_value(self.text(), kind, extra)

    @overload
    def form(self) -> Fields: ...
    @overload
    def form(self, kind: Callable[..., T], *, extra: Extra = "ignore") -> T: ...
    def form(self, kind: Any = Fields, *, extra: Extra = "ignore") -> Any:
        """The whole body from a form, as its fields or as a type."""
        self._expect(FORM)
        return form_value(self.text(), kind, extra)

    def json_or_form(self, kind: Callable[..., T], *, extra: Extra = "ignore") -> T:
        """The whole body from JSON or from a form, by its content type."""
        return self.form(kind, extra=extra) if self._is_form() else self.json(kind, extra=extra)

    def chunks(self) -> Iterator[Bytes]:
        """The body chunk by chunk. On a route with `body="stream"` the handler runs before the body has arrived."""
        body = _BodyReader(self)
        try:
            while (chunk := direct("read", lambda: host.waiting.read(body.open, _CHUNK))) is not None:
                yield chunk
        finally:
            body.close()

    def parts(self) -> Iterator[Part]:
        """The parts of a body of the type `multipart/form-data`, as they arrive. Each is read before the next one."""
        return read_parts(self.chunks(), boundary_of(self.header("content-type") or ""))

    def open_reply(self, status: int = 200, headers: HeadersLike = ()) -> BodyWriter:
        """Sends the head of the reply now. The result writes the body, until `finish`."""
        writer = BodyWriter(_opened(self, status, headers))
        self._streams = [*(self._streams or ()), writer]
        return writer


class AsyncContext(BaseContext):
    """A request and its reply, for modules of the asynchronous form. A controller reaches everything outside itself
    through it.
    """

    __slots__ = ("_lease",)

    def __init__(self, context: raw.Context) -> None:
        super().__init__(context)
        self._lease = Lease(context)

    def _wait(self, called: str, make: Callable[[raw.Context], Awaitable[T]]) -> Awaitable[T]:
        assert self._raw or self._open
        return self._lease.wait(called, make)

    def _given(self) -> raw.Context:
        if self._lease.is_used:
            raise RuntimeError("the context cannot be handed over: another task of the request waits for it")
        return super()._given()

    def _release(self, context: raw.Context) -> None:
        self._lease.end()

    @overload
    async def call(self, event: Event[P, R], payload: P, /) -> R: ...
    @overload
    async def call(self, event: str, payload: object = None, /) -> Any: ...
    async def call(self, event: Any, payload: Any = None, /) -> Any:
        """Calls an event and waits for the result of its listener. A failure is a `CallError`."""
        name, lowered = name_of(event), sent(event, payload)
        return received(event, await self._wait(name, lambda context: host.async_waiting.call(context, name, lowered)))

    async def text(self) -> str:
        """The whole body as text without a byte order mark, 400 if it is not UTF-8, 415 if it says another encoding.
        The body can be taken once."""
        self._expect(None)
        return (await self._wait("text", host.async_waiting.text)).removeprefix(BYTE_ORDER_MARK)

    async def bytes(self) -> bytes:
        """The whole body."""
        return await self._wait("bytes", host.async_waiting.body)

    @overload
    async def json(self) -> Any: ...
    @overload
    async def json(self, kind: Callable[..., T], *, extra: Extra = "ignore") -> T: ...
    async def json(self, kind: Any = Any, *, extra: Extra = "ignore") -> Any:
        """The whole body from JSON: 400 if it is none, 415 for another content type, 422 if it does not fit the type.

        `kind` is a type, or a function that makes the value, and raises `Invalid` if it cannot. `extra="forbid"`
        refuses names that the type, or a type within it, does not have.
        """
        self._expect("application/json")
        return json_value(await self.text(), kind, extra)

    @overload
    async def form(self) -> Fields: ...
    @overload
    async def form(self, kind: Callable[..., T], *, extra: Extra = "ignore") -> T: ...
    async def form(self, kind: Any = Fields, *, extra: Extra = "ignore") -> Any:
        """The whole body from a form, as its fields or as a type."""
        self._expect(FORM)
        return form_value(await self.text(), kind, extra)

    async def json_or_form(self, kind: Callable[..., T], *, extra: Extra = "ignore") -> T:
        """The whole body from JSON or from a form, by its content type."""
        return await (self.form(kind, extra=extra) if self._is_form() else self.json(kind, extra=extra))

    async def chunks(self) -> AsyncIterator[Bytes]:
        """The body chunk by chunk. On a route with `body="stream"` the handler runs before the body has arrived."""
        body = _BodyReader(self)
        try:
            while (chunk := await body.read()) is not None:
                yield chunk
        finally:
            body.close()

    def parts(self) -> AsyncIterator[AsyncPart]:
        """The parts of a body of the type `multipart/form-data`, as they arrive. Each is read before the next one."""
        return read_parts_async(self.chunks(), boundary_of(self.header("content-type") or ""))

    def open_reply(self, status: int = 200, headers: HeadersLike = ()) -> AsyncBodyWriter:
        """Sends the head of the reply now. The result writes the body, until `finish`."""
        writer = AsyncBodyWriter(_opened(self, status, headers))
        self._streams = [*(self._streams or ()), writer]
        return writer
