"""What the build tells of declarations. It reads them alone, and makes no component."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pointwork_guest import Module, channel, controller, get, on
from pointwork_guest.build import BuildError, build
from pointwork_guest.build.runtime_patch import PatchError, free_lowered_bytes

HEAD = "from pointwork_guest import *\n"


def test_what_base_classes_declare_is_told() -> None:
    def guard() -> None: ...

    @controller("base", guards=[guard])
    class Base:
        @get("x")
        def inherited(self) -> Any: ...

        @get("y")
        def again(self) -> Any: ...

        @get("z")
        def undecorated(self) -> Any: ...

    class Between(Base):
        @get("w")
        def inherited(self) -> Any: ...

    @controller("a")
    class A(Between):
        @get("own")
        def own(self) -> Any: ...

        @get("y")
        def again(self) -> Any: ...

        def undecorated(self) -> Any: ...

    class Listens:
        @on("one")
        def one(self) -> None: ...

    @channel("c")
    class C(Listens):
        @on("two")
        def two(self) -> None: ...

    module = Module(controllers=[A], channels=[C])
    assert module.warnings == [
        "`A` has no route by `Between.inherited`, which it inherits: decorate a method of `A` itself",
        "`A` has no route by `Base.undecorated`, which it inherits: decorate a method of `A` itself",
        "the decorators of the class `Base` do not apply to `A`, which extends it: give it its own",
        "`C` has no listener by `Listens.one`, which it inherits: decorate a method of `C` itself",
    ]
    assert [handler.name for handler in module.handlers] == ["own", "again"]
    assert Module(controllers=[Base]).warnings == []


def told(folder: Path, source: str) -> str:
    entry = folder / "bad.py"
    entry.write_text(HEAD + source)
    with pytest.raises(BuildError) as found:
        build(entry, folder / "bad.wasm", only_check=True)
    return str(found.value).replace(f"{folder}/", "")


CLASS = "@controller('a')\nclass A:\n"
APP = "app = Module(controllers=[A])\n"
LISTENER = "@channel('a')\nclass A:\n    @on('b')\n    def b(self, n: complex): ...\napp = Module(channels=[A])\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("raise SystemExit(0)\n", "bad.py:2: SystemExit: 0: top-level code ends the program, expected code that"),
        ("import sys\nsys.exit('no')\n", "bad.py:3: SystemExit: no: top-level code ends the program"),
        ("import os\nos._exit(0)\n", "cannot be read: its top-level code ended Python, or wrote to the standard"),
        (
            f"{CLASS}    def __init__(self, db): ...\n    @get()\n    def a(self): ...\n{APP}",
            "bad.py:4: the class `A` is made without arguments: ",
        ),
        (
            f"{CLASS}    def __init__(self):\n        int(None)\n    @get()\n    def a(self): ...\n{APP}",
            "bad.py:5: int() argument must be",
        ),
        (
            f"{CLASS}    @get()\n    def a(self, u: list[int] | list[str]): ...\n{APP}",
            "bad.py:4: `A.a`: the parameter `u`: `list[int]` | `list[str]`: two lists cannot be told apart",
        ),
        (
            f"def user(x: complex): ...\n{CLASS}    @get()\n    def a(self, u=Depends(user)): ...\n{APP}",
            "bad.py:2: `user`: the parameter `x`: `complex` has no form in JSON, expected a dataclass",
        ),
        (LISTENER, "bad.py:4: `A.b`: the payload: `complex` has no form in JSON, expected a dataclass"),
        (
            f"{CLASS}    @get('{{id}}', status=99)\n    def a(self): ...\n    @get(guards=[1])\n    def b(self): ...\n{APP}",
            "bad.py:4: `A.a` has `{id}` in the path `{id}`, which is no parameter: expected `:id`\n"
            "bad.py:4: `A.a` has the status 99, expected 200 to 599\n"
            "bad.py:6: `guards` of `A.b` has `1`, expected a function",
        ),
        (
            f"@controller('{{id}}', guards=[1])\nclass A:\n    @get()\n    def a(self): ...\n{APP}",
            "bad.py:2: `A` has `{id}` in the path `{id}`, which is no parameter: expected `:id`\n"
            "bad.py:2: `guards` of `A` has `1`, expected a function",
        ),
        (
            f"def made(error, ctx): ...\n{CLASS}    @get()\n    def a(self): ...\n"
            "app = Module(controllers=[A], errors={404: made})\n",
            "bad.py:2: `errors` of the module has the key `404`, expected a class of exceptions",
        ),
        (
            f"{CLASS}    @get()\n    def a(self): ...\napp = Module(controllers=[A], guards=[1])\n",
            "bad.py:6: `guards` of the module has `1`, expected a function",
        ),
        (
            f"{CLASS}    @get()\n    def a(self) -> complex: ...\n{APP}",
            "bad.py:4: `A.a`: the returned type: `complex` has no form in JSON",
        ),
        (
            f"def steps():\n    yield\n@controller('a', guards=[steps])\nclass A:\n    @get()\n    def a(self): ...\n{APP}",
            "bad.py:2: the guard `steps` of `A.a` is a generator, expected a function that returns its value",
        ),
        (
            f"def steps():\n    yield\n{CLASS}    @get()\n    def a(self, x=Depends(steps)): ...\n{APP}",
            "bad.py:2: the dependency `steps` of `A.a` is a generator, expected a function that returns its value",
        ),
        (
            f"async def later(): ...\n{CLASS}    @get(guards=[later])\n    def a(self): ...\n{APP}",
            "bad.py:2: the guard `later` of `A.a` is `async def` in a module of the synchronous form",
        ),
        (
            f"class Later:\n    async def __call__(self): ...\n{CLASS}    @get(guards=[Later()])\n    def a(self): ...\n{APP}",
            "bad.py:3: the guard `Later` of `A.a` is `async def` in a module of the synchronous form",
        ),
        (f"{CLASS}    @get()\n    def a(): ...\n{APP}", "bad.py:4: `A.a` has no `self`, expected it as the first parameter"),
        (
            f"{CLASS}    @get()\n    def a(self): ...\n    @get()\n    def b(self): ...\n{APP}",
            "bad.py:6: the route GET /a is declared twice, by `A.a` and by `A.b`",
        ),
        (
            f"{CLASS}    @get()\n    def a(self): ...\n    @get('b')\n    async def b(self): ...\n{APP}",
            "bad.py:6: `A.b` is `async def` and `A.a` is `def`, expected one form in a module",
        ),
        (
            "import functools\ndef kept(f):\n    @functools.wraps(f)\n    def inner(): ...\n    return inner\n"
            f"@kept\ndef guard() -> None: ...\n@controller('a', guards=[guard])\nclass A:\n    @get()\n    def a(self): ...\n{APP}",
            "bad.py:7: the guard `guard` is declared `-> None` and has a decorator",
        ),
        (f"{CLASS}    @get(after=[lambda: None])\n    def a(self): ...\n{APP}", "bad.py:4: the hook `A.<lambda>` takes no outcome, "),
        (
            f"{CLASS}    @get()\n    def a(self): ...\napp = Module(controllers=[A], errors=lambda error: None)\n",
            "bad.py:6: `errors` of the module has `<lambda>`, which cannot be called with the error and the context",
        ),
        (
            f"{CLASS}    @get()\n    def a(self): ...\napp = Module(controllers=[A], errors={{KeyError: lambda: None}})\n",
            "bad.py:6: `errors` of the module has `<lambda>`, which cannot be called with the error and the context",
        ),
        (
            f"async def hook(outcome): ...\n{CLASS}    @get(after=[hook])\n    def a(self): ...\n{APP}",
            "bad.py:2: the hook `hook` is `async def` in a module of the synchronous form",
        ),
        (
            f"async def made(error, ctx): ...\n{CLASS}    @get()\n    def a(self): ...\n"
            "app = Module(controllers=[A], errors=made)\n",
            "bad.py:2: `errors` of the module has `made`, which is `async def` in a module of the synchronous form",
        ),
        (
            "import nothing_of_that_name\n",
            "bad.py:2: No module named 'nothing_of_that_name': install the package, which `requirements.txt` of a project "
            "names, or add the file",
        ),
    ],
)
def test_what_is_wrong_has_file_and_line(tmp_path: Path, source: str, expected: str) -> None:
    found = told(tmp_path, source)
    assert expected in found
    assert "Register" not in found


def test_a_check_needs_no_component(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(f"{HEAD}{CLASS}    @get()\n    def a(self): ...\n{APP}")
    command = [sys.executable, "-m", "pointwork_guest.build", "shop.py"]
    package = str(Path(__file__).parent.parent / "src")

    def run(*more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *more], cwd=tmp_path, env={"PYTHONPATH": package}, capture_output=True, text=True, check=False
        )

    assert (run("--check").returncode, run("--check").stderr) == (0, "  GET /a\n")
    assert '"out": null' in run("--check", "--json").stdout
    assert "required: --out" in run().stderr


def test_a_parameter_with_nearly_the_name_of_the_path_is_told(tmp_path: Path) -> None:
    handlers = """
    @get(":id")
    def a(self, idd: int): ...
    @get(["b/:product_id", "c/:product_id"])
    def b(self, productId: int): ...
    @get("d/:id")
    def d(self, ids: Annotated[str, Query()], ctx: Context): ...
    @get("e/:id")
    def e(self, page: int): ...
    @get("f/:id")
    def f(self, id: int, idd: int = 1): ...
    @get("g/:id")
    def g(self, number: Annotated[int, Path("id")], idd: int = 1): ...
"""
    (tmp_path / "near.py").write_text(f"from typing import Annotated\n{HEAD}{CLASS}{handlers}{APP}")
    found = build(tmp_path / "near.py", tmp_path / "near.wasm", only_check=True).warnings
    told = "from the query, and no parameter reads"
    assert [one.removeprefix(f"{tmp_path}/") for one in found] == [
        f"near.py:6: `A.a` reads `idd` {told} `id` of the path: give both one name, or mark `idd` with `Query()`",
        f"near.py:8: `A.b` reads `productId` {told} `product_id` of the path: "
        "give both one name, or mark `productId` with `Query()`",
    ]


def test_a_guard_that_can_end_without_a_return_is_told(tmp_path: Path) -> None:
    guards = """
def silent(ctx: BaseContext):
    if ctx.method == 'GET':
        return True
def bare(ctx: BaseContext) -> bool:
    if ctx.method == 'GET':
        return
    return True
def told(ctx: BaseContext) -> None:
    if ctx.method == 'GET':
        return
def whole(ctx: BaseContext) -> bool:
    with open('x') as file:
        for line in file:
            def inner():
                return
            if line:
                break
        else:
            return False
    try:
        return True
    except ValueError:
        raise
    finally:
        inner()
def raises(ctx: BaseContext):
    while True:
        match ctx.method:
            case 'GET':
                return True
            case _:
                raise Forbidden
def looped(ctx: BaseContext):
    while True:
        break
class Named:
    async def __call__(self, ctx: AsyncContext):
        await ctx.text()
def suppressed(ctx: BaseContext):
    with contextlib.suppress(KeyError):
        return {'GET': True}[ctx.method]
quick = lambda: True
def sometimes(function):
    @functools.wraps(function)
    def inner(ctx: BaseContext):
        if ctx.method == 'GET':
            return function(ctx)
    return inner
@sometimes
def inside(ctx: BaseContext) -> bool:
    return True
class Method:
    @sometimes
    def check(self) -> bool:
        return True
"""
    names = "silent, bare, told, whole, raises, looped, Named(), suppressed, quick, inside, "
    names += "functools.partial(Method().check)"
    app = f"@controller('a', guards=[{names}])\nclass A:\n    @get()\n    async def a(self): ...\n{APP}"
    (tmp_path / "guards.py").write_text(f"import contextlib, functools\n{HEAD}{guards}{app}")
    found = build(tmp_path / "guards.py", tmp_path / "guards.wasm", only_check=True).warnings
    told = "can end without a `return`, which refuses the request with 403: "
    told += "end it by `return True`, or declare it `-> None`"
    assert [one.rpartition("guards.py:")[2] for one in found] == [
        f"4: the guard `silent` {told}",
        f"7: the guard `bare` {told}",
        f"36: the guard `looped` {told}",
        f"40: the guard `Named.__call__` {told}",
        f"42: the guard `suppressed` {told}",
        f"47: the guard `sometimes.<locals>.inner` {told}",
    ]


def test_the_build_patches_one_release_of_componentize_py_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = tmp_path / "shop.py"
    entry.write_text(f"{HEAD}{CLASS}    @get()\n    def a(self): ...\n{APP}")
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.1.0")
    with pytest.raises(BuildError, match=r"componentize-py 0\.1\.0 is installed, expected `pip install componentize-py=="):
        build(entry, tmp_path / "shop.wasm", keep_wasi=True)
    with pytest.raises(PatchError, match="0 core modules export `wit_dylib_pop_list`, expected one"):
        free_lowered_bytes(b"\0asm\x0d\0\1\0")
