"""Types and constraints of what clients and callers send: each is enforced, or refused when the module is made."""

from dataclasses import InitVar, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypedDict, TypeVar
from uuid import UUID

import attrs
import pytest
from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MaxLen, MinLen, MultipleOf, Predicate, Timezone

from pointwork_guest import (
    Body,
    CallError,
    Context,
    Event,
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
    settings,
)
from pointwork_guest.misfits import Invalid as Wrong, Misfit
from pointwork_guest.readers import COMPILERS
from pointwork_guest.testing import TestApp

T = TypeVar("T")


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Color(str, Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Plain(Enum):
    YES = True
    HALF = 0.5


class Spelled(StrEnum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> "Spelled | None":
        return cls.A if value == "A" else None


class Sku(str):
    def __new__(cls, text: str) -> "Sku":
        if not text.startswith("sku-"):
            raise ValueError("expected an SKU that begins with `sku-`")
        return super().__new__(cls, text)


@dataclass
class Choices:
    size: Size
    color: Color
    level: Level


def problems(hint: Any, value: Any, *, of_texts: bool = False, closed: bool = False) -> list[tuple[Any, str]]:
    """What is wrong with a value, or nothing."""
    try:
        COMPILERS[of_texts, closed].reader(hint).read(value)
    except Misfit as error:
        return [(".".join(map(str, path)), message) for path, message in error.found]
    except Wrong as error:
        return [(".".join(map(str, error.path)), str(error))]
    return []


def made(hint: Any, value: Any, *, of_texts: bool = False) -> Any:
    return COMPILERS[of_texts, False].reader(hint).read(value)


def refusal(hint: Any, *, of_texts: bool = False) -> str:
    with pytest.raises(TypeError) as found:
        COMPILERS[of_texts, False].reader(hint)
    return str(found.value)


CHOICE = Event[Size, Level]("enums:choice")


@controller("enums")
class Enums:
    @post("body")
    def body(self, body: Choices) -> Any:
        return [type(body.size).__name__, type(body.color).__name__, type(body.level).__name__]

    @get("query")
    def query(self, size: Size, level: Level = Level.LOW, colors: list[Color] = []) -> Any:
        return [type(size).__name__, type(level).__name__, *(type(one).__name__ for one in colors)]

    @get("sku")
    def sku(self, sku: Sku) -> Any:
        return type(sku).__name__

    @get("path/:size")
    def path(self, size: Size) -> Any:
        return type(size).__name__

    @get("header")
    def header(self, size: Annotated[Size, Header()]) -> Any:
        return type(size).__name__


@channel("enums")
class EnumChannel:
    @on(CHOICE)
    def choice(self, size: Size) -> Level:
        assert type(size) is Size
        return Level.HIGH


def test_enums_with_a_type_of_json_are_validated_and_converted() -> None:
    app = TestApp(Module(controllers=[Enums], channels=[EnumChannel]))
    assert app.post("/enums/body", json={"size": "s", "color": "red", "level": 2}).json() == ["Size", "Color", "Level"]
    wrong = app.post("/enums/body", json={"size": "x", "color": 1, "level": 7})
    assert (wrong.status, wrong.json()["fields"]) == (
        422,
        [
            {"field": "size", "message": "expected `s` or `l`, got `x`"},
            {"field": "color", "message": "expected `red`, got `1`"},
            {"field": "level", "message": "expected `1` or `2`, got `7`"},
        ],
    )
    assert app.get("/enums/query?size=s&level=2&colors=red").json() == ["Size", "Level", "Color"]
    for target in ("query?size=y", "query?size=s&level=9", "query?size=s&colors=blue", "path/y"):
        assert app.get(f"/enums/{target}").status == 400
    assert (app.get("/enums/sku?sku=sku-1").text(), app.get("/enums/sku?sku=1").status) == ("Sku", 400)
    assert app.get("/enums/path/l").text() == "Size"
    assert app.get("/enums/header", headers={"size": "s"}).text() == "Size"
    assert app.get("/enums/header", headers={"size": "y"}).status == 400
    assert app.deliver("enums:choice", "s") == 2
    with pytest.raises(CallError, match="expected `s` or `l`, got `y`"):
        app.deliver("enums:choice", "y")


def test_enums_and_literals_are_exact() -> None:
    assert (made(Plain, True), made(Plain, 0.5)) == (Plain.YES, Plain.HALF)
    assert problems(Plain, 1) and problems(Level, True) and problems(Level, "1") and problems(Size, ["s"])
    assert made(Level, "2", of_texts=True) is Level.HIGH and made(Plain, "true", of_texts=True) is Plain.YES
    assert made(Spelled, "A") is Spelled.A and problems(Spelled, "b")
    assert made(Literal[1, True], True) is True and made(Literal[1, True], 1) == 1
    assert problems(Literal[1], "1") and made(Literal[1], "1", of_texts=True) == 1
    assert made(Literal[Color.RED], "red") is Color.RED
    assert "is a set of flags" in refusal(Flag("Flags", "A B"))
    assert "has the value `(1, 2)`, expected texts" in refusal(Enum("Pairs", {"A": (1, 2)}))


Positive = Annotated[int, Gt(0)]


@pytest.mark.parametrize(
    ("hint", "fits", "wrong", "message"),
    [
        (Annotated[int, Gt(0)], 1, 0, "expected a whole number greater than 0, got `0`"),
        (Annotated[float, Ge(0.5)], 0.5, 0.4, "expected a number of at least 0.5, got `0.4`"),
        (Annotated[Decimal, Lt(Decimal(2))], "1", "2", "expected a decimal number less than 2, got `2`"),
        (
            Annotated[int, Le(9), MultipleOf(3)],
            9,
            8,
            "expected a whole number of at most 9 and that is a multiple of 3, got `8`",
        ),
        (Annotated[int, Interval(ge=1, lt=3)], 2, 3, "expected a whole number of at least 1 and less than 3, got `3`"),
        (Annotated[str, MinLen(2)], "ab", "a", "expected a text of at least 2 characters, got `a`"),
        (Annotated[list[int], MaxLen(1)], [1], [1, 2], "expected a list of at most 1 items, got a list"),
        (
            Annotated[set[int], Len(1, 2)],
            [1],
            [],
            "expected a list of at least 1 items and of at most 2 items, got a list",
        ),
        (Annotated[str, Predicate(str.islower)], "a", "A", "expected a text that passes `islower`, got `A`"),
        (
            Annotated[date, Ge(date(2026, 1, 1))],
            "2026-01-02",
            "2025-01-02",
            "of at least `2026-01-01`, got `2025-01-02`",
        ),
        (Annotated[int | None, Gt(0)], None, 0, "expected a whole number greater than 0, got `0`"),
        (list[Positive], [1], [1, 0], "expected a whole number greater than 0, got `0`"),
        (dict[str, Positive], {"a": 1}, {"a": 0}, "expected a whole number greater than 0, got `0`"),
    ],
)
def test_constraints_of_annotated_types_are_enforced(hint: Any, fits: Any, wrong: Any, message: str) -> None:
    assert problems(hint, fits) == []
    assert problems(hint, wrong)[0][1].endswith(message)


@dataclass
class Age:
    years: Annotated[int, Ge(0)]


def test_constraints_hold_in_bodies_queries_paths_events_and_variables() -> None:
    @dataclass
    class Settings:
        most: Annotated[int, Gt(0)]
        size: Size = Size.SMALL

    @controller("ages")
    class Ages:
        @post()
        def body(self, age: Age) -> Any:
            return age

        @get(":id")
        def show(
            self, id: Annotated[int, Gt(0)], page: Annotated[int | None, Query(), Ge(1), "the page"] = None
        ) -> Any:
            return [id, page]

        @get()
        def most(self) -> Any:
            return settings(Settings).most

    @channel("ages")
    class AgesChannel:
        @on("set")
        def set(self, years: Annotated[int, Ge(0)]) -> int:
            return years

    module = Module(controllers=[Ages], channels=[AgesChannel], variables=Settings)
    app = TestApp(module, variables={"MOST": "0"})
    assert app.post("/ages", json={"years": -1}).json()["fields"][0]["field"] == "years"
    assert app.get("/ages/1?page=1").json() == [1, 1]
    assert [app.get(f"/ages/{target}").status for target in ("0", "1?page=0", "1")] == [400, 400, 200]
    with pytest.raises(CallError, match="expected a whole number of at least 0, got `-1`"):
        app.deliver("ages:set", -1)
    failed = app.get("/ages")
    assert (failed.status, failed.lines[0].message) == (
        500,
        "the variable `MOST` does not fit: expected a whole number greater than 0",
    )


def test_what_does_not_enforce_is_refused() -> None:
    @dataclass
    class Deep:
        ages: list[Annotated[int, attrs.validators.ge(0)]]

    class Doc:
        """As that of `typing_extensions`."""

    assert made(Annotated[int, "an age", Doc()], 1) == 1
    assert "nothing enforces" in refusal(Annotated[int, object()])
    assert refusal(Deep).startswith("`Deep.ages`: nothing enforces `<Validator for x >= 0>`")
    assert "nothing enforces" in refusal(Annotated[datetime, Timezone(None)])
    assert "`Gt(gt=0)` cannot be a constraint of a text" in refusal(Annotated[str, Gt(0)])
    assert "`MinLen(min_length=1)` cannot be a constraint of a whole number" in refusal(Annotated[int, MinLen(1)])
    assert "cannot be a constraint of a whole number" in refusal(Annotated[int, Gt("a")])
    assert "is within a type, expected it at the type of the whole parameter" in refusal(list[Annotated[int, Query()]])
    assert "`complex` has no form in JSON" in refusal(complex)
    assert "`bytes` has no form in JSON" in refusal(list[bytes])
    assert "texts have no objects" in refusal(Pair[Age], of_texts=True)
    assert "texts have no lists of" in refusal(list[Age], of_texts=True)


@dataclass
class Pair(Generic[T]):
    value: T
    more: "list[Pair[T]]" = field(default_factory=list)


def test_a_parameter_has_one_source() -> None:
    def two(self: Any, a: Annotated[int, Query(), Header()]) -> None: ...

    with pytest.raises(TypeError, match="the parameter `a`: .* are at one parameter, expected one of them"):
        TestApp(Module(controllers=[controller("x")(type("Two", (), {"two": get()(two)}))]))
    with pytest.raises(TypeError, match="`extra` is `deny`, expected `ignore` or `forbid`"):

        def extra(self: Any, a: Annotated[Age, Body(extra="deny")]) -> None: ...

        TestApp(Module(controllers=[controller("x")(type("Extra", (), {"extra": post()(extra)}))]))


class Point(NamedTuple):
    x: int
    y: int = 0


class Patch(TypedDict, total=False):
    name: str
    tags: NotRequired[list[str]]


@dataclass
class Circle:
    kind: Literal["circle"]
    radius: float


@dataclass
class Square:
    kind: Literal["square"]
    side: float


@dataclass
class Cat:
    name: str


@dataclass
class Named:
    name: str


@dataclass
class KeptCat(Cat):
    id: int


@attrs.define
class Account:
    name: str = attrs.field(validator=attrs.validators.matches_re("[a-z]+"))
    age: int = attrs.field(validator=[attrs.validators.ge(0), attrs.validators.instance_of(int)], default=1)
    _hidden: int = attrs.field(default=0)

    @age.validator
    def _check(self, attribute: Any, value: int) -> None:
        if value > 150:
            raise ValueError("expected the age of a person")


@pytest.mark.parametrize("step", [0.01, Decimal("0.01")])
def test_a_multiple_is_judged_by_its_digits(step: Any) -> None:
    for kind in (float, Decimal):
        hint: Any = Annotated[kind, MultipleOf(step)]
        good = [0.07, 0.29, 1.1, 4.35, 19.99, 1e300, 0, -0.07, 7]
        assert [value for value in good if problems(hint, value)] == []
        assert all(problems(hint, value) for value in (0.075, 1e-9, -0.001))
    whole = Annotated[int, MultipleOf(step)]
    assert problems(whole, 7) == problems(whole, 10**40) == problems(whole, "7", of_texts=True) == []
    assert problems(Annotated[int, MultipleOf(3)], 10**40) and not problems(Annotated[int, MultipleOf(3)], 3 * 10**40)


def test_a_bound_of_a_decimal_is_judged_by_its_digits() -> None:
    for constraint in (Ge(0.1), Le(0.1), Interval(ge=0.1, le=0.1)):
        assert problems(Annotated[Decimal, constraint], "0.1") == []
    assert problems(Annotated[Decimal, Gt(0.1)], "0.1") and problems(Annotated[Decimal, Lt(0.1)], "0.1")


def test_errors_tell_texts_from_numbers() -> None:
    assert problems(Level, "2") == [("", "expected `1` or `2`, got the text `2`")]
    assert problems(Literal["1", "a"], 1) == [("", "expected the text `1` or `a`, got `1`")]
    assert problems(int, "2") == [("", "expected a whole number, got the text `2`")]
    assert problems(bool, "true") == [("", "expected `true` or `false`, got the text `true`")]
    assert problems(int, "two") == [("", "expected a whole number, got `two`")]
    assert problems(Level, "3", of_texts=True) == [("", "expected `1` or `2`, got `3`")]
    assert problems(int, "1.5", of_texts=True) == [("", "expected a whole number, got `1.5`")]
    assert problems(bool, "1", of_texts=True) == [("", "expected `true` or `false`, got `1`")]
    assert problems(UUID, "1", of_texts=True) == [("", "expected a UUID, got `1`")]


def test_types_of_the_standard_library_and_of_attrs() -> None:
    assert made(Pair[int], {"value": 1, "more": [{"value": 2}]}) == Pair(1, [Pair(2)])
    assert problems(Pair[int], {"value": 1, "more": [{"value": "x"}]}) == [
        ("more.0.value", "expected a whole number, got `x`")
    ]
    assert (made(Point, [1]), made(tuple[int, str], [1, "a"])) == (Point(1), (1, "a"))
    assert problems(Point, []) == [("", "expected a list of 1 to 2 items, got 0")]
    assert made(Patch, {"name": "a", "more": 1}) == {"name": "a"}
    assert made(dict[int, Size], {"1": "s"}) == {1: Size.SMALL}
    assert problems(dict[int, Size], {"x": "s"}) == [("x", "expected a whole number, got `x`")]
    shape = Circle | Square
    assert (made(shape, {"kind": "circle", "radius": 1}), made(shape, {"kind": "square", "side": 1})) == (
        Circle("circle", 1.0),
        Square("square", 1.0),
    )
    assert problems(shape, {"kind": "line"}) == [("", "expected the fields of `Circle` or `Square`")]
    assert made(KeptCat | Cat, {"name": "a"}) == Cat("a") and made(Cat | KeptCat, {"name": "a", "id": 1}) == KeptCat(
        "a", 1
    )
    assert "cannot be told apart, expected a field" in refusal(Cat | Named)
    assert made(int | str, "1", of_texts=True) == 1 and made(int | str, "a", of_texts=True) == "a"
    assert problems(int | bool | None, "x") == [("", "expected a whole number or `true` or `false`, got `x`")]
    assert type(made(Sku, "sku-1")) is Sku
    assert problems(Sku, "1") == [("", "expected an SKU that begins with `sku-`")]


def test_validators_of_attrs_name_the_field_and_nothing_else() -> None:
    assert made(Account, {"name": "ada", "_hidden": 2}) == Account("ada", 1, 2)
    found = problems(Account, {"name": "A"})
    assert [name for name, _ in found] == ["name"] and "Attribute(" not in found[0][1]
    assert problems(Account, {"name": "a", "age": -1}) == [("age", "'age' must be >= 0: -1")]
    assert problems(Account, {"name": "a", "age": 151}) == [("age", "expected the age of a person")]
    inner = problems(list[Account], [{"name": "a"}, {"name": "a", "age": 151}])
    assert inner == [("1.age", "expected the age of a person")]

    @attrs.define
    class Typed:
        value: Any = attrs.field(validator=attrs.validators.instance_of(int))

    assert problems(Typed, {"value": "x"}) == [("value", "'value' must be `int` (got 'x' that is a `str`).")]


def test_declarations_of_fields_that_nothing_reads_are_refused() -> None:
    @dataclass
    class WithInitVar:
        value: int
        other: InitVar[int]

    @attrs.define
    class Aliased:
        value: int = attrs.field(alias="other")

    assert "`WithInitVar.other` is an `InitVar`" in refusal(WithInitVar)
    assert "`Aliased.value` has the alias `other`, which is that of the constructor alone" in refusal(Aliased)


def test_an_exception_of_a_constructor_that_is_no_verdict_is_no_fault_of_the_client() -> None:
    @dataclass
    class Faulty:
        value: int

        def __post_init__(self) -> None:
            if self.value == 0:
                raise Invalid("expected another value", "value")
            if self.value == 1:
                raise ValueError("expected two")
            raise KeyError("a mistake")

    assert problems(Faulty, {"value": 0}) == [("value", "expected another value")]
    assert problems(Faulty, {"value": 1}) == [("", "expected two")]
    with pytest.raises(KeyError):
        made(Faulty, {"value": 2})


@dataclass
class Item:
    name: str
    inner: list[Age] = field(default_factory=list)


def test_unknown_keys_are_ignored_or_forbidden() -> None:
    @controller("items")
    class Items:
        @post("open")
        def open(self, item: Item) -> Any:
            return item

        @post("closed")
        def closed(self, item: Annotated[Item, Body(extra="forbid")]) -> Any:
            return item

        @post("form")
        def form(self, patch: Annotated[Patch, Form(or_json=True, extra="forbid")]) -> Any:
            return patch

        @get()
        def query(self, patch: Annotated[Patch, Queries(extra="forbid")]) -> Any:
            return patch

    app = TestApp(Module(controllers=[Items]))
    body = {"name": "a", "admin": True, "inner": [{"years": 1, "role": "x"}]}
    assert app.post("/items/open", json=body).json() == {"name": "a", "inner": [{"years": 1}]}
    closed = app.post("/items/closed", json=body)
    assert (closed.status, closed.json()["fields"]) == (
        422,
        [{"field": "inner.0.role", "message": "unknown field"}, {"field": "admin", "message": "unknown field"}],
    )
    assert app.post("/items/form", form={"name": "a", "x": "y"}).json()["fields"] == [
        {"field": "x", "message": "unknown field"}
    ]
    assert app.post("/items/form", json={"x": 1}).status == 422
    assert (app.get("/items?name=a").status, app.get("/items?x=1").status) == (200, 400)


def test_a_result_that_does_not_fit_its_event_is_told() -> None:
    @controller("results")
    class Results:
        @get()
        def show(self, ctx: Context) -> Any:
            return ctx.call(Event[Size, Level]("results:one"), Size.SMALL)

        @get("none")
        def none(self, ctx: Context) -> Any:
            return [ctx.call(Event[Size, None]("results:one"), Size.SMALL)]

    app = TestApp(Module(controllers=[Results]))
    assert app.on("results:one", lambda size: 2).get("/results").json() == 2
    assert app.get("/results/none").json() == [None]
    failed = app.on("results:one", lambda size: 7).get("/results")
    assert failed.status == 500 and "expected `1` or `2`, got `7`" in str(failed.exception)
