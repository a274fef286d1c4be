"""Exceptions that nothing catches: 500 without details, one report, and an instance that goes on."""

import asyncio
import gc
import re
import sys
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import pytest

from pointwork_guest import (
    AsyncContext,
    BaseContext,
    CallError,
    Context,
    HttpError,
    Module,
    NotFound,
    Reply,
    UncaughtException,
    channel,
    controller,
    get,
    on,
)
from pointwork_guest.crash import forget_traces, is_damage, report_of
from pointwork_guest.testing import TestApp
from pointwork_guest.testing.host import fail

INTERNAL = {"message": "internal error"}


def damaged(how: str) -> Any:
    """Runs out of memory or stack, also where the program catches that and raises another exception."""
    if how == "memory":
        raise MemoryError
    if how == "recursion":
        raise RecursionError
    if how == "group":
        raise ExceptionGroup("both", [KeyError("a"), MemoryError()])
    try:
        raise MemoryError
    except MemoryError as error:
        if how == "cause":
            raise ValueError("no") from error
        if how == "hidden":
            raise ValueError("no") from None
        if how == "http":
            raise NotFound() from None
        try:
            raise KeyError("a")
        except KeyError:
            raise ValueError("no") from None


DAMAGES = ("memory", "recursion", "group", "cause", "hidden", "http", "deep")


PRICES: dict[str, int] = {}


def fails() -> Any:
    return PRICES["tea"]


class Rows:
    """An iterator that also fails at its end."""

    def __init__(self) -> None:
        self.rows = iter("a")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self.rows, "") or fails()

    def close(self) -> None:
        raise ValueError("late")


@controller("now")
class Now:
    @get()
    def show(self) -> Any:
        fails()

    @get("guarded", guards=[lambda: fails()])
    def guarded(self) -> Any: ...

    @get("damaged")
    def damaged(self, how: str) -> Any:
        damaged(how)

    @get("exit")
    def exit(self) -> Any:
        sys.exit(3)

    @get("stream")
    def stream(self) -> Iterator[str]:
        yield "a"
        fails()

    @get("early")
    def early(self) -> Iterator[str]:
        fails()
        yield "a"

    @get("rows")
    def rows(self) -> Iterator[str]:
        return Rows()

    @get("stream-http")
    def stream_http(self) -> Iterator[str]:
        yield "a"
        raise NotFound("lost")

    @get("sent")
    def sent(self, ctx: Context) -> Any:
        ctx.send("sent")
        fails()

    @get("opened")
    def opened(self, ctx: Context) -> Any:
        ctx.open_reply().write("a")
        fails()

    @get("handed-over")
    def handed_over(self, ctx: Context) -> Any:
        ctx.hand_over("a:b")
        fails()

    @get("fields")
    def fields(self) -> Any:
        raise HttpError("no", seen=object())

    @get("call")
    def call(self, ctx: Context) -> Any:
        return ctx.call("db:one", {"secret": 1})


@controller("later")
class Later:
    @get()
    async def show(self) -> Any:
        await asyncio.sleep(0)
        fails()

    @get("guarded", guards=[lambda: fails()])
    async def guarded(self) -> Any: ...

    @get("damaged")
    async def damaged(self, how: str) -> Any:
        damaged(how)

    @get("exit")
    async def exit(self) -> Any:
        sys.exit(3)

    @get("stream")
    async def stream(self) -> AsyncIterator[str]:
        yield "a"
        fails()

    @get("early")
    async def early(self) -> AsyncIterator[str]:
        fails()
        yield "a"

    @get("rows")
    async def rows(self) -> Iterator[str]:
        return Rows()

    @get("stream-http")
    async def stream_http(self) -> AsyncIterator[str]:
        yield "a"
        raise NotFound("lost")

    @get("sent")
    async def sent(self, ctx: AsyncContext) -> Any:
        ctx.send("sent")
        fails()

    @get("opened")
    async def opened(self, ctx: AsyncContext) -> Any:
        await ctx.open_reply().write("a")
        fails()

    @get("handed-over")
    async def handed_over(self, ctx: AsyncContext) -> Any:
        ctx.hand_over("a:b")
        fails()

    @get("fields")
    async def fields(self) -> Any:
        raise HttpError("no", seen=object())

    @get("call")
    async def call(self, ctx: AsyncContext) -> Any:
        return await ctx.call("db:one", {"secret": 1})

    @get("cancelled")
    async def cancelled(self) -> Any:
        task = asyncio.ensure_future(asyncio.sleep(0))
        task.cancel()
        await task


@channel("now")
class NowListeners:
    @on("fail")
    def fail(self) -> Any:
        fails()

    @on("damaged")
    def damaged(self, how: str) -> Any:
        damaged(how)

    @on("fields")
    def fields(self) -> Any:
        raise HttpError("no", seen=object())


@channel("later")
class LaterListeners:
    @on("fail")
    async def fail(self) -> Any:
        fails()

    @on("damaged")
    async def damaged(self, how: str) -> Any:
        damaged(how)

    @on("fields")
    async def fields(self) -> Any:
        raise HttpError("no", seen=object())


def app(form: str, **more: Any) -> TestApp:
    controllers, channels = ([Now], [NowListeners]) if form == "now" else ([Later], [LaterListeners])
    return TestApp(Module(controllers=controllers, channels=channels, **more))


both = pytest.mark.parametrize("form", ["now", "later"])


@both
@pytest.mark.parametrize("path", ["", "/guarded", "/early"])
def test_an_exception_is_500_and_reported(form: str, path: str) -> None:
    answer = app(form).get(f"/{form}{path}")
    assert (answer.status, answer.json(), type(answer.exception)) == (500, INTERNAL, KeyError)
    assert len(answer._context.world.exceptions) == 1
    report = report_of(answer.exception or Exception())
    assert (report.exception, report.message) == ("KeyError", "'tea'")
    assert report.stack[0].function == "fails" and all(one.file == __file__ for one in report.stack)


@both
@pytest.mark.parametrize("how", DAMAGES)
def test_the_end_of_memory_or_stack_traps(form: str, how: str) -> None:
    def caught(error: Exception, ctx: Any) -> str:
        raise AssertionError("an error that traps is not mapped")

    errors = {Exception: caught, MemoryError: caught}
    for one in (app(form), app(form, errors=errors), app(form, errors=caught)):
        for run in (lambda: one.get(f"/{form}/damaged?how={how}"), lambda: one.deliver(f"{form}:damaged", how)):
            with pytest.raises((MemoryError, RecursionError, ValueError, NotFound, ExceptionGroup)) as found:
                run()
            assert is_damage(found.value) and not isinstance(found.value, CallError)


@both
def test_an_end_of_the_program_traps(form: str) -> None:
    with pytest.raises(SystemExit):
        app(form).get(f"/{form}/exit")


@both
@pytest.mark.parametrize("path", ["stream", "rows", "opened"])
def test_an_exception_after_the_head_breaks_the_reply_off(form: str, path: str) -> None:
    answer = app(form).get(f"/{form}/{path}")
    assert (answer.status, answer.text(), answer.is_finished) == (200, "a", False)
    assert len(answer._context.world.exceptions) == 1 and isinstance(answer.exception, KeyError)
    lines = [line.message for line in answer.lines]
    expected = "another exception after the one that ended the call: ValueError: late"
    assert all(line.startswith(expected) for line in lines) and len(lines) == (path == "rows")


@both
def test_an_error_after_the_head_is_no_exception(form: str) -> None:
    answer = app(form).get(f"/{form}/stream-http")
    assert (answer.is_finished, answer.exception) == (False, None)
    assert answer.lines[0].message.startswith("the reply is broken off: NotFound: lost")


@both
def test_what_was_sent_before_stays(form: str) -> None:
    answer = app(form, errors={KeyError: lambda error, ctx: "mapped"}).get(f"/{form}/sent")
    assert (answer.status, answer.text(), type(answer.exception)) == (200, "sent", KeyError)
    handed = app(form).get(f"/{form}/handed-over")
    assert handed.is_open and isinstance(handed.exception, KeyError)


@both
def test_hooks_and_errors_see_it_as_any_error_of_status_500(form: str) -> None:
    seen: list[Any] = []

    def hook(outcome: Reply | HttpError) -> None:
        assert isinstance(outcome, UncaughtException)
        seen.append((outcome.status, outcome.message, type(outcome.exception)))
        outcome.headers.append(("x-hook", "yes"))

    def problem(error: HttpError, ctx: BaseContext) -> Reply:
        seen.append((error.status, error.message))
        return Reply.json({"title": error.message})

    for errors in (problem, {HttpError: problem}):
        answer = app(form, after=[hook], errors=errors).get(f"/{form}")
        assert (answer.status, answer.json(), answer.header("x-hook")) == (500, {"title": "internal error"}, "yes")
        assert isinstance(answer.exception, KeyError)
    assert seen == [(500, "internal error", KeyError), (500, "internal error")] * 2


@both
def test_a_reply_that_the_module_makes_of_it_is_no_exception(form: str) -> None:
    for errors in ({KeyError: lambda error, ctx: Reply.text(str(error), status=409)}, {LookupError: no_price}):
        answer = app(form, errors=errors).get(f"/{form}")
        assert (answer.status, answer.text(), answer.exception) == (409, "'tea'", None)
    hooked = app(form, after=[lambda outcome: Reply.text("sorry", status=503)]).get(f"/{form}")
    assert (hooked.status, hooked.text(), hooked.exception) == (503, "sorry", None)


def told(error: HttpError, ctx: BaseContext) -> Any:
    return {"message": error.message}


def no_price(error: Exception, ctx: BaseContext) -> Reply:
    return Reply.text(str(error), status=409)


@both
def test_a_listener_fails_with_a_general_sentence(form: str) -> None:
    for event, kind in (("fail", KeyError), ("fields", TypeError)):
        with pytest.raises(CallError) as failed:
            app(form).deliver(f"{form}:{event}")
        assert (failed.value.code, failed.value.status, failed.value.message) == ("failed", 500, "internal error")
        assert isinstance(failed.value.__cause__, kind)


@both
def test_an_error_whose_body_cannot_be_written_is_an_exception(form: str) -> None:
    answer = app(form).get(f"/{form}/fields")
    assert (answer.status, answer.json(), type(answer.exception)) == (500, INTERNAL, TypeError)


@both
@pytest.mark.parametrize(
    "code", ["unknown-event", "bad-payload", "not-durable", "invalid-reply"]
)
def test_a_mistake_between_a_module_and_a_channel_is_an_exception(form: str, code: str) -> None:
    def refuse(_: Any) -> Any:
        raise fail(code, 400, "the payload has no field `id`")

    for more in ({}, {"errors": {CallError: no_price, HttpError: told}}):
        answer = app(form, **more).on("db:one", refuse).get(f"/{form}/call")
        assert (answer.status, answer.json()) == (500, INTERNAL)
        assert isinstance(answer.exception, CallError) and answer.exception.code == code
        assert report_of(answer.exception).stack[0].function == f"{form.title()}.call"


@both
def test_a_failure_on_purpose_passes(form: str) -> None:
    def refuse(_: Any) -> Any:
        raise NotFound("no such product", code="none")

    answer = app(form).on("db:one", refuse).get(f"/{form}/call")
    assert (answer.status, answer.json(), answer.exception) == (404, {"message": "no such product"}, None)


def test_a_cancellation_is_no_exception() -> None:
    answer = app("later").get("/later/cancelled")
    assert (answer.status, answer.json(), answer.exception) == (500, INTERNAL, None)
    assert [line.message for line in answer.lines] == ["`Later.cancelled` was cancelled"]


class Odd(Exception):
    """An exception that is hard to handle."""

    def __bool__(self) -> bool:
        return False

    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError("no attributes")

    def __getattr__(self, name: str) -> Any:
        # pytest and `traceback` ask for others.
        raise KeyError(name) if "pointwork" in name else AttributeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no message")


class OddMemory(Odd, MemoryError):
    pass


def test_an_odd_exception_is_an_exception() -> None:
    @controller("odd")
    class Odds:
        @get()
        def show(self) -> Any:
            raise Odd()

        @get("cause")
        def cause(self) -> Any:
            raise KeyError("tea") from Odd()

        @get("memory")
        def memory(self) -> Any:
            raise KeyError("tea") from OddMemory()

    app = TestApp(Module(controllers=[Odds]))
    answer = app.get("/odd")
    assert (answer.status, type(answer.exception)) == (500, Odd)
    assert answer.exception is not None
    assert report_of(answer.exception).message == "the message cannot be made: RuntimeError"
    assert "caused by Odd" in report_of(app.get("/odd/cause").exception or Exception()).message
    forget_traces(answer.exception)
    with pytest.raises(KeyError):
        app.get("/odd/memory")


def test_frames_of_a_module_whose_name_begins_as_that_of_the_sdk_are_told() -> None:
    code: dict[str, Any] = {"__name__": "pointwork_guest_shop"}
    exec(compile("def fail():\n    raise KeyError", "/shop.py", "exec"), code)
    with pytest.raises(KeyError) as failed:
        code["fail"]()
    assert report_of(failed.value).stack[0].function == "fail"


def test_a_reply_that_is_nested_too_deep_is_an_exception() -> None:
    @controller("deep")
    class Deep:
        @get()
        def show(self) -> Any:
            value: Any = []
            for _ in range(100_000):
                value = [value]
            return value

    answer = TestApp(Module(controllers=[Deep])).get("/deep")
    assert answer.status == 500 and "is nested more than 200 deep" in str(answer.exception)


def test_a_cancellation_in_a_function_of_errors_is_none() -> None:
    async def problem(error: HttpError, ctx: BaseContext) -> Any:
        task = asyncio.ensure_future(asyncio.sleep(0))
        task.cancel()
        await task

    answer = app("later", errors=problem).get("/later")
    assert (answer.status, answer.json(), type(answer.exception)) == (500, INTERNAL, KeyError)


KNOWN = KeyError("tea")
ABSENT = NotFound()


@both
@pytest.mark.parametrize("way", ["plain", "stream", "errors", "hook", "listener"])
@pytest.mark.parametrize("known", [KNOWN, ABSENT], ids=["exception", "error"])
def test_an_exception_that_is_raised_again_and_again_collects_no_frames(form: str, way: str, known: Any) -> None:
    def show() -> Any:
        raise known

    def pieces() -> Iterator[str]:
        yield "a"
        raise known

    @controller("now")
    class Again:
        @get()
        def show(self) -> Any:
            return pieces() if way == "stream" else show()

    @controller("later")
    class AgainLater:
        @get()
        async def show(self) -> Any:
            return pieces() if way == "stream" else show()

    @channel("now")
    class Listens:
        @on("again")
        def again(self) -> Any:
            show()

    @channel("later")
    class ListensLater:
        @on("again")
        async def again(self) -> Any:
            show()

    after = [lambda outcome: Reply.text("sorry")] if way == "hook" else []
    errors: Any = {LookupError: no_price, HttpError: no_price} if way == "errors" else {}
    parts: Any = ([Again], [Listens]) if form == "now" else ([AgainLater], [ListensLater])
    again = TestApp(Module(controllers=parts[0], channels=parts[1], after=after, errors=errors))
    for _ in range(3):
        if way == "listener":
            with pytest.raises(CallError) as failed:
                again.deliver(f"{form}:again")
            reported = failed.value.__cause__
        else:
            reported = again.get(f"/{form}").exception
        if reported is not None:
            # As the host of a component does it.
            forget_traces(reported)
        assert known.__traceback__ is None


def test_exceptions_leave_no_memory() -> None:
    known = KeyError("tea")

    def ends() -> None:
        frame = bytearray(1000)
        try:
            raise known
        except KeyError as error:
            assert frame
            kept = error
        forget_traces(kept)

    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        ends()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            ends()
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()
        gc.enable()


def test_the_report_of_a_group_has_its_exceptions() -> None:
    def raised(error: Any) -> Any:
        try:
            raise error
        except Exception as caught:
            return caught

    inner = ExceptionGroup("inner", [raised(ValueError("b")), raised(TypeError("c"))])
    try:
        raise KeyError("cause")
    except KeyError as cause:
        inner.exceptions[1].__cause__ = cause
    group = raised(ExceptionGroup("outer", [raised(KeyError("a")), inner]))
    line = raised.__code__.co_firstlineno + 2
    message = report_of(group).message
    assert message == (
        f"outer (2 sub-exceptions); 1: KeyError: 'a' at {__file__}:{line}; 2: ExceptionGroup: inner (2 sub-exceptions); "
        f"2.1: ValueError: b at {__file__}:{line}; 2.2: TypeError: c at {__file__}:{line}; "
        f"caused by KeyError: 'cause' at {__file__}:{line + 6}"
    )
    many = report_of(ExceptionGroup("many", [ValueError(str(number)) for number in range(10_000)])).message
    assert "; 16: ValueError: 15; and more" in many and "16 " not in many.partition("; 16: ")[2]
    deep: Exception = ValueError("deep")
    for _ in range(500):
        deep = ExceptionGroup("group", [deep])
    assert report_of(deep).message.endswith("; and more")
    caused = RuntimeError("all")
    caused.__cause__ = group
    assert "; caused by ExceptionGroup: outer (2 sub-exceptions) at " in report_of(caused).message
    assert "; 2.1: ValueError: b at " in report_of(caused).message


def test_repeated_frames_are_one() -> None:
    def even(number: int) -> bool:
        return number == 0 or odd(number - 1)

    def odd(number: int) -> bool:
        return even(number - 1)

    try:
        even(-1)
    except RecursionError as error:
        found = [(frame.function.rpartition(".")[2], frame.line) for frame in report_of(error).stack]
    assert len(found) == 3
    assert {name.partition(" ")[0] for name, _ in found} == {"even", "odd", "test_repeated_frames_are_one"}
    assert all(re.fullmatch(r"(even|odd) … \d\d+ times", name) for name, _ in found[:2])


@both
def test_an_error_with_an_invalid_status_or_header_is_500_with_its_place_in_the_log(form: str) -> None:
    class Odd(HttpError):
        status = 200

    def make(how: str) -> HttpError:
        made: dict[str, Any] = {
            "status": lambda: HttpError("odd", status=302),
            "class": lambda: Odd("odd"),
            "kind": lambda: HttpError("odd", status=cast(int, "404")),
            "header": lambda: HttpError("odd", status=404, headers={"a b": "c"}),
        }
        found: HttpError = made[how]()
        return found

    @controller("now")
    class Now:
        @get("raised")
        def raised(self, how: str) -> Any:
            raise make(how)

        @get("returned")
        def returned(self, how: str) -> Any:
            return make(how)

        @get("sent")
        def sent(self, how: str, ctx: Context) -> None:
            ctx.send(make(how))

    @channel("now")
    class Listens:
        @on("one")
        def one(self, how: str) -> Any:
            raise make(how)

    @controller("later")
    class Later:
        @get("raised")
        async def raised(self, how: str) -> Any:
            raise make(how)

        @get("returned")
        async def returned(self, how: str) -> Any:
            return make(how)

        @get("sent")
        async def sent(self, how: str, ctx: AsyncContext) -> None:
            ctx.send(make(how))

    @channel("later")
    class ListensLater:
        @on("one")
        async def one(self, how: str) -> Any:
            raise make(how)

    parts: Any = ([Now], [Listens]) if form == "now" else ([Later], [ListensLater])
    app = TestApp(Module(controllers=parts[0], channels=parts[1]))
    for how, problem in (
        ("status", "the status of the error is 302, expected 400 to 599"),
        ("class", "the status of the error is 200, expected 400 to 599"),
        ("kind", "the status of the error is '404', expected 400 to 599"),
        ("header", "`a b` cannot be the name of a header"),
    ):
        for way in ("raised", "returned", "sent"):
            answer = app.get(f"/{form}/{way}?how={how}")
            assert (answer.status, answer.json()) == (500, {"message": "the server could not answer the request"})
            (line,) = answer.lines
            told = re.escape(f"the reply is not valid: {problem}")
            assert re.match(rf"{told}.*; it is made at {re.escape(__file__)}:\d+", line.message), line.message
        with pytest.raises(CallError) as failed:
            app.deliver(f"{form}:one", how)
        assert failed.value.status == (404 if how == "header" else 500) and failed.value.message == "odd"


@both
@pytest.mark.parametrize("pieces", [(1,), ("a", 1)])
def test_a_wrong_piece_of_a_stream_names_the_handler(form: str, pieces: Any) -> None:
    @controller("now")
    class Now:
        @get()
        def show(self) -> Any:
            return iter(pieces)

    @controller("later")
    class Later:
        @get()
        async def show(self) -> Any:
            return iter(pieces)

    answer = TestApp(Module(controllers=[Now if form == "now" else Later])).get(f"/{form}")
    report = report_of(answer.exception or Exception())
    assert report.message == "a piece of the reply is of the type `int`, expected `str` or `bytes`"
    assert [frame.function.rpartition(".")[2] for frame in report.stack] == ["show"]


@both
def test_a_handler_that_returns_nothing_and_sends_nothing_is_told(form: str) -> None:
    @controller("now")
    class Now:
        @get()
        def show(self) -> Any: ...

        @get("sent")
        def sent(self, ctx: Context) -> None:
            ctx.send("sent")

        @get("handed")
        def handed(self, ctx: Context) -> None:
            ctx.hand_over("a:b")

    @controller("later")
    class Later:
        @get()
        async def show(self) -> Any: ...

        @get("sent")
        async def sent(self, ctx: AsyncContext) -> None:
            ctx.send("sent")

        @get("handed")
        async def handed(self, ctx: AsyncContext) -> None:
            ctx.hand_over("a:b")

    app = TestApp(Module(controllers=[Now if form == "now" else Later]))
    name = form.title()
    assert [line.message for line in app.get(f"/{form}").lines] == [
        f"`{name}.show` returned nothing and sent no reply: return a value, or reply by `ctx.send` or `ctx.hand_over`"
    ]
    assert app.get(f"/{form}/sent").lines == app.get(f"/{form}/handed").lines == []
