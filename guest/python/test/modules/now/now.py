"""A module of the synchronous form, which the tests build and serve."""

import contextvars
import logging
import os
import random
import secrets
import sys
import time
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, cast

from shapes import Order

from pointwork_guest import (
    Context,
    Delivery,
    Event,
    HttpError,
    Module,
    NotFound,
    Payload,
    Query,
    Reply,
    channel,
    controller,
    env,
    get,
    log,
    on,
    post,
)

counted = 0
AT_BUILD = random.random()
logger = logging.getLogger("shop")
ONE = Event[int, dict[str, Any]]("now:one")


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Box:
    size: Size


@dataclass
class StoredBox(Box):
    key: str = "secret"


@dataclass
class SoldOut(HttpError):
    """An error that does not call the constructor of its base."""

    left: int


@controller("now")
class Now:
    @get("box")
    def box(self, size: Size) -> Box:
        return StoredBox(size)

    @post("numbers", status=201)
    def numbers(self, ctx: Context) -> int:
        return len(ctx.json(list[int]))

    @get(":id")
    def show(self, id: int, ctx: Context) -> Any:
        return {"id": id, "found": ctx.call(ONE, id)}

    @post(status=201)
    def create(self, order: Order) -> Order:
        return order

    @get("world")
    def world(self) -> Any:
        shown = datetime.now(UTC)
        return {
            "seconds": time.time(),
            "stands": time.time() == time.time(),
            "year": shown.year,
            "random": random.random(),
            "secret": secrets.token_hex(4),
            "uuid": str(uuid.uuid4()),
            "environ": os.environ.get("GREETING"),
            "env": env["GREETING"],
        }

    @get("sold-out")
    def sold_out(self) -> str:
        raise SoldOut(3)

    @get("log")
    def log(self) -> str:
        print("printed", "twice")
        print("an error", file=sys.stderr, end="")
        contextvars.Context().run(print, "printed", "apart")
        contextvars.Context().run(print, "unfinished apart", end="")
        logger.warning("sold %s", "out", extra={"product": 7})
        log.info("with fields", product=8)
        return "logged"

    @get("stream")
    def stream(self) -> Any:
        yield "piece "
        yield b"by piece"

    @get("chunks")
    def chunks(self, count: int, size: int) -> Iterator[bytes]:
        for _ in range(count):
            yield bytes(size)

    @get("payloads")
    def payloads(self, ctx: Context, count: int, size: int) -> Any:
        return sum(len(ctx.call("now:image", bytes(size)).data) for _ in range(count))

    @get("late")
    def late(self) -> Any:
        yield "sent "
        raise ValueError("late")

    @get("image")
    def image(self, ctx: Context) -> Any:
        return ctx.call("now:image", b"\0\1\2")

    @get("label")
    def label(self, ctx: Context) -> None:
        ctx.hand_over("now:reply", "by the channel")

    @get("key-error")
    def key_error(self) -> Any:
        prices: dict[str, int] = {}
        return prices["tea"]

    @get("no-json")
    def no_json(self) -> Any:
        return {"seen": [object()]}

    @get("recursion")
    def recursion(self) -> Any:
        return self.recursion()

    @get("memory")
    def memory(self) -> Any:
        return len(bytes(1 << 30))

    @get("caught-memory")
    def caught_memory(self, bytes_: Annotated[int, Query("bytes")] = 0) -> str:
        try:
            return str(len(bytes(bytes_) if bytes_ else [0] * sys.maxsize))
        except MemoryError:
            return "caught"

    @get("deep")
    def deep(self) -> str:
        try:
            return str(self.recursion())
        except RecursionError:
            return "caught"

    @get("warning")
    def warning(self) -> str:
        warnings.warn("a bad habit", RuntimeWarning, stacklevel=1)
        return "warned"

    @get("seven")
    def seven(self) -> int:
        return cast(int, "seven")

    @get("odd")
    def odd(self) -> Any:
        raise HttpError("odd", status=302)

    @get("group")
    def group(self) -> Any:
        raise ExceptionGroup("both", [KeyError("a"), ValueError("b")])

    @get("pieces")
    def pieces(self) -> Any:
        return iter([1])

    @get("nothing")
    def nothing(self) -> None: ...

    @get("file")
    def file(self) -> Any:
        return open("/etc/passwd").read()

    @get("import")
    def late_import(self) -> Any:
        import colorsys

        return colorsys.__name__

    @get("interrupt")
    def interrupt(self) -> Any:
        raise BaseExceptionGroup("ends", [GeneratorExit()])

    @get("exit")
    def exit(self) -> Any:
        sys.exit(3)

    @get("trap")
    def trap(self) -> Any:
        raise MemoryError

    @get("count")
    def count(self) -> int:
        global counted
        counted += 1
        return counted

    @get("header")
    def header(self) -> Reply:
        return Reply.text("wrong", headers={"bad name": "x"})

    @get("status")
    def status(self) -> Reply:
        reply = Reply.text("wrong")
        reply.status = "200"  # type: ignore[assignment]
        return reply

    @get("surrogate")
    def surrogate(self) -> Any:
        return {"text": "a\ud800b"}

    @get("emit-wrong")
    def emit_wrong(self, ctx: Context) -> str:
        ctx.emit("now:one", "x")
        return "emitted"


@channel("now")
class Listeners:
    @on(ONE)
    def one(self, id: int) -> dict[str, Any]:
        if id > 9:
            raise NotFound("no such product", code="none", id=id)
        return {"name": f"tea {id}"}

    @on("image")
    def image(self, data: bytes, delivery: Delivery) -> Payload:
        return Payload("image/png", data + delivery.event.encode())

    @on("reply")
    def reply(self, text: str, ctx: Context) -> None:
        ctx.send(text, status=202)


app = Module(controllers=[Now], channels=[Listeners])
