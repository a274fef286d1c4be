"""The decorators. Each stores a declaration at the function or class, and leaves it as it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Literal, TypeVar

from .calls import name_of
from .crash import caller_place
from .events import AnyEvent
from .header import HeadersLike, pairs

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type[Any])

BodyMode = Literal["none", "whole", "stream"]
"""How a handler takes the body: not at all, when the host has it whole, or as it arrives."""
Guard = Callable[..., Any]
Metadata = Mapping[str, str]
Paths = str | Sequence[str]

DECLARATION = "__pointwork__"


@dataclass
class RouteDeclaration:
    """`method` is `None` for every method."""

    method: str | None
    paths: list[str]
    body: BodyMode
    status: int | None
    headers: list[tuple[str, str]]
    guards: list[Guard]
    skip_guards: bool
    after: list[Guard]
    metadata: list[tuple[str, str]]


@dataclass
class ListenerDeclaration:
    event: str
    metadata: list[tuple[str, str]]


@dataclass
class FunctionDeclaration:
    """What the decorators of one function declare."""

    routes: list[RouteDeclaration] = field(default_factory=list)
    listeners: list[ListenerDeclaration] = field(default_factory=list)


@dataclass
class ClassDeclaration:
    """What the decorator of a class declares. `path` is the prefix of a controller, or the name of a channel."""

    kind: Literal["controller", "channel"]
    path: str
    name: str
    guards: list[Guard]
    after: list[Guard]
    headers: list[tuple[str, str]]
    metadata: list[tuple[str, str]]


_classes: dict[type[Any], ClassDeclaration] = {}
# The code of decorated functions by their names: a second function of a name takes the place of the first.
_codes: dict[str, set[CodeType]] = {}


def declared_classes() -> dict[type[Any], ClassDeclaration]:
    """The classes with `@controller` or `@channel`, in the order of their evaluation."""
    return _classes


def declared_lines(of: type[Any], name: str) -> list[int]:
    """The lines of the decorated functions of a class that have one name."""
    return sorted(code.co_firstlineno for code in _codes.get(f"{of.__module__}.{of.__qualname__}.{name}", ()))


def declaration_of(function: object) -> FunctionDeclaration | None:
    found: FunctionDeclaration | None = getattr(function, DECLARATION, None)
    return found


def _metadata(
    summary: str | None,
    description: str | None,
    metadata: Metadata,
    tags: Sequence[str] = (),
    deprecated: bool = False,
) -> list[tuple[str, str]]:
    found = [("summary", summary), ("description", description), ("deprecated", "true" if deprecated else None)]
    given = [(name, value) for name, value in found if value is not None]
    return [*given, *metadata.items(), *(("tag", tag) for tag in tags)]


def _function(decorator: str, target: Any) -> FunctionDeclaration:
    """The declaration of a decorated function. Anything that is no method of instances is refused, by its name."""
    kinds = {staticmethod: "the static method", classmethod: "the class method", property: "the property"}
    inner = getattr(target, "fget", None) or getattr(target, "__func__", target)
    name = getattr(inner, "__qualname__", repr(target))
    if type(target) in kinds or isinstance(target, type) or not callable(target):
        what = kinds.get(type(target), "the class" if isinstance(target, type) else "the value")
        raise TypeError(f"`@{decorator}` is on {what} `{name}` at {caller_place()}, expected a method of a class")
    found = declaration_of(target)
    if found is None:
        found = FunctionDeclaration()
        setattr(target, DECLARATION, found)
        code = getattr(target, "__code__", None)
        if isinstance(code, CodeType):
            _codes.setdefault(f"{target.__module__}.{target.__qualname__}", set()).add(code)
    return found


def _declare(declaration: ClassDeclaration, decorator: str) -> Callable[[C], C]:
    def decorate(of: C) -> C:
        if not isinstance(of, type):
            raise TypeError(
                f"`@{decorator}` is on `{getattr(of, '__qualname__', of)}` at {caller_place()}, expected a class"
            )
        if of in _classes:
            raise TypeError(f"the class `{of.__name__}` has two of `@controller` and `@channel`, expected one of them")
        declaration.name = declaration.name or of.__name__
        _classes[of] = declaration
        return of

    return decorate


def controller(
    path: str = "/",
    *,
    name: str = "",
    guards: Sequence[Guard] = (),
    after: Sequence[Guard] = (),
    headers: HeadersLike = (),
    summary: str | None = None,
    description: str | None = None,
    metadata: Metadata = {},
) -> Callable[[C], C]:
    """A class whose methods answer requests below a path. `name` is for logs and the route table, by default that of
    the class.

    `guards` run before each handler, `after` sees what became of each request.
    """
    shown = _metadata(summary, description, metadata)
    return _declare(
        ClassDeclaration("controller", path, name, [*guards], [*after], pairs(headers), shown), "controller"
    )


def channel(
    name: str, *, summary: str | None = None, description: str | None = None, metadata: Metadata = {}
) -> Callable[[C], C]:
    """A class whose methods listen to the events of a channel."""
    return _declare(
        ClassDeclaration("channel", name, name, [], [], [], _metadata(summary, description, metadata)), "channel"
    )


def on(
    event: AnyEvent, *, summary: str | None = None, description: str | None = None, metadata: Metadata = {}
) -> Callable[[F], F]:
    """Declares an event's listener: `@on("product:all")` in the channel `db` listens to `db:product:all`."""

    def decorate(function: F) -> F:
        listener = ListenerDeclaration(name_of(event), _metadata(summary, description, metadata))
        # Decorators run from the last to the first.
        _function("on", function).listeners.insert(0, listener)
        return function

    return decorate


def route(
    path: Paths = "",
    *,
    method: str | None,
    body: BodyMode = "whole",
    status: int | None = None,
    headers: HeadersLike = (),
    guards: Sequence[Guard] = (),
    skip_guards: bool = False,
    after: Sequence[Guard] = (),
    summary: str | None = None,
    description: str | None = None,
    tags: Sequence[str] = (),
    deprecated: bool = False,
    metadata: Metadata = {},
    _decorator: str = "route",
) -> Callable[[F], F]:
    """Binds a method of HTTP to a handler: any token, or `None` for every method. Each path of a list is a route of
    its own.

    `status` and `headers` are those of what the handler returns, as long as it is no `Reply`; a `Reply` gets the
    headers too.
    `guards` run after those of the controller, which `skip_guards` leaves out.
    """
    if callable(path):
        raise TypeError(f"`@{_decorator}` at {caller_place()} has no parentheses, expected `@{_decorator}()`")
    paths = ([path] if path else []) if isinstance(path, str) else list(path)
    shown = _metadata(summary, description, metadata, tags, deprecated)
    declared = RouteDeclaration(method, paths, body, status, pairs(headers), [*guards], skip_guards, [*after], shown)

    def decorate(function: F) -> F:
        _function(_decorator, function).routes.insert(0, declared)
        return function

    return decorate


request_mapping = route
"""As `route`."""


class _Verb:
    """A decorator for one method. Its arguments are those of `route`."""

    def __init__(self, name: str, method: str | None) -> None:
        self._name, self._method = name, method

    def __call__(
        self,
        path: Paths = "",
        *,
        body: BodyMode = "whole",
        status: int | None = None,
        headers: HeadersLike = (),
        guards: Sequence[Guard] = (),
        skip_guards: bool = False,
        after: Sequence[Guard] = (),
        summary: str | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        deprecated: bool = False,
        metadata: Metadata = {},
    ) -> Callable[[F], F]:
        return route(
            path,
            method=self._method,
            body=body,
            status=status,
            headers=headers,
            guards=guards,
            skip_guards=skip_guards,
            after=after,
            summary=summary,
            description=description,
            tags=tags,
            deprecated=deprecated,
            metadata=metadata,
            _decorator=self._name,
        )


get = _Verb("get", "GET")
post = _Verb("post", "POST")
put = _Verb("put", "PUT")
patch = _Verb("patch", "PATCH")
delete = _Verb("delete", "DELETE")
head = _Verb("head", "HEAD")
options = _Verb("options", "OPTIONS")
any_method = _Verb("any_method", None)
"""Every method, unless a route for that very method matches as well."""
trace = _Verb("trace", "TRACE")
connect = _Verb("connect", "CONNECT")
purge = _Verb("purge", "PURGE")
search = _Verb("search", "SEARCH")
propfind = _Verb("propfind", "PROPFIND")
proppatch = _Verb("proppatch", "PROPPATCH")
mkcol = _Verb("mkcol", "MKCOL")
copy = _Verb("copy", "COPY")
move = _Verb("move", "MOVE")
lock = _Verb("lock", "LOCK")
unlock = _Verb("unlock", "UNLOCK")
acl = _Verb("acl", "ACL")
report = _Verb("report", "REPORT")
