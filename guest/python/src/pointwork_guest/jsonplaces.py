"""Places in a text of JSON: where a value ends, where a key is, and how deep the text is nested.

Python's JSON has no positions. The functions here search the text again, mostly in the C code of `str` and `re`: a loop
of Python over a megabyte takes a second in a component. `_without_escapes` makes each quotation mark in a text the
beginning or the end of a string.
"""

import re
from itertools import accumulate, islice
from json import JSONDecoder
from json.decoder import WHITESPACE, scanstring  # type: ignore[attr-defined]
from operator import indexOf
from typing import Any

DEEPEST = 128
"""How deep the JSON of a client may be nested. It is read by recursion, and the end of the stack would be a trap."""
_MOST_STEPS = 20_000
"""How many members of lists and objects are passed on the way to the places of one error."""

_end_of_value = JSONDecoder().raw_decode
_DEEPER = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKET = bytes(set(range(256)) - set(b"[]{}"))
_LONE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def line_and_column(text: str, at: int, between: str = " ") -> str:
    before = text[:at]
    return f"line {before.count(chr(10)) + 1}{between}column {at - before.rfind(chr(10))}"


def _without_escapes(text: str) -> str:
    """The text with the same positions, where no quotation mark is part of a string."""
    return text.replace("\\\\", "..").replace('\\"', "..") if "\\" in text else text


def too_deep(text: str) -> int | None:
    """The position of the first bracket beyond `DEEPEST`."""
    # Every second segment is outside of strings. An unterminated string has no end.
    outside = _without_escapes(text).split('"')[::2]
    brackets = "".join(outside).encode().translate(None, _NO_BRACKET)
    try:
        wanted = indexOf(accumulate(map(_DEEPER.__getitem__, brackets)), DEEPEST + 1)
    except ValueError:
        return None
    return _bracket(text, wanted)


def _bracket(text: str, wanted: int) -> int:
    """The position of a bracket outside of strings, by its number."""
    at = 0
    for number, segment in enumerate(_without_escapes(text).split('"')):
        if number % 2 == 0:
            count = sum(map(segment.count, "[]{}"))
            if wanted < count:
                return at + next(islice(re.finditer(r"[\[\]{}]", segment), wanted, None)).start()
            wanted -= count
        at += len(segment) + 1
    raise IndexError(wanted)


def lone_surrogate(text: str) -> int | None:
    """The position of an escape such as `\\ud800` that is half of a character, in a text that is JSON."""
    if "\\ud" not in text and "\\uD" not in text:
        return None
    found = _LONE.search(_without_escapes(text))
    return found.start() if found else None


def _key(name: str) -> str:
    """A pattern of a key, whose letters may be escapes."""
    letters = (f"(?:{letter}|\\\\u00{ord(letter) >> 4}{_hex_digit(ord(letter) & 15)})" for letter in name)
    return f'"{"".join(letters)}"[ \\t\\r\\n]*+:'


def _hex_digit(digit: int) -> str:
    return f"[{digit:x}{digit:X}]" if digit > 9 else str(digit)


_PROTO = re.compile(_key("__proto__"))
_CONSTRUCTOR = re.compile(_key("constructor"))
_PROTOTYPE = re.compile(_key("prototype"))
# A brace, or one of the keys. The end matches as well: a search for more would begin again within a string.
_TOKEN = re.compile(
    rf'(?:[^{{}}"]++|"(?!{_key("constructor")[1:]}|{_key("prototype")[1:]})[^"]*+")*+'
    rf"(?:([{{}}])|({_key('constructor')})[ \t\r\n]*+(\{{?)|({_key('prototype')})|\Z)"
)


def forbidden_key(text: str) -> tuple[str, int] | None:
    """A key by which a program in JavaScript could be attacked, in a text that is JSON: `__proto__`, or `constructor`
    with an object that has the key `prototype`."""
    # Letters, which no encoder writes as escapes.
    is_escaped = "\\u00" in text and any(escape in text for escape in ("\\u005", "\\u006", "\\u007"))
    if not is_escaped and "__proto__" not in text and not ("constructor" in text and "prototype" in text):
        return None
    plain = _without_escapes(text)
    proto = _PROTO.search(plain)
    # What precedes the key `__proto__` is searched, since the first key is named.
    before = plain if proto is None else plain[: proto.start()]
    at = None
    if _CONSTRUCTOR.search(before) is not None and _PROTOTYPE.search(before) is not None:
        at = _prototype(before)
    if at is not None:
        return "constructor.prototype", at
    return None if proto is None else ("__proto__", proto.start())


def _prototype(plain: str) -> int | None:
    """The position of a key `prototype` in an object that is the value of a key `constructor`."""
    # Whether each open object is such a value.
    open_objects: list[bool] = []
    for token in _TOKEN.finditer(plain):
        if token[1] == "{":
            open_objects.append(False)
        elif token[1] == "}":
            open_objects.pop()
        elif token[2] and token[3]:
            open_objects.append(True)
        elif token[4] and open_objects[-1]:
            return token.start(4)
    return None


class Places:
    """The places of the values at some paths of a text, all found by one scan."""

    def __init__(self, text: str, paths: list[tuple[str | int, ...]]) -> None:
        self._text = text
        self._paths = paths
        self._ends: dict[tuple[str | int, ...], int] | None = None

    def of(self, path: tuple[str | int, ...]) -> str | None:
        """The line and column of the last character of a value. `None` if the text has no such value, or too many
        before it."""
        if self._ends is None:
            self._ends = _ends(self._text, self._paths)
        end = self._ends.get(path)
        return None if end is None else line_and_column(self._text, end - 1)


def _ends(text: str, paths: list[tuple[str | int, ...]]) -> dict[tuple[str | int, ...], int]:
    """The positions after the values at some paths."""
    wanted: dict[Any, Any] = {}
    for path in paths:
        node = wanted
        for part in path:
            node = node.setdefault(part, {})
    ends: dict[tuple[str | int, ...], int] = {}
    steps = 0

    def space(at: int) -> int:
        end: int = WHITESPACE.match(text, at).end()
        return end

    def walk(at: int, node: dict[Any, Any], path: tuple[str | int, ...]) -> int:
        nonlocal steps
        if not node or text[at] not in "[{":
            ends[path] = _end_of_value(text, at)[1]
            return ends[path]
        is_object = text[at] == "{"
        at = space(at + 1)
        index = 0
        while text[at] not in "]}":
            steps += 1
            if steps > _MOST_STEPS:
                raise IndexError
            key: str | int = index
            if is_object:
                key, at = scanstring(text, at + 1, True)
                at = space(space(at) + 1)
            below = node.get(key)
            at = space(_end_of_value(text, at)[1] if below is None else walk(at, below, (*path, key)))
            if text[at] == ",":
                at = space(at + 1)
            index += 1
        ends[path] = at + 1
        return at + 1

    try:
        walk(space(0), wanted, ())
    except (IndexError, ValueError):
        # Too many steps; the places so far are right.
        pass
    return ends
