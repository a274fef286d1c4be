"""Runs the steps of a program, in both forms: in the synchronous one nothing waits."""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, NoReturn

from pointwork_guest import HttpError, Reply, env, log, raw
from pointwork_guest.log import write

from .payloads import JSON, bytes_of, payload_of, plain, shown, text_of

NONE = "(none)"
Step = list[Any]

_runs = 0


async def waited(value: Any) -> Any:
    """The value of a function of the SDK in either form."""
    return await value if isinstance(value, Awaitable) else value


def done(run: Coroutine[Any, Any, Any]) -> Any:
    """The result of what does not wait."""
    try:
        run.send(None)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("a program of the synchronous form waits")


async def each(chunks: Any) -> AsyncIterator[bytes]:
    if isinstance(chunks, AsyncIterator):
        async for chunk in chunks:
            yield chunk
    else:
        for chunk in chunks:
            yield chunk


def error_of(text: str, program: dict[str, Any], **more: Any) -> HttpError:
    error = HttpError(plain(text), headers=pairs(program.get("headers", [])), **more)
    error.fields = program.get("details", {})
    return error


def pairs(headers: Iterable[list[str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers]


class Run:
    """One run of a program. `door` is where calls and emits go out."""

    def __init__(self, door: Any, program: dict[str, Any]) -> None:
        global _runs
        _runs += 1
        self.door, self.program = door, program
        self.text = ""
        self.context: Any = None
        self.writer: Any = None
        # The message and the type of the next trap or exception.
        self.panic = ("a trap on purpose", "Exception")

    async def run(self) -> Any:
        for step in self.program["steps"]:
            await self.step(step)
        end, *rest = self.program.get("end", ["reply", "text"])
        match end:
            case "deferred":
                return None
            case "raise" | "trap":
                # The SDK traps at the end of memory, and reports any other exception.
                message, name = self.panic
                raise type(name, (MemoryError if end == "trap" else Exception,), {})(message)
            case "loop":
                while True:
                    pass
            case "hog":
                everything: list[bytes] = []
                while True:
                    everything.append(b"\1" * 65528)
            case "overflow":
                return overflow(1)
            case _:
                return self.ended(end, *rest)

    def ended(self, end: str, *rest: Any) -> Any:
        raise NotImplementedError

    @property
    def ctx(self) -> Any:
        if self.context is None:
            raise RuntimeError("expected a context; take it first")
        return self.context

    def say(self, text: object) -> None:
        self.text += NONE if text is None else str(text)

    def say_pairs(self, found: Iterable[tuple[str, str]]) -> None:
        for name, value in found:
            self.say(f"{name}={value}\n")

    def say_instant(self, nanoseconds: int) -> None:
        self.say(f"{nanoseconds // 10**9} {nanoseconds % 10**9}")

    def taken(self) -> str:
        """The text, which is empty from now on."""
        text, self.text = self.text, ""
        return plain(text)

    async def tried(self, run: Callable[[], Any], *, message: bool = False) -> Any:
        """Runs what may fail: the text becomes `failed <code>`."""
        try:
            return await waited(run())
        except HttpError as error:
            self.text = f"failed {error.code}: {error.message}" if message else f"failed {error.code}"
            return error

    async def sent(self, value: Any) -> None:
        if await self.tried(lambda: self.ctx.send(value)) is None:
            self.text = "sent"

    async def stream(self, status: int, chunks: Iterable[str]) -> None:
        """Opens a reply and writes chunks. A client that has left ends no program."""
        writer = await self.tried(lambda: self.ctx.open_reply(status))
        if isinstance(writer, HttpError):
            return
        self.writer = writer
        for chunk in chunks:
            await ignored(writer.write, bytes_of(chunk))

    async def echo(self) -> None:
        async def run() -> None:
            writer = self.ctx.open_reply()
            async for chunk in each(self.ctx.chunks()):
                await waited(writer.write(chunk))
            await waited(writer.finish())
            self.text = ""

        await self.tried(run)

    async def call(self, event: str, content_type: str) -> None:
        payload = payload_of(self.text, content_type)
        result = await self.tried(lambda: self.door.call(event, payload), message=True)
        if not isinstance(result, HttpError):
            self.text = shown(result)

    async def hand_over(self, event: str) -> None:
        context, self.context = self.ctx, None
        if await self.tried(lambda: context.hand_over(event, payload_of(self.text, JSON))) is None:
            self.text = ""

    async def step(self, step: Step) -> None:
        match step:
            case ["say", text]:
                self.say(text)
            case ["double", times]:
                self.text *= 2**times
            case ["each", steps]:
                text = self.text
                for one in steps:
                    self.text = text
                    await self.step(one)
            case ["method" | "path" | "scheme" | "authority" | "route" as name]:
                self.say(getattr(self.ctx, name))
            case ["query"]:
                self.say(self.ctx.search)
            case ["http-version"]:
                self.say(self.ctx.http_version)
            case ["remote-address"]:
                self.say(self.ctx.remote_address)
            case ["received-at"]:
                self.say(int(self.ctx.received_at.timestamp()))
            case ["deadline"]:
                found = self.door.deadline
                self.say(None if found is None else int(found.timestamp()))
            case ["cancelled"]:
                self.say("cancelled" if self.door.cancelled else "")
            case ["param", name]:
                self.say(self.ctx.params.get(name))
            case ["params"]:
                self.say_pairs(self.ctx.params.items())
            case ["header", name]:
                self.say(self.ctx.header(name))
            case ["headers"]:
                self.headers()
            case ["request-id"]:
                self.say(self.door.request_id)
            case ["extension", key]:
                self.say(self.ctx.extension(key))
            case ["set-extension", key]:
                self.ctx.set_extension(key, self.taken())
            case ["body" | "body-text" as name]:
                read = self.ctx.bytes if name == "body" else self.ctx.text
                body = await self.tried(read)
                if not isinstance(body, HttpError):
                    self.say(text_of(body) if isinstance(body, bytes) else body)
            case ["count"]:
                self.say(_runs)
            case ["call", event, content_type]:
                await self.call(event, content_type)
            case ["emit", event]:
                self.door.emit(event, payload_of(self.text, JSON))
                self.text = ""
            case ["hand-over", event]:
                await self.hand_over(event)
            case ["send", status, headers]:
                await self.sent(Reply.text(plain(self.text), status=status, headers=pairs(headers)))
            case ["throw-now", status]:
                await self.sent(HttpError(plain(self.text), status=status))
            case ["stream", status, texts, order]:
                await self.stream(status, [texts[number] for number in order])
            case ["stream-text", status]:
                text, self.text = self.text, ""
                await self.stream(status, [text])
            case ["finish"]:
                writer, self.writer = self.writer, None
                if writer is not None:
                    await ignored(writer.finish)
            case ["echo"]:
                await self.echo()
            case _:
                self.environment(step)

    def headers(self) -> None:
        for name, value in self.ctx.headers:
            self.say(f"{name}={as_received(value)}\n")

    def environment(self, step: Step) -> None:
        """Steps of a module's surroundings, which need no request."""
        match step:
            case ["now"]:
                self.say_instant(time.time_ns())
            case ["monotonic"]:
                self.say_instant(time.monotonic_ns())
            case ["random"]:
                self.say(int.from_bytes(os.urandom(4), "little"))
            case ["variables"]:
                self.say_pairs(env.items())
            case ["log", fields]:
                log.info(self.taken(), **dict(fields))
            case ["log-from", target]:
                write(raw.Level.INFO, self.taken(), target)
            case ["panicked", exception]:
                self.panic = (self.taken(), exception)
            case _:
                raise RuntimeError(f"this program has no step `{step[0]}`")


async def ignored(run: Callable[..., Any], *given: Any) -> None:
    """The program of a guest in another language does not look at the end of a write."""
    with suppress(HttpError):
        await waited(run(*given))


def as_received(value: str) -> str:
    """The value of a header. The SDK has a character for each byte of one that is no UTF-8."""
    try:
        data = value.encode("latin-1")
        data.decode()
        return value
    except UnicodeEncodeError:
        return value
    except UnicodeDecodeError:
        return text_of(data)


def overflow(depth: int) -> int:
    return overflow(depth + 1) + 1
