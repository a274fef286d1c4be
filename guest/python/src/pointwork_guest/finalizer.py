"""What drops a resource of the host that the program lets go of.

componentize-py makes a `weakref.finalize` for each resource: an entry in a table and a weak reference, which take
longer than a call of the host.
"""

import weakref
from collections.abc import Callable
from typing import Any

_REAL = weakref.finalize


class Finalizer:
    """It belongs to the resource alone, and so goes with it."""

    __slots__ = ("_found",)

    def __init__(self, _: object, drop: Callable[..., None], *arguments: int) -> None:
        self._found: Any = (None, drop, arguments, None)

    def detach(self) -> Any:
        found = self._found
        self._found = None
        return found

    def __del__(self) -> None:
        if self._found is not None:
            self._found[1](*self._found[2])


def short_finalizers() -> None:
    """componentize-py takes `weakref.finalize` once, after the program is imported."""
    setattr(weakref, "finalize", Finalizer)


def real_finalizers() -> None:
    """The program has the real ones, from its first call on."""
    setattr(weakref, "finalize", _REAL)
