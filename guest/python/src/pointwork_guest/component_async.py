"""The exports of the asynchronous form.

Each call of the component has tasks of its own, and its own queue of callbacks (`_Call`). The host wakes a call when a
function of the host that one of its tasks awaits has ended, and nothing else wakes it: a lock that another call releases
puts a callback into the queue of the waiting call, which nobody runs. So a call none of whose tasks awaits the host can
never go on, whether its tasks wait for each other or for another call. `_Loop.poll` finds this, and raises an exception at
the `await` of such a task. The request fails like after any other exception, and the instance goes on.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
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


_NOT_WOKEN = (
    "this `await` cannot end: each task of the call waits for another task, a lock, a queue or a future, and what another"
    " call does wakes none of them: call a channel that waits"
)
_PATIENT_ROUNDS = 16
"""The number of rounds in which only the last tasks of a chain of tasks get the exception. They may catch it and wait again."""


class _Call(support._FutureState):  # type: ignore[misc]
    """What runs for one call of the component."""

    main: "asyncio.Task[Any]"
    """Runs the handler or the listener, and writes a streamed reply."""

    def __init__(self) -> None:
        super().__init__(None, {}, [], 1)
        self.tasks: dict[asyncio.Task[Any], None] = {}
        """The tasks that the program made and that have not ended, oldest first."""
        self.failed: list[asyncio.Task[Any]] = []
        """Tasks that ended with an exception which no task had awaited by then."""

    @property
    def is_stuck(self) -> bool:
        return self.pending_count > 0 and not self.futures


class _Handle(asyncio.Handle):
    """A callback. `asyncio` would end the loop by a `KeyboardInterrupt`, which here is like any exception."""

    def _run(self) -> None:
        try:
            super()._run()
        except KeyboardInterrupt as error:
            # A task has it as its own exception, for what awaits the task.
            callback: Any = getattr(self, "_callback")
            is_of_task = isinstance(getattr(callback, "__self__", None), asyncio.Task)
            if not is_of_task and type(callback).__name__ != "TaskStepMethWrapper":
                support._loop.call_exception_handler({"exception": error, "message": "a callback failed"})


class _Loop(type(support._loop)):  # type: ignore[misc]
    """The loop of componentize-py, whose calls end when their tasks do, and that logs what nothing handles."""

    crashed: Callable[[BaseException], NoReturn]
    """Set before the first call."""

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
        call: _Call = context[support._future_state]
        call.pending_count += 1
        call.tasks[task] = None

        def ended(task: "asyncio.Task[Any]") -> None:
            call.pending_count -= 1
            del call.tasks[task]
            if not task.cancelled() and getattr(task, "_log_traceback", False):
                call.failed.append(task)
            # Another task may still await one that has failed.
            if call.pending_count == 0:
                for one in call.failed:
                    if getattr(one, "_log_traceback", False):
                        error: Any = one.exception()
                        if is_damage(error):
                            self.crashed(error)
                        log.error(f"nothing handled the exception of a task: {exception_line(error)}")

        task.add_done_callback(ended, context=context)
        return task

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Variables | None = None
    ) -> asyncio.Handle:
        context = copy_context() if context is None else context
        handle = _Handle(callback, args, self, context)
        context[support._future_state].handles.append(handle)
        return handle

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        told = f": {exception_line(error)}" if isinstance(error, BaseException) else ""
        log.error(f"{context.get('message') or 'nothing handled an exception'}{told}")

    def poll(self, call: _Call) -> None:
        super().poll(call)
        rounds = 0
        # A task that catches each exception and waits again goes on to the limit of processor time, as any loop does.
        while call.is_stuck:
            self._wake_stuck(call, is_patient=rounds < _PATIENT_ROUNDS)
            rounds += 1

    def _wake_stuck(self, call: _Call, *, is_patient: bool) -> None:
        """Ends the `await` of each task of a call that is stuck, until the call goes on."""
        # A task that others await is newer than they are, in a task group as well.
        waiting = [task for task in (*reversed(call.tasks), call.main) if not task.done()]
        # A task that awaits another task of the call goes on when the other task has ended. Two tasks may await each other.
        last = [task for task in waiting if not isinstance(_waiter_of(task), asyncio.Task)]
        has_woken = False
        for task in last if last and is_patient else waiting:
            if not call.is_stuck:
                return
            if _waiter_of(task) is None:
                continue
            if call.main.done():
                # As `asyncio.run` does with the tasks that are left.
                name = getattr(task.get_coro(), "__qualname__", "a task")
                log.warn(f"`{name}` waited for ever after its call had ended, and was cancelled")
            self._wake(task, cancels=call.main.done())
            has_woken = has_woken or bool(call.handles)
            super().poll(call)
        if not has_woken:
            raise RuntimeError(_NOT_WOKEN)

    def _wake(self, task: "asyncio.Task[Any]", *, cancels: bool) -> None:
        """Raises an exception at the `await` of a task. What it awaits may be another call's, so that stays as it is:
        the task is given another future, which has failed."""
        waiter = _waiter_of(task)
        for callback, context in getattr(waiter, "_callbacks", None) or ():
            if getattr(callback, "__self__", None) is task:
                waiter.remove_done_callback(callback)
                failed: asyncio.Future[Any] = self.create_future()
                if cancels:
                    failed.cancel()
                else:
                    failed.set_exception(RuntimeError(_NOT_WOKEN))
                self.call_soon(callback, failed, context=context)
                return
        # The task awaits an object that is not a future of `asyncio`.
        task.cancel()

    def close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Ends a generator that nothing refers to any more."""
        if support._future_state.get(None) is not None:
            self.create_task(generator.aclose())

    call_later = call_at = time = _cannot_wait
    run_in_executor = call_soon_threadsafe = _no_thread


def _waiter_of(task: "asyncio.Task[Any]") -> Any:
    """The future or the task that a task awaits; `None` if it can run."""
    return getattr(task, "_fut_waiter", None)


_poll, _callback = support._poll, support.callback


def _polled(call: _Call) -> int:
    try:
        code: int = _poll(call)
        return code
    except BaseException as error:
        support._loop.crashed(error)
        raise


def _called_back(*event: int) -> int:
    try:
        code: int = _callback(*event)
        return code
    except BaseException as error:
        support._loop.crashed(error)
        raise


def _first_poll(export: int, borrows: int, coroutine: Coroutine[Any, Any, Any]) -> int:
    """Begins a call. What needs not wait has ended when its task is made, without a turn of the loop."""
    call = _Call()
    context = Variables()
    context.run(support._future_state.set, call)
    task: Any = asyncio.Task
    result = support._return_result(export, borrows, coroutine)
    call.main = task(result, loop=support._loop, context=context, eager_start=True)
    return _polled(call)


# Before any call: each needs what a `_Call` has.
support._loop.__class__ = _Loop
support._poll, support.callback, support.first_poll = _polled, _called_back, _first_poll


def async_exports(instance: Instance) -> tuple[type, type]:
    support._loop.crashed = instance.crashed
    # A generator that a call leaves ends in a task of that call, since its `finally` may wait.
    sys.set_asyncgen_hooks(finalizer=support._loop.close_generator)
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
