"""What `tests/guests/rust-guards` does, as far as it does not wait: the same functions serve both forms."""

from pointwork_guest import (
    BaseContext,
    Event,
    Forbidden,
    HttpError,
    Reply,
    TooManyRequests,
    Validators,
)

VERIFY = Event[str, str | None]("users:verify")
COUNT = Event[str, int]("bookings:count")
PASSED = Event[str, None]("noted:passed")

Outcome = Reply | HttpError


def known(user: str | None) -> str:
    if user is None:
        raise Forbidden
    return user


def as_admin(user: str) -> str:
    if user != "ada":
        raise Forbidden("ask ada", user=user)
    return "the admin"


def traps() -> None:
    raise MemoryError("this guard panics on purpose")


def loops() -> None:
    while True:
        pass


def replies(ctx: BaseContext) -> None:
    """Replies by itself, and lets the request pass."""
    ctx.send("by the guard")


def replies_and_refuses(ctx: BaseContext) -> bool:
    ctx.send("by the guard")
    return False


def not_blocked(ctx: BaseContext) -> None:
    """Is a guard of the module."""
    why = ctx.header("x-blocked")
    if why is not None:
        raise TooManyRequests(why, headers={"retry-after": "7"})


def adding(outcome: Outcome, name: str, value: str) -> Outcome:
    if isinstance(outcome, Reply):
        return outcome.header(name, value)
    outcome.headers.append((name, value))
    return outcome


def marked(outcome: Outcome) -> Outcome:
    """Marks what the controller replies."""
    return adding(outcome, "x-after", "block")


def forges(outcome: Outcome) -> Outcome:
    """Makes a wrong header."""
    return adding(outcome, "x-forged", "a\nb")


def named(outcome: Outcome, ctx: BaseContext) -> Outcome:
    """Sees the outcome of every handler of the module."""
    return adding(adding(outcome, "x-after", "module"), "x-route", ctx.route)


def problem(error: HttpError, _: BaseContext) -> Reply:
    """The body of every error (RFC 9457). It makes a wrong header of a message with a newline."""
    body = {"title": error.message, "status": error.status, "code": error.code}
    return Reply.json(body, headers={"content-type": "application/problem+json", "x-title": error.message})


def stale(ctx: BaseContext) -> Reply | str:
    return ctx.conditions.not_modified(Validators(etag="v7")) or "by the handler"
