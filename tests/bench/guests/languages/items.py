"""The requests of the comparison in Python, in the synchronous form.

`GET /items/7/call` answers `{"id":7,"name":"Assam"}`, the name by an event.
"""

from dataclasses import dataclass

from pointwork_guest import Context, Event, Module, controller, get

NAME = Event[int, str]("bench:name")
WAIT = Event[None, None]("bench:wait")


@dataclass
class Item:
    id: int
    name: str


@controller("items")
class Items:
    @get(":id/call")
    def call(self, id: int, ctx: Context) -> Item:
        return Item(id, ctx.call(NAME, id))

    @get("wait")
    def wait(self, ctx: Context) -> str:
        ctx.call(WAIT, None)
        return "1"

    @get("raise")
    def fail(self) -> str:
        raise KeyError("no such item")


app = Module(controllers=[Items])
