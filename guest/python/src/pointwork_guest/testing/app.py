"""A module under test."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar
from urllib.parse import quote, unquote, urlencode

from .. import raw
from ..calls import name_of
from ..dispatch import Dispatcher, run_now
from ..events import AnyEvent
from ..exceptions import CallError, ReplyError, thrown
from ..header import HeadersLike, header_problem, pairs, raw_header
from ..manifest import describe
from ..module import Module, join_path
from ..payload import lift_payload, lower_payload
from .exchange import TestContext, TestDelivery
from .host import World, in_world
from .response import TestResponse

T = TypeVar("T")


@dataclass(frozen=True)
class _Route:
    handler: int
    method: str | None
    pattern: str
    segments: list[str]


class TestApp:
    """A module without a host. It finds the handler as the host does, and functions answer the events.

    `app = TestApp(module).on("db:one", lambda id: {"id": id})`, then `app.get("/products/7").json()`. `overrides`
    replace dependencies
    and guards. A module of the asynchronous form runs in an event loop of its own; within a test that has one,
    `await app.request_later(…)`.
    An exception that nothing catches is 500, and `exception` of the answer; one that traps an instance, such as
    `MemoryError` and `SystemExit`, is raised to the test.
    """

    __test__ = False

    def __init__(
        self,
        module: Module,
        *,
        variables: Mapping[str, str] = {},
        overrides: Mapping[Callable[..., Any], Callable[..., Any]] = {},
    ) -> None:
        self._module = module
        self._dispatcher = Dispatcher(module, overrides)
        self._listeners: dict[str, Callable[[Any], Any]] = {}
        self._variables = [raw.Property(name, value) for name, value in variables.items()]
        self._routes = [
            _Route(handler, route.method, pattern, pattern.split("/")[1:] if pattern != "/" else [])
            for controller in module.controllers
            for handler, route in controller.routes
            for pattern in (join_path(controller.declared.path, path) for path in route.paths or [""])
        ]

    @property
    def manifest(self) -> dict[str, Any]:
        """The declarations, as the host reads them."""
        return describe(self._module, {})

    def on(self, event: AnyEvent, listener: Callable[[Any], Any]) -> Self:
        """What answers an event that the code under test calls. An `HttpError` that it raises fails the call."""
        self._listeners[name_of(event)] = listener
        return self

    async def request_later(
        self,
        method: str,
        target: str,
        *,
        headers: HeadersLike = (),
        cookies: Mapping[str, str] = {},
        json: Any = ...,
        form: Mapping[str, str] | None = None,
        files: Mapping[str, tuple[str, bytes, str]] | None = None,
        body: str | bytes | None = None,
        cancelled: bool = False,
    ) -> TestResponse:
        """Sends a request to the handler that the host would choose."""
        path, mark, query = target.partition("?")
        route, params = self._find(method, path)
        sent, content = _content(headers, cookies, json, form, files, body)
        context = TestContext(
            self._world(), method, path, query if mark else None, sent, content, route.pattern, params, cancelled
        )
        with in_world(context.world):
            if self._module.is_async:
                outcome = await self._dispatcher.handle_later(route.handler, context)
            else:
                outcome = self._dispatcher.handle(route.handler, context)
            _keep(outcome, context)
        return TestResponse(context)

    def request(self, method: str, target: str, **more: Any) -> TestResponse:
        """As `request_later`, which has the arguments: `headers`, `cookies`, and one of `json`, `form`, `files` and
        `body`.
        """
        return _run(self.request_later(method, target, **more), self._module.is_async)

    def get(self, target: str, **more: Any) -> TestResponse:
        return self.request("GET", target, **more)

    def post(self, target: str, **more: Any) -> TestResponse:
        return self.request("POST", target, **more)

    def put(self, target: str, **more: Any) -> TestResponse:
        return self.request("PUT", target, **more)

    def patch(self, target: str, **more: Any) -> TestResponse:
        return self.request("PATCH", target, **more)

    def delete(self, target: str, **more: Any) -> TestResponse:
        return self.request("DELETE", target, **more)

    async def deliver_later(
        self, event: AnyEvent, payload: object = None, *, attempt: int = 1, hand_over: bool = False
    ) -> tuple[Any, TestResponse]:
        """Delivers an event, `db:product:all`, to its listener. The result is that of the caller, and the reply that
        of the context
        which `hand_over` gives. A failure is a `CallError`."""
        name = name_of(event)
        names = [f"{one.channel.declared.path}:{one.event}" for one in self._module.listeners]
        if name not in names:
            raise LookupError(f"no listener has the event `{name}`, expected one of {', '.join(names) or 'none'}")
        at = names.index(name)
        world = self._world()
        context = TestContext(world, "GET", "/", None, [], b"", "/", [])
        delivery = TestDelivery(world, self._module.listeners[at].event, attempt, context if hand_over else None)
        lowered = lower_payload(payload, "the payload of", name)
        with in_world(world):
            if self._module.is_async:
                result = await self._dispatcher.deliver_later(at, delivery, lowered)
            else:
                result = self._dispatcher.deliver(at, delivery, lowered)
        if isinstance(result, raw.Failure):
            raise CallError(name, result) from next(iter(world.exceptions), None)
        return lift_payload(result), TestResponse(context)

    def deliver(self, event: AnyEvent, payload: object = None, *, attempt: int = 1) -> Any:
        """Delivers an event to its listener, and returns the result of the caller."""
        return self.deliver_all(event, payload, attempt=attempt)[0]

    def deliver_all(
        self, event: AnyEvent, payload: object = None, *, attempt: int = 1, hand_over: bool = False
    ) -> tuple[Any, TestResponse]:
        """As `deliver_later`."""
        return _run(self.deliver_later(event, payload, attempt=attempt, hand_over=hand_over), self._module.is_async)

    def _world(self) -> World:
        return World(self._listeners, self._variables)

    def _find(self, method: str, path: str) -> tuple[_Route, list[raw.Property]]:
        """The route that the host chooses: a literal beats a parameter, a parameter the rest, and a method every
        method.
        """
        wanted = [] if path == "/" else path.split("/")[1:]
        best: tuple[tuple[Any, ...], _Route, list[raw.Property]] | None = None
        for route in self._routes:
            is_head = method == "HEAD" and route.method == "GET"
            if route.method not in (None, method) and not is_head:
                continue
            params = _match(route.segments, wanted)
            if params is None:
                continue
            kinds = tuple({"*": 2, ":": 1}.get(segment[:1], 0) for segment in route.segments)
            rank = (*kinds, 3), 2 if route.method is None else int(is_head)
            if best is None or rank < best[0]:
                best = rank, route, params
        if best is None:
            known = "".join(f"\n  {route.method or 'ALL'} {route.pattern}" for route in self._routes)
            raise LookupError(f"no handler answers `{method} {path}`, expected one of:{known}")
        return best[1], best[2]


def _match(segments: list[str], wanted: list[str]) -> list[raw.Property] | None:
    params: list[raw.Property] = []
    for at, segment in enumerate(segments):
        if at >= len(wanted):
            return None
        if segment.startswith("*"):
            rest = "/".join(map(unquote, wanted[at:]))
            return [*params, raw.Property(segment[1:], rest)]
        if segment.startswith(":"):
            if not wanted[at]:
                return None
            params.append(raw.Property(segment[1:], unquote(wanted[at])))
        elif unquote(segment) != unquote(wanted[at]):
            return None
    return params if len(segments) == len(wanted) else None


_BOUNDARY = "boundary-of-a-test"


def _content(
    headers: HeadersLike,
    cookies: Mapping[str, str],
    value: Any,
    form: Mapping[str, str] | None,
    files: Mapping[str, tuple[str, bytes, str]] | None,
    body: str | bytes | None,
) -> tuple[list[raw.Header], bytes]:
    found = {name.lower(): text for name, text in pairs(headers)}
    content = body.encode() if isinstance(body, str) else body or b""
    kind: str | None = None
    if value is not ...:
        content, kind = json.dumps(value).encode(), "application/json"
    elif files is not None:
        content, kind = _multipart(form or {}, files), f"multipart/form-data; boundary={_BOUNDARY}"
    elif form is not None:
        content, kind = urlencode(form).encode(), "application/x-www-form-urlencoded"
    if kind is not None:
        found.setdefault("content-type", kind)
    if cookies:
        found["cookie"] = "; ".join(f"{name}={quote(text)}" for name, text in cookies.items())
    return [raw_header(name, text) for name, text in found.items()], content


def _multipart(form: Mapping[str, str], files: Mapping[str, tuple[str, bytes, str]]) -> bytes:
    parts = [(f'form-data; name="{name}"', "", text.encode()) for name, text in form.items()]
    parts += [
        (f'form-data; name="{name}"; filename="{file}"', f"content-type: {kind}\r\n", data)
        for name, (file, data, kind) in files.items()
    ]
    made = b"".join(
        f"--{_BOUNDARY}\r\ncontent-disposition: {disposition}\r\n{head}\r\n".encode() + data + b"\r\n"
        for disposition, head, data in parts
    )
    return made + f"--{_BOUNDARY}--\r\n".encode()


def _keep(outcome: raw.Outcome, context: TestContext) -> None:
    """Takes the outcome as the host does: a reply that is not valid is an error."""
    if isinstance(outcome, raw.Outcome_Thrown):
        context.throw(outcome.value)
    elif isinstance(outcome, raw.Outcome_Reply):
        reply = outcome.value
        wrong = next((found for one in reply.headers if (found := header_problem(one.name, one.value.decode()))), None)
        if wrong is None and not 200 <= reply.status <= 599:
            wrong = f"the status of the reply is {reply.status}, expected 200 to 599"
        if wrong is None:
            context.send(reply)
        else:
            context.throw(thrown(ReplyError(wrong, "a decorator")))


def _run(coroutine: Coroutine[Any, Any, T], is_async: bool) -> T:
    """Runs to the end. In the synchronous form nothing waits, and needs an event loop."""
    if is_async:
        return asyncio.run(coroutine)
    return run_now(coroutine)
