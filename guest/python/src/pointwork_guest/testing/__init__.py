"""Tests of a module without a host: `TestApp(Module(controllers=[Products]))`."""

from .app import TestApp
from .host import Deferred, LogLine, Sent
from .response import TestResponse

__all__ = ["Deferred", "LogLine", "Sent", "TestApp", "TestResponse"]
