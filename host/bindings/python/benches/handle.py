"""Requests in process: handle.py COMPONENT SETTINGS REQUESTS LATER IN_FLIGHT.

For each line `round` it prints one of figures: a plain request, one with a callback that answers at once (µs of this thread), one
that another thread answers (µs of the processor, µs, switches of threads), the first two by `await`, and one that an
`async def` on another event loop, or on the same one, answers (µs of the processor). For `memory` it prints the memory of a request
in flight, in KiB.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Callable

import pointwork

settings = json.loads(sys.argv[2])
number, many_later, in_flight = (int(argument) for argument in sys.argv[3:])
app = pointwork.App(**settings)
db = app.channel("db")


@db.on("ask", inline=True)
def ask(event: pointwork.Event) -> None:
    return None


@db.on("later")
def later(event: pointwork.Event) -> None:
    return None


go = asyncio.Event()


@db.on("keep")
async def keep(event: pointwork.Event) -> None:
    await go.wait()


app.load("shop", sys.argv[1])


def requests(path: str, number: int) -> None:
    for _ in range(number):
        if app.request("GET", path).status != 200:
            raise SystemExit(f"{path} failed")


async def awaited(path: str, number: int) -> None:
    for _ in range(number):
        if (await app.handle("GET", path)).status != 200:
            raise SystemExit(f"{path} failed")


def measured(clock: Callable[[], float], number: int, run: Callable[[], object]) -> float:
    begun = clock()
    run()
    return (clock() - begun) / number * 1e6


def switches() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def measure() -> list[float]:
    thread = time.thread_time
    figures = [
        measured(thread, number, lambda: requests("/plain", number)),
        measured(thread, number, lambda: requests("/ask", number)),
    ]
    spent, begun, waits = time.process_time(), time.perf_counter(), switches()
    requests("/later", many_later)
    figures.append((time.process_time() - spent) / many_later * 1e6)
    figures.append((time.perf_counter() - begun) / many_later * 1e6)
    figures.append((switches() - waits) / many_later)
    for path in ("/plain", "/ask"):
        figures.append(measured(thread, number, lambda: asyncio.run(awaited(path, number))))
    go.set()
    figures.append(measured(time.process_time, many_later, lambda: requests("/keep", many_later)))
    figures.append(measured(time.process_time, many_later, lambda: asyncio.run(awaited("/keep", many_later))))
    go.clear()
    return figures


def resident() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


async def memory() -> float:
    before = resident()
    tasks = [asyncio.create_task(app.handle("GET", "/keep")) for _ in range(in_flight)]
    # They are begun, and then their functions.
    for _ in range(10):
        await asyncio.sleep(0.01)
    grown = resident() - before
    go.set()
    replies = await asyncio.gather(*tasks)
    if any(reply.status != 200 for reply in replies):
        raise SystemExit("/keep failed")
    return grown / in_flight


for line in sys.stdin:
    figures = measure() if line == "round\n" else [asyncio.run(memory())]
    print(*figures, flush=True)
app.close()
