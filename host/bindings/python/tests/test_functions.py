"""Functions of Python as channels and routes."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import pointwork
from pointwork import App, Event, Failure, Payload, Request, Response


def test_a_module_calls_a_function_in_each_of_its_places(shop: App) -> None:
    threads = []

    @shop.channel("db").on("ask")
    def ask(event: Event) -> str:
        threads.append(threading.current_thread().name)
        assert (event.name, event.text(), event.data) == ("ask", "said", b"said")
        assert event.request_id is not None
        return "heard"

    @shop.channel("db").on("item", inline=True)
    def item(event: Event) -> dict[str, str]:
        threads.append(threading.current_thread().name)
        return {"id": event.text()}

    reply = shop.request("GET", "/ask")
    assert (reply.status, reply.json()) == (200, "heard")
    assert shop.request("GET", "/items/7").json() == {"id": "7"}
    assert threads[0].startswith("pointwork-") and threads[1] == "MainThread"


def test_an_async_function_runs_on_a_loop_of_the_application(shop: App) -> None:
    names = []

    @shop.channel("db").on("ask")
    async def ask(event: Event) -> str:
        await asyncio.sleep(0.001)
        names.append(threading.current_thread().name)
        return "later"

    assert shop.request("GET", "/ask").json() == "later"

    async def main() -> None:
        replies = await asyncio.gather(*(shop.handle("GET", "/ask") for _ in range(20)))
        assert {reply.text() for reply in replies} == {'"later"'}

    asyncio.run(main())
    assert names[0] == "pointwork-loop" and set(names[1:]) == {"MainThread"}
    # The loop of `main` is closed: the application's own is back.
    assert shop.request("GET", "/ask").json() == "later"
    assert names[-1] == "pointwork-loop"


def test_routes_are_functions(app: App) -> None:
    @app.get("/hello/:name")
    def hello(request: Request) -> dict[str, Any]:
        assert request.method == "GET" and request.route == "/hello/:name" and request.scheme == "http"
        assert isinstance(request.headers, pointwork.Headers) and isinstance(request.query, pointwork.Query)
        return {"name": request.params["name"], "query": request.query, "x": request.headers["x-a"]}

    @app.post("/whole", inline=True)
    def whole(request: Request) -> bytes:
        return request.body[::-1]

    @app.route("ALL", "/text")
    async def text(request: Request) -> str:
        return request.method

    @app.patch("/changed")
    def changed(request: Request) -> str:
        return request.text()

    @app.delete("/nothing")
    def nothing(request: Request) -> None:
        pass

    @app.put("/made")
    def made(request: Request) -> Response:
        return Response.json(request.json(), 201, {"location": "/7"})

    reply = app.request("GET", "/hello/%C3%A4da?a=1&b=", headers={"x-a": "y"})
    assert reply.json() == {"name": "äda", "query": {"a": "1", "b": ""}, "x": "y"}
    assert reply.header("Content-Type") == "application/json" and reply.header("x-request-id")
    assert app.request("POST", "/whole", body=b"abc").read() == b"cba"
    assert app.request("PATCH", "/text").text() == "PATCH"
    assert app.request("PATCH", "/changed", body="new").text() == "new"
    assert app.request("DELETE", "/nothing").status == 204
    reply = app.request("PUT", "/made", body="[1]")
    assert (reply.status, reply.json(), reply.header("location")) == (201, [1], "/7")
    assert app.request("PUT", "/made", body="[1").status == 400
    assert [(route.method, route.path, route.origin) for route in app.routes()][:1] == [("GET", "/hello/:name", "manual")]
    assert app.figures().routes == 6


def test_bodies_are_streamed_both_ways_chunk_by_chunk(app: App) -> None:
    asked = []

    @app.post("/def", stream=True)
    def upper(request: Request) -> Response:
        return Response(200, None, (chunk.upper() for chunk in request.stream()))

    @app.post("/async", stream=True)
    async def upper_async(request: Request) -> Response:
        async def chunks() -> Any:
            async for chunk in request.stream():
                yield chunk.upper()

        return Response(200, {"content-type": "x/y"}, chunks())

    def upload() -> Any:
        for chunk in ("a", b"b" * 200_000, bytearray(b"c")):
            asked.append(len(chunk))
            yield chunk

    for path in ("/def", "/async"):
        reply = app.request("POST", path, body=upload())
        assert reply.read() == b"A" + b"B" * 200_000 + b"C"
    assert asked == [1, 200_000, 1] * 2


def test_nothing_is_written_ahead_and_a_reader_that_goes_away_ends_the_writer(app: App) -> None:
    written = 0
    ended = threading.Event()

    @app.get("/endless")
    def endless(request: Request) -> Response:
        def chunks() -> Any:
            nonlocal written
            try:
                while True:
                    written += 1
                    yield b"x" * 10_000
            finally:
                ended.set()

        return Response(body=chunks())

    reply = app.request("GET", "/endless")
    stream = reply.stream()
    assert next(stream)
    time.sleep(0.1)
    assert written < 20
    stream.close()
    del reply, stream
    gc.collect()
    assert ended.wait(30)


def test_a_body_that_breaks_off_raises(app: App) -> None:
    @app.get("/breaks")
    def breaks(request: Request) -> Response:
        def chunks() -> Any:
            yield b"a"
            raise OSError("the disk is gone")

        return Response(body=chunks())

    with pytest.raises(pointwork.BodyError, match="the disk is gone"):
        app.request("GET", "/breaks").read()


def test_exceptions_are_crashes_and_failures_are_told(app: App, caplog: pytest.LogCaptureFixture) -> None:
    crashes: list[Any] = []

    @app.channel("server").on("crashed")
    def crashed(event: Event) -> None:
        crashes.append(event.json())

    def divide(request: Request) -> float:
        return 1 / 0

    async def divide_later(request: Request) -> float:
        await asyncio.sleep(0)
        return 1 / 0

    def wrong(request: Request) -> object:
        return object()

    def status(request: Request) -> Response:
        return Response(7000)

    def leaves(request: Request) -> None:
        raise SystemExit(3)

    def fails(request: Request) -> None:
        raise Failure(404, "no such thing", code="nothing", details={"id": 7})

    def fails_wrong(request: Request) -> None:
        raise Failure(404, "no such thing", details={"id": object()})

    app.get("/now", inline=True)(divide)
    for name, function in {"def": divide, "async": divide_later, "wrong": wrong, "status": status}.items():
        app.get(f"/{name}")(function)
    app.get("/leaves")(leaves)
    app.get("/fails")(fails)
    app.get("/fails-wrong")(fails_wrong)
    with caplog.at_level(logging.ERROR, logger="pointwork"):
        for path in ("/now", "/def", "/async", "/wrong", "/status", "/leaves", "/fails-wrong"):
            reply = app.request("GET", path)
            assert reply.status == 500, path
            assert "ZeroDivision" not in reply.text() and "py" not in reply.text()
    reply = app.request("GET", "/fails")
    assert (reply.status, reply.json()) == (404, {"message": "no such thing", "id": 7})
    until = time.monotonic() + 30
    while len(crashes) < 7 and time.monotonic() < until:
        time.sleep(0.01)
    assert {crash["kind"] for crash in crashes} == {"exception"}
    texts = "\n".join(str(crash) for crash in crashes)
    assert "/_functions.py" not in texts, "frames of the package say nothing to the author"
    assert texts.count("ZeroDivisionError: division by zero") == 3 and "test_functions.py" in texts
    assert "of type `object`, expected `Response`" in texts and "the status is `7000`" in texts and "SystemExit" in texts
    assert "ZeroDivisionError" in caplog.text


def test_a_mistake_between_a_function_and_a_channel_is_an_exception(app: App, caplog: pytest.LogCaptureFixture) -> None:
    crashes: list[Any] = []

    @app.channel("server").on("crashed")
    def crashed(event: Event) -> None:
        crashes.append(event.json())

    @app.channel("db").on("one")
    def one(event: Event) -> None:
        if "id" not in event.json():
            raise Failure(400, "the payload has no field `id`", code="bad-payload")
        raise Failure(404, "no such product", details={"id": event.json()["id"]})

    @app.channel("db").on("wrong")
    def wrong_listener(event: Event) -> Any:
        return event.call("db:one", {"ID": 1})

    def wrong(request: Request) -> Any:
        return request.call("db:one", {"ID": 1})

    async def wrong_async(request: Request) -> Any:
        return await request.call_async("db:one", {"ID": 1})

    def unknown(request: Request) -> Any:
        return request.call("db:none")

    def hands_over(request: Request) -> None:
        request.hand_over("db:none")

    def within(request: Request) -> Any:
        return request.call("db:wrong")

    def missing(request: Request) -> Any:
        return request.call("db:one", {"id": 7})

    def caught(request: Request) -> Any:
        try:
            return request.call("db:one", {"ID": 1})
        except Failure as failure:
            return [failure.status, failure.code, failure.message]

    mistakes = {"wrong": wrong, "async": wrong_async, "unknown": unknown, "over": hands_over}
    for name, function in {**mistakes, "within": within, "missing": missing, "caught": caught}.items():
        app.get(f"/{name}")(function)
    with caplog.at_level(logging.ERROR, logger="pointwork"):
        for name in mistakes:
            reply = app.request("GET", f"/{name}")
            assert (reply.status, reply.json()) == (500, {"message": "internal error"}), name
        until = time.monotonic() + 30
        while len(crashes) < len(mistakes) and time.monotonic() < until:
            time.sleep(0.01)
    for crash, function in zip(crashes, mistakes.values(), strict=True):
        assert crash["kind"] == "exception" and f"in {function.__name__}" in crash["message"]
        assert "test_functions.py" in crash["message"] and "/_run.py" not in crash["message"]
    assert caplog.text.count("the payload has no field `id`") == 2 and "`db:none`" in caplog.text
    reply = app.request("GET", "/missing")
    assert (reply.status, reply.json()) == (404, {"message": "no such product", "id": 7}), "raised on purpose"
    assert app.request("GET", "/caught").json() == [500, "bad-payload", "the payload has no field `id`"]
    # The mistake is the listener's, whose caller did nothing wrong.
    reply = app.request("GET", "/within")
    assert (reply.status, reply.json()) == (500, {"message": "the listener of `db:wrong` raised an exception"})


def test_events_are_called_and_emitted(app: App) -> None:
    heard: list[Any] = []
    told = threading.Event()

    @app.channel("math").on("half")
    def half(event: Event) -> float:
        if (value := event.json()) == 0:
            raise Failure(400, "nothing to halve", code="empty", details={"value": 0})
        return float(value / 2)

    @app.channel("math").on("quarter")
    def quarter(event: Event) -> Any:
        return event.call("math:half", event.call("math:half", event.json()))

    @app.channel("math").on("raw")
    async def raw(event: Event) -> Payload:
        return Payload("image/png", event.data)

    @app.channel("log").on("line")
    def line(event: Event) -> None:
        heard.append(event.json())
        told.set()

    @app.get("/:n")
    async def route(request: Request) -> Any:
        request.emit("log:line", request.params["n"])
        return await request.call_async("math:quarter", int(request.params["n"]))

    assert app.call("math:quarter", 8) == 2.0
    assert asyncio.run(app.call_async("math:quarter", 4)) == 1.0
    assert app.call("math:raw", b"png") == Payload("image/png", b"png")
    assert app.request("GET", "/16").json() == 4.0
    assert told.wait(30) and heard == ["16"]
    with pytest.raises(Failure) as failure:
        app.call("math:half", 0)
    assert (failure.value.status, failure.value.code, failure.value.details) == (400, "empty", {"value": 0})
    with pytest.raises(Failure, match="math:none") as failure:
        app.call("math:none")
    assert failure.value.code == "unknown-event"


def test_a_request_is_handed_over_and_replied_to(shop: App) -> None:
    kept: list[Request | None] = []

    @shop.channel("db").on("take")
    def take(event: Event) -> None:
        request = event.take_request()
        assert request is not None and event.take_request() is None and request.path == "/hand"
        kept.append(request)
        request.reply(Response(202, None, "by hand"))

    reply = shop.request("GET", "/hand")
    assert (reply.status, reply.text()) == (202, "by hand")
    assert kept[0] is not None
    with pytest.raises(Failure) as failure:
        kept[0].reply("again")
    assert failure.value.code == "already-replied"
    # A function that keeps a request may reply later: the end of the application waits for the reply.
    kept.clear()
    del failure


def test_a_function_calls_handle_again_until_it_is_too_deep(app: App) -> None:
    depths = 0

    @app.get("/self", inline=True)
    def again(request: Request) -> str:
        nonlocal depths
        depths += 1
        return app.request("GET", "/self").text()

    @app.get("/other")
    async def other(request: Request) -> str:
        return (await app.handle("GET", "/leaf")).text()

    @app.get("/leaf")
    def leaf(request: Request) -> str:
        return "leaf"

    assert "/self" not in app.request("GET", "/self").text()
    assert 4 <= depths <= 16
    assert app.request("GET", "/other").text() == "leaf"


@pytest.mark.parametrize("component", ["shop.wasm", "shop-async.wasm"])
@pytest.mark.parametrize("inline", [True, False])
def test_a_function_sends_a_request_to_the_module_that_called_it(
    app: App, guests: Path, component: str, inline: bool
) -> None:
    app.load("shop", guests / component)

    @app.channel("db").on("ask", inline=inline)
    def ask(event: Event) -> str:
        return app.request("GET", "/plain").text()

    for _ in range(100):
        assert app.request("GET", "/ask").json() == "plain"


def test_a_function_that_never_answers_is_ended_with_its_request(app: App) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @app.get("/never")
    async def never(request: Request) -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.set()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(app.handle("GET", "/never"), 0.1)
        assert await asyncio.to_thread(cancelled.wait, 30)

    asyncio.run(main())
    assert begun.is_set()


def test_a_listener_that_nobody_waits_for_is_cancelled(shop: App) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @shop.channel("db").on("ask")
    async def never(event: Event) -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.set()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(shop.handle("GET", "/ask"), 0.1)
        assert await asyncio.to_thread(cancelled.wait, 30)

    asyncio.run(main())
    assert begun.is_set()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_of_a_route_hands_its_request_over(app: App, is_async: bool) -> None:
    @app.channel("response").on("send")
    def send(event: Event) -> None:
        request = event.take_request()
        assert request is not None
        request.reply({"path": request.path, "said": event.json()})

    if is_async:

        @app.get("/it")
        async def later(request: Request) -> None:
            request.hand_over("response:send", "hello")

    else:

        @app.get("/it")
        def now(request: Request) -> None:
            request.hand_over("response:send", "hello")

    reply = app.request("GET", "/it")
    assert (reply.status, reply.json()) == (200, {"path": "/it", "said": "hello"})

    @app.get("/nobody")
    def nobody(request: Request) -> str:
        with pytest.raises(Failure, match="response:nobody"):
            request.hand_over("response:nobody")
        return "itself"

    assert app.request("GET", "/nobody").text() == "itself"


def test_what_is_no_function_is_refused(app: App) -> None:
    with pytest.raises(TypeError, match="of type `int`, expected a function"):
        app.get("/a")(7)  # type: ignore[type-var]

    async def later(request: Request) -> None: ...

    with pytest.raises(TypeError, match="expected a `def` with `inline=True`"):
        app.get("/a", inline=True)(later)
    app.get("/a")(later)
    with pytest.raises(pointwork.RefusedError, match="/a"):
        app.get("/a")(later)


def test_modules_are_loaded_swapped_rolled_back_and_removed(app: App, guests: Path) -> None:
    info = app.load("shop", guests / "shop.wasm", memory="32MiB")
    assert (info.name, info.form, info.routes) == ("shop", "synchronous", 6)
    assert app.modules()[0].state is not None
    change = app.swap("shop", (guests / "next.wasm").read_bytes())
    assert change.kind == "swapped" and change.routes.kept == ["GET /plain"] and "GET /ask" in change.routes.removed
    assert app.request("GET", "/plain").text() == "next"
    assert app.roll_back("shop").kind == "rolled-back"
    assert app.request("GET", "/plain").text() == "plain"
    assert app.remove("shop").kind == "removed"
    assert app.request("GET", "/plain").status == 404

    async def main() -> None:
        assert (await app.load_async("shop", guests / "shop.wasm")).name == "shop"
        assert (await app.swap_async("shop", str(guests / "next.wasm"))).kind == "swapped"
        assert (await app.roll_back_async("shop")).kind == "rolled-back"
        assert (await app.remove_async("shop")).kind == "removed"
        with pytest.raises(pointwork.RefusedError, match="shop"):
            await app.remove_async("shop")

    asyncio.run(main())


def test_wrong_input_is_refused_with_its_name(app: App, guests: Path, tmp_path: Path) -> None:
    with pytest.raises(pointwork.ComponentError):
        app.load("a", b"these are no component")
    with pytest.raises(pointwork.HostError, match="none.wasm"):
        app.load("a", tmp_path / "none.wasm")
    with pytest.raises(TypeError, match="of type `int`, expected `bytes`"):
        app.load("a", 7)  # type: ignore[arg-type]
    with pytest.raises(pointwork.SettingsError, match="memory"):
        app.load("a", guests / "shop.wasm", memory="much")
    with pytest.raises(pointwork.SettingsError, match="prefx"):
        App(prefx="/api")
    with pytest.raises(ValueError, match="the method is `G T`"):
        app.request("G T", "/")
    with pytest.raises(ValueError, match="the target is `a b`"):
        app.request("GET", "a b")
    with pytest.raises(ValueError, match="the value of the header `x`"):
        app.request("GET", "/", headers={"x": "a\nb"})
    with pytest.raises(TypeError, match="of type `int`, expected `bytes`"):
        app.request("GET", "/", body=7)  # type: ignore[arg-type]
    assert app.modules() == []


def test_settings_count_and_two_applications_are_apart(guests: Path) -> None:
    with App(prefix="/api", workers=1) as first, App(workers=1) as second:
        first.load("shop", guests / "shop.wasm")
        second.load("shop", guests / "next.wasm")
        assert first.request("GET", "/api/plain").text() == "plain"
        assert first.request("GET", "/plain").status == 404
        assert second.request("GET", "/plain").text() == "next"
        first.close()
        assert second.request("GET", "/plain").text() == "next"


def test_a_durable_event_has_its_id_and_attempt(tmp_path: Path) -> None:
    seen = []
    done = threading.Event()
    mail = {"store": "sqlite", "id": "/id", "backoff": ["5ms"]}
    with App(workers=1, journal={"path": str(tmp_path / "events.sqlite")}, durable={"mail": mail}) as app:

        @app.channel("mail").on("order")
        def order(event: Event) -> None:
            seen.append((event.id, event.attempt, event.json()))
            if event.attempt == 1:
                raise Failure(503, "later")
            done.set()

        app.emit("mail:order", {"id": 7})
        assert done.wait(30)
    assert seen == [("mail:order:7", 1, {"id": 7}), ("mail:order:7", 2, {"id": 7})]


def test_an_ordinary_event_has_an_id_and_one_attempt(shop: App) -> None:
    seen = []

    @shop.channel("db").on("ask")
    def ask(event: Event) -> None:
        assert event.id == event.id
        seen.append((event.id, event.attempt))

    for _ in range(2):
        shop.request("GET", "/ask")
    assert len({id for id, _ in seen}) == 2 and [attempt for _, attempt in seen] == [1, 1]


def test_headers_are_found_in_any_case_and_queries_have_many_values(app: App) -> None:
    @app.get("/it")
    def it(request: Request) -> Any:
        headers, query = request.headers, request.query
        assert headers["Content-Type"] == headers["content-type"] == headers.get("CONTENT-TYPE") == "a/b"
        assert "X-A" in headers and "x-b" not in headers and headers.get("X-B", "none") == "none"
        assert headers["X-A"] == "1, 2" and headers.get_all("X-A") == ["1", "2"]
        with pytest.raises(KeyError):
            headers["X-B"]
        assert query["tag"] == "b" and query.get_all("tag") == ["a", "b"] and query.get_all("none") == []
        return [headers, query]

    headers = [("Content-Type", "a/b"), ("X-A", "1"), ("x-a", "2")]
    reply = app.request("GET", "/it?tag=a&tag=b&x=", headers=headers).json()
    assert reply[0]["x-a"] == "1, 2" and reply[1] == {"tag": "b", "x": ""}


@pytest.mark.parametrize("content_type", ["", "a\nb", "text/é"])
def test_a_content_type_that_is_none_is_refused(app: App, content_type: str) -> None:
    @app.channel("db").on("ask")
    def ask(event: Event) -> Payload:
        return Payload(content_type, b"")

    with pytest.raises(ValueError, match="the content type is .* expected one such as"):
        app.call("db:ask", Payload(content_type, b""))
    with pytest.raises(ValueError, match="the content type is"):
        app.emit("db:ask", Payload(content_type, b""))
    with pytest.raises(Failure):
        app.call("db:ask", Payload("a/b", b""))


def test_too_many_headers_are_refused(app: App) -> None:
    @app.get("/it")
    def it(request: Request) -> Response:
        return Response(200, [(f"x-{number}", "a") for number in range(40_000)])

    for headers in ([(f"x-{number}", "a") for number in range(40_000)], [("x-a", "a")] * 40_000):
        with pytest.raises(ValueError, match="40001 headers, expected at most"):
            app.request("GET", "/it", headers=headers)
    assert app.request("GET", "/it").status == 500


def test_a_mount_refuses_too_many_headers(app: App) -> None:
    statuses: list[Any] = []

    async def main() -> None:
        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            statuses.append(message.get("status"))

        headers = [(b"x-%d" % number, b"a") for number in range(40_000)]
        scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
        await app.asgi(scope, receive, send)

    asyncio.run(main())
    environ = {f"HTTP_X_{number}": "a" for number in range(40_000)}
    environ |= {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.url_scheme": "http"}
    app.wsgi(environ, lambda status, headers: statuses.append(status))
    assert statuses[0] == 400 and statuses[-1] == "400 Bad Request"
