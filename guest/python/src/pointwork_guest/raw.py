"""The values of the contract in `wit/`, as Python sees them.

In a component they are the generated classes, since the runtime of componentize-py knows a case of a variant by its
class.
"""

import sys
from dataclasses import dataclass
from typing import Protocol

if sys.platform == "wasi":
    from wit_world.imports.context import Instant
    from wit_world.imports.log import Frame, Level, Report
    from wit_world.imports.types import (
        Binary,
        Body_Bytes,
        Body_Empty,
        Body_Json,
        Body_Text,
        Failure,
        Header,
        Outcome_Deferred,
        Outcome_Reply,
        Outcome_Thrown,
        Payload_Bytes,
        Payload_Json,
        Property,
        Reply,
        Thrown,
    )
else:
    from enum import Enum

    class Level(Enum):
        TRACE = 0
        DEBUG = 1
        INFO = 2
        WARN = 3
        ERROR = 4

    @dataclass
    class Instant:
        seconds: int
        nanoseconds: int

    @dataclass
    class Frame:
        function: str
        file: str
        line: int

    @dataclass
    class Report:
        message: str
        exception: str | None
        stack: list[Frame]

    @dataclass
    class Header:
        name: str
        value: bytes

    @dataclass
    class Property:
        name: str
        value: str

    @dataclass
    class Binary:
        content_type: str
        data: bytes

    @dataclass
    class Payload_Json:
        value: str

    @dataclass
    class Payload_Bytes:
        value: Binary

    @dataclass
    class Body_Empty:
        pass

    @dataclass
    class Body_Text:
        value: str

    @dataclass
    class Body_Json:
        value: str

    @dataclass
    class Body_Bytes:
        value: bytes

    @dataclass
    class Reply:
        status: int
        headers: list[Header]
        body: "Body"

    @dataclass
    class Thrown:
        status: int
        headers: list[Header]
        message: str
        details: str | None

    @dataclass
    class Outcome_Reply:
        value: Reply

    @dataclass
    class Outcome_Thrown:
        value: Thrown

    @dataclass
    class Outcome_Deferred:
        pass

    @dataclass
    class Failure:
        code: str
        status: int
        headers: list[Header]
        message: str
        details: str | None


Payload = Payload_Json | Payload_Bytes
Body = Body_Empty | Body_Text | Body_Json | Body_Bytes
Outcome = Outcome_Reply | Outcome_Thrown | Outcome_Deferred


class Owned(Protocol):
    """A resource; leaving it releases it."""

    def __exit__(self, kind: None, error: None, trace: None, /) -> bool | None: ...


class Reader(Owned, Protocol):
    """The body of a request."""


class Writer(Owned, Protocol):
    """The body of a reply."""


class Context(Owned, Protocol):
    """A request that waits for its reply."""

    def method(self) -> str: ...
    def path(self) -> str: ...
    def query(self) -> str | None: ...
    def scheme(self) -> str: ...
    def authority(self) -> str | None: ...
    def http_version(self) -> str: ...
    def remote_address(self) -> str | None: ...
    def received_at(self) -> Instant: ...
    def deadline(self) -> Instant | None: ...
    def cancelled(self) -> bool: ...
    def request_id(self) -> str: ...
    def route(self) -> str: ...
    def param(self, name: str, /) -> str | None: ...
    def params(self) -> list[Property]: ...
    def header(self, name: str, /) -> str | None: ...
    def headers(self) -> list[Header]: ...
    def extension(self, key: str, /) -> str | None: ...
    def set_extension(self, key: str, value: str, /) -> None: ...
    def open_body(self) -> Reader: ...
    def emit(self, event: str, payload: Payload, /) -> None: ...
    def send(self, reply: Reply, /) -> None: ...
    def throw(self, error: Thrown, /) -> None: ...
    def open_reply(self, status: int, headers: list[Header], /) -> Writer: ...


class Delivery(Owned, Protocol):
    """The delivery of one event."""

    def id(self) -> str: ...
    def attempt(self) -> int: ...
    def event(self) -> str: ...
    def request_id(self) -> str | None: ...
    def deadline(self) -> Instant | None: ...
    def cancelled(self) -> bool: ...
    def take_context(self) -> Context | None: ...
    def emit(self, event: str, payload: Payload, /) -> None: ...
