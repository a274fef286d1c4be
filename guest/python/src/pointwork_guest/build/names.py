"""Parameters whose names are nearly those of the path."""

import difflib
import inspect

from ..hints import hints_of, is_text, marker_of
from ..module import HandlerOf, Module, path_names
from ..parameters import Path


def misnamed(app: Module) -> list[tuple[HandlerOf, str]]:
    """Warnings of parameters that are read from the query, where the path has a name that no parameter has."""
    return [warning for handler in app.handlers for warning in _misnamed(handler)]


def _misnamed(handler: HandlerOf) -> list[tuple[HandlerOf, str]]:
    prefix = handler.controller.declared.path
    paths = [path_names(prefix, path) for route in handler.routes for path in route.paths or [""]]
    hints = hints_of(handler.function)
    given = inspect.signature(handler.function).parameters
    marked = {name: marker_of(hints.get(name), parameter.default) for name, parameter in given.items()}
    unread = set[str]().union(*paths) - set(given)
    unread -= {marker.name for _, marker in marked.values() if isinstance(marker, Path) and marker.name}
    found: list[tuple[HandlerOf, str]] = []
    for name, (hint, marker) in marked.items():
        if marker is not None or not is_text(hint) or any(name in names for names in paths):
            continue
        near = difflib.get_close_matches(_plain(name), {_plain(one) for one in unread}, 1, 0.7)
        wanted = next((one for one in sorted(unread) if _plain(one) in near), None)
        if wanted is not None:
            told = f"`{handler.shown}` reads `{name}` from the query, and no parameter reads `{wanted}` of the path"
            found.append((handler, f"{told}: give both one name, or mark `{name}` with `Query()`"))
    return found


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
