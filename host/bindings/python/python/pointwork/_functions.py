"""Functions of Python for the application: on which thread or event loop each runs, and how its value becomes an answer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ._errors import wrong_type
from ._failures import answer_error
from ._messages import Event, Request, native_payload, native_reply
from ._pointwork import failure_of
from ._run import cancel_when_gone, must_propagate

if TYPE_CHECKING:
    from . import _pointwork as native
    from ._app import App

# It gets the application, the native request or event, and the native answer.
PlacedFunction: TypeAlias = "Callable[[App, Any, Any], None]"
Message = TypeVar("Message", Request, Event)


def for_route(function: Callable[[Request], Any], inline: bool) -> PlacedFunction:
    """The function of a route."""
    return _place(function, "a route", inline, Request, _answer_request)


def for_channel(function: Callable[[Event], Any], inline: bool) -> PlacedFunction:
    """The function of a channel."""
    return _place(function, "a channel", inline, Event, _answer_event)


def _answer_request(answer: native.RouteAnswer, request: Request, value: Any) -> None:
    if value is None and request._is_handed_over:
        answer.defer()
    else:
        answer.reply(*native_reply(value, request._app))


def _answer_event(answer: native.EventAnswer, event: Event, value: Any) -> None:
    answer.value(native_payload(value))


def _place(
    function: Callable[[Message], Any],
    what: str,
    inline: bool,
    kind: type[Message],
    answer_value: Callable[[Any, Message, Any], None],
) -> PlacedFunction:
    if not callable(function):
        raise wrong_type(f"the function of {what}", function, "a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"the function of {what} is a generator, expected a function that returns `Response(body=…)` with it")
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))
    if is_async and inline:
        raise TypeError("the function is an `async def`, expected a `def` with `inline=True`")

    def run(app: App, call: Any, answer: Any) -> None:
        message = kind(call, app)
        try:
            answer_value(answer, message, function(message))
        except BaseException as error:
            answer_error(answer, error)
            # The program may keep the exception, whose frames have the message, and the end of the application waits for it.
            message._release()
            if must_propagate(error):
                raise

    async def run_async(app: App, call: Any, answer: Any) -> None:
        message = kind(call, app)
        try:
            cancel_when_gone(answer)
            answer_value(answer, message, await function(message))
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and app._loop.is_closed:
                # The end of the application cancelled the function, which is no crash.
                answer_error(answer, failure_of("overloaded", "the application has ended"))
            else:
                answer_error(answer, error)
            # As in `run`.
            message._release()
            if must_propagate(error):
                raise

    def run_on_loop(app: App, call: Any, answer: Any) -> None:
        def on_stop(reason: str) -> None:
            answer.threw(reason)
            # The coroutine, which no loop runs any more, has the message.
            call.release()

        app._loop.run(on_stop, run_async, app, call, answer)

    def run_in_pool(app: App, call: Any, answer: Any) -> None:
        if not app._pool.run_nested(run, app, call, answer):
            app._pool.run(run, app, call, answer)

    if is_async:
        return run_on_loop
    return run if inline else run_in_pool
