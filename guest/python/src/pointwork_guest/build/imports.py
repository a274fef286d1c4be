"""Imports that a component cannot have, with what to use."""

import ast
import importlib.metadata
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from .errors import BuildError

SDK = Path(__file__).resolve().parent.parent

_CHANNEL = "call an event, whose listener in the host, or in a module with grants, has it"
_NO_FORMAT = "use `zlib` or `gzip`"

MISSING = {
    "bz2": _NO_FORMAT,
    "ctypes": "use Python",
    "curses": "a module has no terminal",
    "fcntl": "a module has no files",
    "grp": "a module has no users",
    "lzma": _NO_FORMAT,
    "mmap": "a module has no files",
    "pty": "a module has no terminal",
    "pwd": "a module has no users",
    "readline": "a module has no terminal",
    "resource": "the limits of a module are those of its configuration",
    "ssl": _CHANNEL,
    "syslog": "use `logging`",
    "termios": "a module has no terminal",
    "tkinter": "a module has no screen",
    "tty": "a module has no terminal",
    "turtle": "a module has no screen",
}
"""Modules of the standard library that the interpreter of componentize-py does not have."""

_INSTEAD = {
    "pydantic": "use dataclasses, `TypedDict` or attrs classes for bodies",
    "msgspec": "use dataclasses, `TypedDict` or attrs classes for bodies",
    "orjson": "use `json`",
    "numpy": "use Python's own numbers and lists",
    "sqlalchemy": _CHANNEL,
    "psycopg2": _CHANNEL,
}


def sources(root: Path) -> Iterator[Path]:
    """The files of the program that were imported."""
    for module in [*sys.modules.values()]:
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py"):
            path = Path(file).resolve()
            if is_own(path, root):
                yield path


def is_own(path: Path, root: Path) -> bool:
    """Whether a file is of the program, not of a package in a folder of it."""
    if not path.is_relative_to(root) or path.is_relative_to(SDK):
        return False
    return not any(part in ("site-packages", ".venv", "venv") for part in path.relative_to(root).parts)


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0], node.lineno


def check_imports(root: Path, shown: Path) -> None:
    """Refuses parts of the standard library that are missing, and packages with an extension in C or Rust."""
    places: dict[str, str] = {}
    for path in sources(root):
        for name, line in _imports(path):
            places.setdefault(name, f"{shown / path.relative_to(root)}:{line}")
    for name, hint in MISSING.items():
        if name in places:
            raise BuildError(f"{places[name]}: `{name}` is a part of Python that a component does not have: {hint}")
    extensions = {name.partition(".")[0] for name in _extensions()}
    for name, place in places.items():
        found = sorted(extensions & _with_requirements(name))
        if found:
            hint = _INSTEAD.get(name, "use a package of plain Python")
            raise BuildError(
                f"{place}: `{name}` needs `{found[0]}`, "
                f"which is an extension in C or Rust that a component cannot have: {hint}"
            )


def _extensions() -> Iterator[str]:
    """Extensions outside of the standard library that are loaded."""
    own = Path(sysconfig.get_path("stdlib")).resolve()
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith((".so", ".pyd")):
            path = Path(file).resolve()
            if "site-packages" in path.parts or not path.is_relative_to(own):
                yield name


def _with_requirements(name: str) -> set[str]:
    """The packages that an import brings."""
    distributions = importlib.metadata.packages_distributions()
    found = {name}
    waiting = list(distributions.get(name, []))
    seen: set[str] = set()
    while waiting:
        distribution = waiting.pop()
        if distribution in seen:
            continue
        seen.add(distribution)
        try:
            required = importlib.metadata.requires(distribution) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        found |= {top for top, owners in distributions.items() if distribution in owners}
        waiting += [re.split(r"[ ;<>=!~\[(]", one)[0] for one in required if "extra ==" not in one]
    return found
