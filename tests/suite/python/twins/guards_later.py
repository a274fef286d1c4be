"""What `tests/guests/rust-guards-async` does, in the asynchronous form."""

from typing import Annotated

from pointwork_guest import (
    AsyncContext,
    Body,
    Depends,
    HttpError,
    Module,
    NotFound,
    Reply,
    Unauthorized,
    controller,
    get,
    post,
)

from . import doors
from .doors import COUNT, PASSED, VERIFY, forges, marked, named, not_blocked, problem


async def signed_in(ctx: AsyncContext) -> str:
    """Lets pass who has a token."""
    token = ctx.header("x-token")
    if token is None:
        raise Unauthorized
    user = doors.known(await ctx.call(VERIFY, token))
    ctx.emit(PASSED, user)
    return user


User = Annotated[str, Depends(signed_in)]


async def is_admin(user: User) -> str:
    return doors.as_admin(user)


async def reads_body(ctx: AsyncContext) -> str:
    return await ctx.text()


@controller("bookings", guards=[signed_in], after=[marked])
class Bookings:
    """The bookings of a user."""

    @get()
    async def every(self, user: User, again: User, ctx: AsyncContext) -> str:
        count = await ctx.call(COUNT, user)
        return f"{user} {again} {count}"

    @post()
    async def create(self, number: Annotated[int, Body()]) -> str:
        return f"booked {number}"

    @get("admin", guards=[is_admin])
    async def admin(self, user: User, admin: Annotated[str, Depends(is_admin)]) -> str:
        return f"{user} {admin}"

    @get("broken")
    async def broken(self) -> None:
        raise HttpError("no room", status=409, code="sold-out", headers={"x-room": "7"})


@controller("bookings", guards=[signed_in])
class Open:
    """Without what sees the outcomes of the other bookings, and without the guard."""

    @get("open", skip_guards=True)
    async def open(self) -> str:
        return "open"


@controller("odd")
class Odd:
    """Guards that do what they should not."""

    @get("traps", guards=[doors.traps])
    async def traps(self) -> str:
        return "never"

    @get("loops", guards=[doors.loops])
    async def loops(self) -> str:
        return "never"

    @get("replies", guards=[doors.replies])
    async def replies(self) -> str:
        print("the handler runs")
        return "by the handler"

    @get("refuses", guards=[doors.replies_and_refuses])
    async def refuses(self) -> str:
        print("the handler runs")
        return "by the handler"

    @post("reads", guards=[reads_body])
    async def reads(self, body: Annotated[str, Depends(reads_body)]) -> str:
        return body

    @post("reads-both", guards=[reads_body])
    async def reads_both(self, ctx: AsyncContext) -> str:
        return await ctx.text()


@controller("arguments")
class Arguments:
    """Handlers that call for a user by themselves."""

    @get("twice")
    async def twice(self, one: User, two: User, user: User) -> str:
        return f"{one} {two} {user}"

    @get("guest")
    async def guest(self, ctx: AsyncContext) -> str:
        token = ctx.header("x-token")
        return "nobody" if token is None else doors.known(await ctx.call(VERIFY, token))

    @get("user")
    async def user(self, ctx: AsyncContext) -> str:
        try:
            return await signed_in(ctx)
        except HttpError as error:
            return error.message


@controller("wrong")
class Wrong:
    """Replies that are errors."""

    @get("header")
    async def header(self) -> Reply:
        return Reply.text("by the handler", status=202, headers={"x-to": "a\nb"})

    @get("hook", after=[forges])
    async def hook(self) -> str:
        return "by the handler"

    @get("shape")
    async def shape(self) -> None:
        raise NotFound("no\nroom", headers={"x-room": "7"})

    @get("stale")
    async def stale(self, ctx: AsyncContext) -> Reply | str:
        return doors.stale(ctx)


app = Module(
    controllers=[Bookings, Open, Odd, Arguments, Wrong], guards=[not_blocked], after=[named], errors=problem
)
