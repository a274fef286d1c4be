"""The controllers of a shop catalogue. All data is behind the events, whose listeners are statements on a database
in `pointwork.toml`.
"""

from pointwork_guest import Module

from health import Health
from products import Products

app = Module(controllers=[Products, Health])
