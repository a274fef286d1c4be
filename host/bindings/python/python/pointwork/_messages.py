"""Requests, events and replies."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from ._bodies import Body, Stream, native_body
from ._content import BYTES, JSON, TEXT, json_bytes, parse_json, parse_text
from ._errors import Failure, wrong_type
from ._failures import native_failure
from ._headers import GivenHeaders, HeaderPairs, header_items, native_headers, python_headers
from ._run import operate, operate_async

if TYPE_CHECKING:
    from ._app import App
    from ._pointwork import EventCall, Chunks, RouteCall, Write


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
        if not isinstance(value.content_type, str):
            raise wrong_type("the content type", value.content_type, "`str`")
        return value.content_type, value.data
    if isinstance(value, bytes | bytearray):
        return BYTES, bytes(value)
    return JSON, json_bytes(value)


def python_payload(payload: tuple[str, bytes], raw: bool) -> Any:
    """The value of a payload: that of JSON unless `raw` is set, otherwise `Payload`."""
    content_type, data = payload
    if not raw and content_type.partition(";")[0].strip().lower() == JSON:
        return json.loads(data)
    return Payload(content_type, data)


# The form that the error of `call` names on the thread of an event loop.
CALL_ASYNC = "`await call_async(…)`"


class _Calls:
    """Calls and emits events."""

    _call: EventCall | RouteCall

    def call(self, event: str, payload: Any = None, *, raw: bool = False, timeout: float | None = None) -> Any:
        """Calls an event, such as `db:product:one`, and waits for the value of its listener. JSON is converted unless `raw` is set;
        anything else is a `Payload`.

        Raises `Failure` as the listener failed; `TimeoutError` past so many seconds; `ValueError` if the content type
        of a `Payload` is none. In `async def` use `call_async`: there, this form raises `RuntimeError` if it has to
        wait."""
        value = operate(self._call.call, event, native_payload(payload), timeout=timeout, instead=CALL_ASYNC)
        return python_payload(value, raw)

    async def call_async(
        self, event: str, payload: Any = None, *, raw: bool = False, timeout: float | None = None
    ) -> Any:
        """The same, for `async def`. A cancellation of it cancels the call."""
        value = await operate_async(self._call.call, event, native_payload(payload), timeout=timeout, cancels=True)
        return python_payload(value, raw)

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
        return Headers(python_headers(self._call.headers))

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
            self._body = self._rest("`await request.read()`").read()
        return self._body

    async def read(self) -> bytes:
        """The whole body, for `async def` with `stream=True`. From then on `body`, `text` and `json` have it."""
        if self._body is None:
            self._body = await self._rest("").read_async()
        return self._body

    def stream(self) -> Stream:
        """The body, chunk by chunk, once. Of a route without `stream=True` it is one chunk."""
        self._stream = Stream(self._call.body())
        return self._stream

    def _rest(self, instead: str) -> Stream:
        # On the thread of an event loop, `body` may have read a part before it raised `RuntimeError`.
        stream = self.stream() if self._stream is None else self._stream
        stream._instead = instead
        return stream

    def _release(self) -> None:
        """Lets the application forget the request, which is answered, also if the program keeps this object."""
        self._call.release()
        if self._stream is not None:
            self._stream.close()

    def text(self) -> str:
        """The body as text. Raises `Failure` with status 400 if it is none."""
        return parse_text(self.body, "body")

    def json(self) -> Any:
        """The value of the body, which is JSON. Raises `Failure` with status 400 if it is not."""
        return parse_json(self.body, "body")

    def reply(self, value: Any) -> None:
        """Replies to a request that was handed over with an event (`Event.take_request`), as the value of a function of a route
        does; a `Failure` is told to the client. Raises `Failure` if the request has its reply."""
        if isinstance(value, Failure):
            self._call.fail(native_failure(value))
            return
        self._call.reply(*native_reply(value, self._app))

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
        """Lets the application forget the event, which is answered, also if the program keeps this object."""
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
        return parse_text(self._call.data, "payload")

    def json(self) -> Any:
        """The value of the payload, which is JSON. Raises `Failure` with status 400 if it is not."""
        return parse_json(self._call.data, "payload")

    @property
    def id(self) -> str:
        """The id of the event: the same for each attempt to deliver it, another one for each event."""
        return self._call.id

    @property
    def attempt(self) -> int:
        """The number of this attempt to deliver the event, from 1; always 1 unless its channel is durable."""
        return self._call.attempt

    @property
    def request_id(self) -> str | None:
        """The id of the request that led to the event; `None` outside of one."""
        return self._call.request_id

    def take_request(self) -> Request | None:
        """The request that was handed over with the event, once. The function that takes it replies, by `Request.reply`."""
        call = self._call.take_request()
        return Request(call, self._app) if call is not None else None


class Response:
    """A reply of a function of a route.

    `body` is bytes, text, an iterator or an asynchronous iterator of those: its next chunk is asked for when the client has
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
        return cls(status, [("content-type", JSON), *header_items(headers)], json_bytes(value))


_CONTENT_TYPE = {kind: [(b"content-type", kind.encode())] for kind in (JSON, BYTES, TEXT)}


def native_reply(value: Any, app: App) -> tuple[int, HeaderPairs, bytes | Write | None]:
    """The value of a function as a reply for the application."""
    if isinstance(value, Response):
        headers = native_headers(value.headers)
        body = value.body
        if body is not None and not any(name.lower() == b"content-type" for name, _ in headers):
            if isinstance(body, str):
                headers += _CONTENT_TYPE[TEXT]
            elif isinstance(body, bytes | bytearray | memoryview):
                headers += _CONTENT_TYPE[BYTES]
        return value.status, headers, native_body(body, app._bodies, app._loop)
    if isinstance(value, str):
        return 200, _CONTENT_TYPE[TEXT], value.encode("utf-8", "backslashreplace")
    if isinstance(value, bytes | bytearray | memoryview):
        return 200, _CONTENT_TYPE[BYTES], bytes(value)
    if value is None:
        return 204, [], None
    if isinstance(value, dict | list | tuple | int | float):
        return 200, _CONTENT_TYPE[JSON], json_bytes(value)
    raise wrong_type("the value of a function of a route", value, "`Response`, text, bytes or JSON")


class Reply:
    """The reply to a request that was sent in process."""

    __slots__ = ("_body", "_headers", "_reading", "_whole", "status")

    def __init__(self, status: int, headers: HeaderPairs, body: bytes | Chunks) -> None:
        self.status = status
        """The status."""
        self._headers = headers
        self._whole = body if isinstance(body, bytes) else None
        self._body = body
        self._reading: Stream | None = None

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers, their names in lower case."""
        return python_headers(self._headers)

    def header(self, name: str) -> str | None:
        """The first header of a name."""
        name = name.lower()
        return next((value for key, value in self.headers if key == name), None)

    def stream(self) -> Stream:
        """The body, chunk by chunk."""
        return Stream(self._body)

    def read(self) -> bytes:
        """The whole body. Waits, if the handler writes it chunk by chunk; in `async def` use `read_async`."""
        if self._whole is None:
            self._whole = self._opened().read()
        return self._whole

    async def read_async(self) -> bytes:
        """The same, for `async def`."""
        if self._whole is None:
            self._whole = await self._opened().read_async()
        return self._whole

    def _opened(self) -> Stream:
        if self._reading is None:
            self._reading = Stream(self._body, "`await reply.read_async()`")
        return self._reading

    def text(self) -> str:
        """The body as text; as `read`."""
        return self.read().decode()

    def json(self) -> Any:
        """The value of the body, which is JSON; as `read`."""
        return json.loads(self.read())
