"""What `tests/guests/rust-basic` does."""

from pointwork_guest import (
    Context,
    HttpError,
    Module,
    NotFound,
    Reply,
    any_method,
    controller,
    delete,
    get,
    log,
    move,
    post,
    propfind,
    route,
    search,
)

from .methods import Methods
from .parts import Parts
from .products import ALL, BY_ID, SEND, VIEWED, NewProduct, Product


@controller("products")
class Products:
    @get()
    def every(self, ctx: Context) -> list[Product]:
        return ctx.call(ALL, None)

    @get(":id")
    def show(self, id: int, ctx: Context) -> Product:
        ctx.emit(VIEWED, id)
        product = ctx.call(BY_ID, id)
        if product is None:
            raise NotFound("no such product")
        return product

    @get(":id/id")
    def id(self, id: int) -> str:
        return str(id)

    @get("search")
    @search()
    def search(self, text: str, page: int = 0, tag: list[str] = []) -> str:
        return f"{text}, page {page}, tags {'+'.join(tag)}"

    @post(status=201)
    def create(self, product: NewProduct) -> Product:
        return Product(7, product.name, product.price)

    @delete([":id", ":id/all"], status=204)
    def delete(self, id: int) -> Reply:
        log.info(f"product {id} is gone")
        return Reply.no_content()

    @propfind(":id")
    @route(":id", method="LOCK")
    @route(":id", method="NOTIFY")
    def webdav(self, id: int, ctx: Context) -> str:
        return f"{ctx.method} {id}"


@controller("replies")
class Replies:
    """All kinds of replies, and rarely used functions of the context."""

    @get("text")
    def text(self) -> str:
        return "text"

    @get("bytes")
    def some_bytes(self) -> bytes:
        return b"\x00\x01\xfe\xff"

    @get("headers", status=202, headers=[("x-one", "1"), ("x-two", "2"), ("x-two", "3")])
    def headers(self) -> str:
        return "headers"

    @get("none")
    def none(self) -> None:
        raise NotFound

    @get("nothing")
    def nothing(self) -> None:
        pass

    @get("sent")
    def sent(self, ctx: Context) -> None:
        ctx.send("sent", status=202)

    @get("twice")
    def twice(self, ctx: Context) -> None:
        ctx.send("first")
        try:
            ctx.send("second")
            log.error("expected `already-replied`")
        except HttpError as error:
            if error.code != "already-replied":
                raise
            log.info(f"refused: {error.message}")

    @get("given-away")
    def given_away(self, ctx: Context) -> None:
        ctx.hand_over(SEND, "by the channel")

    @get("thrown/:status")
    def thrown(self, status: int) -> None:
        raise HttpError("thrown", status=status)

    @get("streamed")
    def streamed(self, ctx: Context) -> None:
        body = ctx.open_reply(headers={"content-type": "text/plain"})
        for chunk in ("one ", "two ", "three"):
            body.write(chunk)
        body.finish()

    @get("undecoded")
    def undecoded(self, ctx: Context) -> str:
        try:
            return f"{len(ctx.call(ALL, None))} products"
        except HttpError as error:
            return f"{error.code}: {error.message}"

    @get("panic")
    def panic(self) -> None:
        raise MemoryError("this handler panics on purpose")

    @post("echo")
    def echo(self, data: bytes, ctx: Context) -> Reply:
        return Reply.bytes(data, headers={"content-type": ctx.header("content-type") or "application/octet-stream"})

    @post("count", body="stream")
    def count(self, ctx: Context) -> str:
        return str(sum(len(chunk) for chunk in ctx.chunks()))

    def helper(self) -> str:
        """Not a handler: it has no decorator."""
        return "helper"


class Inherited:
    """Its methods are no handlers of a class that extends it."""

    @get("inherited")
    def inherited(self) -> str:
        return "inherited"


@controller()
class Health(Inherited):
    """Without a prefix, for every method."""

    @any_method("health")
    def show(self) -> str:
        return "up"

    @move("health/moved")
    def moved(self) -> str:
        return "moved"

    @move("health/moved-too")
    def moved_too(self) -> str:
        return "moved too"


@controller("unlisted")
class Unlisted:
    """It is not in the list of the module, so it is not part of it."""

    @get()
    def show(self) -> str:
        return "never"


app = Module(controllers=[Products, Replies, Health, Methods, Parts])
