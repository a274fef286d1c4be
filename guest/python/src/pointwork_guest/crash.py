"""What the host is told about an exception that nothing caught, and which exceptions leave a damaged instance."""

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import CodeType, TracebackType
from typing import Any, TypeGuard, TypeVar

from . import raw

E = TypeVar("E", bound=BaseException)

_SDK = __name__.rpartition(".")[0]
_MOST_FRAMES = 64
_MOST_PARTS = 16
"""How many causes and exceptions of groups a message has."""
_PLACE = "__pointwork_place__"
_LIBRARY = os.path.dirname(getattr(inspect, "__file__", "") or "/<none>/inspect.py") + "/"
"""The folder of Python's own modules."""

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
    """The frames of the program, innermost first, without those of Python's own modules and of the SDK. `traceback`
    would read the sources. Frames of a recursion are one frame, with their count."""
    found: dict[tuple[CodeType, int], int] = {}
    while trace is not None:
        frame = trace.tb_frame
        code = frame.f_code
        if not _is_sdk(frame.f_globals.get("__name__")) and not _is_library(code.co_filename):
            key = code, trace.tb_lineno or 0
            # The last occurrence is the innermost.
            found[key] = found.pop(key, 0) + 1
            if len(found) > _MOST_FRAMES:
                del found[next(iter(found))]
        trace = trace.tb_next
    return [
        raw.Frame(code.co_qualname + (f" … {count} times" if count > 1 else ""), source_file(code.co_filename), line)
        for (code, line), count in reversed(found.items())
    ]


def _is_sdk(name: object) -> bool:
    # A module of the program may be called `pointwork_guest_shop`.
    return name == _SDK or str(name).startswith(f"{_SDK}.")


def _is_library(file: str) -> bool:
    return file.startswith("<frozen ") or (file.startswith(_LIBRARY) and "site-packages" not in file)


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """An exception, its causes and contexts, also those that `from None` hides, and the exceptions of groups."""
    seen: set[int] = set()
    left = [error]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        # Python may count an exception of the program as false.
        left += [of for of in (_CAUSE(one), _CONTEXT(one)) if of is not None]
        left += _exceptions_of(one)


# A class of the program may have properties of these names. They might raise an exception in the code that reports one.
_CAUSE: Callable[[BaseException], BaseException | None] = vars(BaseException)["__cause__"].__get__
_CONTEXT: Callable[[BaseException], BaseException | None] = vars(BaseException)["__context__"].__get__
_HIDES_CONTEXT: Callable[[BaseException], bool] = vars(BaseException)["__suppress_context__"].__get__
traceback_of: Callable[[BaseException], TracebackType | None] = vars(BaseException)["__traceback__"].__get__
_ATTRIBUTES: Callable[[BaseException], dict[str, Any]] = vars(BaseException)["__dict__"].__get__
_EXCEPTIONS: Callable[[Any], tuple[BaseException, ...]] = vars(BaseExceptionGroup)["exceptions"].__get__
_NAME: Callable[[type], str] = vars(type)["__name__"].__get__


def is_of(error: BaseException, kind: type[E]) -> TypeGuard[E]:
    """Whether the exception is of a class. `isinstance` also reads the attribute `__class__`, which may be a property of
    the program."""
    return issubclass(type(error), kind)


def _exceptions_of(error: BaseException) -> tuple[BaseException, ...]:
    """The exceptions of a group."""
    return _EXCEPTIONS(error) if is_of(error, BaseExceptionGroup) else ()


def _cause_of(error: BaseException) -> BaseException | None:
    """The cause that a traceback would show."""
    cause = _CAUSE(error)
    return cause if cause is not None or _HIDES_CONTEXT(error) else _CONTEXT(error)


def is_damage(error: BaseException) -> bool:
    """Whether memory or the stack ran out, also if the program caught that and raised another exception. Code of the
    interpreter and of packages may have been left in the middle of a change, so the instance must trap. `SystemExit`
    asks for that."""
    return is_of(error, SystemExit) or any(
        is_of(one, MemoryError) or is_of(one, RecursionError) for one in chain_of(error)
    )


def forget_traces(error: BaseException) -> None:
    """Lets go of the frames of an exception that ended a call. A traceback refers to frames whose variables refer to
    the exception again, and an exception that a program raises again and again collects frames."""
    for one in chain_of(error):
        # A class of the program may refuse that its attributes are set.
        BaseException.with_traceback(one, None)


def _message(error: BaseException) -> str:
    try:
        # `join` makes a plain text of a subclass of `str`, whose methods are of the program.
        return "".join(["", str(error)])
    except BaseException as fault:
        return f"the message cannot be made: {_name(fault)}"


def _name(error: BaseException) -> str:
    """The name of the class."""
    return _NAME(type(error))


def report_of(error: BaseException) -> raw.Report:
    """The report of an exception."""
    stack = frames_of(traceback_of(error))
    at = place_of(error)
    if not stack and at is not None:
        stack = [raw.Frame(at.co_qualname, source_file(at.co_filename), at.co_firstlineno)]
    parts = [*islice(_parts(error, ""), _MOST_PARTS + 1)]
    if len(parts) > _MOST_PARTS:
        parts[-1] = "; and more"
    message = f"{_message(error)}{_hint(error)}{''.join(parts)}".encode("utf-8", "replace").decode()
    return raw.Report(message, _name(error), stack)


def _parts(error: BaseException, number: str) -> Iterator[str]:
    """The exceptions of a group, by their numbers, and the cause, each with its own parts. `number` is that of the
    exception itself."""
    for at, one in enumerate(_exceptions_of(error), 1):
        name = f"{number}.{at}" if number else str(at)
        yield f"; {name}: {_line(one)}"
        yield from _parts(one, name)
    cause = _cause_of(error)
    if cause is not None:
        yield f"; caused by {_line(cause)}"
        yield from _parts(cause, number)


def _line(error: BaseException) -> str:
    """The type, message and place of an exception, without its parts."""
    frames = frames_of(traceback_of(error))
    at = f" at {frames[0].file}:{frames[0].line}" if frames else ""
    return f"{_name(error)}: {_message(error)}{at}"


def note_place(error: BaseException, function: Any) -> None:
    """The function that an error is about, if no frame of the program is in its traceback: it returned what cannot
    be a reply.
    """
    code = code_of(function)
    if code is not None and place_of(error) is None:
        _ATTRIBUTES(error)[_PLACE] = code


def code_of(function: Any) -> CodeType | None:
    """The code of a function, of the constructor of a class, or of the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    of = getattr(function, "__init__") if isinstance(function, type) else inspect.unwrap(function)
    code: CodeType | None = getattr(of, "__code__", None) or getattr(getattr(type(of), "__call__", None), "__code__", None)
    return code


def placed(error: TypeError, function: Any) -> TypeError:
    """The error, with the function that it is about."""
    note_place(error, function)
    return error


def place_of(error: BaseException) -> CodeType | None:
    """What `note_place` noted."""
    return _ATTRIBUTES(error).get(_PLACE)


def _hint(error: BaseException) -> str:
    if is_of(error, ModuleNotFoundError) and sys.platform == "wasi":
        return ": a component has no files at run time, import it at the top of a file"
    if is_of(error, OSError):
        have = "whose listener in the host, or in a module with grants, has them"
        return f": a module has no files, sockets and threads; call an event, {have}"
    return ""


def exception_line(error: BaseException) -> str:
    """One line for the log."""
    report = report_of(error)
    at = f" at {report.stack[0].file}:{report.stack[0].line}" if report.stack else ""
    return f"{report.exception}: {report.message}{at}"


def caller() -> tuple[str, int]:
    """The file and line of the program that called the SDK."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_sdk(frame.f_globals.get("__name__")):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def caller_place() -> str:
    """The same as a text."""
    file, line = caller()
    return f"{source_file(file)}:{line}"
