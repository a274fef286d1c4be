"""Applications and guests for the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pointwork


LONG = bool(os.environ.get("POINTWORK_LONG"))
"""Whether the long forms run: 10,000 applications instead of 200, and a minute of faults."""


@pytest.fixture(scope="session")
def guests() -> Path:
    folder = os.environ.get("POINTWORK_GUESTS")
    assert folder, "POINTWORK_GUESTS is not set: run `cargo test --workspace --test python`"
    return Path(folder)


@pytest.fixture
def app() -> Iterator[pointwork.App]:
    with pointwork.App(workers=2, limits={"shutdown-grace": "10s"}) as app:
        yield app


@pytest.fixture
def shop(app: pointwork.App, guests: Path) -> pointwork.App:
    """The guest that calls `db:ask` and `db:item`."""
    app.load("shop", guests / "shop.wasm")
    return app


@pytest.fixture
def program() -> Callable[..., str]:
    """Runs a program in a process of its own, to its end; what it prints."""

    def run(code: str, *, status: int = 0) -> str:
        head = "import os, sys, threading, time, asyncio, pointwork\nGUESTS = os.environ['POINTWORK_GUESTS']\n"
        done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=60)
        assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
