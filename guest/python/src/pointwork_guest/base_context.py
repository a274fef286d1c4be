"""What the contexts of both forms have: everything that does not wait."""

import gc
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, overload

from . import raw
from .calls import direct, name_of, sent
from .conditions import Conditions
from .cookies import Cookies
from .events import Event
from .exceptions import BadRequest, HttpError, Unauthorized, UnsupportedMediaType, thrown
from .fields import Fields, parse_fields
from .header import essence, header_text, is_utf8
from .host import host
from .jsontext import JsonFault, parse_json
from .parameters import Extra, is_closed
from .projection import Handle
from .reply import Reply, to_reply
from .validation import ValidationError, shown, structurer, validated
from .variables import env

T = TypeVar("T")
P = TypeVar("P")

BYTE_ORDER_MARK = "\ufeff"
FORM = "application/x-www-form-urlencoded"
_BEARER = re.compile(r"bearer +([A-Za-z0-9\-._~+/]+=*) *", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(instant: raw.Instant) -> datetime:
    return _EPOCH + timedelta(seconds=instant.seconds, microseconds=instant.nanoseconds // 1000)


def text_value(hint: Any, text: str | list[str], what: str) -> Any:
    """A text by a type hint, 400 with `what` if it does not fit."""
    if hint is str and isinstance(text, str):
        return text
    try:
        return validated(structurer(hint, of_texts=True), text)
    except ValidationError as found:
        raise BadRequest(f"{what}: {found.invalid[0].message}") from None


class BaseContext(Handle):
    """A request and its reply. A controller reaches everything outside itself through it."""

    __slots__ = ("_cookies", "_has_replied", "_has_reported", "_query", "_raw", "_streams", "_values")

    def __init__(self, context: raw.Context) -> None:
        self._raw: raw.Context | None = context
        self._query: Fields | None = None
        self._cookies: Cookies | None = None
        self._values: dict[Any, Any] | None = None
        self._streams: list[Any] | None = None
        # Whether an error can no longer be the reply.
        self._has_replied = False
        self._has_reported = False

    @property
    def _open(self) -> raw.Context:
        if self._raw is None:
            raise RuntimeError("the context is closed: its handler has ended, or handed it over")
        return self._raw

    @property
    def method(self) -> str:
        """The method as the client sent it."""
        return self._open.method()

    @property
    def path(self) -> str:
        """The path as the client sent it, with percent-escapes and a global prefix, without the query."""
        return self._open.path()

    @property
    def scheme(self) -> str:
        return self._open.scheme()

    @property
    def authority(self) -> str | None:
        """The authority that the client addressed."""
        return self._open.authority()

    @property
    def http_version(self) -> str:
        """`1.0`, `1.1` or `2`."""
        return self._open.http_version()

    @property
    def remote_address(self) -> str | None:
        """The client as `address:port`."""
        return self._open.remote_address()

    @property
    def received_at(self) -> datetime:
        """When the host read the head of the request."""
        return time_of(self._open.received_at())

    @property
    def deadline(self) -> datetime | None:
        """When the host ends the request."""
        found = self._open.deadline()
        return None if found is None else time_of(found)

    @property
    def cancelled(self) -> bool:
        """Whether the client has gone, or the request has ended."""
        return self._open.cancelled()

    @property
    def request_id(self) -> str:
        """The id that every line of the log about the request has."""
        return self._open.request_id()

    @property
    def route(self) -> str:
        """The full pattern of the route, `/products/:id`."""
        return self._open.route()

    @property
    def variables(self) -> Mapping[str, str]:
        return env

    @overload
    def param(self, name: str) -> str: ...
    @overload
    def param(self, name: str, kind: type[T]) -> T: ...
    def param(self, name: str, kind: Any = str) -> Any:
        """A path parameter, percent-decoded and of a type, or 400."""
        text = self._open.param(name)
        if text is None:
            raise TypeError(f"the route `{self.route}` has no parameter `{name}`")
        return text_value(kind, text, f"path parameter `{name}`")

    @property
    def params(self) -> dict[str, str]:
        """All path parameters."""
        return {param.name: param.value for param in self._open.params()}

    @property
    def search(self) -> str | None:
        """The query as the client sent it, without the `?`; `None` if there was no `?`."""
        return self._open.query()

    @property
    def query(self) -> Fields:
        context = self._open
        if self._query is None:
            self._query = parse_fields(context.query() or "", "query")
        return self._query

    def read_query(self, kind: Callable[..., T], *, extra: Extra = "ignore") -> T:
        """The query as a dataclass or another type, 400 with the fields if it does not fit. A name that occurs more
        than once is a list.
        """
        try:
            value: T = validated(structurer(kind, of_texts=True, closed=is_closed(extra)), self.query.grouped())
        except ValidationError as error:
            raise ValidationError(error.invalid, 400) from None
        return value

    def header(self, name: str) -> str | None:
        """The first header of that name, in any case."""
        return self._open.header(name)

    @property
    def headers(self) -> list[tuple[str, str]]:
        """All headers, with names in lower case. A value that is not UTF-8 has one character for each byte."""
        return [(header.name, header_text(header.value)) for header in self._open.headers()]

    def header_values(self, name: str) -> list[str]:
        """All values of a header that may be sent more than once."""
        wanted = name.lower()
        return [header_text(header.value) for header in self._open.headers() if header.name == wanted]

    @property
    def cookies(self) -> Cookies:
        if self._cookies is None:
            self._cookies = Cookies(self.header_values("cookie"))
        return self._cookies

    def bearer(self) -> str:
        """The token of `authorization: Bearer …`, 401 without one. Several such headers, or a malformed token, are
        401 too.
        """
        values = self.header_values("authorization")
        found = _BEARER.fullmatch(values[0]) if len(values) == 1 else None
        if found is None:
            raise Unauthorized(
                "header `authorization`: expected a bearer token", headers={"www-authenticate": "Bearer"}
            )
        return found[1]

    @property
    def conditions(self) -> Conditions:
        """`if-match`, `if-none-match`, `if-modified-since` and `if-unmodified-since`."""
        match, none_match = (", ".join(self.header_values(name)) or None for name in ("if-match", "if-none-match"))
        since = self.header("if-modified-since")
        return Conditions(self.method, match, none_match, since, self.header("if-unmodified-since"))

    @overload
    def emit(self, event: Event[P, Any], payload: P, /) -> None: ...
    @overload
    def emit(self, event: str, payload: object = None, /) -> None: ...
    def emit(self, event: Any, payload: Any = None, /) -> None:
        """Queues an event for its listener, and returns at once. Failures are in the log of the host."""
        self._open.emit(name_of(event), sent(event, payload))

    @overload
    def hand_over(self, event: Event[P, Any], payload: P, /) -> None: ...
    @overload
    def hand_over(self, event: str, payload: object = None, /) -> None: ...
    def hand_over(self, event: Any, payload: Any = None, /) -> None:
        """Hands the request over to the listener of an event, which replies instead of the handler."""
        lowered = sent(event, payload)
        context = self._given()
        direct(name_of(event), lambda: host.environment.hand_over(name_of(event), context, lowered))

    def _given(self) -> raw.Context:
        context = self._open
        self._raw = None
        self._has_replied = True
        return context

    def send(self, value: object = None, *, status: int | None = None) -> None:
        """Replies now; the handler goes on, and returns nothing. An `HttpError` ends the request."""
        if isinstance(value, HttpError):
            error = thrown(value)
            direct("send", lambda: self._open.throw(error))
            self._has_replied = True
            return
        reply = Reply() if value is None else to_reply(value, "the reply", "")
        if status is not None:
            reply.status = status
        if reply.problem is not None:
            raise reply.problem
        lowered = reply.lowered("`send`")
        direct("send", lambda: self._open.send(lowered))
        self._has_replied = True

    def extension(self, key: str) -> str | None:
        """A value that the host adds to the log lines of the request."""
        return self._open.extension(key)

    def set_extension(self, key: str, value: str) -> None:
        self._open.set_extension(key, str(value))

    def _expect(self, wanted: str | None) -> None:
        """Refuses a body of another type, and one of text in another encoding than UTF-8."""
        found = self._open.header("content-type")
        if found is None:
            return
        if not is_utf8(found):
            raise UnsupportedMediaType(f"body: expected `charset=utf-8`, got `{shown(found)}`")
        if wanted is None:
            return
        kind = essence(found)
        if kind != wanted and not (wanted == "application/json" and kind.endswith("+json")):
            raise UnsupportedMediaType(f"body: expected `content-type: {wanted}`, got `{shown(found)}`")

    def _is_form(self) -> bool:
        return essence(self._open.header("content-type") or "") == FORM

    def _close(self) -> None:
        """Breaks off a reply that the handler did not finish, and lets go of a body that it did not read to its end."""
        if self._streams:
            for stream in self._streams:
                stream.close()
        context = self._raw
        self._raw = None
        if context is not None:
            self._release(context)

    def _release(self, context: raw.Context) -> None:
        context.__exit__(None, None, None)


def json_value(text: str, kind: Any, extra: Extra) -> Any:
    """A body by a type: 400 if it is no JSON, 422 if it does not fit."""
    is_collecting = gc.isenabled()
    # JSON has no cycles, and the collector would look at a large value again and again while it is made.
    gc.disable()
    try:
        value = parse_json(text)
        return (
            value if kind is Any else validated(structurer(kind, of_texts=False, closed=is_closed(extra)), value, text)
        )
    except JsonFault as fault:
        raise BadRequest(f"body: {fault}") from None
    finally:
        if is_collecting:
            gc.enable()


def form_value(text: str, kind: Any, extra: Extra) -> Any:
    fields = parse_fields(text, "body")
    if kind is Fields:
        return fields
    return validated(structurer(kind, of_texts=True, closed=is_closed(extra)), fields.grouped())
