"""Converts values of clients to their type hints.

A hint is compiled once, when the module is made, to a `Reader`. A hint that has no form in JSON, or a declaration that
no reader enforces, is a `TypeError` then: nothing that an author declares is left out in silence. JSON and texts (of
paths, queries, headers and forms) have compilers of their own, since a text has to spell the numbers that JSON has. A
value that does not fit raises `Invalid`, or `Misfit` with several. A list stops at the first item beyond `MOST_FIELDS`
errors, so that a body of wrong items costs no more than a short one.
"""

import math
import re
import types
from collections import Counter
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
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum, Flag
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from .constraints import Constraint, Measure, constraints_of
from .parameters import MARKERS
from .records import Record, is_record, record_of, validator_problem

MOST_FIELDS = 50
"""How many fields an error has."""
_LONGEST_TEXT = 200
_MOST_DIGITS = 400
_LARGEST_EXPONENT = 4300
"""That of a `Decimal`. Python's own bound of the digits of an `int` is the same."""
_MOST_WORDS = 20
_MOST_HASHES = 100
"""How many different values of a set may have one hash."""
_MISSING = object()
_NONE = type(None)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NO_TEXT = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?|true|false|null")
"""Texts that look like another value of JSON."""

Path = tuple[str | int, ...]
Read = Callable[[Any], Any]
Kind = Literal["any", "null", "scalar", "text", "list", "object"]
"""What a type is made of. `text` is a scalar that every text fits."""


class Invalid(ValueError):
    """Why a value does not fit, for `__post_init__` of a dataclass and for functions that read a body. `path` leads to
    the part of the value that is wrong: `Invalid("expected 1 to 200 characters", "name")`."""

    def __init__(self, message: str, *path: str | int) -> None:
        super().__init__(message)
        self.path: Path = path


class Misfit(Exception):
    """Several parts of a value that do not fit, with their paths and messages: at most one more than `MOST_FIELDS`."""

    def __init__(self, found: list[tuple[Path, str]]) -> None:
        super().__init__("several fields are not valid")
        self.found = found


def problems_of(error: Invalid | Misfit, *part: str | int) -> list[tuple[Path, str]]:
    """The problems of a part of a value."""
    if isinstance(error, Misfit):
        return [((*part, *path), message) for path, message in error.found]
    return [((*part, *error.path), str(error))]


@dataclass(slots=True)
class Reader:
    """`expected` says in errors what fits. `exact` has the types whose values are themselves what is read."""

    read: Read
    expected: str
    kind: Kind
    measure: Measure | None = None
    exact: frozenset[type] = frozenset()


def shown(value: object) -> str:
    """A client's value in an error, cut."""
    text = value if isinstance(value, str) else repr(value)
    return _CONTROL.sub("\ufffd", text[:_LONGEST_TEXT])


def of_json(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: f"`{str(value).lower()}`", _NONE: "`null`"}
    # Without the word a text could not be told from the number.
    kind = "the text " if isinstance(value, str) and _NO_TEXT.fullmatch(value) else ""
    return names.get(type(value)) or f"{kind}`{shown(value)}`"


def _refused(expected: str, value: object, *, is_text: bool = False) -> Invalid:
    """The error of a value. With `is_text` a text is what is expected, as in paths and queries, so that it is not called
    one."""
    told = f"`{shown(value)}`" if is_text and isinstance(value, str) else of_json(value)
    return Invalid(f"expected {expected}, got {told}")


def _exactly(kind: type, expected: str, of: Kind, measure: Measure | None = None) -> Reader:
    def read(value: Any) -> Any:
        # `True` is an `int` of Python, and no number of JSON.
        if type(value) is kind:
            return value
        raise _refused(expected, value)

    return Reader(read, expected, of, measure, frozenset([kind]))


def _from_text(make: Callable[[str], Any], expected: str, measure: Measure | None = None) -> Reader:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            try:
                return make(value)
            except (ValueError, InvalidOperation):
                raise _refused(expected, value, is_text=True) from None
        raise _refused(expected, value)

    return Reader(read, expected, "scalar", measure)


def _number(value: Any) -> float:
    if type(value) is float or type(value) is int:
        try:
            return float(value)
        except OverflowError:
            pass
    raise _refused("a number", value)


def _finite_decimal(text: str) -> Decimal:
    found = Decimal(text)
    # A program may write the number without its exponent, in as many digits.
    if not found.is_finite() or abs(found.adjusted()) > _LARGEST_EXPONENT:
        raise InvalidOperation
    return found


_decimal_text = _from_text(_finite_decimal, "a decimal number", "number")


def _decimal(value: Any) -> Decimal:
    if type(value) is int or type(value) is float:
        return Decimal(str(value))
    found: Decimal = _decimal_text.read(value)
    return found


_BOTH = {
    UUID: _from_text(UUID, "a UUID"),
    datetime: _from_text(datetime.fromisoformat, "a date and time such as `2026-01-31T12:00:00Z`", "moment"),
    date: _from_text(date.fromisoformat, "a date such as `2026-01-31`", "moment"),
    time: _from_text(time.fromisoformat, "a time such as `12:00:00`", "moment"),
}
_JSON = {
    **_BOTH,
    str: _exactly(str, "a text", "text", "text"),
    int: _exactly(int, "a whole number", "scalar", "number"),
    bool: _exactly(bool, "`true` or `false`", "scalar"),
    float: Reader(_number, "a number", "scalar", "number", frozenset([float])),
    Decimal: Reader(_decimal, "a decimal number", "scalar", "number"),
}

_INT = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _str(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise Invalid(f"expected one value, got {len(value)}")


def _int(value: Any) -> int:
    if _INT.fullmatch(_str(value)) and len(value) <= _MOST_DIGITS:
        return int(value)
    raise _refused("a whole number", value, is_text=True)


def _float(value: Any) -> float:
    if _FLOAT.fullmatch(_str(value)):
        found = float(value)
        if math.isfinite(found):
            return found
    raise _refused("a number", value, is_text=True)


def _bool(value: Any) -> bool:
    if isinstance(value, str) and value in ("true", "false"):
        return bool(value == "true")
    raise _refused("`true` or `false`", _str(value), is_text=True)


# Texts of paths, queries, headers and forms: their numbers are written out.
_TEXTS = {
    **_BOTH,
    str: Reader(_str, "a text", "text", "text", frozenset([str])),
    int: Reader(_int, "a whole number", "scalar", "number"),
    float: Reader(_float, "a number", "scalar", "number"),
    bool: Reader(_bool, "`true` or `false`", "scalar"),
    Decimal: _decimal_text,
}

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
_VERDICTS = (Invalid, Misfit, ValueError, AssertionError, TypeError)
"""Exceptions by which a constructor of the program may refuse its arguments."""
_ANY = Reader(lambda value: value, "a value", "any")


def type_name(hint: Any) -> str:
    return f"`{hint.__qualname__}`" if isinstance(hint, type) and not get_args(hint) else f"`{hint}`"


class Compiler:
    """Compiles the hints of one kind of values. With `closed`, an object has no further keys than its type."""

    def __init__(self, *, of_texts: bool, closed: bool) -> None:
        self._of_texts = of_texts
        self._closed = closed
        self._scalars = _TEXTS if of_texts else _JSON
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
            return _ANY
        if hint is None or hint is _NONE:
            return _exactly(_NONE, "`null`", "null")
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
            return self._words([(word, _plain_word(word)) for word in get_args(hint)], "literal")
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
            return _ANY
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
            raise _refused(expected, value, is_text=self._of_texts)

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
        choices = [(_Shape(record_of(part)), reader) for part, reader in objects]
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
                return known[type(value), _str(value) if of_texts else value]
            except (KeyError, TypeError):
                raise _refused(expected, value, is_text=of_texts) from None

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
        return Reader(lambda value: _called(kind, inner.read(value)), inner.expected, "scalar", inner.measure)

    def _item_list(self, value: Any) -> list[Any]:
        # A field of a query or a form that occurs once.
        if self._of_texts and isinstance(value, str):
            return [value]
        if type(value) is not list:
            raise _refused("a list", value)
        return value

    def _list(self, kind: Any, arguments: tuple[Any, ...]) -> Reader:
        if kind is tuple and arguments and arguments[-1] is not ...:
            hints = () if arguments == ((),) else arguments
            return self._fixed([self.reader(one) for one in hints], tuple)
        item = self.reader(arguments[0]) if arguments else _ANY
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
            found = _items(items(value), item)
            if make_set:
                return _set(make, found, item)
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
            return make(_each(enumerate(zip(parts, given, strict=False)), lambda pair: pair[0].read(pair[1])))

        return Reader(read, expected, "list", "items")

    def _named_tuple(self, kind: Any) -> Reader:
        hints = get_type_hints(kind, include_extras=True)
        parts = [self.reader(hints.get(name, Any)) for name in kind._fields]
        return self._fixed(parts, lambda values: _called(kind, *values), len(parts) - len(kind._field_defaults))

    def _object(self, arguments: tuple[Any, ...]) -> Reader:
        if not arguments or arguments[1] in (Any, object) and arguments[0] in (str, Any):
            return _exactly(dict, "an object", "object", "items")
        # The keys of JSON are texts.
        key = TEXTS.reader(arguments[0]) if arguments[0] is not Any else _ANY
        part = self.reader(arguments[1])

        def read(value: Any) -> dict[Any, Any]:
            if type(value) is not dict:
                raise _refused("an object", value)
            if key.exact and part.exact and part.exact.issuperset(map(type, value.values())):
                return value
            # An error of a key has the path of its value.
            pairs = _each(value.items(), lambda pair: pair, key, part)
            _check_hashes([name for name, _ in pairs], key)
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

        def read(value: Any) -> Any:
            if type(value) is not dict:
                raise _refused("an object", value)
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
            except _VERDICTS as error:
                raise _verdict(error) or error from None

        return read


class _Shape:
    """What tells the types of a union of objects apart."""

    def __init__(self, record: Record) -> None:
        read = [field for field in record.fields if field.is_read]
        self.name = record.kind.__name__
        self._names = frozenset(field.name for field in read)
        self._required = frozenset(field.name for field in read if field.is_required)
        self._words = {
            field.name: [_plain_word(word) for word in get_args(field.hint)]
            for field in read
            if get_origin(field.hint) is Literal
        }

    def fits(self, value: dict[str, Any]) -> bool:
        if not self._required <= value.keys():
            return False
        return all(value[name] in words for name, words in self._words.items() if name in value)

    def keys(self, value: dict[str, Any]) -> int:
        return len(self._names & value.keys())

    def is_distinct(self, other: "_Shape") -> bool:
        shared = self._words.keys() & other._words.keys() & self._required & other._required
        return self._required != other._required or any(
            not set(self._words[name]) & set(other._words[name]) for name in shared
        )


def _plain_word(word: Any) -> Any:
    return word.value if isinstance(word, Enum) else word


def _spelled(word: Any) -> str:
    return str(word).lower() if isinstance(word, bool) else "null" if word is None else str(word)


def _nullable(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _holding(read: Read, constraints: list[Constraint], expected: str) -> Read:
    def checked(value: Any) -> Any:
        made = read(value)
        if made is None:
            return None
        for one in constraints:
            try:
                holds = one.holds(made)
            except (ValueError, TypeError, ArithmeticError):
                # Such as a time without a zone and one with a zone.
                holds = False
            if not holds:
                raise _refused(expected, value, is_text=True)
        return made

    return checked


def _items(given: list[Any], item: Reader) -> list[Any]:
    if item.kind == "any" or (item.exact and item.exact.issuperset(map(type, given))):
        return given
    read = item.read
    found: list[tuple[Path, str]] = []
    made: list[Any] = []
    for index, part in enumerate(given):
        try:
            made.append(read(part))
        except (Invalid, Misfit) as error:
            found += problems_of(error, index)
            if len(found) > MOST_FIELDS:
                break
    if found:
        raise Misfit(found[: MOST_FIELDS + 1])
    return made


def _each(
    pairs: Iterable[tuple[Any, Any]], read: Read, key: Reader | None = None, part: Reader | None = None
) -> list[Any]:
    """The parts of a fixed list, or the pairs of an object."""
    found: list[tuple[Path, str]] = []
    made: list[Any] = []
    for name, value in pairs:
        try:
            made.append(read(value) if key is None or part is None else (key.read(name), part.read(value)))
        except (Invalid, Misfit) as error:
            found += problems_of(error, name)
            if len(found) > MOST_FIELDS:
                break
    if found:
        raise Misfit(found[: MOST_FIELDS + 1])
    return made


def _set(make: Any, items: list[Any], item: Reader) -> Any:
    try:
        _check_hashes(items, item)
        return make(items)
    except TypeError:
        raise Invalid("expected a list of values, got lists or objects") from None


def _check_hashes(values: list[Any], reader: Reader) -> None:
    """Refuses values of which many have one hash: a set or a dictionary of them takes quadratic time. A client can choose
    such numbers, and what is made of numbers: Python's hash of a number is its remainder by a known prime. The hash of a
    text is secret."""
    if reader.measure == "text" or len(values) <= _MOST_HASHES:
        return
    counts = Counter(map(hash, values))
    often: dict[int, list[Any]] = {found: [] for found, count in counts.items() if count > _MOST_HASHES}
    # Most of them are one value.
    for value in values if often else ():
        different = often.get(hash(value))
        if different is None or value in different:
            continue
        if len(different) == _MOST_HASHES:
            raise Invalid("expected values with different hashes, got many with one hash")
        different.append(value)


def _called(kind: Any, *arguments: Any) -> Any:
    try:
        return kind(*arguments)
    except _VERDICTS as error:
        raise _verdict(error) or error from None


def _verdict(error: Exception) -> Invalid | Misfit | None:
    """What an exception of a constructor of the program says of its arguments. `None` if it is a fault of the program.
    """
    if isinstance(error, (Invalid, Misfit)):
        return error
    problem = validator_problem(error)
    if problem is not None:
        return Invalid(problem[1], problem[0])
    return Invalid(message_of(error)) if isinstance(error, (ValueError, AssertionError)) else None


def message_of(error: Exception) -> str:
    return shown(str(error)) or "expected another value"


JSON = Compiler(of_texts=False, closed=False)
TEXTS = Compiler(of_texts=True, closed=False)
COMPILERS = {
    (False, False): JSON,
    (True, False): TEXTS,
    (False, True): Compiler(of_texts=False, closed=True),
    (True, True): Compiler(of_texts=True, closed=True),
}
"""By `of_texts` and `closed`."""
