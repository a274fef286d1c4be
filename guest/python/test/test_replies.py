"""What a handler can return, and what it can read of conditions, cookies and bodies."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import pytest

from pointwork_guest import (
    Context,
    CookieKey,
    HttpError,
    Module,
    NotFound,
    Reply,
    ServerSentEvent,
    Validators,
    VariableError,
    controller,
    dressed,
    get,
    post,
    put,
    sse,
)
from pointwork_guest.testing import TestApp


@dataclass
class Product:
    id: int
    name: str


KEY = CookieKey("0123456789abcdef0123456789abcdef")
V7 = Validators(etag="v7")


@controller()
class Replies:
    @get("text")
    def text(self) -> str:
        return "text"

    @get("bytes")
    def data(self) -> Any:
        return b"\1"

    @get("number")
    def number(self) -> int:
        return 7

    @get("whatever")
    def whatever(self) -> object:
        return None

    @get("null")
    def null(self) -> Product | None:
        return None

    @get("nothing")
    def nothing(self) -> Any:
        return None

    @get("generator")
    def generator(self) -> Any:
        yield "a"
        yield b"b"

    @get("broken")
    def broken(self) -> Any:
        yield "a"
        raise RuntimeError("lost")

    @get("early")
    def early(self) -> Any:
        raise NotFound("early")
        yield "a"

    @get("sse")
    def sse(self) -> Reply:
        first = ServerSentEvent("a\nb", event="x")
        return sse([first, ServerSentEvent({"n": 1}, id="a\nb"), ServerSentEvent(comment="c")])

    @get("created")
    def created(self) -> Reply:
        return Reply.created("/a b", {"id": 1})

    @get("tab")
    def tab(self) -> Reply:
        return Reply.redirect("/\t/evil.example")

    @get("header")
    def header(self) -> Reply:
        return Reply.text("").header("x-a", "a\nb")

    @get("status")
    def status(self) -> Reply:
        return Reply.empty(99)

    @get("cookie")
    def cookie(self) -> Reply:
        return Reply.text("").cookie("s", KEY.sign("ä"), path="/", http_only=True, same_site="lax", max_age=5)

    @get("cookies")
    def cookies(self, ctx: Context) -> Any:
        return {"plain": ctx.cookies.get("a"), "signed": ctx.cookies.signed(KEY, "s")}

    @get("wrong-cookie")
    def wrong_cookie(self) -> Reply:
        return Reply.text("").cookie("a", "b", path="/; Secure")

    @get("sent")
    def sent(self, ctx: Context) -> None:
        ctx.send("sent", status=201)

    @get("cycle")
    def cycle(self) -> Any:
        found: dict[str, Any] = {}
        found["b"] = {"a": found}
        return found

    @get("set")
    def set(self) -> Any:
        return {"list": [{1}, object()]}

    @get("nan")
    def nan(self) -> Any:
        return float("nan")

    @get("gone", status=HTTPStatus.ACCEPTED)
    def gone(self, late: bool = False) -> Any:
        if late:
            raise HttpError("no", status=HTTPStatus.GONE)
        return {}

    @get("open")
    def open(self, ctx: Context) -> None:
        writer = ctx.open_reply(headers={"content-type": "text/csv"})
        writer.write("a,b")
        writer.finish()

    @get("etag")
    def etag(self, ctx: Context) -> Reply:
        return ctx.conditions.not_modified(V7) or dressed(Reply.text("body"), V7)

    @put("etag")
    def change(self, ctx: Context) -> str:
        ctx.conditions.require(V7)
        return "changed"

    @post("body", body="stream")
    def body(self, ctx: Context) -> Any:
        return {"size": sum(len(chunk) for chunk in ctx.chunks())}

    @post("json")
    def json(self, ctx: Context) -> str:
        return type(ctx.json()).__name__

    @post("raw")
    def raw(self, data: bytes) -> Any:
        return len(data)


def replies() -> TestApp:
    return TestApp(Module(controllers=[Replies]))


def test_what_a_handler_can_return() -> None:
    def shown(path: str) -> tuple[int, str | None, str]:
        answer = replies().get(path)
        return answer.status, answer.header("content-type"), answer.text()

    assert shown("/text") == (200, "text/plain; charset=utf-8", "text")
    assert shown("/bytes") == (200, "application/octet-stream", "\1")
    assert shown("/number") == (200, "application/json", "7")
    assert shown("/null") == shown("/whatever") == (200, "application/json", "null")
    assert replies().get("/nothing").is_open
    assert shown("/generator")[2] == "ab"
    assert shown("/sse")[1:] == ("text/event-stream", 'event: x\ndata: a\ndata: b\n\ndata: {"n":1}\n\n: c\n\n')
    assert shown("/open") == (200, "text/csv", "a,b")
    broken = replies().get("/broken")
    assert (broken.is_finished, broken.text()) == (False, "a")
    assert isinstance(broken.exception, RuntimeError) and str(broken.exception) == "lost"
    assert replies().get("/early").status == 404
    created = replies().get("/created")
    assert (created.status, created.header("location"), created.json()) == (201, "/a%20b", {"id": 1})
    for target, status in (("/gone", 202), ("/gone?late=true", 410)):
        assert type(replies().get(target).status) is int and replies().get(target).status == status
    assert shown("/sent") == (201, "text/plain; charset=utf-8", "sent")
    assert replies().post("/body", body="x" * 100_000).json() == {"size": 100_000}
    assert replies().post("/raw", body=b"\xff\xfe").json() == 2


def test_a_reply_that_is_not_valid_is_500_with_its_place_in_the_log() -> None:
    for path in ("/header", "/tab", "/wrong-cookie", "/status"):
        answer = replies().get(path)
        assert answer.status == 500
        line = answer.lines[0].message
        assert line.startswith("the reply is not valid: ") and "; it is made at " in line and "test_replies.py:" in line


def test_what_cannot_be_json_is_an_exception_that_names_the_value() -> None:
    cycle = "returned by `Replies.cycle` cannot be written as JSON: `b.a` refers to a value that contains it"
    for path, told in (("cycle", cycle), ("set", "`list.1` has the type `object`"), ("nan", "the value is nan")):
        answer = replies().get(f"/{path}")
        assert (answer.status, type(answer.exception)) == (500, TypeError)
        assert told in str(answer.exception)


def test_cookies_plain_and_signed() -> None:
    made = replies().get("/cookie")
    assert (made.header("set-cookie") or "").endswith("; Path=/; Max-Age=5; HttpOnly; SameSite=Lax")
    signed = made.cookie("s") or ""
    assert replies().get("/cookies", cookies={"a": "b c", "s": signed}).json() == {"plain": "b c", "signed": "ä"}
    forged = replies().get("/cookies", cookies={"s": signed.replace("ä", "e")}).json()
    assert forged == {"plain": None, "signed": None}
    with pytest.raises(VariableError, match="the secret of cookies has 5 bytes, expected 32"):
        CookieKey("short")


def test_json_that_is_nested_too_deeply() -> None:
    def sent(body: str) -> str:
        answer = replies().post("/json", body=body)
        return answer.text() if answer.status == 200 else str(answer.json()["message"])

    assert sent("[" * 128 + "]" * 128) == "list"
    assert sent("[" * 129 + "]" * 129) == "body: it is nested more than 128 deep at line 1 column 129"
    assert sent("[" * 200 + '"') == "body: it is nested more than 128 deep at line 1 column 129"
    assert sent("[" + ",".join(['{"a":"[[\\\\\\"["}'] * 500) + "]") == "list"


def test_conditional_requests() -> None:
    def status(method: str, **headers: str) -> int:
        return (
            replies()
            .request(method, "/etag", headers={name.replace("_", "-"): value for name, value in headers.items()})
            .status
        )

    assert replies().get("/etag").header("etag") == '"v7"'
    assert status("GET", if_none_match='W/"v6", W/"v7"') == 304
    assert status("GET", if_none_match='"v8"') == 200
    assert status("PUT", if_match='"v6"') == 412
    assert status("PUT", if_match='W/"v7"') == 412
    assert status("PUT", if_none_match="*") == 412
    assert status("PUT", if_match='"v7"') == 200
