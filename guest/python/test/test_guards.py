"""Guards, and hooks that see what became of a request."""

import functools
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Hashable,
    Iterable,
    Iterator,
    Sequence,
)
from typing import Annotated, Any, NewType, Protocol, TypeVar, cast

import pytest
from annotated_types import Gt

from pointwork_guest import BaseContext, Context, Depends, Forbidden, Header, HttpError, Module, NotFound, Reply, controller, get
from pointwork_guest.testing import TestApp, TestResponse


def signed_in(ctx: Context) -> str:
    user = ctx.call("users:of", ctx.bearer())
    if not user:
        raise HttpError("who is it?", status=403)
    return str(user)


def staff(x_staff: Annotated[str | None, Header()]) -> bool:
    return x_staff is not None


def traced(outcome: Reply | HttpError, ctx: BaseContext) -> Reply | HttpError | None:
    if isinstance(outcome, HttpError) and outcome.status == 401:
        return Reply.redirect("/sign in")
    return outcome.header("x-traced", "yes") if isinstance(outcome, Reply) else None


@controller("account", guards=[signed_in], after=[traced])
class Account:
    @get()
    def show(self, user: Annotated[str, Depends(signed_in)]) -> str:
        return f"signed in as {user}"

    @get("terms", skip_guards=True)
    def terms(self) -> str:
        return "be kind"

    @get("staff", guards=[staff])
    def staff(self) -> str:
        return "staff"


def test_guards_refuse_and_give_a_value_and_hooks_see_what_they_refuse() -> None:
    account = TestApp(Module(controllers=[Account])).on("users:of", lambda token: "Ada" if token == "t" else None)
    headers = {"authorization": "Bearer t"}
    known = account.get("/account", headers=headers)
    assert (known.text(), known.header("x-traced"), known.called("users:of")) == ("signed in as Ada", "yes", ["t"])
    nobody = account.get("/account")
    assert (nobody.status, nobody.header("location")) == (303, "/sign%20in")
    assert account.get("/account", headers={"authorization": "Bearer x"}).status == 403
    assert account.get("/account/terms").text() == "be kind"
    assert account.get("/account/staff", headers=headers).status == 403
    assert account.get("/account/staff", headers={**headers, "x-staff": "1"}).text() == "staff"
    metadata = account.manifest["controllers"][0]["routes"][0]["metadata"]
    assert metadata == [("guard", "signed_in"), ("after", "traced")]


def wrapped(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return wrapper


def plainly(function: Any) -> Any:
    """A decorator that leaves no trace of the function."""

    def wrapper(ctx: BaseContext) -> Any:
        return function(ctx)

    return wrapper


def forgetful(function: Any) -> Any:
    """A decorator that lacks an `await`."""

    async def wrapper(ctx: BaseContext) -> Any:
        return function(ctx)

    return wrapper


async def refuses_later(ctx: BaseContext) -> bool:
    return False


async def raises_later(ctx: BaseContext) -> None:
    raise NotFound()


async def allows_later(ctx: BaseContext) -> bool:
    return True


class Task:
    """An awaitable that is no coroutine."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        yield from ()
        return self.value


class Callable_:
    async def __call__(self, ctx: BaseContext) -> bool:
        return False


class Returns:
    def __call__(self, ctx: BaseContext) -> Any:
        return refuses_later(ctx)


def answer_later(guard: Any) -> TestResponse:
    @controller("x", guards=[guard])
    class Secret:
        @get()
        async def show(self) -> str:
            return "secret"

    return TestApp(Module(controllers=[Secret])).get("/x")


def answer_now(guard: Any) -> TestResponse:
    @controller("x", guards=[guard])
    class Secret:
        @get()
        def show(self) -> str:
            return "secret"

    return TestApp(Module(controllers=[Secret])).get("/x")


ASYNC_GUARDS: list[tuple[Any, int]] = [
    (refuses_later, 403),
    (raises_later, 404),
    (allows_later, 200),
    *((wrap(refuses_later), 403) for wrap in (wrapped, plainly, functools.partial)),
    *((wrap(raises_later), 404) for wrap in (plainly, functools.partial)),
    *((wrap(allows_later), 200) for wrap in (wrapped, plainly, functools.partial)),
    *((forgetful(guard), status) for guard, status in ((refuses_later, 403), (raises_later, 404), (allows_later, 200))),
    (plainly(forgetful(forgetful(refuses_later))), 403),
    (forgetful(lambda ctx: Task(False)), 403),
    (Callable_(), 403),
    (Returns(), 403),
    (functools.partial(plainly(refuses_later)), 403),
    (lambda: Task(False), 403),
    (lambda: Task(True), 200),
    (lambda: Task(None), 403),
]


@pytest.mark.parametrize(("guard", "status"), ASYNC_GUARDS)
def test_an_awaitable_of_a_guard_is_awaited(guard: Any, status: int) -> None:
    assert answer_later(guard).status == status


@pytest.mark.parametrize("guard", [guard for guard, _ in ASYNC_GUARDS])
def test_an_awaitable_of_a_guard_lets_no_request_pass_in_the_synchronous_form(guard: Any) -> None:
    # A coroutine function is refused at the build, an awaitable when the guard returns it.
    try:
        answer = answer_now(guard)
    except TypeError as error:
        assert "is `async def` in a module of the synchronous form" in str(error)
    else:
        assert answer.status == 500
        assert "nothing waits for it in a module of the synchronous form" in str(answer.exception)


def denying(function: Any) -> Any:
    """A decorator that forgets to refuse."""

    @functools.wraps(function)
    def inner(*arguments: Any) -> Any:
        return None

    return inner


class Proxy:
    """As a decorator of `wrapt`, which has the attributes of its function."""

    def __init__(self, function: Any) -> None:
        self.inner = function

    @property
    def __wrapped__(self) -> Any:
        return self.inner

    def __call__(self, ctx: BaseContext) -> None: ...


def admits(ctx: BaseContext) -> None: ...


class Door:
    @denying
    def admits(self, ctx: BaseContext) -> None: ...

    __call__: Any = denying(admits)


class Wrapper:
    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)

    def __call__(self, ctx: BaseContext) -> None: ...


class Empty:
    """An object that Python counts as false."""

    def __len__(self) -> int:
        return 0


class Role:
    """A value that may have no hash."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Role) and self.name == other.name

    def __call__(self, x_role: Annotated[str, Header()]) -> bool:
        return x_role == self.name

    __hash__ = None  # type: ignore[assignment]


def returns(value: Any, hint: Any = ...) -> Any:
    def guard() -> Any:
        return value

    guard.__annotations__ = {} if hint is ... else {"return": hint}
    return guard


@pytest.mark.parametrize(
    ("guard", "status"),
    [
        *((returns(value), 403) for value in (None, False, "", 0)),
        (returns({}), 403),
        *((returns(value, bool), 403) for value in (None, False, "", 0)),
        *((returns(value, Any), 403) for value in (None, False, "", 0)),
        *((returns(value), 200) for value in (True, "Ada", 1)),
        (returns(True, bool), 200),
        (returns(None, None), 200),
        (returns(None, "None"), 200),
        (returns(False, None), 403),
        (returns("", str), 200),
        (returns(0, int), 200),
        (returns([], list[str]), 200),
        (returns(None, str), 403),
        (returns(None, str | None), 403),
        (returns("Ada", str | None), 200),
        (returns(True, str), 200),
        (returns(NotFound()), 404),
        (returns(NotFound(), str), 404),
        (Account, 200),
        (functools.partial(Account), 200),
        (Empty, 403),
        (functools.partial(Empty), 403),
    ],
)
def test_a_guard_lets_pass_by_true_by_its_type_and_by_nothing_if_it_says_so(guard: Any, status: int) -> None:
    assert answer_now(guard).status == status
    assert answer_later(guard).status == status


@pytest.mark.parametrize(
    "guard",
    [
        denying(admits),
        denying(denying(admits)),
        functools.partial(denying(admits)),
        functools.partial(functools.partial(denying(admits))),
        functools.partial(Door().admits),
        functools.partial(cast(Any, Door())),
        Door().admits,
        Door(),
        Wrapper(admits),
        Proxy(admits),
    ],
)
def test_a_guard_that_is_declared_to_return_nothing_has_no_decorator(guard: Any) -> None:
    for answer in (answer_now, answer_later):
        with pytest.raises(TypeError, match="declared `-> None` and has a decorator.*`-> bool`.*`return True`"):
            answer(guard)


def test_a_decorated_guard_without_a_declared_none_is_called() -> None:
    with pytest.raises(TypeError, match="declared `-> None` and has a decorator"):
        answer_later(denying(raises_later))

    @wrapped
    def admits_by_value(ctx: BaseContext) -> bool:
        return True

    assert answer_now(admits_by_value).status == answer_later(admits_by_value).status == 200
    denied = denying(admits_by_value)
    assert answer_now(denied).status == answer_later(denied).status == 403


def test_a_guard_and_a_dependency_need_no_hash() -> None:
    admin, staff = Role("admin"), Role("staff")

    @controller("x", guards=[admin], after=[Hook()])
    class Secret:
        @get(guards=[admin])
        def show(self, is_admin: Annotated[bool, Depends(admin)]) -> bool:
            return is_admin

        @get("both", guards=[staff])
        def both(self) -> str:
            return "never"

    app = TestApp(Module(controllers=[Secret], errors=Hook()))
    assert app.get("/x", headers={"x-role": "staff"}).json() == {"message": "refused"}
    assert app.get("/x", headers={"x-role": "admin"}).json() is True
    assert app.get("/x", headers={"x-role": "staff"}).status == 403
    assert app.get("/x/both", headers={"x-role": "admin"}).status == 403


class Hook:
    def __call__(self, outcome: Any, ctx: BaseContext) -> Any:
        return Reply.json({"message": "refused"}, status=403) if isinstance(outcome, HttpError) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hook)

    __hash__ = None  # type: ignore[assignment]


def staff_of(role: str = "") -> Any:
    def guard() -> bool:
        return False

    return guard


def own_context(ctx: BaseContext) -> Any:
    return ctx


def own_declared_context(ctx: BaseContext) -> BaseContext:
    return ctx


def in_steps() -> Any:
    yield False


@pytest.mark.parametrize(
    "guard",
    [
        returns("Ada", int),
        returns(Reply(), Reply),
        staff_of,
        plainly(lambda _: in_steps()),
        Returns,
        *(returns(value, bool) for value in ("no", 1, (False, "no"))),
        *(returns(value) for value in (Forbidden, ValueError("no"), ValueError, NotImplemented, Account, iter("no"))),
        *(returns(value, object) for value in (Forbidden, map(str, "no"))),
        *(returns(value) for value in (Door(), Role(), functools.partial(staff_of))),
        own_context,
        own_declared_context,
    ],
)
def test_what_no_guard_can_mean_is_an_error(guard: Any) -> None:
    for answer in (answer_now(guard), answer_later(guard)):
        assert answer.status == 500
        assert re.match("the guard .* returned", str(answer.exception))


class Called:
    def __call__(self) -> bool:
        return False


class Steps:
    def __iter__(self) -> "Steps":
        return self

    def __next__(self) -> bool:
        return False


class Undecided(Steps, list[bool]):
    """An iterator that is a list as well."""


class Checks(Protocol):
    def __call__(self) -> bool: ...


UserIterator = NewType("UserIterator", map)  # type: ignore[type-arg]
READ = "an iterator decides nothing until it is read: declare it `-> bool`, and return `any(…)` or `all(…)` of its values"
CALLED = "it decides nothing until it is called: declare it `-> bool`, and return what the call returns"
CONSTRUED = "nothing enforces it there: declare it `-> bool`, and return whether the value fits"


@pytest.mark.parametrize(
    ("hint", "told"),
    [
        *((hint, READ) for hint in (Iterable[bool], Iterator[bool], Generator[bool, None, None], Iterable, map, Steps, UserIterator)),
        *((hint, READ) for hint in (AsyncIterable[bool], AsyncIterator[bool], AsyncGenerator[bool, None])),
        *((hint, READ) for hint in (Iterable[bool] | None, Annotated[Iterable[bool], "checks"], "Iterable[bool]", Awaitable[Iterator[bool]])),
        *((hint, CALLED) for hint in (Callable[[], bool], Callable, type, type[Account], Called, Checks, Called | None)),
        *((hint, CONSTRUED) for hint in (Annotated[int, Gt(0)], Annotated[int, Gt(0)] | None, NewType("Level", Annotated[int, Gt(0)]))),
    ],
)
def test_a_declared_type_that_decides_nothing_is_refused(hint: Any, told: str) -> None:
    for answer in (answer_now, answer_later):
        with pytest.raises(TypeError) as found:
            answer(returns([True], hint))
        assert str(found.value).startswith("the guard `returns.<locals>.guard` is declared `-> ")
        assert str(found.value).endswith(told)


def test_a_guard_may_return_what_has_parts() -> None:
    for value, hint in (([1], list[int]), ([1], Sequence[int]), ({"a": 1}, dict[str, int]), ("Ada", Annotated[str, "a name"])):
        assert answer_now(returns(value, hint)).status == answer_later(returns(value, hint)).status == 200


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (map(str, "no"), Hashable | None),
        (Undecided([True]), list[bool]),
        (Undecided([True]), list),
        (Account, Hashable),
        (Called(), Hashable),
        (len, Hashable),
        (functools.partial(len), Hashable),
        (iter("no"), Hashable),
        (iter("no"), TypeVar("T")),
    ],
)
def test_a_value_that_decides_nothing_is_an_error_whatever_its_declared_type(value: Any, hint: Any) -> None:
    for answer in (answer_now(returns(value, hint)), answer_later(returns(value, hint))):
        assert answer.status == 500
        assert re.match("the guard .* returned .*, which decides nothing", str(answer.exception))


def test_the_error_of_a_guard_names_its_declared_type() -> None:
    answer = answer_now(returns("Ada", int | None))
    assert "returned `str`, expected `True`, `False` or its declared type `int | None`" in str(answer.exception)


def test_a_dependency_and_a_hook_behind_a_decorator_are_awaited() -> None:
    async def user() -> str:
        return "Ada"

    async def marked(outcome: Reply) -> Reply:
        return outcome.header("x-marked", "yes")

    maker, hook = wrapped(user), plainly(marked)
    hook.__annotations__ = {}

    @controller("x", after=[wrapped(marked)])
    class Later:
        @get()
        async def show(
            self, one: Annotated[str, Depends(maker)], two: Annotated[str, Depends(lambda: Task("Eve"))]
        ) -> str:
            return f"{one} {two}"

    answer = TestApp(Module(controllers=[Later])).get("/x")
    assert (answer.text(), answer.header("x-marked")) == ("Ada Eve", "yes")

    @controller("x")
    class Now:
        @get("dependency")
        def dependency(self, one: Annotated[str, Depends(lambda: user())]) -> str:
            return one

        @get("hook", after=[lambda outcome: marked(outcome)])
        def hook(self) -> str:
            return ""

    for path in ("dependency", "hook"):
        answer = TestApp(Module(controllers=[Now])).get(f"/x/{path}")
        assert answer.status == 500
        assert "returned `coroutine`, and nothing waits for it" in str(answer.exception)


def test_a_handler_behind_a_decorator_has_the_form_of_its_function() -> None:
    @controller("x")
    class Later:
        @get()
        @wrapped
        async def show(self) -> str:
            return "later"

    module = Module(controllers=[Later])
    assert module.is_async
    assert TestApp(module).get("/x").text() == "later"
