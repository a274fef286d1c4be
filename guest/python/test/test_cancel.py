"""Tasks that are cancelled while they wait in a function of the host."""

import asyncio
from typing import Any

import pytest

from pointwork_guest import AsyncContext, Module, NotFound, controller, get
from pointwork_guest.calls import Lease
from pointwork_guest.testing import TestApp


class Resource:
    """One of the host, which traps if it is dropped while a function of the host has it."""

    def __init__(self) -> None:
        self.is_used = self.is_dropped = False
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def call(self) -> str:
        self.is_used = True
        answer = await self.answer
        self.is_used = False
        return answer

    def __exit__(self, *_: object) -> None:
        assert not self.is_used
        self.is_dropped = True


def test_a_function_of_the_host_ends_before_its_resource_is_dropped() -> None:
    async def run() -> None:
        resource = Resource()
        lease: Any = Lease(resource)
        task = asyncio.create_task(lease.wait("a", Resource.call))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert resource.is_used
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        lease.end()
        assert (lease.is_used, resource.is_dropped, resource.answer.cancelled()) == (True, False, False)
        resource.answer.set_result("late")
        await asyncio.sleep(0)
        assert (lease.is_used, resource.is_dropped) == (False, True)

    asyncio.run(run())


@controller("tasks")
class Tasks:
    @get("first")
    async def first(self, ctx: AsyncContext) -> Any:
        tasks = [asyncio.create_task(ctx.call("slow:one", number)) for number in range(3)]
        done, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        ended = await asyncio.gather(*left, return_exceptions=True)
        return [[task.result() for task in done], [type(one).__name__ for one in ended]]

    @get("group")
    async def group(self, ctx: AsyncContext) -> Any:
        async def absent() -> None:
            raise NotFound("no tea")

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(ctx.call("slow:one", 2))
                group.create_task(absent())
        except ExceptionGroup as errors:
            return [str(one) for one in errors.exceptions]


def test_tasks_of_calls_are_cancelled() -> None:
    async def slow(number: int) -> int:
        for _ in range(number * 3):
            await asyncio.sleep(0)
        return number

    app = TestApp(Module(controllers=[Tasks])).on("slow:one", slow)
    assert app.get("/tasks/first").json() == [[0], ["CancelledError", "CancelledError"]]
    assert app.get("/tasks/group").json() == ["no tea"]
