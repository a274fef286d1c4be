"""Exceptions that must end one request only: never a thread of the pool, never an event loop."""

from __future__ import annotations

import asyncio
import copy
import ctypes
import json
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import pointwork
from pointwork import App, Event, Failure, Request, Response


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def fails_with_the_clients_text(request: Request) -> None:
    raise Failure(404, f"no {request.json()['name']}", details={"name": request.json()["name"]})


def crashes_with_the_clients_text(request: Request) -> None:
    raise RuntimeError(request.json()["name"])


def raises_a_wrong_syntax_error(request: Request) -> None:
    raise SyntaxError("m", ("f", 1, "abc", "t"))


def raises_what_has_no_text(request: Request) -> None:
    raise Unprintable


def test_a_failing_function_never_ends_a_thread_of_the_pool() -> None:
    body = b'{"name":"\\ud800"}'
    with App(workers=1, threads=2, limits={"shutdown-grace": "1s", "request-deadline": "5s"}) as app:
        app.post("/fails")(fails_with_the_clients_text)
        app.post("/crashes")(crashes_with_the_clients_text)
        app.post("/syntax")(raises_a_wrong_syntax_error)
        app.post("/unprintable")(raises_what_has_no_text)
        app.post("/echo")(lambda request: request.json())
        for _ in range(4):
            reply = app.request("POST", "/fails", body=body)
            assert (reply.status, reply.json()) == (404, {"message": r"no \ud800", "name": r"\ud800"})
            for path in ("/crashes", "/syntax", "/unprintable"):
                assert app.request("POST", path, body=body).status == 500, path
        reply = app.request("POST", "/echo", body=body)
        assert (reply.status, json.loads(reply.read())) == (200, {"name": "\ud800"})


def test_the_traceback_of_an_exception_that_cannot_be_formatted_is_told() -> None:
    crashes: list[str] = []
    told = threading.Event()
    with App(workers=1) as app:

        @app.channel("server").on("crashed")
        def crashed(event: Event) -> None:
            crashes.append(event.text())
            told.set()

        app.get("/syntax")(raises_a_wrong_syntax_error)
        assert app.request("GET", "/syntax").status == 500
        assert told.wait(30)
    assert "SyntaxError" in crashes[0] and "raises_a_wrong_syntax_error" in crashes[0]


def raise_in(thread: int) -> None:
    assert ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit)) == 1


def test_asynchronous_exceptions_end_no_thread_of_the_pool() -> None:
    with App(workers=1, threads=1, limits={"shutdown-grace": "1s", "request-deadline": "5s"}) as app:
        threads: list[int] = []

        @app.get("/spins")
        def spins(request: Request) -> None:
            raise_in(threading.get_ident())
            while True:
                time.sleep(0.001)

        @app.get("/fine")
        def fine(request: Request) -> str:
            threads.append(threading.get_ident())
            return "fine"

        for _ in range(3):
            assert app.request("GET", "/spins").status == 500
            assert app.request("GET", "/fine").text() == "fine"
            # Between two functions, where the thread waits for the next one.
            time.sleep(0.05)
            raise_in(threads[-1])
        assert app.request("GET", "/fine").text() == "fine"


LEAVES = [SystemExit, GeneratorExit, KeyboardInterrupt, type("Leaves", (BaseException,), {})]


@pytest.mark.parametrize("leaves", LEAVES)
def test_an_exception_that_is_none_ends_its_request_and_not_the_loop(leaves: type[BaseException]) -> None:
    with App(workers=1, limits={"shutdown-grace": "1s", "request-deadline": "5s"}) as app:

        @app.get("/function")
        async def function(request: Request) -> None:
            await asyncio.sleep(0)
            raise leaves

        @app.get("/body")
        async def body(request: Request) -> Response:
            async def chunks() -> Any:
                yield b"a"
                raise leaves

            return Response(body=chunks())

        @app.channel("db").on("ask")
        async def ask(event: Event) -> None:
            raise leaves

        @app.get("/fine")
        async def fine(request: Request) -> str:
            return "fine"

        def check() -> None:
            """On the loop of the application."""
            assert app.request("GET", "/function").status == 500
            with pytest.raises(pointwork.BodyError, match=leaves.__name__):
                app.request("GET", "/body").read()
            with pytest.raises(Failure):
                app.call("db:ask")
            assert app.request("GET", "/fine").text() == "fine"

        async def main() -> None:
            """On the loop of a server, which takes SIGINT itself."""
            assert (await app.handle("GET", "/function")).status == 500
            with pytest.raises(pointwork.BodyError, match=leaves.__name__):
                await (await app.handle("GET", "/body")).read_async()
            assert (await app.handle("GET", "/fine")).text() == "fine"

        check()
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            asyncio.run(main())
        finally:
            signal.signal(signal.SIGINT, before)


def test_ctrl_c_in_a_function_on_the_main_thread_goes_on(program: Callable[..., str]) -> None:
    code = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
app = pointwork.App()
@app.get('/it')
async def it(request):
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(0)
loop = asyncio.new_event_loop()
async def main():
    await app.handle('GET', '/it')
try:
    loop.run_until_complete(main())
except KeyboardInterrupt:
    print('interrupted')
app.close()
"""
    assert program(code) == "interrupted\n"


def test_a_kept_exception_does_not_hold_close(app: App) -> None:
    kept: list[BaseException] = []
    requests: list[Request] = []

    def keeping(error: BaseException) -> BaseException:
        kept.append(error)
        return error

    @app.post("/def/:name")
    def now(request: Request) -> None:
        requests.append(request)
        try:
            raise ValueError("now")
        except ValueError as error:
            raise keeping(error)

    @app.post("/async", stream=True)
    async def later(request: Request) -> None:
        stream = request.stream()
        await anext(stream)
        try:
            raise ValueError("later")
        except ValueError as error:
            raise keeping(error)

    @app.channel("db").on("ask")
    def ask(event: Event) -> None:
        try:
            raise Failure(400, "asked")
        except Failure as error:
            raise keeping(error)

    assert app.request("POST", "/def/a?b=c", headers={"x-a": "y"}, body=b"body").status == 500
    assert app.request("POST", "/async", body=iter([b"a", b"b"])).status == 500
    with pytest.raises(Failure):
        app.call("db:ask")
    begun = time.monotonic()
    app.close()
    assert time.monotonic() - begun < 5 and len(kept) == 3
    # The head of the request is still there for a handler of the exception.
    request = requests[0]
    assert (request.method, request.path, request.query) == ("POST", "/def/a", {"b": "c"})
    assert request.params == {"name": "a"}
    assert request.headers["X-A"] == "y" and request.is_cancelled
    with pytest.raises(pointwork.ClosedError, match="the request was answered with a failure"):
        request.emit("a:b")


def test_ctrl_c_in_an_inline_function_reaches_the_caller(program: Callable[..., str]) -> None:
    code = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
app = pointwork.App()
@app.get('/i', inline=True)
def stops(request):
    raise KeyboardInterrupt
try:
    app.request('GET', '/i')
    time.sleep(1)
except KeyboardInterrupt:
    print('interrupted')
app.close()
"""
    assert program(code) == "interrupted\n"


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a": NaN}', b"{"])
def test_a_body_that_is_no_json_is_refused(app: App, body: bytes) -> None:
    @app.post("/json")
    def value(request: Request) -> Any:
        return request.json()

    assert app.request("POST", "/json", body=body).status == 400


def test_a_text_that_cannot_be_encoded_is_escaped(app: App) -> None:
    @app.get("/half")
    def half(request: Request) -> str:
        return "half \ud800"

    assert app.request("GET", "/half").text() == "half \\ud800"


def test_an_application_is_not_copied() -> None:
    with App(workers=1) as app:
        with pytest.raises(TypeError, match="cannot be copied"):
            copy.copy(app)

        @app.get("/")
        def here(request: Request) -> str:
            return "here"

        assert app.request("GET", "/").text() == "here"


def test_a_generator_is_no_function_of_a_route(app: App) -> None:
    def chunks(request: Request) -> Any:
        yield b"chunk"

    with pytest.raises(TypeError, match="is a generator"):
        app.get("/chunks")(chunks)
