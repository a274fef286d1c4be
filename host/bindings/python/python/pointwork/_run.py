"""The places where functions run: threads of a pool, and an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from . import _pointwork as native

if TYPE_CHECKING:
    from ._pointwork import InFlight, NativeReply

T = TypeVar("T")
Task: TypeAlias = "tuple[Callable[..., object], tuple[Any, ...], int]"

_IDLE_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_STOPPED = (
    "the event loop that runs the function stopped before the function answered, expected a loop that runs until then"
)


class _ThisThread(threading.local):
    """What a thread knows of itself."""

    pool: Pool | None = None
    """The pool that it belongs to."""
    runs_nested = False
    """Whether it waits for a request or a call, and runs the functions of that request."""


_THIS_THREAD = _ThisThread()


class _Worker:
    """A thread of a pool."""

    __slots__ = ("task", "wake")

    def __init__(self, task: Task) -> None:
        # An exception that another thread raises in this one, and that comes while it wakes up, must not take the task
        # with it: so the task is not what it is woken by.
        self.task: Task | None = task
        self.wake: queue.SimpleQueue[None] = queue.SimpleQueue()


class Pool:
    """Threads for functions that may wait. They are daemons: one that never ends does not keep the interpreter from
    ending.

    At most `limit` of them run functions. A thread that waits for a request, a call or a body of the application does
    not count for that time, since the functions it waits for need threads too."""

    def __init__(self, limit: int, name: str) -> None:
        self._limit = max(1, limit)
        self._name = name
        self._lock = threading.Lock()
        # The threads that do not wait, idle ones included.
        self._count = 0
        self._started = 0
        # The last one is used first, so that the others can end.
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
        """Starts a thread, which is counted already."""
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
            task = self._given(worker)
            while True:
                try:
                    while task is not None:
                        _run_task(task)
                        task = None
                        task = self._next(worker)
                    return
                except BaseException:
                    # Functions answer with their exceptions. Another one was raised by another thread
                    # (`PyThreadState_SetAsyncExc`): it ends the function that runs, never the thread.
                    task = None
                    task = self._given(worker)
                    if task is None:
                        task = self._next(worker)
        finally:
            self._ended(worker)

    def _next(self, worker: _Worker) -> Task | None:
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
        return self._given(worker)

    def _given(self, worker: _Worker) -> Task | None:
        """The function that a thread was given. The thread is idle no more."""
        with self._lock:
            if worker in self._idle:
                self._idle.remove(worker)
            task, worker.task = worker.task, None
            return task

    def _ended(self, worker: _Worker) -> None:
        task = self._given(worker)
        with self._lock:
            self._count -= 1
            if task is None and self._queued and self._count < self._limit:
                task = self._queued.popleft()
            if task is None:
                return
            self._count += 1
        self._start(task)

    def leave(self) -> None:
        """Another thread may run functions while this one waits."""
        with self._lock:
            self._count -= 1
            if not self._queued or self._count >= self._limit:
                return
            task = self._queued.popleft()
            self._count += 1
        self._start(task)

    def enter(self) -> None:
        """This thread runs its function on. There may be more than `limit` of them then, and one of them ends soon."""
        with self._lock:
            self._count += 1

    def run_nested(self, function: Callable[..., object], *arguments: Any) -> bool:
        """Runs a function, which must not raise, on this thread if it is a thread of this pool that waits for the
        function; otherwise the result is false."""
        here = _THIS_THREAD
        if not here.runs_nested or here.pool is not self:
            return False
        here.runs_nested = False
        self.enter()
        try:
            _run_task((function, arguments, native.depth()))
        finally:
            self.leave()
            here.runs_nested = True
        return True

    def close(self) -> None:
        """Ends the threads behind the functions that are queued."""
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


def blocking(wait: Callable[..., T], twin: str | None, timeout: float | None, *arguments: Any) -> T:
    """Has this thread wait in a function of the application. On the thread of an event loop that runs, the function
    raises `RuntimeError` if it has to wait: it names the twin."""
    if twin is not None and asyncio._get_running_loop() is not None:
        return wait(*arguments, (timeout, twin))
    here = _THIS_THREAD
    if here.pool is None:
        return wait(*arguments, (timeout, None))
    pool, runs_nested = here.pool, here.runs_nested
    # A function that runs on this thread could not be left when the time is over.
    here.runs_nested = timeout is None
    pool.leave()
    try:
        return wait(*arguments, (timeout, None))
    finally:
        pool.enter()
        here.runs_nested = runs_nested


class Loop:
    """The event loop of an application: that of the server that it is mounted in while that runs, otherwise one in a
    thread of the application's own."""

    def __init__(self) -> None:
        self._attached: asyncio.AbstractEventLoop | None = None
        self._own: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        # What was begun on loops of others: the loop, and what gets the reason if the loop stops.
        self._begun: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[str], object]]] = {}
        self._is_watched = False
        self._is_closed = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Takes the loop of a server, unless there is one that runs."""
        attached = self._attached
        if attached is None or (attached is not loop and not attached.is_running()):
            self._attached = loop

    def get(self) -> asyncio.AbstractEventLoop:
        """The loop."""
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
        lost: Callable[[str], object],
        coroutine: Callable[..., Coroutine[Any, Any, None]],
        *arguments: Any,
        on: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Runs a function of coroutines, which must not raise, on the loop, or on another one while that runs. It may be
        called on any thread. `lost` gets the reason if the loop stops before the end of the coroutine."""
        context = contextvars.copy_context()
        context.run(native.DEPTH.set, native.depth())
        loop = on if on is not None and on.is_running() else self.get()
        key = object()
        if loop is not self._own:
            self._watch(key, loop, lost)
        if asyncio._get_running_loop() is loop:
            loop.call_soon(self._start, key, coroutine, arguments, context=context)
            return
        try:
            loop.call_soon_threadsafe(self._start, key, coroutine, arguments, context=context)
        except RuntimeError:
            # The loop was closed a moment ago.
            self._begun.pop(key, None)
            _tell(lost)

    def _start(
        self, key: object, coroutine: Callable[..., Coroutine[Any, Any, None]], arguments: tuple[Any, ...]
    ) -> None:
        task = asyncio.get_running_loop().create_task(coroutine(*arguments))
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._begun.pop(key, None)

        task.add_done_callback(done)

    def _watch(self, key: object, loop: asyncio.AbstractEventLoop, lost: Callable[[str], object]) -> None:
        """A loop tells nobody that it stops: a thread looks whether those of others run."""
        with self._lock:
            self._begun[key] = (loop, lost)
            if self._is_watched:
                return
            self._is_watched = True
        threading.Thread(target=self._look, name="pointwork-watch", daemon=True).start()

    def _look(self) -> None:
        until = time.monotonic() + _IDLE_SECONDS
        stopped: set[object] = set()
        while True:
            time.sleep(_LOOK_SECONDS)
            with self._lock:
                begun = list(self._begun.items())
                if not begun and (self._is_closed or time.monotonic() > until):
                    self._is_watched = False
                    return
            if begun:
                until = time.monotonic() + _IDLE_SECONDS
            # A loop may run again at once: what stands at two looks is lost.
            standing = {key for key, (loop, _) in begun if not loop.is_running()}
            for key in standing & stopped:
                if (work := self._begun.pop(key, None)) is not None:
                    _tell(work[1])
            if standing:
                self._tasks.difference_update([task for task in list(self._tasks) if task.get_loop().is_closed()])
            stopped = standing

    def holds_up(self) -> bool:
        """Whether functions run on the event loop of this thread, which runs: waiting for them here would be without
        end."""
        loop = asyncio._get_running_loop()
        return loop is not None and any(task.get_loop() is loop for task in list(self._tasks))

    def close(self) -> None:
        """Cancels what runs, and ends the loop if it is the application's own."""
        self._is_closed = True
        tasks = list(self._tasks)
        for task in tasks:
            threadsafe(task.get_loop(), task.cancel)
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            # Behind the cancelled tasks, which run once more.
            threadsafe(own, lambda: own.call_later(0.05 if tasks else 0, own.stop))


def _tell(lost: Callable[[str], object]) -> None:
    try:
        lost(_STOPPED)
    except Exception:
        # It was answered at the same time.
        pass


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def threadsafe(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *arguments: Any) -> None:
    """Has a loop call a function; a loop that is closed does not."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        pass


def goes_on(error: BaseException) -> bool:
    """Whether an exception of a function ends the event loop around it: Ctrl-C, where nobody else takes it."""
    return (
        isinstance(error, KeyboardInterrupt)
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if not future.done():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


def ended(request: InFlight) -> asyncio.Future[NativeReply | None]:
    """The end of a request, for the loop that runs; `None` is a cancellation."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[NativeReply | None] = loop.create_future()
    request.then(lambda reply: threadsafe(loop, settle, future, reply, None))
    return future


async def awaited(
    start: Callable[[Callable[[Any, BaseException | None], object]], Any],
    timeout: float | None = None,
    *,
    cancels: bool = False,
) -> Any:
    """Waits for an operation that ends by a call. `cancels` has a cancellation of the waiter cancel the operation
    too."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def done(value: Any, error: BaseException | None) -> None:
        threadsafe(loop, settle, future, value, error)

    operation = start(done)

    async def end() -> Any:
        try:
            return await future
        except asyncio.CancelledError:
            if cancels:
                operation.cancel()
            raise

    if timeout is None:
        return await end()
    async with asyncio.timeout(timeout):
        return await end()
