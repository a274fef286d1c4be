"""Exceptions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ._headers import HeaderPairs, header_items, python_headers


class Error(Exception):
    """An error of an application. Its subclasses are the kinds."""


class ComponentError(Error):
    """A component is not one, was built against another version of the contract, imports more than it is granted, or does not
    compile."""


class RefusedError(Error):
    """A declaration of a module, a route, a listener or a change is refused."""


class SettingsError(Error):
    """A setting is invalid."""


class HostError(Error):
    """A file, a directory, an address or another thing of the host cannot be used."""


class ClosedError(Error):
    """The application is closed."""


class ForkedError(Error):
    """The process was forked after the application was started."""


class NestedError(Error):
    """Requests or calls are within one another without end: 16 are the most. What a function asks of the application
    counts, on its thread, and in an `async def` in the tasks that it starts."""


class EngineError(Error):
    """The engine or its threads do not start."""


class BodyError(Error):
    """A body broke off."""


class Failure(Exception):
    """An error on purpose. A function that raises it gives its caller, or the client, the status, the message and the details;
    `request.call` raises it if the listener failed. Keep secrets out of it.

    A failure of `request.call` that the function does not catch passes to the client, unless it is a mistake of the function, such as
    a payload that does not fit, or a name that nobody listens to. Such a mistake is an exception like any other: the client gets
    500 without the message, and the log has the traceback.

    A status below 400 becomes 500.
    """

    _is_mistake = False
    """Whether the failure is a mistake of the code that called an event or a method of the request."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] | None = None,
    ) -> None:
        super().__init__(status, message)
        self.status = status
        """The status of the reply."""
        self.message = message
        """The message, which the client reads."""
        self.code = code
        """The code that callers compare, such as `unknown-event`; `failed` if none is given."""
        self.details = dict(details) if details else None
        """Further fields of the reply."""
        self.headers = header_items(headers)
        """Headers of the reply, such as `retry-after`."""

    def __str__(self) -> str:
        return self.message


def _failure(
    status: int, message: str, code: str, details: str | None, headers: HeaderPairs, is_mistake: bool
) -> Failure:
    """A failure that comes from the application."""
    fields = json.loads(details) if details else None
    failure = Failure(status, message, code=code, details=fields, headers=python_headers(headers))
    failure._is_mistake = is_mistake
    return failure


def wrong_type(what: str, value: object, expected: str) -> TypeError:
    """The error of an argument."""
    return TypeError(f"{what} is of type `{type(value).__name__}`, expected {expected}")
