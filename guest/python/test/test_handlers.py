"""Handlers, their parameters, their replies and their errors."""

import contextvars
import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import pytest

from pointwork_guest import (
    BadRequest,
    Conflict,
    Context,
    Cookie,
    Depends,
    Event,
    Form,
    Header,
    HttpError,
    Invalid,
    Module,
    NotFound,
    Payload,
    Queries,
    Query,
    Reply,
    any_method,
    controller,
    env,
    get,
    log,
    patch,
    post,
    put,
    raw,
    route,
    settings,
)
from pointwork_guest.log import Lines
from pointwork_guest.testing import TestApp


@dataclass
class Product:
    id: int
    name: str


@dataclass
class NewProduct:
    name: str
    price: int
    tags: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise Invalid("expected a name", "name")


class Change(TypedDict, total=False):
    name: str


ONE = Event[dict[str, int], Product | None]("db:one")
VIEWED = Event[int, None]("product:viewed")


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Page:
    page: int = 1
    tag: list[str] = field(default_factory=list)


@dataclass
class Settings:
    token: str = field(metadata={"description": "a token"})
    page_size: int = 20
    mode: Literal["fast", "slow"] = "fast"


class Prices:
    def of(self, id: int) -> int:
        return id * 100


@controller("products")
class Products:
    @get()
    def list(self, page: int = 1, tag: list[str] = [], color: Color | None = None) -> Any:
        return {"page": page, "tag": tag, "color": color, "size": settings(Settings).page_size}

    @get("page")
    def page(self, page: Annotated[Page, Queries()]) -> Page:
        return page

    @get("search")
    def search(self, q: str, limit: Annotated[int, Query("max")] = 5) -> Any:
        return [q, limit]

    @get(":id")
    def show(self, id: int, ctx: Context, prices: Annotated[Prices, Depends(Prices)]) -> Any:
        found = ctx.call(ONE, {"id": id})
        if found is None:
            raise NotFound("no such product", id=id)
        ctx.emit(VIEWED, id)
        return {"id": found.id, "name": found.name, "price": prices.of(id)}

    @get(":id/image")
    def image(self, ctx: Context) -> Any:
        return ctx.call("db:image", 7)

    @get(":id/label")
    def label(self, ctx: Context) -> None:
        ctx.hand_over("response:send", "label")

    @post(status=201, headers={"x-made": "yes"})
    def create(self, product: NewProduct) -> NewProduct:
        return product

    @put()
    def replace(self, change: Annotated[Change, Form(or_json=True)]) -> Any:
        return change

    @patch()
    def upload(self, ctx: Context) -> Any:
        return [[part.name, part.file_name, part.content_type, len(part.bytes())] for part in ctx.parts()]

    @route(["props", "properties"], method="PROPFIND")
    @route("props", method="MKWORKSPACE")
    def props(
        self, agent: Annotated[str, Header("user-agent")] = "none", sid: Annotated[str | None, Cookie()] = None
    ) -> Any:
        return [agent, sid]

    @any_method("*rest")
    def other(self, rest: str) -> Any:
        return {"rest": rest}


MODULE = Module(controllers=[Products], variables=Settings)


def app() -> TestApp:
    return TestApp(MODULE, variables={"TOKEN": "t"}).on(
        ONE, lambda payload: {"id": 7, "name": "tea"} if payload["id"] == 7 else None
    )


def test_a_handler_reads_parameters_calls_emits_and_returns_a_value() -> None:
    answer = app().get("/products/7")
    assert answer.json() == {"id": 7, "name": "tea", "price": 700}
    assert answer.header("content-type") == "application/json"
    assert (answer.called("db:one"), answer.emitted("product:viewed")) == ([{"id": 7}], [7])


def test_an_error_is_a_reply_with_its_further_fields() -> None:
    answer = app().get("/products/8")
    assert (answer.status, answer.json()) == (404, {"message": "no such product", "id": 8})
    malformed = app().get("/products/x")
    assert (malformed.status, malformed.json()["message"]) == (
        400,
        "path parameter `id`: expected a whole number, got `x`",
    )


def test_a_failed_call_keeps_its_status_and_from_500_on_the_client_learns_nothing() -> None:
    def fail(error: HttpError) -> Any:
        def listener(_: Any) -> Any:
            raise error

        return listener

    conflict = app().on(ONE, fail(Conflict("taken"))).get("/products/7")
    assert (conflict.status, conflict.json()["message"]) == (409, "taken")
    down = app().on(ONE, fail(HttpError("table gone", status=503))).get("/products/7")
    assert (down.status, down.json()["message"]) == (503, "the server could not answer the request")
    assert down.lines[0].message == "`db:one` failed with `failed`: table gone"
    assert TestApp(MODULE).get("/products/7").status == 500


def test_the_result_of_a_typed_event_is_checked() -> None:
    wrong = app().on(ONE, lambda _: {"id": 7}).get("/products/7")
    assert (wrong.status, wrong.json()["message"]) == (500, "internal error")
    assert str(wrong.exception).startswith("the result of `db:one` does not fit its type: `name`: missing field")


def test_an_event_whose_result_has_no_type_of_json_is_told() -> None:
    event = Event[int, TestApp]("db:wrong")
    with pytest.raises(TypeError, match="the result of the event `db:wrong`: `TestApp` has no form in JSON, expected"):
        TestApp(MODULE)
    assert str(event) == "db:wrong"


def test_a_dependency_is_replaced() -> None:
    class Free(Prices):
        def of(self, id: int) -> int:
            return 0

    changed = TestApp(MODULE, overrides={Prices: Free}).on(ONE, lambda _: {"id": 7, "name": ""})
    assert changed.get("/products/7").json()["price"] == 0


def test_the_query_headers_cookies_and_variables() -> None:
    assert app().get("/products?page=2&tag=a&tag=b&color=red").json() == {
        "page": 2,
        "tag": ["a", "b"],
        "color": "red",
        "size": 20,
    }
    assert app().get("/products/page?tag=a").json() == {"page": 1, "tag": ["a"]}
    twice = app().get("/products/page?page=1&page=2").json()
    assert twice["fields"] == [{"field": "page", "message": "expected one value, got 2"}]
    assert app().get("/products/search?q=a%20b&max=3").json() == ["a b", 3]
    for target, message in [
        ("/products/search", "query parameter `q`: it is missing"),
        ("/products?page=x", "query parameter `page`: expected a whole number, got `x`"),
        ("/products?color=x", "query parameter `color`: expected `red` or `blue`, got `x`"),
        ("/products?page=%ff", "query: `page`: expected UTF-8"),
        ("/products?%ff=1", "query: expected UTF-8"),
    ]:
        wrong = app().get(target)
        assert (wrong.status, wrong.json()["message"]) == (400, message)
    named = app().request("PROPFIND", "/products/properties", headers={"User-Agent": "me"}, cookies={"sid": "a b"})
    assert named.json() == ["me", "a b"]
    faulty = TestApp(MODULE, variables={"TOKEN": "t", "PAGE_SIZE": "x"}).get("/products")
    assert (faulty.status, faulty.lines[0].message) == (
        500,
        "the variable `PAGE_SIZE` does not fit: expected a whole number",
    )
    missing = TestApp(MODULE).get("/products")
    assert missing.lines[0].message == "the variable `TOKEN` is missing: expected a text"


def test_bodies_by_their_type() -> None:
    made = app().post("/products", json={"name": "tea", "price": 5})
    assert (made.status, made.header("x-made"), made.json()) == (201, "yes", {"name": "tea", "price": 5, "tags": []})
    wrong = app().post("/products", json={"name": 7, "price": 1.5, "tags": "a"})
    assert wrong.status == 422
    assert wrong.json() == {
        "message": "3 fields are not valid",
        "fields": [
            {"field": "name", "message": "expected a text, got `7`"},
            {"field": "price", "message": "expected a whole number, got `1.5`"},
            {"field": "tags", "message": "expected a list, got `a`"},
        ],
    }
    blank = app().post("/products", json={"name": " ", "price": 5})
    assert blank.json()["fields"] == [{"field": "name", "message": "expected a name"}]
    assert app().put("/products", form={"name": "tea"}).json() == {"name": "tea"}
    assert app().put("/products", json={"name": 1}).status == 422
    malformed = app().post("/products", body='{"name": tea}')
    assert (malformed.status, malformed.json()["message"]) == (400, "body: expected a JSON value at line 1 column 10")
    assert app().post("/products", body="a", headers={"content-type": "text/csv"}).status == 415
    binary = app().post("/products", body=b"\xff")
    assert (binary.status, binary.json()["message"]) == (400, "the body is not UTF-8")
    nan = app().post("/products", body='{"name": NaN}')
    assert (nan.status, nan.json()["message"]) == (400, "body: `NaN` is no JSON")
    assert app().post("/products", body=f'{{"price": {"9" * 5000}}}').status == 400


def test_a_body_of_several_parts() -> None:
    answer = app().patch("/products", form={"title": "tea"}, files={"image": ("tea.png", bytes(200_000), "image/png")})
    assert answer.json() == [["title", None, None, 3], ["image", "tea.png", "image/png", 200_000]]
    headers = {"content-type": "multipart/form-data; boundary=b"}
    for body, message in [
        (
            '--b\r\ncontent-disposition: form-data; name="a"\r\n\r\ntea',
            "body: expected the end of the parts, got the end of the body",
        ),
        ("--b\r\nx-a: b\r\n\r\ntea\r\n--b--", "body: a part has no header `content-disposition`"),
        ("--bad\r\nmore", "body: expected a line break after the boundary"),
        (
            '--b\r\ncontent-disposition: form-data; name="a"\r\nno colon\r\n\r\ntea\r\n--b--',
            "body: expected `name: value`",
        ),
    ]:
        wrong = app().patch("/products", body=body, headers=headers)
        assert wrong.status == 400
        assert wrong.json()["message"].startswith(message)
    empty = app().patch("/products", body="--b--", headers=headers)
    assert empty.json() == []


def test_the_context_goes_to_a_listener_and_bytes_come_from_one() -> None:
    given = app().get("/products/7/label")
    assert (given.is_open, given.handed_over("response:send")) == (True, ["label"])
    answer = app().on("db:image", lambda _: Payload("image/png", b"\1\2")).get("/products/1/image")
    assert (answer.header("content-type"), answer.bytes()) == ("image/png", b"\1\2")


def test_the_manifest() -> None:
    manifest = app().manifest
    routes = [(one["name"], one["method"], one["paths"]) for one in manifest["controllers"][0]["routes"]]
    assert routes[0] == ("list", "GET", [])
    assert [one for one in routes if one[0] == "props"] == [
        ("props", "PROPFIND", ["props", "properties"]),
        ("props", "MKWORKSPACE", ["props"]),
    ]
    assert app().request("PURGE", "/products/a/b%20c").json() == {"rest": "a/b c"}
    assert {"db:image", "db:one", "product:viewed", "response:send"} <= set(manifest["events_used"])
    schema = json.loads(dict(manifest["metadata"])["variables-schema"])
    assert schema == {
        "type": "object",
        "properties": {
            "TOKEN": {"type": "string", "description": "a token"},
            "PAGE_SIZE": {"type": "integer", "default": 20},
            "MODE": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
        },
        "required": ["TOKEN"],
    }


def test_the_module_makes_the_body_of_its_errors() -> None:
    def problem(error: HttpError, ctx: Context) -> Reply:
        return Reply.json({"title": error.message}, headers={"content-type": "application/problem+json"})

    def faulty(error: HttpError, ctx: Context) -> Reply:
        raise KeyError("x")

    def forging(error: HttpError, ctx: Context) -> Reply:
        return Reply.text(error.message, headers={"x-title": "a\nb"})

    answer = TestApp(Module(controllers=[Products], errors=problem)).get("/products/x")
    assert (answer.status, answer.header("content-type")) == (400, "application/problem+json")
    assert answer.json()["title"].startswith("path parameter `id`")
    wrong = TestApp(Module(controllers=[Products], errors=faulty)).get("/products/x")
    assert (wrong.status, "message" in wrong.json()) == (400, True)
    assert wrong.lines[0].message.startswith("the function behind `errors:` failed: KeyError: 'x' at ")
    forged = TestApp(Module(controllers=[Products], errors=forging)).get("/products/x")
    assert (forged.status, "message" in forged.json()) == (400, True)
    assert "the value of header `x-title` has the byte 10" in forged.lines[0].message


def test_a_handler_that_fails_lets_go_of_its_body() -> None:
    kept: list[Any] = []

    @controller("bodies")
    class Bodies:
        @post(body="stream")
        def read(self, ctx: Context) -> None:
            chunks = ctx.chunks()
            kept.append(chunks)
            next(chunks)
            raise BadRequest("enough")

    assert TestApp(Module(controllers=[Bodies])).post("/bodies", body=b"x" * 200_000).status == 400
    # The generator is still there, and its resource is not.
    assert kept[0].gi_frame.f_locals["body"]._raw is None


def test_output_in_an_empty_context_is_logged() -> None:
    out = Lines(raw.Level.INFO, 0)

    @controller("x")
    class Prints:
        @get()
        def show(self) -> str:
            empty = contextvars.Context()
            empty.run(print, "printed", "apart", file=out)
            empty.run(print, "unfinished", end="", file=out)
            out.end()
            empty.run(log.info, "logged apart")
            return empty.run(lambda: env["GREETING"])

    answer = TestApp(Module(controllers=[Prints]), variables={"GREETING": "hello"}).get("/x")
    assert answer.text() == "hello"
    assert [line.message for line in answer.lines] == ["printed apart", "unfinished", "logged apart"]
