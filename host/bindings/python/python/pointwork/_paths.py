"""Paths of requests below the place where a server or a framework has mounted the application."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes


def below(path: str, root: bytes, prefix: str) -> str:
    """The path below `root`, which is `root_path` or `SCRIPT_NAME`: percent-encoded, as it came. A path that is not
    below it comes from a server that has taken it away already.

    A mount below a prefix needs its prefix: where `root` ends with it, the prefix stays."""
    root = root.rstrip(b"/").removesuffix(prefix.encode())
    if not root:
        return path
    count = root.count(b"/") + 1
    parts = path.split("/", count)
    if unquote_to_bytes("/".join(parts[:count])) != root:
        return path
    return f"/{parts[count]}" if len(parts) > count else "/"


def prefix_of(prefix: str) -> str:
    """The prefix as paths have it."""
    prefix = prefix.strip("/")
    return f"/{prefix}" if prefix else ""
