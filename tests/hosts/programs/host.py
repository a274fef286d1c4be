"""Embeds applications as the tests of `tests/hosts` say, step by step, over standard input and output."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import uvicorn

import pointwork
from pointwork import App, Event, Failure, Payload, Request, Response

JSON = "application/json"
TEXT = ("content-type", "text/plain; charset=utf-8")

Words = list[bytes]

_output = threading.Lock()
_answers: dict[str, Future[Words]] = {}
_requests: dict[str, Request] = {}
_numbers = itertools.count()
_kept: list[object] = []


def say(*words: bytes | str) -> None:
    """Sends a message."""
    message = bytearray(b"%d\n" % len(words))
    for word in words:
        data = word.encode() if isinstance(word, str) else word
        message += b"%d\n" % len(data) + data
    with _output:
        sys.stdout.buffer.write(message)
        sys.stdout.buffer.flush()


def public_functions() -> Iterator[tuple[str, type, str, Any]]:
    """The functions and properties of the public classes: the name, the class, the attribute and its value. The name of a constructor
    is that of its class."""
    for cls in (getattr(pointwork, name) for name in pointwork.__all__):
        for attribute, value in list(vars(cls).items()) if isinstance(cls, type) else ():
            function = value.fget if isinstance(value, property) else value
            if attribute == "__init__" and inspect.isfunction(function):
                yield cls.__name__, cls, attribute, value
            elif not attribute.startswith("_") and inspect.isfunction(function):
                yield f"{cls.__name__}.{attribute}", cls, attribute, value


def tell_first_call(name: str, cls: type, attribute: str, value: Any) -> None:
    """Tells the tests of the first call of a function, which is then as it was."""
    function = value.fget if isinstance(value, property) else value

    @functools.wraps(function)
    def first(*args: Any, **kwargs: Any) -> Any:
        setattr(cls, attribute, value)
        say("called", name)
        return function(*args, **kwargs)

    setattr(cls, attribute, property(first) if isinstance(value, property) else first)


def read() -> Words | None:
    """The next message."""
    source = sys.stdin.buffer
    count = source.readline()
    if not count:
        return None
    return [source.read(int(source.readline())) for _ in range(int(count))]


def settle(number: bytes, words: Words) -> None:
    """An answer of the tests."""
    answer = _answers.get(number.decode())
    # A call that was cancelled may be answered at the same time.
    if answer is not None and answer.set_running_or_notify_cancel():
        answer.set_result(words)


async def ask(kind: str, *words: bytes | str, request: Request | None = None) -> Words:
    """Has the tests answer a call, and tells them if nobody waits for the answer any more."""
    answer: Future[Words] = Future()
    number = str(next(_numbers))
    _answers[number] = answer
    if request is not None:
        _requests[number] = request
    say(kind, number, *words)
    try:
        return await asyncio.wrap_future(answer)
    except asyncio.CancelledError:
        say("gone", number)
        raise
    finally:
        _answers.pop(number, None)
        _requests.pop(number, None)


class Run:
    """A listener that runs the steps of a program."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self.text = event.data
        self.request: Request | None = None
        self.finished: Future[None] | None = None

    def run(self, steps: list[tuple[str, Words]]) -> Payload | None:
        try:
            for name, arguments in steps[:-1]:
                getattr(self, name.replace("-", "_"))(*arguments)
            name, arguments = steps[-1]
            if name in ("value", "result"):
                text = self.text if name == "result" else self.text or b"null"
                return Payload(arguments[0].decode(), text)
            if name == "fail":
                raise Failure(int(arguments[1]), self.text.decode(), code=arguments[0].decode())
            if name == "trap":
                raise RuntimeError("a panic on purpose")
            if name == "keep":
                _kept.append((self.event, self.request))
            return None
        finally:
            if self.finished is not None and not self.finished.done():
                self.finished.set_exception(RuntimeError("the listener dropped its reply"))

    def payload(self) -> Payload:
        return Payload(JSON, self.text or b"null")

    def took(self) -> Request:
        if self.request is None:
            raise RuntimeError("a request; take it first")
        return self.request

    def tried(self, action: Callable[[], None], otherwise: str) -> None:
        try:
            action()
            self.text = otherwise.encode()
        except Failure as failure:
            self.text = f"failed {failure.code}".encode()
        except (TypeError, ValueError):
            # A status, a header or a body that no reply can have is refused before it is sent.
            self.text = b"failed invalid-reply"

    # The steps

    def say(self, text: bytes) -> None:
        self.text += text

    def event_name(self) -> None:
        self.text += self.event.name.encode()

    def payload_type(self) -> None:
        self.text += self.event.content_type.encode()

    def request_id(self) -> None:
        self.text += (self.event.request_id or "(none)").encode()

    def param(self, name: bytes) -> None:
        self.text += self.took().params.get(name.decode(), "(none)").encode()

    def path(self) -> None:
        self.text += self.took().path.encode()

    def call(self, event: bytes, content_type: bytes) -> None:
        payload = self.payload() if content_type == JSON.encode() else Payload(content_type.decode(), self.text)
        try:
            self.text = self.event.call(event.decode(), payload, raw=True).data
        except Failure as failure:
            self.text = f"failed {failure.code}: {failure.message}".encode()

    def emit(self, event: bytes) -> None:
        self.event.emit(event.decode(), self.payload())
        self.text = b""

    def take(self) -> None:
        self.request = self.event.take_request()
        if self.request is None:
            self.text = b"(none)"

    def hand_over(self, event: bytes) -> None:
        request, self.request = self.took(), None
        self.tried(lambda: request.hand_over(event.decode(), self.payload()), "")

    def send(self, status: bytes, *headers: bytes) -> None:
        pairs = [TEXT, *((headers[i].decode(), headers[i + 1].decode("latin-1")) for i in range(0, len(headers), 2))]
        text = self.text
        self.tried(lambda: self.took().reply(Response(int(status), pairs, text)), "sent")

    def throw(self, status: bytes) -> None:
        failure = Failure(int(status), self.text.decode())
        self.tried(lambda: self.took().reply(failure), "sent")

    def stream(self, status: bytes, *chunks: bytes) -> None:
        finished: Future[None] = Future()

        def body() -> Iterator[bytes]:
            yield from chunks
            finished.result()

        request = self.took()
        self.tried(lambda: request.reply(Response(int(status), [TEXT], body())), "")
        if not self.text.startswith(b"failed"):
            self.finished = finished

    def finish(self) -> None:
        if self.finished is not None:
            self.finished.set_result(None)


def steps_of(words: Words) -> list[tuple[str, Words]]:
    steps, at = [], 0
    while at < len(words):
        end = at + 2 + int(words[at + 1])
        steps.append((words[at].decode(), words[at + 2 : end]))
        at = end
    return steps


def listen(app: App, channel: str, event: str, number: bytes, words: Words) -> None:
    """Adds a listener: a program, or a function of the tests."""
    steps = steps_of(words)
    if not steps:

        @app.channel(channel).on(event)
        async def passed_on(event: Event) -> Payload:
            kind, *words = await ask("event", number, event.name, event.content_type, event.data)
            if kind == b"value":
                return Payload(words[0].decode(), words[1])
            status, code, message, details = words[:4]
            headers = [(words[i].decode(), words[i + 1].decode("latin-1")) for i in range(4, len(words), 2)]
            fields = json.loads(details or "{}")
            raise Failure(int(status), message.decode(), code=code.decode(), details=fields, headers=headers)

    elif any(name in ("call", "stream") for name, _ in steps):

        @app.channel(channel).on(event)
        def waits(event: Event) -> Payload | None:
            return Run(event).run(steps)

    else:

        @app.channel(channel).on(event, inline=True)
        def inline(event: Event) -> Payload | None:
            return Run(event).run(steps)


def route(app: App, method: str, path: str) -> None:
    """Adds a route whose function the tests are."""

    @app.route(method or "ALL", path)
    async def passed_on(request: Request) -> Response | None:
        target = request.path + (f"?{request.query_string}" if request.query_string else "")
        headers = [word for pair in request.headers_raw for word in pair]
        about = (request.request_id, request.method, target, request.client or "", request.body)
        kind, *words = await ask("request", *about, *headers, request=request)
        if kind == b"deferred":
            return None
        if kind == b"crashed":
            raise RuntimeError(words[0].decode())
        names, values = words[2::2], words[3::2]
        pairs = [(name.decode(), value.decode("latin-1")) for name, value in zip(names, values, strict=True)]
        whole = words[1]

        def broken() -> Iterator[bytes]:
            yield whole
            raise RuntimeError("the function broke its reply off")

        return Response(int(words[0]), pairs, broken() if kind == b"broken" else whole)


async def own(scope: Any, receive: Any, send: Any) -> None:
    """The server's own routes."""
    if scope["type"] != "http":
        return
    is_own = scope["path"] == "/own"
    status, page = (200, b"the server's own\n") if is_own else (404, b"not found\n")
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"%d" % len(page))]})
    await send({"type": "http.response.body", "body": page})


class Mounted:
    """An application in uvicorn."""

    def __init__(self, app: App, place: str, prefix: str) -> None:
        if place == "below":
            mount = app.asgi_below(prefix, own)
        else:
            mount = app.asgi_in_front(own) if place == "in-front" else app.asgi
        config = uvicorn.Config(mount, host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=30)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started and self.thread.is_alive():
            time.sleep(0.001)

    def address(self) -> str:
        host, port = self.server.servers[0].sockets[0].getsockname()
        return f"{host}:{port}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()


class Host:
    """The application of a case."""

    def __init__(self) -> None:
        self.app: App | None = None
        self.mounted: Mounted | None = None

    def start(self, settings: bytes) -> Words:
        given = {key.replace("-", "_"): value for key, value in json.loads(settings).items()}
        self.app = App(**given)
        return []

    def take(self, step: str, words: Words) -> list[bytes | str]:
        app = self.app
        assert app is not None, "an application"
        texts = [word.decode() for word in words[:2]]
        if step in ("load", "swap"):
            options = {key.replace("-", "_"): value for key, value in json.loads(texts[1] or "{}").items()}
            change = app.load if step == "load" else app.swap
            change(texts[0], words[2], **options)
        elif step == "roll-back":
            app.roll_back(texts[0])
        elif step == "remove":
            app.remove(texts[0])
        elif step == "prefix":
            app.set_prefix(texts[0])
        elif step == "listen":
            listen(app, texts[0], texts[1], words[2], words[3:])
        elif step == "route":
            route(app, texts[0], texts[1])
        elif step == "serve":
            return [app.serve("127.0.0.1:0").address]
        elif step == "mount":
            self.mounted = Mounted(app, *texts)
            return [self.mounted.address()]
        elif step == "status":
            figures = {key.replace("_", "-"): value for key, value in asdict(app.figures()).items()}
            return [app._native.routes(), app._native.modules(), json.dumps(figures)]
        elif step == "call":
            payload = app.call(texts[0], Payload(texts[1], words[2]), raw=True)
            return [payload.content_type, payload.data]
        elif step == "hand-over":
            _requests[texts[0]].hand_over(texts[1], Payload(words[2].decode(), words[3]))
        elif step == "close":
            if self.mounted is not None:
                self.mounted.stop()
            app.close()
            self.app = self.mounted = None
            _kept.clear()
        else:
            raise ValueError(f"there is no step `{step}`")
        return []


class ToTests(logging.Handler):
    """Sends the log to the tests."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "warn" if record.levelname == "WARNING" else record.levelname.lower()
        say("log", level, record.getMessage())


def main() -> None:
    if sys.argv[1:] == ["--public"]:
        names = {name for name, *_ in public_functions()} | set(pointwork.__all__) - {"__version__"}
        print(*sorted(names), sep="\n")
        return
    for function in public_functions():
        tell_first_call(*function)
    log = logging.getLogger("pointwork")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(ToTests())
    host = Host()

    def take(step: str, number: bytes, words: Words) -> None:
        try:
            say("done", number, *(host.start(words[0]) if step == "start" else host.take(step, words)))
        except Failure as failure:
            details = json.dumps(failure.details) if failure.details else ""
            headers = [word for pair in failure.headers for word in pair]
            say("failed", number, failure.message, failure.code or "failed", str(failure.status), details, *headers)
        except Exception as error:
            say("failed", number, str(error), "", "0")

    # A step may wait for answers, which this thread reads.
    with ThreadPoolExecutor(32) as pool:
        while (message := read()) is not None:
            kind, number, *words = message
            if kind == b"answer":
                settle(number, words)
            else:
                pool.submit(take, kind.decode(), number, words)


main()
