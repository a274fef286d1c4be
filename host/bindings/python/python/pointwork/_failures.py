"""Exceptions of functions as answers for the application."""

from __future__ import annotations

import json
import os
import re
import traceback
from typing import TYPE_CHECKING, SupportsIndex

from ._errors import ClosedError, Failure, wrong_type
from ._headers import native_headers
from ._pointwork import failure_of

if TYPE_CHECKING:
    from ._pointwork import EventAnswer, NativeFailure, ChunkAnswer, RouteAnswer

# JSON cannot contain one half of a surrogate pair, and its readers give up at an escape of one.
_SURROGATE = re.compile("[\ud800-\udfff]")

# The folder of this package, whose frames say nothing to the author of a function.
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def native_failure(failure: Failure) -> NativeFailure:
    """A failure for the application; the details are JSON."""
    if not isinstance(failure.status, SupportsIndex):
        raise wrong_type("the status", failure.status, "a number from 400 to 599")
    details = None
    if failure.details:
        text = json.dumps(failure.details, ensure_ascii=False)
        details = _SURROGATE.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text)
    code = None if failure.code is None else _encodable(failure.code)
    headers = native_headers(failure.headers, "backslashreplace")
    return failure.status, _encodable(failure.message), code, details, headers


def refusal(closed: ClosedError) -> tuple[int, str, list[tuple[str, str]]]:
    """The reply to a request after the end of the application: status, message and headers."""
    failure = failure_of("overloaded", str(closed))
    return failure.status, failure.message, failure.headers


def answer_error(answer: EventAnswer | RouteAnswer, error: BaseException) -> None:
    """Answers with an exception: a failure on purpose, or a crash with its traceback. It never raises: if no answer can
    be given, the drop of the answer tells the application."""
    try:
        try:
            if isinstance(error, Failure) and not error._is_mistake:
                answer.failed(native_failure(error))
                return
            text = _traceback(error)
        except Exception as wrong:
            # No variable keeps the exception: its frames have the request, for which the application waits at its end.
            text = _traceback(wrong)
        answer.threw(text)
    except BaseException:
        pass


def break_off(answer: ChunkAnswer, error: BaseException) -> None:
    """Ends a body with an exception. It never raises."""
    try:
        answer.failed(_traceback(error))
    except BaseException:
        pass


def _traceback(error: BaseException) -> str:
    """An exception with its traceback. Formatting runs code of the exception, whose own exceptions are left out."""
    try:
        told = traceback.TracebackException.from_exception(error)
        _drop_own_frames(told)
        return _encodable("".join(told.format()))
    except BaseException:
        pass
    kind = f"{type(error).__name__} (its text cannot be formatted)"
    try:
        frames = traceback.format_tb(error.__traceback__)
        return _encodable("".join(["Traceback (most recent call last):\n", *frames, kind]))
    except BaseException:
        return _encodable(kind)


def _drop_own_frames(told: traceback.TracebackException) -> None:
    """Removes the frames of this package, in the causes too."""
    left = [told]
    while left:
        part = left.pop()
        part.stack[:] = [frame for frame in part.stack if os.path.dirname(frame.filename) != _PACKAGE]
        left += (other for other in (part.__cause__, part.__context__, *(part.exceptions or ())) if other is not None)


def _encodable(text: str) -> str:
    """A text with an escape for each character that UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()
