"""The request of the comparison in FastAPI on uvicorn, with uvloop and httptools."""

import socket
from collections.abc import Awaitable, Callable

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Item(BaseModel):
    id: int
    name: str


app = FastAPI()
# FastAPI has no events: a table of listeners is the least that does the same.
listeners: dict[str, Callable[[int], Awaitable[str]]] = {}


async def name_of(id: int) -> str:
    return "Assam"


listeners["bench:name"] = name_of


@app.get("/items/{id}")
async def show(id: int) -> Item:
    return Item(id=id, name="Assam")


@app.get("/items/{id}/call")
async def call(id: int) -> Item:
    return Item(id=id, name=await listeners["bench:name"](id))


listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
options = uvicorn.Config(app, lifespan="off", access_log=False, log_level="warning", loop="uvloop", http="httptools")
uvicorn.Server(options).run([listener])
