"""Applications of ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from ._bodies import Stream
from ._errors import ClosedError
from ._failures import refusal
from ._paths import path_below, with_slash
from ._pointwork import InFlight, Mount, ChunkAnswer
from ._run import Loop, call_threadsafe, reply_of

if TYPE_CHECKING:
    from ._app import App
    from ._pointwork import NativeRequest, NativeReply, Accepted, Write

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
AsgiApplication: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


class Asgi:
    """An application of ASGI 3. Its bodies are streamed both ways, and a client that goes away cancels its request."""

    def __init__(self, app: App, mount: Mount, loop: Loop, prefix: str, other: AsgiApplication | None) -> None:
        # The mount keeps the application alive, whose functions would not be called otherwise.
        self._app = app
        self._mount = mount
        self._loop = loop
        self._prefix = with_slash(prefix)
        self._other = other

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answers one scope."""
        self._loop.attach(asyncio.get_running_loop())
        if scope["type"] != "http":
            await self._not_http(scope, receive, send)
            return
        accepted = None
        if self._other is not None and (accepted := self._accept(scope)) is None:
            await self._other(scope, receive, send)
        else:
            await self._http(scope, receive, send, accepted)

    def _accept(self, scope: Message) -> Accepted | None:
        try:
            return self._mount.accept(_native_request(scope, self._prefix, None, None))
        except (ValueError, ClosedError):
            return None

    async def _not_http(self, scope: Message, receive: Receive, send: Send) -> None:
        if self._other is not None:
            await self._other(scope, receive, send)
        elif scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Message, receive: Receive, send: Send, accepted: Accepted | None) -> None:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body: bytes | Write = message.get("body", b"")
        uploaded, length = None, None
        if message.get("more_body"):
            uploaded = _Upload(message, receive, asyncio.get_running_loop())
            body, length = uploaded.write, _length(scope)
        try:
            progress = self._mount.handle(_native_request(scope, self._prefix, body, length), accepted)
        except ValueError as error:
            return await _refuse(send, 400, str(error))
        except ClosedError as error:
            return await _refuse(send, *refusal(error))
        if progress is None:
            await _refuse(send, 404, "not found")
            return
        if isinstance(progress, tuple) and isinstance(progress[2], bytes) and uploaded is None:
            # Most replies are there at once, and the whole request was read.
            return await _send(progress, send, None)
        uploaded = uploaded or _Upload(message, receive, asyncio.get_running_loop())
        try:
            if isinstance(progress, InFlight):
                try:
                    reply = await _reply_unless_gone(progress, uploaded)
                except ClosedError as error:
                    return await _refuse(send, *refusal(error))
                if reply is None:
                    return
            else:
                reply = progress
            await _send(reply, send, uploaded)
        finally:
            uploaded.close()


class _Upload:
    """What the client sends after its first message: the rest of the body, and that it went away. One task at a time calls
    `receive`, which returns both."""

    def __init__(self, first: Message, receive: Receive, loop: asyncio.AbstractEventLoop) -> None:
        self._first: bytes | None = first.get("body", b"")
        self._more: bool = first.get("more_body", False)
        self._receive = receive
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self.gone = asyncio.Event()
        # Called as soon as the client went away.
        self.when_gone: Callable[[], object] | None = None

    def write(self, answer: ChunkAnswer) -> None:
        """Writes one chunk. It may be called on any thread."""
        if asyncio._get_running_loop() is self._loop:
            self._loop.call_soon(self._begin_chunk, answer)
        else:
            call_threadsafe(self._loop, self._begin_chunk, answer)

    def watch(self) -> None:
        """Waits for the client to go away, if it has sent its body."""
        if not self._more and self._task is None:
            self._task = self._loop.create_task(self._watch())

    def close(self) -> None:
        """Reads no more."""
        if self._task is not None:
            self._task.cancel()

    def _begin_chunk(self, answer: ChunkAnswer) -> None:
        self._task = self._loop.create_task(self._write_chunk(answer))

    async def _write_chunk(self, answer: ChunkAnswer) -> None:
        if self._first:
            data, self._first = self._first, None
            answer.data(data)
            return
        if not self._more:
            answer.end()
            # This task ends: another one watches the client from here on.
            self._task = self._loop.create_task(self._watch())
            return
        message = await self._receive()
        if message["type"] == "http.disconnect":
            answer.failed("the client went away")
            self._report_gone()
            return
        self._more = message.get("more_body", False)
        # For empty bytes the application asks for another chunk.
        answer.data(message.get("body", b""))

    async def _watch(self) -> None:
        # A server that repeats the end of the body does so at once, again and again: it does not tell whether the client went away.
        if (await self._receive())["type"] == "http.disconnect":
            self._report_gone()

    def _report_gone(self) -> None:
        self.gone.set()
        if self.when_gone is not None:
            self.when_gone()


async def _reply_unless_gone(request: InFlight, uploaded: _Upload) -> NativeReply | None:
    """The reply; `None` if the client went away, which cancels the request."""
    end = reply_of(request)
    uploaded.watch()
    gone = asyncio.get_running_loop().create_task(uploaded.gone.wait())
    try:
        await asyncio.wait((end, gone), return_when=asyncio.FIRST_COMPLETED)
        if not end.done():
            request.cancel()
            return None
        reply = end.result()
        if reply is None:
            raise ClosedError("the application is closed")
        return reply
    except asyncio.CancelledError:
        request.cancel()
        raise
    finally:
        gone.cancel()


async def _send(reply: NativeReply, send: Send, uploaded: _Upload | None) -> None:
    status, headers, body = reply
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if isinstance(body, bytes):
        await send({"type": "http.response.body", "body": body})
        return
    # A server takes the chunks of a reply also if the client went away, and tells only by `receive`.
    sending = asyncio.current_task()
    if uploaded is not None and sending is not None:
        uploaded.when_gone = sending.cancel
        uploaded.watch()
    try:
        async for chunk in Stream(body):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except asyncio.CancelledError:
        if uploaded is None or sending is None or not uploaded.gone.is_set():
            raise
        sending.uncancel()
    finally:
        if uploaded is not None:
            uploaded.when_gone = None


def _native_request(scope: Message, prefix: str, body: bytes | Write | None, length: int | None) -> NativeRequest:
    raw = scope.get("raw_path")
    path = raw.decode("latin-1") if raw else quote(scope["path"], safe="/:@!$&'()*+,;=~-._%")
    if root := scope.get("root_path"):
        path = path_below(path, root.encode(), prefix)
    query = scope.get("query_string")
    target = f"{path}?{query.decode('latin-1')}" if query else path
    client = scope.get("client")
    peer = (str(client[0]), int(client[1] or 0)) if client else None
    headers = scope["headers"]
    pairs = headers if isinstance(headers, list) else list(headers)
    return scope["method"], target, pairs, body, length, peer, scope.get("scheme") == "https"


def _length(scope: Message) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return None


async def _refuse(send: Send, status: int, message: str, headers: Iterable[tuple[str, str]] = ()) -> None:
    pairs = [(b"content-type", b"text/plain; charset=utf-8")]
    pairs += ((name.encode(), value.encode()) for name, value in headers)
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": message.encode()})
