"""A build for `pointwork dev`: a component without a program, made once, and the program."""

import hashlib
import importlib.metadata
import json
import tokenize
from pathlib import Path

from .check import Checked
from .imports import SDK

ENTRY = '''\
"""Made by the build of a module."""
from pointwork_guest.development import exports
Handlers{suffix}, Listeners{suffix}, Manifest = exports({is_async})
'''


def engine_of(checked: Checked, folder: Path) -> Path:
    """The file of the component without a program. Those of another version of the SDK are removed."""
    form = "async" if checked.is_async else "sync"
    digest = hashlib.sha256()
    # The folder of the contract may be a symbolic link, which `rglob` does not follow before Python 3.13.
    for path in sorted([*SDK.rglob("*.py"), *(SDK / "wit").glob("*.wit")]):
        digest.update(path.read_bytes())
    digest.update(importlib.metadata.version("componentize-py").encode())
    name = f"python-{form}-{digest.hexdigest()[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    for other in folder.glob(f"python-{form}-*"):
        if not other.name.startswith(name):
            other.unlink()
    return folder / f"{name}.wasm"


def program_of(checked: Checked) -> str:
    """The modules of the program with their sources, for `pointwork_guest.development`."""
    files = {name: [shown, is_package, _source(path)] for name, path, shown, is_package in checked.modules}
    return json.dumps({"name": checked.name, "facts": checked.facts, "uses": checked.uses, "files": files})


def _source(path: str) -> str:
    if not path:
        return ""
    with tokenize.open(path) as file:
        return file.read()
