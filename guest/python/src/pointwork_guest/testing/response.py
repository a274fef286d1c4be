"""The reply to a request of a test, and what the handler did beside it."""

import json
from typing import Any
from urllib.parse import unquote

from .. import raw
from ..header import header_text
from .exchange import TestContext
from .host import Deferred, LogLine

_TYPES = {
    raw.Body_Text: "text/plain; charset=utf-8",
    raw.Body_Json: "application/json",
    raw.Body_Bytes: "application/octet-stream",
}


class TestResponse:
    """The reply, and the events that the handler called, emitted and handed over to."""

    __test__ = False

    def __init__(self, context: TestContext) -> None:
        self._context = context

    def _head(self) -> raw.Reply | raw.Thrown:
        found = self._context.reply or self._context.thrown
        if found is None:
            raise Deferred(
                "there is no reply: the handler handed the request over, or neither sent nor returned a reply"
            )
        return found

    @property
    def is_open(self) -> bool:
        """Whether there is no reply: the handler handed the context over, or left it without one."""
        return self._context.is_open

    @property
    def is_finished(self) -> bool:
        """Whether a body that is written piece by piece was finished. A host breaks one off that is not."""
        return self._context.writer is None or self._context.writer.is_finished

    @property
    def status(self) -> int:
        return self._head().status

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers that the handler set, with names in lower case, and the `content-type` that its body has by
        default.
        """
        head = self._head()
        found = [(one.name.lower(), header_text(one.value)) for one in head.headers]
        usual = _TYPES.get(type(head.body)) if isinstance(head, raw.Reply) else "application/json"
        if usual is not None and all(name != "content-type" for name, _ in found):
            found.append(("content-type", usual))
        return found

    def header(self, name: str) -> str | None:
        return next((value for found, value in self.headers if found == name.lower()), None)

    def bytes(self) -> bytes:
        head = self._head()
        if isinstance(head, raw.Thrown):
            details = {} if head.details is None else json.loads(head.details)
            return json.dumps({"message": head.message, **details}, ensure_ascii=False).encode()
        if self._context.writer is not None:
            return b"".join(self._context.writer.chunks)
        body = head.body
        if isinstance(body, raw.Body_Empty):
            return b""
        return body.value if isinstance(body, raw.Body_Bytes) else body.value.encode()

    def text(self) -> str:
        return self.bytes().decode()

    def json(self) -> Any:
        return json.loads(self.bytes())

    def cookie(self, name: str) -> str | None:
        """The value of a cookie that the reply sets last."""
        found = [value for header, value in self.headers if header == "set-cookie" and value.startswith(f"{name}=")]
        return unquote(found[-1].partition(";")[0].partition("=")[2]) if found else None

    def _payloads(self, how: str, event: str) -> list[Any]:
        return [one.payload for one in self._context.world.sent if one.how == how and one.event == event]

    def called(self, event: str) -> list[Any]:
        """The payloads with which an event was called, in order."""
        return self._payloads("call", event)

    def emitted(self, event: str) -> list[Any]:
        """The payloads with which an event was emitted."""
        return self._payloads("emit", event)

    def handed_over(self, event: str) -> list[Any]:
        """The payloads with which the context was handed over."""
        return self._payloads("hand-over", event)

    @property
    def lines(self) -> list[LogLine]:
        """The lines of `log`. What `print` writes is printed, and `logging` has its own handlers."""
        return self._context.world.lines

    @property
    def exception(self) -> BaseException | None:
        """The exception that nothing caught, which the host reports: the reply is 500, or was broken off."""
        return next(iter(self._context.world.exceptions), None)

    def extension(self, key: str) -> str | None:
        return self._context.extensions.get(key)
