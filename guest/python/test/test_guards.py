"""Guards, and hooks that see what became of a request."""

from typing import Annotated

from pointwork_guest import BaseContext, Context, Depends, Header, HttpError, Module, Reply, controller, get
from pointwork_guest.testing import TestApp


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
