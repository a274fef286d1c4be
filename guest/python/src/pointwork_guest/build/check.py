"""Reads the declarations of a module with the Python that builds it, in a process of its own: errors come at once,
and with their place.
"""

import contextlib
import dataclasses
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from ..crash import code_of, place_of
from .errors import BuildError
from .frozen import watched
from .imports import SDK, check_imports, is_own, sources


@dataclass
class Checked:
    """What is known of a module. `name` is that of its entry for an import below `root`."""

    root: str
    shown: str
    name: str
    is_async: bool
    routes: list[str]
    warnings: list[str]
    facts: dict[str, str]
    uses: list[str]
    inputs: list[str]
    modules: list[tuple[str, str, str, bool]]
    """What an import of the program brings beside the SDK and the standard library: name, file, the file for people,
    and whether it is a package."""
    reads: list[str]
    """Files of the project that top-level code reads."""


def check(entry: Path) -> Checked:
    """Runs `main` in another process."""
    if sys.version_info < (3, 11):
        raise BuildError(f"this is Python {sys.version_info.major}.{sys.version_info.minor}, expected 3.11 or later")
    if not entry.is_file():
        raise BuildError(f"there is no file `{entry}`")
    command = [
        sys.executable,
        "-c",
        "from pointwork_guest.build.check import main; raise SystemExit(main())",
        str(entry),
    ]
    # The SDK may be on the path of this process alone.
    path = os.pathsep.join([str(SDK.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise BuildError(done.stdout.strip() or f"the declarations of `{entry}` cannot be read")
    try:
        return Checked(**json.loads(done.stdout))
    except ValueError:
        raise BuildError(
            f"the declarations of `{entry}` cannot be read: its top-level code ended Python, or wrote to the standard "
            "output past `print`"
        ) from None


def _root_of(entry: Path) -> Path:
    """The folder that is imported from: that of the outermost package with the entry."""
    folder = entry.parent
    while (folder / "__init__.py").is_file():
        folder = folder.parent
    return folder


def inspect_entry(entry: Path) -> Checked:
    from ..declarations import check_declarations
    from ..dispatch import Dispatcher
    from ..manifest import events_used, routes_of
    from ..module import Module, ModuleProblem
    from .names import misnamed
    from .silent import silent_guards

    root = _root_of(entry.resolve())
    shown = _relative(root)
    name = ".".join(entry.resolve().relative_to(root).with_suffix("").parts)
    if name in ("wit_world", "pointwork_app", "module", "module_async"):
        raise BuildError(f"{entry}: the name `{name}` is one of the generated modules, expected another name")
    sys.path.insert(0, str(root))
    before, reads = set(sys.modules), _reads(root)
    try:
        with watched(root, shown) as frozen:
            app = getattr(importlib.import_module(name), "app", None)
        if not isinstance(app, Module):
            raise BuildError(f"{entry}: the file has no `app`, expected `app = Module(controllers=[Products])`")
        check_declarations(app)
        Dispatcher(app)
    except BuildError:
        raise
    except ModuleProblem as error:
        places = [(_subject_place(of, root, shown) or _place(error, root, shown), told) for of, told in error.problems]
        raise BuildError("\n".join(f"{place}: {told}" for place, told in places)) from error
    except ModuleNotFoundError as error:
        raise BuildError(
            f"{_place(error, root, shown)}: {error}: install the package, which `requirements.txt` of a project names, "
            "or add the file"
        ) from error
    except SystemExit as error:
        raise BuildError(
            f"{_place(error, root, shown)}: SystemExit: {error}: top-level code ends the program, "
            "expected code that goes on to `app`"
        ) from error
    except Exception as error:
        kind = "" if isinstance(error, TypeError) else f"{type(error).__name__}: "
        told = error.msg if isinstance(error, SyntaxError) else error
        raise BuildError(f"{_place(error, root, shown)}: {kind}{told}") from error
    check_imports(root, shown)
    near = [(_subject_place(of.function, root, shown), told) for of, told in misnamed(app)]
    near += [(_at(code, root, shown), told) for code, told in silent_guards(app)]
    warnings = [*frozen, *app.warnings, *app.unlisted(), *(f"{place or shown}: {told}" for place, told in near), *_unimported(root, shown)]
    facts, inputs = _facts(entry.resolve().parent), [str(path) for path in sources(root)]
    modules, read = _modules(root, shown, before), sorted(reads)
    routes, uses = routes_of(app), events_used(app)
    return Checked(
        str(root), str(shown), name, app.is_async, routes, warnings, facts, uses, inputs + read, modules, read
    )


def _reads(root: Path) -> set[str]:
    """The files below `root` that are opened from now on, without those of modules."""
    found: set[str] = set()

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            path = Path(arguments[0]).resolve()
            if is_own(path, root) and path.suffix not in (".py", ".pyc"):
                found.add(str(path))

    sys.addaudithook(audit)
    return found


def _modules(root: Path, shown: Path, before: set[str]) -> list[tuple[str, str, str, bool]]:
    standard = Path(sysconfig.get_path("stdlib")).resolve()
    found: list[tuple[str, str, str, bool]] = []
    for name, module in sys.modules.items():
        if name in before or name == "__main__":
            continue
        file, is_package = getattr(module, "__file__", None), hasattr(module, "__path__")
        if file is None and is_package:
            # A folder without `__init__.py`.
            found.append((name, "", "", True))
        elif isinstance(file, str) and file.endswith(".py"):
            path = Path(file).resolve()
            is_standard = path.is_relative_to(standard) and "site-packages" not in path.parts
            if not is_standard and not path.is_relative_to(SDK):
                told = shown / path.relative_to(root) if path.is_relative_to(root) else path
                found.append((name, str(path), str(told), is_package))
    return found


def _relative(root: Path) -> Path:
    here = Path.cwd().resolve()
    return root.relative_to(here) if root.is_relative_to(here) else root


def _at(code: CodeType | None, root: Path, shown: Path) -> str:
    """The place of a function, or the folder if it is not below `root`."""
    return (_line(code.co_filename, code.co_firstlineno, root, shown) if code else None) or str(shown)


def _line(file: str, line: int, root: Path, shown: Path) -> str | None:
    path = Path(file)
    return f"{shown / path.relative_to(root)}:{line}" if path.is_relative_to(root) else None


def _subject_place(of: Any, root: Path, shown: Path) -> str | None:
    """The place of a function, class or module, if it is below `root`."""
    made_at: tuple[str, int] | None = getattr(of, "made_at", None)
    if made_at is not None:
        return _line(*made_at, root, shown)
    if isinstance(of, type):
        try:
            return _line(inspect.getfile(of), inspect.getsourcelines(of)[1], root, shown)
        except (OSError, TypeError):
            return None
    code = code_of(of)
    return None if code is None else _line(code.co_filename, code.co_firstlineno, root, shown)


def _place(error: BaseException, root: Path, shown: Path) -> str:
    """The innermost place in the program."""
    if isinstance(error, SyntaxError) and error.filename:
        path = Path(error.filename)
        return f"{shown / path.relative_to(root) if path.is_relative_to(root) else path}:{error.lineno}"
    found = _at(place_of(error), root, shown)
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(root) and "site-packages" not in path.parts and "pointwork_guest" not in path.parts:
            found = f"{shown / path.relative_to(root)}:{frame.lineno}"
    return found


def _unimported(root: Path, shown: Path) -> list[str]:
    """Files beside those of the program that declare a controller or a channel: nothing imports them."""
    imported = set(sources(root))
    warnings: list[str] = []
    for folder in sorted({path.parent for path in imported}):
        for path in sorted(folder.glob("*.py")):
            if path in imported or path.name.startswith("test_") or path.name == "conftest.py":
                continue
            found = re.search(r"^@(controller|channel)\(", path.read_text(errors="replace"), re.MULTILINE)
            if found:
                place = shown / path.relative_to(root)
                warnings.append(f"{place}: it has a class with `@{found[1]}`, and the module does not import it")
    return warnings


def _facts(nearest: Path) -> dict[str, str]:
    """Name, version and description of the project, from the nearest `pyproject.toml`."""
    for folder in (nearest, *nearest.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            try:
                project = tomllib.loads(file.read_text()).get("project", {})
            except tomllib.TOMLDecodeError as error:
                raise BuildError(f"{file}: {error}") from None
            return {
                name: project[name] for name in ("name", "version", "description") if isinstance(project.get(name), str)
            }
    return {}


def main() -> int:
    """Prints what is known of the module, as JSON."""
    # Standard output is for the JSON: top-level code prints to standard error.
    with contextlib.redirect_stdout(sys.stderr):
        try:
            found = inspect_entry(Path(sys.argv[1]))
        except BuildError as error:
            sys.__stdout__.write(str(error))  # type: ignore[union-attr]
            return 1
    print(json.dumps(dataclasses.asdict(found)))
    return 0
