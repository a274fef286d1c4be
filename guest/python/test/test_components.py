"""Components, as the command `pointwork` serves them."""

import http.client
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pointwork_guest.build import BuildError, build

MODULES = Path(__file__).parent / "modules"
COMPOSE = os.environ.get("POINTWORK_COMPOSE", "compose")
POINTWORK = os.environ.get("POINTWORK", "pointwork")
START = 600
"""Seconds until both components are compiled: a debug build of the command takes its time."""


# The grants of a module, and the imports that the grants keep. The streams of files bring standard output and its clock.
GRANT = """
            [module.grant]
            directories = [{ host = "notes", guest = "/notes", access = "read-write" }]
            clocks = true
            output = true
            sockets = []
"""
GRANTS = {"later": (GRANT, ["wasi:filesystem/", "wasi:clocks/"])}


class Server:
    """The command with one of the modules, and what it wrote."""

    def __init__(self, folder: Path, name: str) -> None:
        grants = GRANTS.get(name, ("", []))
        entry = MODULES / name / f"{name}.py"
        self.built = build(entry, folder / f"{name}.wasm", compose=COMPOSE, grants=grants[1])
        self.log = folder / f"{name}.log"
        # A machine that does something else besides, and a debug build of the command, take more than the limit.
        config = f'''
            listen = "127.0.0.1:0"
            compile.time = "600s"
            [[module]]
            name = "{name}"
            path = "{name}.wasm"
            instances = {1 if name == "now" else 4}
            variables = {{ GREETING = "hello" }}
            {grants[0]}
        '''
        (folder / "notes").mkdir(exist_ok=True)
        (folder / "notes/tea.txt").write_text("Assam, black")
        (folder / f"{name}.toml").write_text(config)
        with self.log.open("wb") as log:
            command = [POINTWORK, "serve", "--config", f"{name}.toml", "--color", "never"]
            self.process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        until = time.monotonic() + START
        while not (found := re.search(r"listening on http://(\S+)", self.text())):
            assert self.process.poll() is None and time.monotonic() < until, self.text()
            time.sleep(0.1)
        self.address = found[1]

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


class Servers:
    """A server for each module, so that both compile at a time. The first part of a path is the name of its module."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with ThreadPoolExecutor() as pool:
            made = pool.map(lambda name: Server(folder, name), ("now", "later"))
            self.now, self.later = made

    def of(self, target: str) -> Server:
        return self.now if target.startswith("/now") else self.later

    def text(self) -> str:
        return self.now.text() + self.later.text()

    def request(self, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self.of(target).address, timeout=60)
        try:
            given = {"content-type": "application/json", **headers} if body is not None else headers
            connection.request(
                method, target, body if isinstance(body, (bytes, type(None))) else json.dumps(body), given
            )
            answer = connection.getresponse()
            data = answer.read()
            return answer.status, json.loads(data) if answer.getheader("content-type") == "application/json" else data
        finally:
            connection.close()

    def get(self, target: str) -> tuple[int, Any]:
        return self.request("GET", target)

    def logged(self, *texts: str) -> None:
        """Waits until the log has the texts: the server writes it by a thread of its own."""
        until = time.monotonic() + 20
        while missing := [text for text in texts if text not in self.text()]:
            assert time.monotonic() < until, f"not in the log: {missing}\n{self.text()[-4000:]}"
            time.sleep(0.05)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    found = Servers(tmp_path_factory.mktemp("components"))
    yield found
    found.now.stop()
    found.later.stop()


def test_a_component_imports_the_contract_alone(server: Servers) -> None:
    assert "GET /now/:id" in server.now.built.routes
    (warning,) = server.now.built.warnings
    assert re.fullmatch(r"test/modules/now/now.py:\d+: a random number is made when the module is built, .*", warning)
    # `routes` refuses a component with another import, since nothing is granted to it.
    done = subprocess.run(
        [POINTWORK, "routes", str(server.folder / "now.wasm")],
        capture_output=True,
        text=True,
        check=False,
        timeout=START,
    )
    assert done.returncode == 0, done.stderr
    assert "now:image" in done.stdout


def test_calls_bodies_and_replies(server: Servers) -> None:
    assert server.get("/now/7") == (200, {"id": 7, "found": {"name": "tea 7"}})
    assert server.get("/now/10") == (404, {"message": "no such product", "id": 10})
    assert server.get("/now/x") == (400, {"message": "path parameter `id`: expected a whole number, got `x`"})
    order = {"lines": [{"sku": "tea", "count": 2}], "note": None}
    assert server.request("POST", "/now", order) == (201, order)
    status, wrong = server.request("POST", "/now", {"lines": [{"sku": 1}]})
    assert (status, [one["field"] for one in wrong["fields"]]) == (422, ["lines.0.sku", "lines.0.count"])
    assert server.get("/now/stream") == (200, b"piece by piece")
    assert server.get("/now/image") == (200, b"\0\1\2image")
    assert server.get("/now/label") == (202, b"by the channel")
    assert server.get("/now/surrogate") == (500, {"message": "internal error"})


@pytest.mark.parametrize("module", ["now", "later"])
def test_the_chunks_of_a_reply_are_freed_while_the_call_runs(server: Servers, module: str) -> None:
    # The chunks together exceed the limit `memory` of 64 MiB.
    assert server.get(f"/{module}/chunks?count=1100&size=65536") == (200, bytes(1100 * 65536))


def test_payloads_of_bytes_are_freed_while_the_call_runs(server: Servers) -> None:
    size, added = 256 * 1024, len(b"image")
    assert server.get(f"/now/payloads?count=280&size={size}") == (200, 280 * (size + added))


def test_declared_types_and_the_cost_of_wrong_items(server: Servers) -> None:
    assert server.get("/now/box?size=s") == (200, {"size": "s"})
    assert server.get("/now/box?size=x")[0] == 400
    status, wrong = server.request("POST", "/now/numbers", ["x"] * 4000)
    assert (status, wrong["message"], len(wrong["fields"])) == (422, "more than 50 fields are not valid", 50)
    status, wrong = server.request("POST", "/now/numbers", [{"__proto__": 1}])
    assert (status, wrong["message"]) == (400, "body: the key `__proto__` at line 1, column 3 is not allowed")


def test_time_random_bits_and_variables(server: Servers) -> None:
    status, world = server.get("/now/world")
    assert status == 200
    assert abs(world["seconds"] - time.time()) < 60 and world["stands"] and world["year"] >= 2025
    assert (world["environ"], world["env"]) == ("hello", "hello")
    again = server.get("/now/world")[1]
    assert all(again[name] != world[name] for name in ("random", "secret", "uuid"))


def test_a_new_instance_has_its_own_seed(server: Servers) -> None:
    seen = set()
    for path in ("now/world", "later/random"):
        for _ in range(2):
            status, value = server.get(f"/{path}")
            assert status == 200
            seen.add(value["random"] if isinstance(value, dict) else value)
            # The next request of the module gets a new instance.
            assert server.get(f"/{path.partition('/')[0]}/trap")[0] == 500
    assert len(seen) == 4


def test_what_is_logged(server: Servers) -> None:
    assert server.get("/now/log") == (200, b"logged")
    server.logged("printed twice", "an error", "sold out", "product=7", "with fields", "product=8", 'handler="log"')
    assert server.get("/later/log") == (200, b"logged")
    server.logged("printed apart", "unfinished apart", "of a task apart", "unfinished of a task")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("now/key-error", ("KeyError: 'tea'", "at Now.key_error (test/modules/now/now.py:")),
        (
            "now/no-json",
            ("TypeError: what was returned by `Now.no_json` cannot be written as JSON: `seen.0` has the type ",),
        ),
        ("now/no-json", ("at Now.no_json (test/modules/now/now.py:",)),
        (
            "now/recursion",
            ("RecursionError: maximum recursion depth exceeded", "at Now.recursion … ", " times (test/modules/now/now.py:"),
        ),
        (
            "now/seven",
            ("TypeError: what was returned by `Now.seven` does not fit its type: expected `int`, got `str`",),
        ),
        ("now/seven", ("at Now.seven (test/modules/now/now.py:",)),
        ("now/group", ("ExceptionGroup: both (2 sub-exceptions); 1: KeyError: 'a'; 2: ValueError: b",)),
        (
            "now/pieces",
            ("TypeError: a piece of the reply is of the type `int`", "at Now.pieces (test/modules/now/now.py:"),
        ),
        ("now/memory", ("MemoryError", "at Now.memory (test/modules/now/now.py:")),
        ("now/file", ("a module has no files", "at Now.file (test/modules/now/now.py:")),
        (
            "now/import",
            ("No module named 'colorsys': a component has no files at run time, import it at the top of a file",),
        ),
        (
            "now/sold-out",
            ("TypeError: `SoldOut` has no `headers`: call `super().__init__()`", "at Now.sold_out (test/modules/now/now.py:"),
        ),
        (
            "later/sold-out",
            ("TypeError: `NotFound.headers` cannot be read", "at Later.sold_out (test/modules/later/later.py:"),
        ),
        ("now/exit", ("SystemExit: 3", "at Now.exit (test/modules/now/now.py:")),
        (
            "later/timer",
            ("a module has no timers: call a channel that waits", "at Later.timer (test/modules/later/later.py:"),
        ),
        (
            "later/locked",
            ("RuntimeError: this `await` cannot end: ", "at Later.locked (test/modules/later/later.py:"),
        ),
        (
            "later/crash",
            ("ZeroDivisionError: division by zero", "at Later.crash (test/modules/later/later.py:"),
        ),
    ],
)
def test_an_exception_tells_its_story_in_the_log_alone(server: Servers, path: str, expected: tuple[str, ...]) -> None:
    assert server.get(f"/{path}") == (500, {"message": "internal error"})
    server.logged(*expected)


def test_an_instance_goes_on_after_exceptions_and_is_replaced_after_a_trap(server: Servers) -> None:
    for path in ("now/key-error", "now/sold-out", "later/sold-out", "later/crash", "later/locked", "later/interrupt", "now/interrupt"):
        module = path.partition("/")[0]
        assert server.get(f"/{module}/trap")[0] == 500
        counts = [server.get(f"/{module}/count")[1]]
        # Twenty traps in a row would open the circuit breaker.
        for _ in range(30):
            assert server.get(f"/{path}") == (500, {"message": "internal error"})
            counts.append(server.get(f"/{module}/count")[1])
        assert counts == list(range(1, 32))
        assert server.get(f"/{module}/trap")[0] == 500
        assert server.get(f"/{module}/count")[1] == 1


def test_errors_that_are_no_crash(server: Servers) -> None:
    assert server.get("/now/status") == (500, {"message": "the server could not answer the request"})
    server.logged("the reply is not valid: the status of the reply is '200', expected 200 to 599")
    assert server.get("/now/header") == (500, {"message": "the server could not answer the request"})
    server.logged("the reply is not valid: `bad name` cannot be the name of a header")
    assert server.get("/now/odd") == (500, {"message": "the server could not answer the request"})
    server.logged("the status of the error is 302, expected 400 to 599; it is made at test/modules/now/now.py:")
    assert server.get("/now/nothing")[0] == 500
    server.logged("`Now.nothing` returned nothing and sent no reply: return a value, or reply by")
    with pytest.raises(http.client.HTTPException):
        server.get("/now/late")
    server.logged("ValueError: late", "at Now.late (test/modules/now/now.py:")
    assert server.get("/now/emit-wrong") == (200, b"emitted")
    server.logged("the payload of `now:one`: expected a whole number, got `x`")


def test_warnings_of_python_name_their_source(server: Servers) -> None:
    assert server.get("/now/warning") == (200, b"warned")
    assert server.get("/later/forgotten") == (200, b"replied")
    server.logged("RuntimeWarning: a bad habit", "RuntimeWarning: coroutine 'Later.timer' was never awaited")
    found = re.findall(r"(\S+):\d+: RuntimeWarning", server.text())
    assert {"test/modules/now/now.py", "test/modules/later/later.py"} >= set(found) and len(found) >= 2


@pytest.mark.parametrize("module", ["now", "later"])
def test_a_program_that_catches_an_end_of_memory_or_stack_goes_on(server: Servers, module: str) -> None:
    first = server.get(f"/{module}/count")[1]
    # A list that no address space holds, and bytes that the limit of the host refuses.
    for path in ("caught-memory", f"caught-memory?bytes={1 << 30}", *(["deep"] if module == "now" else [])):
        assert server.get(f"/{module}/{path}") == (200, b"caught")
    assert server.get(f"/{module}/count")[1] == first + 1


def test_the_asynchronous_form(server: Servers) -> None:
    assert server.get("/later/7") == (200, {"user": "tea 1", "found": ["tea 7", "tea 7"]})
    assert server.get("/later/10") == (404, {"message": "no product has the id 10"})
    assert server.get("/later/stream") == (200, b"piece tea 2")
    assert server.request("POST", "/later/echo", bytes(300_000)) == (200, {"size": 300_000})
    assert server.get("/later/background") == (200, b"replied")
    server.logged("done in the background")
    assert server.get("/later/lost") == (200, b"replied")
    server.logged(
        "nothing handled the exception of a task: ValueError: nobody awaits this at test/modules/later/later.py:"
    )


def test_a_task_that_waits_in_the_host_is_cancelled(server: Servers) -> None:
    for _ in range(3):
        connection = http.client.HTTPConnection(server.later.address, timeout=60)
        connection.putrequest("POST", "/later/cancelled")
        connection.putheader("content-length", "4")
        connection.endheaders()
        # The body comes after the task was cancelled.
        time.sleep(0.2)
        connection.send(b"late")
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())) == (200, {"ended": "CancelledError", "found": "tea 3"})
        connection.close()
    assert server.get("/later/7")[0] == 200


def test_the_program_has_the_finalizers_of_python(server: Servers) -> None:
    assert server.get("/later/finalizer") == (200, b"weakref")


def test_a_channel_with_grants_has_files_and_the_time_of_the_host(server: Servers) -> None:
    status, notes = server.get("/later/notes")
    assert status == 200, server.text()
    assert abs(notes.pop("seconds") - time.time()) < 60
    expected = ["FileNotFoundError", "PermissionError", "FileNotFoundError"]
    assert notes == {"length": 100_000, "names": ["tea.txt"], "text": "Assam, black", "refused": expected}


def test_requests_share_an_instance(server: Servers) -> None:
    begun = threading.Barrier(8, timeout=60)

    def send(_: int) -> int:
        connection = http.client.HTTPConnection(server.later.address, timeout=60)
        connection.putrequest("POST", "/later/together")
        connection.putheader("content-length", "4")
        connection.endheaders()
        begun.wait()
        connection.send(b"body")
        found: int = json.loads(connection.getresponse().read())["most"]
        connection.close()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(send, range(8)))) == 8


def test_what_can_never_be_woken_ends_with_an_exception(server: Servers) -> None:
    begin = len(server.later.text())
    assert server.get("/later/caught") == (200, {"caught": ["RuntimeError"], "found": "tea 4"})
    assert server.get("/later/left") == (200, b"replied")
    server.logged("`Later.left.<locals>.worker` waited for ever after its call had ended, and was cancelled")
    leaving = http.client.HTTPConnection(server.later.address, timeout=60)
    leaving.request("GET", "/later/produced")
    assert len(leaving.getresponse().read(1000)) == 1000
    leaving.close()
    server.logged("at Later.produced.<locals>.produce (test/modules/later/later.py:")
    # The server has at most one instance for each processor, so two requests share one. The task of the first goes on.
    sharing = [http.client.HTTPConnection(server.later.address, timeout=60) for _ in range((os.cpu_count() or 1) + 1)]
    for connection in sharing:
        connection.putrequest("POST", "/later/shared")
        connection.putheader("content-length", "4")
        connection.endheaders()
    server.logged("at Later.shared (test/modules/later/later.py:")
    for connection in sharing:
        connection.send(b"body")
    replies = [connection.getresponse() for connection in sharing]
    assert {(reply.status, reply.read()) for reply in replies} == {
        (200, b"loaded"),
        (500, b'{"message":"internal error"}'),
    }
    assert server.get("/later/repeated") == (200, 100)
    assert_no_trap(server, begin)


def assert_no_trap(server: Servers, begin: int) -> None:
    assert server.get("/later/count")[0] == 200
    text = server.later.text()[begin:]
    assert "panicked" not in text and "trapped" not in text, text[-4000:]


def test_what_a_call_leaves_ends_without_it(server: Servers) -> None:
    begin = len(server.later.text())
    assert server.get("/later/first") == (200, 1)
    # It ends after its call, whose context is closed.
    server.logged("nothing handled the exception of a task: RuntimeError: the context is closed")
    assert_no_trap(server, begin)


def test_an_exception_of_a_task_that_is_no_exception_traps_nowhere(server: Servers) -> None:
    begin = len(server.later.text())
    assert server.get("/later/interrupts/gathered") == (200, ["KeyboardInterrupt"])
    for name in ("left", "callback"):
        assert server.get(f"/later/interrupts/{name}") == (200, b"replied")
    for path in ("interrupts/awaited", "mapped"):
        assert server.get(f"/later/{path}") == (500, {"message": "internal error"})
    server.logged("nothing handled the exception of a task: KeyboardInterrupt: pressed at test/modules/later/later.py:")
    server.logged("a callback failed: KeyboardInterrupt: called", "KeyboardInterrupt: mapped")
    assert_no_trap(server, begin)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("app = 7", "bad.py: the file has no `app`, expected `app = Module(controllers=[Products])`"),
        ("import ssl\n", "bad.py:1: `ssl` is a part of Python that a component does not have: call an event"),
        ("x = 1\ny = x +\n", "bad.py:2: SyntaxError: "),
        ("import nothing_of_that_name\n", "bad.py:1: No module named 'nothing_of_that_name': install the package"),
        (
            "import ast_serialize\n",
            "bad.py:1: `ast_serialize` needs `ast_serialize`, which is an extension in C or Rust",
        ),
        ("def f():\n    return {}['a']\nf()\n", "bad.py:2: KeyError: 'a'"),
        (
            "from pointwork_guest import *\n@controller()\nclass A:\n    @get()\n    def a(self): ...\n"
            "@controller()\nclass B:\n    @get()\n    def a(self): ...\napp = Module(controllers=[A, B])\n",
            "bad.py:8: the route GET / is declared twice, by `A.a` and by `B.a`",
        ),
    ],
)
def test_what_is_wrong_is_told_at_build(tmp_path: Path, source: str, expected: str) -> None:
    entry = tmp_path / "bad.py"
    if "ssl" in source or "ast_serialize" in source:
        source += "from pointwork_guest import Module, channel, on\n@channel('a')\nclass A:\n    @on('b')\n"
        source += "    def b(self): ...\n"
        source += "app = Module(channels=[A])\n"
    entry.write_text(source)
    with pytest.raises(BuildError) as found:
        build(entry, tmp_path / "bad.wasm", only_check=True)
    assert expected in str(found.value)


def test_what_would_be_the_same_in_each_instance_is_told(tmp_path: Path) -> None:
    head = "import random, time, uuid\nfrom datetime import datetime\nfrom pointwork_guest import *\n"
    page = "@controller('a')\nclass A:\n    @get()\n    def a(self): ...\napp = Module(controllers=[A])\n"
    entry = tmp_path / "frozen.py"
    entry.write_text(f"{head}{page}BEGAN = time.time()\nTODAY = datetime.now()\nDICE = random.randint(1, 6)\n")
    found = build(entry, tmp_path / "a.wasm", only_check=True).warnings
    told = [warning.partition("frozen.py:")[2] for warning in found]
    rest = "when the module is built, and is the same in each instance"
    assert told == [
        f"9: the time is read {rest}",
        f"10: the time is read {rest}",
        f"11: a random number is made {rest}",
    ]
    entry.write_text(f"{head}{page}TOKEN = uuid.uuid4()\n")
    with pytest.raises(BuildError, match=r"frozen.py:9: a secret is made .*: take it in a handler"):
        build(entry, tmp_path / "a.wasm", only_check=True)


def test_files_that_take_no_part_are_told(tmp_path: Path) -> None:
    head = "from pointwork_guest import *\n"
    page = "@controller('a')\nclass A:\n    @get()\n    def a(self): ...\n"
    (tmp_path / "shop.py").write_text(f"{head}import other\n{page}app = Module(controllers=[A])\n")
    (tmp_path / "other.py").write_text(f"{head}@channel('b')\nclass B: ...\n")
    (tmp_path / "forgotten.py").write_text(f"{head}@controller('c')\nclass C: ...\n")
    found = build(tmp_path / "shop.py", tmp_path / "shop.wasm", only_check=True)
    assert found.routes == ["GET /a"]
    assert found.warnings[0] == "the channel `B` takes no part: the module does not list it in `channels`"
    assert found.warnings[1].endswith(
        "forgotten.py: it has a class with `@controller`, and the module does not import it"
    )
    with pytest.raises(BuildError, match="nothing composes WASI into the component, expected `--compose PROGRAM`"):
        build(tmp_path / "shop.py", tmp_path / "shop.wasm")
