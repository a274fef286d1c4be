"""Builds a module of the suite: `python build.py ENTRY OUTPUT`, with the SDK on the path of imports. The component imports WASI, with which
the suite composes it.

`module_sync.py` and `module_async.py` get their declarations from the program that the suite writes into them: they have no `app`, which
the build of the SDK expects.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pointwork_guest

HERE = Path(__file__).resolve().parent
SDK = Path(pointwork_guest.__file__).resolve().parent
WORLDS = {"module_sync": "module", "module_async": "module-async"}


def main(entry: str, out: str) -> int:
    command = [sys.executable, "-c", "from componentize_py import script; raise SystemExit(script())"]
    command += ["-q", "-d", str(SDK / "wit"), "-w", WORLDS[entry], "componentize", "-o", out]
    for path in (HERE, SDK.parent, Path(sysconfig.get_path("purelib"))):
        command += ["-p", str(path)]
    return subprocess.run([*command, entry], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]).stem, sys.argv[2]))
