"""Bodies of the type `multipart/form-data`, part by part as they arrive."""

import re
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

from .exceptions import BadRequest, ContentTooLarge, UnsupportedMediaType
from .fields import check_name
from .header import essence, is_utf8, parameter

_LONGEST_BOUNDARY = 70
"""As RFC 2046 says."""
_LONGEST_HEAD = 64 * 1024
"""In bytes. The preamble counts, which is in front of the first part."""
_MOST_PARTS = 1_000
_MOST_HEADERS = 100
"""In one part."""

_Steps = Generator[None, bytes, Any]
"""The parser is a generator that asks for chunks, so that both forms share it: one reads them by a call, the other
awaits them.
"""


def boundary_of(content_type: str) -> str:
    if essence(content_type) != "multipart/form-data":
        raise UnsupportedMediaType(f"body: expected `content-type: multipart/form-data`, got `{content_type}`")
    boundary = parameter(content_type, "boundary") or ""
    if not 1 <= len(boundary) <= _LONGEST_BOUNDARY:
        raise BadRequest(
            f"body: expected a boundary of 1 to {_LONGEST_BOUNDARY} characters in `content-type: {content_type}`"
        )
    return boundary


class Parser:
    """The state of a body: what has arrived, from `at` on unread, and whether the content of a part goes on.

    What is read stays in the buffer until more is needed: a chunk with many parts would be copied for each of them
    otherwise.
    """

    def __init__(self, boundary: str) -> None:
        # The first delimiter may begin the body, without the line break.
        self._buffer = b"\r\n"
        self._at = 0
        self._delimiter = f"\r\n--{boundary}".encode()
        self._in_content = True
        self._parts = 0

    @property
    def _unread(self) -> int:
        return len(self._buffer) - self._at

    def _more(self) -> _Steps:
        chunk = yield
        if not chunk:
            raise BadRequest("body: expected the end of the parts, got the end of the body")
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0

    def _take(self, end: int, skipped: int = 0) -> bytes:
        taken, self._at = self._buffer[self._at : end], end + skipped
        return taken

    def content(self) -> Generator[None, bytes, bytes]:
        """The next chunk of the present part, empty at its end."""
        while self._in_content:
            end = self._buffer.find(self._delimiter, self._at)
            if end >= 0:
                self._in_content = False
                return self._take(end, len(self._delimiter))
            # The rest may begin the delimiter.
            safe = len(self._buffer) - len(self._delimiter) + 1
            if safe > self._at:
                return self._take(safe)
            yield from self._more()
        return b""

    def head(self) -> Generator[None, bytes, dict[str, str] | None]:
        """The headers of the next part, `None` after the last. What is left of the present one is skipped."""
        preamble = 0
        while (skipped := (yield from self.content())) or self._in_content:
            preamble += len(skipped) if self._parts == 0 else 0
            if preamble > _LONGEST_HEAD:
                raise _endless_head()
        end = yield from self._find(b"\n", _LONGEST_BOUNDARY + 2, end=b"--")
        if self._buffer.startswith(b"--", self._at):
            return None
        if end is None or not re.fullmatch(rb"[ \t]*\r", self._take(end, 1)):
            raise _malformed("a line break after the boundary")
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise ContentTooLarge(f"body: there are too many parts, expected {_MOST_PARTS} at most")
        end = yield from self._find(b"\r\n\r\n", _LONGEST_HEAD - preamble)
        if end is None:
            raise _endless_head()
        head = self._take(end, 4)
        self._in_content = True
        return _headers(head)

    def _find(self, wanted: bytes, most: int, end: bytes | None = None) -> Generator[None, bytes, int | None]:
        """The position of some bytes. `None` if they are not within `most` bytes, or if the buffer begins with `end`.
        """
        searched = 0
        while True:
            found = self._buffer.find(wanted, self._at + searched)
            if found >= 0:
                return found if found - self._at <= most else None
            if self._unread > most or (end is not None and self._buffer.startswith(end, self._at)):
                return None
            # A client may send a byte at a time, so nothing is searched twice.
            searched = max(0, self._unread - len(wanted) + 1)
            yield from self._more()


def _headers(head: bytes) -> dict[str, str]:
    try:
        lines = head.decode().split("\r\n")
    except UnicodeDecodeError:
        raise _malformed("a head of a part in UTF-8") from None
    if len(lines) > _MOST_HEADERS:
        raise BadRequest(f"body: a part has more than {_MOST_HEADERS} headers")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise _malformed("`name: value` in the head of a part")
        headers[name.strip().lower()] = value.strip()
    return headers


def _endless_head() -> BadRequest:
    return BadRequest(f"body: a part has no end of its head within {_LONGEST_HEAD} bytes")


def _malformed(expected: str) -> BadRequest:
    return BadRequest(f"body: expected {expected}")


class PartHead:
    """Name, type and headers of a part.

    `file_name` is the name of the file on the client's machine; `None` if the part is no file. It is the client's
    text: it may
    be a path.
    """

    def __init__(self, headers: dict[str, str]) -> None:
        disposition = headers.get("content-disposition")
        name = None if disposition is None else parameter(disposition, "name")
        if disposition is None or name is None:
            problem = "has no header `content-disposition`" if disposition is None else "has no name"
            raise BadRequest(f'body: a part {problem}, expected `content-disposition: form-data; name="…"` in UTF-8')
        check_name(name, "body")
        self.name = name
        self.file_name = parameter(disposition, "filename")
        self.content_type = headers.get("content-type")
        self.headers = headers

    def _add(self, chunks: list[bytes], chunk: bytes, length: int, most: int | None) -> int:
        length += len(chunk)
        if most is not None and length > most:
            raise ContentTooLarge(f"body: part `{self.name}` is too large, expected {most} bytes at most")
        chunks.append(chunk)
        return length

    def _text(self, data: bytes) -> str:
        if self.content_type is not None and not is_utf8(self.content_type):
            raise UnsupportedMediaType(f"body: part `{self.name}`: expected `charset=utf-8`, got `{self.content_type}`")
        try:
            # Without a byte order mark.
            return data.removeprefix(b"\xef\xbb\xbf").decode()
        except UnicodeDecodeError:
            raise BadRequest(f"body: part `{self.name}` is not UTF-8") from None


class Part(PartHead):
    """One part. Iterating over it gives the chunks of its content, as they arrive."""

    def __init__(self, headers: dict[str, str], chunks: Iterator[bytes]) -> None:
        super().__init__(headers)
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def bytes(self, most: int | None = None) -> bytes:
        """The whole content, 413 if it has more than `most` bytes."""
        chunks: list[bytes] = []
        length = 0
        for chunk in self._chunks:
            length = self._add(chunks, chunk, length, most)
        return b"".join(chunks)

    def text(self, most: int | None = None) -> str:
        """The whole content as text, 400 if it is not UTF-8, 415 if it says another encoding."""
        return self._text(self.bytes(most))


class AsyncPart(PartHead):
    """As `Part`, for the asynchronous form."""

    def __init__(self, headers: dict[str, str], chunks: AsyncIterator[bytes]) -> None:
        super().__init__(headers)
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def bytes(self, most: int | None = None) -> bytes:
        """The whole content, 413 if it has more than `most` bytes."""
        chunks: list[bytes] = []
        length = 0
        async for chunk in self._chunks:
            length = self._add(chunks, chunk, length, most)
        return b"".join(chunks)

    async def text(self, most: int | None = None) -> str:
        """The whole content as text, 400 if it is not UTF-8, 415 if it says another encoding."""
        return self._text(await self.bytes(most))


def read_parts(chunks: Iterator[bytes], boundary: str) -> Iterator[Part]:
    parser = Parser(boundary)

    def run(steps: Generator[None, bytes, Any]) -> Any:
        try:
            next(steps)
            while True:
                steps.send(next(chunks, b""))
        except StopIteration as end:
            return end.value

    def content() -> Iterator[bytes]:
        while chunk := run(parser.content()):
            yield chunk

    while (headers := run(parser.head())) is not None:
        yield Part(headers, content())


async def read_parts_async(chunks: AsyncIterator[bytes], boundary: str) -> AsyncIterator[AsyncPart]:
    parser = Parser(boundary)

    async def run(steps: Generator[None, bytes, Any]) -> Any:
        try:
            next(steps)
            while True:
                steps.send(await anext(chunks, b""))
        except StopIteration as end:
            return end.value

    async def content() -> AsyncIterator[bytes]:
        while chunk := await run(parser.content()):
            yield chunk

    while (headers := await run(parser.head())) is not None:
        yield AsyncPart(headers, content())
