"""The application in servers of Python, and served by its own."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import fastapi
import flask
import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from pointwork import App, Asgi, Request, Response, Wsgi


@contextlib.contextmanager
def served(application: Any) -> Iterator[str]:
    """Serves an application of ASGI by uvicorn."""
    config = uvicorn.Config(application, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started and time.monotonic() < until:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture
def routes(shop: App) -> App:
    """The guest, and functions that stream."""

    @shop.channel("db").on("ask")
    async def ask(event: Any) -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    @shop.post("/upper", stream=True)
    async def upper(request: Request) -> Response:
        async def chunks() -> Any:
            async for chunk in request.stream():
                yield chunk.upper()

        return Response(body=chunks())

    @shop.get("/who")
    def who(request: Request) -> Any:
        return [request.client is not None, request.path, request.query_string, request.headers.get("x-a")]

    return shop


def chunks() -> Iterator[bytes]:
    for letter in (b"a", b"b", b"c"):
        yield letter * 70_000


def check(client: httpx.Client, *, prefix: str = "") -> None:
    assert client.get(f"{prefix}/plain").text == "plain"
    reply = client.get(f"{prefix}/ask")
    assert reply.status_code == 200 and reply.headers["x-request-id"]
    assert client.post(f"{prefix}/echo", content=b"whole").content == b"whole"
    assert client.get(f"{prefix}/stream").text == "abc"
    if prefix:
        # A function has the path that it says.
        return
    path = "/who?a=%20b"
    assert client.get(path, headers={"x-a": "y"}).json() == [True, "/who", "a=%20b", "y"]


def test_it_is_an_application_of_asgi(routes: App) -> None:
    with served(routes.asgi) as url, httpx.Client(base_url=url, timeout=30) as client:
        check(client)
        assert client.get("/nowhere").status_code == 404
        assert client.get("/ask").json() != "pointwork-loop"
        assert client.post("/upper", content=chunks()).content == b"".join(chunks()).upper()


def test_a_client_that_goes_away_cancels_its_request(app: App) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    @app.get("/never")
    async def never(request: Request) -> None:
        begun.set()
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.set()

    with served(app.asgi) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall(b"GET /never HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert begun.wait(30)
        assert cancelled.wait(30)


def test_a_server_that_reads_slowly_slows_the_writer_down(app: App) -> None:
    written = 0

    @app.get("/endless")
    async def endless(request: Request) -> Response:
        async def chunks() -> Any:
            nonlocal written
            while True:
                written += 1
                yield b"x" * 10_000

        return Response(body=chunks())

    async def main() -> None:
        asgi, stopped = app.asgi, asyncio.Event()

        async def receive() -> Any:
            await asyncio.sleep(0)
            return {"type": "http.request", "body": b"", "more_body": False}

        sent = 0

        async def send(message: Any) -> None:
            nonlocal sent
            sent += 1
            if sent == 5:
                stopped.set()
                await asyncio.sleep(3600)

        scope = {"type": "http", "method": "GET", "path": "/endless", "query_string": b"", "headers": [(b"host", b"a")]}
        task = asyncio.create_task(asgi(scope, receive, send))
        await stopped.wait()
        await asyncio.sleep(0.1)
        assert written < 20
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())


@pytest.mark.parametrize("quiet", [True, False])
def test_a_client_that_leaves_ends_a_reply_without_end(app: App, quiet: bool) -> None:
    """Servers take chunks for a client that left, and tell it who asks."""
    ended = threading.Event()

    @app.get("/endless")
    async def endless(request: Request) -> Response:
        async def chunks() -> Any:
            try:
                while True:
                    yield b"chunk"
                    await asyncio.sleep(3600 if quiet else 0)
            finally:
                ended.set()

        return Response(body=chunks())

    async def main() -> None:
        sent, messages = asyncio.Event(), [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await sent.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            await asyncio.sleep(0)
            if message.get("body"):
                sent.set()

        scope = {"type": "http", "method": "GET", "path": "/endless", "query_string": b"", "headers": [(b"host", b"a")]}
        await asyncio.wait_for(app.asgi(scope, receive, send), 30)
        await asyncio.to_thread(ended.wait, 30)

    asyncio.run(main())
    assert ended.is_set()


def test_a_body_is_read_on_the_loop_of_its_request(app: App) -> None:
    @app.post("/echo")
    def echo(request: Request) -> bytes:
        return request.body

    began, ends = threading.Event(), threading.Event()

    async def first() -> None:
        await app.handle("POST", "/echo", body=b"attached")
        began.set()
        while not ends.is_set():
            await asyncio.sleep(0.01)

    async def second() -> None:
        here = asyncio.get_running_loop()

        async def chunks() -> Any:
            assert asyncio.get_running_loop() is here
            yield b"mine"

        reply = await app.handle("POST", "/echo", body=chunks())
        assert (reply.status, await reply.stream().read_async()) == (200, b"mine")

    thread = threading.Thread(target=asyncio.run, args=(first(),))
    thread.start()
    began.wait(30)
    try:
        asyncio.run(second())
    finally:
        ends.set()
        thread.join(30)


def test_fastapi_has_the_other_routes(routes: App) -> None:
    api = fastapi.FastAPI()

    @api.get("/own")
    def own() -> str:
        return "own"

    @api.post("/plain")
    async def body(request: fastapi.Request) -> str:
        return (await request.body()).decode()

    with TestClient(routes.asgi_in_front(api)) as client:
        assert client.get("/own").json() == "own"
        assert client.get("/plain").text == "plain"
        # Another method of a path of ours: the body is unread.
        assert client.post("/plain", content=b"mine").json() == "mine"
        assert client.get("/nowhere").json() == {"detail": "Not Found"}


def test_middleware_of_flask_is_around_the_whole(routes: App) -> None:
    site = flask.Flask("site")
    site.add_url_rule("/own", "own", lambda: "own")

    class Authenticated:
        def __init__(self, other: Any) -> None:
            self.other = other

        def __call__(self, environ: Any, start_response: Any) -> Any:
            if "HTTP_AUTHORIZATION" in environ:
                return self.other(environ, start_response)
            start_response("401 Unauthorized", [])
            return []

    site.wsgi_app = Authenticated(routes.wsgi_in_front(site.wsgi_app))  # type: ignore[method-assign]
    client = site.test_client()
    for path in ("/own", "/plain"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"authorization": "a"}).status_code == 200


def test_an_exception_of_the_other_application_is_its_own(routes: App) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("not ours")

    def broken_wsgi(environ: Any, start_response: Any) -> Any:
        raise ValueError("not ours")

    with pytest.raises(ValueError, match="not ours"):
        TestClient(routes.asgi_in_front(broken)).get("/nowhere")
    with httpx.Client(transport=httpx.WSGITransport(app=routes.wsgi_in_front(broken_wsgi)), base_url="http://a") as client:
        with pytest.raises(ValueError, match="not ours"):
            client.get("/nowhere")


def test_it_is_mounted_in_fastapi(guests: Path) -> None:
    with App(workers=1) as app:
        app.load("shop", guests / "shop.wasm")
        api = fastapi.FastAPI()
        api.mount("/shop", app.asgi_below("/shop"))
        with TestClient(api) as client:
            assert client.get("/shop/plain").text == "plain"
            assert client.get("/shop/nowhere").status_code == 404
            assert client.get("/plain").json() == {"detail": "Not Found"}


def test_a_framework_mounts_it_below_a_path(guests: Path) -> None:
    with App(workers=1) as app:
        app.load("shop", guests / "shop.wasm")

        @app.get("/where/a%20b")
        def where(request: Request) -> str:
            return request.path

        inner, outer = fastapi.FastAPI(), fastapi.FastAPI()
        inner.mount("/in ner", app.asgi)
        outer.mount("/shop", inner)
        for api, root, prefix in (
            (outer, "", "/shop/in%20ner"),
            # As uvicorn behind a proxy, which takes the path away and tells it.
            (outer, "/proxy", "/proxy/shop/in%20ner"),
        ):
            with TestClient(api, root_path=root) as client:
                assert client.get(f"{prefix}/plain").text == "plain"
                assert client.get(f"{prefix}/where/a%20b").text == "/where/a%20b"
                assert client.post(f"{prefix}/echo", content=b"whole").content == b"whole"
                assert client.get(f"{prefix}/shop/plain").status_code == 404
    with App(workers=1) as app:
        app.load("shop", guests / "shop.wasm")
        below = fastapi.FastAPI()
        below.mount("/api", app.asgi_below("/api"))
        with TestClient(below, root_path="/proxy") as client:
            assert client.get("/proxy/api/plain").text == "plain"


@pytest.mark.parametrize("answers", ["/plain", "/late"])
@pytest.mark.parametrize("includes", [True, False])
def test_a_server_sets_root_path_with_and_without_it_in_the_path(routes: App, includes: bool, answers: str) -> None:
    @routes.get("/late")
    async def late(request: Request) -> str:
        await asyncio.sleep(0.01)
        return "late"

    async def main() -> None:
        messages: list[Any] = []

        # It does not wait, as that of a server should once the body has ended.
        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        path = f"/api{answers}" if includes else answers
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
        await routes.asgi(scope | {"root_path": "/api", "headers": [(b"host", b"a")]}, receive, send)
        assert messages[0]["status"] == 200

    asyncio.run(main())


def test_a_server_of_wsgi_mounts_it_below_a_path(routes: App) -> None:
    transport = httpx.WSGITransport(app=routes.wsgi, script_name="/shop")
    with httpx.Client(transport=transport, base_url="http://a") as client:
        check(client)


def test_a_mount_answers_what_it_took_also_if_the_route_goes_meanwhile(routes: App) -> None:
    """The decision is made at the head, and a module may go while the body arrives."""

    async def other(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the route was there")

    async def main() -> None:
        messages: list[Any] = []

        async def receive() -> Any:
            await routes.remove_async("shop")
            return {"type": "http.request", "body": b"whole", "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        scope = {"type": "http", "method": "POST", "path": "/echo", "query_string": b"", "headers": [(b"host", b"a")]}
        await routes.asgi_in_front(other)(scope, receive, send)
        assert (messages[0]["status"], messages[1]["body"]) == (200, b"whole")

    asyncio.run(main())


def test_a_mount_of_wsgi_answers_what_it_took_also_if_the_route_goes_meanwhile(routes: App) -> None:
    class Input:
        def read(self, size: int) -> bytes:
            routes.remove("shop")
            return b"whole"

    site = routes.wsgi_in_front(flask.Flask("site").wsgi_app)
    environ = {"REQUEST_METHOD": "POST", "PATH_INFO": "/echo", "HTTP_HOST": "a", "CONTENT_LENGTH": "5"}
    statuses: list[str] = []
    body = site(environ | {"wsgi.input": Input()}, lambda status, headers: statuses.append(status))
    assert (statuses, b"".join(body)) == (["200 OK"], b"whole")


def test_below_a_prefix_the_rest_is_the_other_applications(routes: App) -> None:
    api = fastapi.FastAPI()

    @api.get("/plain")
    def own() -> str:
        return "own"

    with served(routes.asgi_below("/api", api)) as url, httpx.Client(base_url=url, timeout=30) as client:
        check(client, prefix="/api")
        assert client.get("/plain").json() == "own"
        assert client.get("/api/nowhere").status_code == 404


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


@contextlib.contextmanager
def served_by_wsgi(application: Any) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def test_it_is_an_application_of_wsgi(routes: App) -> None:
    assert isinstance(routes.wsgi, Wsgi) and isinstance(routes.asgi, Asgi)
    with served_by_wsgi(routes.wsgi) as url, httpx.Client(base_url=url, timeout=30) as client:
        check(client)
        whole = b"".join(chunks())
        assert client.post("/upper", content=whole).content == whole.upper()


def test_flask_has_the_other_routes(routes: App) -> None:
    site = flask.Flask("site")

    @site.get("/own")
    def own() -> str:
        return "own"

    @site.post("/plain")
    def body() -> bytes:
        return flask.request.get_data()

    site.wsgi_app = routes.wsgi_in_front(site.wsgi_app)  # type: ignore[method-assign]
    client = site.test_client()
    assert client.get("/own").text == "own"
    assert client.get("/plain").text == "plain"
    assert client.post("/plain", data=b"mine").data == b"mine"
    assert client.post("/echo", data=b"ours").data == b"ours"
    assert client.get("/nowhere").status_code == 404


def test_wsgi_below_a_prefix_and_the_path_of_a_server(routes: App) -> None:
    transport = httpx.WSGITransport(app=routes.wsgi_below("/api"), script_name="/shop/api")
    with httpx.Client(transport=transport, base_url="http://a") as client:
        assert client.get("/plain").text == "plain"


def test_wsgi_below_a_prefix(routes: App) -> None:
    site = flask.Flask("site")
    site.add_url_rule("/plain", "own", lambda: "own")
    site.wsgi_app = routes.wsgi_below("/api", site.wsgi_app)  # type: ignore[method-assign]
    client = site.test_client()
    assert client.get("/plain").text == "own"
    assert client.get("/api/plain").text == "plain"
    assert client.get("/api/nowhere").status_code == 404


def test_the_built_in_server_serves_and_stops(routes: App) -> None:
    with routes.serve("127.0.0.1:0") as server, httpx.Client(base_url=server.url, timeout=30) as client:
        check(client)
        assert client.get("/ask").json() == "pointwork-loop"

    async def main() -> None:
        server = await routes.serve_async("127.0.0.1:0")
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as client:
            assert (await client.get("/plain")).text == "plain"
        await server.stop_async()
        async with httpx.AsyncClient(timeout=30) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get(server.url)

    asyncio.run(main())


def test_a_mount_and_a_server_keep_their_application() -> None:
    def made() -> App:
        app = App(workers=1)

        @app.get("/who")
        def who(request: Request) -> str:
            return "a function"

        return app

    main = made().asgi
    gc.collect()
    assert TestClient(main).get("/who").text == "a function"
    server = made().serve("127.0.0.1:0")
    gc.collect()
    assert httpx.get(f"{server.url}/who").text == "a function"
    site = flask.Flask("site")
    site.wsgi_app = made().wsgi  # type: ignore[method-assign]
    gc.collect()
    assert site.test_client().get("/who").text == "a function"


def test_a_mount_of_a_closed_application_replies_503(guests: Path) -> None:
    app = App(workers=1)
    app.load("shop", guests / "shop.wasm")
    asgi, wsgi = app.asgi, app.wsgi
    app.close()
    clients = (TestClient(asgi), httpx.Client(transport=httpx.WSGITransport(app=wsgi), base_url="http://a"))
    for client in clients:
        reply = client.get("/plain")
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
