"""A module of the asynchronous form, which the tests build and serve, with a directory and clocks that are granted."""

import asyncio
import contextvars
import os
import random
import sys
import time
import weakref
from collections.abc import AsyncIterator
from typing import Annotated, Any

from pointwork_guest import (
    AsyncContext,
    AsyncDelivery,
    Depends,
    Module,
    NotFound,
    Query,
    channel,
    controller,
    get,
    log,
    on,
    post,
)


async def user(ctx: AsyncContext) -> Any:
    return await ctx.call("later:one", 1)


class Mapped(Exception):
    """Whose function of `errors` fails."""


def raises(error: BaseException) -> Any:
    raise error


def mapped(error: Mapped, ctx: AsyncContext) -> Any:
    raise KeyboardInterrupt("mapped")


@controller("later")
class Later:
    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.counted = 0
        self.loading: asyncio.Task[str] | None = None

    @get(":id")
    async def show(self, id: int, ctx: AsyncContext, user: Annotated[Any, Depends(user)]) -> Any:
        both = await asyncio.gather(ctx.call("later:one", id), ctx.call("later:two", id))
        return {"user": user, "found": both}

    @get("sold-out")
    async def sold_out(self) -> str:
        error = NotFound()
        error.headers = None  # type: ignore[assignment]
        raise error

    @get("log")
    async def log(self) -> str:
        contextvars.Context().run(print, "of a task apart")
        contextvars.Context().run(print, "unfinished of a task", end="")
        return "logged"

    @get("stream")
    async def stream(self, ctx: AsyncContext) -> AsyncIterator[str]:
        yield "piece "
        yield await ctx.call("later:one", 2)

    @get("chunks")
    async def chunks(self, count: int, size: int) -> AsyncIterator[bytes]:
        for _ in range(count):
            yield bytes(size)

    @post("echo", body="stream")
    async def echo(self, ctx: AsyncContext) -> Any:
        return {"size": sum([len(chunk) async for chunk in ctx.chunks()])}

    @post("together")
    async def together(self, ctx: AsyncContext) -> Any:
        """Waits for a body that the client sends late, so that the requests of the instance overlap."""
        self.running += 1
        self.most = max(self.most, self.running)
        await ctx.text()
        self.running -= 1
        return {"most": self.most}

    @get("background")
    async def background(self, ctx: AsyncContext) -> str:
        async def later() -> None:
            await asyncio.sleep(0)
            log.info("done in the background")

        asyncio.create_task(later())
        return "replied"

    @get("lost")
    async def lost(self) -> str:
        async def fail() -> None:
            raise ValueError("nobody awaits this")

        asyncio.create_task(fail())
        return "replied"

    @get("caught-memory")
    async def caught_memory(self, bytes_: Annotated[int, Query("bytes")] = 0) -> str:
        try:
            return str(len(bytes(bytes_) if bytes_ else [0] * sys.maxsize))
        except MemoryError:
            return "caught"

    @get("forgotten")
    async def forgotten(self) -> str:
        """A coroutine that nobody awaits."""
        self.timer()  # type: ignore[unused-coroutine]
        return "replied"

    @get("timer")
    async def timer(self) -> str:
        await asyncio.sleep(1)
        return "never"

    @get("locked")
    async def locked(self) -> None:
        await asyncio.get_running_loop().create_future()

    @get("caught")
    async def caught(self, ctx: AsyncContext) -> Any:
        """The tasks of a group wait for each other, and the handler goes on after the exception."""
        queue: asyncio.Queue[int] = asyncio.Queue()
        caught: list[str] = []
        try:
            async with asyncio.TaskGroup() as group:
                takes = [group.create_task(queue.get()) for _ in range(3)]
                group.create_task(asyncio.wait(takes))
        except* RuntimeError as errors:
            caught = [type(error).__name__ for error in errors.exceptions]
        return {"caught": caught, "found": await ctx.call("later:one", 4)}

    @get("repeated")
    async def repeated(self) -> int:
        """Catches the exception again and again."""
        caught = 0
        for _ in range(100):
            try:
                await asyncio.Event().wait()
            except RuntimeError:
                caught += 1
        return caught

    @get("first")
    async def first(self, ctx: AsyncContext) -> int:
        """Leaves a generator, whose end waits for the host."""

        async def rows() -> AsyncIterator[int]:
            try:
                yield 1
                yield 2
            finally:
                await ctx.call("later:one", 5)

        async for row in rows():
            return row
        return 0

    @get("interrupts/:name")
    async def interrupts(self, name: str) -> Any:
        """Tasks and callbacks that raise what is no `Exception`."""

        async def fail(error: BaseException) -> None:
            raise error

        if name == "callback":
            asyncio.get_running_loop().call_soon(lambda: raises(KeyboardInterrupt("called")))
            return "replied"
        error = KeyboardInterrupt("pressed")
        if name == "gathered":
            return [type(one).__name__ for one in await asyncio.gather(fail(error), return_exceptions=True)]
        task = asyncio.create_task(fail(error))
        return "replied" if name == "left" else await task

    @get("mapped")
    async def mapped(self) -> Any:
        raise Mapped

    @get("left")
    async def left(self) -> str:
        """A worker that nobody cancels."""

        async def worker() -> None:
            queue: asyncio.Queue[int] = asyncio.Queue()
            while True:
                await queue.get()

        asyncio.create_task(worker())
        return "replied"

    @get("produced")
    async def produced(self, ctx: AsyncContext) -> AsyncIterator[bytes]:
        """When the client leaves, the producer waits for room in the queue, and the generator for the producer."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(1)

        async def produce() -> None:
            for _ in range(1000):
                await queue.put(bytes(100_000))

        producer = asyncio.create_task(produce())
        try:
            while True:
                yield await queue.get()
        finally:
            await producer

    @post("shared", body="stream")
    async def shared(self, ctx: AsyncContext) -> Any:
        """The second request waits for a task of the first one."""
        if self.loading is not None:
            return await self.loading
        self.loading = asyncio.create_task(ctx.text())
        await self.loading
        self.loading = None
        return "loaded"

    @get("interrupt")
    async def interrupt(self) -> Any:
        """An exception that is no `Exception`."""
        raise KeyboardInterrupt("pressed")

    @get("random")
    async def random(self) -> Any:
        return random.random()

    @get("notes")
    async def notes(self, ctx: AsyncContext) -> Any:
        return await ctx.call("later:notes")

    @post("cancelled", body="stream")
    async def cancelled(self, ctx: AsyncContext) -> Any:
        """Cancels a task that waits in a function of the host."""
        reading = asyncio.create_task(ctx.text())
        await asyncio.sleep(0)
        reading.cancel()
        ended = await asyncio.gather(reading, return_exceptions=True)
        return {"ended": type(ended[0]).__name__, "found": await ctx.call("later:one", 3)}

    @get("finalizer")
    async def finalizer(self) -> str:
        return weakref.finalize.__module__

    @get("trap")
    async def trap(self) -> Any:
        raise MemoryError

    @get("count")
    async def count(self) -> int:
        self.counted += 1
        return self.counted

    @get("crash")
    async def crash(self, ctx: AsyncContext) -> Any:
        await ctx.call("later:one", 1)
        return 1 // 0


@channel("later")
class Listeners:
    @on("one")
    async def one(self, id: int) -> str:
        if id > 9:
            raise NotFound(f"no product has the id {id}")
        return f"tea {id}"

    @on("two")
    async def two(self, id: int, delivery: AsyncDelivery) -> Any:
        return await delivery.call("later:one", id)

    @on("notes")
    async def notes(self) -> Any:
        with open("/notes/long.txt", "w", encoding="utf-8") as file:
            file.write("ä" * 100_000)
        with open("/notes/long.txt", encoding="utf-8") as file:
            length = len(file.read())
        os.remove("/notes/long.txt")
        refused = []
        for path in ("/notes/none", "/notes/../none", "/etc/passwd"):
            try:
                open(path)
            except OSError as error:
                refused.append(type(error).__name__)
        began = time.time()
        while time.time() == began:
            pass
        return {
            "length": length,
            "names": os.listdir("/notes"),
            "text": open("/notes/tea.txt").read(),
            "refused": refused,
            "seconds": began,
        }


app = Module(controllers=[Later], channels=[Listeners], errors={Mapped: mapped})
