"""The places where functions run: threads of a pool, and an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import math
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, SupportsFloat, TypeAlias, TypeVar

from . import _pointwork as native
from ._errors import wrong_type

T = TypeVar("T")
Task: TypeAlias = "tuple[Callable[..., object], tuple[Any, ...], int]"

# The limit of a wait that may take any time. An operation that calls a function at its end does not wait.
UNLIMITED = (None, None)

_IDLE_SECONDS = 10.0
_WATCH_SECONDS = 0.05
_STOPPED = (
    "the event loop that runs the function stopped before the function answered, expected a loop that runs until then"
)


class _ThisThread(threading.local):
    """The state of this thread."""

    pool: Pool | None = None
    """The pool that the thread belongs to."""
    runs_nested = False
    """Whether the thread waits for a request or a call, and runs the functions of that request."""


_THIS_THREAD = _ThisThread()


class _Worker:
    """A thread of a pool."""

    __slots__ = ("task", "wake")

    def __init__(self, task: Task) -> None:
        # Another thread may raise an exception in this one while it wakes up. The task must not be lost then, so it is not
        # an item of the queue.
        self.task: Task | None = task
        self.wake: queue.SimpleQueue[None] = queue.SimpleQueue()


class Pool:
    """Threads for functions that may wait. The threads are daemons: one that never ends does not keep the interpreter from
    ending.

    At most `limit` threads run functions. A thread that waits for a request, a call or a body of the application does not
    count while it waits, since the functions that it waits for need threads too."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = max(1, limit)
        self._name = name
        self._lock = threading.Lock()
        # The number of threads that do not wait for the application, idle threads included.
        self._count = 0
        self._started = 0
        # The thread that ran last is used first, so that other threads can end.
        self._idle: list[_Worker] = []
        self._queued: deque[Task] = deque()
        self._closed = False

    def run(self, function: Callable[..., object], *arguments: Any) -> None:
        """Runs a function, which must not raise, once a thread is free."""
        task = (function, arguments, native.depth())
        with self._lock:
            if self._idle:
                worker = self._idle.pop()
                worker.task = task
                worker.wake.put(None)
                return
            if self._closed:
                # The drop of the arguments tells the application that no answer will come.
                return
            if self._count >= self._limit:
                self._queued.append(task)
                return
            self._count += 1
        self._start(task)

    def _start(self, task: Task) -> None:
        """Starts a thread, which `_count` includes already."""
        self._started += 1
        name = f"{self._name}-{self._started}"
        # The arguments of a thread live as long as the thread, those of a function must not.
        worker = _Worker(task)
        try:
            threading.Thread(target=self._work, args=(worker,), name=name, daemon=True).start()
        except RuntimeError:
            with self._lock:
                self._count -= 1
                if not self._count:
                    raise
                # The operating system has no thread left: a thread of the pool runs the function later.
                self._queued.append(task)

    def _work(self, worker: _Worker) -> None:
        _THIS_THREAD.pool = self
        task: Task | None = None
        try:
            task = self._take_task(worker)
            while True:
                try:
                    while task is not None:
                        _run_task(task)
                        task = None
                        task = self._next_task(worker)
                    return
                except BaseException:
                    # Functions answer with their own exceptions. This exception was raised by another thread
                    # (`PyThreadState_SetAsyncExc`): it ends the function that runs, never the thread.
                    task = None
                    task = self._take_task(worker)
                    if task is None:
                        task = self._next_task(worker)
        finally:
            self._end_thread(worker)

    def _next_task(self, worker: _Worker) -> Task | None:
        """The next function for a thread; `None` if the thread is to end."""
        with self._lock:
            if self._count > self._limit:
                return None
            if self._queued:
                return self._queued.popleft()
            if self._closed:
                return None
            self._idle.append(worker)
        try:
            worker.wake.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            pass
        return self._take_task(worker)

    def _take_task(self, worker: _Worker) -> Task | None:
        """The function that an idle thread got. The thread is idle no more."""
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
            task, worker.task = worker.task, None
            return task

    def _end_thread(self, worker: _Worker) -> None:
        task = self._take_task(worker)
        with self._lock:
            self._count -= 1
            if task is None and self._queued and self._count < self._limit:
                task = self._queued.popleft()
            if task is None:
                return
            self._count += 1
        self._start(task)

    def begin_wait(self) -> None:
        """Another thread may run functions while this one waits."""
        with self._lock:
            self._count -= 1
            if not self._queued or self._count >= self._limit:
                return
            task = self._queued.popleft()
            self._count += 1
        self._start(task)

    def end_wait(self) -> None:
        """This thread continues its function. More than `limit` threads may run functions then; one of them ends soon."""
        with self._lock:
            self._count += 1

    def run_nested(self, function: Callable[..., object], *arguments: Any) -> bool:
        """Runs a function, which must not raise, on this thread if it is a thread of this pool that waits for the
        function; otherwise the result is false."""
        here = _THIS_THREAD
        if not here.runs_nested or here.pool is not self:
            return False
        here.runs_nested = False
        self.end_wait()
        try:
            _run_task((function, arguments, native.depth()))
        finally:
            self.begin_wait()
            here.runs_nested = True
        return True

    def close(self) -> None:
        """Ends the threads once the queued functions have run."""
        with self._lock:
            self._closed = True
            for worker in self._idle:
                worker.wake.put(None)
            self._idle.clear()


def _run_task(task: Task) -> None:
    function, arguments, depth = task
    context = contextvars.Context()
    context.run(native.DEPTH.set, depth)
    context.run(function, *arguments)


def seconds_of(timeout: float | None) -> float | None:
    """A timeout in seconds."""
    if timeout is None:
        return None
    if not isinstance(timeout, SupportsFloat):
        raise wrong_type("the timeout", timeout, "a number of seconds")
    seconds = float(timeout)
    if math.isnan(seconds):
        raise ValueError("the timeout is no number, expected seconds")
    return seconds


def wait_here(wait: Callable[..., T], *arguments: Any, timeout: float | None = None, instead: str | None = None) -> T:
    """Has this thread wait in a function of the native module. With `instead`, on the thread of an event loop that runs, the
    function raises `RuntimeError` if it has to wait: the error names `instead` as the form to use."""
    seconds = seconds_of(timeout)
    if instead is not None and asyncio._get_running_loop() is not None:
        return wait(*arguments, (seconds, instead))
    here = _THIS_THREAD
    if here.pool is None:
        return wait(*arguments, (seconds, None))
    pool, runs_nested = here.pool, here.runs_nested
    # A function that runs on this thread could not be interrupted by the timeout.
    here.runs_nested = seconds is None
    pool.begin_wait()
    try:
        return wait(*arguments, (seconds, None))
    finally:
        pool.end_wait()
        here.runs_nested = runs_nested


def operate(
    operation: Callable[..., Any], *arguments: Any, timeout: float | None = None, instead: str | None = None
) -> Any:
    """Runs an operation of the native module on this thread; see `wait_here`."""
    return wait_here(operation, *arguments, None, timeout=timeout, instead=instead)


async def operate_async(
    operation: Callable[..., Any], *arguments: Any, timeout: float | None = None, cancels: bool = False
) -> Any:
    """Runs an operation of the native module on its threads. With `cancels`, a cancellation of the waiting task cancels the
    operation too."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    seconds = seconds_of(timeout)
    running = operation(*arguments, partial(call_threadsafe, loop, settle, future), UNLIMITED)
    async with asyncio.timeout(seconds):
        try:
            return await future
        except asyncio.CancelledError:
            if cancels:
                running.cancel()
            raise


class Loop:
    """The event loop of an application: the loop of the server in which the application is mounted, while that server runs;
    otherwise a loop in a thread of the application."""

    def __init__(self) -> None:
        self._attached: asyncio.AbstractEventLoop | None = None
        self._own: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        # The functions that run on loops of other owners: the loop, and the callback for its stop.
        self._watched: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[str], object]]] = {}
        self._has_watcher = False
        self._is_closed = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Takes the loop of a server, unless there is one that runs."""
        attached = self._attached
        if attached is None or (attached is not loop and not attached.is_running()):
            self._attached = loop

    def _running(self) -> asyncio.AbstractEventLoop:
        attached = self._attached
        if attached is not None and attached.is_running():
            return attached
        with self._lock:
            if self._own is None:
                self._own = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(self._own,), name="pointwork-loop", daemon=True).start()
            return self._own

    def run(
        self,
        on_stop: Callable[[str], object],
        coroutine: Callable[..., Coroutine[Any, Any, None]],
        *arguments: Any,
        preferred: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Runs a coroutine function, which must not raise, on the loop, or on `preferred` while that loop runs. It may be
        called on any thread. `on_stop` gets the reason if the loop stops before the end of the coroutine."""
        context = contextvars.copy_context()
        context.run(native.DEPTH.set, native.depth())
        loop = preferred if preferred is not None and preferred.is_running() else self._running()
        key = object()
        if loop is not self._own:
            self._watch(key, loop, on_stop)
        if asyncio._get_running_loop() is loop:
            loop.call_soon(self._start, key, coroutine, arguments, context=context)
            return
        try:
            loop.call_soon_threadsafe(self._start, key, coroutine, arguments, context=context)
        except RuntimeError:
            # The loop was closed a moment ago.
            self._watched.pop(key, None)
            _report(on_stop)

    def _start(
        self, key: object, coroutine: Callable[..., Coroutine[Any, Any, None]], arguments: tuple[Any, ...]
    ) -> None:
        task = asyncio.get_running_loop().create_task(coroutine(*arguments))
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._watched.pop(key, None)

        task.add_done_callback(done)

    def _watch(self, key: object, loop: asyncio.AbstractEventLoop, on_stop: Callable[[str], object]) -> None:
        """Has a thread check whether the loop runs: a loop that stops tells nobody."""
        with self._lock:
            self._watched[key] = (loop, on_stop)
            if self._has_watcher:
                return
            self._has_watcher = True
        threading.Thread(target=self._report_stopped_loops, name="pointwork-watch", daemon=True).start()

    def _report_stopped_loops(self) -> None:
        until = time.monotonic() + _IDLE_SECONDS
        stopped_before: set[object] = set()
        while True:
            time.sleep(_WATCH_SECONDS)
            with self._lock:
                watched = list(self._watched.items())
                if not watched and (self._is_closed or time.monotonic() > until):
                    self._has_watcher = False
                    return
            if watched:
                until = time.monotonic() + _IDLE_SECONDS
            # A loop may run again at once: it counts as stopped if two checks in a row find it so.
            stopped = {key for key, (loop, _) in watched if not loop.is_running()}
            for key in stopped & stopped_before:
                if (entry := self._watched.pop(key, None)) is not None:
                    _report(entry[1])
            if stopped:
                self._tasks.difference_update([task for task in list(self._tasks) if task.get_loop().is_closed()])
            stopped_before = stopped

    def runs_functions_here(self) -> bool:
        """Whether functions run on the event loop of this thread. Waiting for them on this thread would never end."""
        loop = asyncio._get_running_loop()
        return loop is not None and any(task.get_loop() is loop for task in list(self._tasks))

    @property
    def is_closed(self) -> bool:
        """Whether the functions that run are cancelled because the application has ended."""
        return self._is_closed

    def close(self) -> None:
        """Cancels the functions that run, and ends the loop if it belongs to the application."""
        self._is_closed = True
        tasks = list(self._tasks)
        for task in tasks:
            call_threadsafe(task.get_loop(), task.cancel)
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            # After the cancelled tasks, which run once more.
            call_threadsafe(own, lambda: own.call_later(0.05 if tasks else 0, own.stop))


def _report(on_stop: Callable[[str], object]) -> None:
    try:
        on_stop(_STOPPED)
    except Exception:
        # The function answered at the same time.
        pass


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def call_threadsafe(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *arguments: Any) -> None:
    """Has a loop call a function, unless the loop is closed."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        pass


def must_propagate(error: BaseException) -> bool:
    """Whether an exception of a function ends the event loop around it: Ctrl-C, where nobody else takes it."""
    return (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def cancel_when_gone(answer: native.RouteAnswer | native.EventAnswer | native.ChunkAnswer) -> None:
    """Has the current task cancelled once nobody waits for its answer any more."""
    if (task := asyncio.current_task()) is not None:
        answer.when_gone(partial(call_threadsafe, task.get_loop(), task.cancel))


def settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    """Completes a future, unless it was cancelled."""
    if not future.done():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


def reply_of(request: native.InFlight) -> asyncio.Future[native.NativeReply | None]:
    """The reply to a request; `None` if the application cancelled the request."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[native.NativeReply | None] = loop.create_future()
    request.then(lambda reply: call_threadsafe(loop, settle, future, reply, None))
    return future
