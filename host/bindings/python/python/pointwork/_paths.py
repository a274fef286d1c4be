"""Paths of requests below the place where a server or a framework has mounted the application."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes


def path_below(path: str, root: bytes, prefix: str) -> str:
    """The path below `root`, which is `root_path` or `SCRIPT_NAME`: percent-encoded, as it came. A server may have removed
    `root` from the path already; then the path stays as it is.

    A mount below a prefix needs its prefix: if `root` ends with the prefix, the prefix stays in the path."""
    root = root.rstrip(b"/").removesuffix(prefix.encode())
    if not root:
        return path
    count = root.count(b"/") + 1
    parts = path.split("/", count)
    if unquote_to_bytes("/".join(parts[:count])) != root:
        return path
    return f"/{parts[count]}" if len(parts) > count else "/"


def with_slash(prefix: str) -> str:
    """The prefix with a slash in front and none at its end; nothing for the root."""
    prefix = prefix.strip("/")
    return f"/{prefix}" if prefix else ""
