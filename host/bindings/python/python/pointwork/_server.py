"""The built-in server."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from ._run import operate, operate_async, wait_here

if TYPE_CHECKING:
    from . import _pointwork as native
    from ._app import App

# The form that the errors of `wait` and `run` name on the thread of an event loop.
_WAIT_ASYNC = "`await asyncio.to_thread(server.wait)`"


class Server:
    """A running server."""

    def __init__(self, app: App, server: native.Server) -> None:
        # The server keeps the application alive, whose functions would not be called otherwise.
        self._app = app
        self._native = server

    @property
    def address(self) -> str:
        """The address that it listens on."""
        return self._native.address

    @property
    def url(self) -> str:
        """Its address as a URL."""
        return f"http://{self.address}"

    def stop(self) -> None:
        """Accepts no more connections, and waits for the requests in flight, within the setting `shutdown-grace`."""
        self._app._refuse_wait("stop", "`await server.stop_async()`")
        operate(self._native.stop)

    async def stop_async(self) -> None:
        """As `stop`."""
        await operate_async(self._native.stop)

    def wait(self) -> None:
        """Waits until it has stopped, by `stop` or the end of its application. Ctrl-C stops it."""
        try:
            wait_here(self._native.wait, instead=_WAIT_ASYNC)
        except KeyboardInterrupt:
            self.stop()

    def run(self) -> None:
        """Serves until the process gets SIGINT (Ctrl-C) or SIGTERM, then stops as `stop` does and returns. A second
        signal does what it did before. It returns too once the server is stopped by another thread. It must be called
        on the main thread, which takes the signals."""
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("`run` was called on another thread, expected the main thread, which takes the signals")
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

        def restore() -> None:
            while before:
                number, handler = before.popitem()
                # A handler that is not Python's cannot be set again.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

        def stop(number: int, frame: FrameType | None) -> None:
            restore()
            self._native.begin_stop()

        for number in list(before):
            signal.signal(number, stop)
        try:
            wait_here(self._native.wait, instead=_WAIT_ASYNC)
        finally:
            restore()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
