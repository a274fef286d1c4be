"""The ends of applications, servers and bodies."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

import pointwork
from pointwork import App, Event, Request, Response

Program = Callable[..., str]


def test_an_unclosed_application_that_its_functions_name_is_collected() -> None:
    def made() -> weakref.ref[App]:
        app = App(workers=1)

        @app.get("/def")
        def function(request: Request) -> str:
            return repr(app)

        @app.get("/async")
        async def later(request: Request) -> str:
            return repr(app)

        @app.channel("db").on("ask", inline=True)
        def ask(event: Event) -> str:
            return repr(app)

        assert app.request("GET", "/def").status == app.request("GET", "/async").status == 200
        app.call("db:ask")
        return weakref.ref(app)

    with pytest.warns(ResourceWarning, match="unclosed application <pointwork.App>"):
        app = made()
        until = time.monotonic() + 30
        while app() is not None and time.monotonic() < until:
            gc.collect()
            time.sleep(0.01)
    assert app() is None

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        closed = App(workers=1)
        closed.close()
        del closed
        gc.collect()
    assert not [warning for warning in caught if warning.category is ResourceWarning]


def test_a_refused_function_is_forgotten(app: App) -> None:
    class Function:
        def __call__(self, request: Request) -> None: ...

    app.get("/a")(lambda request: None)
    function = Function()
    kept = weakref.ref(function)
    with pytest.raises(pointwork.RefusedError):
        app.get("/a")(function)
    del function
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("end", ["stop", "close"])
def test_wait_returns_once_the_server_has_stopped(end: str) -> None:
    with App(workers=1) as app:
        server = app.serve("127.0.0.1:0")
        waiting = threading.Thread(target=server.wait, daemon=True)
        waiting.start()
        time.sleep(0.1)
        assert waiting.is_alive()
        if end == "stop":
            server.stop()
        else:
            app.close()
        waiting.join(30)
        assert not waiting.is_alive()
        server.wait()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_run_drains_at_a_signal(program: Program, name: str) -> None:
    code = f"""
import signal, httpx, urllib.request
signal.signal(signal.SIGINT, signal.default_int_handler)
app = pointwork.App()
begun = threading.Event()
@app.get('/slow')
def slow(request):
    begun.set()
    time.sleep(0.5)
    return 'drained'
def client():
    print(urllib.request.urlopen(server.url + '/slow').read().decode(), flush=True)
def ends():
    begun.wait(30)
    # `run` may not have begun.
    while signal.getsignal(signal.{name}) in (signal.SIG_DFL, signal.default_int_handler): time.sleep(0.01)
    os.kill(os.getpid(), signal.{name})
server = app.serve('127.0.0.1:0')
threads = [threading.Thread(target=target) for target in (client, ends)]
for thread in threads: thread.start()
server.run()
for thread in threads: thread.join()
print('returned', signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
app.close()
"""
    assert program(code) == "drained\nreturned True\n"


def test_ctrl_c_stops_a_server_that_waits(program: Program) -> None:
    code = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
app = pointwork.App()
server = app.serve('127.0.0.1:0')
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
server.wait()
print('stopped')
"""
    assert program(code) == "stopped\n"


def test_run_needs_the_main_thread(app: App) -> None:
    server = app.serve("127.0.0.1:0")
    with ThreadPoolExecutor(1) as threads, pytest.raises(RuntimeError, match="expected the main thread"):
        threads.submit(server.run).result(30)


def test_close_in_a_handler_of_the_log_is_refused() -> None:
    app = App(workers=1)
    errors: list[BaseException] = []

    class Closes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            try:
                app.close()
            except pointwork.RefusedError as error:
                errors.append(error)

    @app.get("/crash", inline=True)
    def crash(request: Request) -> None:
        raise ValueError

    handler = Closes()
    logging.getLogger("pointwork").addHandler(handler)
    try:
        assert app.request("GET", "/crash").status == 500
        until = time.monotonic() + 30
        while not errors and time.monotonic() < until:
            time.sleep(0.01)
    finally:
        logging.getLogger("pointwork").removeHandler(handler)
    assert errors and "by the function that writes the log" in str(errors[0])
    assert not app.is_closed and app.request("GET", "/none").status == 404
    app.close()


def test_close_wakes_the_source_of_a_body() -> None:
    async def main() -> None:
        app = App(workers=1, limits={"shutdown-grace": "100ms"})
        ends: list[str] = []
        waits = asyncio.Event()

        async def source(name: str) -> Any:
            try:
                yield b"a"
                waits.set()
                await asyncio.sleep(3600)
            finally:
                ends.append(name)

        @app.post("/upload", stream=True)
        async def upload(request: Request) -> None:
            async for _ in request.stream():
                pass

        @app.get("/download")
        async def download(request: Request) -> Response:
            return Response(body=source("reply"))

        running = asyncio.create_task(app.handle("POST", "/upload", body=source("request")))
        await waits.wait()
        waits.clear()
        reply = await app.handle("GET", "/download")
        reading = asyncio.create_task(reply.read_async())
        await waits.wait()
        await app.close_async()
        results = await asyncio.wait_for(asyncio.gather(running, reading, return_exceptions=True), 10)
        assert not isinstance(results[1], bytes)
        for _ in range(500):
            if len(ends) == 2:
                break
            await asyncio.sleep(0.01)
        assert sorted(ends) == ["reply", "request"]

    asyncio.run(main())


def test_a_body_that_nobody_reads_any_more_is_woken() -> None:
    with App(workers=1) as app:
        ended, waits = threading.Event(), threading.Event()

        @app.get("/it")
        async def it(request: Request) -> Response:
            async def chunks() -> Any:
                try:
                    yield b"a"
                    waits.set()
                    await asyncio.sleep(3600)
                finally:
                    ended.set()

            return Response(body=chunks())

        stream = app.request("GET", "/it").stream()
        assert next(stream) == b"a"

        async def read() -> None:
            await anext(stream)

        async def main() -> None:
            task = asyncio.create_task(read())
            while not waits.is_set():
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            stream.close()
            assert await asyncio.to_thread(ended.wait, 30)

        asyncio.run(main())


def test_timeouts_raise_and_cancel() -> None:
    app = App(workers=1, limits={"shutdown-grace": "2s"})
    cancelled = threading.Semaphore(0)

    async def waits() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.release()

    @app.get("/never")
    async def never(request: Request) -> None:
        await waits()

    @app.channel("db").on("never")
    async def ask(event: Event) -> None:
        await waits()

    @app.get("/now")
    def now(request: Request) -> str:
        return "now"

    begun = time.monotonic()
    with pytest.raises(TimeoutError, match="within its timeout of 0.1 s"):
        app.request("GET", "/never", timeout=0.1)
    with pytest.raises(TimeoutError):
        app.call("db:never", timeout=0.1)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await app.handle("GET", "/never", timeout=0.1)
        with pytest.raises(TimeoutError):
            await app.call_async("db:never", timeout=0.1)
        assert (await app.handle("GET", "/now", timeout=30)).text() == "now"
        called = asyncio.create_task(app.call_async("db:never"))
        await asyncio.sleep(0.05)
        called.cancel()
        for _ in range(5):
            assert await asyncio.to_thread(cancelled.acquire, timeout=30)

    asyncio.run(main())
    assert app.request("GET", "/now", timeout=30).text() == "now"
    assert app.request("GET", "/now", timeout=float("inf")).text() == "now"
    with pytest.raises(ValueError, match="the timeout is no number"):
        app.request("GET", "/now", timeout=float("nan"))
    assert time.monotonic() - begun < 20

    go, runs = threading.Event(), threading.Event()

    @app.get("/blocks")
    def blocks(request: Request) -> str:
        runs.set()
        go.wait(30)
        return "done"

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(app.request, "GET", "/blocks")
        assert runs.wait(30)
        with pytest.raises(TimeoutError):
            app.close(timeout=0.1)
        with pytest.raises(TimeoutError):
            asyncio.run(app.close_async(timeout=0.1))
        assert app.is_closed
        go.set()
        # The application ends all the same, and what is in flight has its time.
        assert running.result(30).text() == "done"
    app.close()


def test_close_waits_as_long_as_its_setting_says() -> None:
    app = App(workers=1, limits={"shutdown-grace": "300ms", "drain": "30s"})
    runs = threading.Event()

    @app.get("/never")
    async def never(request: Request) -> None:
        runs.set()
        await asyncio.sleep(3600)

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(app.request, "GET", "/never")
        assert runs.wait(30)
        begun = time.monotonic()
        app.close()
        assert 0.25 < time.monotonic() - begun < 5
        ended = running.exception(30) or running.result()
        assert isinstance(ended, pointwork.ClosedError) or (ended.status, dict(ended.headers)["retry-after"]) == (503, "1")


def test_a_request_that_the_end_cancels_late_is_no_crash() -> None:
    app = App(workers=1, limits={"shutdown-grace": "300ms", "drain": "30s"})
    runs, holds, cancelled, go = (threading.Event() for _ in range(4))

    @app.get("/never")
    async def never(request: Request) -> None:
        runs.set()
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.set()

    @app.channel("hold").on("it", inline=True)
    def hold(event: Event) -> None:
        holds.set()
        go.wait(30)

    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(app.request, "GET", "/never")
        assert runs.wait(30)
        app.emit("hold:it", None)
        # The only thread that takes the replies is busy until the application has ended.
        assert holds.wait(30)
        app.close()
        assert cancelled.wait(30)
        go.set()
        assert running.exception(30) or running.result().status == 503


def test_green_threads_are_refused(program: Program) -> None:
    code = """
import types
# As gevent and eventlet do it.
green = types.ModuleType('gevent.thread')
exec('def get_ident(): return 1', green.__dict__)
before, threading.get_ident = threading.get_ident, green.get_ident
green.get_ident.__module__ = 'gevent.thread'
try:
    pointwork.App()
except pointwork.EngineError as error:
    print(error)
threading.get_ident = before
pointwork.App().close()
"""
    assert program(code).startswith("the module `threading` is patched by `gevent`, expected threads of the operating")


def test_a_server_of_an_application_answers_until_run_returns(app: App) -> None:
    server = app.serve("127.0.0.1:0")
    with ThreadPoolExecutor(1) as threads:

        def asks_and_stops() -> str:
            try:
                return httpx.get(f"{server.url}/nowhere").text
            finally:
                os.kill(os.getpid(), signal.SIGTERM)

        asked = threads.submit(asks_and_stops)
        server.run()
        assert asked.result(30)
