"""Tells the types of a union of objects apart."""

from enum import Enum
from typing import Any, Literal, get_args, get_origin

from .records import Record


class Shape:
    """The keys of a type, and the words of its fields that are a `Literal`."""

    def __init__(self, record: Record) -> None:
        read = [field for field in record.fields if field.is_read]
        self.name = record.kind.__name__
        self._names = frozenset(field.name for field in read)
        self._required = frozenset(field.name for field in read if field.is_required)
        self._words = {
            field.name: [plain_word(word) for word in get_args(field.hint)]
            for field in read
            if get_origin(field.hint) is Literal
        }

    def fits(self, value: dict[str, Any]) -> bool:
        if not self._required <= value.keys():
            return False
        return all(value[name] in words for name, words in self._words.items() if name in value)

    def keys(self, value: dict[str, Any]) -> int:
        return len(self._names & value.keys())

    def is_distinct(self, other: "Shape") -> bool:
        shared = self._words.keys() & other._words.keys() & self._required & other._required
        return self._required != other._required or any(
            not set(self._words[name]) & set(other._words[name]) for name in shared
        )


def plain_word(word: Any) -> Any:
    return word.value if isinstance(word, Enum) else word
