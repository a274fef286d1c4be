"""The loops and threads on which functions run."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import pointwork
from pointwork import App, Event, Request, Response

SHORT = {"shutdown-grace": "1s", "request-deadline": "5s"}


def test_a_loop_that_stopped_is_left_for_the_applications_own() -> None:
    with App(workers=1, limits=SHORT) as app:

        @app.get("/it")
        async def it(request: Request) -> str:
            await asyncio.sleep(0.001)
            return threading.current_thread().name

        async def main() -> str:
            return (await app.handle("GET", "/it")).text()

        loop = asyncio.new_event_loop()
        try:
            assert loop.run_until_complete(main()) == "MainThread"
            # The loop is not closed, and does not run.
            begun = time.monotonic()
            with ThreadPoolExecutor(1) as threads:
                reply = threads.submit(app.request, "GET", "/it").result(30)
            assert reply.text() == "pointwork-loop" and time.monotonic() - begun < 3
            assert loop.run_until_complete(main()) == "MainThread"
        finally:
            loop.close()


@pytest.mark.parametrize("closes", [False, True])
def test_work_on_a_loop_that_stops_fails_at_once(closes: bool) -> None:
    with App(workers=1, limits={"shutdown-grace": "1s", "request-deadline": "20s"}) as app:
        begun = threading.Event()

        @app.get("/it")
        async def it(request: Request) -> str:
            begun.set()
            await asyncio.sleep(3600)
            return "never"

        async def body() -> Any:
            yield b"a"
            begun.set()
            await asyncio.sleep(3600)

        @app.get("/body")
        def streamed(request: Request) -> Response:
            return Response(body=body())

        for path in ("/it", "/body"):
            begun.clear()
            loop = asyncio.new_event_loop()

            async def main() -> None:
                await app.handle("GET", "/none")
                running.append(threads.submit(lambda: app.request("GET", path).read()))
                while not begun.is_set():
                    await asyncio.sleep(0.001)

            running: list[Any] = []
            with ThreadPoolExecutor(1) as threads:
                loop.run_until_complete(main())
                stopped = time.monotonic()
                if closes:
                    loop.close()
                if path == "/it":
                    assert running[0].result(30) and time.monotonic() - stopped < 3
                else:
                    with pytest.raises(pointwork.BodyError, match="the event loop that runs the function stopped"):
                        running[0].result(30)
                    assert time.monotonic() - stopped < 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_function_that_runs_on_a_loop_which_stops_is_a_crash(app: App, caplog: pytest.LogCaptureFixture) -> None:
    begun = threading.Event()

    @app.get("/it")
    async def it(request: Request) -> None:
        begun.set()
        await asyncio.sleep(3600)

    async def main() -> None:
        await app.handle("GET", "/none")
        threads.submit(lambda: replies.append(app.request("GET", "/it").status))
        while not begun.is_set():
            await asyncio.sleep(0.001)

    replies: list[int] = []
    loop = asyncio.new_event_loop()
    with ThreadPoolExecutor(1) as threads:
        loop.run_until_complete(main())
    loop.close()
    assert replies == [500] and "the event loop that runs the function stopped" in caplog.text


def test_forms_that_wait_say_so_on_the_thread_of_a_loop() -> None:
    with App(workers=1, limits=SHORT) as app:
        seen: list[bytes] = []

        @app.get("/leaf")
        async def leaf(request: Request) -> str:
            return "leaf"

        @app.get("/now", inline=True)
        def now(request: Request) -> str:
            return "now"

        @app.channel("db").on("ask")
        async def ask(event: Event) -> str:
            return "heard"

        @app.post("/body", stream=True)
        async def body(request: Request) -> Any:
            with pytest.raises(RuntimeError, match=r"expected `await request.read\(\)`"):
                request.body
            with pytest.raises(RuntimeError, match=r"expected `await call_async"):
                request.call("db:ask")
            assert await request.call_async("db:ask") == "heard"
            seen.append(await request.read())
            assert request.body == seen[0] and request.text() == seen[0].decode()
            return request.json()

        @app.post("/stream", stream=True)
        async def stream(request: Request) -> int:
            stream = request.stream()
            with pytest.raises(RuntimeError, match="expected `async for`"):
                stream.read()
            return len(await stream.read_async())

        async def upload() -> Any:
            yield b"["
            await asyncio.sleep(0.02)
            yield b"1]"

        async def main() -> None:
            # From then on, functions run on this loop.
            await app.handle("GET", "/now")
            with pytest.raises(RuntimeError, match=r"expected `await app.handle"):
                app.request("GET", "/leaf")
            with pytest.raises(RuntimeError, match=r"expected `await call_async"):
                app.call("db:ask")
            # What does not wait holds nothing up.
            assert app.request("GET", "/now").text() == "now"
            assert (await app.handle("POST", "/body", body=upload())).json() == [1]
            assert (await app.handle("POST", "/stream", body=upload())).json() == 3
            never = asyncio.create_task(app.handle("GET", "/never"))
            await asyncio.sleep(0.05)
            with pytest.raises(RuntimeError, match=r"`close` would wait .* expected `await app.close_async\(\)`"):
                app.close()
            never.cancel()

        @app.get("/never")
        async def never(request: Request) -> None:
            await asyncio.sleep(3600)

        asyncio.run(main())
        assert seen == [b"[1]"]


def test_functions_that_request_other_functions_do_not_wait_for_each_other() -> None:
    with App(workers=2, threads=4, limits=SHORT) as app:
        all_run = threading.Barrier(4)
        threads: dict[str, str] = {}

        @app.get("/outer/:n")
        def outer(request: Request) -> str:
            all_run.wait(30)
            threads[request.params["n"]] = threading.current_thread().name
            reply = app.request("GET", f"/middle/{request.params['n']}")
            return reply.text() if reply.status == 200 else str(reply.status)

        @app.get("/middle/:n")
        def middle(request: Request) -> Any:
            assert threads[request.params["n"]] == threading.current_thread().name
            return request.call("db:leaf")

        @app.channel("db").on("leaf")
        def leaf(event: Event) -> str:
            time.sleep(0.01)
            return "leaf"

        with ThreadPoolExecutor(4) as callers:
            replies = list(callers.map(lambda n: app.request("GET", f"/outer/{n}").text(), range(4)))
        assert replies == ["leaf"] * 4


def test_a_nested_function_keeps_the_timeout_of_its_caller() -> None:
    with App(workers=1, threads=1, limits=SHORT) as app:
        go = threading.Event()

        @app.get("/outer")
        def outer(request: Request) -> str:
            try:
                app.request("GET", "/leaf", timeout=0.1)
            except TimeoutError:
                return "timeout"
            return "reply"

        @app.get("/leaf")
        def leaf(request: Request) -> None:
            go.wait(30)

        assert app.request("GET", "/outer").text() == "timeout"
        go.set()


def test_bodies_take_no_place_of_the_pool() -> None:
    with App(workers=2, threads=3, limits=SHORT) as app:
        all_run = threading.Barrier(3)

        @app.post("/count", stream=True)
        def count(request: Request) -> Response:
            all_run.wait(30)
            size = sum(len(chunk) for chunk in request.stream())
            return Response(body=iter([str(size)]))

        def upload() -> Any:
            for _ in range(5):
                time.sleep(0.001)
                yield b"x" * 1000

        with ThreadPoolExecutor(3) as callers:
            replies = list(callers.map(lambda _: app.request("POST", "/count", body=upload()).text(), range(3)))
        assert replies == ["5000"] * 3


def test_no_more_functions_run_at_a_time_than_threads() -> None:
    with App(workers=2, threads=2, limits=SHORT) as app:
        lock, running, most = threading.Lock(), 0, 0

        @app.get("/it")
        def it(request: Request) -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            with lock:
                running -= 1

        with ThreadPoolExecutor(8) as callers:
            assert {reply.status for reply in callers.map(lambda _: app.request("GET", "/it"), range(20))} == {204}
        assert most == 2


def test_idle_threads_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from pointwork import _run

    monkeypatch.setattr(_run, "_IDLE_SECONDS", 0.05)
    with App(workers=1) as app:

        @app.get("/it")
        def it(request: Request) -> str:
            return threading.current_thread().name

        def names() -> set[str]:
            return {thread.name for thread in threading.enumerate() if thread.name.startswith("pointwork-")}

        before = names()
        assert app.request("GET", "/it").text() in names()
        until = time.monotonic() + 30
        while names() - before and time.monotonic() < until:
            time.sleep(0.01)
        assert not names() - before
        assert app.request("GET", "/it").status == 200


KINDS = ["inline", "def", "async"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_route_that_requests_itself_without_end_is_refused(kind: str) -> None:
    depths: list[int] = []
    with App(workers=2, threads=64, limits=SHORT) as app:

        def again(request: Request) -> str:
            depths.append(1)
            try:
                return app.request("GET", "/self").text()
            except pointwork.NestedError:
                return "the end"

        async def again_async(request: Request) -> str:
            depths.append(1)
            # In a task of its own, and on a thread.
            try:
                reply = await asyncio.create_task(app.handle("GET", "/self"))
                return reply.text()
            except pointwork.NestedError:
                return "the end"

        if kind == "async":
            app.get("/self")(again_async)
        else:
            app.get("/self", inline=kind == "inline")(again)
        assert app.request("GET", "/self").text() == "the end"
        assert 4 <= len(depths) <= 16
        depths.clear()

        async def main() -> str:
            return (await app.handle("GET", "/self")).text()

        if kind != "inline":
            assert asyncio.run(main()) == "the end"
            assert 4 <= len(depths) <= 16


@pytest.mark.parametrize("kind", KINDS)
def test_a_listener_that_calls_itself_without_end_is_refused(kind: str) -> None:
    depths: list[int] = []
    with App(workers=2, limits=SHORT) as app:

        def again(event: Event) -> Any:
            depths.append(1)
            try:
                # As from outside, without the chain of the event, whose length has a bound of its own.
                return app.call("db:self")
            except pointwork.NestedError:
                return "the end"

        async def again_async(event: Event) -> Any:
            depths.append(1)
            try:
                return await app.call_async("db:self")
            except pointwork.NestedError:
                return "the end"

        if kind == "async":
            app.channel("db").on("self")(again_async)
        else:
            app.channel("db").on("self", inline=kind == "inline")(again)
        assert app.call("db:self") == "the end"
        assert 4 <= len(depths) <= 16


def test_a_variable_of_one_function_is_none_of_the_next() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="none")
    with App(workers=1, threads=1) as app:

        @app.get("/it")
        def it(request: Request) -> str:
            before = name.get()
            name.set("set")
            return before

        assert [app.request("GET", "/it").text() for _ in range(2)] == ["none", "none"]
