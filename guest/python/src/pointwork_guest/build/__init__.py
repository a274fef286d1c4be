"""Makes a component of a module: `python -m pointwork_guest.build src/shop.py --out target/pointwork/shop.wasm`."""

from .build import Built, build
from .check import Checked
from .errors import BuildError

__all__ = ["BuildError", "Built", "Checked", "build"]
