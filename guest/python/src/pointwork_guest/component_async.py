"""The exports of the asynchronous form."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context as Variables
from contextvars import copy_context
from typing import Any, NoReturn

import componentize_py_async_support as support
from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import context_async, events_async

from . import raw
from .component import Instance, waiting
from .crash import exception_line, is_damage
from .host import host
from .log import Lines, log


def _cannot_wait(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("a module has no timers: call a channel that waits. `asyncio.sleep(0)` lets other tasks run")


def _no_thread(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("an instance has one thread: call the function, or a channel that does the work")


class _Loop(type(support._loop)):  # type: ignore[misc]
    """The loop of componentize-py, whose calls end when their tasks do, and that logs what nothing handles."""

    crashed: Callable[[BaseException], NoReturn]

    def create_task(
        self,
        coroutine: Coroutine[Any, Any, Any],
        *,
        name: str | None = None,
        context: Variables | None = None,
        **_: Any,
    ) -> "asyncio.Task[Any]":
        context = copy_context() if context is None else context
        task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=self, name=name, context=context)
        # The call of the component must go on until the task has ended: it owns what the task waits for.
        state = context[support._future_state]
        state.pending_count += 1

        def ended(task: "asyncio.Task[Any]") -> None:
            state.pending_count -= 1
            failed: list[Any] = state.__dict__.setdefault("failed", [])
            if not task.cancelled() and getattr(task, "_log_traceback", False):
                failed.append(task)
            # Another task may still await one that has failed.
            if state.pending_count == 0:
                for one in failed:
                    if one._log_traceback:
                        error = one.exception()
                        if is_damage(error):
                            self.crashed(error)
                        log.error(f"nothing handled the exception of a task: {exception_line(error)}")

        task.add_done_callback(ended, context=context)
        return task

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Variables | None = None
    ) -> asyncio.Handle:
        context = copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        context[support._future_state].handles.append(handle)
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = f": {exception_line(error)}" if isinstance(error, BaseException) else ""
        log.error(f"{context.get('message') or 'nothing handled an exception'}{told}")

    def poll(self, state: Any) -> None:
        super().poll(state)
        # Without this the call would wait for its deadline, or end by an assertion of componentize-py.
        if state.pending_count and not state.futures:
            raise RuntimeError(
                "a call waits for a lock or a future that another call holds, and cannot be woken: call a channel instead"
            )

    call_later = call_at = time = _cannot_wait
    run_in_executor = call_soon_threadsafe = _no_thread


def async_exports(instance: Instance) -> tuple[type, type]:
    support._loop.__class__ = _Loop
    support._loop.crashed = instance.crashed
    poll = support._poll

    def polled(state: Any) -> int:
        try:
            code: int = poll(state)
            return code
        except BaseException as error:
            instance.crashed(error)

    def first_poll(export: int, borrows: int, coroutine: Coroutine[Any, Any, Any]) -> int:
        """Begins a call. What needs not wait has ended when its task is made, without a turn of the loop."""
        state = support._FutureState(None, {}, [], 1)
        context = Variables()
        context.run(support._future_state.set, state)
        task: Any = asyncio.Task
        task(support._return_result(export, borrows, coroutine), loop=support._loop, context=context, eager_start=True)
        return polled(state)

    support._poll = polled
    support.first_poll = first_poll
    host.async_waiting = waiting(context_async, events_async)

    class HandlersAsync(exports.HandlersAsync):  # type: ignore[misc]
        async def handle(self, handler: int, context: raw.Context) -> raw.Outcome:
            try:
                Lines.rests.set(["", ""])
                instance.begin()
                outcome = await instance.dispatcher.handle_later(handler, context)
                instance.end()
                return outcome
            except BaseException as error:
                instance.crashed(error)

    class ListenersAsync(exports.ListenersAsync):  # type: ignore[misc]
        async def deliver(self, listener: int, delivery: raw.Delivery, payload: raw.Payload) -> raw.Payload:
            try:
                Lines.rests.set(["", ""])
                instance.begin()
                result = await instance.dispatcher.deliver_later(listener, delivery, payload)
                instance.end()
            except BaseException as error:
                instance.crashed(error)
            if isinstance(result, raw.Failure):
                raise Err(result)
            return result

    return HandlersAsync, ListenersAsync
