"""Headers between Python and the application."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

HeaderPairs: TypeAlias = list[tuple[bytes, bytes]]
GivenHeaders: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]


def header_items(headers: GivenHeaders | None) -> list[tuple[str, str]]:
    """Headers as a list of names with values."""
    return list(headers.items() if isinstance(headers, Mapping) else headers or ())


def native_headers(headers: GivenHeaders | None, errors: str = "strict") -> HeaderPairs:
    """Headers for the application. `errors` is that of `str.encode`, for the values."""
    return [(name.encode("latin-1"), str(value).encode("latin-1", errors)) for name, value in header_items(headers)]


def python_headers(headers: HeaderPairs) -> list[tuple[str, str]]:
    """Headers of the application."""
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
