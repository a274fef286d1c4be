"""Top-level code runs once, in the build, and every instance starts with a copy of what it made."""

import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .errors import BuildError

_CLOCKS = {time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter}
_DATES = {(datetime, "now"), (datetime, "utcnow"), (datetime, "today"), (date, "today")}
_BITS = {"random", "getrandbits"}


@contextmanager
def watched(root: Path, shown: Path) -> Iterator[list[str]]:
    """Collects warnings of top-level code below `root` that reads the clock or takes pseudo-random numbers. Code
    that takes random
    bits for a secret is refused: each instance would have the same secret.
    """
    warnings: list[str] = []
    secrets: list[str] = []

    def profile(frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call" or (what := _what(called)) is None:
            return
        place = _place(frame, root)
        if place is None:
            return
        at = f"{shown / place[0].relative_to(root)}:{place[1]}"
        told = f"{at}: {what} when the module is built, and is the same in each instance"
        found = secrets if called is os.urandom else warnings
        if told not in found:
            found.append(told)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield warnings
    finally:
        sys.setprofile(before)
    if secrets:
        raise BuildError(f"{secrets[0]}: take it in a handler")


def _what(called: Any) -> str | None:
    of, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if called is os.urandom:
        return "a secret is made"
    if isinstance(of, random.Random):
        return "a random number is made" if name in _BITS else None
    is_clock = (
        called in _CLOCKS
        if of is time
        else isinstance(of, type) and any(of is kind and name == one for kind, one in _DATES)
    )
    return "the time is read" if is_clock else None


def _place(frame: FrameType | None, root: Path) -> tuple[Path, int] | None:
    """The place in the program; `None` while a library is imported, whose own matter it is."""
    while frame is not None:
        code: CodeType = frame.f_code
        path = Path(code.co_filename)
        if path.is_relative_to(root) and "site-packages" not in path.parts:
            return path, frame.f_lineno
        if code.co_name == "<module>":
            return None
        frame = frame.f_back
    return None
