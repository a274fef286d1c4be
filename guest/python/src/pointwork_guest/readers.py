"""Converts values of clients to their type hints.

A hint is compiled once, when the module is made, to a `Reader`. A hint that has no form in JSON, or a declaration that
no reader enforces, is a `TypeError` then: nothing that an author declares is left out in silence. JSON and texts (of
paths, queries, headers and forms) have compilers of their own, since a text has to spell the numbers that JSON has. A
value that does not fit raises `Invalid`, or `Misfit` with several.
"""

import inspect
import types
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
    Set,
)
from decimal import Decimal
from enum import Enum, Flag
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from .constraints import Constraint, are_met, constraints_of
from .misfits import (
    MOST_FIELDS,
    VERDICTS,
    Invalid,
    Misfit,
    Path,
    called,
    of_json,
    problems_of,
    refused,
    type_name,
    verdict,
)
from .parameters import MARKERS
from .parts import check_hashes, made_set, read_each, read_items
from .records import Record, is_record, record_of
from .scalars import JSON_SCALARS, TEXT_SCALARS, Read, Reader, exactly, one_text
from .unions import Shape, plain_word

_MOST_WORDS = 20
_MISSING = object()
_NONE = type(None)

_LISTS: dict[Any, Callable[[list[Any]], Any]] = {
    **dict.fromkeys((list, Sequence, MutableSequence, Collection, Iterable), list),
    **dict.fromkeys((set, Set, MutableSet), set),
    frozenset: frozenset,
    tuple: tuple,
}
_OBJECTS = (dict, Mapping, MutableMapping)
FORMS = (
    "a dataclass, an attrs class, a `TypedDict`, a `NamedTuple`, an `Enum`, a `Literal`, `str`, `int`, `float`, `bool`, `Decimal`, `UUID`, "
    "`datetime`, `date`, `time`, `Any`, or a list, set, tuple, `dict` or union of these"
)
ANY_VALUE = Reader(lambda value: value, "a value", "any")


class Compiler:
    """Compiles the hints of one kind of values. With `closed`, an object has no further keys than its type."""

    def __init__(self, *, of_texts: bool, closed: bool) -> None:
        self._of_texts = of_texts
        self._closed = closed
        self._scalars = TEXT_SCALARS if of_texts else JSON_SCALARS
        self._made: dict[Any, Reader] = {}

    def reader(self, hint: Any) -> Reader:
        try:
            found = self._made.get(hint)
        except TypeError:
            # The metadata of `Annotated` need not be hashable.
            return self._compiled(hint)
        if found is None:
            found = self._made[hint] = self._compiled(hint)
        return found

    def _compiled(self, hint: Any) -> Reader:
        origin: Any = get_origin(hint)
        if origin is Annotated:
            return self._constrained(*get_args(hint))
        if hint is Any or hint is object:
            return ANY_VALUE
        if hint is None or hint is _NONE:
            return exactly(_NONE, "`null`", "null")
        if hint in self._scalars:
            return self._scalars[hint]
        stands_for = getattr(hint, "__supertype__", None)
        if stands_for is None and not isinstance(hint, type):
            # A `type` statement, also one with parameters.
            stands_for = getattr(hint, "__value__", None)
            if stands_for is not None and origin is not None:
                stands_for = stands_for[get_args(hint)]
        if stands_for is not None:
            return self.reader(stands_for)
        if origin in (Union, types.UnionType):
            return self._union(get_args(hint))
        if origin is Literal:
            return self._words([(word, plain_word(word)) for word in get_args(hint)], "literal")
        if is_record(hint):
            return self._record(hint)
        kind = origin or hint
        if isinstance(kind, type) and issubclass(kind, Enum):
            return self._enum(kind)
        if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return self._named_tuple(kind)
        if kind in _LISTS:
            return self._list(kind, get_args(hint))
        if kind in _OBJECTS:
            return self._object(get_args(hint))
        if isinstance(kind, type) and issubclass(kind, (str, int, float, Decimal)):
            return self._subclass(kind)
        raise TypeError(f"{type_name(hint)} has no form in JSON, expected {FORMS}")

    def _constrained(self, hint: Any, *extras: Any) -> Reader:
        for extra in extras:
            if isinstance(extra, MARKERS) or any(extra is marker for marker in MARKERS):
                raise TypeError(f"`{extra!r}` is within a type, expected it at the type of the whole parameter")
        inner = self.reader(hint)
        constraints = constraints_of([*extras], inner.measure, inner.expected)
        if not constraints:
            return inner
        expected = f"{inner.expected} {' and '.join(one.told for one in constraints)}"
        read = _holding(inner.read, constraints, expected)
        return Reader(read, expected, "scalar" if inner.kind == "text" else inner.kind, inner.measure)

    def _union(self, parts: tuple[Any, ...]) -> Reader:
        readers = [(part, self.reader(part)) for part in parts]
        if any(reader.kind == "any" for _, reader in readers):
            return ANY_VALUE
        others = [(part, reader) for part, reader in readers if reader.kind != "null"]
        has_null = len(others) < len(readers)
        if len(others) == 1:
            inner = others[0][1]
            return Reader(_nullable(inner.read), inner.expected, inner.kind, inner.measure) if has_null else inner
        lists = [reader for _, reader in others if reader.kind == "list"]
        objects = [(part, reader) for part, reader in others if reader.kind == "object"]
        # Every text fits `str`: a type that reads some texts alone comes first.
        scalars = sorted(
            (one for _, one in others if one.kind in ("scalar", "text")), key=lambda one: one.kind == "text"
        )
        shown_union = " | ".join(type_name(part) for part in parts)
        if len(lists) > 1:
            raise TypeError(f"{shown_union}: two lists cannot be told apart, expected one list with a union of items")
        read_object = self._choice(objects, shown_union) if objects else None
        expected = " or ".join(dict.fromkeys(reader.expected for _, reader in others))

        def read(value: Any) -> Any:
            if value is None and has_null:
                return None
            if type(value) is dict and read_object is not None:
                return read_object(value)
            if type(value) is list and lists:
                return lists[0].read(value)
            for one in scalars:
                if one.kind == "scalar" and type(value) in one.exact:
                    return value
            for one in scalars:
                try:
                    return one.read(value)
                except Invalid:
                    pass
            raise refused(expected, value, is_text=self._of_texts)

        return Reader(read, expected, scalars[0].kind if len(scalars) == len(others) else "scalar")

    def _choice(self, objects: list[tuple[Any, Reader]], shown_union: str) -> Read:
        """Chooses the type of an object by its keys: of those whose keys are all there, the one with the most."""
        if len(objects) == 1:
            return objects[0][1].read
        for part, _ in objects:
            if not is_record(part):
                raise TypeError(
                    f"{shown_union}: {type_name(part)} cannot be told apart from the others, expected a dataclass"
                )
        choices = [(Shape(record_of(part)), reader) for part, reader in objects]
        for at, (shape, _) in enumerate(choices):
            for other, _ in choices[at + 1 :]:
                if not shape.is_distinct(other):
                    raise TypeError(
                        f"{shown_union}: `{shape.name}` and `{other.name}` cannot be told apart, expected a field that one of them "
                        "alone requires, or a field of both with a `Literal`"
                    )
        expected = " or ".join(f"`{shape.name}`" for shape, _ in choices)

        def read(value: dict[str, Any]) -> Any:
            fitting = [(shape.keys(value), reader) for shape, reader in choices if shape.fits(value)]
            if not fitting:
                raise Invalid(f"expected the fields of {expected}")
            return max(fitting, key=lambda one: one[0])[1].read(value)

        return read

    def _words(self, words: list[tuple[Any, Any]], what: str) -> Reader:
        """A choice of values: `words` has what is read, with the value of JSON for it."""
        known: dict[Any, Any] = {}
        for made, word in words:
            if type(word) not in (str, int, float, bool, _NONE) or (word is None and self._of_texts):
                raise TypeError(f"the {what} has the value `{word!r}`, expected texts, numbers or `bool`")
            if self._of_texts:
                known.setdefault((str, _spelled(word)), made)
                continue
            known.setdefault((type(word), word), made)
            if type(word) is float and word.is_integer():
                known.setdefault((int, int(word)), made)
        spelled = [f"`{_spelled(word)}`" if self._of_texts else of_json(word) for _, word in words]
        more = f" or {len(spelled) - _MOST_WORDS} others" if len(spelled) > _MOST_WORDS else ""
        expected = f"{' or '.join(spelled[:_MOST_WORDS])}{more}"
        of_texts = self._of_texts

        def read(value: Any) -> Any:
            try:
                return known[type(value), one_text(value) if of_texts else value]
            except (KeyError, TypeError):
                raise refused(expected, value, is_text=of_texts) from None

        return Reader(read, expected, "scalar")

    def _enum(self, kind: type[Enum]) -> Reader:
        if issubclass(kind, Flag):
            raise TypeError(f"{type_name(kind)} is a set of flags, which no JSON has: expected an `Enum`, or `int`")
        words = self._words([(one, one.value) for one in kind], f"enum `{kind.__name__}`")
        if kind._missing_.__func__ is Enum._missing_.__func__:  # type: ignore[attr-defined]
            return words

        def read(value: Any) -> Any:
            try:
                return words.read(value)
            except Invalid:
                # The enum has further spellings of its members.
                if type(value) not in (str, int, float):
                    raise
                try:
                    return kind(value)
                except ValueError:
                    pass
                raise

        return Reader(read, words.expected, words.kind)

    def _subclass(self, kind: Any) -> Reader:
        """A class of the program below one of the types of JSON: its constructor gets the value."""
        base = next(one for one in (str, int, float, Decimal) if issubclass(kind, one))
        inner = self.reader(base)
        _check_constructor(kind, "one value", count=1)
        return Reader(lambda value: called(kind, inner.read(value)), inner.expected, "scalar", inner.measure)

    def _item_list(self, value: Any) -> list[Any]:
        # A field of a query or a form that occurs once.
        if self._of_texts and isinstance(value, str):
            return [value]
        if type(value) is not list:
            raise refused("a list", value)
        return value

    def _list(self, kind: Any, arguments: tuple[Any, ...]) -> Reader:
        if kind is tuple and arguments and arguments[-1] is not ...:
            hints = () if arguments == ((),) else arguments
            return self._fixed([self.reader(one) for one in hints], tuple)
        item = self.reader(arguments[0]) if arguments else ANY_VALUE
        if self._of_texts and item.kind in ("list", "object"):
            raise TypeError(f"texts have no lists of {type_name(arguments[0])}, expected a list of texts or numbers")
        make, items = _LISTS[kind], self._item_list
        make_set = make in (set, frozenset)
        if make_set and item.kind in ("list", "object") and not (arguments and is_record(arguments[0])):
            raise TypeError(f"a set of {type_name(arguments[0])} cannot be made, expected a list")

        exact = item.exact if make is list else None

        def read(value: Any) -> Any:
            # The usual case.
            if exact and type(value) is list and exact.issuperset(map(type, value)):
                return value
            found = read_items(items(value), item)
            if make_set:
                return made_set(make, found, item)
            return found if make is list else make(found)

        return Reader(read, "a list", "list", "items")

    def _fixed(self, parts: list[Reader], make: Callable[[list[Any]], Any], fewest: int | None = None) -> Reader:
        least = len(parts) if fewest is None else fewest
        count = f"{len(parts)}" if least == len(parts) else f"{least} to {len(parts)}"
        expected, items = f"a list of {count} items", self._item_list

        def read(value: Any) -> Any:
            given = items(value)
            if not least <= len(given) <= len(parts):
                raise Invalid(f"expected {expected}, got {len(given)}")
            return make(read_each(enumerate(zip(parts, given, strict=False)), lambda pair: pair[0].read(pair[1])))

        return Reader(read, expected, "list", "items")

    def _named_tuple(self, kind: Any) -> Reader:
        hints = get_type_hints(kind, include_extras=True)
        parts = [self.reader(hints.get(name, Any)) for name in kind._fields]
        return self._fixed(parts, lambda values: called(kind, *values), len(parts) - len(kind._field_defaults))

    def _object(self, arguments: tuple[Any, ...]) -> Reader:
        if not arguments or arguments[1] in (Any, object) and arguments[0] in (str, Any):
            return exactly(dict, "an object", "object", "items")
        # The keys of JSON are texts.
        key = TEXTS.reader(arguments[0]) if arguments[0] is not Any else ANY_VALUE
        part = self.reader(arguments[1])

        def read(value: Any) -> dict[Any, Any]:
            if type(value) is not dict:
                raise refused("an object", value)
            if key.exact and part.exact and part.exact.issuperset(map(type, value.values())):
                return value
            # An error of a key has the path of its value.
            pairs = read_each(value.items(), lambda pair: pair, key, part)
            check_hashes([name for name, _ in pairs], key)
            return dict(pairs)

        return Reader(read, "an object", "object", "items")

    def _record(self, hint: Any) -> Reader:
        made: dict[str, Read] = {}
        # A type may contain itself.
        self._made[hint] = Reader(lambda value: made["read"](value), "an object", "object")
        try:
            made["read"] = self._record_read(record_of(hint))
        finally:
            del self._made[hint]
        return Reader(made["read"], "an object", "object")

    def _record_read(self, record: Record) -> Read:
        fields: list[tuple[str, str, Read, bool]] = []
        for field in record.fields:
            if not field.is_read:
                continue
            try:
                reader = self.reader(field.hint)
                if self._of_texts and reader.kind == "object":
                    raise TypeError("texts have no objects, expected a text, a number or a list of these")
                fields.append((field.name, field.argument, reader.read, field.is_required))
            except TypeError as error:
                raise TypeError(f"`{record.kind.__name__}.{field.name}`: {error}") from None
        names = {name for name, *_ in fields}
        is_closed = self._closed or record.is_closed
        kind: Any = None if record.is_dict else record.kind
        if kind is not None:
            every = [argument for _, argument, _, _ in fields]
            required = [argument for _, argument, _, is_required in fields if is_required]
            _check_constructor(kind, "its fields by their names", named=[every, required])

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise refused("an object", value)
            found: list[tuple[Path, str]] = []
            made: dict[str, Any] = {}
            for name, argument, read, is_required in fields:
                part = value.get(name, _MISSING)
                if part is not _MISSING:
                    try:
                        made[argument] = read(part)
                    except (Invalid, Misfit) as error:
                        found += problems_of(error, name)
                elif is_required:
                    found.append(((name,), "missing field"))
            if is_closed and not names.issuperset(value):
                unknown = [name for name in value if name not in names][: MOST_FIELDS + 1]
                found += [((name,), "unknown field") for name in unknown]
            if found:
                raise Misfit(found[: MOST_FIELDS + 1])
            if kind is None:
                return made
            try:
                return kind(**made)
            except VERDICTS as error:
                raise verdict(error) or error from None

        return read


def _check_constructor(kind: Any, taken: str, *, count: int = 0, named: Sequence[Sequence[str]] = ((),)) -> None:
    """Refuses a class that could never be made, such as a dataclass with `init=False` and no `__init__`. `named` has the
    names of arguments that may come together."""
    try:
        signature = inspect.signature(kind)
    except (ValueError, NameError):
        # A class in C may have no signature, and Python 3.14 evaluates the type hints of the parameters.
        return
    for names in named:
        try:
            signature.bind(*[None] * count, **dict.fromkeys(names))
        except TypeError as error:
            told = str(error).replace("'", "`")
            raise TypeError(
                f"`{kind.__name__}` cannot be made of its JSON: {told}: expected a constructor that takes {taken}"
            ) from None


def _spelled(word: Any) -> str:
    return str(word).lower() if isinstance(word, bool) else "null" if word is None else str(word)


def _nullable(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _holding(read: Read, constraints: list[Constraint], expected: str) -> Read:
    def checked(value: Any) -> Any:
        made = read(value)
        if made is not None and not are_met(constraints, made):
            raise refused(expected, value, is_text=True)
        return made

    return checked


JSON = Compiler(of_texts=False, closed=False)
TEXTS = Compiler(of_texts=True, closed=False)
COMPILERS = {
    (False, False): JSON,
    (True, False): TEXTS,
    (False, True): Compiler(of_texts=False, closed=True),
    (True, True): Compiler(of_texts=True, closed=True),
}
"""By `of_texts` and `closed`."""
