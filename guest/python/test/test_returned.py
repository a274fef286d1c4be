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

from pointwork_guest import (
    CallError,
    Context,
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
    ],
)
def test_a_returned_type_that_no_json_has_is_refused(hint: Any, message: str) -> None:
    def show(self: Any) -> Any: ...

    show.__annotations__["return"] = hint
    with pytest.raises(TypeError) as found:
        TestApp(Module(controllers=[controller("x")(type("Shows", (), {"show": get()(show)}))]))
    assert message in str(found.value)
