"""Uses that must not end the process, and the end of the process."""

from __future__ import annotations

import asyncio
import decimal
import gc
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pointwork
from pointwork import App, Request

from conftest import LONG

Program = Callable[..., str]


def test_calls_after_close_raise(guests: Path) -> None:
    app = App(workers=1)
    app.close()
    app.close()
    assert app.is_closed
    asyncio.run(app.close_async())
    for use in (
        lambda: app.request("GET", "/"),
        lambda: app.load("a", guests / "shop.wasm"),
        lambda: app.remove("a"),
        lambda: app.routes(),
        lambda: app.get("/a")(lambda request: None),
        lambda: app.serve("127.0.0.1:0"),
        lambda: app.call("a:b"),
        lambda: app.asgi,
        lambda: asyncio.run(app.handle("GET", "/")),
        lambda: asyncio.run(app.load_async("a", guests / "shop.wasm")),
    ):
        with pytest.raises(pointwork.ClosedError):
            use()


def test_the_error_of_an_argument_names_it_and_what_was_expected(app: App) -> None:
    anything: Any = object()
    seconds = "the timeout is of type `object`, expected a number of seconds"
    for use, message in {
        lambda: app.request("GET", "/", timeout=anything): seconds,
        lambda: app.call("db:ask", timeout=anything): seconds,
        lambda: app.close(timeout=anything): seconds,
        lambda: asyncio.run(app.handle("GET", "/", timeout=anything)): seconds,
        lambda: asyncio.run(app.call_async("db:ask", timeout=anything)): seconds,
        lambda: asyncio.run(app.close_async(timeout=anything)): seconds,
        lambda: app.request(anything, "/"): "the method is of type `object`, expected `str`",
        lambda: app.request("GET", anything): "the target is of type `object`, expected `str`",
        lambda: asyncio.run(app.handle("GET", anything)): "the target is of type `object`, expected `str`",
        lambda: app.emit("db:ask", pointwork.Payload(anything, b"")): "the content type is of type `object`",
    }.items():
        with pytest.raises(TypeError, match=re.escape(message)):
            use()
    assert not app.is_closed
    assert app.request("GET", "/", timeout=decimal.Decimal("30")).status == 404


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("404", "TypeError: the status is of type `str`, expected a number from 400 to 599"),
        (70000, "ValueError: the status is `70000`, expected 400 to 599"),
        (-1, "ValueError: the status is `-1`, expected 400 to 599"),
    ],
)
def test_the_status_of_a_failure_is_named(app: App, caplog: pytest.LogCaptureFixture, status: Any, message: str) -> None:
    @app.get("/fails")
    def fails(request: Request) -> None:
        raise pointwork.Failure(status, "no")

    assert app.request("GET", "/fails").status == 500
    assert message in caplog.text


def test_close_lets_requests_in_flight_end_and_cuts_the_rest() -> None:
    app = App(workers=1, limits={"shutdown-grace": "1s"})
    begun = threading.Barrier(3)

    @app.get("/slow")
    def slow(request: Request) -> str:
        begun.wait(30)
        time.sleep(0.2)
        return "done"

    @app.get("/never")
    async def never(request: Request) -> None:
        await asyncio.to_thread(begun.wait, 30)
        await asyncio.get_running_loop().create_future()

    async def main() -> list[Any]:
        requests = asyncio.gather(app.handle("GET", "/slow"), app.handle("GET", "/never"), return_exceptions=True)
        await asyncio.to_thread(begun.wait, 30)
        await app.close_async()
        return await requests

    done, cut = asyncio.run(main())
    assert done.text() == "done"
    assert isinstance(cut, pointwork.ClosedError) or cut.status == 503


def threads() -> int:
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else threading.active_count()


def memory() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_many_applications_are_opened_and_closed(guests: Path) -> None:
    component = (guests / "shop.wasm").read_bytes()

    def one() -> None:
        app = App(workers=1)

        @app.channel("db").on("ask", inline=True)
        def ask(event: pointwork.Event) -> str:
            return repr(app)

        app.load("shop", component)
        assert app.request("GET", "/ask").status == 200
        app.close()

    number = 10_000 if LONG else 200
    for _ in range(20):
        one()
    gc.collect()
    before = threads(), len(os.listdir("/proc/self/fd")), memory()
    for _ in range(number):
        one()
    gc.collect()
    until = time.monotonic() + 30
    while threads() > before[0] and time.monotonic() < until:
        time.sleep(0.01)
    after = threads(), len(os.listdir("/proc/self/fd")), memory()
    print(f"{number} applications: threads, descriptors and memory {before} to {after}")
    assert after[0] <= before[0] and after[1] <= before[1]
    assert after[2] - before[2] < 64 * 1024 * 1024


def test_guest_traps_and_exceptions_of_python_take_turns(app: App, guests: Path) -> None:
    app.load("faults", guests / "faults.wasm", breaker={"crashes": 0})
    faults: list[str] = []

    def recurse() -> int:
        return 1 + recurse()

    begun = time.monotonic()

    def turn() -> None:
        turns = 0
        while turns < 10 or (LONG and time.monotonic() - begun < 60):
            turns += 1
            for path in ("/trap", "/recurse"):
                if (status := app.request("GET", path).status) != 500:
                    faults.append(f"{path}: {status}")
                for fault in (recurse, lambda: 1 // 0):
                    with pytest.raises((RecursionError, ZeroDivisionError)):
                        fault()

    running = [threading.Thread(target=turn) for _ in range(4)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(120)
    assert not any(thread.is_alive() for thread in running)
    assert faults == []


def test_a_thread_with_a_small_stack_sends_requests(shop: App) -> None:
    @shop.channel("db").on("ask", inline=True)
    def ask(event: pointwork.Event) -> str:
        return "heard"

    replies: list[str] = []
    old = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: replies.append(shop.request("GET", "/ask").json()))
        thread.start()
        thread.join(30)
    finally:
        threading.stack_size(old)
    assert replies == ["heard"]


def test_the_interpreter_ends_without_close(program: Program) -> None:
    code = """
app = pointwork.App()
app.load('shop', GUESTS + '/shop.wasm')
app.get('/a')(lambda request: 'a')
@app.get('/b')
async def b(request): return 'b'
server = app.serve('127.0.0.1:0')
print(app.request('GET', '/a').text(), app.request('GET', '/b').text())
"""
    assert program(code) == "a b\n"
    assert program(code + "del app, server") == "a b\n"
    assert program(code + "raise SystemExit(3)", status=3) == "a b\n"


def test_the_interpreter_ends_with_functions_in_flight(program: Program) -> None:
    code = """
app = pointwork.App()
begun = threading.Barrier(3)
@app.get('/def')
def sleep(request):
    begun.wait(30)
    time.sleep(3600)
@app.get('/async')
async def later(request):
    await asyncio.to_thread(begun.wait, 30)
    await asyncio.get_running_loop().create_future()
for path in ('/def', '/async'):
    threading.Thread(target=lambda path=path: app.request('GET', path), daemon=True).start()
begun.wait(30)
print('ends', flush=True)
"""
    assert program(code) == "ends\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_child_of_a_fork_raises(program: Program) -> None:
    code = """
import warnings; warnings.simplefilter('ignore')
app = pointwork.App()
app.load('shop', GUESTS + '/shop.wasm')
child = os.fork()
if child == 0:
    for use in (lambda: app.request('GET', '/plain'), lambda: app.load('a', b''), app.routes, pointwork.App):
        try:
            use()
        except pointwork.ForkedError as error:
            print('forked', flush=True)
    app.close()
    del app
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(app.request('GET', '/plain').text())
"""
    assert program(code) == "forked\n" * 4 + "plain\n"


def test_ctrl_c_ends_a_wait(program: Program) -> None:
    code = """
import signal
# A shell starts a program in the background with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
app = pointwork.App()
@app.get('/never')
async def never(request):
    await asyncio.get_running_loop().create_future()
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    app.request('GET', '/never')
except KeyboardInterrupt:
    print('interrupted')
"""
    assert program(code) == "interrupted\n"


@pytest.mark.parametrize("when", ["before", "after"])
def test_faulthandler_is_no_harm(program: Program, when: str) -> None:
    enable = "import faulthandler; faulthandler.enable()\n"
    start = "app = pointwork.App(); app.load('faults', GUESTS + '/faults.wasm')\n"
    code = enable + start if when == "before" else start + enable
    code += "print(app.request('GET', '/trap').status, app.request('GET', '/recurse').status)"
    assert program(code) == "500 500\n"


def test_a_subinterpreter_is_refused(program: Program) -> None:
    code = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
try:
    failed = interpreters.run_string(other, 'import pointwork')
    print('refused' if failed else 'taken')
except Exception:
    print('refused')
"""
    assert program(code) == "refused\n"


def test_an_answer_after_close_reaches_nobody() -> None:
    app = App(workers=1, limits={"shutdown-grace": "100ms"})
    begun, go, errors = threading.Event(), threading.Event(), []

    @app.get("/late")
    def late(request: Request) -> str:
        begun.set()
        go.wait(30)
        return "late"

    def ask() -> None:
        try:
            app.request("GET", "/late")
        except pointwork.Error as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert begun.wait(30)
    app.close()
    go.set()
    thread.join(30)
    assert not thread.is_alive()
