"""The host's side of a request and of the delivery of an event."""

import time
from dataclasses import dataclass, field

from .. import raw
from ..header import header_problem
from ..payload import lift_payload
from .host import Sent, World, fail


class TestReader:
    __test__ = False

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def __exit__(self, kind: None, error: None, trace: None, /) -> None:
        self.rest = b""


class TestWriter:
    __test__ = False

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.is_finished = False

    def __exit__(self, kind: None, error: None, trace: None, /) -> None:
        return None


@dataclass
class TestContext:
    """The host's side of a request, whose replies it keeps."""

    __test__ = False

    world: World
    sent_method: str
    sent_path: str
    sent_query: str | None
    sent_headers: list[raw.Header]
    sent_body: bytes
    pattern: str
    found: list[raw.Property]
    is_cancelled: bool = False
    extensions: dict[str, str] = field(default_factory=dict)
    reply: raw.Reply | None = None
    thrown: raw.Thrown | None = None
    writer: TestWriter | None = None
    body_taken: bool = False

    @property
    def is_open(self) -> bool:
        return self.reply is None and self.thrown is None

    def __exit__(self, kind: None, error: None, trace: None, /) -> None:
        return None

    def method(self) -> str:
        return self.sent_method

    def path(self) -> str:
        return self.sent_path

    def query(self) -> str | None:
        return self.sent_query

    def scheme(self) -> str:
        return "http"

    def authority(self) -> str | None:
        return self.header("host")

    def http_version(self) -> str:
        return "1.1"

    def remote_address(self) -> str | None:
        return "127.0.0.1:50000"

    def received_at(self) -> raw.Instant:
        now = time.time_ns()
        return raw.Instant(now // 10**9, now % 10**9)

    def deadline(self) -> raw.Instant | None:
        return None

    def cancelled(self) -> bool:
        return self.is_cancelled

    def request_id(self) -> str:
        return "test-request"

    def route(self) -> str:
        return self.pattern

    def param(self, name: str, /) -> str | None:
        return next((one.value for one in self.found if one.name == name), None)

    def params(self) -> list[raw.Property]:
        return self.found

    def header(self, name: str, /) -> str | None:
        value = next((one.value for one in self.sent_headers if one.name == name.lower()), None)
        return None if value is None else value.decode("utf-8", "replace")

    def headers(self) -> list[raw.Header]:
        return self.sent_headers

    def extension(self, key: str, /) -> str | None:
        return self.extensions.get(key)

    def set_extension(self, key: str, value: str, /) -> None:
        self.extensions[key] = value

    def take(self) -> bytes:
        if self.body_taken:
            raise fail("gone", 500, "the body was taken before")
        self.body_taken = True
        return self.sent_body

    def open_body(self) -> raw.Reader:
        return TestReader(self.take())

    def emit(self, event: str, payload: raw.Payload, /) -> None:
        self.world.sent.append(Sent("emit", event, lift_payload(payload)))

    def send(self, reply: raw.Reply, /) -> None:
        self._ensure_open()
        wrong = next((found for one in reply.headers if (found := header_problem(one.name, one.value.decode()))), None)
        if wrong:
            raise fail("invalid-reply", 500, wrong)
        self.reply = reply

    def throw(self, error: raw.Thrown, /) -> None:
        self._ensure_open()
        self.thrown = error

    def open_reply(self, status: int, headers: list[raw.Header], /) -> raw.Writer:
        self._ensure_open()
        self.reply = raw.Reply(status, headers, raw.Body_Empty())
        self.writer = TestWriter()
        return self.writer

    def _ensure_open(self) -> None:
        if not self.is_open:
            raise fail("already-replied", 500, "the request has a reply already")


@dataclass
class TestDelivery:
    __test__ = False

    world: World
    name: str
    number: int
    context: TestContext | None

    def __exit__(self, kind: None, error: None, trace: None, /) -> None:
        return None

    def id(self) -> str:
        return "test-event"

    def attempt(self) -> int:
        return self.number

    def event(self) -> str:
        return self.name

    def request_id(self) -> str | None:
        return "test-request"

    def deadline(self) -> raw.Instant | None:
        return None

    def cancelled(self) -> bool:
        return False

    def take_context(self) -> raw.Context | None:
        taken, self.context = self.context, None
        return taken

    def emit(self, event: str, payload: raw.Payload, /) -> None:
        self.world.sent.append(Sent("emit", event, lift_payload(payload)))
