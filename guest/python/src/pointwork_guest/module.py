"""A module: its declarations, checked."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .crash import caller, is_of
from .decorators import (
    ClassDeclaration,
    FunctionDeclaration,
    Guard,
    RouteDeclaration,
    declaration_of,
    declared_classes,
    declared_lines,
)
from .exceptions import HttpError
from .plan import is_async_function

_NAME = re.compile(r"/:[^/]*")


@dataclass
class HandlerOf:
    controller: "ControllerOf"
    name: str
    function: Callable[..., Any]
    routes: list[RouteDeclaration]

    @property
    def shown(self) -> str:
        return f"{self.controller.of.__name__}.{self.name}"


@dataclass
class ListenerOf:
    channel: "ChannelOf"
    name: str
    function: Callable[..., Any]
    event: str
    metadata: list[tuple[str, str]]

    @property
    def shown(self) -> str:
        return f"{self.channel.of.__name__}.{self.name}"


@dataclass
class ControllerOf:
    of: type[Any]
    declared: ClassDeclaration
    # Numbers of handlers, with their routes.
    routes: list[tuple[int, RouteDeclaration]] = field(default_factory=list)


@dataclass
class ChannelOf:
    of: type[Any]
    declared: ClassDeclaration
    listeners: list[int] = field(default_factory=list)


Problem = tuple[Any, str]
"""The function, class or module that a problem is about, and the message."""


class ModuleProblem(TypeError):
    """What is wrong with the declarations of a module, one problem a line."""

    def __init__(self, problems: "list[Problem]") -> None:
        super().__init__("\n".join(told for _, told in problems))
        self.problems = problems


class Module:
    """What a component consists of: `app = Module(controllers=[Products], channels=[Stock])` in the entry file.

    `guards` and `after` are those of every handler, `errors` makes the body of every error of handlers and guards, or
    is a mapping from classes of exceptions to functions that make the replies. `variables` is a dataclass of the
    variables that the module needs, and `uses` names events by names that are not written where they are called. A
    class that is not listed takes no part.
    """

    def __init__(
        self,
        *,
        controllers: Sequence[type[Any]] = (),
        channels: Sequence[type[Any]] = (),
        guards: Sequence[Guard] = (),
        after: Sequence[Guard] = (),
        errors: Callable[..., Any] | Mapping[type[Exception], Callable[..., Any]] | None = None,
        variables: type[Any] | None = None,
        uses: Sequence[str] = (),
        metadata: Mapping[str, str] = {},
    ) -> None:
        self.made_at = caller()
        self.guards, self.after, self.errors = [*guards], [*after], errors
        self.variables, self.uses, self.metadata = variables, [*uses], dict(metadata)
        self.controllers: list[ControllerOf] = []
        self.channels: list[ChannelOf] = []
        self.handlers: list[HandlerOf] = []
        self.listeners: list[ListenerOf] = []
        self.warnings: list[str] = []
        problems: list[Problem] = []
        for of in controllers:
            self._add_controller(of, problems)
        for of in channels:
            self._add_channel(of, problems)
        problems += _same_names("controllers", [(one.of, one.declared.name) for one in self.controllers])
        problems += _same_names("channels", [(one.of, one.declared.path) for one in self.channels])
        problems += self._same_routes()
        self.is_async = self._form(problems)
        if not problems and not self.controllers and not self.channels:
            told = "the module lists no controllers and no channels, expected `Module(controllers=[Products])`"
            problems.append((self, told))
        if problems:
            raise ModuleProblem(problems)

    def classes(self) -> list[tuple[type[Any], ClassDeclaration]]:
        """The listed classes."""
        return [
            *((one.of, one.declared) for one in self.controllers),
            *((one.of, one.declared) for one in self.channels),
        ]

    def error_functions(self) -> list[Callable[..., Any]]:
        """What `errors` declares."""
        if self.errors is None:
            return []
        return list(self.errors.values()) if isinstance(self.errors, Mapping) else [self.errors]

    def error_function(self, error: BaseException) -> Callable[..., Any] | None:
        """What makes the reply of an exception. Of a mapping it is the function of the nearest class; a function alone
        is for `HttpError`s."""
        if isinstance(self.errors, Mapping):
            return next((self.errors[of] for of in type(error).__mro__ if of in self.errors), None)
        return self.errors if is_of(error, HttpError) else None

    def unlisted(self) -> list[str]:
        """Classes with decorators that the module does not list. Known when all files are evaluated."""
        listed = {of for of, _ in self.classes()}
        others = [(of, declared.kind) for of, declared in declared_classes().items() if of not in listed]
        return [
            f"the {kind} `{of.__name__}` takes no part: the module does not list it in `{kind}s`" for of, kind in others
        ]

    def _add_controller(self, of: type[Any], problems: list[Problem]) -> None:
        declared = _declared("controller", of, problems)
        if declared is None:
            return
        controller = ControllerOf(of, declared)
        self.controllers.append(controller)
        for name, function, method in _own_functions(of, problems):
            if method.listeners:
                problems.append(
                    (function, f"`{of.__name__}.{name}` has `@on`, which belongs in a class with `@channel`")
                )
            if method.routes:
                controller.routes += [(len(self.handlers), route) for route in method.routes]
                self.handlers.append(HandlerOf(controller, name, function, method.routes))
        self.warnings += _left_out(of, "controller")
        if not controller.routes:
            self.warnings.append(f"the controller `{of.__name__}` has no routes of its own")

    def _add_channel(self, of: type[Any], problems: list[Problem]) -> None:
        declared = _declared("channel", of, problems)
        if declared is None:
            return
        channel = ChannelOf(of, declared)
        self.channels.append(channel)
        events: dict[str, str] = {}
        for name, function, method in _own_functions(of, problems):
            if method.routes:
                problems.append(
                    (function, f"`{of.__name__}.{name}` has a route, which belongs in a class with `@controller`")
                )
            for listener in method.listeners:
                # An `Event` has its whole name.
                event = listener.event.removeprefix(f"{declared.path}:")
                if event in events:
                    both = f"`{of.__name__}.{events[event]}` and `{of.__name__}.{name}`"
                    problems.append((function, f"{both} both listen to `{declared.path}:{event}`"))
                events[event] = name
                channel.listeners.append(len(self.listeners))
                self.listeners.append(ListenerOf(channel, name, function, event, listener.metadata))
        self.warnings += _left_out(of, "channel")
        if not channel.listeners:
            self.warnings.append(f"the channel `{of.__name__}` has no listeners of its own")

    def _same_routes(self) -> list[Problem]:
        owners: dict[str, str] = {}
        problems: list[Problem] = []
        for controller in self.controllers:
            for handler, route in controller.routes:
                for path in route.paths or [""]:
                    full = join_path(controller.declared.path, path)
                    method = route.method or "ALL"
                    shape = f"{method} {_NAME.sub('/:', full)}"
                    owner = f"`{self.handlers[handler].shown}`"
                    if shape in owners:
                        told = f"the route {method} {full} is declared twice, by {owners[shape]} and by {owner}"
                        problems.append((self.handlers[handler].function, told))
                    owners[shape] = owner
        return problems

    def _form(self, problems: list[Problem]) -> bool:
        """Whether the form is the asynchronous one. A module has one form, that of all its handlers and listeners."""
        functions: list[HandlerOf | ListenerOf] = [*self.handlers, *self.listeners]
        later = [one for one in functions if _is_async(one.function)]
        now = [one for one in functions if not _is_async(one.function)]
        if later and now:
            both = f"`{later[0].shown}` is `async def` and `{now[0].shown}` is `def`"
            problems.append((later[0].function, f"{both}, expected one form in a module"))
        return bool(later)


def _is_async(function: Callable[..., Any]) -> bool:
    return is_async_function(function) or inspect.isasyncgenfunction(inspect.unwrap(function))


def join_path(prefix: str, path: str) -> str:
    """The full path of a route."""
    parts = [part.strip("/") for part in (prefix, path)]
    return "/" + "/".join(part for part in parts if part)


def path_names(prefix: str, path: str) -> set[str]:
    """The names of the parameters of a path."""
    return {part[1:] for part in f"{prefix}/{path}".split("/") if part[:1] in (":", "*")}


def _declared(kind: Literal["controller", "channel"], of: type[Any], problems: list[Problem]) -> ClassDeclaration | None:
    declared = declared_classes().get(of) if isinstance(of, type) else None
    if declared is not None and declared.kind == kind:
        return declared
    problems.append((of, f"`{getattr(of, '__name__', of)}` is listed in `{kind}s` and has no `@{kind}`"))
    return None


def _own_functions(of: type[Any], problems: list[Problem]) -> list[tuple[str, Callable[..., Any], FunctionDeclaration]]:
    """The decorated functions that the class itself has, in their order."""
    found: list[tuple[str, Callable[..., Any], FunctionDeclaration]] = []
    for name, value in vars(of).items():
        inner = getattr(value, "fget", None) or getattr(value, "__func__", value)
        method = declaration_of(inner)
        if method is None:
            continue
        if inner is not value:
            problems.append((inner, f"`{of.__name__}.{name}` is no method of instances, expected a function with `self`"))
            continue
        lines = declared_lines(of, name)
        if len(lines) > 1:
            problems.append((value, f"`{of.__name__}.{name}` is there twice, at the lines {lines[0]} and {lines[1]}"))
        first = next(iter(inspect.signature(value).parameters.values()), None)
        if first is None or (first.name != "self" and first.annotation is not first.empty):
            problems.append((value, f"`{of.__name__}.{name}` has no `self`, expected it as the first parameter"))
        found.append((name, value, method))
    return found


def _left_out(of: type[Any], kind: Literal["controller", "channel"]) -> list[str]:
    """What the base classes of a class declare: it takes no part, though the functions are inherited (spec D7)."""
    found: list[str] = []
    seen = {name for name, value in vars(of).items() if declaration_of(value) is not None}
    for base in of.__mro__[1:]:
        for name, value in vars(base).items():
            method = declaration_of(getattr(value, "fget", None) or getattr(value, "__func__", value))
            if method is None or name in seen or not (method.routes if kind == "controller" else method.listeners):
                continue
            seen.add(name)
            what = "route" if kind == "controller" else "listener"
            found.append(
                f"`{of.__name__}` has no {what} by `{base.__name__}.{name}`, which it inherits: "
                f"decorate a method of `{of.__name__}` itself"
            )
        declared = declared_classes().get(base)
        if declared is not None and (declared.guards or declared.after or declared.headers):
            found.append(
                f"the decorators of the class `{base.__name__}` do not apply to `{of.__name__}`, "
                "which extends it: give it its own"
            )
    return found


def _same_names(what: str, classes: list[tuple[type[Any], str]]) -> list[Problem]:
    seen: set[str] = set()
    problems: dict[str, Problem] = {}
    for of, name in classes:
        if name in seen:
            told = f"two {what} have the name `{name}`, expected one: give a class another name"
            problems.setdefault(name, (of, told))
        seen.add(name)
    return [problems[name] for name in sorted(problems)]
