"""The functions of the host that the SDK runs on: the contract's in a component, those of a test in a test."""

from collections.abc import Awaitable
from typing import Any, Protocol

from . import raw


class HostFailure(Exception):
    """A failure of a function of the host. In a component it is componentize-py's `Err`."""

    def __init__(self, value: raw.Failure) -> None:
        super().__init__(value.message)
        self.value = value


class Environment(Protocol):
    """What does not wait."""

    def hand_over(self, event: str, context: raw.Context, payload: raw.Payload, /) -> None: ...
    def variables(self) -> list[raw.Property]: ...
    def write(self, level: raw.Level, target: str, message: str, fields: list[raw.Property], /) -> None: ...
    def raised(self, error: BaseException, /) -> None:
        """Reports an exception that ends the running call."""


class Waiting(Protocol):
    """What waits, for the synchronous form."""

    def body(self, context: raw.Context, /) -> bytes: ...
    def text(self, context: raw.Context, /) -> str: ...
    def call(self, context: raw.Context, event: str, payload: raw.Payload, /) -> raw.Payload: ...
    def call_from(self, delivery: raw.Delivery, event: str, payload: raw.Payload, /) -> raw.Payload: ...
    def read(self, reader: raw.Reader, most: int, /) -> bytes | None: ...
    def write(self, writer: raw.Writer, chunk: bytes, /) -> None: ...
    def finish(self, writer: raw.Writer, /) -> None: ...


class AsyncWaiting(Protocol):
    """What waits, for the asynchronous form."""

    def body(self, context: raw.Context, /) -> Awaitable[bytes]: ...
    def text(self, context: raw.Context, /) -> Awaitable[str]: ...
    def call(self, context: raw.Context, event: str, payload: raw.Payload, /) -> Awaitable[raw.Payload]: ...
    def call_from(self, delivery: raw.Delivery, event: str, payload: raw.Payload, /) -> Awaitable[raw.Payload]: ...
    def read(self, reader: raw.Reader, most: int, /) -> Awaitable[bytes | None]: ...
    def write(self, writer: raw.Writer, chunk: bytes, /) -> Awaitable[None]: ...
    def finish(self, writer: raw.Writer, /) -> Awaitable[None]: ...
    def closed(self, writer: raw.Writer, /) -> Awaitable[None]: ...


class _Missing:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"there is no host for `{name}`: it works in a component, or in a test by `pointwork_guest.testing`"
        )


class _Outside(_Missing):
    def variables(self) -> list[raw.Property]:
        return []


class Host:
    """The host of the process. `failure` is the class of its errors."""

    def __init__(self) -> None:
        self.environment: Environment = _Outside()
        self.waiting: Waiting = _Missing()
        self.async_waiting: AsyncWaiting = _Missing()
        self.failure: Any = HostFailure


host = Host()
