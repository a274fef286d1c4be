"""The fields of dataclasses, attrs classes and `TypedDict`s: the types whose values are objects of JSON."""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints, is_typeddict

_NAMES_OF_WRAPPERS = {"Required", "NotRequired", "ReadOnly"}
_CLASS = re.compile(r"<class '(?:[\w<>]+\.)*(\w+)'>")


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field. `argument` is its name in the constructor."""

    name: str
    argument: str
    hint: Any
    is_read: bool
    is_required: bool


@dataclass(frozen=True, slots=True)
class Record:
    """`is_closed` says that the type itself forbids further keys, as `TypedDict(…, closed=True)` does."""

    kind: type[Any]
    fields: tuple[RecordField, ...]
    is_dict: bool
    is_closed: bool = False


def is_record(hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if not isinstance(kind, type):
        return False
    return dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__") or is_typeddict(kind)


def record_of(hint: Any) -> Record:
    """The fields of a type of which `is_record` is true, with the arguments of a generic type. A declaration that
    nothing would enforce is a `TypeError`."""
    kind: Any = get_origin(hint) or hint
    types = _hints(kind)
    variables = _variables(kind, get_args(hint))
    found = _typed_dict if is_typeddict(kind) else _attrs if hasattr(kind, "__attrs_attrs__") else _dataclass
    record: Record = found(kind, {name: _filled(of, variables) for name, of in types.items()})
    return record


def _hints(kind: Any) -> dict[str, Any]:
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise TypeError(f"`{kind.__name__}`: a type hint cannot be read: {error}") from None


def _dataclass(kind: Any, hints: dict[str, Any]) -> Record:
    for field in kind.__dataclass_fields__.values():
        # The names of `dataclasses` for these kinds of fields are private.
        if field._field_type.name == "_FIELD_INITVAR":
            raise TypeError(f"`{kind.__name__}.{field.name}` is an `InitVar`, which no JSON has: expected a field")
    missing = dataclasses.MISSING
    fields = [
        RecordField(one.name, one.name, hints[one.name], one.init, one.default is one.default_factory is missing)
        for one in dataclasses.fields(kind)
    ]
    return Record(kind, tuple(fields), False)


def _attrs(kind: Any, hints: dict[str, Any]) -> Record:
    fields: list[RecordField] = []
    for one in kind.__attrs_attrs__:
        hint = hints.get(one.name, one.type)
        if hint is None:
            raise TypeError(f"`{kind.__name__}.{one.name}` has no type hint")
        if one.alias not in (None, one.name, one.name.lstrip("_")):
            raise TypeError(
                f"`{kind.__name__}.{one.name}` has the alias `{one.alias}`, which is that of the constructor alone: "
                "expected the name of the JSON as the name of the field"
            )
        # The type of a default that is missing is `Literal[NOTHING]`, of a package that this one does not need.
        has_default = getattr(one.default, "name", None) != "NOTHING"
        fields.append(RecordField(one.name, one.alias or one.name, hint, one.init, not has_default))
    return Record(kind, tuple(fields), False)


def _typed_dict(kind: Any, hints: dict[str, Any]) -> Record:
    extra: Any = getattr(kind, "__extra_items__", None)
    if extra is not None and getattr(extra, "__name__", "") not in ("NoExtraItems", "Never", "NoReturn"):
        raise TypeError(f"`{kind.__name__}` has `extra_items`, expected `closed=True`, or a `dict`")
    fields: list[RecordField] = []
    for name, hint in hints.items():
        required = name in kind.__required_keys__
        while (wrapper := getattr(get_origin(hint), "_name", None)) in _NAMES_OF_WRAPPERS:
            required = {"Required": True, "NotRequired": False}.get(wrapper, required)
            hint = get_args(hint)[0]
        fields.append(RecordField(name, name, hint, True, required))
    return Record(kind, tuple(fields), True, bool(getattr(kind, "__closed__", None)))


def _variables(kind: Any, arguments: tuple[Any, ...]) -> dict[Any, Any]:
    """The types that the type variables of a class and of its bases stand for."""
    found = dict(zip(getattr(kind, "__parameters__", ()), arguments, strict=False))
    for base in getattr(kind, "__orig_bases__", ()):
        of = get_origin(base)
        if not getattr(of, "__parameters__", None):
            continue
        for variable, of_base in _variables(of, tuple(_filled(one, found) for one in get_args(base))).items():
            if found.setdefault(variable, of_base) != of_base:
                raise TypeError(f"`{kind.__name__}` and a base have the type variable `{variable}`, expected another")
    return found


def _filled(hint: Any, variables: Mapping[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return variables.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if isinstance(hint, type) or not parameters or not variables:
        return hint
    return hint[tuple(variables.get(one, one) for one in parameters)]


def without_extras(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def validator_problem(error: Exception) -> tuple[str, str] | None:
    """The field and the message of an error that a validator of attrs raised, from the frame of the validator."""
    trace = error.__traceback__
    after_init = False
    while trace is not None:
        frame = trace.tb_frame
        if after_init:
            for value in frame.f_locals.values():
                if type(value).__name__ == "Attribute" and hasattr(value, "validator"):
                    first = error.args[0] if error.args else ""
                    return value.name, _CLASS.sub(r"`\1`", str(first))
        after_init = frame.f_code.co_filename.startswith("<attrs generated")
        trace = trace.tb_next
    return None
