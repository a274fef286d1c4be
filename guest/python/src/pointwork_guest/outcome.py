"""From what a handler returned to the outcome for the host."""

import functools
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Union, get_args, get_origin

from . import raw
from .base_context import BaseContext
from .context import AsyncContext, Context
from .crash import exception_line, forget_traces, is_of, note_place
from .delivery import BaseDelivery
from .exceptions import CallError, HttpError, UncaughtException, check_error, http_error
from .hints import named
from .host import host
from .jsontext import field_names, json_text, utf8_text
from .log import log
from .payload import Payload
from .reply import Reply, piece_bytes, to_reply

DEFERRED = raw.Outcome_Deferred()
"""The outcome of a handler whose reply was sent before, or is sent by a listener."""
_NO_HEADERS: list[raw.Header] = []
RETURNED = "what was returned by"


def none_is_json(hint: Any) -> bool:
    """Whether `None` is JSON's `null`: where the hint of the returned value has another type beside `None`, as `object`
    does."""
    hint = named(hint)
    if hint is object:
        return True
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else ()
    return type(None) in parts


def plain_outcome(value: Any, name: str) -> raw.Outcome | None:
    """The outcome of a text, a dictionary, a list or a dataclass, which most handlers return, without a `Reply`
    between."""
    kind: Any = type(value)
    if kind is dict or kind is list or _is_record(kind):
        return raw.Outcome_Reply(raw.Reply(200, _NO_HEADERS, raw.Body_Json(json_text(value, RETURNED, name))))
    if kind is str:
        return raw.Outcome_Reply(raw.Reply(200, _NO_HEADERS, raw.Body_Text(utf8_text(value, RETURNED, name))))
    return None


@functools.lru_cache(maxsize=1024)
def _is_record(kind: Any) -> bool:
    """Whether it is a dataclass or an attrs class whose values are JSON, and nothing else that a handler may return."""
    if issubclass(kind, (Reply, Payload, HttpError, BaseContext, bytes, bytearray)):
        return False
    return field_names(kind) is not None and not hasattr(kind, "__next__") and not hasattr(kind, "__anext__")


def as_outcome(value: Any, name: str, null: bool) -> Reply | HttpError | None:
    """What a handler returned as a reply; `None` leaves the reply to a channel."""
    if value is None:
        return Reply.json(None) if null else None
    if isinstance(value, BaseContext):
        return None
    if isinstance(value, HttpError):
        check_error(value)
        return value
    return to_reply(value, RETURNED, name)


def is_streamed(reply: Reply) -> bool:
    return isinstance(reply.body, (Iterator, AsyncIterator))


def report(error: UncaughtException, call: BaseContext | BaseDelivery) -> None:
    """Reports an exception that ends a call. The host takes one for a call; another one is a line of the log."""
    if call._has_reported:
        log.error(f"another exception after the one that ended the call: {exception_line(error.exception)}")
        return
    call._has_reported = True
    host.environment.raised(error.exception)


def _broken(raised: Exception, ctx: BaseContext, handler: Callable[..., Any]) -> None:
    """An error after the head of a reply. A client that leaves is no error."""
    note_place(raised, handler)
    error = http_error(raised)
    if is_of(error, UncaughtException):
        report(error, ctx)
        return
    if not (is_of(error, CallError) and error.code == "gone"):
        log.error(f"the reply is broken off: {exception_line(error)}")
    forget_traces(error)


def write_pieces(ctx: Context, reply: Reply, handler: Callable[..., Any]) -> None:
    """Writes the pieces. An error before the first one is raised, since nothing is sent yet; a later one breaks the
    reply off. When
    the client leaves, the rest is dropped."""
    pieces: Any = reply.body
    if not isinstance(pieces, Iterator):
        raise TypeError(
            "an asynchronous generator is returned in a module of the synchronous form, expected a generator"
        )
    try:
        first = next(pieces, None)
        chunk = None if first is None else piece_bytes(first)
        writer = ctx.open_reply(reply.status, reply.headers)
        try:
            while chunk is not None:
                writer.write(chunk)
                piece = next(pieces, None)
                chunk = None if piece is None else piece_bytes(piece)
            writer.finish()
        except Exception as error:
            _broken(error, ctx, handler)
            writer.close()
    finally:
        # A generator cleans up in its `finally`.
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


async def write_pieces_later(ctx: AsyncContext, reply: Reply, handler: Callable[..., Any]) -> None:
    """The same in the asynchronous form, from a generator of either kind."""
    pieces: Any = reply.body
    is_later = isinstance(pieces, AsyncIterator)

    async def following() -> bytes | None:
        piece: Any = await anext(pieces, None) if is_later else next(pieces, None)
        return None if piece is None else piece_bytes(piece)

    try:
        chunk = await following()
        writer = ctx.open_reply(reply.status, reply.headers)
        try:
            while chunk is not None:
                await writer.write(chunk)
                chunk = await following()
            await writer.finish()
        except Exception as error:
            _broken(error, ctx, handler)
            writer.close()
    finally:
        close = getattr(pieces, "aclose" if is_later else "close", None)
        if close is not None:
            closed = close()
            if is_later:
                await closed
