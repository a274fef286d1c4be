"""Adds a missing deallocation to the runtime of componentize-py.

The runtime copies each `list<u8>` that a component passes to the host into memory that the runtime allocates, and never frees the copy:
`maybe_pop_list` in `runtime/src/lib.rs` of componentize-py 0.25.1 does not call `defer_deallocate`. A call that writes many chunks of a
reply, or sends many payloads of bytes, would reach the limit `memory`.

The generated bindings call `maybe_pop_list` through the function `wit_dylib_pop_list`, which the core module of the runtime exports. The
same module exports `wit_dylib_dealloc_bytes`, which frees an allocation at the end of a call of the host or of an export. The patch
appends this function to the core module, and exports the new function under the name `wit_dylib_pop_list`:

    (func (param $cx i32) (param $type i32) (param $ptr i32) (result i32)
      (local $length i32)
      (local.set $length (call $wit_dylib_pop_list (local.get $cx) (local.get $type) (local.get $ptr)))
      (if (i32.load (local.get $ptr))
        (then (call $wit_dylib_dealloc_bytes
          (local.get $cx) (i32.load (local.get $ptr)) (local.get $length) (i32.const 1) (i32.const 1))))
      (local.get $length))

The pointer is null for other lists, whose memory the bindings free. A release of componentize-py that frees the copy must not be patched,
since the copy would be freed twice. The build therefore accepts one release only.
"""

from collections.abc import Iterator

_POP, _DEALLOC = b"wit_dylib_pop_list", b"wit_dylib_dealloc_bytes"
_PREAMBLE = 8
"""The length of the magic number and the version of a module or component."""
_MODULE = 1
"""The section of a component that contains a core module."""
_IMPORTS, _FUNCTIONS, _EXPORTS, _CODE = 2, 3, 7, 10
"""Sections of a core module."""
_FUNCTION = b"\x00"
"""The kind of an imported or exported function."""


class PatchError(Exception):
    """The component does not contain the runtime in the expected form."""


def free_lowered_bytes(component: bytes) -> bytes:
    """The component with the patched runtime."""
    parts, count = [component[:_PREAMBLE]], 0
    for kind, content in _sections(component):
        if kind == _MODULE and _POP in content:
            patched = _patch(content)
            count += patched is not None
            content = patched or content
        parts.append(_section(kind, content))
    if count != 1:
        raise PatchError(f"{count} core modules export `{_POP.decode()}`, expected one")
    return b"".join(parts)


def _patch(module: bytes) -> bytes | None:
    """The module with the new function; `None` if the module does not export both functions."""
    sections = [*_sections(module)]
    content = dict(sections)
    exports = _exported_functions(content.get(_EXPORTS, b"\x00"))
    if not {_POP, _DEALLOC} <= exports.keys():
        return None
    (pop, place), (dealloc, _) = exports[_POP], exports[_DEALLOC]
    imported = _imported_functions(content[_IMPORTS])
    types = _Reader(content[_FUNCTIONS])
    indices = [types.number() for _ in range(types.number())]
    added = imported + len(indices)
    # The new function has the signature of the function that it replaces.
    content[_FUNCTIONS] = _with_item(content[_FUNCTIONS], _number(indices[pop - imported]))
    content[_CODE] = _with_item(content[_CODE], _body(pop, dealloc))
    content[_EXPORTS] = content[_EXPORTS][: place.start] + _number(added) + content[_EXPORTS][place.stop :]
    patched = (_FUNCTIONS, _EXPORTS, _CODE)
    return module[:_PREAMBLE] + b"".join(
        _section(kind, content[kind] if kind in patched else given) for kind, given in sections
    )


def _body(pop: int, dealloc: int) -> bytes:
    """The code of the new function. The parameters are the locals 0 to 2, and the length is local 3."""
    pointer = b"\x20\x02\x28\x02\x00"
    code = b"\x01\x01\x7f"
    code += b"\x20\x00\x20\x01\x20\x02\x10" + _number(pop) + b"\x21\x03"
    code += pointer + b"\x04\x40"
    code += b"\x20\x00" + pointer + b"\x20\x03\x41\x01\x41\x01\x10" + _number(dealloc)
    code += b"\x0b\x20\x03\x0b"
    return _number(len(code)) + code


def _exported_functions(section: bytes) -> dict[bytes, tuple[int, slice]]:
    """The index of each exported function, and the place of the index in the section."""
    reader, found = _Reader(section), {}
    for _ in range(reader.number()):
        name, kind, start = reader.name(), reader.take(1), reader.at
        index = reader.number()
        if kind == _FUNCTION:
            found[name] = (index, slice(start, reader.at))
    return found


def _imported_functions(section: bytes) -> int:
    reader, count = _Reader(section), 0
    for _ in range(reader.number()):
        reader.name()
        reader.name()
        kind = reader.take(1)
        count += kind == _FUNCTION
        reader.skip_import(kind)
    return count


class _Reader:
    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data, self.at = data, at

    @property
    def is_at_end(self) -> bool:
        return self.at >= len(self._data)

    def take(self, length: int) -> bytes:
        self.at += length
        return self._data[self.at - length : self.at]

    def number(self) -> int:
        """An unsigned number in LEB128."""
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def name(self) -> bytes:
        return self.take(self.number())

    def skip_import(self, kind: bytes) -> None:
        """Skips the type of an import: a function, a table, a memory, a global or a tag."""
        if kind in (b"\x01", b"\x03", b"\x04"):
            self.take(1)
        if kind in (b"\x01", b"\x02"):
            has_maximum = self.take(1)[0] & 1
            self.number()
            if has_maximum:
                self.number()
        elif kind == b"\x03":
            self.take(1)
        else:
            self.number()


def _sections(data: bytes) -> Iterator[tuple[int, bytes]]:
    reader = _Reader(data, _PREAMBLE)
    while not reader.is_at_end:
        (kind,) = reader.take(1)
        yield kind, reader.take(reader.number())


def _section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + _number(len(content)) + content


def _with_item(section: bytes, item: bytes) -> bytes:
    """A section whose vector has one more item."""
    reader = _Reader(section)
    count = reader.number()
    return _number(count + 1) + section[reader.at :] + item


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
