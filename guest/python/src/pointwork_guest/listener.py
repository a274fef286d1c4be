"""How the arguments of a listener are made."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

from . import raw
from .base_context import BaseContext
from .context import AsyncContext, Context
from .crash import note_place
from .delivery import AsyncDelivery, BaseDelivery, Delivery
from .exceptions import HttpError
from .jsontext import JsonFault
from .module import ListenerOf
from .payload import Payload, lift_payload
from .plan import Planner, hints_of
from .validation import ValidationError, structurer, validated


@dataclass(frozen=True)
class ListenerPlan:
    name: str
    call: Callable[..., Any]
    getters: tuple[Callable[[Any, Any], Any], ...]
    convert: Callable[[Any], Any]

    def arguments(self, delivery: BaseDelivery, payload: raw.Payload) -> list[Any]:
        value = self.convert(payload)
        return [get(delivery, value) for get in self.getters]


def listener_plan(planner: Planner, listener: ListenerOf, call: Callable[..., Any]) -> ListenerPlan:
    """A listener takes the payload by the first parameter that is no delivery and no context."""
    try:
        return _plan(planner, listener, call)
    except TypeError as error:
        note_place(error, call)
        raise


def _plan(planner: Planner, listener: ListenerOf, call: Callable[..., Any]) -> ListenerPlan:
    shown = f"`{listener.shown}`"
    hints = hints_of(call)
    getters: list[Callable[[Any, Any], Any]] = []
    payload: tuple[str, Any] | None = None
    delivery, context = (AsyncDelivery, AsyncContext) if planner.is_async else (Delivery, Context)
    for name, parameter in inspect.signature(call).parameters.items():
        hint = hints.get(name, Any)
        kinds = [part for part in (get_args(hint) or (hint,)) if isinstance(part, type)]
        if any(issubclass(kind, BaseDelivery) for kind in kinds):
            if hint is not delivery:
                raise TypeError(
                    f"{shown}: the parameter `{name}`: expected `{delivery.__name__}` in a module of this form"
                )
            getters.append(lambda delivery, _: delivery)
        elif any(issubclass(kind, BaseContext) for kind in kinds):
            if context not in kinds:
                raise TypeError(
                    f"{shown}: the parameter `{name}`: expected `{context.__name__}` in a module of this form"
                )
            getters.append(_context(listener, type(None) in get_args(hint)))
        elif payload is not None or parameter.kind in (
            parameter.KEYWORD_ONLY,
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            before = f" beside `{payload[0]}`" if payload else ""
            raise TypeError(
                f"{shown} has the parameter `{parameter}`{before}, "
                f"expected the payload, a `{delivery.__name__}` and a context"
            )
        else:
            payload = (name, hint)
            getters.append(lambda _, value: value)
    return ListenerPlan(listener.shown, call, tuple(getters), _payload(listener, payload[1] if payload else Any))


def _context(listener: ListenerOf, optional: bool) -> Callable[[Any, Any], Any]:
    def take(delivery: Any, _: Any) -> Any:
        found = delivery._take()
        if found is None and not optional:
            raise HttpError(
                f"the event `{_event(listener)}` has no context, expected one that is handed over: take "
                "`Context | None`, or `Delivery` to call other events",
                code="bad-payload",
            )
        return found

    return take


def _event(listener: ListenerOf) -> str:
    return f"{listener.channel.declared.path}:{listener.event}"


def _payload(listener: ListenerOf, hint: Any) -> Callable[[Any], Any]:
    """The payload by the type hint of its parameter."""
    if hint in (Any, object, Payload):
        return lambda payload: _lifted(listener, payload)
    if hint is bytes:
        return lambda payload: (
            payload.value.data
            if isinstance(payload, raw.Payload_Bytes)
            else _misfit(listener, "expected bytes, got JSON")
        )
    try:
        convert = structurer(hint, of_texts=False)
    except Exception as error:
        raise TypeError(f"`{listener.shown}`: the payload: {error}") from None

    def lift(payload: raw.Payload) -> Any:
        value = _lifted(listener, payload)
        if isinstance(value, Payload):
            return _misfit(listener, f"expected JSON, got bytes of the type `{value.content_type}`")
        try:
            return validated(convert, value)
        except ValidationError as error:
            first = error.invalid[0]
            field = f"`{first.field}`: " if first.field else ""
            return _misfit(listener, f"{field}{first.message}")

    return lift


def _lifted(listener: ListenerOf, payload: raw.Payload) -> Any:
    try:
        return lift_payload(payload)
    except JsonFault as fault:
        return _misfit(listener, str(fault))


def _misfit(listener: ListenerOf, problem: str) -> Any:
    raise HttpError(f"the payload of `{_event(listener)}`: {problem}", status=400, code="bad-payload")
