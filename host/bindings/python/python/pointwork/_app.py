"""Applications."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import warnings
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from . import _pointwork as native
from ._asgi import Asgi, AsgiApplication
from ._bodies import Body, native_body
from ._errors import ClosedError, RefusedError, wrong_type
from ._functions import PlacedFunction, for_channel, for_route
from ._headers import GivenHeaders, native_headers
from ._messages import CALL_ASYNC, Event, Reply, Request, native_payload, python_payload
from ._process import OPEN_APPS, prepare
from ._records import Change, Figures, ModuleInfo, Route, change_of, module_of, modules_of, routes_of
from ._run import (
    UNLIMITED,
    Loop,
    Pool,
    call_threadsafe,
    operate,
    operate_async,
    reply_of,
    seconds_of,
    settle,
    wait_here,
)
from ._server import Server
from ._wsgi import Wsgi, WsgiApplication

Component: TypeAlias = "str | os.PathLike[str] | bytes"
Handler = TypeVar("Handler", bound=Callable[[Request], Any])
Listener = TypeVar("Listener", bound=Callable[[Event], Any])

_LOCALHOST: native.Headers = [(b"host", b"localhost")]
# Each body that waits for its next chunk takes a thread.
_MAX_BODIES = 1024


class App:
    """An application.

    The keywords are the settings of `pointwork.toml`, with `_` for `-`: `App(prefix="/api", limits={"memory": "64MiB"})`.

    - `workers`: the number of threads that finish requests and serve connections; one for each processor by default.
    - `threads`: the number of functions (`def`) that run at a time; more of them wait.

    Its functions may be called on any thread. Those with a twin `…_async` wait, without the interpreter's lock; the twin is for
    `async def`. Close it at its end: by `close`, `with` or `async with`.

    Raises `SettingsError` and names the setting; `EngineError` if its threads do not start, or gevent or eventlet has
    replaced the threads of Python.
    """

    def __init__(self, *, workers: int | None = None, threads: int = 64, **settings: Any) -> None:
        self._is_closed = False
        # The native application refers to functions by number: a function that refers to this object is collected with it.
        self._functions: dict[int, PlacedFunction] = {}
        self._numbers = itertools.count()
        prepare()
        self._native = native.Host(_json(settings), workers, threads)
        self._pool = Pool(threads, "pointwork")
        self._bodies = Pool(_MAX_BODIES, "pointwork-body")
        self._loop = Loop()
        self._mounts: list[native.Mount] = []
        self._process = os.getpid()
        OPEN_APPS.add(self)

    # Modules

    def load(self, name: str, component: Component, **options: Any) -> ModuleInfo:
        """Loads a module: the path of a component, or its bytes. The options are the keys of `[[module]]` in `pointwork.toml`:
        `memory="64MiB"`, `grant={"clocks": True}`.

        Raises `ComponentError` if it cannot be loaded, `RefusedError` if its declarations are refused,
        `SettingsError` if an option is invalid."""
        return module_of(operate(self._native.load, name, component, _json(options)))

    async def load_async(self, name: str, component: Component, **options: Any) -> ModuleInfo:
        """As `load`."""
        return module_of(await operate_async(self._native.load, name, component, _json(options)))

    def swap(self, name: str, component: Component, **options: Any) -> Change:
        """Swaps the component of a module while it serves. Without options the module keeps its own. As `load`; if it raises, the
        module serves as before."""
        return change_of(operate(self._native.swap, name, component, _json(options) if options else None))

    async def swap_async(self, name: str, component: Component, **options: Any) -> Change:
        """As `swap`."""
        settings = _json(options) if options else None
        return change_of(await operate_async(self._native.swap, name, component, settings))

    def roll_back(self, name: str) -> Change:
        """Makes the version before the last swap current again. Raises `RefusedError` if there is none."""
        return change_of(operate(self._native.roll_back, name))

    async def roll_back_async(self, name: str) -> Change:
        """As `roll_back`."""
        return change_of(await operate_async(self._native.roll_back, name))

    def remove(self, name: str) -> Change:
        """Removes a module. Raises `RefusedError` if there is none of that name."""
        return change_of(operate(self._native.remove, name))

    async def remove_async(self, name: str) -> Change:
        """As `remove`."""
        return change_of(await operate_async(self._native.remove, name))

    def modules(self) -> list[ModuleInfo]:
        """The modules, in the order loaded, with their state."""
        return modules_of(self._native.modules())

    def routes(self) -> list[Route]:
        """The routes, in the order of registration."""
        return routes_of(self._native.routes())

    def figures(self) -> Figures:
        """Figures of the application."""
        return Figures(*self._native.figures())

    def set_prefix(self, prefix: str) -> None:
        """Sets the prefix of every route that modules declare from now on. Raises `RefusedError` if it is no path."""
        self._native.set_prefix(prefix)

    # Functions of Python

    def channel(self, name: str) -> Channel:
        """A channel, for listeners. The channel `server` has the events of the application itself, such as `crashed` and `swapped`."""
        return Channel(self, name)

    def route(
        self, method: str, path: str, *, inline: bool = False, stream: bool = False
    ) -> Callable[[Handler], Handler]:
        """Registers the function behind it for a route, such as `@app.route("GET", "/products/:id")`; `ALL` is any method.

        A `def` runs in a thread of a pool, an `async def` on the event loop of the server that the application is mounted in, or
        one of the application's own. `inline=True` runs a `def` on the thread that needs it: it costs least, and is for functions that
        never wait. `stream=True` calls it before the body is there.

        Its value is the reply: `Response`, text, bytes, JSON, or `None` for 204. An exception is a crash: the client gets 500, the
        log and `server:crashed` get the traceback. A `Failure` is told to the client.

        Raises `RefusedError` if the route is refused."""

        def register(function: Handler) -> Handler:
            name = None if method.upper() == "ALL" else method
            self._register(for_route(function, inline), partial(self._native.route, name, path, stream))
            return function

        return register

    def get(self, path: str, *, inline: bool = False, stream: bool = False) -> Callable[[Handler], Handler]:
        """A route for GET; see `route`."""
        return self.route("GET", path, inline=inline, stream=stream)

    def post(self, path: str, *, inline: bool = False, stream: bool = False) -> Callable[[Handler], Handler]:
        """A route for POST; see `route`."""
        return self.route("POST", path, inline=inline, stream=stream)

    def put(self, path: str, *, inline: bool = False, stream: bool = False) -> Callable[[Handler], Handler]:
        """A route for PUT; see `route`."""
        return self.route("PUT", path, inline=inline, stream=stream)

    def patch(self, path: str, *, inline: bool = False, stream: bool = False) -> Callable[[Handler], Handler]:
        """A route for PATCH; see `route`."""
        return self.route("PATCH", path, inline=inline, stream=stream)

    def delete(self, path: str, *, inline: bool = False, stream: bool = False) -> Callable[[Handler], Handler]:
        """A route for DELETE; see `route`."""
        return self.route("DELETE", path, inline=inline, stream=stream)

    def call(self, event: str, payload: Any = None, *, raw: bool = False, timeout: float | None = None) -> Any:
        """Calls an event, outside of any request; see `Request.call`."""
        value = operate(self._native.call, event, native_payload(payload), timeout=timeout, instead=CALL_ASYNC)
        return python_payload(value, raw)

    async def call_async(
        self, event: str, payload: Any = None, *, raw: bool = False, timeout: float | None = None
    ) -> Any:
        """As `call`."""
        value = await operate_async(self._native.call, event, native_payload(payload), timeout=timeout, cancels=True)
        return python_payload(value, raw)

    def emit(self, event: str, payload: Any = None) -> None:
        """Emits an event: nobody waits for its listeners."""
        self._native.emit(event, native_payload(payload))

    # Requests

    async def handle(
        self,
        method: str,
        target: str,
        *,
        headers: GivenHeaders | None = None,
        body: Body = None,
        timeout: float | None = None,
    ) -> Reply:
        """Answers a request in process. `target` is the path with its query, percent-encoded. If the coroutine is
        cancelled, or has no reply within `timeout` seconds, so is the request.

        Raises `TimeoutError`; `ClosedError`; `NestedError` if functions send requests to their own route without end;
        `ValueError` if a part cannot be in a request."""
        seconds = seconds_of(timeout)
        self._loop.attach(asyncio.get_running_loop())
        progress = self._native.handle(self._native_request(method, target, headers, body))
        if isinstance(progress, tuple):
            return Reply(*progress)
        try:
            async with asyncio.timeout(seconds):
                reply = await reply_of(progress)
        except (asyncio.CancelledError, TimeoutError):
            progress.cancel()
            raise
        if reply is None:
            raise ClosedError("the request was cancelled by the end of the application")
        return Reply(*reply)

    def request(
        self,
        method: str,
        target: str,
        *,
        headers: GivenHeaders | None = None,
        body: Body = None,
        timeout: float | None = None,
    ) -> Reply:
        """As `handle`, on the calling thread, which waits. A signal, such as Ctrl-C, cancels the request. On the thread
        of an event loop that runs, it raises `RuntimeError` if it has to wait."""
        request = self._native_request(method, target, headers, body)
        reply = wait_here(self._native.handle_blocking, request, timeout=timeout, instead="`await app.handle(…)`")
        return Reply(*reply)

    def _native_request(self, method: str, target: str, headers: GivenHeaders | None, body: Body) -> native.NativeRequest:
        for name, value in (("method", method), ("target", target)):
            if not isinstance(value, str):
                raise wrong_type(f"the {name}", value, "`str`")
        pairs = native_headers(headers)
        if not any(name.lower() == b"host" for name, _ in pairs):
            pairs += _LOCALHOST
        return method, target, pairs, native_body(body, self._bodies, self._loop), None, None, False

    # Servers

    @property
    def asgi(self) -> Asgi:
        """The application as one of ASGI 3, for all paths. Each look at it is a mount; do not look at it for each
        request.

        Mounted by a framework, such as `api.mount("/shop", app.asgi)`, its routes are below that path (`root_path`) and
        are declared without it."""
        return self._asgi("everything", "", None)

    def asgi_in_front(self, other: AsgiApplication) -> Asgi:
        """The application in front of another one of ASGI, which gets what no route of this one takes, lifespan and
        WebSockets. Middleware of the other one does not see the requests that this one takes."""
        return self._asgi("in-front", "", other)

    def asgi_below(self, prefix: str, other: AsgiApplication | None = None) -> Asgi:
        """The application below a prefix, which the routes of its modules get; `other` has the rest, and its middleware
        sees the rest only."""
        return self._asgi("below", prefix, other)

    def _asgi(self, place: str, prefix: str, other: AsgiApplication | None) -> Asgi:
        return Asgi(self, self._mount("asgi", place, prefix), self._loop, prefix, other)

    @property
    def wsgi(self) -> Wsgi:
        """The application as one of WSGI, for all paths. Each look at it is a mount; do not look at it for each
        request. As for `asgi`, what mounts it below a path (`SCRIPT_NAME`) keeps that path."""
        return self._wsgi("everything", "", None)

    def wsgi_in_front(self, other: WsgiApplication) -> Wsgi:
        """The application in front of another one of WSGI, which gets what no route of this one takes. Middleware of
        the other one does not see the requests that this one takes."""
        return self._wsgi("in-front", "", other)

    def wsgi_below(self, prefix: str, other: WsgiApplication | None = None) -> Wsgi:
        """The application below a prefix, which the routes of its modules get; `other` has the rest, and its middleware
        sees the rest only."""
        return self._wsgi("below", prefix, other)

    def _wsgi(self, place: str, prefix: str, other: WsgiApplication | None) -> Wsgi:
        return Wsgi(self, self._mount("wsgi", place, prefix), self._bodies, prefix, other)

    def _mount(self, name: str, place: str, prefix: str) -> native.Mount:
        mount = self._native.mount(name, place, prefix)
        self._mounts.append(mount)
        return mount

    def serve(self, address: str) -> Server:
        """Serves the application by the server that is built in (HTTP/1.1 and HTTP/2), at an address such as `127.0.0.1:8080`; port
        0 is a free one. It serves until it is stopped, or the application is closed. Raises `HostError` if the address cannot
        be had."""
        return Server(self, operate(self._native.serve, address))

    async def serve_async(self, address: str) -> Server:
        """As `serve`."""
        return Server(self, await operate_async(self._native.serve, address))

    # The end

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def close(self, *, timeout: float | None = None) -> None:
        """Ends the application: servers stop, what is in flight ends within the setting `shutdown-grace`, the rest is
        cancelled, all threads end. A second call waits for the same end. In the child of a fork it does nothing.

        Raises `TimeoutError` past so many seconds, and the application ends all the same; `RefusedError` in a handler
        of the log, whose lines the end writes; `RuntimeError` on the thread of an event loop that runs its functions:
        use `close_async` or `async with`."""
        if os.getpid() != self._process:
            return
        seconds = seconds_of(timeout)
        self._refuse_wait("close", "`await app.close_async()` or `async with app`")
        was_closed, self._is_closed = self._is_closed, True
        try:
            operate(self._native.close, timeout=seconds)
        except RefusedError:
            self._is_closed = was_closed
            raise
        except BaseException:
            # The application ends without this thread.
            with contextlib.suppress(Exception):
                self._native.close(lambda value, error: self._finish_close(), UNLIMITED)
            raise
        self._finish_close()

    async def close_async(self, *, timeout: float | None = None) -> None:
        """As `close`."""
        if os.getpid() != self._process:
            return
        seconds = seconds_of(timeout)
        self._is_closed = True
        loop = asyncio.get_running_loop()
        closed: asyncio.Future[None] = loop.create_future()

        # The callback finishes the close also if this task no longer waits for it.
        def done(value: object, error: object) -> None:
            self._finish_close()
            call_threadsafe(loop, settle, closed, None, None)

        self._native.close(done, UNLIMITED)
        async with asyncio.timeout(seconds):
            await closed

    def _refuse_wait(self, what: str, instead: str) -> None:
        """Raises on the thread of an event loop that runs functions of the application: the wait would never end."""
        if self._loop.runs_functions_here():
            raise RuntimeError(
                f"`{what}` would wait for functions that run on the event loop of this thread, expected {instead}"
            )

    def _finish_close(self) -> None:
        for mount in self._mounts:
            mount.close()
        self._mounts.clear()
        self._stop_threads()
        OPEN_APPS.discard(self)

    def _stop_threads(self) -> None:
        self._pool.close()
        self._bodies.close()
        self._loop.close()

    def __enter__(self) -> App:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> App:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close_async()

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("an application cannot be copied or pickled: start one in each process")

    def __repr__(self) -> str:
        return f"<pointwork.App{' (closed)' if self._is_closed else ''}>"

    def __del__(self) -> None:
        # `__init__` sets the process last: without it, the application did not start.
        if os.getpid() != getattr(self, "_process", None):
            return
        if not self._is_closed:
            warnings.warn(f"unclosed application {self!r}", ResourceWarning, source=self)
        self._stop_threads()

    def _register(self, function: PlacedFunction, declare: Callable[[Callable[[Any, Any], None]], None]) -> None:
        """Registers a function by `declare`. The native application has a weak reference to this object and the number of the
        function, so that both may refer to the application."""
        number = next(self._numbers)
        self._functions[number] = function
        reference = weakref.ref(self)

        def run(call: Any, answer: Any) -> None:
            if (app := reference()) is not None:
                app._functions[number](app, call, answer)

        try:
            declare(run)
        except BaseException:
            del self._functions[number]
            raise


class Channel:
    """A channel of an application."""

    def __init__(self, app: App, name: str) -> None:
        self._app = app
        self._name = name

    def on(self, event: str, *, inline: bool = False) -> Callable[[Listener], Listener]:
        """Has the function behind it listen to an event: `@app.channel("db").on("product:one")`. Its value is that of the call: JSON,
        bytes, or a `Payload`. Where it runs, and its exceptions, are as for `App.route`.

        Raises `RefusedError` if there is a listener of that name."""

        def register(function: Listener) -> Listener:
            self._app._register(for_channel(function, inline), partial(self._app._native.listen, self._name, event))
            return function

        return register


def _json(settings: Mapping[str, Any]) -> str:
    return json.dumps({name.replace("_", "-"): value for name, value in settings.items()}, default=os.fspath)
