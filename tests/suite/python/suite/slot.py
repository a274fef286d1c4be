"""The place of the program in the component: the suite finds its mark in the built component and writes the program behind it."""

import json
from typing import Any

MARK = 32
LENGTH = 4
CAPACITY = 256 * 1024

# Filled in place: a copy that is freed would be in the component as well. Not zero: zeros are left out of a component.
_slot = bytearray(MARK + LENGTH + CAPACITY)
for _at in range(len(_slot)):
    _slot[_at] = (_at * 37 + 11) % 251 if _at < MARK else 0xFF


def program() -> Any:
    length = int.from_bytes(_slot[MARK : MARK + LENGTH], "little")
    if length > CAPACITY:
        raise RuntimeError("the suite has not written a program into the component")
    return json.loads(_slot[MARK + LENGTH : MARK + LENGTH + length])
