"""Returned values, results and payloads have the fields of their declared type alone."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Generic, Literal, NewType, TypedDict, TypeVar, cast
from uuid import UUID

import attrs
import pytest
from annotated_types import Gt, MaxLen, MinLen, MultipleOf, Predicate

from pointwork_guest import (
    CallError,
    Context,
    Delivery,
    Event,
    HttpError,
    Module,
    NotFound,
    Payload,
    Reply,
    ServerSentEvent,
    channel,
    controller,
    get,
    on,
    sse,
)
from pointwork_guest.crash import report_of
from pointwork_guest.testing import TestApp

T = TypeVar("T")


@dataclass
class User:
    id: int
    name: str


@dataclass
class StoredUser(User):
    password_hash: str = "secret"


@dataclass
class Team:
    owner: User
    members: list[User]
    by_name: dict[str, User | None] = field(default_factory=dict)


@dataclass
class Tree:
    user: User
    below: "list[Tree]" = field(default_factory=list)


@dataclass
class Page(Generic[T]):
    items: list[T]


class Shown(TypedDict, total=False):
    id: int
    name: str


@attrs.define
class Admin:
    id: int
    level: int


ADA = StoredUser(1, "Ada")
SHOWN = {"id": 1, "name": "Ada"}
SAVE = Event[User, User | None]("users:save")


def returned(hint: Any, value: Any) -> Any:
    """The JSON of a value that a handler returns."""

    def show(self: Any) -> Any:
        return value

    show.__annotations__["return"] = hint
    return TestApp(Module(controllers=[controller("x")(type("Shows", (), {"show": get()(show)}))])).get("/x").json()


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (User, ADA, SHOWN),
        (User | None, ADA, SHOWN),
        (list[User], [ADA, User(1, "Ada")], [SHOWN, SHOWN]),
        (tuple[User, ...], (ADA,), [SHOWN]),
        (tuple[int, User], (1, ADA), [1, SHOWN]),
        (dict[str, User], {"a": ADA}, {"a": SHOWN}),
        (
            Team,
            Team(ADA, [ADA], {"a": ADA, "b": None}),
            {"owner": SHOWN, "members": [SHOWN], "by_name": {"a": SHOWN, "b": None}},
        ),
        (Tree, Tree(ADA, [Tree(ADA)]), {"user": SHOWN, "below": [{"user": SHOWN, "below": []}]}),
        (Page[User], Page([ADA]), {"items": [SHOWN]}),
        (User, {"id": 1, "name": "Ada", "password_hash": "secret"}, SHOWN),
        (Shown, {"id": 1, "password_hash": "secret"}, {"id": 1}),
        (Shown, ADA, SHOWN),
        (User | Admin, ADA, SHOWN),
        (User | Admin, {"id": 1, "level": 2, "key": 3}, {"id": 1, "level": 2}),
        (User | list[User], [ADA], [SHOWN]),
        (StoredUser | User, ADA, {**SHOWN, "password_hash": "secret"}),
        (object, ADA, {**SHOWN, "password_hash": "secret"}),
        (dict[str, Any], {"a": [1]}, {"a": [1]}),
    ],
)
def test_only_declared_fields_are_sent(hint: Any, value: Any, expected: Any) -> None:
    assert returned(hint, value) == expected


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (User, "text", "expected `User`, got `str`"),
        (list[User], ADA, "expected a list, got `StoredUser`"),
        (int, ADA, "expected `int`, got `StoredUser`"),
        (User, {"id": 1}, "`name`: expected a value of `User`, got none"),
        (list[Team], [Team(ADA, [1])], "`0.members.0`: expected `User`, got `int`"),  # type: ignore[list-item]
        (User | int, [ADA], "expected `User` | `int`, got `list`"),
    ],
)
def test_what_is_not_of_the_declared_type_is_not_sent(hint: Any, value: Any, message: str) -> None:
    def show(self: Any) -> Any:
        return value

    show.__annotations__["return"] = hint
    app = TestApp(Module(controllers=[controller("x")(type("Shows", (), {"show": get()(show)}))]))
    assert str(app.get("/x").exception) == f"what was returned by `Shows.show` does not fit its type: {message}"


NOON = datetime(2026, 1, 31, 12)


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    ONE = 1


class Word(StrEnum):
    A = "a"


class Sku(str): ...


Id = NewType("Id", int)


@dataclass
class Flat:
    id: int
    price: float
    note: str | None = None


Positive = Annotated[int, Gt(0)]
Letter = Annotated[str, MaxLen(1)]


@dataclass
class Counted:
    count: Positive


def is_named(user: User) -> bool:
    return user.name != ""


class Unhashable:
    def __call__(self, value: int) -> bool:
        return value < 5

    __hash__ = None  # type: ignore[assignment]


MISFITS: list[tuple[Any, Any, str]] = [
    (int, "seven", "expected `int`, got `str`"),
    (int, b"seven", "expected `int`, got `bytes`"),
    (int, True, "expected `int`, got `bool`"),
    (int, 7.0, "expected `int`, got `float`"),
    (int, None, "expected `int`, got `None`"),
    (Id, "seven", "expected `int`, got `str`"),
    (Annotated[int, "a number"], "seven", "expected `int`, got `str`"),
    (float, "7", "expected `float`, got `str`"),
    (float, True, "expected `float`, got `bool`"),
    (str, 7, "expected `str`, got `int`"),
    (str, b"7", "expected `str`, got `bytes`"),
    (str, Color.RED, "expected `str`, got `Color`"),
    (Sku, "7", "expected `Sku`, got `str`"),
    (bool, 1, "expected `bool`, got `int`"),
    (bytes, "7", "expected `bytes`, got `str`"),
    (bytes, 7, "expected `bytes`, got `int`"),
    (None, "text", "expected `None`, got `str`"),
    (None, b"text", "expected `None`, got `bytes`"),
    (Color, "red", "expected `Color`, got `str`"),
    (Level, 1, "expected `Level`, got `int`"),
    (datetime, "2026-01-31T12:00:00", "expected `datetime`, got `str`"),
    (date, NOON, "expected `date`, got `datetime`"),
    (UUID, "x", "expected `UUID`, got `str`"),
    (Decimal, 7, "expected `Decimal`, got `int`"),
    (Literal["a", "b"], "c", "expected `'a'` or `'b'`, got `'c'`"),
    (Literal[1], True, "expected `1`, got `True`"),
    (Literal[1], b"1", "expected `1`, got `b'1'`"),
    (int | None, "seven", "expected `int` | `None`, got `str`"),
    (int | str, 7.0, "expected `int` | `str`, got `float`"),
    (int | bytes, "7", "expected `int` | `bytes`, got `str`"),
    (User | None, {"id": 1}, "`name`: expected a value of `User`, got none"),
    (User | None, "text", "expected `User`, got `str`"),
    (User, b"user", "expected `User`, got `bytes`"),
    (User, None, "expected `User`, got `None`"),
    (list[int], [1, "2"], "`1`: expected `int`, got `str`"),
    (tuple[int, str], (1, 2), "`1`: expected `str`, got `int`"),
    (dict[str, int], {"a": "b"}, "`a`: expected `int`, got `str`"),
    (Flat, Flat("1", 1.5), "`id`: expected `int`, got `str`"),  # type: ignore[arg-type]
    (Flat, {"id": 1, "price": "2", "note": None}, "`price`: expected `float`, got `str`"),
    (list[Flat], [Flat(1, 1), Flat(1, 1, 1)], "`1.note`: expected `str` | `None`, got `int`"),  # type: ignore[arg-type]
    (dict[int, str], {"x": "y"}, "`x`: the key: expected `int`, got `str`"),
    (dict[str, Any], {1: "y"}, "`1`: the key: expected `str`, got `int`"),
    (dict[UUID, int], {"x": 1}, "`x`: the key: expected `UUID`, got `str`"),
    (dict[Literal["a"], int], {"b": 1}, "`b`: the key: expected `'a'`, got `'b'`"),
    (list[dict[int, str]], [{}, {"x": "y"}], "`1.x`: the key: expected `int`, got `str`"),
    (Positive, -5, "expected `int` greater than 0, got `-5`"),
    (Positive, "5", "expected `int`, got `str`"),
    (Annotated[Id, Gt(0)], -5, "expected `int` greater than 0, got `-5`"),
    (Annotated[int | None, Gt(0)], -5, "expected `int` | `None` greater than 0, got `-5`"),
    (Positive | None, -5, "expected `int` greater than 0, got `-5`"),
    (list[Letter], ["a", "bc"], "`1`: expected `str` of at most 1 characters, got `bc`"),
    (Annotated[list[int], MaxLen(1)], [1, 2], "expected a list of at most 1 items, got `list`"),
    (Annotated[dict[str, int], MinLen(1)], {}, "expected an object of at least 1 items, got `dict`"),
    (dict[Letter, int], {"ab": 1}, "`ab`: the key: expected `str` of at most 1 characters, got `ab`"),
    (tuple[Positive, str], (0, "a"), "`0`: expected `int` greater than 0, got `0`"),
    (Annotated[Decimal, MultipleOf(Decimal("0.01"))], Decimal("0.001"), "expected `Decimal` that is a multiple of 0.01, got `0.001`"),
    (Annotated[date, Gt(date(2026, 1, 1))], date(2026, 1, 1), "expected `date` greater than `2026-01-01`, got `2026-01-01`"),
    (Annotated[User, Predicate(is_named)], User(1, ""), "expected `User` that passes `is_named`, got `User`"),
    (Counted, Counted(-1), "`count`: expected `int` greater than 0, got `-1`"),
    (list[Counted], [{"count": 1}, {"count": 0}], "`1.count`: expected `int` greater than 0, got `0`"),
    (Counted | User, Counted(-1), "`count`: expected `int` greater than 0, got `-1`"),
    (Annotated[int, Predicate(Unhashable())], 5, "expected `int` that passes `predicate`, got `5`"),
    (list[Annotated[int, Predicate(Unhashable())]], [5], "`0`: expected `int` that passes `predicate`, got `5`"),
]


def answering(form: str, hint: Any, value: Any) -> TestApp:
    """A handler and a listener of a declared type that return a value."""

    def function() -> Any:
        def now(self: Any) -> Any:
            return value

        async def later(self: Any) -> Any:
            return value

        made: Any = now if form == "now" else later
        made.__annotations__["return"] = hint
        return made

    page = controller("x")(type("Shows", (), {"show": get()(function())}))
    listens = channel("c")(type("Listens", (), {"one": on("one")(function())}))
    return TestApp(Module(controllers=[page], channels=[listens]))


@pytest.mark.parametrize("form", ["now", "later"])
@pytest.mark.parametrize(("hint", "value", "message"), MISFITS)
def test_a_value_of_another_kind_is_an_exception(form: str, hint: Any, value: Any, message: str) -> None:
    app = answering(form, hint, value)
    answer = app.get("/x")
    assert answer.status == 500
    assert str(answer.exception) == f"what was returned by `Shows.show` does not fit its type: {message}"
    with pytest.raises(CallError) as failed:
        app.deliver("c:one")
    assert str(failed.value.__cause__) == f"what was returned by `Listens.one` does not fit its type: {message}"


@pytest.mark.parametrize("form", ["now", "later"])
@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (int, 7, 7),
        (int, Level.ONE, 1),
        (float, 7, 7),
        (float, 7.5, 7.5),
        (str, "7", "7"),
        (str, Word.A, "a"),
        (Sku, Sku("7"), "7"),
        (bool, True, True),
        (Color, Color.RED, "red"),
        (Literal["a"], "a", "a"),
        (Literal[Color.RED], Color.RED, "red"),
        (int | None, 7, 7),
        (int | None, None, None),
        (date | str, date(2026, 1, 31), "2026-01-31"),
        (Positive, 5, 5),
        (Annotated[int | None, Gt(0)], None, None),
        (Positive | str, 5, 5),
        (Annotated[list[Letter], MaxLen(2)], ["a", "b"], ["a", "b"]),
        (Annotated[User, Predicate(is_named)], ADA, SHOWN),
        (Counted, Counted(1), {"count": 1}),
        (list[Annotated[int, Predicate(Unhashable())]], [4], [4]),
        (dict[int, str], {1: "a"}, {"1": "a"}),
        (dict[Letter, int], {"a": 1}, {"a": 1}),
        (dict[Word, int], {Word.A: 1}, {"a": 1}),
        (dict[Color, int], {Color.RED: 1}, {"red": 1}),
        (dict[date, User], {date(2026, 1, 31): ADA}, {"2026-01-31": SHOWN}),
        (dict[UUID, int], {UUID(int=1): 1}, {str(UUID(int=1)): 1}),
        (dict[Any, int], {1: 1, "a": 2}, {"1": 1, "a": 2}),
        (Flat, Flat(1, 2), {"id": 1, "price": 2, "note": None}),
        (Flat, {"note": "a", "price": 2.5, "id": 1}, {"id": 1, "price": 2.5, "note": "a"}),
        (list[Flat], [Flat(1, 2), Flat(1, 2, "a")], [{"id": 1, "price": 2, "note": None}, {"id": 1, "price": 2, "note": "a"}]),
    ],
)
def test_a_value_of_the_declared_kind_is_sent(form: str, hint: Any, value: Any, expected: Any) -> None:
    app = answering(form, hint, value)
    assert app.deliver("c:one") == expected
    answer = app.get("/x")
    assert (answer.text() if type(value) is str else answer.json()) == expected


@pytest.mark.parametrize("hint", [int, str, User, None, int | None])
def test_a_reply_an_error_a_payload_and_a_generator_have_no_declared_type(hint: Any) -> None:
    values = (Reply.text("a"), Payload("text/plain", b"a"), NotFound(), iter("a"))
    assert [answering("now", hint, value).get("/x").status for value in values] == [200, 200, 404, 200]


def test_the_payload_of_a_typed_event_has_its_type() -> None:
    number = Event[int, None]("numbers:one")

    @controller("x")
    class Emits:
        @get()
        def show(self, text: bool, ctx: Context) -> None:
            ctx.emit(number, cast(Any, "1" if text else b"1"))

    app = TestApp(Module(controllers=[Emits]))
    for text, kind in (("true", "str"), ("false", "bytes")):
        told = f"the payload of `numbers:one` does not fit its type: expected `int`, got `{kind}`"
        assert str(app.get(f"/x?text={text}").exception) == told


def test_replies_and_errors_are_not_of_the_declared_type() -> None:
    @controller("x")
    class Shows:
        @get("reply")
        def reply(self) -> User | Reply:
            return Reply.json({"a": 1}, status=202)

        @get("payload")
        def payload(self) -> User | Payload:
            return Payload("text/plain", b"a")

        @get("error")
        def error(self) -> User | HttpError:
            return NotFound("none")

        @get("sse")
        def sse(self) -> Reply:
            return sse([ServerSentEvent(ADA), ServerSentEvent(comment="a")], data=User)

        @get("stream")
        def stream(self) -> Iterator[str | bytes]:
            yield "a"

    app = TestApp(Module(controllers=[Shows]))
    assert [app.get(f"/x/{path}").status for path in ("reply", "payload", "error", "stream")] == [202, 200, 404, 200]
    assert app.get("/x/sse").text() == 'data: {"id":1,"name":"Ada"}\n\n: a\n\n'


def test_results_and_payloads_of_events_have_the_declared_fields() -> None:
    @channel("users")
    class Users:
        @on("one")
        def one(self, id: int) -> User | None:
            return ADA if id == 1 else None

        @on("all")
        def all(self) -> list[User]:
            return [ADA]

    @controller("users")
    class Shows:
        @get()
        def show(self, ctx: Context) -> Any:
            ctx.emit(SAVE, ADA)
            return ctx.call(SAVE, ADA)

    app = TestApp(Module(channels=[Users], controllers=[Shows]))
    assert (app.deliver("users:one", 1), app.deliver("users:one", 2), app.deliver("users:all")) == (
        SHOWN,
        None,
        [SHOWN],
    )
    answer = app.on(SAVE, lambda user: user).get("/users")
    assert (answer.called("users:save"), answer.emitted("users:save"), answer.json()) == ([SHOWN], [SHOWN], SHOWN)


def test_hooks_and_bodies_of_errors_have_the_declared_fields() -> None:
    def hook(outcome: Reply | HttpError) -> User | None:
        return ADA if isinstance(outcome, Reply) else None

    def body(error: HttpError, ctx: Context) -> User:
        return ADA

    @controller("x", after=[hook])
    class Shows:
        @get()
        def show(self, fails: bool = False) -> Any:
            if fails:
                raise NotFound()
            return ""

    app = TestApp(Module(controllers=[Shows], errors=body))
    assert (app.get("/x").json(), app.get("/x?fails=true").json()) == (SHOWN, SHOWN)


def test_a_function_of_errors_is_named() -> None:
    def body(error: HttpError, ctx: Context) -> int:
        return cast(int, "seven")

    @controller("x")
    class Fails:
        @get()
        def show(self) -> Any:
            raise NotFound()

    answer = TestApp(Module(controllers=[Fails], errors=body)).get("/x")
    assert answer.status == 404
    assert "what was returned by `body` does not fit its type: expected `int`, got `str`" in answer.lines[0].message


def test_the_asynchronous_form() -> None:
    @controller("x")
    class Shows:
        @get()
        async def show(self) -> User:
            return ADA

        @get("stream")
        async def stream(self) -> AsyncIterator[str]:
            yield "a"

    @channel("c")
    class Listens:
        @on("one")
        async def one(self) -> list[User]:
            return [ADA]

    app = TestApp(Module(controllers=[Shows], channels=[Listens]))
    assert (app.get("/x").json(), app.get("/x/stream").text(), app.deliver("c:one")) == (SHOWN, "a", [SHOWN])


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (TestApp, "`Shows.show`: the returned type: `TestApp` has no form in JSON"),
        (list[TestApp], "`Shows.show`: the returned type: `TestApp` has no form in JSON"),
        (Iterator[User], "the pieces of a stream are `User`, expected `str` or `bytes`; `sse(events, data=User)`"),
        (Annotated[str, Gt(0)], "the returned type: `Gt(gt=0)` cannot be a constraint of `str`"),
        (list[Annotated[bytes, MaxLen(1)]], "the returned type: `MaxLen(max_length=1)` cannot be a constraint of `bytes`"),
        (Annotated[int, object], "the returned type: nothing enforces `<class 'object'>`, expected `Gt`"),
        (Annotated[Iterator[str], MaxLen(1)], "`MaxLen(max_length=1)` cannot be a constraint of a stream"),
        (Iterator[Letter], "the pieces of a stream are"),
    ],
)
def test_a_returned_type_that_no_json_has_is_refused(hint: Any, message: str) -> None:
    def show(self: Any) -> Any: ...

    show.__annotations__["return"] = hint
    with pytest.raises(TypeError) as found:
        TestApp(Module(controllers=[controller("x")(type("Shows", (), {"show": get()(show)}))]))
    assert message in str(found.value)


def test_a_documented_stream_is_one() -> None:
    @controller("x")
    class Shows:
        @get()
        def show(self) -> Annotated[Iterator[str], "rows"]:
            yield "a"

    assert TestApp(Module(controllers=[Shows])).get("/x").text() == "a"


def test_a_payload_keeps_the_constraints_of_its_event() -> None:
    count, names = Event[Positive, None]("c:count"), Event[dict[int, Letter], None]("c:names")
    seen: list[Any] = []

    @controller("x")
    class Calls:
        @get(":how")
        def show(self, how: str, value: int, ctx: Context) -> Any:
            if how == "hand_over":
                ctx.hand_over(count, value)
                return ctx
            getattr(ctx, how)(count, value)
            return "sent"

        @get("names")
        def names(self, name: str, ctx: Context) -> str:
            ctx.emit(names, {1: name})
            return "sent"

        @get("keys")
        def keys(self, ctx: Context) -> str:
            ctx.emit(names, cast(Any, {"x": "a"}))
            return "sent"

    @channel("d")
    class Listens:
        @on("one")
        def one(self, value: int, delivery: Delivery) -> None:
            delivery.emit(count, value)
            delivery.call(count, value)

    app = TestApp(Module(controllers=[Calls], channels=[Listens])).on(count, seen.append)
    for how in ("call", "emit", "hand_over"):
        answer = app.get(f"/x/{how}?value=-1")
        assert (answer.status, answer.json()) == (500, {"message": "internal error"})
        assert str(answer.exception) == (
            "the payload of `c:count` does not fit its type: expected `int` greater than 0, got `-1`"
        )
        assert answer.exception is not None
        assert report_of(answer.exception).stack[0].function.endswith("Calls.show")
    assert (app.get("/x/call?value=1").text(), app.get("/x/emit?value=1").emitted("c:count"), seen) == ("sent", [1], [1])
    assert "`1`: expected `str` of at most 1 characters, got `ab`" in str(app.get("/x/names?name=ab").exception)
    assert "`x`: the key: expected `int`, got `str`" in str(app.get("/x/keys").exception)
    with pytest.raises(CallError) as failed:
        app.deliver("d:one", -1)
    assert "expected `int` greater than 0, got `-1`" in str(failed.value.__cause__)


def test_the_data_of_a_server_sent_event_keeps_its_constraints() -> None:
    @controller("x")
    class Shows:
        @get()
        def show(self) -> Reply:
            return sse(iter([ServerSentEvent(data=-1)]), data=Positive)

    assert "expected `int` greater than 0, got `-1`" in str(TestApp(Module(controllers=[Shows])).get("/x").exception)


def test_none_of_a_documented_or_named_type_is_null() -> None:
    for hint in (Annotated[User | None, "a user"], Annotated[Positive | None, "a number"], NewType("Nothing", object)):
        assert answering("now", hint, None).get("/x").json() is None
