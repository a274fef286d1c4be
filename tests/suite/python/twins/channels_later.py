"""What `tests/guests/rust-channels-async` does."""

import asyncio
from typing import Any

from pointwork_guest import AsyncContext, AsyncDelivery, Event, Module, channel, controller, get, on

WAIT = Event[int, None]("clock:wait")
BOTH = Event[int, None]("relay:both")


@controller("both")
class Waits:
    """Waits by itself or through a channel."""

    @get(":ms")
    async def both(self, ms: int, ctx: AsyncContext) -> str:
        await asyncio.gather(ctx.call(WAIT, ms), ctx.call(WAIT, ms))
        return "both waited"

    @get("listener/:ms")
    async def listener(self, ms: int, ctx: AsyncContext) -> str:
        await ctx.call(BOTH, ms)
        return "the listener waited for both"

    @get(":id/label")
    async def label(self, id: int, ctx: AsyncContext) -> None:
        ctx.hand_over("response2:send", f"label of {id}")


@channel("relay")
class Relay:
    """Waits for another channel."""

    @on(BOTH)
    async def both(self, ms: int, delivery: AsyncDelivery) -> None:
        await asyncio.gather(delivery.call(WAIT, ms), delivery.call(WAIT, ms))

    @on("echo")
    @on("echo:again")
    async def echo(self, payload: Any) -> Any:
        """Two events, one listener."""
        return payload


@channel("response2")
class Response:
    """Replies instead of a controller."""

    @on("send")
    async def send(self, text: str, ctx: AsyncContext) -> None:
        ctx.send(text)


@channel("names")
class Names:
    @on("event")
    async def event(self, delivery: AsyncDelivery) -> Any:
        return delivery.event, delivery.request_id

    @on("attempt")
    async def attempt(self, delivery: AsyncDelivery) -> Any:
        return delivery.id, delivery.attempt

    @on("has-context")
    async def has_context(self, ctx: AsyncContext | None) -> bool:
        return ctx is not None


app = Module(controllers=[Waits], channels=[Relay, Response, Names])
