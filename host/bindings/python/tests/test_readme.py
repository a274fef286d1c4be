"""The programs of the README run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize("code", PROGRAMS, ids=range(len(PROGRAMS)))
def test_a_program_of_the_readme_runs(program: Callable[..., str], code: str) -> None:
    printed = program("os.chdir(GUESTS)\n" + code)
    if "app.swap" in code:
        assert printed.startswith("6 /api/ask\n\"heard\"\n['GET /api/ask'")
