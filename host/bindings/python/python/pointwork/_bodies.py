"""Bodies: those that Python reads, and those that it writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ._errors import wrong_type
from ._failures import break_off
from ._run import Loop, Pool, call_threadsafe, cancel_when_gone, must_propagate, settle, wait_here

if TYPE_CHECKING:
    from ._pointwork import ChunkAnswer, Chunks, Write

Chunk: TypeAlias = bytes | bytearray | memoryview | str
Body: TypeAlias = Chunk | Iterable[Chunk] | AsyncIterable[Chunk] | None


def native_body(body: Body, pool: Pool, loop: Loop) -> bytes | Write | None:
    """A body for the application: bytes, or a function that writes one chunk for each call."""
    if body is None or isinstance(body, bytes):
        return body
    if isinstance(body, str | bytearray | memoryview):
        return bytes(_encoded(body))
    if isinstance(body, AsyncIterable):
        return partial(_write_async, loop, asyncio._get_running_loop(), aiter(body))
    if isinstance(body, Iterable) and not isinstance(body, Mapping):
        return partial(pool.run, _write_next, iter(body))
    raise wrong_type("the body", body, "`bytes`, `str`, or an iterator of them")


def _encoded(chunk: Chunk) -> bytes | bytearray:
    if isinstance(chunk, bytes | bytearray):
        return chunk
    if isinstance(chunk, str):
        return chunk.encode("utf-8", "backslashreplace")
    if isinstance(chunk, memoryview):
        return bytes(chunk)
    raise wrong_type("a chunk of a body", chunk, "`bytes` or `str`")


def _write_next(chunks: Iterator[Chunk], answer: ChunkAnswer) -> None:
    try:
        answer.data(_encoded(next(chunks)))
    except StopIteration:
        answer.end()
    except BaseException as error:
        break_off(answer, error)


def _write_async(
    loop: Loop, creator: asyncio.AbstractEventLoop | None, chunks: AsyncIterator[Chunk], answer: ChunkAnswer
) -> None:
    """Writes the next chunk on the event loop that created the body, while that runs."""
    loop.run(answer.failed, _write_next_async, chunks, answer, preferred=creator)


async def _write_next_async(chunks: AsyncIterator[Chunk], answer: ChunkAnswer) -> None:
    try:
        cancel_when_gone(answer)
        answer.data(_encoded(await anext(chunks)))
    except StopAsyncIteration:
        answer.end()
    except BaseException as error:
        break_off(answer, error)
        if isinstance(error, asyncio.CancelledError) or must_propagate(error):
            raise


class Stream:
    """A body that comes chunk by chunk. Iterate over it with `for`, which waits, or with `async for`. The next chunk is read
    when it is asked for, so a slow reader slows the writer down. An end before its time raises `BodyError`. In `async
    def`, a form that would wait raises `RuntimeError`."""


    def __init__(self, body: bytes | Chunks, instead: str = "`async for` or `await stream.read_async()`") -> None:
        self._source = None if isinstance(body, bytes) else body
        # What is there already: a whole body, or the chunks that an interrupted `read` gave back.
        self._chunks = [body] if isinstance(body, bytes) and body else []
        # The form to use on the thread of an event loop.
        self._instead = instead

    def __iter__(self) -> Stream:
        return self

    def __aiter__(self) -> Stream:
        return self

    def __next__(self) -> bytes:
        if self._chunks:
            return self._chunks.pop(0)
        # Another thread may close the stream.
        source = self._source
        chunk = source.next_now() if source is not None else b""
        if chunk is None and source is not None:
            chunk = wait_here(source.next_blocking, instead=self._instead)
        if not chunk:
            self._source = None
            raise StopIteration
        return chunk

    async def __anext__(self) -> bytes:
        if self._chunks:
            return self._chunks.pop(0)
        source = self._source
        chunk = await _next_chunk(source) if source is not None else b""
        if not chunk:
            self._source = None
            raise StopAsyncIteration
        return chunk

    def read(self) -> bytes:
        """The rest of it. Waits."""
        chunks: list[bytes] = []
        try:
            chunks.extend(self)
        except RuntimeError:
            # The thread runs an event loop: the program reads on by an asynchronous form.
            self._chunks = chunks
            raise
        return b"".join(chunks)

    async def read_async(self) -> bytes:
        """The rest of it."""
        return b"".join([chunk async for chunk in self])

    def close(self) -> None:
        """Reads no more, which its writer learns."""
        source, self._source = self._source, None
        self._chunks = []
        if source is not None:
            source.close()


async def _next_chunk(source: Chunks) -> bytes:
    loop = asyncio.get_running_loop()
    while True:
        arrived: asyncio.Future[None] = loop.create_future()
        chunk = source.next(partial(call_threadsafe, loop, settle, arrived, None, None))
        if chunk is not None:
            return chunk
        await arrived
