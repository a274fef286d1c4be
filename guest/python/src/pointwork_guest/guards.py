"""What the value of a guard means: it lets the request pass, or refuses the request.

A guard lets a request pass by `True`, by a value of its declared type, or by `None` if it is declared `-> None`. Any
other value refuses the request. A value that says nothing about the request, such as a generator that has not begun, an
exception that was not raised or the context, is a mistake of the guard: it is an error, never a pass.

`functools.wraps` gives a decorator the type hints of its function. `None` of the decorator would let a request pass by
the word of the function, though it may be a `return` that the decorator lacks. So a guard that is declared `-> None`
has no decorator.
"""

import types
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

from .constraints import is_documentation
from .exceptions import Forbidden, HttpError
from .hints import NONE, has_decorator, hints_of, named, shown, stands_for, without_partials
from .misfits import type_name
from .projection import Handle
from .reply import Reply

_UNKNOWN = (Any, object)
"""Declared types that do not say which values let a request pass: any value that Python counts as true does."""
_LATER = (Awaitable, Coroutine, types.CoroutineType)


def declared_type(guard: Callable[..., Any]) -> Any:
    """The type that a guard is declared to return; that of a class is the class. `Any` without a declaration."""
    if _is_class(guard):
        return without_partials(guard)
    hint = named(hints_of(guard).get("return", Any))
    while get_origin(hint) in _LATER:
        hint = named((get_args(hint) or (Any,))[-1])
    return NONE if hint is None else hint


def check_guard(guard: Callable[..., Any]) -> None:
    """Refuses a guard whose `None` may be that of a decorator, and one whose declared type decides nothing."""
    hint = hints_of(guard).get("return", Any)
    problem = None if _is_class(guard) else _type_problem(hint)
    if problem is not None:
        raise TypeError(f"the guard {shown(guard)} is declared `-> {type_name(hint).strip('`')}`, and {problem}")
    if declared_type(guard) is NONE and has_decorator(guard):
        raise TypeError(
            f"the guard {shown(guard)} is declared `-> None` and has a decorator, whose `None` would let "
            "each request pass: declare it `-> bool`, and end it by `return True`"
        )


def _type_problem(hint: Any) -> str | None:
    """What is wrong with the declared type of a guard, or with a part of a union."""
    if get_origin(hint) is Annotated and not all(map(is_documentation, get_args(hint)[1:])):
        return "nothing enforces it there: declare it `-> bool`, and return whether the value fits"
    inner = stands_for(hint)
    if inner is not None:
        return _type_problem(inner)
    kind: Any = get_origin(hint) or hint
    if kind in (Union, types.UnionType):
        return next(filter(None, map(_type_problem, get_args(hint))), None)
    if kind in _LATER:
        return _type_problem((get_args(hint) or (Any,))[-1])
    if not isinstance(kind, type):
        return None
    if kind in (Iterable, AsyncIterable) or _is_iterator(kind):
        return "an iterator decides nothing until it is read: declare it `-> bool`, and return `any(…)` or `all(…)` of its values"
    if any("__call__" in vars(base) for base in kind.__mro__):
        return "it decides nothing until it is called: declare it `-> bool`, and return what the call returns"
    return None


def _is_iterator(kind: type) -> bool:
    return hasattr(kind, "__next__") or hasattr(kind, "__anext__")


def settled(value: Any, function: Callable[..., Any]) -> Any:
    """The value of a guard, hook or dependency in the synchronous form, where nothing waits for an awaitable."""
    if isinstance(value, Awaitable):
        close = getattr(value, "close", None)
        if close is not None:
            close()
        raise TypeError(
            f"{shown(function)} returned `{type(value).__name__}`, and nothing waits for it in a module of the "
            "synchronous form: expected a value"
        )
    return value


def admit(guard: Callable[..., Any], hint: Any, value: Any) -> None:
    """Raises the error of a request that a guard does not let pass. `hint` is its declared type."""
    if isinstance(value, HttpError):
        raise value
    if value is True or (value is None and hint is NONE):
        return
    if isinstance(value, Reply):
        raise TypeError(
            f"the guard {shown(guard)} returned a `Reply`, which nothing sends: raise an `HttpError`, and make another "
            "reply of it in a hook of `after`"
        )
    if isinstance(value, BaseException) or (isinstance(value, type) and issubclass(value, BaseException)):
        raise TypeError(f"the guard {shown(guard)} returned the exception `{_name(value)}`: raise it")
    if isinstance(value, Handle):
        raise TypeError(
            f"the guard {shown(guard)} returned `{type(value).__name__}`, which each request has: "
            "expected `True`, `False` or a value"
        )
    # The code that decides has not run: the guard made a generator, a function, a class, or an object that is called.
    if value is NotImplemented or callable(value) or _is_iterator(type(value)):
        raise TypeError(
            f"the guard {shown(guard)} returned `{type(value).__name__}`, which decides nothing: "
            "expected `True`, `False` or a value"
        )
    if value is None or value is False or (not value and (hint in (*_UNKNOWN, bool) or _is_class(guard))):
        raise Forbidden()
    if hint not in _UNKNOWN and not _fits(value, hint):
        raise TypeError(
            f"the guard {shown(guard)} returned `{type(value).__name__}`, expected `True`, `False` or its declared type "
            f"{type_name(hint)}"
        )


def _is_class(guard: Callable[..., Any]) -> bool:
    return isinstance(without_partials(guard), type)


def _name(value: Any) -> str:
    return (value if isinstance(value, type) else type(value)).__name__


def _fits(value: Any, hint: Any) -> bool:
    hint = named(hint)
    origin: Any = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    kind = origin or hint
    if is_typeddict(kind):
        return isinstance(value, Mapping)
    if kind is float:
        return isinstance(value, (int, float))
    if not isinstance(kind, type):
        return bool(value)
    try:
        return isinstance(value, kind)
    except TypeError:
        # A protocol that cannot be checked.
        return bool(value)
