"""The requests of the comparison in Python, in the asynchronous form.

`GET /items/7/call` answers `{"id":7,"name":"Assam"}`, the name by an event.
"""

from dataclasses import dataclass

from pointwork_guest import AsyncContext, Event, Module, controller, get

NAME = Event[int, str]("bench:name")
WAIT = Event[None, None]("bench:wait")


@dataclass
class Item:
    id: int
    name: str


@controller("items")
class Items:
    @get(":id/call")
    async def call(self, id: int, ctx: AsyncContext) -> Item:
        return Item(id, await ctx.call(NAME, id))

    @get("wait")
    async def wait(self, ctx: AsyncContext) -> str:
        await ctx.call(WAIT, None)
        return "1"

    @get("raise")
    async def fail(self) -> str:
        raise KeyError("no such item")


app = Module(controllers=[Items])
