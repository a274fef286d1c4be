"""Values of clients, and what a request leaves behind."""

import decimal
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, NewType

import pytest
from annotated_types import MultipleOf

from pointwork_guest import (
    Body,
    CallError,
    Context,
    Form,
    Header,
    Invalid,
    Module,
    Queries,
    Query,
    channel,
    controller,
    get,
    on,
    post,
)
from pointwork_guest.decorators import BodyMode
from pointwork_guest.testing import TestApp
from pointwork_guest.validation import structurer

SEEN = ContextVar("SEEN", default=0)


@dataclass
class Page:
    first: int


@controller("values")
class Values:
    @get("seen")
    def seen(self) -> Any:
        SEEN.set(SEEN.get() + 1)
        decimal.getcontext().prec += 1
        return [SEEN.get(), decimal.getcontext().prec]

    @get("number")
    def number(self, f: float = 0.0, d: Decimal = Decimal(0)) -> Any:
        return [f, str(d)]

    @get("page")
    def page(self, page: Annotated[Page, Queries()]) -> Page:
        return page

    @post("json")
    def json(self, ctx: Context) -> Any:
        return [ctx.json()]

    @post("decimals")
    def decimals(self, body: dict[str, Decimal]) -> Any:
        return body


@channel("seen")
class Seen:
    @on("one")
    def one(self) -> int:
        SEEN.set(SEEN.get() + 1)
        return SEEN.get()


APP = TestApp(Module(controllers=[Values], channels=[Seen]))


def test_a_request_and_a_delivery_set_variables_of_a_context_for_themselves() -> None:
    precision = decimal.getcontext().prec
    assert [APP.get("/values/seen").json() for _ in range(2)] == [[1, precision + 1]] * 2
    assert [APP.deliver("seen:one") for _ in range(2)] == [1, 1]
    assert (SEEN.get(), decimal.getcontext().prec) == (0, precision)


def test_a_number_of_a_client_is_finite() -> None:
    assert APP.get("/values/number?f=1e308&d=1e999").json() == [1e308, "1E+999"]
    for query, message in [
        ("f=1e999", "query parameter `f`: expected a number, got `1e999`"),
        ("f=inf", "query parameter `f`: expected a number, got `inf`"),
        ("d=NaN", "query parameter `d`: expected a decimal number, got `NaN`"),
        ("d=sNaN", "query parameter `d`: expected a decimal number, got `sNaN`"),
        ("d=1e99999999", "query parameter `d`: expected a decimal number, got `1e99999999`"),
        ("d=-1e-4301", "query parameter `d`: expected a decimal number, got `-1e-4301`"),
    ]:
        wrong = APP.get(f"/values/number?{query}")
        assert (wrong.status, wrong.json()["message"]) == (400, message)
    # It takes hours, unless the time grows with the length alone.
    assert APP.get(f"/values/number?f={'1' * 1_000_000}x").status == 400
    for text in ("1e999", "-1e999", "9" * 400 + ".0"):
        wrong = APP.post("/values/json", body=f'{{"a": [{text}]}}')
        assert (wrong.status, wrong.json()["message"]) == (
            400,
            f"body: `{text[:32]}` is larger than a number can be",
        )
    assert APP.post("/values/json", body="[1.5, 2e3]").json() == [[1.5, 2000.0]]
    wrong = APP.post("/values/decimals", body='{"a": "Infinity"}')
    assert (wrong.status, wrong.json()["fields"][0]["field"]) == (422, "a")


def test_a_query_that_does_not_fit_is_400_with_the_fields() -> None:
    wrong = APP.get("/values/page?first=x")
    assert wrong.status == 400
    assert wrong.json()["fields"] == [{"field": "first", "message": "expected a whole number, got `x`"}]


Id = NewType("Id", int)


def test_names_of_types_and_tuples_are_read_from_the_query() -> None:
    @controller("names")
    class Names:
        @get(":id")
        def show(self, id: Id, other: Id, ids: tuple[int, ...], more: list[Id] | None = None) -> Any:
            return [id, other, ids, more]

    app = TestApp(Module(controllers=[Names]))
    assert app.get("/names/1?other=2&ids=3&ids=4&more=5").json() == [1, 2, [3, 4], [5]]
    assert app.get("/names/1?other=2").json() == [1, 2, [], None]
    assert app.get("/names/x?other=2").status == 400


def test_a_list_of_a_handler_with_a_body_says_where_it_is_from() -> None:
    def made(hint: Any, default: Any = None, *, body: BodyMode = "whole") -> TestApp:
        def add(self: Any, values: Any) -> Any:
            return values

        add.__annotations__["values"] = hint
        if default is not None:
            add.__defaults__ = (default,)
        return TestApp(Module(controllers=[controller("x")(type("Lists", (), {"add": post(body=body)(add)}))]))

    for hint in (list[float], list[float] | None, tuple[int, ...]):
        with pytest.raises(TypeError, match="the parameter `values` is a list, of the body or of the query: expected"):
            made(hint)
    assert made(Annotated[list[float], Body()]).post("/x", json=[1, 2]).json() == [1, 2]
    assert made(Annotated[list[float], Query()]).post("/x?values=1", json=[2]).json() == [1]
    assert made(list[float], [3.0]).post("/x").json() == [3]
    assert made(list[float], body="none").post("/x?values=4").json() == [4]
    assert made(list[Page]).post("/x", json=[{"first": 1}]).json() == [{"first": 1}]


def test_what_is_no_object_and_what_has_too_many_digits_is_told() -> None:
    @controller("objects")
    class Objects:
        @post("any")
        def any(self, body: dict[str, Any]) -> Any:
            return body

        @post("numbers")
        def numbers(self, body: dict[str, dict[str, int]]) -> Any:
            return body

        @post("bare")
        def bare(self, body: dict) -> Any:  # type: ignore[type-arg]
            return body

    app = TestApp(Module(controllers=[Objects]))
    for path, body, field, got in [
        ("any", "[1]", "", "a list"),
        ("bare", '"a"', "", "`a`"),
        ("numbers", '{"a": 1}', "a", "`1`"),
        ("numbers", "null", "", "`null`"),
    ]:
        wrong = app.post(f"/objects/{path}", body=body)
        assert wrong.json()["fields"] == [{"field": field, "message": f"expected an object, got {got}"}]
    assert app.post("/objects/numbers", body='{"a": {"b": 1}}').json() == {"a": {"b": 1}}
    long = app.post("/objects/any", body=f'{{"a": {"9" * 5000}}}')
    assert (long.status, long.json()["message"]) == (400, "body: a whole number has more than 4300 digits")


Price = Annotated[Decimal, MultipleOf(Decimal("0.01"))]


def test_a_decimal_has_as_many_digits_as_a_whole_number() -> None:
    most, more = "9" * 4300, "9" * 4301
    compilers = [structurer(Decimal, of_texts=of_texts) for of_texts in (False, True)]
    for read in compilers:
        for text in (most, f"-{most}", f"0.{most[1:]}", f"{most[1:]}.5e1", "0" * 5000 + "1", "1e4300"):
            assert read(text) == Decimal(text)
        for text in (more, f"-{more}", f"0.{more}", f"{more[1:]}.5", f"{more}e-20", "1." + "0" * 4300, "1e4301"):
            with pytest.raises(Invalid, match=r"expected a decimal number, got `"):
                read(text)

    @controller("prices")
    class Prices:
        @get(":price")
        def show(self, price: Decimal, other: Decimal = Decimal(0), x_price: Annotated[Decimal, Header()] = Decimal(0)) -> str:
            return "read"

        @post("form")
        def form(self, prices: Annotated[dict[str, Decimal], Form()]) -> str:
            return "read"

        @post()
        def create(self, prices: Annotated[list[Price], Body()]) -> str:
            return "read"

    @channel("prices")
    class Listeners:
        @on("price")
        def price(self, price: Decimal) -> None: ...

    app = TestApp(Module(controllers=[Prices], channels=[Listeners]))
    assert app.get(f"/prices/{most}?other={most}", headers={"x-price": most}).status == 200
    for target, headers in ((f"/{more}", {}), (f"/1?other={more}", {}), ("/1", {"x-price": more})):
        assert app.get(f"/prices{target}", headers=headers).status == 400
    assert [app.post("/prices/form", form={"a": text}).status for text in (most, more)] == [200, 422]
    assert [app.post("/prices", json=[text]).status for text in (most, more)] == [200, 422]
    with pytest.raises(CallError, match="expected a decimal number"):
        app.deliver("prices:price", more)
    # A check that costs the square of the digits would take minutes.
    assert app.post("/prices", json=["9" * 1_000_000]).status == 422
