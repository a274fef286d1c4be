"""What must pass mypy, and what must not: an `ignore` that nothing needs is an error of mypy."""

from dataclasses import dataclass
from typing import assert_type

from pointwork_guest import AsyncContext, BodyWriter, Context, Event, Fields, Reply, controller, get, on, settings


@dataclass
class Product:
    id: int
    name: str


ONE = Event[int, Product | None]("db:one")
VIEWED = Event[int, None]("viewed")


def now(ctx: Context) -> None:
    assert_type(ctx.call(ONE, 7), Product | None)
    ctx.call(ONE, "x")  # type: ignore[misc]
    ctx.call(ONE)  # type: ignore[call-overload]
    ctx.emit(VIEWED, 7)
    ctx.emit(VIEWED, "x")  # type: ignore[misc]
    ctx.hand_over("any", {"name": 1})
    assert_type(ctx.param("id"), str)
    assert_type(ctx.param("id", int), int)
    assert_type(ctx.json(Product), Product)
    assert_type(ctx.json(list[int]), list[int])
    assert_type(ctx.form(), Fields)
    assert_type(ctx.open_reply(), BodyWriter)
    assert_type(settings(Product), Product)
    Reply.text(7)  # type: ignore[arg-type]
    Reply.redirect("/", 200)  # type: ignore[arg-type]
    ctx.path = "x"  # type: ignore[misc]


async def later(ctx: AsyncContext) -> None:
    assert_type(await ctx.call(ONE, 7), Product | None)
    assert_type(await ctx.json(Product), Product)
    await ctx.call(ONE, "x")  # type: ignore[misc]
    ctx.call(ONE, 7).name  # type: ignore[attr-defined]


@controller("products")
class Products:
    @get(":id", body="never")  # type: ignore[arg-type]
    def show(self, id: int) -> str:
        return str(id)

    @on(7)  # type: ignore[arg-type]
    def listen(self) -> None: ...


assert_type(Products().show(7), str)
