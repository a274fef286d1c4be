"""Lines of the host's log: from `logging`, from `print`, and with fields of their own."""

import io
import json
import logging
import warnings
from contextvars import ContextVar
from typing import Any

from . import raw
from .crash import exception_line, source_file
from .host import host

_TARGET = "pointwork::guest::log"
"""The origin of the lines, which directives of `--log-level` name."""
_PRINTED = "print"
_LONGEST = 8192


def write(level: raw.Level, message: str, target: str = _TARGET, fields: dict[str, Any] | None = None) -> None:
    properties = [raw.Property(name, _text(value)) for name, value in fields.items()] if fields else []
    host.environment.write(level, target, message.encode("utf-8", "replace").decode(), properties)


def _text(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()


class Log:
    """Lines within the span of their request: `log.info("sold out", product=7)`."""

    def trace(self, message: str, **fields: Any) -> None:
        write(raw.Level.TRACE, message, fields=fields)

    def debug(self, message: str, **fields: Any) -> None:
        write(raw.Level.DEBUG, message, fields=fields)

    def info(self, message: str, **fields: Any) -> None:
        write(raw.Level.INFO, message, fields=fields)

    def warn(self, message: str, **fields: Any) -> None:
        write(raw.Level.WARN, message, fields=fields)

    def error(self, message: str, **fields: Any) -> None:
        write(raw.Level.ERROR, message, fields=fields)


log = Log()


class HostHandler(logging.Handler):
    """Gives the records of `logging` to the host. The origin is the logger, and the fields are those of `extra`."""

    _usual = frozenset((*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"))

    def emit(self, record: logging.LogRecord) -> None:
        fields = {name: value for name, value in vars(record).items() if name not in self._usual}
        message = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            message = f"{message}: {exception_line(record.exc_info[1])}"
        write(_level(record.levelno), message, record.name, fields)


def _level(number: int) -> raw.Level:
    if number >= logging.ERROR:
        return raw.Level.ERROR
    if number >= logging.WARNING:
        return raw.Level.WARN
    if number >= logging.INFO:
        return raw.Level.INFO
    return raw.Level.DEBUG if number >= logging.DEBUG else raw.Level.TRACE


class Lines(io.TextIOBase):
    """`sys.stdout` and `sys.stderr` of a component. A line ends at its newline, or with the call that wrote it."""

    _instance_rests = ["", ""]
    rests: ContextVar[list[str]] = ContextVar("rests", default=_instance_rests)
    """The texts that have no newline yet, one of each stream. Each call of the asynchronous form has a list, which
    contexts that copy the context of the call share. The synchronous form has one call at a time, and so one list. An
    empty context, as `contextvars.Context()` makes it, has this list as well."""

    def __init__(self, level: raw.Level, stream: int) -> None:
        self._level, self._stream = level, stream

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        rests = self.rests.get()
        *lines, rest = (rests[self._stream] + text).split("\n")
        for line in lines:
            write(self._level, line, _PRINTED)
        while len(rest) > _LONGEST:
            write(self._level, rest[:_LONGEST], _PRINTED)
            rest = rest[_LONGEST:]
        rests[self._stream] = rest
        return len(text)

    def end(self) -> None:
        """Ends a line that has no newline, of the call or of the instance."""
        for rests in (self.rests.get(), self._instance_rests):
            if rests[self._stream]:
                write(self._level, rests[self._stream], _PRINTED)
                rests[self._stream] = ""


def name_sources_in_warnings() -> None:
    """Warnings of `warnings` name a source as the developer knows it. A component has no source to show the line of."""
    format_warning = warnings.formatwarning

    def formatted(message: Any, category: Any, filename: str, lineno: int, line: str | None = None) -> str:
        return format_warning(message, category, source_file(filename), lineno, line or "")

    warnings.formatwarning = formatted
