"""All decorators at one path. Each handler replies with its own name."""

import pointwork_guest as sdk
from pointwork_guest import Context, Reply, controller, route


def named(name: str) -> Reply:
    """The name is in a header, since replies to HEAD and CONNECT have no body."""
    return Reply.text(name, headers={"x-handler": name})


@controller("methods")
class Methods:
    @sdk.any_method()
    def all(self) -> Reply:
        return named("all")

    @sdk.get()
    def get(self) -> Reply:
        return named("get")

    @sdk.post()
    def post(self) -> Reply:
        return named("post")

    @sdk.put()
    def put(self) -> Reply:
        return named("put")

    @sdk.patch()
    def patch(self) -> Reply:
        return named("patch")

    @sdk.delete()
    def delete(self) -> Reply:
        return named("delete")

    @sdk.head()
    def head(self) -> Reply:
        return named("head")

    @sdk.options()
    def options(self) -> Reply:
        return named("options")

    @sdk.trace()
    def trace(self) -> Reply:
        return named("trace")

    @sdk.connect()
    def connect(self) -> Reply:
        return named("connect")

    @sdk.purge()
    def purge(self) -> Reply:
        return named("purge")

    @sdk.search()
    def search(self) -> Reply:
        return named("search")

    @sdk.propfind()
    def propfind(self) -> Reply:
        return named("propfind")

    @sdk.proppatch()
    def proppatch(self) -> Reply:
        return named("proppatch")

    @sdk.mkcol()
    def mkcol(self) -> Reply:
        return named("mkcol")

    @sdk.copy()
    def copy(self) -> Reply:
        return named("copy")

    @sdk.move()
    def move(self) -> Reply:
        return named("move")

    @sdk.lock()
    def lock(self) -> Reply:
        return named("lock")

    @sdk.unlock()
    def unlock(self) -> Reply:
        return named("unlock")

    @sdk.acl()
    def acl(self) -> Reply:
        return named("acl")

    @sdk.report()
    def report(self) -> Reply:
        return named("report")

    @route("mapped", method=None)
    @route("mapped", method="GET")
    @route("mapped", method="POST")
    @route("mapped", method="PUT")
    @route("mapped", method="PATCH")
    @route("mapped", method="DELETE")
    @route("mapped", method="HEAD")
    @route("mapped", method="OPTIONS")
    @route("mapped", method="TRACE")
    @route("mapped", method="CONNECT")
    @route("mapped", method="PURGE")
    @route("mapped", method="SEARCH")
    @route("mapped", method="PROPFIND")
    @route("mapped", method="PROPPATCH")
    @route("mapped", method="MKCOL")
    @route("mapped", method="COPY")
    @route("mapped", method="MOVE")
    @route("mapped", method="LOCK")
    @route("mapped", method="UNLOCK")
    @route("mapped", method="ACL")
    @route("mapped", method="REPORT")
    def mapped(self, ctx: Context) -> Reply:
        return named(ctx.method)
