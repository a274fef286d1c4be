"""What the value of a guard means: it lets the request pass, or refuses the request.

A guard lets a request pass by `True`, by a value of its declared type, or by `None` if it is declared `-> None`. Any
other value refuses the request. A value that says nothing about the request, such as a generator that has not begun, an
exception that was not raised or the context, is a mistake of the guard: it is an error, never a pass.

`functools.wraps` gives a decorator the type hints of its function. `None` of the decorator would let a request pass by
the word of the function, though it may be a `return` that the decorator lacks. So a guard that is declared `-> None`
has no decorator.
"""

import functools
import inspect
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin, is_typeddict

from .exceptions import Forbidden, HttpError
from .hints import NONE, has_decorator, hints_of, named, shown, without_partials
from .misfits import type_name
from .projection import Handle
from .reply import Reply

_UNKNOWN = (Any, object)
"""Declared types that do not say which values let a request pass: any value that Python counts as true does."""
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)


def declared_type(guard: Callable[..., Any]) -> Any:
    """The type that a guard is declared to return; that of a class is the class. `Any` without a declaration."""
    if _is_class(guard):
        return without_partials(guard)
    hint = named(hints_of(guard).get("return", Any))
    while get_origin(hint) in (Awaitable, Coroutine, types.CoroutineType):
        hint = named((get_args(hint) or (Any,))[-1])
    return NONE if hint is None else hint


def check_guard(guard: Callable[..., Any]) -> None:
    """Refuses a guard whose `None` may be that of a decorator."""
    if declared_type(guard) is NONE and has_decorator(guard):
        raise TypeError(
            f"the guard {shown(guard)} is declared `-> None` and has a decorator, whose `None` would let "
            "each request pass: declare it `-> bool`, and end it by `return True`"
        )


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
    if _is_unfinished(guard, hint, value):
        raise TypeError(
            f"the guard {shown(guard)} returned `{type(value).__name__}`, whose code has not run: "
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


def _is_unfinished(guard: Callable[..., Any], hint: Any, value: Any) -> bool:
    """Whether the code that decides has not run: the guard made a generator, a function or a class, or its class an
    object that is to be called."""
    if (hint in _UNKNOWN or _is_class(guard)) and callable(value):
        return True
    if hint in _UNKNOWN and (value is NotImplemented or isinstance(value, (Iterator, AsyncIterator))):
        return True
    return isinstance(value, _FUNCTIONS) or inspect.isgenerator(value) or inspect.isasyncgen(value)


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
