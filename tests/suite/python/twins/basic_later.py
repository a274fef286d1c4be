"""What `tests/guests/rust-async` does, without code that goes on after its call: a call ends when its tasks have ended."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator

from pointwork_guest import AsyncContext, Event, InternalServerError, Module, NotFound, controller, get, log, post

from .products import ALL, BY_ID, SEND, VIEWED, NewProduct, Product

WAIT = Event[int, None]("clock:wait")


@controller("products")
class Products:
    @get()
    async def every(self, ctx: AsyncContext) -> list[Product]:
        return await ctx.call(ALL, None)

    @get(":id")
    async def show(self, id: int, ctx: AsyncContext) -> Product:
        ctx.emit(VIEWED, id)
        product = await ctx.call(BY_ID, id)
        if product is None:
            raise NotFound("no such product")
        return product

    @post(status=201)
    async def create(self, product: NewProduct) -> NewProduct:
        return product

    @get(":id/id")
    async def id(self, id: int) -> str:
        return str(id)


@controller("waits")
class Waits:
    """Handlers that wait, in all ways."""

    def __init__(self) -> None:
        self.begun_before = self.logged_before = 0

    @get(":ms")
    async def wait(self, ms: int, ctx: AsyncContext) -> str:
        await ctx.call(WAIT, ms)
        return "waited"

    @get(":ms/begun")
    async def begun(self, ms: int, ctx: AsyncContext) -> str:
        """The number of requests of this kind that the instance had begun when this one began."""
        number = self.begun_before
        self.begun_before += 1
        await ctx.call(WAIT, ms)
        return str(number)

    @get(":ms/logged")
    async def logged(self, ms: int, ctx: AsyncContext) -> str:
        """Logs a line before it waits, and one after it."""
        number = self.logged_before
        self.logged_before += 1
        log.info(f"number {number} begins to wait", of=ctx.request_id)
        sys.stdout.write(f"{ctx.request_id} begins")
        await ctx.call(WAIT, ms)
        sys.stdout.write(" and ends its line\n")
        log.info(f"number {number} waited", of=ctx.request_id)
        return str(number)

    @get("given-away")
    async def given_away(self, ctx: AsyncContext) -> None:
        ctx.hand_over(SEND, "by the channel")

    @get("streamed")
    async def streamed(self, ctx: AsyncContext) -> None:
        body = ctx.open_reply(headers={"content-type": "text/plain"})
        for chunk in ("one ", "two ", "three"):
            await body.write(chunk)
        await body.finish()

    @post("count", body="stream")
    async def count(self, ctx: AsyncContext) -> str:
        return str(sum([len(chunk) async for chunk in ctx.chunks()]))

    @get(":ms/loops")
    async def loops(self, ms: int, ctx: AsyncContext) -> None:
        """Waits, and then never lets go of the processor."""
        await ctx.call(WAIT, ms)
        while True:
            pass

    @get("panic")
    async def panic(self) -> None:
        raise MemoryError("this handler panics on purpose")


@controller("shares")
class Shares:
    """Handlers that share a mutex, and the budget of their instance."""

    def __init__(self) -> None:
        self.held = asyncio.Lock()

    @get("mutex/:ms")
    async def mutex(self, ms: int, ctx: AsyncContext) -> str:
        """Holds the mutex of the instance while it waits."""
        async with self.held:
            await ctx.call(WAIT, ms)
        return "held"

    @get("lines/:count")
    async def lines(self, count: int) -> str:
        for _ in range(count):
            print("one of many")
        return "printed"


@controller("hoards")
class Hoards:
    """Handlers that make the host keep something."""

    @get("extension/:size")
    async def extension(self, size: int, ctx: AsyncContext) -> str:
        ctx.set_extension("hoard", "x" * size)
        return "kept"

    @get("event/:size")
    async def event(self, size: int, ctx: AsyncContext) -> str:
        ctx.emit(SEND, "x" * size)
        return "emitted"


@controller("echo")
class Echo:
    @post()
    async def echo(self, body: bytes) -> str:
        return body.decode()


@controller("health")
class Health:
    @get()
    async def show(self, ctx: AsyncContext) -> str:
        return f"up, {ctx.method}"


@controller("parts")
class Parts:
    """Bodies that the SDK reads and writes in pieces."""

    @post("upload", body="stream")
    async def upload(self, ctx: AsyncContext) -> str:
        parts = size = 0
        async for part in ctx.parts():
            parts += 1
            size += sum([len(chunk) async for chunk in part])
        return f"{parts} parts, {size} bytes"

    @get("rows/:count", headers={"content-type": "text/csv"})
    async def rows(self, count: int) -> AsyncIterator[str]:
        for row in range(count):
            yield f"{row}\n"

    @get("pages/:count")
    async def pages(self, count: int) -> Iterator[str]:
        """Pages of 64 KiB."""
        return ("x" * 64 * 1024 for _ in range(count))

    @get("empty")
    async def empty(self) -> AsyncIterator[str]:
        """Empty pieces for ever, each of them ready."""
        yield "begun"
        while True:
            yield ""

    @get("broken")
    async def broken(self) -> AsyncIterator[str]:
        yield "one"
        raise InternalServerError("no more")


app = Module(controllers=[Products, Waits, Shares, Hoards, Health, Echo, Parts])
