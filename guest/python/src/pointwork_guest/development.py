"""A component without a program. `pointwork dev` makes it once; each new instance gets the sources of the program from
the host, and imports them.
"""

import importlib
import json
import pkgutil
import sys
import zlib
from collections.abc import Sequence
from importlib.abc import ExecutionLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from wit_world.imports import environment

from .component import PROGRAM, Declared, declared_of, export

_COMMON = (
    "base64 bisect calendar collections.abc copy csv datetime decimal difflib enum fractions functools graphlib "
    "hashlib heapq hmac html http ipaddress itertools json math operator pathlib pprint queue random re secrets "
    "statistics string struct textwrap time traceback typing unicodedata urllib.parse uuid zlib zoneinfo"
)
"""Modules of the standard library that are imported when the component is made: no instance compiles them."""

_LEFT_OUT = {"__pycache__", "ensurepip", "idlelib", "pydoc_data", "site-packages", "tkinter", "turtledemo", "venv"}


class _Sources(MetaPathFinder, ExecutionLoader):
    """Imports modules from memory: the program, and what it needs of the standard library. A component has no files."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bool, str | bytes]] = {}
        """Of each module the file, whether it is a package, and the source, which may be compressed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.files:
            return None
        file, is_package, _ = self.files[name]
        spec = ModuleSpec(name, self, origin=file, is_package=is_package)
        spec.has_location = bool(file)
        return spec

    def get_filename(self, name: str) -> str:
        return self.files[name][0]

    def is_package(self, name: str) -> bool:
        return self.files[name][1]

    def get_source(self, name: str) -> str:
        source = self.files[name][2]
        return source if isinstance(source, str) else zlib.decompress(source).decode()

    def keep_standard_library(self) -> None:
        folder = Path(json.__file__).parent.parent
        for file in folder.rglob("*.py"):
            parts = list(file.relative_to(folder).with_suffix("").parts)
            if not _LEFT_OUT.intersection(parts):
                is_package = parts[-1] == "__init__"
                name = ".".join(parts[:-1] if is_package else parts)
                self.files[name] = (str(file), is_package, zlib.compress(file.read_bytes(), 1))


class _Program:
    """The program of this instance, imported when it is first needed."""

    def __init__(self, sources: _Sources) -> None:
        self._sources = sources
        self._found: Declared | None = None

    def __call__(self) -> Declared:
        if self._found is None:
            given = [one.value for one in environment.variables() if one.name == PROGRAM]
            if not given:
                of_dev = "`pointwork dev` made it for itself, expected one of `pointwork build`"
                raise RuntimeError(f"the component has no program: {of_dev}")
            program = json.loads(given[0])
            self._sources.files.update(program["files"])
            app = importlib.import_module(program["name"]).app
            self._found = declared_of(app, program["facts"], program["uses"])
        return self._found


def exports(is_async: bool) -> tuple[type, type, type]:
    """The classes that componentize-py wants of a component without a program."""
    sources = _Sources()
    sources.keep_standard_library()
    for name in _COMMON.split():
        importlib.import_module(name)
    other = "component_sync" if is_async else "component_async"
    package = sys.modules[__package__]
    for found in pkgutil.iter_modules(package.__path__):
        if found.name not in (other, "build", "testing"):
            importlib.import_module(f"{__package__}.{found.name}")
    sys.meta_path.insert(0, sources)
    return export(_Program(sources), is_async)

