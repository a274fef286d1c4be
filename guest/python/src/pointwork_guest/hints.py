"""What the type hints of handlers, guards and dependencies stand for."""

import functools
import inspect
import types
from collections.abc import Callable, Hashable, Iterable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from .constraints import is_documentation
from .parameters import MARKERS

NONE = type(None)
LISTS = (list, set, frozenset, tuple)
_SCALARS = (str, int, float, bool, UUID, datetime, date, time, Decimal)


_MOST_LAYERS = 100


def layers_of(function: Any) -> list[Any]:
    """What a call of a function goes through, from the outside to the inside: partial objects, methods, the `__call__`
    of objects, and decorators that use `functools.wraps`."""
    found: list[Any] = []
    left = [function]
    # An object may have every attribute that is asked for, without an end.
    while left and len(found) < _MOST_LAYERS:
        one = left.pop(0)
        if any(one is other for other in found):
            continue
        found.append(one)
        if isinstance(one, functools.partial):
            left.append(one.func)
        elif inspect.ismethod(one):
            left.append(one.__func__)
        elif callable(one) and not inspect.isroutine(one) and not isinstance(one, type):
            left.append(type(one).__call__)
        left += [one.__wrapped__] if _is_decorator(one) else []
    return found


def has_decorator(function: Any) -> bool:
    """Whether a decorator that uses `functools.wraps` runs before the function, with the type hints of the function."""
    return any(map(_is_decorator, layers_of(function)))


def _is_decorator(function: Any) -> bool:
    return hasattr(function, "__wrapped__")


def is_async_function(function: Any) -> bool:
    """Whether a call returns a coroutine, also behind a decorator that uses `functools.wraps`."""
    return any(map(inspect.iscoroutinefunction, layers_of(function)))


def without_partials(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


class _Identity:
    """The key of an object, or of a method of an object, whatever `==` says of the object. The key holds the object, so
    that no later object gets its id."""

    __slots__ = ("_parts",)

    def __init__(self, *parts: Any) -> None:
        self._parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and [*map(id, self._parts)] == [*map(id, other._parts)]

    def __hash__(self) -> int:
        return hash(tuple(map(id, self._parts)))


_COMPARED_BY_IDENTITY = (types.FunctionType, types.BuiltinFunctionType, types.MethodWrapperType)
"""Python compares these functions, and the objects of their methods, by identity."""


def key_of(function: Any) -> Hashable:
    """The key of a declared function. Two functions have one key only if they are the same object, or the same method of
    the same object: two guards that are equal, such as members of two `StrEnum`s, may decide differently."""
    if type(function) in _COMPARED_BY_IDENTITY:
        key: Hashable = function
        return key
    return _Identity(function.__func__, function.__self__) if inspect.ismethod(function) else _Identity(function)


def distinct(functions: Iterable[Any]) -> list[Any]:
    """The functions without repetitions, in the order of their first occurrence."""
    found: dict[Hashable, Any] = {}
    for function in functions:
        found.setdefault(key_of(function), function)
    return list(found.values())


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a function, of the constructor of a class, or of an object that is called."""
    of: Any = without_partials(function)
    if isinstance(of, type):
        of = getattr(of, "__init__")
    elif not inspect.isroutine(of):
        of = getattr(of, "__call__")
    try:
        return get_type_hints(of, include_extras=True)
    except NameError as error:
        raise TypeError(f"{shown(function)}: a type hint cannot be read: {error}") from None
    except TypeError:
        return {}


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function. From Python 3.13 on, `inspect` gives a member of an `Enum` the signature of its class."""
    return inspect.signature(getattr(function, "__call__") if isinstance(function, Enum) else function)


def marker_of(hint: Any, default: Any) -> tuple[Any, Any]:
    """The type of a parameter with its constraints, and where its value is from."""
    markers = [default] if isinstance(default, MARKERS) else []
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        constraints: list[Any] = []
        for extra in extras:
            # `Annotated[int, Query]` is the same as `Annotated[int, Query()]`.
            made: Any = extra() if isinstance(extra, type) and extra in MARKERS[:-1] else extra
            if isinstance(made, MARKERS):
                markers.append(made)
            elif not is_documentation(extra):
                constraints.append(extra)
        for constraint in constraints:
            hint = Annotated[hint, constraint]
    if len(markers) > 1:
        raise TypeError(f"`{markers[0]!r}` and `{markers[1]!r}` are at one parameter, expected one of them")
    return hint, markers[0] if markers else None


def without_none(hint: Any) -> tuple[Any, bool]:
    """A type without its `None`, and whether it had one."""
    if get_origin(hint) is Annotated:
        inner, is_optional = without_none(get_args(hint)[0])
        for constraint in get_args(hint)[1:]:
            inner = Annotated[inner, constraint]
        return inner, is_optional
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    parts = [part for part in get_args(hint) if part is not NONE]
    is_optional = len(parts) < len(get_args(hint))
    return parts[0] if len(parts) == 1 else hint, is_optional


def is_text(hint: Any) -> bool:
    """Whether a hint without a marker is a field of the query: a text, a number, or a list of them."""
    hint = named(hint)
    origin = get_origin(hint)
    if origin is Literal or (isinstance(hint, type) and issubclass(hint, (Enum, *_SCALARS))):
        return True
    if origin in (Union, types.UnionType):
        return all(part is NONE or is_text(part) for part in get_args(hint))
    if origin is tuple and get_args(hint)[1:] != (...,):
        return False
    return origin in LISTS and all(part is ... or is_text(part) for part in get_args(hint))


def is_list(hint: Any) -> bool:
    """Whether it is a list, or one or `None`."""
    hint = named(hint)
    is_union = get_origin(hint) in (Union, types.UnionType)
    return any(is_list(part) for part in get_args(hint)) if is_union else get_origin(hint) in LISTS


def named(hint: Any) -> Any:
    """What a `NewType` or a `type` statement stands for, without constraints."""
    while (inner := stands_for(hint)) is not None:
        hint = inner
    return hint


def stands_for(hint: Any) -> Any:
    """The type that an `Annotated`, a `NewType` or a `type` statement stands for; `None` for another type."""
    if isinstance(hint, type):
        return None
    if get_origin(hint) is Annotated:
        return get_args(hint)[0]
    return getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)


def shown(function: Any) -> str:
    inner = without_partials(function)
    return f"`{getattr(inner, '__qualname__', type(inner).__qualname__)}`"
