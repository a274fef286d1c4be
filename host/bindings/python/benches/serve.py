"""Serves the same answer: serve.py WAY COMPONENT. The way is `by-hand`, `fastapi` or `mounted`, under uvicorn, or `built-in`."""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn

import pointwork

way, component = sys.argv[1:]


async def by_hand(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await receive()
    is_ours = scope["path"] == "/plain"
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200 if is_ours else 404, "headers": headers})
    await send({"type": "http.response.body", "body": b"plain"})


def fastapi() -> Any:
    from fastapi import FastAPI
    from fastapi.responses import PlainTextResponse

    api = FastAPI()

    @api.get("/plain", response_class=PlainTextResponse)
    async def plain() -> str:
        return "plain"

    return api


def application() -> pointwork.App:
    app = pointwork.App()
    app.load("shop", component)
    return app


if way == "built-in":
    server = application().serve("127.0.0.1:0")
    print(f"listening on {server.url}", flush=True)
    sys.stdin.read()
else:
    main = {"by-hand": lambda: by_hand, "fastapi": fastapi, "mounted": lambda: application().asgi}[way]()
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    options = uvicorn.Config(main, lifespan="off", access_log=False, log_level="warning")
    uvicorn.Server(options).run([listener])
