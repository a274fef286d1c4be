"""A program that mypy checks: what the types of the package promise."""

from collections.abc import AsyncIterator, Iterator

from typing_extensions import assert_type

import pointwork

app = pointwork.App(prefix="/api", limits={"memory": "64MiB"})


@app.channel("db").on("product:one")
def one(event: pointwork.Event) -> dict[str, int]:
    return {"id": int(event.text())}


@app.get("/products/:id", inline=True)
def product(request: pointwork.Request) -> pointwork.Response:
    assert_type(request.params, dict[str, str])
    assert_type(request.body, bytes)
    assert_type(request.headers["Content-Type"], str)
    assert_type(request.query.get_all("tag"), list[str])

    def chunks() -> Iterator[bytes]:
        yield b"a"

    return pointwork.Response(200, {"x": "y"}, chunks())


@app.post("/products", stream=True)
async def made(request: pointwork.Request) -> pointwork.Response:
    async def chunks() -> AsyncIterator[str]:
        async for chunk in request.stream():
            yield chunk.decode()

    return pointwork.Response(body=chunks())


assert_type(app.load("shop", b""), pointwork.ModuleInfo)
assert_type(app.swap("shop", "shop.wasm"), pointwork.Change)
assert_type(app.routes(), list[pointwork.Route])


async def main() -> None:
    assert_type(await app.handle("GET", "/", timeout=1), pointwork.Reply)
    assert_type(await app.handle("GET", "/"), pointwork.Reply)
    assert_type(await app.serve_async("127.0.0.1:0"), pointwork.Server)
