"""The command `python -m pointwork_guest.build`."""

import argparse
import dataclasses
import json
import os
import sys
from pathlib import Path

from .build import build
from .errors import BuildError


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m pointwork_guest.build", description="Makes a component of a module."
    )
    parser.add_argument("entry", type=Path, help="the file whose `app` is the module, such as `src/shop.py`")
    parser.add_argument("--out", "-o", type=Path, help="the component; not needed with `--check`")
    wasi = parser.add_mutually_exclusive_group()
    wasi.add_argument(
        "--compose",
        default=os.environ.get("POINTWORK_COMPOSE"),
        help="the program that composes WASI in: COMPOSE IN OUT [GRANT…]",
    )
    wasi.add_argument(
        "--keep-wasi",
        action="store_true",
        help="leave the imports of WASI, for `pointwork build` or a module with grants",
    )
    parser.add_argument(
        "--grant",
        action="append",
        default=[],
        metavar="PREFIX",
        help="imports of WASI that stay, such as `wasi:filesystem/`",
    )
    parser.add_argument(
        "--engine",
        type=Path,
        metavar="FOLDER",
        help="for `pointwork dev`: make a component without a program there once, and print the program",
    )
    parser.add_argument("--check", action="store_true", help="read the declarations only")
    parser.add_argument("--json", action="store_true", help="print for programs")
    given = parser.parse_args()
    if given.out is None and not given.check:
        parser.error("the following arguments are required: --out/-o")
    return given


def main() -> int:
    given = _arguments()
    try:
        compose = None if given.keep_wasi else given.compose
        built = build(
            given.entry,
            given.out or Path(),
            compose=compose,
            grants=given.grant,
            keep_wasi=given.keep_wasi,
            only_check=given.check,
            engine=given.engine,
        )
    except BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for warning in built.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if given.json:
        print(json.dumps({"out": given.out and str(given.out), **dataclasses.asdict(built)}))
        return 0
    for route in built.routes:
        print(f"  {route}", file=sys.stderr)
    if not given.check:
        print(f"built {given.out}, {built.size / 1e6:.1f} MB", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
