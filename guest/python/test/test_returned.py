"""Returned values, results and payloads have the fields of their declared type alone."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar

import attrs
import pytest

from pointwork_guest import (
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
        (int, ADA, "expected a text or a number, got `StoredUser`"),
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
