"""Requests, replies, events and bodies."""

from __future__ import annotations

import asyncio
import json
import re
import traceback
from collections.abc import AsyncIterator, AsyncIterable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl

from ._errors import Failure
from ._pointwork import EventAnswer, EventCall, PieceAnswer, Pieces, RouteAnswer, RouteCall
from ._run import Loop, Pool, awaited, blocking, goes_on, threadsafe

if TYPE_CHECKING:
    from ._app import App
    from ._pointwork import NativeFailure, Write

HeaderPairs: TypeAlias = list[tuple[bytes, bytes]]
GivenHeaders: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]
Chunk: TypeAlias = bytes | bytearray | memoryview | str
Body: TypeAlias = Chunk | Iterable[Chunk] | AsyncIterable[Chunk] | None

JSON = "application/json"
BYTES = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"


def native_headers(headers: GivenHeaders | None) -> HeaderPairs:
    if not headers:
        return []
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return [(name.encode("latin-1"), str(value).encode("latin-1")) for name, value in pairs]


def shown_headers(headers: HeaderPairs) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]


class Headers(dict[str, str]):
    """Headers. A name is found in upper and lower case, and listed in lower case; several headers of one name are
    joined by commas."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        self._pairs = [(name.lower(), value) for name, value in pairs]
        for name, value in self._pairs:
            super().__setitem__(name, f"{super().__getitem__(name)}, {value}" if name in self else value)

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name.lower() if isinstance(name, str) else name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a header; the default if there is none."""
        return super().get(name.lower(), default)

    def get_all(self, name: str) -> list[str]:
        """The values of all headers of a name, in their order."""
        name = name.lower()
        return [value for key, value in self._pairs if key == name]


class Query(dict[str, str]):
    """The parameters of a query. The last one of a name counts; `get_all` has all of them."""

    def __init__(self, query: str) -> None:
        self._pairs = parse_qsl(query, keep_blank_values=True)
        super().__init__(self._pairs)

    def get_all(self, name: str) -> list[str]:
        """The values of all parameters of a name, in their order."""
        return [value for key, value in self._pairs if key == name]


def json_bytes(value: Any) -> bytes:
    """A value as JSON."""
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        # A half of a surrogate pair, which JSON has as an escape only.
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def _value_of(data: bytes, what: str) -> Any:
    """The value of a text of JSON that came from outside. Raises `Failure` with status 400 if it is none."""
    try:
        return json.loads(data, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Failure(400, f"the {what} is not JSON: {error}", code="bad-payload") from error


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _text_of(data: bytes, what: str) -> str:
    """A text that came from outside. Raises `Failure` with status 400 if it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Failure(400, f"the {what} is no UTF-8 text: {error}", code="bad-payload") from error


def encoded(chunk: Chunk) -> bytes | bytearray:
    if isinstance(chunk, bytes | bytearray):
        return chunk
    if isinstance(chunk, str):
        return chunk.encode("utf-8", "backslashreplace")
    if isinstance(chunk, memoryview):
        return bytes(chunk)
    raise TypeError(f"a piece of a body is of type `{type(chunk).__name__}`, expected `bytes` or `str`")


def native_body(body: Body, pool: Pool, loop: Loop) -> bytes | Write | None:
    """A body for the application: bytes, or a function that writes one piece for each call."""
    if body is None or isinstance(body, bytes):
        return body
    if isinstance(body, str | bytearray | memoryview):
        return bytes(encoded(body))
    if isinstance(body, AsyncIterable):
        return partial(_write_async, loop, asyncio._get_running_loop(), aiter(body))
    if isinstance(body, Iterable) and not isinstance(body, Mapping):
        return partial(pool.run, _next, iter(body))
    raise TypeError(f"the body is of type `{type(body).__name__}`, expected `bytes`, `str`, or an iterator of them")


def _next(pieces: Iterator[Chunk], answer: PieceAnswer) -> None:
    try:
        answer.data(encoded(next(pieces)))
    except StopIteration:
        answer.end()
    except BaseException as error:
        break_off(answer, error)


def break_off(answer: PieceAnswer, error: BaseException) -> None:
    """Ends a body with an exception. It never raises."""
    try:
        answer.failed(story(error))
    except BaseException:
        pass


def _write_async(
    loop: Loop, here: asyncio.AbstractEventLoop | None, pieces: AsyncIterator[Chunk], answer: PieceAnswer
) -> None:
    loop.run(answer.failed, _next_async, pieces, answer, on=here)


async def _next_async(pieces: AsyncIterator[Chunk], answer: PieceAnswer) -> None:
    try:
        cancel_when_gone(answer)
        answer.data(encoded(await anext(pieces)))
    except StopAsyncIteration:
        answer.end()
    except BaseException as error:
        break_off(answer, error)
        if isinstance(error, asyncio.CancelledError) or goes_on(error):
            raise


def cancel_when_gone(answer: RouteAnswer | EventAnswer | PieceAnswer) -> None:
    """Has the task that runs cancelled once nobody waits for its answer any more."""
    if (task := asyncio.current_task()) is not None:
        answer.when_gone(partial(threadsafe, task.get_loop(), task.cancel))


def escaped(text: str) -> str:
    """A text that can be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()


def story(error: BaseException) -> str:
    """An exception with its traceback. It runs code of the exception, whose own exceptions are left out."""
    try:
        return escaped("".join(traceback.format_exception(error)))
    except BaseException:
        pass
    kind = f"{type(error).__name__} (its text cannot be formatted)"
    try:
        frames = traceback.format_tb(error.__traceback__)
        return escaped("".join(["Traceback (most recent call last):\n", *frames, kind]))
    except BaseException:
        return escaped(kind)


class Stream:
    """A body that comes piece by piece. Iterate over it with `for`, which waits, or with `async for`. The next piece is read
    when it is asked for, so a slow reader slows the writer down. An end before its time raises `BodyError`. In `async
    def`, a form that would wait raises `RuntimeError`."""

    def __init__(self, body: bytes | Pieces, twin: str = "`async for` or `await stream.read_async()`") -> None:
        self._body: bytes | Pieces | None = body
        # What is to be used on the thread of an event loop.
        self._twin = twin
        # Pieces that `read` gave back.
        self._front: list[bytes] = []

    def __iter__(self) -> Stream:
        return self

    def __aiter__(self) -> Stream:
        return self

    def __next__(self) -> bytes:
        if self._front:
            return self._front.pop(0)
        body = self._whole()
        if isinstance(body, bytes):
            return body
        piece = b"" if body is None else body.next_now()
        if piece is None and body is not None:
            piece = blocking(body.next_blocking, self._twin, None)
        if not piece:
            self._body = None
            raise StopIteration
        return piece

    async def __anext__(self) -> bytes:
        if self._front:
            return self._front.pop(0)
        body = self._whole()
        if isinstance(body, bytes):
            return body
        piece = await _piece(body) if body is not None else b""
        if not piece:
            self._body = None
            raise StopAsyncIteration
        return piece

    def _whole(self) -> bytes | Pieces | None:
        body = self._body
        if isinstance(body, bytes):
            self._body = None
            return body or None
        return body

    def read(self) -> bytes:
        """The rest of it. Waits."""
        pieces: list[bytes] = []
        try:
            pieces.extend(self)
        except RuntimeError:
            # On the thread of an event loop, whose program goes on by another form.
            self._front = pieces
            raise
        return b"".join(pieces)

    async def read_async(self) -> bytes:
        """The rest of it."""
        return b"".join([piece async for piece in self])

    def close(self) -> None:
        """Reads no more, which its writer learns."""
        body, self._body = self._body, None
        if isinstance(body, Pieces):
            body.close()


async def _piece(pieces: Pieces) -> bytes:
    loop = asyncio.get_running_loop()
    while True:
        future: asyncio.Future[None] = loop.create_future()
        piece = pieces.next(partial(threadsafe, loop, _wake, future))
        if piece is not None:
            return piece
        await future


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@dataclass
class Payload:
    """The payload of an event, if it is not JSON."""

    content_type: str
    """Its content type."""
    data: bytes
    """Its bytes."""

    def json(self) -> Any:
        """Its value, if it is JSON."""
        return json.loads(self.data)


def native_payload(value: Any) -> tuple[str, bytes]:
    """A value as the payload of an event: `Payload` as it is, bytes as bytes, anything else as JSON."""
    if value is None:
        return JSON, b"null"
    if isinstance(value, Payload):
        return value.content_type, value.data
    if isinstance(value, bytes | bytearray):
        return BYTES, bytes(value)
    return JSON, json_bytes(value)


def python_payload(payload: tuple[str, bytes], raw: bool) -> Any:
    """The value of a payload: that of JSON unless it is to be raw, else `Payload`."""
    content_type, data = payload
    if not raw and content_type.partition(";")[0].strip().lower() == JSON:
        return json.loads(data)
    return Payload(content_type, data)


CALL_TWIN = "`await call_async(…)`"
NO_WAIT = (None, None)


class _Calls:
    """Calls and emits events."""

    _call: EventCall | RouteCall

    def call(self, event: str, payload: Any = None, *, raw: bool = False, timeout: float | None = None) -> Any:
        """Calls an event, such as `db:product:one`, and waits for the value of its listener. JSON is converted unless `raw` is set;
        anything else is a `Payload`.

        Raises `Failure` as the listener failed; `TimeoutError` past so many seconds; `ValueError` if the content type
        of a `Payload` is none. In `async def` use `call_async`: there, this form raises `RuntimeError` if it has to
        wait."""
        return python_payload(
            blocking(self._call.call, CALL_TWIN, timeout, event, native_payload(payload), None), raw
        )

    async def call_async(
        self, event: str, payload: Any = None, *, raw: bool = False, timeout: float | None = None
    ) -> Any:
        """The same, for `async def`. A cancellation of it cancels the call."""
        native = native_payload(payload)
        called = awaited(lambda done: self._call.call(event, native, done, NO_WAIT), timeout, cancels=True)
        return python_payload(await called, raw)

    def emit(self, event: str, payload: Any = None) -> None:
        """Emits an event: nobody waits for its listeners."""
        self._call.emit(event, native_payload(payload))

    @property
    def time_left(self) -> float | None:
        """The seconds until nobody waits for the answer any more; `None` if that is open."""
        return self._call.time_left


class Request(_Calls):
    """A request for a function of Python."""

    def __init__(self, call: RouteCall, app: App) -> None:
        self._call: RouteCall = call
        self._app = app
        self._body: bytes | None = None
        self._stream: Stream | None = None
        self._is_handed_over = False

    @property
    def method(self) -> str:
        """The method."""
        return self._call.method

    @property
    def path(self) -> str:
        """The path as the client sent it, percent-encoded."""
        return self._call.path

    @property
    def query_string(self) -> str:
        """The query, without `?`."""
        return self._call.query

    @property
    def query(self) -> Query:
        """The parameters of the query: `request.query["page"]` is the last one of a name,
        `request.query.get_all("tag")` a list of all."""
        return Query(self._call.query)

    @property
    def params(self) -> dict[str, str]:
        """The parameters of the path."""
        return dict(self._call.params)

    @property
    def headers(self) -> Headers:
        """The headers: `request.headers["Content-Type"]` finds a name in upper and lower case. Several of one name are
        joined by commas; `request.headers.get_all("accept")` is a list of them."""
        return Headers(shown_headers(self._call.headers))

    @property
    def headers_raw(self) -> HeaderPairs:
        """The headers as they came, their names in lower case."""
        return self._call.headers

    @property
    def route(self) -> str:
        """The pattern of the route."""
        return self._call.route

    @property
    def request_id(self) -> str:
        """The id, which the reply carries as `x-request-id`."""
        return self._call.request_id

    @property
    def client(self) -> str | None:
        """The address of the client, if it is known."""
        return self._call.peer

    @property
    def scheme(self) -> str:
        """`http` or `https`."""
        return self._call.scheme

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for the reply any more."""
        return self._call.is_cancelled

    @property
    def body(self) -> bytes:
        """The whole body. The function of a route is called when it is there, unless the route has `stream=True`; then this
        waits. In `async def` use `await request.read()` first."""
        if self._body is None:
            self._body = self._opened("`await request.read()`").read()
        return self._body

    async def read(self) -> bytes:
        """The whole body, for `async def` with `stream=True`. From then on `body`, `text` and `json` have it."""
        if self._body is None:
            self._body = await self._opened("").read_async()
        return self._body

    def stream(self) -> Stream:
        """The body, piece by piece, once. Of a route without `stream=True` it is one piece."""
        self._stream = Stream(self._call.body())
        return self._stream

    def _opened(self, twin: str) -> Stream:
        # `body` may have begun to read, on the thread of an event loop.
        stream = self.stream() if self._stream is None else self._stream
        stream._twin = twin
        return stream

    def _release(self) -> None:
        """Lets the application forget the request, which is answered, whoever keeps this object."""
        self._call.release()
        if self._stream is not None:
            self._stream.close()

    def text(self) -> str:
        """The body as text. Raises `Failure` with status 400 if it is none."""
        return _text_of(self.body, "body")

    def json(self) -> Any:
        """The value of the body, which is JSON. Raises `Failure` with status 400 if it is not."""
        return _value_of(self.body, "body")

    def reply(self, value: Any) -> None:
        """Replies to a request that was handed over with an event (`Event.take_request`), as the value of a function of a route
        does; a `Failure` is told to the client. Raises `Failure` if the request has its reply."""
        if isinstance(value, Failure):
            self._call.fail(parts_of(value))
            return
        self._call.reply(*native_reply(value, self._app._bodies, self._app._loop))

    def hand_over(self, event: str, payload: Any = None) -> None:
        """Hands the request over with an event, such as `response:send`, whose listener replies in place of this program: a
        function of a route returns `None` behind it. Raises `Failure` if nobody listens to the event, or its queue is full."""
        self._call.hand_over(event, native_payload(payload))
        self._is_handed_over = True


class Event(_Calls):
    """An event for a function of Python."""

    def __init__(self, call: EventCall, app: App) -> None:
        self._call: EventCall = call
        self._app = app

    def _release(self) -> None:
        """Lets the application forget the event, which is answered, whoever keeps this object."""
        self._call.release()

    @property
    def name(self) -> str:
        """The name within its channel."""
        return self._call.name

    @property
    def content_type(self) -> str:
        """The content type of the payload."""
        return self._call.content_type

    @property
    def data(self) -> bytes:
        """The payload as it came."""
        return self._call.data

    def text(self) -> str:
        """The payload as text. Raises `Failure` with status 400 if it is none."""
        return _text_of(self._call.data, "payload")

    def json(self) -> Any:
        """The value of the payload, which is JSON. Raises `Failure` with status 400 if it is not."""
        return _value_of(self._call.data, "payload")

    @property
    def request_id(self) -> str | None:
        """The id of the request that led to the event; `None` outside of one."""
        return self._call.request_id

    def take_request(self) -> Request | None:
        """The request that was handed over with the event, once. Whoever takes it replies, by `Request.reply`."""
        call = self._call.take_request()
        return Request(call, self._app) if call is not None else None


class Response:
    """A reply of a function of a route.

    `body` is bytes, text, an iterator or an asynchronous iterator of those: its next piece is asked for when the client has
    taken the one before. Without a `content-type` among the headers text is `text/plain; charset=utf-8`, and bytes are
    `application/octet-stream`.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int = 200, headers: GivenHeaders | None = None, body: Body = None) -> None:
        self.status = status
        """The status."""
        self.headers = headers
        """The headers."""
        self.body = body
        """The body."""

    @classmethod
    def json(cls, value: Any, status: int = 200, headers: GivenHeaders | None = None) -> Response:
        """A reply of JSON."""
        pairs = list(headers.items() if isinstance(headers, Mapping) else headers or ())
        return cls(status, [("content-type", JSON), *pairs], json_bytes(value))


_TYPES = {kind: [(b"content-type", kind.encode())] for kind in (JSON, BYTES, TEXT)}


def native_reply(value: Any, pool: Pool, loop: Loop) -> tuple[int, HeaderPairs, bytes | Write | None]:
    """The reply that a value of a function is."""
    if isinstance(value, Response):
        headers = native_headers(value.headers)
        body = value.body
        if body is not None and not any(name.lower() == b"content-type" for name, _ in headers):
            if isinstance(body, str):
                headers += _TYPES[TEXT]
            elif isinstance(body, bytes | bytearray | memoryview):
                headers += _TYPES[BYTES]
        return value.status, headers, native_body(body, pool, loop)
    if isinstance(value, str):
        return 200, _TYPES[TEXT], value.encode("utf-8", "backslashreplace")
    if isinstance(value, bytes | bytearray | memoryview):
        return 200, _TYPES[BYTES], bytes(value)
    if value is None:
        return 204, [], None
    if isinstance(value, dict | list | tuple | int | float):
        return 200, _TYPES[JSON], json_bytes(value)
    kind = type(value).__name__
    raise TypeError(f"the value of a function of a route is of type `{kind}`, expected `Response`, text, bytes or JSON")


def answer_route(answer: RouteAnswer, request: Request, value: Any) -> None:
    """Answers a request with the value of its function. `None` of a function that handed the request over is no reply."""
    if value is None and request._is_handed_over:
        answer.defer()
    else:
        answer.reply(*native_reply(value, request._app._bodies, request._app._loop))


class Reply:
    """The reply to a request that was sent in process."""

    __slots__ = ("_body", "_headers", "_reading", "_whole", "status")

    def __init__(self, status: int, headers: HeaderPairs, body: bytes | Pieces) -> None:
        self.status = status
        """The status."""
        self._headers = headers
        self._whole = body if isinstance(body, bytes) else None
        self._body = body
        self._reading: Stream | None = None

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers, their names in lower case."""
        return shown_headers(self._headers)

    def header(self, name: str) -> str | None:
        """The first header of a name."""
        name = name.lower()
        return next((value for key, value in self.headers if key == name), None)

    def stream(self) -> Stream:
        """The body, piece by piece."""
        return Stream(self._body)

    def read(self) -> bytes:
        """The whole body. Waits, if the handler writes it piece by piece; in `async def` use `read_async`."""
        if self._whole is None:
            self._whole = self._read().read()
        return self._whole

    async def read_async(self) -> bytes:
        """The same, for `async def`."""
        if self._whole is None:
            self._whole = await self._read().read_async()
        return self._whole

    def _read(self) -> Stream:
        if self._reading is None:
            self._reading = Stream(self._body, "`await reply.read_async()`")
        return self._reading

    def text(self) -> str:
        """The body as text; as `read`."""
        return self.read().decode()

    def json(self) -> Any:
        """The value of the body, which is JSON; as `read`."""
        return json.loads(self.read())


Answer: TypeAlias = EventAnswer | RouteAnswer


def parts_of(failure: Failure) -> NativeFailure:
    """The parts of a failure; the details are JSON."""
    details = None
    if failure.details:
        text = json.dumps(failure.details, ensure_ascii=False)
        details = _SURROGATE.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text)
    pairs = failure.headers
    headers = [(name.encode("latin-1"), str(value).encode("latin-1", "backslashreplace")) for name, value in pairs]
    code = None if failure.code is None else escaped(failure.code)
    return failure.status, escaped(failure.message), code, details, headers


# A text of JSON cannot have half a pair, and a reader of an escape of it gives up.
_SURROGATE = re.compile("[\ud800-\udfff]")


def fail(answer: Answer, error: BaseException) -> None:
    """Answers with an exception: a failure on purpose, or a crash with its traceback. It never raises: if no answer can
    be given, the drop of the answer tells the application."""
    try:
        try:
            if isinstance(error, Failure):
                answer.failed(parts_of(error))
                return
            text = story(error)
        except Exception as wrong:
            # No name keeps it: its frames have the request, which the application waits for at its end.
            text = story(wrong)
        answer.threw(text)
    except BaseException:
        pass
