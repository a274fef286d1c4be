"""How the arguments of a handler, guard or dependency are read: decided once, when the module is made."""

import inspect
import types
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from .base_context import BaseContext, text_value
from .context import AsyncContext, Context
from .crash import note_place, placed
from .exceptions import BadRequest
from .guards import admit, check_guard, declared_type, settled
from .hints import hints_of, is_async_function, is_list, is_text, key_of, marker_of, shown, signature_of, without_none
from .parameters import MARKERS, Body, Cookie, Dependency, Form, Header, Path, Queries, Query, is_closed
from .validation import structurer

Get = Callable[[Any], Any]
Overrides = Mapping[Callable[..., Any], Callable[..., Any]]


@dataclass(frozen=True)
class Getter:
    """One argument. `waits` says that the result of `get` has to be awaited."""

    name: str
    get: Get
    waits: bool
    by_name: bool


class Plan:
    """The arguments of a function."""

    __slots__ = ("_gets", "_named", "getters", "waits")

    def __init__(self, getters: list[Getter]) -> None:
        self.getters = getters
        self.waits = any(getter.waits for getter in getters)
        self._gets = [getter.get for getter in getters if not getter.by_name]
        self._named = [(getter.name, getter.get) for getter in getters if getter.by_name]

    def now(self, call: Callable[..., Any], ctx: Any) -> Any:
        """Calls a function with its arguments, in the synchronous form."""
        if self._named:
            return call(*[get(ctx) for get in self._gets], **{name: get(ctx) for name, get in self._named})
        return call(*[get(ctx) for get in self._gets])

    async def later(self, call: Callable[..., Any], ctx: Any) -> Any:
        """The same in the asynchronous form. The result of an `async def` is awaited."""
        if not self.waits:
            return await _awaited(self.now(call, ctx))
        values: list[Any] = []
        named: dict[str, Any] = {}
        for getter in self.getters:
            value = getter.get(ctx)
            if getter.waits:
                value = await value
            if getter.by_name:
                named[getter.name] = value
            else:
                values.append(value)
        return await _awaited(call(*values, **named))


async def _awaited(value: Any) -> Any:
    """A value without the awaitables around it: a decorator that is `async def` may return the coroutine of its
    function."""
    while type(value) is types.CoroutineType or isinstance(value, Awaitable):
        value = await value
    return value


class Planner:
    """Makes plans for the functions of one module. `overrides` replace dependencies in tests."""

    def __init__(self, *, is_async: bool, overrides: Overrides) -> None:
        self.is_async = is_async
        self._overrides = {key_of(make): used for make, used in overrides.items()}
        self._making: dict[Hashable, Callable[..., Any]] = {}
        """The dependencies whose plans are being made, from the outermost to the innermost."""

    def plan(
        self, function: Callable[..., Any], path: Collection[str] | None, *, skip: int = 0, body: str = "whole"
    ) -> Plan:
        """The plan of a function. `path` has the names of the path parameters, `None` if any could be; `skip` leaves
        out the first
        parameters, which the caller gives."""
        try:
            return self._plan(function, path, skip, body)
        except TypeError as error:
            note_place(error, function)
            raise

    def _plan(self, function: Callable[..., Any], path: Collection[str] | None, skip: int, body: str) -> Plan:
        hints = hints_of(function)
        getters: list[Getter] = []
        bodies: list[str] = []
        # Guards, hooks and dependencies are those of several routes, and a path may lack the parameter.
        is_handler = skip == 0 and not self._making
        for parameter in [*signature_of(function).parameters.values()][skip:]:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise TypeError(f"{shown(function)} has the parameter `{parameter}`, expected parameters with names")
            hint = hints.get(parameter.name, parameter.empty)
            getters.append(self._getter(function, parameter, hint, path, bodies, body, is_handler))
        if len(bodies) > 1:
            raise TypeError(f"{shown(function)} reads the body by {' and '.join(bodies)}, expected one of them")
        if bodies and body == "none":
            raise TypeError(f'{shown(function)} reads the body by {bodies[0]}, and its route has `body="none"`')
        return Plan(getters)

    def _getter(
        self,
        function: Callable[..., Any],
        parameter: inspect.Parameter,
        hint: Any,
        path: Collection[str] | None,
        bodies: list[str],
        body: str,
        is_handler: bool,
    ) -> Getter:
        name = parameter.name
        try:
            hint, marker = marker_of(hint, parameter.default)
        except TypeError as error:
            raise TypeError(f"{shown(function)}: the parameter `{name}`: {error}") from None
        has_default = parameter.default is not parameter.empty and not isinstance(parameter.default, MARKERS)
        by_name = parameter.kind is parameter.KEYWORD_ONLY

        def getter(get: Get, waits: bool = False) -> Getter:
            return Getter(name, get, waits and self.is_async, by_name)

        def convertible(of_texts: bool) -> None:
            try:
                structurer(hint, of_texts=of_texts, closed=is_closed(getattr(marker, "extra", "ignore")))
            except Exception as error:
                raise TypeError(f"{shown(function)}: the parameter `{name}`: {error}") from None

        def no_default(what: str) -> None:
            if has_default:
                raise TypeError(
                    f"{shown(function)}: the parameter `{name}` is {what}, so that its default would have no effect: expected none"
                )

        if isinstance(marker, Dependency):
            no_default("what a function makes")
            return getter(self._dependency(marker.make, path, function), True)
        if isinstance(hint, type) and issubclass(hint, BaseContext):
            expected = AsyncContext if self.is_async else Context
            if hint not in (expected, BaseContext):
                form = "asynchronous" if self.is_async else "synchronous"
                raise TypeError(
                    f"{shown(function)} takes `{hint.__name__}` in a module of the {form} form, "
                    f"expected `{expected.__name__}`"
                )
            return getter(lambda ctx: ctx)
        is_path = isinstance(marker, Path) or (marker is None and path is not None and name in path)
        if hint is parameter.empty and not is_path:
            raise TypeError(f"{shown(function)}: the parameter `{name}` has no type hint and is no path parameter")
        if hint is parameter.empty:
            hint = str
        if is_path or isinstance(marker, (Query, Header, Cookie)) or (marker is None and is_text(hint)):
            convertible(True)
            if is_path and (is_handler or marker is not None):
                no_default("in the path of each request")
            if body == "expected" and marker is None and not is_path and not has_default and is_list(hint):
                raise TypeError(
                    f"{shown(function)}: the parameter `{name}` is a list, of the body or of the query: "
                    "expected `Annotated[…, Body()]`, `Annotated[…, Query()]`, or a default for one of the query"
                )
            found = (isinstance(marker, (Query, Header, Cookie, Path)) and marker.name) or name
            if is_path and path is not None and found not in path:
                raise TypeError(f"{shown(function)} reads the path parameter `{found}`, which its paths do not have")
            kind = Path if is_path else type(marker or Query())
            return getter(_text_getter(kind, found, hint, has_default, parameter.default))
        if isinstance(marker, Queries):
            no_default("the whole query")
            convertible(True)
            return getter(lambda ctx: ctx.read_query(hint, extra=marker.extra))
        no_default("the body")
        bodies.append(f"`{name}`")
        if isinstance(marker, Form):
            convertible(True)
            return getter(
                (lambda ctx: ctx.json_or_form(hint, extra=marker.extra))
                if marker.or_json
                else (lambda ctx: ctx.form(hint, extra=marker.extra)),
                True,
            )
        if hint is bytes:
            return getter(lambda ctx: ctx.bytes(), True)
        if hint is not Any:
            convertible(False)
        extra = marker.extra if isinstance(marker, Body) else "ignore"
        return getter(lambda ctx: ctx.json(hint, extra=extra), True)

    def _used(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """The dependency, or what replaces it in a test."""
        return self._overrides.get(key_of(make), make)

    def _dependency(
        self, make: Callable[..., Any], path: Collection[str] | None, of: Callable[..., Any], what: str = "dependency"
    ) -> Get:
        """What makes a dependency, once for each request. In the asynchronous form it has to be awaited."""
        key, used = key_of(make), self._used(make)
        if key_of(used) in self._making:
            chain = "` needs `".join(getattr(one, "__qualname__", str(one)) for one in [*self._making.values(), used])
            raise TypeError(f"`{chain}`: a dependency cannot need itself")
        shown_used = f"the {what} {shown(used)} of {shown(of)}"
        if inspect.isgeneratorfunction(used) or inspect.isasyncgenfunction(used):
            raise placed(TypeError(f"{shown_used} is a generator, expected a function that returns its value"), used)
        self._expect_form(used, shown_used)
        self._making[key_of(used)] = used
        try:
            plan = self.plan(used, path)
        finally:
            del self._making[key_of(used)]

        def now(ctx: Any) -> Any:
            values = ctx._values
            if values is None:
                values = ctx._values = {}
            elif key in values:
                return values[key]
            value = values[key] = settled(plan.now(used, ctx), used)
            return value

        async def later(ctx: Any) -> Any:
            values = ctx._values
            if values is None:
                values = ctx._values = {}
            elif key in values:
                return values[key]
            value = values[key] = await plan.later(used, ctx)
            return value

        # A function that is no `async def` may return an awaitable as well, as one behind a decorator does.
        return later if self.is_async else now

    def guard(self, make: Callable[..., Any], path: Collection[str], of: Callable[..., Any]) -> Get:
        """What runs a guard of a handler, to be awaited in the asynchronous form. It raises the error of a request that
        may not pass. Its parameters are read as those of the handler."""
        get = self._dependency(make, path, of, "guard")
        used = self._used(make)
        try:
            check_guard(used)
        except TypeError as error:
            raise placed(error, used)
        hint = declared_type(used)
        # What replaces a guard in a test is often a `lambda`, which declares no type.
        if hint is Any:
            hint = declared_type(make)

        def now(ctx: Any) -> None:
            admit(used, hint, get(ctx))

        async def later(ctx: Any) -> None:
            admit(used, hint, await get(ctx))

        return later if self.is_async else now


    def hook(self, hook: Callable[..., Any], path: Collection[str]) -> Plan:
        """The plan of a hook, which gets the outcome first."""
        self._expect_form(hook, f"the hook {shown(hook)}")
        first = next(iter(signature_of(hook).parameters.values()), None)
        if first is None or first.kind in (first.KEYWORD_ONLY, first.VAR_KEYWORD):
            told = f"the hook {shown(hook)} takes no outcome, expected the `Reply` or the `HttpError` as its first parameter"
            raise placed(TypeError(told), hook)
        return self.plan(hook, path, skip=1)

    def error_function(self, function: Callable[..., Any]) -> None:
        """Checks a function of `errors`, which is called with the error and the context."""
        told = f"`errors` of the module has {shown(function)}, which"
        self._expect_form(function, told)
        try:
            signature_of(function).bind(None, None)
        except TypeError:
            raise placed(TypeError(f"{told} cannot be called with the error and the context"), function) from None
        except ValueError:
            # A function in C may have no signature.
            pass

    def _expect_form(self, function: Callable[..., Any], told: str) -> None:
        if is_async_function(function) and not self.is_async:
            raise placed(TypeError(f"{told} is `async def` in a module of the synchronous form"), function)


def _text_getter(kind: Any, name: str, hint: Any, has_default: bool, default: Any) -> Get:
    plain, is_optional = without_none(hint)
    of_list = is_list(plain)
    optional = not of_list and (has_default or is_optional)

    if kind is Path:
        what = f"path parameter `{name}`"

        def param(ctx: BaseContext) -> Any:
            text = (ctx._raw or ctx._open).param(name) or ""
            if plain is str:
                return text
            # The usual case, without the cost of a conversion.
            if plain is int and text.isdecimal() and text.isascii() and len(text) < 20:
                return int(text)
            return text_value(plain, text, what)

        return param
    name = name.replace("_", "-") if kind is Header else name
    what = {Header: "header", Cookie: "cookie"}.get(kind, "query parameter") + f" `{name}`"

    def read(ctx: BaseContext) -> str | list[str] | None:
        if kind is Header:
            return ctx.header_values(name) if of_list else ctx.header(name)
        if kind is Cookie:
            return ctx.cookies.get(name)
        fields = ctx.query
        return fields.all(name) if of_list else fields.get(name)

    is_shared = isinstance(default, (list, dict, set))

    def field(ctx: BaseContext) -> Any:
        text = read(ctx)
        if text is None or (of_list and not text and has_default):
            if not optional and not has_default:
                raise BadRequest(f"{what}: it is missing")
            # A handler may change a list, which another request gets as well.
            return copy(default) if is_shared else default if has_default else None
        return text_value(plain, text, what)

    return field


__all__ = ["Body", "Getter", "Plan", "Planner", "hints_of", "is_async_function"]
