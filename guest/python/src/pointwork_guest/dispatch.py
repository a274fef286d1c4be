"""Runs the handlers and listeners of a module."""

import inspect
from collections.abc import Callable
from contextvars import Context as Variables
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from decimal import getcontext, setcontext
from typing import Any

from . import raw
from .base_context import BaseContext
from .calls import check_events
from .context import AsyncContext, Context
from .crash import crash_line, note_place
from .delivery import AsyncDelivery, BaseDelivery, Delivery
from .exceptions import HttpError, failure, thrown
from .guards import settled
from .listener import ListenerPlan, listener_plan
from .log import log
from .manifest import after_of, guards_of
from .module import Module, path_names
from .outcome import (
    DEFERRED,
    RETURNED,
    as_outcome,
    is_streamed,
    none_is_json,
    plain_outcome,
    write_pieces,
    write_pieces_later,
)
from .payload import lower_payload
from .plan import Get, Overrides, Plan, Planner, hints_of
from .projection import returning
from .reply import Reply

Outcome = Reply | HttpError | None
_WITH_BODY = {"POST", "PUT", "PATCH"}


def _decimal_variable() -> ContextVar[Any]:
    getcontext()
    return next(iter(copy_context()))


_DECIMAL = Variables().run(_decimal_variable)
"""Where `decimal` keeps its context. It makes one when it is first needed, which most requests do without."""


@dataclass(frozen=True)
class Runner:
    """How a handler runs. `plain` says that nothing is around it."""

    name: str
    call: Callable[..., Any]
    plan: Plan
    guards: tuple[Get, ...]
    after: tuple[tuple[Callable[..., Any], Plan], ...]
    status: int | None
    headers: tuple[tuple[str, str], ...]
    null: bool
    plain: bool


class Dispatcher:
    """The handlers and listeners of a module by their numbers. `overrides` replace dependencies and guards in tests."""

    def __init__(self, module: Module, overrides: Overrides = {}) -> None:
        self.module = module
        check_events()
        self.errors = {one: returning(one, "errors") for one in module.error_functions()}
        self.planner = Planner(is_async=module.is_async, overrides=overrides)
        instances = {of: _instance(of) for of, _ in module.classes()}
        self.runners = [self._runner(number, instances) for number in range(len(module.handlers))]
        self.listeners = [
            listener_plan(
                self.planner,
                listener,
                returning(getattr(instances[listener.channel.of], listener.name), listener.shown),
            )
            for listener in module.listeners
        ]

    def _runner(self, number: int, instances: dict[type[Any], Any]) -> Runner:
        found = self.module.handlers[number]
        call = returning(getattr(instances[found.controller.of], found.name), found.shown)
        names = [
            path_names(found.controller.declared.path, path) for route in found.routes for path in route.paths or [""]
        ]
        bodies, methods = {route.body for route in found.routes}, {route.method for route in found.routes}
        path = set.intersection(*names) if names else set[str]()
        plan = self.planner.plan(
            call,
            path,
            body="none" if bodies == {"none"} else "expected" if methods & _WITH_BODY else "whole",
        )
        guards = tuple(self.planner.guard(guard, path, call) for guard in guards_of(self.module, number))
        hooks = after_of(self.module, number)
        after = tuple((returning(one, _name_of(one)), self.planner.plan(one, path, skip=1)) for one in hooks)
        headers = (*found.controller.declared.headers, *(pair for route in found.routes for pair in route.headers))
        status = next((route.status for route in found.routes if route.status is not None), None)
        null = none_is_json(hints_of(call).get("return"))
        plain = not guards and not after and not headers and status is None
        return Runner(found.shown, call, plan, guards, after, status, headers, null, plain)

    # Each function for one form has its counterpart for the other one beside it.

    def handle(self, number: int, context: raw.Context) -> raw.Outcome:
        """Answers a request. An exception is a crash."""
        outcome: raw.Outcome = copy_context().run(_alone, self._handle, number, context)
        return outcome

    def _handle(self, number: int, context: raw.Context) -> raw.Outcome:
        ctx = Context(context)
        try:
            runner = self.runners[number]
            try:
                if runner.plain:
                    value = runner.plan.now(runner.call, ctx)
                    outcome = plain_outcome(value, runner.name)
                    if outcome is not None:
                        return outcome
                    result = as_outcome(value, runner.name, runner.null)
                else:
                    result = self._guarded(runner, ctx)
                left: Any = _lowered(result, runner)
                if isinstance(left, Reply):
                    write_pieces(ctx, left)
                    return DEFERRED
            except Exception as error:
                if not self._has_reply(error):
                    raise
                left = error
            return self._failed(left, ctx) if isinstance(left, Exception) else left
        except Exception as error:
            note_place(error, self.runners[number].call)
            raise
        finally:
            ctx._close()

    async def handle_later(self, number: int, context: raw.Context) -> raw.Outcome:
        ctx = AsyncContext(context)
        try:
            runner = self.runners[number]
            try:
                if runner.plain:
                    value = await runner.plan.later(runner.call, ctx)
                    outcome = plain_outcome(value, runner.name)
                    if outcome is not None:
                        return outcome
                    result = as_outcome(value, runner.name, runner.null)
                else:
                    result = await self._guarded_later(runner, ctx)
                left: Any = _lowered(result, runner)
                if isinstance(left, Reply):
                    await write_pieces_later(ctx, left)
                    return DEFERRED
            except Exception as error:
                if not self._has_reply(error):
                    raise
                left = error
            return await self._failed_later(left, ctx) if isinstance(left, Exception) else left
        except Exception as error:
            note_place(error, self.runners[number].call)
            raise
        finally:
            ctx._close()

    def _guarded(self, runner: Runner, ctx: Context) -> Outcome:
        try:
            for guard in runner.guards:
                guard(ctx)
            result = _dressed(as_outcome(runner.plan.now(runner.call, ctx), runner.name, runner.null), runner)
        except HttpError as error:
            result = error
        for after, plan in runner.after:
            if result is None:
                break
            seen = result.problem if isinstance(result, Reply) and result.problem else result
            made = plan.now(lambda *rest, after=after, seen=seen, **named: after(seen, *rest, **named), ctx)
            made = settled(made, after)
            result = seen if made is None else as_outcome(made, _name_of(after), False)
        return result

    async def _guarded_later(self, runner: Runner, ctx: AsyncContext) -> Outcome:
        try:
            for guard in runner.guards:
                await guard(ctx)
            result = _dressed(as_outcome(await runner.plan.later(runner.call, ctx), runner.name, runner.null), runner)
        except HttpError as error:
            result = error
        for after, plan in runner.after:
            if result is None:
                break
            seen = result.problem if isinstance(result, Reply) and result.problem else result
            made = await plan.later(lambda *rest, after=after, seen=seen, **named: after(seen, *rest, **named), ctx)
            result = seen if made is None else as_outcome(made, _name_of(after), False)
        return result

    def _has_reply(self, error: Exception) -> bool:
        """Whether an exception is a reply, rather than a crash. The instance is not intact after the last two."""
        is_mapped = self.module.error_function(error) is not None
        return isinstance(error, HttpError) or (is_mapped and not isinstance(error, (MemoryError, RecursionError)))

    def _failed(self, error: Exception, ctx: BaseContext) -> raw.Outcome:
        shown, function = _for_client(error), self.module.error_function(error)
        if function is None:
            return _without_body(shown)
        try:
            return _with_body(shown, self.errors[function](shown, ctx))
        except Exception as fault:
            return _without_body(shown, fault)

    async def _failed_later(self, error: Exception, ctx: BaseContext) -> raw.Outcome:
        shown, function = _for_client(error), self.module.error_function(error)
        if function is None:
            return _without_body(shown)
        try:
            value = self.errors[function](shown, ctx)
            return _with_body(shown, await value if inspect.isawaitable(value) else value)
        except Exception as fault:
            return _without_body(shown, fault)

    def deliver(self, number: int, delivery: raw.Delivery, payload: raw.Payload) -> raw.Payload | raw.Failure:
        """Delivers an event. A failure is one for the caller; an exception is a crash."""
        result: raw.Payload | raw.Failure = copy_context().run(_alone, self._deliver, number, delivery, payload)
        return result

    def _deliver(self, number: int, delivery: raw.Delivery, payload: raw.Payload) -> raw.Payload | raw.Failure:
        opened = Delivery(delivery)
        listener = self.listeners[number]
        try:
            return _answered(listener, listener.call(*listener.arguments(opened, payload)))
        except HttpError as error:
            return failure(error)
        except Exception as error:
            note_place(error, listener.call)
            raise
        finally:
            opened._close()

    async def deliver_later(
        self, number: int, delivery: raw.Delivery, payload: raw.Payload
    ) -> raw.Payload | raw.Failure:
        opened = AsyncDelivery(delivery)
        listener = self.listeners[number]
        try:
            return _answered(listener, await listener.call(*listener.arguments(opened, payload)))
        except HttpError as error:
            return failure(error)
        except Exception as error:
            note_place(error, listener.call)
            raise
        finally:
            opened._close()


def _instance(of: type[Any]) -> Any:
    try:
        return of()
    except TypeError as error:
        # Its own code may raise one as well.
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        fault = TypeError(f"the class `{of.__name__}` is made without arguments: {error}")
        note_place(fault, of)
        raise fault from None


def _name_of(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def _alone(call: Callable[..., Any], *arguments: Any) -> Any:
    """As a task of the other form: what a request sets in a `ContextVar` is gone with it. That of `decimal` has an
    object that can be changed.
    """
    numbers = _DECIMAL.get(None)
    if numbers is not None:
        setcontext(numbers.copy())
    return call(*arguments)


def _lowered(result: Outcome, runner: Runner) -> raw.Outcome | Reply | Exception:
    """The outcome for the host; a reply that is to be streamed, and an error, which each form handles in its own way.
    """
    if result is None:
        return DEFERRED
    if isinstance(result, HttpError):
        return result
    if result.problem is not None:
        return result.problem
    return result if is_streamed(result) else raw.Outcome_Reply(result.lowered(f"`{runner.name}`"))


def _answered(listener: ListenerPlan, value: object) -> raw.Payload:
    if isinstance(value, HttpError):
        raise value
    return lower_payload(None if isinstance(value, (BaseContext, BaseDelivery)) else value, RETURNED, listener.name)


def _for_client(error: Exception) -> Exception:
    return error.for_client() if isinstance(error, HttpError) else error


def _with_body(error: Exception, value: object) -> raw.Outcome:
    """An error with the body that the module makes. The reply of an exception that is no `HttpError` has the status
    that the module gives it."""
    reply = as_outcome(value, "errors", False)
    if isinstance(reply, HttpError) and not isinstance(error, HttpError):
        return raw.Outcome_Thrown(thrown(reply))
    if not isinstance(reply, Reply) or is_streamed(reply):
        raise TypeError("it is no whole reply")
    if reply.problem is not None:
        raise reply.problem
    lowered = reply.lowered("`errors`")
    if not isinstance(error, HttpError):
        return raw.Outcome_Reply(lowered if isinstance(value, Reply) else raw.Reply(500, lowered.headers, lowered.body))
    headers = [*lowered.headers, *Reply(headers=error.headers).lowered_headers()]
    return raw.Outcome_Reply(raw.Reply(error.status, headers, lowered.body))


def _without_body(error: Exception, fault: Exception | None = None) -> raw.Outcome:
    if fault is not None:
        log.error(f"the function behind `errors:` failed: {crash_line(fault)}")
    if not isinstance(error, HttpError):
        raise error
    return raw.Outcome_Thrown(thrown(error))


def _dressed(result: Outcome, runner: Runner) -> Outcome:
    """The reply with the status and headers that its decorators declare. Another request may get the same `Reply`."""
    if isinstance(result, Reply):
        result = result.copy()
        if runner.status is not None and result.status == 200:
            result.status = runner.status
        for name, value in runner.headers:
            result.header(name, value)
    return result
