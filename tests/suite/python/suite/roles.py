"""Runs the program of a handler, and that of a listener."""

import json
from typing import Any

from pointwork_guest import BaseContext, Payload, Reply

from .payloads import JSON, bytes_of, payload_of, plain, shown
from .run import NONE, Run, Step, error_of, pairs

_first_delivery: Any = None


class HandlerRun(Run):
    def __init__(self, ctx: Any, program: dict[str, Any]) -> None:
        super().__init__(ctx, program)
        self.context = ctx

    def ended(self, end: str, *rest: Any) -> Any:
        if end == "throw":
            raise error_of(self.text, self.program, status=rest[0])
        if end != "reply":
            raise RuntimeError(f"a handler cannot end with `{end}`")
        status, headers = self.program.get("status", 200), pairs(self.program.get("headers", []))
        is_plain = status == 200 and not headers
        match rest[0]:
            case "empty":
                return Reply.empty(status, headers=headers)
            case "bytes":
                data = bytes_of(self.text)
                return data if is_plain else Reply.bytes(data, status=status, headers=headers)
            case "json":
                value = json.loads(self.text)
                is_plain = is_plain and isinstance(value, (dict, list))
                return value if is_plain else Reply.json(value, status=status, headers=headers)
            case _:
                text = plain(self.text)
                return text if is_plain else Reply.text(text, status=status, headers=headers)


class ListenerRun(Run):
    def __init__(self, payload: Any, delivery: Any, program: dict[str, Any]) -> None:
        super().__init__(delivery, program)
        self.content_type = payload.content_type if isinstance(payload, Payload) else JSON
        # A context that was handed over with `null` is the payload.
        self.text = "null" if isinstance(payload, BaseContext) else shown(payload)

    async def step(self, step: Step) -> None:
        global _first_delivery
        match step:
            case ["take-context"]:
                self.context = self.door.context
                if self.context is None:
                    self.text = NONE
            case ["event-name"]:
                self.say(self.door.event)
            case ["payload-type"]:
                self.say(self.content_type)
            case ["event-id"]:
                self.say(self.door.id)
            case ["attempt"]:
                self.say(self.door.attempt)
            case ["use-first-delivery"]:
                _first_delivery = self.door = _first_delivery or self.door
            case _:
                await super().step(step)

    def ended(self, end: str, *rest: Any) -> Any:
        match end:
            case "fail":
                raise error_of(self.text, self.program, code=rest[0], status=rest[1])
            case "result":
                return Payload(rest[0], bytes_of(self.text))
            case "reply":
                return payload_of(self.text, JSON)
            case _:
                raise RuntimeError(f"a listener cannot end with `{end}`")
