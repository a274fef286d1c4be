"""Applications."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import faulthandler
import inspect
import itertools
import json
import logging
import os
import signal
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, FrameType, TracebackType
from typing import Any, TypeAlias, TypeVar

from . import _pointwork as native
from ._asgi import Asgi, AsgiApplication
from ._errors import ClosedError, EngineError, RefusedError
from ._messages import (
    CALL_TWIN,
    NO_WAIT,
    Body,
    Event,
    GivenHeaders,
    Reply,
    Request,
    answer_route,
    cancel_when_gone,
    fail,
    native_body,
    native_headers,
    native_payload,
    python_payload,
)
from ._records import Change, Figures, ModuleInfo, Route, change_of, module_of, routes_of
from ._run import Loop, Pool, awaited, blocking, ended, goes_on, settle, threadsafe
from ._wsgi import Wsgi, WsgiApplication

Component: TypeAlias = "str | os.PathLike[str] | bytes"
Handler = TypeVar("Handler", bound=Callable[[Request], Any])
Listener = TypeVar("Listener", bound=Callable[[Event], Any])

_LOG = logging.getLogger("pointwork")
_LEVELS = {"ERROR": logging.ERROR, "WARN": logging.WARNING, "INFO": logging.INFO}
_LOCALHOST: native.Headers = [(b"host", b"localhost")]
_EXIT_SECONDS = 3.0
# Each body that waits for its next piece takes a thread.
_MOST_BODIES = 1024


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
        # The application knows its functions by their numbers: those that name it are collected with it.
        self._functions: dict[int, _Placed] = {}
        self._numbers = itertools.count()
        _refuse_green_threads()
        _begin()
        self._native = native.Host(_json(settings), workers, threads)
        self._pool = Pool(threads, "pointwork")
        self._bodies = Pool(_MOST_BODIES, "pointwork-body")
        self._loop = Loop()
        self._mounts: list[native.Mount] = []
        self._process = os.getpid()
        _APPS.add(self)

    # Modules

    def load(self, name: str, component: Component, **options: Any) -> ModuleInfo:
        """Loads a module: the path of a component, or its bytes. The options are the keys of `[[module]]` in `pointwork.toml`:
        `memory="64MiB"`, `grant={"clocks": True}`.

        Raises `ComponentError` if it cannot be loaded, `RefusedError` if its declarations are refused,
        `SettingsError` if an option is invalid."""
        return module_of(blocking(self._native.load, None, None, name, component, _json(options), None))

    async def load_async(self, name: str, component: Component, **options: Any) -> ModuleInfo:
        """As `load`."""
        return module_of(await awaited(lambda done: self._native.load(name, component, _json(options), done, NO_WAIT)))

    def swap(self, name: str, component: Component, **options: Any) -> Change:
        """Swaps the component of a module while it serves. Without options the module keeps its own. As `load`; if it raises, the
        module serves as before."""
        given = _json(options) if options else None
        return change_of(blocking(self._native.swap, None, None, name, component, given, None))

    async def swap_async(self, name: str, component: Component, **options: Any) -> Change:
        """As `swap`."""
        given = _json(options) if options else None
        return change_of(await awaited(lambda done: self._native.swap(name, component, given, done, NO_WAIT)))

    def roll_back(self, name: str) -> Change:
        """Makes the version before the last swap current again. Raises `RefusedError` if there is none."""
        return change_of(blocking(self._native.roll_back, None, None, name, None))

    async def roll_back_async(self, name: str) -> Change:
        """As `roll_back`."""
        return change_of(await awaited(lambda done: self._native.roll_back(name, done, NO_WAIT)))

    def remove(self, name: str) -> Change:
        """Removes a module. Raises `RefusedError` if there is none of that name."""
        return change_of(blocking(self._native.remove, None, None, name, None))

    async def remove_async(self, name: str) -> Change:
        """As `remove`."""
        return change_of(await awaited(lambda done: self._native.remove(name, done, NO_WAIT)))

    def modules(self) -> list[ModuleInfo]:
        """The modules, in the order loaded, with their state."""
        return [module_of(json.dumps(module)) for module in json.loads(self._native.modules())]

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
            _check(function, "a route")
            with self._placed(_route_call, function, inline) as call:
                self._native.route(None if method.upper() == "ALL" else method, path, stream, call)
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
        given = native_payload(payload)
        return python_payload(blocking(self._native.call, CALL_TWIN, timeout, event, given, None), raw)

    async def call_async(
        self, event: str, payload: Any = None, *, raw: bool = False, timeout: float | None = None
    ) -> Any:
        """As `call`."""
        given = native_payload(payload)
        called = awaited(lambda done: self._native.call(event, given, done, NO_WAIT), timeout, cancels=True)
        return python_payload(await called, raw)

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
        loop = asyncio.get_running_loop()
        self._loop.attach(loop)
        progress = self._native.handle(self._given(method, target, headers, body))
        if isinstance(progress, tuple):
            return Reply(*progress)
        if timeout is None:
            return Reply(*await until(progress))
        async with asyncio.timeout(timeout):
            return Reply(*await until(progress))

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
        given = self._given(method, target, headers, body)
        return Reply(*blocking(self._native.handle_blocking, "`await app.handle(…)`", timeout, given))

    def _given(self, method: str, target: str, headers: GivenHeaders | None, body: Body) -> native.Given:
        pairs = _LOCALHOST
        if headers:
            pairs = native_headers(headers)
            if not any(name.lower() == b"host" for name, _ in pairs):
                pairs += _LOCALHOST
        given = body if body is None or isinstance(body, bytes) else native_body(body, self._bodies, self._loop)
        return method, target, pairs, given, None, None, False

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
        return Asgi(self, self._mounted("asgi", place, prefix), self._loop, prefix, other)

    @property
    def wsgi(self) -> Wsgi:
        """The application as one of WSGI, for all paths. Each look at it is a mount; do not look at it for each
        request. As for `asgi`, what mounts it below a path (`SCRIPT_NAME`) keeps that path."""
        return Wsgi(self, self._mounted("wsgi", "everything", ""), self._bodies, "", None)

    def wsgi_in_front(self, other: WsgiApplication) -> Wsgi:
        """The application in front of another one of WSGI, which gets what no route of this one takes. Middleware of
        the other one does not see the requests that this one takes."""
        return Wsgi(self, self._mounted("wsgi", "in-front", ""), self._bodies, "", other)

    def wsgi_below(self, prefix: str, other: WsgiApplication | None = None) -> Wsgi:
        """The application below a prefix, which the routes of its modules get; `other` has the rest, and its middleware
        sees the rest only."""
        return Wsgi(self, self._mounted("wsgi", "below", prefix), self._bodies, prefix, other)

    def _mounted(self, name: str, place: str, prefix: str) -> native.Mount:
        mount = self._native.mount(name, place, prefix)
        self._mounts.append(mount)
        return mount

    def serve(self, address: str) -> Server:
        """Serves the application by the server that is built in (HTTP/1.1 and HTTP/2), at an address such as `127.0.0.1:8080`; port
        0 is a free one. It serves until it is stopped, or the application is closed. Raises `HostError` if the address cannot
        be had."""
        return Server(self, blocking(self._native.serve, None, None, address, None))

    async def serve_async(self, address: str) -> Server:
        """As `serve`."""
        return Server(self, await awaited(lambda done: self._native.serve(address, done, NO_WAIT)))

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
        self._refuse_here("close", "`await app.close_async()` or `async with app`")
        was_closed, self._is_closed = self._is_closed, True
        try:
            blocking(self._native.close, None, timeout, None)
        except RefusedError:
            self._is_closed = was_closed
            raise
        except BaseException:
            # The end goes on without this thread.
            with contextlib.suppress(Exception):
                self._native.close(lambda value, error: self._end(), NO_WAIT)
            raise
        self._end()

    async def close_async(self, *, timeout: float | None = None) -> None:
        """As `close`."""
        if os.getpid() != self._process:
            return
        self._is_closed = True
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def ended(value: object, error: object) -> None:
            self._end()
            threadsafe(loop, settle, future, None, None)

        self._native.close(ended, NO_WAIT)
        async with asyncio.timeout(timeout):
            await future

    def _refuse_here(self, what: str, twin: str) -> None:
        if self._loop.holds_up():
            raise RuntimeError(
                f"`{what}` would wait for functions that run on the event loop of this thread, expected {twin}"
            )

    def _end(self) -> None:
        for mount in self._mounts:
            mount.close()
        self._mounts.clear()
        self._pool.close()
        self._bodies.close()
        self._loop.close()
        _APPS.discard(self)

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
        loop: Loop | None = getattr(self, "_loop", None)
        if loop is None or os.getpid() != self._process:
            return
        if not self._is_closed:
            warnings.warn(f"unclosed application {self!r}", ResourceWarning, source=self)
        self._pool.close()
        self._bodies.close()
        loop.close()

    @contextlib.contextmanager
    def _placed(
        self, call: Callable[..., _Placed], function: Callable[..., Any], inline: bool
    ) -> Iterator[Callable[[Any, Any], None]]:
        """A function for the application, which knows this object weakly and the function by its number: they may name
        each other. It is forgotten if the application refuses it."""
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)
        )
        if is_async and inline:
            raise TypeError("the function is an `async def`, expected a `def` with `inline=True`")
        number = next(self._numbers)
        self._functions[number] = call(function, is_async, inline)
        app = weakref.ref(self)

        def placed(call: Any, answer: Any) -> None:
            if (living := app()) is not None:
                living._functions[number](living, call, answer)

        try:
            yield placed
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
            _check(function, "a channel")
            with self._app._placed(_event_call, function, inline) as call:
                self._app._native.listen(self._name, event, call)
            return function

        return register


class Server:
    """A running server."""

    def __init__(self, app: App, server: native.Server) -> None:
        # It lives as long as its server: without it, its functions would not be called.
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
        self._app._refuse_here("stop", "`await server.stop_async()`")
        blocking(self._native.stop, None, None, None)

    async def stop_async(self) -> None:
        """As `stop`."""
        await awaited(lambda done: self._native.stop(done, NO_WAIT))

    def wait(self) -> None:
        """Waits until it has stopped, by `stop` or the end of its application. Ctrl-C stops it."""
        try:
            blocking(self._native.wait, "`await asyncio.to_thread(server.wait)`", None)
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
            blocking(self._native.wait, "`await asyncio.to_thread(server.wait)`", None)
        finally:
            restore()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _json(settings: Mapping[str, Any]) -> str:
    return json.dumps({name.replace("_", "-"): value for name, value in settings.items()}, default=os.fspath)


def _check(function: object, what: str) -> None:
    if not callable(function):
        raise TypeError(f"the function of {what} is of type `{type(function).__name__}`, expected a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"the function of {what} is a generator, expected a function that returns `Response(body=…)` with it")


async def until(request: native.InFlight) -> native.NativeReply:
    """Waits for the reply to a request; a cancellation of the waiter cancels the request."""
    try:
        reply = await ended(request)
    except asyncio.CancelledError:
        request.cancel()
        raise
    if reply is None:
        raise ClosedError("the request was cancelled by the end of the application")
    return reply


# The functions that the application calls. A failure releases its request or event: the exception, which a program may
# keep, has them in its frames, and the application waits for them at its end.

_Placed: TypeAlias = Callable[..., None]


def _route_call(function: Callable[[Request], Any], is_async: bool, inline: bool) -> _Placed:
    def answer_now(app: App, call: native.RouteCall, answer: native.RouteAnswer) -> None:
        request = Request(call, app)
        try:
            answer_route(answer, request, function(request))
        except BaseException as error:
            fail(answer, error)
            request._release()
            if goes_on(error):
                raise

    async def answer_later(app: App, call: native.RouteCall, answer: native.RouteAnswer) -> None:
        request = Request(call, app)
        try:
            cancel_when_gone(answer)
            answer_route(answer, request, await function(request))
        except BaseException as error:
            fail(answer, error)
            request._release()
            if goes_on(error):
                raise

    return _in_place(is_async, inline, answer_now, answer_later)


def _event_call(function: Callable[[Event], Any], is_async: bool, inline: bool) -> _Placed:
    def answer_now(app: App, call: native.EventCall, answer: native.EventAnswer) -> None:
        event = Event(call, app)
        try:
            answer.value(native_payload(function(event)))
        except BaseException as error:
            fail(answer, error)
            event._release()
            if goes_on(error):
                raise

    async def answer_later(app: App, call: native.EventCall, answer: native.EventAnswer) -> None:
        event = Event(call, app)
        try:
            cancel_when_gone(answer)
            answer.value(native_payload(await function(event)))
        except BaseException as error:
            fail(answer, error)
            event._release()
            if goes_on(error):
                raise

    return _in_place(is_async, inline, answer_now, answer_later)


Call = TypeVar("Call", native.RouteCall, native.EventCall)
Answer = TypeVar("Answer", native.RouteAnswer, native.EventAnswer)


def _in_place(
    is_async: bool,
    inline: bool,
    now: Callable[[App, Call, Answer], None],
    later: Callable[[App, Call, Answer], Any],
) -> _Placed:
    """Calls a function in its place."""

    def on_loop(app: App, call: Call, answer: Answer) -> None:
        def lost(reason: str) -> None:
            # The coroutine, which nobody runs any more, has the request.
            answer.threw(reason)
            call.release()

        app._loop.run(lost, later, app, call, answer)

    def in_pool(app: App, call: Call, answer: Answer) -> None:
        if not app._pool.run_nested(now, app, call, answer):
            app._pool.run(now, app, call, answer)

    return on_loop if is_async else now if inline else in_pool


# The process

_APPS: weakref.WeakSet[App] = weakref.WeakSet()
_begun = False


def _refuse_green_threads() -> None:
    """Raises if the threads of Python are green ones: they would wait for the threads of the application, and hold them
    up."""
    if not isinstance(threading.get_ident, BuiltinFunctionType):
        package = str(threading.get_ident.__module__).partition(".")[0]
        raise EngineError(
            f"the module `threading` is patched by `{package}`, expected threads of the operating system: without its "
            "monkey patching, and with a worker such as `gthread` in gunicorn"
        )


def _begin() -> None:
    """With the first application: the log, and the end of the interpreter."""
    global _begun
    if _begun:
        return
    _begun = True
    if not faulthandler.is_enabled():
        # Its handlers must be older than those of the engine, which take the traps of guests. `faulthandler.enable` does nothing
        # where it is enabled; with younger handlers it would end the process at the first trap.
        with contextlib.suppress(Exception):
            faulthandler.enable()
    level = "debug" if _LOG.isEnabledFor(logging.DEBUG) else "info"
    native.write_log(level, _write)
    atexit.register(_at_exit)


def _write(level: str, target: str, message: str) -> None:
    # Parts of the host are crates of their own, such as `pointwork_core`: all are loggers below `pointwork`.
    name = target.replace("::", ".").replace("pointwork_", "pointwork.", 1)
    logging.getLogger(name).log(_LEVELS.get(level, logging.DEBUG), "%s", message)


def _at_exit() -> None:
    """Ends the applications that nobody closed, so that no thread is in the interpreter when it ends."""
    ends = []
    for app in list(_APPS):
        if os.getpid() == app._process:
            app._is_closed = True
            end = threading.Event()
            app._native.close(lambda value, error, end=end: end.set(), NO_WAIT)  # type: ignore[misc]
            ends.append(end)
    until = time.monotonic() + _EXIT_SECONDS
    for end in ends:
        end.wait(max(0.0, until - time.monotonic()))
    native.end()
