"""The packages that pip makes of the SDK contain the contract, which is a symbolic link in the sources."""

import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent
CONTRACT = PACKAGE.parent.parent / "wit"
PIP = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the checkout's sources, because setuptools writes beside them."""
    package = tmp_path / "guest/python"
    shutil.copytree(CONTRACT, tmp_path / "wit")
    shutil.copytree(PACKAGE / "src", package / "src", symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(PACKAGE / name, package)
    return package


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def contract_in(files: dict[str, bytes]) -> None:
    """Checks the files of a package, by their paths below `pointwork_guest`."""
    for path in CONTRACT.iterdir():
        assert files.get(f"wit/{path.name}") == path.read_bytes(), path.name


def test_an_sdist_and_its_wheel_contain_the_contract(sources: Path, tmp_path: Path) -> None:
    make = "import setuptools.build_meta as b; print(b.build_sdist('..'))"
    # setuptools prints its steps before.
    name = run(sys.executable, "-c", make, cwd=sources).splitlines()[-1]
    with tarfile.open(sources.parent / name) as sdist:
        sdist.extractall(tmp_path, filter="data")
    alone = tmp_path / name.removesuffix(".tar.gz")
    inside = alone / "src/pointwork_guest"
    contract_in({path.relative_to(inside).as_posix(): path.read_bytes() for path in inside.rglob("*") if path.is_file()})
    assert not (inside / "wit").is_symlink()
    # The sources without the repository around them, as pip gets them from an index.
    run(sys.executable, "-m", "pip", "wheel", *PIP, "-w", tmp_path / "wheels", alone, cwd=tmp_path)
    (made,) = (tmp_path / "wheels").glob("*.whl")
    with zipfile.ZipFile(made) as wheel:
        contract_in({name.removeprefix("pointwork_guest/"): wheel.read(name) for name in wheel.namelist()})


def test_an_editable_install_finds_the_contract(sources: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", system_site_packages=False, symlinks=True)
    python = tmp_path / "venv/bin/python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    run(sys.executable, "-m", "pip", "install", *PIP, "--target", site, "-e", sources, cwd=tmp_path)
    found = run(python, "-c", "import importlib.util as u; print(u.find_spec('pointwork_guest').submodule_search_locations[0])", cwd=tmp_path).strip()
    assert Path(found) == sources / "src/pointwork_guest"
    assert {path.name for path in Path(found, "wit").iterdir()} == {path.name for path in CONTRACT.iterdir()}
