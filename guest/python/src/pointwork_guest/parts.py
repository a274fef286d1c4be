"""Reads the items of lists and sets, and the pairs of objects.

Reading stops at the first item beyond `MOST_FIELDS` errors, so that a body of wrong items costs no more than a short one.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .misfits import MOST_FIELDS, Invalid, Misfit, Path, problems_of
from .scalars import Read, Reader

_MOST_HASHES = 100
"""How many different values of a set may have one hash."""


def read_items(given: list[Any], item: Reader) -> list[Any]:
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


def read_each(
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


def made_set(make: Any, items: list[Any], item: Reader) -> Any:
    try:
        check_hashes(items, item)
        return make(items)
    except TypeError:
        raise Invalid("expected a list of values, got lists or objects") from None


def check_hashes(values: list[Any], reader: Reader) -> None:
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
