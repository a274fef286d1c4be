"""Runs the handlers and listeners of a module."""

import inspect
from asyncio import CancelledError
from collections.abc import Callable, Coroutine
from contextvars import Context as Variables
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from decimal import getcontext, setcontext
from typing import Any, TypeVar

from . import raw
from .base_context import BaseContext
from .calls import check_events
from .context import AsyncContext, Context
from .crash import exception_line, forget_traces, is_damage, is_of, note_place
from .delivery import AsyncDelivery, BaseDelivery, Delivery
from .exceptions import HttpError, UncaughtException, failure, http_error, thrown, usable_error
from .guards import settled
from .hints import hints_of, key_of
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
    report,
    write_pieces,
    write_pieces_later,
)
from .payload import lower_payload
from .plan import Get, Overrides, Plan, Planner
from .projection import returning
from .reply import Reply

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)
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
        self.planner = Planner(is_async=module.is_async, overrides=overrides)
        for one in module.error_functions():
            self.planner.error_function(one)
        self.errors = {key_of(one): returning(one, _name_of(one)) for one in module.error_functions()}
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
        after = tuple((returning(one, _name_of(one)), self.planner.hook(one, path)) for one in hooks)
        headers = (*found.controller.declared.headers, *(pair for route in found.routes for pair in route.headers))
        status = next((route.status for route in found.routes if route.status is not None), None)
        null = none_is_json(hints_of(call).get("return"))
        plain = not guards and not after and not headers and status is None
        return Runner(found.shown, call, plan, guards, after, status, headers, null, plain)

    # Each function for one form has its counterpart for the other one beside it.

    def handle(self, number: int, context: raw.Context) -> raw.Outcome:
        """Answers a request. It raises an exception only if the instance must not go on."""
        outcome: raw.Outcome = copy_context().run(_alone, self._handle, number, context)
        return outcome

    def _handle(self, number: int, context: raw.Context) -> raw.Outcome:
        ctx, runner = Context(context), self.runners[number]
        try:
            try:
                if runner.plain:
                    value = runner.plan.now(runner.call, ctx)
                    outcome = plain_outcome(value, runner.name)
                    if outcome is not None:
                        return outcome
                    result = as_outcome(value, runner.name, runner.null)
                else:
                    result = self._guarded(runner, ctx)
                left: Any = _lowered(result, runner, ctx)
                if isinstance(left, Reply):
                    write_pieces(ctx, left, runner.call)
                    return DEFERRED
            except BaseException as error:
                left = _ended(error, runner.call)
            return run_now(self._failed(left, ctx, runner)) if isinstance(left, HttpError) else left
        finally:
            ctx._close()

    async def handle_later(self, number: int, context: raw.Context) -> raw.Outcome:
        ctx, runner = AsyncContext(context), self.runners[number]
        try:
            try:
                if runner.plain:
                    value = await runner.plan.later(runner.call, ctx)
                    outcome = plain_outcome(value, runner.name)
                    if outcome is not None:
                        return outcome
                    result = as_outcome(value, runner.name, runner.null)
                else:
                    result = await self._guarded_later(runner, ctx)
                left: Any = _lowered(result, runner, ctx)
                if isinstance(left, Reply):
                    await write_pieces_later(ctx, left, runner.call)
                    return DEFERRED
            except CancelledError:
                left = DEFERRED if ctx._has_replied else _cancelled(runner.name)
            except BaseException as error:
                left = _ended(error, runner.call)
            return await self._failed(left, ctx, runner) if isinstance(left, HttpError) else left
        finally:
            ctx._close()

    def _guarded(self, runner: Runner, ctx: Context) -> Outcome:
        try:
            for guard in runner.guards:
                guard(ctx)
            result = _dressed(as_outcome(runner.plan.now(runner.call, ctx), runner.name, runner.null), runner)
        except BaseException as error:
            result = _ended(error, runner.call)
        for after, plan in runner.after:
            if result is None:
                break
            seen = result.problem if isinstance(result, Reply) and result.problem else result
            made = plan.now(lambda *rest, after=after, seen=seen, **named: after(seen, *rest, **named), ctx)
            result = _seen(seen, settled(made, after), after)
        return result

    async def _guarded_later(self, runner: Runner, ctx: AsyncContext) -> Outcome:
        try:
            for guard in runner.guards:
                await guard(ctx)
            result = _dressed(as_outcome(await runner.plan.later(runner.call, ctx), runner.name, runner.null), runner)
        except CancelledError:
            raise
        except BaseException as error:
            result = _ended(error, runner.call)
        for after, plan in runner.after:
            if result is None:
                break
            seen = result.problem if isinstance(result, Reply) and result.problem else result
            made = await plan.later(lambda *rest, after=after, seen=seen, **named: after(seen, *rest, **named), ctx)
            result = _seen(seen, made, after)
        return result

    async def _failed(self, error: HttpError, ctx: BaseContext, runner: Runner) -> raw.Outcome:
        """The outcome of an error, for both forms: in the synchronous one nothing waits."""
        try:
            return await self._outcome(error, ctx, runner)
        finally:
            if not ctx._has_reported:
                forget_traces(error)

    async def _outcome(self, error: HttpError, ctx: BaseContext, runner: Runner) -> raw.Outcome:
        # A hook may have changed the error.
        error = usable_error(error)
        if is_of(error, UncaughtException):
            if not ctx._has_replied:
                cause = error.exception
                # The message of a failed call is not for the client, and `errors` of `HttpError` would send it.
                made = None if is_of(cause, HttpError) else await self._mapped(cause, cause, ctx)
                if made is not None:
                    return made
            report(error, ctx)
            # The client keeps the parts that were sent before. An unfinished body is broken off.
            if ctx._has_replied:
                return DEFERRED
        try:
            shown = error.for_client()
            made = await self._mapped(error, shown, ctx)
            return raw.Outcome_Thrown(thrown(shown)) if made is None else made
        except BaseException as fault:
            uncaught = UncaughtException(_intact(fault, runner.call))
            report(uncaught, ctx)
            return raw.Outcome_Thrown(thrown(uncaught))

    async def _mapped(self, error: BaseException, shown: BaseException, ctx: BaseContext) -> raw.Outcome | None:
        """What the function behind `errors` makes of an error; `None` if there is none, or if it fails."""
        function = self.module.error_function(error)
        if function is None:
            return None
        try:
            value = self.errors[key_of(function)](shown, ctx)
            if not self.module.is_async:
                settled(value, function)
            return _with_body(shown, await value if inspect.isawaitable(value) else value)
        except CancelledError:
            _cancelled(_name_of(function))
            return None
        except BaseException as fault:
            log.error(f"the function behind `errors:` failed: {exception_line(_intact(fault, function))}")
            return None

    def deliver(self, number: int, delivery: raw.Delivery, payload: raw.Payload) -> raw.Payload | raw.Failure:
        """Delivers an event. It raises an exception only if the instance must not go on."""
        result: raw.Payload | raw.Failure = copy_context().run(_alone, self._deliver, number, delivery, payload)
        return result

    def _deliver(self, number: int, delivery: raw.Delivery, payload: raw.Payload) -> raw.Payload | raw.Failure:
        opened = Delivery(delivery)
        listener = self.listeners[number]
        try:
            return _answered(listener, listener.call(*listener.arguments(opened, payload)))
        except BaseException as error:
            return _failure(_ended(error, listener.call), opened, listener)
        finally:
            opened._close()

    async def deliver_later(
        self, number: int, delivery: raw.Delivery, payload: raw.Payload
    ) -> raw.Payload | raw.Failure:
        opened = AsyncDelivery(delivery)
        listener = self.listeners[number]
        try:
            value = listener.call(*listener.arguments(opened, payload))
            return _answered(listener, await value if inspect.isawaitable(value) else value)
        except CancelledError:
            return failure(_cancelled(listener.name))
        except BaseException as error:
            return _failure(_ended(error, listener.call), opened, listener)
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


def _seen(outcome: Reply | HttpError, made: Any, hook: Callable[..., Any]) -> Outcome:
    """The outcome after a hook has seen it."""
    if made is None:
        return outcome
    if isinstance(outcome, HttpError) and made is not outcome:
        forget_traces(outcome)
    return as_outcome(made, _name_of(hook), False)


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


def _lowered(result: Outcome, runner: Runner, ctx: BaseContext) -> raw.Outcome | Reply | HttpError:
    """The outcome for the host; a reply that is to be streamed, and an error, which each form handles in its own way.
    """
    if result is None:
        if not ctx._has_replied:
            log.warn(
                f"`{runner.name}` returned nothing and sent no reply: return a value, or reply by `ctx.send` or "
                "`ctx.hand_over`"
            )
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


def _intact(error: E, function: Callable[..., Any]) -> E:
    """An exception with its place. It raises what only a trap may end."""
    note_place(error, function)
    if is_damage(error):
        raise error
    return error


def _ended(error: BaseException, function: Callable[..., Any]) -> HttpError:
    """The error that ends a call of a function."""
    return http_error(_intact(error, function))


def _failure(error: HttpError, delivery: BaseDelivery, listener: ListenerPlan) -> raw.Failure:
    if is_of(error, UncaughtException):
        report(error, delivery)
    else:
        forget_traces(error)
    try:
        return failure(error)
    except BaseException as fault:
        return _failure(_ended(fault, listener.call), delivery, listener)


def _cancelled(name: str) -> HttpError:
    """The error of a call that was cancelled. A cancellation is no exception of the program, and damages nothing."""
    log.warn(f"`{name}` was cancelled")
    return HttpError("internal error")


def run_now(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that does not wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    raise RuntimeError("a module of the synchronous form waited")


def _with_body(error: BaseException, value: object) -> raw.Outcome:
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


def _dressed(result: Outcome, runner: Runner) -> Outcome:
    """The reply with the status and headers that its decorators declare. Another request may get the same `Reply`."""
    if isinstance(result, Reply):
        result = result.copy()
        if runner.status is not None and result.status == 200:
            result.status = runner.status
        for name, value in runner.headers:
            result.header(name, value)
    return result
