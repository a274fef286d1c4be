"""Exceptions of which no reply or no usual report can be made: each ends its call alone, and the instance goes on."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pointwork_guest import (
    CallError,
    Conflict,
    Context,
    HttpError,
    Module,
    Reply,
    UncaughtException,
    ValidationError,
    channel,
    controller,
    get,
    on,
)
from pointwork_guest.crash import exception_line, report_of
from pointwork_guest.testing import TestApp, TestResponse

INTERNAL = {"message": "internal error"}


@dataclass
class SoldOut(Conflict):
    left: int


@dataclass
class Refused(Conflict):
    left: int

    def __post_init__(self) -> None:
        super().__init__(f"{self.left} left", left=self.left)


class Unmade(Conflict):
    def __init__(self) -> None:
        pass


class UnmadeCall(CallError):
    def __init__(self) -> None:
        pass


class UnmadeUncaught(UncaughtException):
    def __init__(self) -> None:
        pass


class UnmadeValidation(ValidationError):
    def __init__(self) -> None:
        pass


class Raising(Conflict):
    def __init__(self) -> None:
        pass

    @property
    def headers(self) -> Any:
        raise KeyError("headers")

    @headers.setter
    def headers(self, value: Any) -> None: ...


class RaisingClass(Conflict):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise KeyError("class")


class RaisingHidden(Conflict):
    """An error that fails when its reply is made."""

    def hidden(self) -> str | None:
        raise KeyError("hidden")


def with_parts(**parts: Any) -> Callable[[], HttpError]:
    def make() -> HttpError:
        error = Conflict("no")
        for name, value in parts.items():
            setattr(error, name, value)
        return error

    return make


BROKEN: list[tuple[Callable[[], HttpError], str]] = [
    (lambda: SoldOut(3), "`SoldOut` has no `headers`: call `super().__init__()` in its `__init__`, or in `__post_init__` of a dataclass"),
    (Unmade, "`Unmade` has no `headers`"),
    (UnmadeCall, "`UnmadeCall` has no `headers`"),
    (UnmadeUncaught, "`UnmadeUncaught` has no `headers`"),
    (UnmadeValidation, "`UnmadeValidation` has no `headers`"),
    (Raising, "headers"),
    (with_parts(headers=None), "`Conflict.headers` cannot be read, expected pairs of `str`"),
    (with_parts(headers=["abc"]), "`Conflict.headers` cannot be read"),
    (with_parts(headers=[("a", 5)]), "`Conflict.headers` cannot be read"),
    (with_parts(headers={"a": 5}), "`Conflict.headers` cannot be read"),
    (with_parts(message=5), "`Conflict.message` is of the type `int`, expected `str`"),
    (with_parts(code=None), "`Conflict.code` is of the type `NoneType`, expected `str`"),
    (with_parts(fields=[1]), "`Conflict.fields` is of the type `list`, expected `dict`"),
]


def raises(make: Callable[[], Any]) -> Any:
    raise make()


def answers(make: Callable[[], HttpError]) -> Iterator[tuple[str, TestResponse]]:
    """The answers of modules of both forms in which an error occurs at each place."""

    def fails_after() -> Iterator[str]:
        yield "a"
        raises(make)

    async def fails_after_later() -> AsyncIterator[str]:
        yield "a"
        raises(make)

    def fails_before() -> Iterator[str]:
        raises(make)
        yield "a"

    routes: dict[str, dict[str, Any]] = {
        "raised": {"call": lambda: raises(make)},
        "returned": {"call": make},
        "guard": {"guards": [lambda: raises(make)]},
        "guard-returned": {"guards": [make_guard(make)]},
        "after": {"after": [lambda outcome: raises(make)]},
        "after-returned": {"after": [lambda outcome: make()]},
        "early": {"call": fails_before},
        "late": {"call": fails_after},
    }
    for name, options in routes.items():
        call = options.pop("call", lambda: "ok")

        @controller("x")
        class Now:
            @get("plain", **options)
            def plain(self) -> Any:
                return call()

        @controller("x")
        class Later:
            @get("plain", **options)
            async def plain(self) -> Any:
                return fails_after_later() if name == "late" else call()

        for of in (Now, Later):
            yield name, TestApp(Module(controllers=[of])).get("/x/plain")


def make_guard(make: Callable[[], HttpError]) -> Any:
    def guard() -> Any:
        return make()

    return guard


@pytest.mark.parametrize(("make", "told"), BROKEN)
def test_an_error_without_its_parts_is_an_exception_that_names_them(make: Any, told: str) -> None:
    for name, answer in answers(make):
        if name == "late":
            assert (answer.status, answer.is_finished, answer.text()) == (200, False, "a")
        else:
            assert (name, answer.status, answer.json()) == (name, 500, INTERNAL)
        assert told in str(answer.exception), name
        assert answer.exception is not None
        assert told in report_of(answer.exception).message


@pytest.mark.parametrize("make", [RaisingClass, RaisingHidden])
def test_an_error_whose_attributes_fail_ends_its_call_alone(make: Any) -> None:
    for name, answer in answers(make):
        assert (name, answer.status in (409, 500) or name == "late") == (name, True)


def test_the_report_of_an_error_without_its_parts_has_the_place_where_it_is_raised() -> None:
    @controller("x")
    class Shop:
        @get()
        def show(self) -> str:
            raise SoldOut(3)

    answer = TestApp(Module(controllers=[Shop])).get("/x")
    assert answer.exception is not None
    report = report_of(answer.exception)
    assert (report.exception, report.stack[0].function.rpartition(".")[2]) == ("TypeError", "show")


def test_a_dataclass_that_makes_its_error_is_the_reply() -> None:
    for name, answer in answers(lambda: Refused(3)):
        if name != "late":
            assert (name, answer.status, answer.json()) == (name, 409, {"message": "3 left", "left": 3})


@pytest.mark.parametrize("headers", [{"abc": "d"}, {"ab": "c"}, [["ab", "c"]], (("ab", "c"),), {"ab": ["c"]}])
def test_headers_that_are_replaced_are_sent(headers: Any) -> None:
    for name, answer in answers(with_parts(headers=headers)):
        if name != "late":
            assert (name, answer.status, answer.header([*dict(headers)][0])) == (name, 409, [*dict(headers).values()][0][0])


@pytest.mark.parametrize("parts", [{"headers": None}, {"message": 5}, {"fields": [1]}, {"exception": None}])
def test_an_error_that_a_hook_or_a_function_of_errors_breaks_is_an_exception(parts: Any) -> None:
    def breaks(error: Any, *_: Any) -> Any:
        for name, value in parts.items():
            setattr(error, name, value)
        return None

    @controller("x", after=[lambda outcome: breaks(outcome)])
    class Now:
        @get("http")
        def http(self) -> Any:
            raise Conflict()

        @get("other")
        def other(self) -> Any:
            raise KeyError

    @controller("y")
    class Mapped:
        @get("http")
        def http(self) -> Any:
            raise Conflict()

    @controller("x", after=[lambda outcome: breaks(outcome)])
    class Later:
        @get("http")
        async def http(self) -> Any:
            raise Conflict()

        @get("other")
        async def other(self) -> Any:
            raise KeyError

    for of in (Now, Later):
        app = TestApp(Module(controllers=[of]))
        expected = 409 if "exception" in parts else 500
        assert [app.get(f"/x/{name}").status for name in ("http", "other")] == [expected, 500]
    errors: Any
    for errors in (breaks, {Conflict: breaks}):
        app = TestApp(Module(controllers=[Mapped], errors=errors))
        assert app.get("/y/http").status == (409 if "exception" in parts else 500)


@pytest.mark.parametrize(("make", "told"), BROKEN)
def test_a_listener_with_an_error_without_its_parts_fails_as_by_an_exception(make: Any, told: str) -> None:
    @channel("now")
    class Now:
        @on("raised")
        def raised(self) -> Any:
            raises(make)

        @on("returned")
        def returned(self) -> Any:
            return make()

    @channel("now")
    class Later:
        @on("raised")
        async def raised(self) -> Any:
            raises(make)

        @on("returned")
        async def returned(self) -> Any:
            return make()

    for of in (Now, Later):
        app = TestApp(Module(channels=[of]))
        for event in ("raised", "returned"):
            with pytest.raises(CallError) as found:
                app.deliver(f"now:{event}")
            assert (found.value.status, found.value.code, found.value.message) == (500, "failed", "internal error")
            assert told in str(found.value.__cause__)


class OddClass(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise KeyError("class")


class OddAttributes(Exception):
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise KeyError("dict")


class OddGroup(ExceptionGroup[Exception]):
    @property
    def exceptions(self) -> Any:
        raise KeyError("exceptions")


class OddLinks(Exception):
    @property
    def __suppress_context__(self) -> Any:  # type: ignore[override]
        raise KeyError("suppress")

    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise KeyError("traceback")

    @property
    def __cause__(self) -> Any:  # type: ignore[override]
        raise KeyError("cause")

    @property
    def __context__(self) -> Any:  # type: ignore[override]
        raise KeyError("context")


class OddName(type):
    @property
    def __name__(self) -> Any:  # type: ignore[override]
        raise KeyError("name")


class OddNamed(Exception, metaclass=OddName):
    pass


class OddText(Exception):
    def __str__(self) -> str:
        raise MemoryError


class Text(str):
    def __str__(self) -> str:
        raise KeyError("text")

    def __format__(self, spec: str) -> str:
        raise KeyError("text")

    def encode(self, *arguments: Any) -> Any:
        raise KeyError("text")


class OddFormat(Exception):
    def __str__(self) -> str:
        return Text("odd")


ODD: list[tuple[Callable[[], BaseException], str]] = [
    (lambda: OddClass("odd"), "OddClass"),
    (lambda: OddAttributes("odd"), "OddAttributes"),
    (lambda: OddGroup("odd", [ValueError("inner")]), "OddGroup"),
    (lambda: OddLinks("odd"), "OddLinks"),
    (lambda: OddNamed("odd"), "OddNamed"),
    (lambda: OddText("odd"), "OddText"),
    (lambda: OddFormat("odd"), "OddFormat"),
]


@pytest.mark.parametrize(("make", "name"), ODD)
def test_the_report_of_an_odd_exception_can_be_made(make: Any, name: str) -> None:
    for place, answer in answers(make):
        if place in ("returned", "guard-returned", "after-returned"):
            continue
        assert (place, answer.status) == (place, 200 if place == "late" else 500)
        assert answer.exception is not None
        report = report_of(answer.exception)
        assert (report.exception, len(report.stack) > 0) == (name, True)
        assert name in exception_line(answer.exception)
        assert type(report.message) is str


def test_the_parts_of_an_odd_group_are_told() -> None:
    assert "1: ValueError: inner" in report_of(OddGroup("odd", [ValueError("inner")])).message
