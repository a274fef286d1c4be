"""Bodies of the module `now`."""

from dataclasses import dataclass


@dataclass
class Line:
    sku: str
    count: int


@dataclass
class Order:
    lines: list[Line]
    note: str | None = None
