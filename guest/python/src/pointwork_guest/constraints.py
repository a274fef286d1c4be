"""Constraints in `Annotated`, in the vocabulary of the package `annotated_types`. The SDK reads them by their names,
and does not need the package. A constraint that is not enforced is an error of the build."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, Literal

Measure = Literal["number", "moment", "text", "items"]
"""What a constraint can measure of a type."""

_FORMS = (
    "`Gt`, `Ge`, `Lt`, `Le`, `Interval`, `MultipleOf`, `MinLen`, `MaxLen`, `Len` or `Predicate` of `annotated_types`"
)
_COMPARISONS: dict[str, tuple[str, str, Callable[[Any, Any], bool]]] = {
    "Gt": ("gt", "greater than", lambda value, bound: bool(value > bound)),
    "Ge": ("ge", "of at least", lambda value, bound: bool(value >= bound)),
    "Lt": ("lt", "less than", lambda value, bound: bool(value < bound)),
    "Le": ("le", "of at most", lambda value, bound: bool(value <= bound)),
}
_UNITS = {"text": "characters", "items": "items"}


@dataclass(frozen=True, slots=True)
class Constraint:
    """`told` completes `expected a whole number`."""

    told: str
    holds: Callable[[Any], bool]


def are_met(constraints: list[Constraint], value: Any) -> bool:
    for one in constraints:
        try:
            if not one.holds(value):
                return False
        except (ValueError, TypeError, ArithmeticError):
            # Such as a time without a zone and one with a zone.
            return False
    return True


def constraints_of(extras: list[Any], measure: Measure | None, shown: str) -> list[Constraint]:
    """The constraints among the metadata of a type that is called `shown`. Texts are documentation."""
    return [
        _constraint(part, measure, shown) for extra in extras if not is_documentation(extra) for part in _parts(extra)
    ]


def is_documentation(extra: Any) -> bool:
    return isinstance(extra, str) or type(extra).__name__ in ("Doc", "DocInfo")


def _parts(extra: Any) -> Iterator[Any]:
    if getattr(extra, "__is_annotated_types_grouped_metadata__", False):
        # An `Interval` without bounds would be none.
        yield from list(extra)
    else:
        yield extra


def _constraint(extra: Any, measure: Measure | None, shown: str) -> Constraint:
    name = type(extra).__name__ if type(extra).__module__.partition(".")[0] == "annotated_types" else ""
    if name in _COMPARISONS:
        attribute, told, compare = _COMPARISONS[name]
        bound = getattr(extra, attribute)
        _expect(_measure_of(bound) == measure and measure is not None, extra, shown)
        # `Decimal("0.1")` is less than the `float` 0.1.
        of_decimal = Decimal(str(bound)) if isinstance(bound, float) else bound
        return Constraint(
            f"{told} {_plain(bound)}",
            lambda value: compare(value, of_decimal if isinstance(value, Decimal) else bound),
        )
    if name == "MultipleOf":
        step = extra.multiple_of
        _expect(measure == "number" and _measure_of(step) == "number" and step != 0, extra, shown)
        exact = _as_decimal(step)
        return Constraint(
            f"that is a multiple of {step}", lambda value: _EXACT.remainder(_as_decimal(value), exact) == 0
        )
    if name in ("MinLen", "MaxLen"):
        _expect(measure in ("text", "items"), extra, shown)
        unit = _UNITS[measure or ""]
        if name == "MinLen":
            least = extra.min_length
            return Constraint(f"of at least {least} {unit}", lambda value: len(value) >= least)
        most = extra.max_length
        return Constraint(f"of at most {most} {unit}", lambda value: len(value) <= most)
    if name == "Predicate":
        function = extra.func
        return Constraint(
            f"that passes `{getattr(function, '__name__', 'predicate')}`", lambda value: bool(function(value))
        )
    raise TypeError(f"nothing enforces `{extra!r}`, expected {_FORMS}, or a check in `__post_init__`")


def _expect(fits: bool, extra: Any, shown: str) -> None:
    if not fits:
        raise TypeError(f"`{extra!r}` cannot be a constraint of {shown}")


def _measure_of(bound: Any) -> Measure | None:
    if isinstance(bound, (int, float, Decimal)) and not isinstance(bound, bool):
        return "number"
    return "moment" if isinstance(bound, (datetime, date, time)) else None


_EXACT = Context(prec=1_000_000, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""It has room for each digit of a quotient: numbers of clients have at most 4300 digits, and an exponent of at most 4300.
A `Fraction` would make 4300 digits of each `1e4300`."""


def _as_decimal(number: Any) -> Decimal:
    """A number as it is written: the remainder of the `float`s 0.07 and 0.01 is not 0."""
    return Decimal(repr(float(number))) if isinstance(number, float) else Decimal(number)


def _plain(bound: Any) -> str:
    return f"`{bound.isoformat()}`" if isinstance(bound, (date, time)) else str(bound)
