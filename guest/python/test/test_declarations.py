"""Declarations without an effect, or with another one than their author expects: the build refuses each with the right form."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path as File
from typing import Annotated, Any, Literal

import attrs
import pytest

from pointwork_guest import (
    Body,
    Conflict,
    Context,
    Depends,
    Forbidden,
    Module,
    ModuleProblem,
    NotFound,
    Path,
    Queries,
    Query,
    Reply,
    channel,
    controller,
    get,
    on,
    post,
    route,
)
from pointwork_guest.build import BuildError
from pointwork_guest.build.check import inspect_entry
from pointwork_guest.declarations import check_declarations
from pointwork_guest.testing import TestApp


def routed(*decorators: Callable[[Any], Any], prefix: str = "x", **more: Any) -> Module:
    def show(self: Any) -> Any: ...

    decorated: Any = show
    for decorator in decorators:
        decorated = decorator(decorated)
    return Module(controllers=[controller(prefix)(type("Shows", (), {"show": decorated}))], **more)


def refused(module: Module) -> str:
    with pytest.raises(ModuleProblem) as found:
        check_declarations(module)
    return str(found.value)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("{id}", "`{id}` in the path `{id}`, which is no parameter: expected `:id`"),
        ("a/{id:int}", "`{id:int}` in the path `a/{id:int}`, which is no parameter: expected `:id`"),
        ("{rest:path}", "expected `*rest`"),
        ("<id>", "expected `:id`"),
        ("<int:id>", "expected `:id`"),
        (":id?", "`:id?` in the path `:id?`: a parameter has no pattern and no type: expected a name"),
        (":id(\\d+)", "a parameter has no pattern and no type"),
        ("*", "`*` in the path `*`: expected a name of letters, digits, `_` and `-`, such as `*id`"),
        ("a:id", "expected a parameter as a whole segment, such as `:id` or `*rest`"),
        ("{}", "and other characters percent-encoded"),
        ("a b", "and other characters percent-encoded"),
        (":__proto__", "has the parameter `__proto__`"),
    ],
)
def test_a_path_has_the_syntax_of_the_host(path: str, message: str) -> None:
    assert message in refused(routed(get(path)))


def test_a_prefix_has_the_syntax_of_the_host() -> None:
    assert refused(routed(get(), prefix="shops/{shop}")).startswith("`Shows` has `{shop}` in the path `shops/{shop}`")
    check_declarations(routed(get(["a.b/:id-1", "*rest", "%7Bid%7D", "ä"])))


@pytest.mark.parametrize(
    ("decorator", "message"),
    [
        (route(method="get"), "`Shows.show` has the method `get`, which no client sends: expected `GET`"),
        (route(method="GET IT"), "`Shows.show` has the method `GET IT`, expected a token such as `GET`"),
        (get(status=99), "`Shows.show` has the status 99, expected 200 to 599"),
        (get(status=True), "`Shows.show` has the status True, expected 200 to 599"),
        (get(status="201"), "`Shows.show` has the status '201', expected 200 to 599"),  # type: ignore[arg-type]
        (get(body="full"), "`Shows.show` has `body='full'`, expected `none`, `whole` or `stream`"),  # type: ignore[arg-type]
        (get(headers={"x": "a\nb"}), "the value of header `x` has the byte 10"),
        (get(headers={"a b": "c"}), "`a b` cannot be the name of a header"),
        (get(headers=[("x", 1)]), "`Shows.show` has the header `x: 1`, expected texts"),  # type: ignore[list-item]
        (get(guards=[True]), "`guards` of `Shows.show` has `True`, expected a function"),  # type: ignore[list-item]
        (get(after=["hook"]), "`after` of `Shows.show` has `'hook'`, expected a function"),  # type: ignore[list-item]
        (get(skip_guards=1), "`Shows.show` has `skip_guards=1`, expected `True` or `False`"),  # type: ignore[arg-type]
        (get(tags=[1]), "`Shows.show` has the metadata `tag: 1`, expected texts"),  # type: ignore[list-item]
        (get(summary=1), "`Shows.show` has the metadata `summary: 1`, expected texts"),  # type: ignore[arg-type]
    ],
)
def test_what_a_route_declares(decorator: Any, message: str) -> None:
    assert message in refused(routed(decorator))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"guards": [1]}, "`guards` of the module has `1`, expected a function"),
        ({"errors": 5}, "`errors` of the module has `5`, expected a function"),
        ({"errors": {404: len}}, "`errors` of the module has the key `404`, expected a class of exceptions"),
        ({"errors": {KeyError: 1}}, "`errors` of the module has `1`, expected a function"),
        ({"uses": [1]}, "`uses` of the module has `1`, expected the name of an event"),
        ({"metadata": {"a": 1}}, "the module has the metadata `a: 1`, expected texts"),
        ({"variables": int}, "`int` declares variables and is no dataclass"),
    ],
)
def test_what_a_module_declares(more: dict[str, Any], message: str) -> None:
    assert message in refused(routed(get(), **more))


def test_variables_are_texts_and_numbers() -> None:
    class Mode(StrEnum):
        FAST = "fast"

    @dataclass
    class Good:
        mode: Mode
        size: Annotated[int, "a size"] = 1

    @dataclass
    class Numbers:
        mode: Literal[1, 2]

    @dataclass
    class Constrained:
        size: Annotated[int, object()]

    check_declarations(routed(get(), variables=Good))
    assert "`Numbers.mode` cannot be a variable" in refused(routed(get(), variables=Numbers))
    assert "`Constrained.size`: nothing enforces" in refused(routed(get(), variables=Constrained))


def test_a_parameter_of_some_paths() -> None:
    @controller("x")
    class Some:
        @get(["", ":id"])
        def show(self, id: int = 0) -> Any: ...

        @get(["a", "a/:name"])
        def marked(self, name: Annotated[str, Query()] = "") -> Any: ...

    assert refused(Module(controllers=[Some])) == (
        "`Some.show` has the parameter `id`, which only some of its paths have: expected two handlers, `Query()` for one of the query, "
        "or `ctx.params.get('id')`"
    )


def test_a_guard_reads_the_parameters_of_the_path() -> None:
    def owner(id: int = 1) -> None:
        if id != 1:
            raise Forbidden()

    def missing(other: Annotated[int, Path()]) -> None: ...

    @controller("x", guards=[owner])
    class Guarded:
        @get(":id")
        def show(self, id: int) -> Any:
            return id

        @get()
        def all(self) -> Any:
            return []

    app = TestApp(Module(controllers=[Guarded]))
    assert [app.get(target).status for target in ("/x/1", "/x/2", "/x/2?id=1", "/x")] == [200, 403, 403, 200]
    with pytest.raises(TypeError, match="missing` reads the path parameter `other`, which its paths do not have"):
        TestApp(routed(get(":id", guards=[missing])))


def test_a_dependency_is_called() -> None:
    with pytest.raises(TypeError, match=r"`Depends\(5\)` has nothing to call, expected a function or a class"):
        Depends(5)  # type: ignore[arg-type]


def test_the_metadata_of_channels() -> None:
    @channel("c", summary=1)  # type: ignore[arg-type]
    class Listens:
        @on("a", description=2)  # type: ignore[arg-type]
        def a(self) -> None: ...

    told = refused(Module(channels=[Listens]))
    assert "`Listens` has the metadata `summary: 1`" in told and "`Listens.a` has the metadata `description: 2`" in told


def test_the_build_tells_it(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "braces.py").write_text(
        "from pointwork_guest import Module, controller, get\n@controller('a')\nclass A:\n    @get('{id}')\n"
        "    def a(self): ...\napp = Module(controllers=[A])\n"
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        BuildError, match=r"`A.a` has `\{id\}` in the path `\{id\}`, which is no parameter: expected `:id`"
    ):
        inspect_entry(File("braces.py"))


class TooMuch(Exception): ...


class FarTooMuch(TooMuch): ...


def test_errors_by_their_classes() -> None:
    @controller("x")
    class Fails:
        @get()
        def show(self, kind: str) -> Any:
            raise {"http": NotFound("no x"), "much": TooMuch("5"), "far": FarTooMuch("6"), "key": KeyError("a")}.get(
                kind
            ) or MemoryError()

    def fault(error: Exception, ctx: Context) -> Any:
        raise ValueError("a mistake")

    given: Any = {
        NotFound: lambda error, ctx: {"title": error.message, "path": ctx.path},
        TooMuch: lambda error, ctx: Reply.json({"most": str(error)}, status=429),
        KeyError: lambda error, ctx: {"key": str(error)},
        MemoryError: lambda error, ctx: "caught",
    }
    module = Module(controllers=[Fails], errors=given)
    with pytest.raises(ModuleProblem, match="the key `MemoryError`, which traps the instance: expected none"):
        check_declarations(module)
    app = TestApp(module)
    assert [
        (app.get(f"/x?kind={kind}").status, app.get(f"/x?kind={kind}").json())
        for kind in ("http", "much", "far", "key")
    ] == [
        (404, {"title": "no x", "path": "/x"}),
        (429, {"most": "5"}),
        (429, {"most": "6"}),
        (500, {"key": "'a'"}),
    ]
    assert app.get("/x").status == 400
    with pytest.raises(MemoryError):
        app.get("/x?kind=memory")
    other = TestApp(
        Module(controllers=[Fails], errors={TooMuch: lambda error, ctx: Conflict("taken"), KeyError: fault})
    )
    assert (other.get("/x?kind=much").status, other.get("/x?kind=http").status) == (409, 404)
    failed = other.get("/x?kind=key")
    assert (failed.status, failed.json(), type(failed.exception)) == (500, {"message": "internal error"}, KeyError)
    assert failed.lines[0].message.startswith("the function behind `errors:` failed: ValueError: a mistake at ")


def test_defaults_are_used_or_refused() -> None:
    @dataclass
    class Item:
        name: str = "a"

    @controller("x")
    class Shows:
        @get()
        def show(self, tags: list[str] = ["a"], page: int | None = 1) -> Any:
            tags.append("b")
            return [tags, page]

    app = TestApp(Module(controllers=[Shows]))
    assert [app.get("/x").json() for _ in range(2)] == [[["a", "b"], 1]] * 2

    def of_path(self: Any, id: int = 5) -> Any: ...
    def of_body(self: Any, item: Item | None = None) -> Any: ...
    def of_query(self: Any, item: Annotated[Item, Queries()] = Item()) -> Any: ...
    def of_function(self: Any, item: Annotated[str, Depends(str)] = "a") -> Any: ...

    for function, what in (
        (of_path, "the parameter `id` is in the path of each request"),
        (of_body, "the parameter `item` is the body"),
        (of_query, "the parameter `item` is the whole query"),
        (of_function, "the parameter `item` is what a function makes"),
    ):
        with pytest.raises(TypeError) as found:
            TestApp(Module(controllers=[controller("x")(type("Shows", (), {"show": get(":id")(function)}))]))
        assert f"{what}, so that its default would have no effect: expected none" in str(found.value)


@dataclass
class Titled:
    name: str


@dataclass(init=False)
class Bare:
    name: str


@dataclass(init=False)
class Wider(Titled):
    price: int


@attrs.define(init=False)
class BareAttrs:
    name: str


class Renamed(Titled):
    def __init__(self, title: str) -> None:
        super().__init__(title)


@dataclass(init=False)
class Demanding:
    name: str = ""

    def __init__(self, name: str) -> None:
        self.name = name


class Amount(int):
    def __new__(cls, value: int, unit: str) -> "Amount":
        return super().__new__(cls, value)


@pytest.mark.parametrize(
    ("hint", "name", "problem"),
    [
        (Bare, "Bare", "got an unexpected keyword argument `name`"),
        (list[Bare], "Bare", "got an unexpected keyword argument `name`"),
        (Wider, "Wider", "got an unexpected keyword argument `price`"),
        (BareAttrs, "BareAttrs", "got an unexpected keyword argument `name`"),
        (Renamed, "Renamed", "missing a required argument: `title`"),
        (Demanding, "Demanding", "missing a required argument: `name`"),
        (dict[str, Amount], "Amount", "missing a required argument: `unit`"),
    ],
)
def test_a_type_whose_constructor_does_not_take_its_fields_is_refused(hint: Any, name: str, problem: str) -> None:
    def create(self: Any, body: Any) -> None: ...

    create.__annotations__["body"] = Annotated[hint, Body()]
    with pytest.raises(TypeError) as found:
        TestApp(Module(controllers=[controller("x")(type("Made", (), {"create": post()(create)}))]))
    assert f"`{name}` cannot be made of its JSON: {problem}: expected a constructor that takes" in str(found.value)


@dataclass(init=False)
class Own:
    name: str
    price: int = 1

    def __init__(self, **fields: Any) -> None:
        self.name, self.price = fields["name"], fields.get("price", 2)


def test_a_type_with_a_constructor_of_its_own_is_a_body() -> None:
    @controller("x")
    class Shop:
        @post()
        def create(self, body: Own) -> Own:
            return body

        @get()
        def show(self) -> Bare:
            made = Bare()
            made.name = "tea"
            return made

    app = TestApp(Module(controllers=[Shop]))
    assert app.post("/x", json={"name": "tea"}).json() == {"name": "tea", "price": 2}
    assert app.get("/x").json() == {"name": "tea"}
