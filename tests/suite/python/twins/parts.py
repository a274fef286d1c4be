"""Parts of requests and replies that the SDK reads and writes."""

from collections.abc import Iterator
from typing import Annotated

from pointwork_guest import (
    BadRequest,
    Context,
    CookieKey,
    Form,
    InternalServerError,
    NotFound,
    Reply,
    Validators,
    controller,
    dressed,
    get,
    post,
)

from .products import Login

KEY = CookieKey("0123456789abcdef0123456789abcdef")


@controller("parts")
class Parts:
    @get("redirect")
    def redirect(self, to: str) -> Reply:
        return Reply.redirect(to)

    @get("created")
    def created(self, to: str) -> Reply:
        return Reply.created(to, "made")

    @post("form")
    def form(self, ctx: Context) -> str:
        user = ctx.form().get("user")
        if user is None:
            raise BadRequest("body: `user` is missing")
        return user

    @get(["pair/:one", "pair/:one/:two"])
    def pair(self, one: int, ctx: Context) -> str:
        return f"{one} {ctx.param('two', int)}"

    @post("login")
    def login(self, login: Annotated[Login, Form()]) -> Reply:
        return Reply.redirect("/parts/user").cookie("user", KEY.sign(login.user))

    @get("cookie")
    def cookie(self, to: str) -> Reply:
        return Reply.text("set").cookie("a", "1", path=to)

    @get("user")
    def user(self, ctx: Context) -> str:
        user = ctx.cookies.signed(KEY, "user")
        if user is None:
            raise NotFound
        return user

    @post("upload", body="stream")
    def upload(self, ctx: Context) -> str:
        parts = size = 0
        for part in ctx.parts():
            parts += 1
            size += sum(len(chunk) for chunk in part)
        return f"{parts} parts, {size} bytes"

    @get("rows/:count", headers={"content-type": "text/csv"})
    def rows(self, count: int) -> Iterator[str]:
        return (f"{row}\n" for row in range(count))

    @get("empty")
    def empty(self) -> Iterator[str]:
        """Empty pieces for ever."""
        yield "begun"
        while True:
            yield ""

    @get("broken")
    def broken(self) -> Iterator[str]:
        yield "one"
        raise InternalServerError("no more")

    @get("page")
    def page(self, ctx: Context) -> Reply:
        version = Validators(etag="v7")
        return ctx.conditions.not_modified(version) or dressed(Reply.text("page"), version)
