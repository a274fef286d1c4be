"""Exceptions of functions as answers for the application."""

from __future__ import annotations

import json
import re
import traceback
from typing import TYPE_CHECKING, SupportsIndex

from ._errors import Failure, wrong_type
from ._headers import native_headers

if TYPE_CHECKING:
    from ._pointwork import EventAnswer, NativeFailure, ChunkAnswer, RouteAnswer

# JSON cannot contain one half of a surrogate pair, and its readers give up at an escape of one.
_SURROGATE = re.compile("[\ud800-\udfff]")


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


def answer_error(answer: EventAnswer | RouteAnswer, error: BaseException) -> None:
    """Answers with an exception: a failure on purpose, or a crash with its traceback. It never raises: if no answer can
    be given, the drop of the answer tells the application."""
    try:
        try:
            if isinstance(error, Failure):
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
        return _encodable("".join(traceback.format_exception(error)))
    except BaseException:
        pass
    kind = f"{type(error).__name__} (its text cannot be formatted)"
    try:
        frames = traceback.format_tb(error.__traceback__)
        return _encodable("".join(["Traceback (most recent call last):\n", *frames, kind]))
    except BaseException:
        return _encodable(kind)


def _encodable(text: str) -> str:
    """A text with an escape for each character that UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode()
