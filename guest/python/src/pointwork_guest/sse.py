"""Server-sent events."""

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from .crash import caller_place
from .jsontext import json_text
from .log import log
from .projection import Unfit, project
from .reply import Reply

_BREAK = re.compile(r"[\r\n\0]")
_LINES = re.compile(r"\r\n|\n|\r")
_HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache"}


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event: `data` is text or becomes JSON. A line with `comment` alone keeps the connection in use. `retry` is
    in milliseconds.
    """

    data: Any = None
    event: str | None = None
    id: str | None = None
    retry: int | None = None
    comment: str | None = None


def sse(events: Iterable[ServerSentEvent] | AsyncIterable[ServerSentEvent], *, data: Any = Any) -> Reply:
    """A reply of server-sent events, from a generator or another iterable. With `data`, a type, the data of each event
    has the fields of the type alone."""
    made = caller_place()
    shaped = _shaped(project(data))
    pieces = _later(events, made, shaped) if isinstance(events, AsyncIterable) else _now(events, made, shaped)
    return Reply.stream(pieces, headers=_HEADERS)


def _shaped(make: Callable[[Any], Any] | None) -> Callable[[ServerSentEvent], ServerSentEvent]:
    def shaped(event: ServerSentEvent) -> ServerSentEvent:
        if make is None or not isinstance(event, ServerSentEvent) or event.data is None:
            return event
        try:
            return replace(event, data=make(event.data))
        except Unfit as error:
            raise TypeError(f"the data of a server-sent event does not fit its type: {error}") from None

    return shaped


_Shape = Callable[[ServerSentEvent], ServerSentEvent]


def _now(events: Iterable[ServerSentEvent], made: str, shaped: _Shape) -> Iterator[str]:
    for event in events:
        yield _text(shaped(event), made)


async def _later(events: AsyncIterable[ServerSentEvent], made: str, shaped: _Shape) -> AsyncIterator[str]:
    async for event in events:
        yield _text(shaped(event), made)


def _text(event: ServerSentEvent, made: str) -> str:
    if not isinstance(event, ServerSentEvent):
        raise TypeError(
            f"a server-sent event is of the type `{type(event).__name__}`, expected `ServerSentEvent(data=…)`"
        )
    head = _field("event", event.event, made) + _field("id", event.id, made)
    head += _field("retry", None if event.retry is None else str(event.retry), made)
    if event.comment is not None:
        head += _lines("", event.comment)
    if event.data is not None:
        data = event.data if isinstance(event.data, str) else json_text(event.data, "the data of a server-sent event")
        head += _lines("data", data)
    return f"{head}\n"


def _lines(name: str, text: str) -> str:
    return "".join(f"{name}: {line}\n" for line in _LINES.split(text))


def _field(name: str, text: str | None, made: str) -> str:
    """A line break would begin another field, so a text with one is left out."""
    if text is None:
        return ""
    if not _BREAK.search(text):
        return f"{name}: {text}\n"
    log.error(f"the field `{name}` of a server-sent event has a line break and is left out, at {made}")
    return ""
