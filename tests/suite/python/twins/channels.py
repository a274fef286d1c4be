"""What `tests/guests/rust-channels` does."""

from dataclasses import dataclass
from typing import Any

from pointwork_guest import (
    CallError,
    Context,
    Delivery,
    Event,
    HttpError,
    Module,
    NotFound,
    Payload,
    channel,
    controller,
    get,
    on,
    post,
)


@dataclass
class Product:
    id: int
    name: str


BY_ID = Event[int, Product | None]("db:product:by-id")
NEST = Event[int, int]("db:nest")
PICTURE = Event[int, Payload]("db:picture")
LOOK = Event[Payload, Any]("db:look")
ASK = Event[str, str]("db:ask")
NOTE = Event[str, None]("audit:note")


@controller("shop")
class Shop:
    """Has no side effects of its own: it only calls channels."""

    @get(":id")
    def show(self, id: int, ctx: Context) -> Product:
        product = ctx.call(BY_ID, id)
        if product is None:
            raise NotFound("no such product")
        return product

    @get(":id/label")
    def label(self, id: int, ctx: Context) -> None:
        ctx.hand_over("response:send", f"label of {id}")

    @get("pictures/:id")
    def picture(self, id: int, ctx: Context) -> Payload:
        return ctx.call(PICTURE, id)

    @post("pictures")
    def look(self, picture: bytes, ctx: Context) -> Any:
        return ctx.call(LOOK, Payload(ctx.header("content-type") or "", picture))

    @get("nested/:n")
    def nested(self, n: int, ctx: Context) -> str:
        return str(ctx.call(NEST, n))

    @get("emit/:text")
    def emit(self, text: str, ctx: Context) -> str:
        ctx.emit(NOTE, text)
        return "emitted"

    @get("ask/:text")
    def ask(self, text: str, ctx: Context) -> str:
        return ctx.call(ASK, text)

    @get("trap")
    def trap(self, ctx: Context) -> str:
        ctx.call("db:trap")
        return "the listener did not trap"

    @get("fail")
    def fail(self, ctx: Context) -> str:
        try:
            ctx.call("db:fail")
            return "the listener did not fail"
        except CallError as error:
            return f"{error.code} {error.status} {error.message}"

    @get("silent")
    def silent(self, ctx: Context) -> None:
        ctx.hand_over("response:silent", "never sent")

    @get("twice")
    def twice(self, ctx: Context) -> None:
        ctx.hand_over("response:twice", "sent twice")


@channel("db")
class Db:
    @on(BY_ID)
    def by_id(self, id: int) -> Product | None:
        return Product(id, "tea") if id == 7 else None

    @on(NEST)
    def nest(self, n: int, delivery: Delivery) -> int:
        return 1 + delivery.call(NEST, n - 1) if n else 0

    @on(PICTURE)
    def picture(self, id: int) -> Payload:
        if id != 7:
            raise NotFound("no such picture")
        return Payload("image/png", b"\x89PNG\x00\xff")

    @on(LOOK)
    def look(self, picture: Payload) -> Any:
        return picture.content_type, len(picture.data)

    @on("trap")
    def trap(self) -> None:
        raise MemoryError("this listener panics on purpose")

    @on("fail")
    def fail(self) -> None:
        raise HttpError("the store says no", status=409, code="conflict")

    @on(ASK)
    def ask(self, text: str, delivery: Delivery) -> Any:
        return delivery.call("app:answer", text)

    def helper(self) -> str:
        """Not a listener: it has no decorator."""
        return "helper"


@channel("response")
class Response:
    """Replies instead of a controller."""

    @on("send")
    def send(self, text: str, ctx: Context) -> None:
        ctx.send(text)

    @on("silent")
    def silent(self, ctx: Context) -> None:
        pass

    @on("twice")
    def twice(self, text: str, ctx: Context, delivery: Delivery) -> None:
        ctx.send(text)
        code = "a second reply was taken"
        try:
            ctx.send(text)
        except HttpError as error:
            code = error.code
        delivery.emit(NOTE, code)


@channel("audit")
class Audit:
    """Forwards notes."""

    @on(NOTE)
    def note(self, text: str, delivery: Delivery) -> Any:
        return delivery.call("app:noted", text)


@channel("server")
class Server:
    """Listens to the errors of the server."""

    @on("crashed")
    def crashed(self, crash: Any, delivery: Delivery) -> Any:
        return delivery.call("app:crashed", crash)


app = Module(controllers=[Shop], channels=[Db, Response, Audit, Server])
