"""The build of a component by componentize-py."""

import importlib.metadata
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .check import Checked, check
from .development import ENTRY as ENGINE
from .development import engine_of, program_of
from .errors import BuildError
from .imports import SDK
from .runtime_patch import PatchError, free_lowered_bytes

_VERSION = "0.25.1"
_LIMIT = 300
"""Seconds."""

_ENTRY = '''\
"""Made by the build of a module."""
from pointwork_guest import crash, component_{form}
from pointwork_guest.component import exports
crash.folders.update({folders!r})
from {name} import app
{classes} = exports(app, {facts!r}, {uses!r})
'''


@dataclass
class Built:
    size: int
    routes: list[str]
    warnings: list[str]
    is_async: bool
    inputs: list[str]
    """The sources, for a watcher."""
    engine: str | None = None
    program: str | None = None
    """For `pointwork dev`, a component without a program, and the program."""


def build(
    entry: Path,
    out: Path,
    *,
    compose: str | None = None,
    grants: Sequence[str] = (),
    keep_wasi: bool = False,
    only_check: bool = False,
    engine: Path | None = None,
) -> Built:
    """Makes a component of the module that is `app` in the file `entry`.

    componentize-py leaves imports of WASI, to which the program `compose` gives the answers of Pointwork, so that
    the component imports
    nothing but the contract. Those that begin with one of `grants` stay, for a channel that the host grants them;
    with `keep_wasi` all.
    With a folder `engine` a component without a program is made there once, and the program is in the result.
    """
    checked = check(entry)
    if only_check:
        return _built(checked, 0)
    if compose is None and not keep_wasi:
        raise BuildError("nothing composes WASI into the component, expected `--compose PROGRAM`, or `--keep-wasi`")
    _check_componentize()
    if engine is not None:
        if not checked.reads:
            return _develop(checked, engine)
        checked.warnings.append(
            f"{checked.reads[0]}: top-level code reads it, so that each change takes a whole build in development"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.wasm"
        _componentize(checked, Path(folder), made)
        if compose is None:
            out.write_bytes(made.read_bytes())
        else:
            _run([compose, str(made), str(out.resolve()), *grants], "the component cannot be composed with WASI")
    return _built(checked, out.stat().st_size)


def _check_componentize() -> None:
    wanted = f"expected `pip install componentize-py=={_VERSION}`"
    try:
        installed = importlib.metadata.version("componentize-py")
    except importlib.metadata.PackageNotFoundError:
        raise BuildError(f"componentize-py is missing, {wanted}") from None
    if installed != _VERSION:
        raise BuildError(
            f"componentize-py {installed} is installed, {wanted}: the build patches the runtime of this release alone"
        )


def _built(checked: Checked, size: int) -> Built:
    return Built(size, checked.routes, checked.warnings, checked.is_async, checked.inputs)


def _develop(checked: Checked, folder: Path) -> Built:
    file = engine_of(checked, folder)
    if not file.exists():
        # Renamed into place, so that the file is whole.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as made:
            fresh = Path(made) / file.name
            text = ENGINE.format(suffix="Async" if checked.is_async else "", is_async=checked.is_async)
            _run_componentize(text, checked.is_async, [], Path(made), fresh)
            fresh.replace(file)
    return replace(_built(checked, file.stat().st_size), engine=str(file), program=program_of(checked))


def _componentize(checked: Checked, folder: Path, out: Path) -> None:
    form, suffix = ("async", "Async") if checked.is_async else ("sync", "")
    text = _ENTRY.format(
        form=form,
        # componentize-py mounts the folders below numbers. Errors name the files of the program as the build does.
        folders={"1": "" if checked.shown == "." else checked.shown},
        name=checked.name,
        classes=f"Handlers{suffix}, Listeners{suffix}, Manifest",
        facts=checked.facts,
        uses=checked.uses,
    )
    _run_componentize(text, checked.is_async, [Path(checked.root)], folder, out, checked)


def _run_componentize(
    text: str, is_async: bool, roots: list[Path], folder: Path, out: Path, checked: Checked | None = None
) -> None:
    sources = folder / "sources"
    sources.mkdir()
    (sources / "pointwork_app.py").write_text(text)
    packages = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")]
    world = "module-async" if is_async else "module"
    command = [sys.executable, "-c", "from componentize_py import script; raise SystemExit(script())"]
    command += ["-q", "-d", str(SDK / "wit"), "-w", world, "componentize", "-o", str(out)]
    for path in dict.fromkeys([sources, *roots, SDK.parent, *packages]):
        command += ["-p", str(path)]
    _run([*command, "pointwork_app"], "componentize-py cannot make a component", checked)
    try:
        out.write_bytes(free_lowered_bytes(out.read_bytes()))
    except PatchError as error:
        raise BuildError(f"the runtime of componentize-py cannot be patched: {error}") from None


def _run(command: list[str], failed: str, checked: Checked | None = None) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT)
    except FileNotFoundError:
        raise BuildError(f"{failed}: there is no program `{command[0]}`") from None
    except subprocess.TimeoutExpired:
        raise BuildError(f"{failed}: it took more than {_LIMIT} seconds") from None
    if done.returncode != 0:
        raise BuildError(f"{failed}: {_told(done.stderr, checked)}")


def _told(text: str, checked: Checked | None) -> str:
    """The error of the program out of the report of componentize-py, with its innermost place in the sources."""
    python, _, _ = text.partition("\n\nStack backtrace")
    cause = re.search(r"Caused by:\n\s+(?:\d+: )?(.+)", python)
    places = re.findall(r'File "/1/([^"]+)", line (\d+)', python)
    place = ""
    if checked and places:
        place = f"{Path(checked.shown) / places[-1][0]}:{places[-1][1]}: "
    lines = [line for line in python.strip().splitlines() if line.strip()]
    return f"{place}{cause[1] if cause else lines[-1] if lines else 'it gave no reason'}"
