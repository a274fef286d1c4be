"""Crashes: what an error that is no reply tells the host."""

import contextlib
import inspect
import sys
from types import CodeType, TracebackType
from typing import Any

from . import raw

_SDK = __name__.rpartition(".")[0]
_MOST_FRAMES = 64
_MOST_CAUSES = 8
_PLACE = "__pointwork_place__"

folders: dict[str, str] = {}
"""The folders of sources by their numbers, as the build calls them."""


def source_file(path: str) -> str:
    """The path of a source as the developer knows it. componentize-py mounts each folder of sources below `/` by a
    number.
    """
    if sys.platform == "wasi":
        first, _, rest = path.lstrip("/").partition("/")
        if first.isdigit() and rest:
            return f"{folders[first]}/{rest}" if folders.get(first) else rest
    return path


def frames_of(trace: TracebackType | None) -> list[raw.Frame]:
    """The frames of the program, innermost first, without those of the SDK. `traceback` would read the sources."""
    found: list[raw.Frame] = []
    while trace is not None:
        frame = trace.tb_frame
        if not str(frame.f_globals.get("__name__", "")).startswith(_SDK):
            code = frame.f_code
            found.append(raw.Frame(code.co_qualname, source_file(code.co_filename), trace.tb_lineno or 0))
            # A deep recursion: the innermost frames tell most.
            if len(found) > _MOST_FRAMES:
                del found[0]
        trace = trace.tb_next
    found.reverse()
    return found


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as fault:
        return f"the message cannot be made: {type(fault).__name__}"


def crash_of(error: BaseException) -> raw.Crash:
    """The report of an error that no reply was made of."""
    causes: list[str] = []
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while cause is not None and len(causes) < _MOST_CAUSES:
        causes.append(f"; caused by {type(cause).__name__}: {_message(cause)}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    hint = _hint(error)
    stack = frames_of(error.__traceback__)
    at = place_of(error)
    if not stack and at is not None:
        stack = [raw.Frame(at.co_qualname, source_file(at.co_filename), at.co_firstlineno)]
    message = f"{_message(error)}{hint}{''.join(causes)}".encode("utf-8", "replace").decode()
    return raw.Crash(message, type(error).__name__, stack)


def note_place(error: BaseException, function: Any) -> None:
    """The function that an error is about, if no frame of the program is in its traceback: it returned what cannot
    be a reply.
    """
    of = getattr(function, "__init__") if isinstance(function, type) else function
    code = getattr(inspect.unwrap(of), "__code__", None)
    if code is not None and place_of(error) is None:
        with contextlib.suppress(AttributeError):
            setattr(error, _PLACE, code)


def place_of(error: BaseException) -> CodeType | None:
    """What `note_place` noted."""
    code: CodeType | None = getattr(error, _PLACE, None)
    return code


def _hint(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and sys.platform == "wasi":
        return ": a component has no files at run time, import it at the top of a file"
    if isinstance(error, OSError):
        have = "whose listener in the host, or in a module with grants, has them"
        return f": a module has no files, sockets and threads; call an event, {have}"
    return ""


def crash_line(error: BaseException) -> str:
    """One line for the log."""
    crash = crash_of(error)
    at = f" at {crash.stack[0].file}:{crash.stack[0].line}" if crash.stack else ""
    return f"{crash.exception}: {crash.message}{at}"


def caller_place() -> str:
    """The file and line of the program that called the SDK."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(_SDK):
        frame = frame.f_back
    return f"{source_file(frame.f_code.co_filename)}:{frame.f_lineno}"
