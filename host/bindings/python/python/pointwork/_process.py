"""What the applications of a process share: the log, and the end of the interpreter."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import logging
import os
import threading
import time
import weakref
from types import BuiltinFunctionType
from typing import TYPE_CHECKING

from . import _pointwork as native
from ._errors import EngineError
from ._run import UNLIMITED

if TYPE_CHECKING:
    from ._app import App

OPEN_APPS: weakref.WeakSet[App] = weakref.WeakSet()
"""The applications that are not closed."""

_LOG = logging.getLogger("pointwork")
_LEVELS = {"ERROR": logging.ERROR, "WARN": logging.WARNING, "INFO": logging.INFO}
_EXIT_SECONDS = 3.0
_is_prepared = False


def prepare() -> None:
    """Prepares the process for an application. Raises `EngineError` if the threads of Python are green threads: they would
    wait for the threads of the application, and hold them up."""
    global _is_prepared
    if not isinstance(threading.get_ident, BuiltinFunctionType):
        package = str(threading.get_ident.__module__).partition(".")[0]
        raise EngineError(
            f"the module `threading` is patched by `{package}`, expected threads of the operating system: without its "
            "monkey patching, and with a worker such as `gthread` in gunicorn"
        )
    if _is_prepared:
        return
    _is_prepared = True
    if not faulthandler.is_enabled():
        # Its handlers must be older than those of the engine, which take the traps of guests. `faulthandler.enable` does nothing
        # where it is enabled; with younger handlers it would end the process at the first trap.
        with contextlib.suppress(Exception):
            faulthandler.enable()
    native.write_log("debug" if _LOG.isEnabledFor(logging.DEBUG) else "info", _write_log)
    atexit.register(_close_open_apps)


def _write_log(level: str, target: str, message: str) -> None:
    # Parts of the host are crates of their own, such as `pointwork_core`: each is a logger below `pointwork`.
    name = target.replace("::", ".").replace("pointwork_", "pointwork.", 1)
    logging.getLogger(name).log(_LEVELS.get(level, logging.DEBUG), "%s", message)


def _close_open_apps() -> None:
    """Ends the open applications, so that no thread is in the interpreter when the interpreter ends."""
    ends = []
    for app in list(OPEN_APPS):
        if os.getpid() == app._process:
            app._is_closed = True
            end = threading.Event()
            app._native.close(lambda value, error, end=end: end.set(), UNLIMITED)  # type: ignore[misc]
            ends.append(end)
    until = time.monotonic() + _EXIT_SECONDS
    for end in ends:
        end.wait(max(0.0, until - time.monotonic()))
    native.end()
