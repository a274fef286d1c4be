"""Replies, and how the value of a handler becomes one."""

import re
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import Any, Literal, Self
from urllib.parse import quote

from . import raw
from .cookies import CookieProblem, cookie_header
from .exceptions import ReplyError, wrong_reply
from .header import HeadersLike, header_problem, pairs, raw_header
from .jsontext import json_text, surrogate_problem, utf8_text
from .payload import Payload, exact_bytes

Piece = str | bytes
Pieces = Iterator[Piece] | AsyncIterator[Piece]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Reply:
    """A reply: status, headers and body. Handlers that need no status and no headers return a plain value.

    A wrong header makes it the error 500 `invalid-reply`, with the place in the log.
    """

    __slots__ = ("body", "headers", "problem", "status")

    def __init__(
        self, body: "raw.Body | Pieces | None" = None, *, status: int = 200, headers: HeadersLike = ()
    ) -> None:
        self.status = status
        self.headers: list[tuple[str, str]] = []
        self.body: raw.Body | Pieces = raw.Body_Empty() if body is None else body
        self.problem: ReplyError | None = None
        if not 200 <= status <= 599:
            self.wrong(f"the status of the reply is {status}, expected 200 to 599")
        for name, value in pairs(headers):
            self.header(name, value)

    @classmethod
    def of(cls, value: object, *, status: int = 200, headers: HeadersLike = ()) -> Self:
        """The reply for a value, as if a handler returned it."""
        if isinstance(value, Payload):
            return cls(
                raw.Body_Bytes(value.data),
                status=status,
                headers=[("content-type", value.content_type), *pairs(headers)],
            )
        return cls(_body(value, "the reply", ""), status=status, headers=headers)

    @classmethod
    def text(cls, text: str, *, status: int = 200, headers: HeadersLike = ()) -> Self:
        return cls(raw.Body_Text(utf8_text(text, "the reply")), status=status, headers=headers)

    @classmethod
    def html(cls, text: str, *, status: int = 200, headers: HeadersLike = ()) -> Self:
        return cls.text(text, status=status, headers=headers).header("content-type", "text/html; charset=utf-8")

    @classmethod
    def json(cls, value: object, *, status: int = 200, headers: HeadersLike = ()) -> Self:
        return cls(raw.Body_Json(json_text(value, "the reply")), status=status, headers=headers)

    @classmethod
    def bytes(cls, data: bytes, *, status: int = 200, headers: HeadersLike = ()) -> Self:
        return cls(raw.Body_Bytes(exact_bytes(data)), status=status, headers=headers)

    @classmethod
    def empty(cls, status: int = 200, *, headers: HeadersLike = ()) -> Self:
        return cls(status=status, headers=headers)

    @classmethod
    def no_content(cls) -> Self:
        return cls(status=204)

    @classmethod
    def stream(cls, pieces: Pieces, *, status: int = 200, headers: HeadersLike = ()) -> Self:
        """A body that is written piece by piece. An error after the first piece breaks it off."""
        return cls(pieces, status=status, headers=headers)

    @classmethod
    def created(cls, location: str, value: object = None) -> Self:
        """201 with a location."""
        made = cls(status=201) if value is None else cls.of(value, status=201)
        return made._located(location)

    @classmethod
    def redirect(cls, location: str, status: Literal[301, 302, 303, 307, 308] = 303) -> Self:
        """303, after which the client gets the location; 307 and 308 repeat the request there."""
        return cls(status=status)._located(location)

    def _located(self, location: str) -> Self:
        # A header may have a tab, which browsers leave out: they read `/<tab>/evil.example` as `//evil.example`.
        found = _CONTROL.search(location)
        if found is not None:
            return self.wrong(
                f"the location has the byte {ord(found[0])} at position {found.start()}, which a URL cannot have"
            )
        problem = surrogate_problem(location)
        if problem is not None:
            return self.wrong(f"the location {problem}")
        return self.header("location", quote(location, safe="%/:?#[]@!$&'()*+,;=~-._"))

    def header(self, name: str, value: str) -> Self:
        """Adds a header; earlier ones of the same name stay, except for `content-type`."""
        problem = header_problem(name, value)
        if problem is not None:
            return self.wrong(problem)
        if name.lower() == "content-type":
            self.headers = [pair for pair in self.headers if pair[0].lower() != "content-type"]
        self.headers.append((name, value))
        return self

    def cookie(
        self,
        name: str,
        value: str,
        *,
        path: str | None = None,
        domain: str | None = None,
        max_age: int | None = None,
        expires: datetime | None = None,
        http_only: bool = False,
        secure: bool = False,
        same_site: Literal["strict", "lax", "none"] | None = None,
    ) -> Self:
        """Sets a cookie; `max_age` is in seconds. The value is encoded."""
        try:
            text = cookie_header(
                name,
                value,
                path=path,
                domain=domain,
                max_age=max_age,
                expires=expires,
                http_only=http_only,
                secure=secure,
                same_site=same_site,
            )
        except CookieProblem as problem:
            return self.wrong(str(problem))
        return self.header("set-cookie", text)

    def copy(self) -> "Reply":
        """Another reply with the same content."""
        made = Reply(self.body)
        made.status, made.headers, made.problem = self.status, [*self.headers], self.problem
        return made

    def wrong(self, problem: str) -> Self:
        """Makes it the error `invalid-reply`."""
        if self.problem is None:
            self.problem = wrong_reply(problem)
        return self

    def lowered(self, made: str) -> raw.Reply:
        """The reply for the host; `made` says in errors what made it."""
        body = self.body
        if isinstance(body, (Iterator, AsyncIterator)):
            raise TypeError(
                "a streamed body is no whole reply: return it from the handler, or write it by `open_reply`"
            )
        if not isinstance(self.status, int) or not 200 <= self.status <= 599:
            raise ReplyError(f"the status of the reply is {self.status!r}, expected 200 to 599", made)
        # It may be an `HTTPStatus`.
        return raw.Reply(int(self.status), self.lowered_headers(), body)

    def lowered_headers(self) -> list[raw.Header]:
        return [raw_header(name, value) for name, value in self.headers]


def _body(value: Any, what: str, name: str) -> "raw.Body | Pieces":
    kind = type(value)
    if kind is str:
        return raw.Body_Text(utf8_text(value, what, name))
    if kind is dict or kind is list:
        return raw.Body_Json(json_text(value, what, name))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return raw.Body_Bytes(bytes(value))
    # A generator or another iterator. Lists, sets and mappings are values.
    if hasattr(kind, "__next__") or hasattr(kind, "__anext__"):
        pieces: Pieces = value
        return pieces
    return raw.Body_Json(json_text(value, what, name))


def to_reply(value: object, what: str, name: str) -> Reply:
    """The reply for a value that is not `None`. `what` and `name` say in errors which value it is."""
    if isinstance(value, Reply):
        return value
    if isinstance(value, Payload):
        return Reply.of(value)
    return Reply(_body(value, what, name))


def piece_bytes(piece: object) -> bytes:
    if isinstance(piece, str):
        return utf8_text(piece, "a piece of the reply").encode()
    if isinstance(piece, (bytes, bytearray, memoryview)):
        return bytes(piece)
    raise TypeError(f"a piece of the reply is of the type `{type(piece).__name__}`, expected `str` or `bytes`")
