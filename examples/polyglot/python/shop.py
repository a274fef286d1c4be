"""The shop of examples/products in a program of Python. SIGHUP swaps in the component again, SIGINT and SIGTERM end it."""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import fastapi
import pointwork
import uvicorn

import db


def shop(arguments: argparse.Namespace) -> pointwork.App:
    """The application: the channels and the route of this program, and the controllers of the component."""
    app = pointwork.App()
    db.listen(app, arguments.database, arguments.schema)

    @app.channel("response").on("send")
    def send(event: pointwork.Event) -> None:
        """Replies instead of the controller, with a text."""
        if request := event.take_request():
            request.reply(event.json())

    @app.get("/about")
    def about(request: pointwork.Request) -> dict[str, object]:
        """Asks the channel as the controllers do."""
        return {"language": "Python", **request.call("db:product:count")}

    app.load("products", arguments.component)
    return app


def api(lifespan: Callable[[fastapi.FastAPI], AbstractAsyncContextManager[None]]) -> fastapi.FastAPI:
    """The application of FastAPI, which has what no route of the shop takes."""
    api = fastapi.FastAPI(lifespan=lifespan)

    @api.get("/version")
    async def version() -> dict[str, str]:
        return {"fastapi": fastapi.__version__}

    return api


async def swap(app: pointwork.App, component: str) -> None:
    """Swaps in the component again. Without a change of the file nothing changes."""
    try:
        change = await app.swap_async("products", component)
    except pointwork.Error as error:
        print(f"error: not swapped: {error}", file=sys.stderr)
    else:
        routes = len(change.routes.added) + len(change.routes.kept)
        print(f"swapped products: version {change.digest:.12}, routes: {routes}", flush=True)


def listener(address: str) -> socket.socket:
    """A socket that listens at an address such as 127.0.0.1:8080 or [::1]:8080."""
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), int(port)), family=family, backlog=1024)
    except (OSError, OverflowError, ValueError) as error:
        sys.exit(f"error: cannot listen on `{address}`: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", default="127.0.0.1:0")
    for name in ("--component", "--database", "--schema"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    # uvicorn ends its work at these signals, and then sends them again.
    for ends in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ends, lambda *_: sys.exit())

    listening = listener(arguments.listen)
    try:
        app = shop(arguments)
    except (pointwork.Error, OSError, sqlite3.Error) as error:
        sys.exit(f"error: {error}")
    swaps = set()

    @asynccontextmanager
    async def lifespan(_: fastapi.FastAPI) -> AsyncIterator[None]:
        def on_hangup() -> None:
            task = asyncio.create_task(swap(app, arguments.component))
            swaps.add(task)
            task.add_done_callback(swaps.discard)

        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, on_hangup)
        host, port = listening.getsockname()[:2]
        print(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}")
        print(f"`kill -HUP {os.getpid()}` swaps in {arguments.component} again", flush=True)
        yield

    front = app.asgi_in_front(api(lifespan))
    with app:
        config = uvicorn.Config(front, log_level="warning", timeout_graceful_shutdown=30)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
