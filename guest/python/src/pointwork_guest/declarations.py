"""What is wrong with the declarations of a module, beside what `Module` refuses: declarations that would have no
effect, or another one than their author expects. The build tells each with its form."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, get_args

from .decorators import BodyMode, Guard, RouteDeclaration
from .header import header_problem
from .hints import hints_of, is_text, marker_of
from .module import HandlerOf, Module, ModuleProblem, Problem, path_names
from .variables import schema_of

_OTHER_PARAMETER = re.compile(r"\{([A-Za-z_]\w*)[^/{}]*\}|<(?:[^/<>:]*:)?([A-Za-z_]\w*)>")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}


def check_declarations(module: Module) -> None:
    """Raises a `ModuleProblem` with every problem."""
    problems: list[Problem] = [*_of_module(module)]
    for controller in module.controllers:
        of, shown, declared = controller.of, f"`{controller.of.__name__}`", controller.declared
        problems += _at(of, _of_path(shown, declared.path))
        problems += _at(of, _of_headers(shown, declared.headers))
        problems += _at(of, _of_functions(shown, "guards", declared.guards))
        problems += _at(of, _of_functions(shown, "after", declared.after))
        problems += _at(of, _of_metadata(shown, declared.metadata))
    for handler in module.handlers:
        for route in handler.routes:
            problems += _at(handler.function, _of_route(f"`{handler.shown}`", route))
        problems += _at(handler.function, _of_some_paths(handler))
    for channel in module.channels:
        problems += _at(channel.of, _of_metadata(f"`{channel.of.__name__}`", channel.declared.metadata))
    for listener in module.listeners:
        problems += _at(listener.function, _of_metadata(f"`{listener.shown}`", listener.metadata))
    if problems:
        raise ModuleProblem(problems)


def _at(of: Any, problems: Iterable[str]) -> list[Problem]:
    return [(of, told) for told in problems]


def _of_module(module: Module) -> Iterator[Problem]:
    yield from _at(module, _of_functions("the module", "guards", module.guards))
    yield from _at(module, _of_functions("the module", "after", module.after))
    yield from _at(module, _of_metadata("the module", list(module.metadata.items())))
    for name in module.uses:
        if not isinstance(name, str):
            told = f"`uses` of the module has `{name!r}`, expected the name of an event, such as `uses=[ONE.name]`"
            yield module, told
    if module.variables is not None:
        try:
            schema_of(module.variables)
        except TypeError as error:
            yield module.variables, str(error)
    errors: Any = module.errors
    for kind, function in errors.items() if isinstance(errors, Mapping) else ():
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            told = f"`errors` of the module has the key `{kind!r}`, expected a class of exceptions"
        elif issubclass(kind, (MemoryError, RecursionError)):
            told = f"`errors` of the module has the key `{kind.__name__}`, which traps the instance: expected none"
        else:
            continue
        yield function, told
    yield from _at(module, _of_functions("the module", "errors", module.error_functions()))


def _of_route(shown: str, route: RouteDeclaration) -> Iterator[str]:
    method: Any = route.method
    if method is not None and not (isinstance(method, str) and _TOKEN.fullmatch(method)):
        yield f"{shown} has the method `{method}`, expected a token such as `GET`, or `None` for every method"
    elif method is not None and method not in _METHODS and method.upper() in _METHODS:
        yield f"{shown} has the method `{method}`, which no client sends: expected `{method.upper()}`"
    for path in route.paths:
        yield from _of_path(shown, path)
    if route.body not in get_args(BodyMode):
        yield f"{shown} has `body={route.body!r}`, expected `none`, `whole` or `stream`"
    status: Any = route.status
    if status is not None and (isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599):
        yield f"{shown} has the status {status!r}, expected 200 to 599"
    if not isinstance(route.skip_guards, bool):
        yield f"{shown} has `skip_guards={route.skip_guards!r}`, expected `True` or `False`"
    yield from _of_headers(shown, route.headers)
    yield from _of_functions(shown, "guards", route.guards)
    yield from _of_functions(shown, "after", route.after)
    yield from _of_metadata(shown, route.metadata)


def _of_path(shown: str, path: Any) -> Iterator[str]:
    """The syntax of the host, where other frameworks have another one."""
    if not isinstance(path, str):
        yield f"{shown} has the path `{path!r}`, expected a text"
        return
    for segment in path.strip("/").split("/"):
        other = _OTHER_PARAMETER.search(segment)
        if other is not None:
            rest = "*" if ":path" in segment or "path:" in segment else ":"
            yield f"{shown} has `{segment}` in the path `{path}`, which is no parameter: expected `{rest}{other[1] or other[2]}`"
        elif segment[:1] in (":", "*"):
            name = segment[1:]
            if not _NAME.fullmatch(name):
                kind = "a parameter has no pattern and no type: " if re.match(_NAME, name) else ""
                yield (
                    f"{shown} has `{segment}` in the path `{path}`: {kind}expected a name of letters, digits, `_` and `-`, "
                    f"such as `{segment[0]}id`"
                )
            elif name == "__proto__":
                yield f"{shown} has the parameter `{name}` in the path `{path}`, expected another name"
        elif re.search(r"[:*?#{}<>\s]", segment):
            yield (
                f"{shown} has `{segment}` in the path `{path}`, expected a parameter as a whole segment, such as `:id` or `*rest`, "
                "and other characters percent-encoded"
            )


def _of_some_paths(handler: HandlerOf) -> Iterator[str]:
    """A parameter that only some of the paths have would be read from the query, also where the path has it."""
    prefix = handler.controller.declared.path
    paths = [path_names(prefix, path) for route in handler.routes for path in route.paths or [""]]
    some = {name for names in paths for name in names if not all(name in others for others in paths)}
    if not some:
        return
    hints = hints_of(handler.function)
    for name, parameter in inspect.signature(handler.function).parameters.items():
        hint, marker = marker_of(hints.get(name, parameter.empty), parameter.default)
        if name in some and marker is None and (hint is parameter.empty or is_text(hint)):
            yield (
                f"`{handler.shown}` has the parameter `{name}`, which only some of its paths have: expected two handlers, "
                f"`Query()` for one of the query, or `ctx.params.get({name!r})`"
            )


def _of_headers(shown: str, headers: list[tuple[str, str]]) -> Iterator[str]:
    for name, value in headers:
        if not isinstance(name, str) or not isinstance(value, str):
            yield f"{shown} has the header `{name}: {value!r}`, expected texts"
            continue
        problem = header_problem(name, value)
        if problem is not None:
            yield f"{shown}: {problem}"


def _of_functions(shown: str, what: str, functions: list[Guard]) -> Iterator[str]:
    for function in functions:
        given: Callable[..., Any] | Any = function
        if not callable(given):
            yield f"`{what}` of {shown} has `{given!r}`, expected a function"


def _of_metadata(shown: str, metadata: list[tuple[str, str]]) -> Iterator[str]:
    for name, value in metadata:
        if not isinstance(name, str) or not isinstance(value, str):
            yield f"{shown} has the metadata `{name}: {value!r}`, expected texts"
