"""Channels, the asynchronous form, and declarations that cannot be."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from pointwork_guest import (
    AsyncContext,
    AsyncDelivery,
    CallError,
    Context,
    Delivery,
    Depends,
    HttpError,
    Module,
    ModuleProblem,
    NotFound,
    Payload,
    Reply,
    channel,
    controller,
    get,
    log,
    on,
    post,
)
from pointwork_guest.testing import TestApp


@dataclass
class Wanted:
    id: int


@channel("db")
class Db:
    @on("one")
    def one(self, wanted: Wanted, delivery: Delivery) -> Any:
        if wanted.id == 0:
            raise HttpError("ids begin with 1", status=400, code="no-id")
        delivery.emit("audit:read", {"id": wanted.id, "attempt": delivery.attempt})
        return {"id": wanted.id, "stock": delivery.call("store:stock", wanted.id)}

    @on("send")
    def send(self, ctx: Context) -> None:
        ctx.send("by the channel")

    @on("label")
    def label(self, text: str, ctx: Context | None) -> None:
        log.info("label", text=text)
        if ctx is not None:
            ctx.send(text, status=202)

    @on("image")
    def image(self, data: bytes) -> Payload:
        return Payload("image/png", data)


def test_a_listener_calls_fails_and_replies_by_a_context() -> None:
    app = TestApp(Module(channels=[Db])).on("store:stock", lambda id: id * 2)
    assert app.deliver("db:one", {"id": 3}) == {"id": 3, "stock": 6}
    with pytest.raises(CallError, match="ids begin with 1") as failed:
        app.deliver("db:one", {"id": 0})
    assert failed.value.code == "no-id"
    with pytest.raises(CallError, match="the payload of `db:one`: `id`: expected a whole number, got `x`") as misfit:
        app.deliver("db:one", {"id": "x"})
    assert (misfit.value.code, misfit.value.status) == ("bad-payload", 400)
    assert app.deliver_all("db:send", hand_over=True)[1].text() == "by the channel"
    with pytest.raises(CallError, match=r"the event `db:send` has no context, .*: take `Context \| None`, or `Delivery`"):
        app.deliver("db:send")
    reply = app.deliver_all("db:label", "tea", hand_over=True)[1]
    assert (reply.status, reply.text(), reply.lines[0].fields) == (202, "tea", {"text": "tea"})
    assert app.deliver("db:image", b"\1") == Payload("image/png", b"\1")
    with pytest.raises(CallError, match="expected bytes, got JSON"):
        app.deliver("db:image", "x")


async def current_user(ctx: AsyncContext) -> str:
    return str(await ctx.call("users:of", ctx.bearer()))


async def known(user: Annotated[str, Depends(current_user)]) -> bool:
    return user != "None"


@controller("later")
class Later:
    @get(":id", guards=[known])
    async def show(self, id: int, ctx: AsyncContext, user: Annotated[str, Depends(current_user)]) -> Any:
        both = await asyncio.gather(ctx.call("db:one", id), ctx.call("db:one", id + 1))
        return {"user": user, "found": both}

    @get("stream")
    async def stream(self) -> AsyncIterator[str]:
        yield "a"
        await asyncio.sleep(0)
        yield "b"

    @post()
    async def create(self, wanted: Wanted) -> Wanted:
        return wanted

    @post("parts")
    async def parts(self, ctx: AsyncContext) -> Any:
        return [(part.name, await part.text()) async for part in ctx.parts()]


@channel("rooms")
class Rooms:
    @on("join")
    async def join(self, room: str, delivery: AsyncDelivery) -> Any:
        return await delivery.call("rooms:count", room)


def later() -> TestApp:
    async def one(id: int) -> str:
        await asyncio.sleep(0)
        if id > 8:
            raise NotFound(f"no {id}")
        return f"tea {id}"

    app = TestApp(Module(controllers=[Later], channels=[Rooms]))
    return (
        app.on("db:one", one)
        .on("users:of", lambda token: "Ada" if token == "t" else None)
        .on("rooms:count", lambda room: len(room))
    )


def test_the_asynchronous_form() -> None:
    headers = {"authorization": "Bearer t"}
    found = later().get("/later/7", headers=headers)
    assert (found.json(), found.called("users:of")) == ({"user": "Ada", "found": ["tea 7", "tea 8"]}, ["t"])
    assert later().get("/later/8", headers=headers).status == 404
    assert later().get("/later/7", headers={"authorization": "Bearer x"}).status == 403
    assert later().get("/later/stream").text() == "ab"
    assert later().post("/later", json={"id": 1}).json() == {"id": 1}
    assert later().post("/later", json={"id": "1"}).status == 422
    assert later().post("/later/parts", form={"a": "b"}, files={}).json() == [["a", "b"]]
    assert later().deliver("rooms:join", "tea") == 3


def test_errors_and_hooks_of_the_asynchronous_form() -> None:
    async def problem(error: HttpError, ctx: AsyncContext) -> Any:
        if error.status == 403:
            raise KeyError("x")
        return {"title": error.message}

    async def counted(outcome: Reply | HttpError) -> Reply | None:
        return outcome.header("x-seen", "yes") if isinstance(outcome, Reply) else None

    same = Reply.text("same")

    @controller("same", after=[counted])
    class Same:
        @get()
        async def show(self) -> Reply:
            return same

    def fail(_: Any) -> Any:
        raise HttpError("the table is gone", status=503)

    app = TestApp(Module(controllers=[Later, Same], errors=problem)).on("users:of", fail)
    answer = app.get("/later/7", headers={"authorization": "Bearer t"})
    assert (answer.status, answer.json()) == (503, {"title": "the server could not answer the request"})
    assert [line.message for line in answer.lines] == ["`users:of` failed with `failed`: the table is gone"]
    refused = app.on("users:of", lambda _: None).get("/later/7", headers={"authorization": "Bearer t"})
    assert (refused.status, refused.json()) == (403, {"message": "Forbidden"})
    for _ in range(2):
        assert [value for name, value in app.get("/same").headers if name == "x-seen"] == ["yes"]


def test_requests_within_a_loop() -> None:
    async def both() -> list[Any]:
        app = later()
        answers = await asyncio.gather(*(app.request_later("POST", "/later", json={"id": id}) for id in range(3)))
        return [answer.json()["id"] for answer in answers]

    assert asyncio.run(both()) == [0, 1, 2]


def test_declarations_that_cannot_be() -> None:
    @controller("a")
    class Twice:
        @get(":id")
        def one(self) -> None: ...

        @get(":name/")
        def other(self) -> None: ...

    @controller("b")
    class Mixed:
        @get("now")
        def now(self) -> None: ...

        @get("later")
        async def later(self) -> None: ...

    @channel("c")
    class Both:
        @on("x")
        def one(self) -> None: ...

        @on("c:x")
        def other(self) -> None: ...

        @get()
        def route(self) -> None: ...

    @controller("d")
    class Static:
        @staticmethod
        @get()
        def one() -> None: ...

    @controller("e")
    class Again:
        @get("a")
        def one(self) -> None: ...

        @get("b")  # type: ignore[no-redef]
        def one(self) -> None: ...

    @controller("f")
    class Selfless:
        @get(":id")
        def one(id: int) -> None: ...  # type: ignore[misc]

    class Plain: ...

    for given, expected in [
        ({"controllers": [Twice]}, "the route GET /a/:name is declared twice, by `Twice.one` and by `Twice.other`"),
        ({"controllers": [Twice, Twice]}, "two controllers have the name `Twice`"),
        (
            {"controllers": [Mixed]},
            "`Mixed.later` is `async def` and `Mixed.now` is `def`, expected one form in a module",
        ),
        ({"channels": [Both]}, "`Both.one` and `Both.other` both listen to `c:x`"),
        ({"channels": [Both]}, "`Both.route` has a route, which belongs in a class with `@controller`"),
        ({"controllers": [Static]}, "`Static.one` is no method of instances"),
        ({"controllers": [Again]}, "`Again.one` is there twice, at the lines "),
        ({"controllers": [Selfless]}, "`Selfless.one` has no `self`, expected it as the first parameter"),
        ({"controllers": [Plain]}, "`Plain` is listed in `controllers` and has no `@controller`"),
        ({}, "the module lists no controllers and no channels"),
    ]:
        with pytest.raises(ModuleProblem) as found:
            Module(**given)  # type: ignore[arg-type]
        assert expected in str(found.value)
    assert (
        "the controller `Later` takes no part: the module does not list it in `controllers`"
        in Module(channels=[Db]).unlisted()
    )


def test_decorators_that_are_elsewhere() -> None:
    with pytest.raises(
        TypeError,
        match=r"`@get` is on the static method `.*elsewhere` at .*test_modules.py:\d+, expected a method of a class",
    ):
        get()(staticmethod(test_decorators_that_are_elsewhere))
    with pytest.raises(TypeError, match="`@post` is on the property"):
        post()(property(lambda self: 1))  # type: ignore[type-var]
    with pytest.raises(TypeError, match=r"`@get` at .* has no parentheses, expected `@get\(\)`"):
        get(test_decorators_that_are_elsewhere)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`@controller` is on `test_decorators_that_are_elsewhere`"):
        controller()(test_decorators_that_are_elsewhere)  # type: ignore[type-var]


def _handler(function: Any) -> Any:
    return controller("x")(type("Page", (), {"one": get(":id")(function)}))


def _no_hint(self: Any, wrong) -> None: ...  # type: ignore[no-untyped-def]
def _two_bodies(self: Any, a: Wanted, b: Wanted) -> None: ...
def _args(self: Any, *ids: int) -> None: ...
def _form(self: Any, ctx: AsyncContext) -> None: ...
def _type(self: Any, page: TestApp) -> None: ...
def _generator(self: Any, a: Annotated[int, Depends(lambda: (yield 1))]) -> None: ...
def _of_itself(a: Annotated[int, Depends(lambda: 1)]) -> int: ...  # type: ignore[empty-body]
def _coroutine(self: Any, user: Annotated[str, Depends(current_user)]) -> None: ...


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_no_hint, "`_no_hint`: the parameter `wrong` has no type hint and is no path parameter"),
        (_two_bodies, "`_two_bodies` reads the body by `a` and `b`, expected one of them"),
        (_args, "`_args` has the parameter `*ids: int`, expected parameters with names"),
        (_form, "`_form` takes `AsyncContext` in a module of the synchronous form, expected `Context`"),
        (_type, "`_type`: the parameter `page`: `TestApp` has no form in JSON, expected a dataclass"),
        (_generator, "is a generator, expected a function that returns its value"),
        (
            _coroutine,
            "the dependency `current_user` of `_coroutine` is `async def` in a module of the synchronous form",
        ),
    ],
)
def test_parameters_that_cannot_be_read(function: Any, expected: str) -> None:
    with pytest.raises(TypeError) as found:
        TestApp(Module(controllers=[_handler(function)]))
    assert expected in str(found.value)
    assert not inspect.iscoroutinefunction(function)
