"""Returned values by the declared type: a value of another kind is refused, and what a subclass or a dictionary has
beside the declared fields is not sent.

A hint is compiled once to a function that makes the sent value, or to `None` if every value is sent as it is. A type
without fields is compiled to a `Scalar`, which knows the classes whose values all fit: such a value costs one lookup. A
record whose fields are all scalars is sent as it is. It remembers the classes of the fields of the values that fitted.
"""

import functools
import inspect
import types
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
    Set,
)
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Literal, Never, NoReturn, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from .constraints import Measure, are_met, constraints_of, is_documentation
from .crash import placed
from .exceptions import HttpError
from .hints import hints_of, named, without_none
from .jsontext import plain_value
from .misfits import shown, type_name
from .payload import Payload
from .readers import FORMS
from .records import Record, is_record, record_of, without_extras
from .reply import Reply


class Handle:
    """A context or a delivery. A function that returns one returns no value."""

    __slots__ = ()


Project = Callable[[Any], Any]

_NONE = type(None)
_SCALARS = (str, int, float, bool, UUID, datetime, date, time, Decimal)
_BINARY = (bytes, bytearray, memoryview)
_WHOLE = (Reply, Payload, HttpError, Handle)
"""Values that are not JSON. A declared type says nothing about them."""
_OTHER_KINDS = {int: bool, float: bool, date: datetime}
"""Subclasses whose values have another form in JSON than those of their base."""
_MOST_SHAPES = 64
"""How many combinations of classes of fields a record remembers."""
_MEASURES: dict[Any, Measure] = {str: "text", (int, float, Decimal): "number", (date, time): "moment"}
_KEYS = frozenset([str, int, float, bool, _NONE])
"""Keys of a `dict` of which JSON makes the texts."""
_LISTS = (list, tuple, set, frozenset, Sequence, MutableSequence, Set, MutableSet, Collection, Iterable)
_OBJECTS = (dict, Mapping, MutableMapping)
_STREAMS = (Iterator, Generator, AsyncIterator, AsyncGenerator, AsyncIterable)


class Unfit(TypeError):
    """A returned value that is not of the declared type."""


def _unfit(expected: str, value: object) -> Unfit:
    return Unfit(f"expected {expected}, got `{'None' if value is None else type(value).__name__}`")


class Scalar:
    """A type whose values are sent as they are. Each value of the classes `exact` fits."""

    __slots__ = ("exact", "expected", "fits")

    def __init__(self, expected: str, exact: Collection[type], fits: Callable[[Any], bool]) -> None:
        self.expected, self.exact, self.fits = expected, frozenset(exact), fits

    def __call__(self, value: Any) -> Any:
        if type(value) in self.exact or self.fits(value):
            return value
        raise _unfit(self.expected, value)


class _Literal(Scalar):
    """A choice of values, which the error shows."""

    __slots__ = ()

    def __init__(self, words: tuple[Any, ...]) -> None:
        # `True` equals 1.
        keys = {(type(word), word) for word in words}
        shown_words = " or ".join(f"`{word!r}`" for word in words)

        def fits(value: Any) -> bool:
            try:
                return (type(value), value) in keys
            except TypeError:
                # It has no hash.
                return False

        super().__init__(shown_words, (), fits)

    def __call__(self, value: Any) -> Any:
        if self.fits(value):
            return value
        raise Unfit(f"expected {self.expected}, got `{shown(repr(value))}`")


def _scalar(kind: Any) -> Scalar:
    """A number fits `float` if it is an `int`, as mypy has it."""
    kinds = {float: (float, int), bytes: _BINARY}.get(kind, (kind,))
    other = _OTHER_KINDS.get(kind, ())
    name = "`None`" if kind is _NONE else type_name(kind)
    return Scalar(name, kinds, lambda value: isinstance(value, kinds) and not isinstance(value, other))


def _has_exact(part: Project | None, values: Iterable[Any]) -> bool:
    """Whether all values are of classes whose values all fit."""
    return isinstance(part, Scalar) and part.exact.issuperset(map(type, values))


def project(hint: Any) -> Project | None:
    """What makes the sent value of a returned one. A type that no JSON has, and a constraint that nothing enforces, are a
    `TypeError`."""
    if get_origin(hint) is Annotated:
        return _constrained(*get_args(hint))
    try:
        hash(hint)
    except TypeError:
        # The metadata of an `Annotated` within it need not be hashable.
        return _project.__wrapped__(hint)
    return _project(hint)


def _constrained(hint: Any, *extras: Any) -> Project | None:
    part = project(hint)
    constraints = constraints_of([*extras], _measure_of(hint), type_name(hint))
    if not constraints:
        return part
    expected = f"{_expected(hint, part)} {' and '.join(one.told for one in constraints)}"

    def made(value: Any) -> Any:
        sent = value if part is None else part(value)
        if value is not None and not are_met(constraints, value):
            raise Unfit(f"expected {expected}, got {_told(value)}")
        return sent

    return made


def _told(value: Any) -> str:
    """A value in an error: an object by its class alone, since the log has the error."""
    if isinstance(value, (date, time, Decimal)):
        value = plain_value(value)
    return f"`{shown(value) if isinstance(value, (str, int, float)) else type(value).__name__}`"


def _measure_of(hint: Any) -> Measure | None:
    """What a constraint can measure of a type."""
    hint = named(without_none(named(hint))[0])
    kind = get_origin(hint) or hint
    if kind in (*_LISTS, *_OBJECTS) or (isinstance(kind, type) and issubclass(kind, tuple)):
        return "items"
    if not isinstance(kind, type) or issubclass(kind, (Enum, bool)):
        return None
    return next((measure for kinds, measure in _MEASURES.items() if issubclass(kind, kinds)), None)


def _expected(hint: Any, part: Project | None) -> str:
    if isinstance(part, Scalar):
        return part.expected
    kind = get_origin(named(hint)) or named(hint)
    return "a list" if kind in _LISTS else "an object" if kind in _OBJECTS else type_name(hint)


@functools.lru_cache(maxsize=1024)
def _project(hint: Any) -> Project | None:
    if hint in (Any, object, inspect.Parameter.empty, NoReturn, Never):
        return None
    origin: Any = get_origin(hint)
    stands_for = getattr(hint, "__supertype__", None)
    if stands_for is None and not isinstance(hint, type):
        stands_for = getattr(hint, "__value__", None)
    if stands_for is not None:
        return project(stands_for)
    if origin in (Union, types.UnionType):
        return _union(get_args(hint))
    if origin is Literal:
        return _Literal(get_args(hint))
    if hint is None or hint is _NONE:
        return _scalar(_NONE)
    if is_record(hint):
        return _record(hint)
    kind = origin or hint
    if not isinstance(kind, type):
        raise TypeError(f"{type_name(hint)} has no form in JSON, expected {FORMS}, or `object`")
    if issubclass(kind, (Enum, *_SCALARS, *_BINARY, *_WHOLE)):
        return _scalar(kind)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = get_type_hints(kind, include_extras=True)
        return _fixed([project(hints.get(name, Any)) for name in kind._fields])
    if kind in _LISTS:
        return _list(kind, get_args(hint))
    if kind in _OBJECTS:
        return _object(get_args(hint))
    raise TypeError(
        f"{type_name(hint)} has no form in JSON, expected {FORMS}, or `object` for a value that is sent with all that it has"
    )


def _list(kind: Any, arguments: tuple[Any, ...]) -> Project:
    if kind is tuple and arguments and arguments[-1] is not ...:
        return _fixed([project(one) for one in (() if arguments == ((),) else arguments)])
    item = project(arguments[0]) if arguments else None

    def made(value: Any) -> Any:
        if not isinstance(value, (list, tuple, set, frozenset)):
            raise _unfit("a list", value)
        if item is None or _has_exact(item, value):
            return value
        sent: list[Any] = []
        try:
            for one in value:
                sent.append(item(one))
        except Unfit as error:
            raise _within(len(sent), error) from None
        return sent

    return made


def _fixed(parts: list[Project | None]) -> Project:
    def made(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != len(parts):
            raise _unfit(f"a tuple of {len(parts)} items", value)
        pairs = enumerate(zip(parts, value, strict=True))
        return [one if part is None else _part(index, part, one) for index, (part, one) in pairs]

    return made


def _object(arguments: tuple[Any, ...]) -> Project:
    key, part = map(project, arguments) if arguments else (None, None)
    exact_keys = key.exact & _KEYS if isinstance(key, Scalar) else frozenset[type]()

    def made(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise _unfit("a `dict`", value)
        if key is None or exact_keys.issuperset(map(type, value)):
            if part is None or _has_exact(part, value.values()):
                return value
            return {name: _part(name, part, one) for name, one in value.items()}
        return {
            _key(key, name): one if part is None else _part(name, part, one) for name, one in value.items()
        }

    return made


def _key(part: Project, name: Any) -> Any:
    """A key as JSON can have it."""
    try:
        sent = part(name)
    except Unfit as error:
        raise _within(name, Unfit(f"the key: {error}")) from None
    return sent if isinstance(sent, (str, int, float, _NONE)) else plain_value(sent)


def _part(name: object, part: Project, value: Any) -> Any:
    try:
        return part(value)
    except Unfit as error:
        raise _within(name, error) from None


def _within(name: object, error: Unfit) -> Unfit:
    """The error of a part, with the path to the part."""
    path, mark, rest = str(error).rpartition("`: ")
    if mark and path.startswith("`"):
        return Unfit(f"`{name}.{path.removeprefix('`')}`: {rest}")
    return Unfit(f"`{name}`: {error}")


def _record(hint: Any) -> Project:
    # A type may contain itself, so its fields are read when the first value is sent, after a check at the build.
    record = record_of(hint)
    compiled: list[Project] = []

    def made(value: Any) -> Any:
        if not compiled:
            compiled.append(_record_project(record))
        return compiled[0](value)

    # `project` would make this function again, without an end.
    if hint not in _checking:
        _checking.append(hint)
        try:
            compiled.append(_record_project(record))
        finally:
            _checking.pop()
    return made


_checking: list[Any] = []


def _record_project(record: Record) -> Project:
    parts: list[tuple[str, Project | None, bool]] = []
    for field in record.fields:
        try:
            parts.append((field.name, project(field.hint), field.is_required))
        except TypeError as error:
            raise TypeError(f"`{record.kind.__name__}.{field.name}`: {error}") from None
    names = [name for name, *_ in parts]
    all_of = frozenset(names)
    scalars = [part for _, part, _ in parts if isinstance(part, Scalar)]
    is_flat = len(scalars) == len(parts)
    known: set[tuple[type, ...]] = set()
    # Of a single name the getters make no tuple.
    given = (*names, *names[:1]) if names else None
    of_object = attrgetter(*given) if given else lambda value: ()
    of_dict = itemgetter(*given) if given else lambda value: ()
    kind: Any = record.kind

    def fits(values: tuple[Any, ...]) -> bool:
        """Whether all fields are scalars that fit."""
        kinds = tuple(map(type, values))
        if kinds in known:
            return True
        if not is_flat:
            return False
        if all(one in scalar.exact for one, scalar in zip(kinds, scalars, strict=False)):
            if len(known) < _MOST_SHAPES:
                known.add(kinds)
            return True
        return all(scalar.fits(one) for one, scalar in zip(values, scalars, strict=False))

    def made(value: Any) -> Any:
        if type(value) is kind:
            values = of_object(value)
            if fits(values):
                return value
            return {name: sent(name, part, one) for (name, part, _), one in zip(parts, values, strict=False)}
        if type(value) is dict and is_flat and value.keys() == all_of and fits(of_dict(value)):
            return value
        return others(value)

    def sent(name: str, part: Project | None, value: Any) -> Any:
        return value if part is None else _part(name, part, value)

    def others(value: Any) -> Any:
        """The fields of a dictionary, or of another class such as a subclass."""
        is_object = isinstance(value, Mapping)
        if not is_object and not is_record(type(value)):
            raise _unfit(f"`{kind.__name__}`", value)
        found: dict[str, Any] = {}
        for name, part, is_required in parts:
            try:
                found[name] = sent(name, part, value[name] if is_object else getattr(value, name))
            except (KeyError, AttributeError):
                if is_required:
                    raise Unfit(f"`{name}`: expected a value of `{kind.__name__}`, got none") from None
        return found

    return made


def _union(hints: tuple[Any, ...]) -> Project | None:
    """Chooses the type of a value by its class; that of a dictionary by its keys."""
    parts: list[tuple[Any, Any]] = [(hint, project(hint)) for hint in hints]
    if any(part is None for _, part in parts):
        return None
    scalars = [part for _, part in parts if isinstance(part, Scalar)]
    expected = " | ".join(part.expected if isinstance(part, Scalar) else type_name(hint) for hint, part in parts)
    if len(scalars) == len(parts):
        exact = frozenset[type]().union(*(one.exact for one in scalars))
        return Scalar(expected, exact, lambda value: any(one.fits(value) for one in scalars))
    one, *more = [part for hint, part in parts if hint is not _NONE]
    if not more:
        return lambda value: None if value is None else one(value)
    records: list[tuple[Record, Any]] = [(record_of(hint), part) for hint, part in parts if is_record(hint)]
    others = [part for hint, part in parts if not is_record(hint)]

    by_kind: dict[Any, Any] = {record.kind: part for record, part in records}

    def of_class(value: Any) -> Project | None:
        kinds: Any = type(value).__mro__
        return next((by_kind[base] for base in kinds if base in by_kind), None)

    def of_keys(value: Mapping[str, Any]) -> Project | None:
        fitting = [
            (sum(field.name in value for field in record.fields), part)
            for record, part in records
            if all(field.name in value for field in record.fields if field.is_required)
        ]
        return max(fitting, key=lambda one: one[0])[1] if fitting else None

    def made(value: Any) -> Any:
        chosen = of_class(value) or (of_keys(value) if isinstance(value, Mapping) else None)
        if chosen is not None:
            return chosen(value)
        for part in others:
            try:
                return part(value)
            except Unfit as error:
                # A list or an object of which a part does not fit.
                if str(error).startswith("`"):
                    raise
        raise _unfit(expected, value)

    return made


@functools.lru_cache(maxsize=1024)
def _is_whole(kind: type[Any]) -> bool:
    """Whether values are sent whatever the declared type is: replies, and generators and other iterators."""
    return issubclass(kind, _WHOLE) or hasattr(kind, "__next__") or hasattr(kind, "__anext__")


def returning(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A handler or listener whose returned values are of its return hint, and have the fields of the hint alone."""
    try:
        made = _returned(call, hints_of(call).get("return", Any))
    except TypeError as error:
        raise placed(TypeError(f"`{name}`: the returned type: {error}"), call) from None
    if made is None:
        return call
    project, exact = made, made.exact if isinstance(made, Scalar) else frozenset[type]()

    def sent(value: Any) -> Any:
        kind: Any = type(value)
        if kind in exact or _is_whole(kind):
            return value
        try:
            return project(value)
        except Unfit as error:
            raise TypeError(f"what was returned by `{name}` does not fit its type: {error}") from None

    async def sent_later(value: Awaitable[Any]) -> Any:
        return sent(await value)

    @functools.wraps(call)
    def returned(*arguments: Any, **named: Any) -> Any:
        value = call(*arguments, **named)
        return sent_later(value) if isinstance(value, Awaitable) else sent(value)

    return returned


def _returned(call: Callable[..., Any], hint: Any) -> Project | None:
    bare = without_extras(hint)
    kind: Any = get_origin(bare) or bare
    if kind in (Coroutine, Awaitable):
        return _returned(call, (get_args(bare) or (Any,))[-1])
    is_generator = inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call)
    if kind in _STREAMS or is_generator:
        for extra in get_args(hint)[1:] if bare is not hint else ():
            if not is_documentation(extra):
                raise TypeError(f"`{extra!r}` cannot be a constraint of a stream")
        piece = (get_args(bare) or (Any,))[0]
        if not _is_piece(piece):
            raise TypeError(
                f"the pieces of a stream are {type_name(piece)}, expected `str` or `bytes`; `sse(events, data={type_name(piece).strip('`')})` "
                "sends objects"
            )
        return None
    return project(hint)


def _is_piece(hint: Any) -> bool:
    if get_origin(hint) in (Union, types.UnionType):
        return all(map(_is_piece, get_args(hint)))
    return hint in (Any, object, str, *_BINARY)
