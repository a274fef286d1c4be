"""The places where functions run: threads of a pool, and an event loop."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from ._pointwork import InFlight, NativeReply

T = TypeVar("T")


class Pool:
    """Threads for functions that may wait. They are daemons: one that never ends does not keep the interpreter from ending."""

    def __init__(self, limit: int) -> None:
        self._limit = max(1, limit)
        self._tasks: queue.SimpleQueue[tuple[Callable[..., object], tuple[Any, ...]] | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._count = 0
        self._lock = threading.Lock()
        self._closed = False

    def run(self, function: Callable[..., object], *arguments: Any) -> None:
        """Runs a function, which must not raise, once a thread is free."""
        self._tasks.put((function, arguments))
        if self._idle.acquire(blocking=False):
            return
        with self._lock:
            if self._closed or self._count >= self._limit:
                return
            self._count += 1
            name = f"pointwork-{self._count}"
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            function, arguments = task
            del task
            function(*arguments)
            del function, arguments
            self._idle.release()

    def close(self) -> None:
        """Ends the threads behind the functions that are queued."""
        with self._lock:
            self._closed = True
            count = self._count
        for _ in range(count):
            self._tasks.put(None)


class Loop:
    """The event loop of an application: that of the server that it is mounted in, or one in a thread of its own."""

    def __init__(self) -> None:
        self._attached: asyncio.AbstractEventLoop | None = None
        self._own: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Takes the loop of a server, unless there is one that lives."""
        if self._attached is None or (self._attached is not loop and self._attached.is_closed()):
            self._attached = loop

    def get(self) -> asyncio.AbstractEventLoop:
        """The loop."""
        if self._attached is not None and not self._attached.is_closed():
            return self._attached
        with self._lock:
            if self._own is None:
                self._own = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(self._own,), name="pointwork-loop", daemon=True).start()
            return self._own

    def run(
        self, coroutine: Callable[..., Coroutine[Any, Any, None]], *arguments: Any
    ) -> None:
        """Runs a function of coroutines, which must not raise, on the loop. It may be called on any thread."""
        loop = self.get()
        if asyncio._get_running_loop() is loop:
            loop.call_soon(self._start, coroutine, arguments)
        else:
            try:
                loop.call_soon_threadsafe(self._start, coroutine, arguments)
            except RuntimeError:
                # The loop was closed. The drop of the arguments tells the application that no answer will come.
                pass

    def _start(self, coroutine: Callable[..., Coroutine[Any, Any, None]], arguments: tuple[Any, ...]) -> None:
        task = self.get().create_task(coroutine(*arguments))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Cancels what runs, and ends the loop if it is the application's own."""
        tasks = list(self._tasks)
        for task in tasks:
            threadsafe(task.get_loop(), task.cancel)
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            # Behind the cancelled tasks, which run once more.
            threadsafe(own, lambda: own.call_later(0.05 if tasks else 0, own.stop))


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


def _settle(future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
    if not future.done():
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


def ended(request: InFlight) -> asyncio.Future[NativeReply | None]:
    """The end of a request, for the loop that runs; `None` is a cancellation."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[NativeReply | None] = loop.create_future()
    request.then(lambda reply: threadsafe(loop, _settle, future, reply, None))
    return future


async def awaited(start: Callable[[Callable[[Any, BaseException | None], object]], object]) -> Any:
    """Waits for an operation that ends by a call."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def done(value: Any, error: BaseException | None) -> None:
        threadsafe(loop, _settle, future, value, error)

    start(done)
    return await future
