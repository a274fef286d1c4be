"""Applications of WSGI."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from ._bodies import Stream
from ._errors import ClosedError
from ._failures import break_off, refusal
from ._headers import python_headers
from ._paths import path_below, with_slash
from ._pointwork import Mount, ChunkAnswer
from ._run import UNLIMITED, Pool

if TYPE_CHECKING:
    from ._app import App
    from ._pointwork import NativeRequest, Headers, Accepted, Write

Environ: TypeAlias = dict[str, Any]
WsgiApplication: TypeAlias = Callable[[Any, Any], Iterable[bytes]]

_CHUNK_BYTES = 64 * 1024
# A server of WSGI writes these headers itself.
_SERVER_HEADERS = {"connection", "keep-alive", "transfer-encoding", "upgrade"}


class Wsgi:
    """An application of WSGI (PEP 3333). Its bodies are streamed both ways."""

    def __init__(self, app: App, mount: Mount, bodies: Pool, prefix: str, other: WsgiApplication | None) -> None:
        # The mount keeps the application alive, whose functions would not be called otherwise.
        self._app = app
        self._mount = mount
        self._bodies = bodies
        self._prefix = with_slash(prefix)
        self._other = other

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answers one request."""
        accepted = None
        if self._other is not None and (accepted := self._accept(environ)) is None:
            return self._other(environ, start_response)
        try:
            body, length = self._body(environ)
            reply = self._mount.handle_blocking(_native_request(environ, self._prefix, body, length), accepted, UNLIMITED)
        except ValueError as error:
            return _refuse(start_response, 400, str(error))
        except ClosedError as error:
            return _refuse(start_response, *refusal(error))
        if reply is None:
            return _refuse(start_response, 404, "not found")
        status, headers, content = reply
        start_response(_line(status), [pair for pair in python_headers(headers) if pair[0] not in _SERVER_HEADERS])
        return [content] if isinstance(content, bytes) else Stream(content)

    def _accept(self, environ: Environ) -> Accepted | None:
        try:
            return self._mount.accept(_native_request(environ, self._prefix, None, None))
        except (ValueError, ClosedError):
            return None

    def _body(self, environ: Environ) -> tuple[bytes | Write | None, int | None]:
        length = environ.get("CONTENT_LENGTH") or ""
        if length.isdigit():
            left = int(length)
            if left <= _CHUNK_BYTES:
                return (environ["wsgi.input"].read(left) if left else None), None
            return partial(self._bodies.run, _write, environ["wsgi.input"], [left]), left
        if environ.get("wsgi.input_terminated"):
            return partial(self._bodies.run, _write, environ["wsgi.input"], [None]), None
        return None, None


def _write(source: Any, left: list[int | None], answer: ChunkAnswer) -> None:
    try:
        size = _CHUNK_BYTES if left[0] is None else min(_CHUNK_BYTES, left[0])
        read = getattr(source, "read1", source.read)
        data = read(size) if size else b""
        if not data:
            answer.end()
            return
        if left[0] is not None:
            left[0] -= len(data)
        answer.data(data)
    except BaseException as error:
        break_off(answer, error)


def _native_request(environ: Environ, prefix: str, body: bytes | Write | None, length: int | None) -> NativeRequest:
    target = environ.get("REQUEST_URI") or environ.get("RAW_URI")
    if not target or not target.startswith("/"):
        path = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")) or "/"
        target = quote(path.encode("latin-1"), safe="/:@!$&'()*+,;=~-._")
        if query := environ.get("QUERY_STRING"):
            target = f"{target}?{query}"
    if root := environ.get("SCRIPT_NAME"):
        path, mark, query = target.partition("?")
        target = f"{path_below(path, root.encode('latin-1'), prefix)}{mark}{query}"
    headers: Headers = []
    for key, value in environ.items():
        if key.startswith("HTTP_"):
            name = key[5:].replace("_", "-").lower()
        elif key in ("CONTENT_TYPE", "CONTENT_LENGTH") and value:
            name = key.replace("_", "-").lower()
        else:
            continue
        if name != "transfer-encoding":
            headers.append((name.encode("latin-1"), value.encode("latin-1")))
    address, port = environ.get("REMOTE_ADDR"), str(environ.get("REMOTE_PORT") or "0")
    peer = (address, int(port) if port.isdigit() else 0) if address else None
    return environ["REQUEST_METHOD"], target, headers, body, length, peer, environ.get("wsgi.url_scheme") == "https"


def _line(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Status"


def _refuse(
    start_response: Callable[..., Any], status: int, message: str, headers: Iterable[tuple[str, str]] = ()
) -> Iterable[bytes]:
    start_response(_line(status), [("content-type", "text/plain; charset=utf-8"), *headers])
    return [message.encode()]
