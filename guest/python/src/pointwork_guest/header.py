"""Headers: what a reply may have, and how those of a request are read."""

import codecs
import re
from collections.abc import Iterable, Mapping

from . import raw
from .jsontext import surrogate_problem

HeadersLike = Mapping[str, str | Iterable[str]] | Iterable[tuple[str, str]]

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")
_WRONG = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def header_problem(name: str, value: str) -> str | None:
    """What is wrong with a header, by the rules of the host."""
    if not _NAME.fullmatch(name):
        return f"`{printable(name)}` cannot be the name of a header, expected a token such as `x-name`"
    problem = surrogate_problem(value)
    if problem is not None:
        return f"the value of header `{name}` {problem}"
    found = _WRONG.search(value)
    if found is None:
        return None
    byte = ord(found[0])
    return f"the value of header `{name}` has the byte {byte} at position {found.start()}, which a header cannot have"


def raw_header(name: str, value: str) -> raw.Header:
    return raw.Header(name, value.encode("utf-8", "replace"))


def pairs(headers: HeadersLike) -> list[tuple[str, str]]:
    if not isinstance(headers, Mapping):
        return list(headers)
    found: list[tuple[str, str]] = []
    for name, value in headers.items():
        found.extend((name, one) for one in ([value] if isinstance(value, str) else value))
    return found


def essence(content_type: str) -> str:
    """The media type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_utf8(content_type: str) -> bool:
    """Whether a content type names no other encoding than UTF-8, or ASCII, which is a part of UTF-8."""
    charset = parameter(content_type, "charset")
    return charset is None or charset.lower() in ("utf-8", "utf8", "us-ascii", "ascii")


def header_text(value: bytes) -> str:
    """A value as text. One that is not UTF-8 has one character for each byte."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def printable(text: str) -> str:
    # By its name the codec would be imported at its first use, and a component has no files.
    return codecs.unicode_escape_encode(text)[0].decode()


def parameter(header: str, name: str) -> str | None:
    """A parameter of a header, in quotation marks or without. Browsers write `"` in a name as `%22`."""
    found = re.search(rf';\s*{name}\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))', header, re.IGNORECASE)
    if found is None:
        return None
    quoted: str | None = found[1]
    if quoted is None:
        bare: str = found[2]
        return bare
    plain = re.sub(r'\\(["\\])', r"\1", quoted)
    return plain.replace("%22", '"').replace("%0D", "\r").replace("%0A", "\n")
