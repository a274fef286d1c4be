"""HTTP controllers as sandboxed WebAssembly components, in a program of Python.

`App` is an application: it loads modules, has channels and routes of its own, and is mounted in a server of Python (`App.asgi`,
`App.wsgi`), asked in process (`App.handle`, `App.request`), or served by the built-in server (`App.serve`).
"""

from ._app import App, Channel
from ._asgi import Asgi
from ._bodies import Stream
from ._errors import (
    BodyError,
    ClosedError,
    ComponentError,
    EngineError,
    Error,
    Failure,
    ForkedError,
    HostError,
    NestedError,
    RefusedError,
    SettingsError,
)
from ._messages import Event, Headers, Payload, Query, Reply, Request, Response
from ._pointwork import __version__
from ._records import Change, Diff, Figures, ModuleInfo, Route
from ._server import Server
from ._wsgi import Wsgi

__all__ = [
    "App",
    "Asgi",
    "BodyError",
    "Change",
    "Channel",
    "ClosedError",
    "ComponentError",
    "Diff",
    "EngineError",
    "Error",
    "Event",
    "Failure",
    "Figures",
    "ForkedError",
    "Headers",
    "HostError",
    "ModuleInfo",
    "NestedError",
    "Payload",
    "Query",
    "RefusedError",
    "Reply",
    "Request",
    "Response",
    "Route",
    "Server",
    "SettingsError",
    "Stream",
    "Wsgi",
    "__version__",
]
