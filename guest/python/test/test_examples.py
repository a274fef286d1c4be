"""The examples: those of the README, and the shop catalogue."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOP = ROOT.parent.parent / "examples/products/python"


def run(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MYPYPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_examples_of_the_readme_run(tmp_path: Path) -> None:
    example, unit = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "test_shop.py").write_text(f"{example}\n\n{unit}")
    run(tmp_path, "pytest", "--quiet", "test_shop.py")
    run(tmp_path, "mypy", "--strict", "test_shop.py")


def test_the_shop_catalogue() -> None:
    run(SHOP, "pytest", "--quiet")
    run(SHOP, "mypy")
