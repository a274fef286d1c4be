"""Errors that are replies."""

import json
from http import HTTPStatus
from typing import Any

from . import raw
from .crash import caller_place, is_damage, is_of, traceback_of
from .header import HeadersLike, header_problem, header_text, pairs, raw_header
from .jsontext import json_text, well_formed
from .log import log

GENERAL = "the server could not answer the request"


class HttpError(Exception):
    """An error that ends the request: the client gets its status and headers, and a JSON object with `message` and
    the further fields.

    A listener that raises it fails its caller, who can match on `code`. Of any other exception that leaves a handler
    the client learns nothing but 500; the log has its message and place. An error with a status other than 400 to 599, or
    with an invalid header, is 500 with a general sentence, and the log has the place where it is made.
    """

    status = 500
    _reply_error: "ReplyError | None" = None

    def __init__(
        self,
        message: str | None = None,
        *,
        status: int | None = None,
        headers: HeadersLike = (),
        code: str = "failed",
        **fields: Any,
    ) -> None:
        self.status = self.status if status is None else status
        self.headers = pairs(headers)
        problem = self._problem()
        self._reply_error = None if problem is None else wrong_reply(problem)
        # It may be an `HTTPStatus`.
        self.status = int(self.status) if _is_status(self.status) else 500
        self.message = reason(self.status) if message is None else str(message)
        self.code = str(code)
        self.fields = fields
        super().__init__(self.message)

    def hidden(self) -> str | None:
        """What the log has instead, if the client must not learn the message."""
        return None

    def _problem(self) -> str | None:
        if not _is_status(self.status):
            return f"the status of the error is {self.status!r}, expected 400 to 599"
        # The program may have replaced them, also by a dictionary.
        self.headers = pairs(self.headers)
        return next((told for name, value in self.headers if (told := header_problem(name, value))), None)

    def reply_error(self) -> "ReplyError | None":
        """What the error is instead, if its status or a header is invalid. A hook may have changed them."""
        if self._reply_error is not None:
            return self._reply_error
        problem = self._problem()
        return None if problem is None else ReplyError(problem, "an error")

    def for_client(self) -> "HttpError":
        """The error for the client: hidden errors are logged."""
        problem = self.reply_error()
        if problem is not None:
            return problem.for_client()
        told = self.hidden()
        if told is None:
            return self
        if told:
            log.error(told)
        return HttpError(GENERAL, status=self.status, headers=self.headers, code=self.code)


def _is_status(status: object) -> bool:
    return isinstance(status, int) and 400 <= status <= 599


def reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return GENERAL


class CallError(HttpError):
    """A call of an event, or a function of the context, that failed. From the status 500 on, the client does not get
    its message.
    """

    def __init__(self, called: str, failure: raw.Failure) -> None:
        fields: Any = json.loads(failure.details) if failure.details else {}
        headers = [(header.name, header_text(header.value)) for header in failure.headers]
        super().__init__(failure.message, status=failure.status, headers=headers, code=failure.code)
        self.fields = (
            {name: value for name, value in fields.items() if name != "message"} if isinstance(fields, dict) else {}
        )
        self.called = called

    def hidden(self) -> str | None:
        if self.status < 500:
            return None
        # The host logs an overload. A client that leaves before the end of its reply causes no line.
        if self.code == "overloaded" or (self.code == "gone" and self.called in ("open_reply", "write", "finish")):
            return ""
        return f"`{self.called}` failed with `{self.code}`: {self.message}"


_MISTAKES = {
    "unknown-event",
    "ambiguous-event",
    "bad-payload",
    "already-replied",
    "invalid-reply",
    "not-durable",
    "not-remote",
}
"""Codes of the host for a mistake between a module and a channel."""


def is_mistake(error: BaseException) -> bool:
    """Whether a failed call is a mistake of the module that called, which is then an exception of that module. A client
    that leaves, or sends a wrong body, makes functions of the context fail: it is no mistake of the module."""
    if not is_of(error, CallError) or error.code not in _MISTAKES:
        return False
    return ":" in error.called or error.status >= 500


class ReplyError(HttpError):
    """A reply that is not valid HTTP, a fault of the module: 500 `invalid-reply`, with the place in the log."""

    def __init__(self, problem: str, made: str) -> None:
        super().__init__(f"{problem}; it is made at {made}", status=500, code="invalid-reply")

    def hidden(self) -> str | None:
        return f"the reply is not valid: {self.message}"


def wrong_reply(problem: str) -> ReplyError:
    return ReplyError(problem, caller_place())


class VariableError(HttpError):
    """A fault of the module's configuration. The client gets a general sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=500, code="invalid-variable")

    def hidden(self) -> str | None:
        return self.message


def _details(error: HttpError) -> str | None:
    return json_text(error.fields, f"the body of {type(error).__name__}") if error.fields else None


def thrown(error: HttpError) -> raw.Thrown:
    check_error(error)
    shown = error.for_client()
    headers = [raw_header(name, value) for name, value in shown.headers]
    return raw.Thrown(shown.status, headers, well_formed(shown.message), _details(shown))


def failure(error: HttpError) -> raw.Failure:
    """The failure for the caller of a listener. It has everything, since the caller decides what its client learns."""
    reply_error = error.reply_error()
    if reply_error is not None:
        log.error(f"{reply_error.hidden()}")
    valid = [(name, value) for name, value in error.headers if not header_problem(name, value)]
    headers = [raw_header(name, value) for name, value in valid]
    return raw.Failure(error.code, error.status, headers, well_formed(error.message), _details(error))


class BadRequest(HttpError):
    status = 400


class Unauthorized(HttpError):
    status = 401


class PaymentRequired(HttpError):
    status = 402


class Forbidden(HttpError):
    status = 403


class NotFound(HttpError):
    status = 404


class MethodNotAllowed(HttpError):
    status = 405


class NotAcceptable(HttpError):
    status = 406


class RequestTimeout(HttpError):
    status = 408


class Conflict(HttpError):
    status = 409


class Gone(HttpError):
    status = 410


class LengthRequired(HttpError):
    status = 411


class PreconditionFailed(HttpError):
    status = 412


class ContentTooLarge(HttpError):
    status = 413


class UriTooLong(HttpError):
    status = 414


class UnsupportedMediaType(HttpError):
    status = 415


class RangeNotSatisfiable(HttpError):
    status = 416


class ExpectationFailed(HttpError):
    status = 417


class ImATeapot(HttpError):
    status = 418


class MisdirectedRequest(HttpError):
    status = 421


class UnprocessableContent(HttpError):
    status = 422


class Locked(HttpError):
    status = 423


class FailedDependency(HttpError):
    status = 424


class UpgradeRequired(HttpError):
    status = 426


class PreconditionRequired(HttpError):
    status = 428


class TooManyRequests(HttpError):
    status = 429


class UnavailableForLegalReasons(HttpError):
    status = 451


class InternalServerError(HttpError):
    status = 500


class UncaughtException(InternalServerError):
    """An exception that nothing caught, as hooks and `errors` see it: 500 without details. `exception` is what was
    raised.

    The log has its message and place, unless a hook or a function of `errors` for its class makes another reply of it.
    """

    def __init__(self, exception: BaseException) -> None:
        super().__init__("internal error")
        self.exception = exception
        self.__cause__ = exception


def http_error(error: BaseException) -> HttpError:
    """The error that ends a call, for what was raised. It raises what only a trap may end."""
    if is_damage(error):
        raise error
    if not is_of(error, HttpError):
        return UncaughtException(error)
    usable = usable_error(error)
    return UncaughtException(error) if usable is error and is_mistake(error) else usable


_PARTS: dict[type[HttpError], dict[str, type]] = {
    HttpError: {"headers": object, "message": str, "code": str, "fields": dict},
    CallError: {"called": str},
    UncaughtException: {"exception": BaseException},
}
"""What the constructors make, which the SDK reads when it makes a reply."""


def check_error(error: HttpError) -> None:
    """Raises an exception if no reply can be made of an error: a class of the program did not call the constructor, or
    the program has replaced an attribute."""
    problem = _part_problem(error)
    if problem is not None:
        raise TypeError(f"`{type(error).__name__}{problem}").with_traceback(traceback_of(error)) from error


def _part_problem(error: HttpError) -> str | None:
    for name, expected in [part for of, parts in _PARTS.items() if is_of(error, of) for part in parts.items()]:
        if not hasattr(error, name):
            return f"` has no `{name}`: call `super().__init__()` in its `__init__`, or in `__post_init__` of a dataclass"
        found = type(getattr(error, name))
        if not issubclass(found, expected):
            return f".{name}` is of the type `{found.__name__}`, expected `{expected.__name__}`"
    try:
        error.reply_error()
    except (TypeError, ValueError, AttributeError) as fault:
        return f".headers` cannot be read, expected pairs of `str`: {fault}"
    return None


def usable_error(error: HttpError) -> HttpError:
    """The error, or the exception that says why no reply can be made of it."""
    try:
        check_error(error)
    except BaseException as fault:
        if is_damage(fault):
            raise
        return UncaughtException(fault)
    return error


class NotImplementedHttp(HttpError):
    status = 501


class BadGateway(HttpError):
    status = 502


class ServiceUnavailable(HttpError):
    status = 503


class GatewayTimeout(HttpError):
    status = 504


class InsufficientStorage(HttpError):
    status = 507


class LoopDetected(HttpError):
    status = 508
