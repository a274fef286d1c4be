"""The controllers and channels of a program."""

from typing import Any

from pointwork_guest import (
    AsyncContext,
    AsyncDelivery,
    Context,
    Delivery,
    Module,
    channel,
    controller,
    on,
    route,
)

from .roles import HandlerRun, ListenerRun
from .run import done


def module(declared: dict[str, Any], *, is_async: bool) -> Module:
    made = Maker(is_async)
    return Module(
        controllers=[made.controller(one) for one in declared["controllers"]],
        channels=[made.channel(one, number) for number, one in enumerate(declared["channels"])],
        uses=declared["uses"],
        metadata=dict(declared["metadata"]),
    )


class Maker:
    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async

    def handler(self, program: dict[str, Any]) -> Any:
        if self.is_async:

            async def later(self: Any, ctx: AsyncContext) -> Any:
                return await HandlerRun(ctx, program).run()

            return later

        def now(self: Any, ctx: Context) -> Any:
            return done(HandlerRun(ctx, program).run())

        return now

    def listener(self, program: dict[str, Any]) -> Any:
        if self.is_async:

            async def later(self: Any, payload: Any, delivery: AsyncDelivery) -> Any:
                return await ListenerRun(payload, delivery, program).run()

            return later

        def now(self: Any, payload: Any, delivery: Delivery) -> Any:
            return done(ListenerRun(payload, delivery, program).run())

        return now

    def controller(self, told: dict[str, Any]) -> type[Any]:
        methods: dict[str, Any] = {}
        for one in told["routes"]:
            decorate = route(
                one["paths"],
                method=one["method"],
                body=one.get("body", "whole"),
                metadata=dict(one.get("metadata", [])),
            )
            methods[unused(methods, one["name"])] = decorate(self.handler(one["program"]))
        made = type(told["name"], (), methods)
        return controller(told["prefix"], name=told["name"], metadata=dict(told["metadata"]))(made)

    def channel(self, told: dict[str, Any], number: int) -> type[Any]:
        methods: dict[str, Any] = {}
        for one in told["listeners"]:
            decorate = on(one["event"], metadata=dict(one.get("metadata", [])))
            methods[unused(methods, "listener")] = decorate(self.listener(one["program"]))
        made = type(f"Channel{number}", (), methods)
        return channel(told["name"], metadata=dict(told["metadata"]))(made)


def unused(methods: dict[str, Any], name: str) -> str:
    """A name that no other method of the class has."""
    while name in methods:
        name += "'"
    return name
