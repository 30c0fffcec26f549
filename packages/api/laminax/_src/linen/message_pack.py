"""MessagePack, the part that checkpoints need: a compact form of numbers, strings, bytes, lists and dicts, with extensions.

Each value begins with a byte that says its type and, for small values, its size or the value itself. Numbers are big-endian. Values
are written in the shortest form, as the reference libraries do it.

Source: the MessagePack specification, github.com/msgpack/msgpack/blob/master/spec.md.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple


class Extension(NamedTuple):
    """A value of a type that the application defines: its code, from 0 to 127, and its bytes."""

    code: int
    data: bytes


def pack(value: Any, extend: Callable[[Any], Any] | None = None) -> bytes:
    """A value as bytes.

    Args:
      value: None, a bool, an integer of 64 bits, a float, a string, bytes, an `Extension`, or a list, tuple or dict of such.
      extend: called with every other value; returns one that can be written.

    Raises:
      TypeError: if a value can't be written.
      ValueError: if a number or a length is too large for the format.

    Example:
      >>> pack({"a": [1, 2.5]})
      b'\\x81\\xa1a\\x92\\x01\\xcb@\\x04\\x00\\x00\\x00\\x00\\x00\\x00'
    """
    pieces: list[bytes] = []
    _write(value, pieces.append, extend)
    return b"".join(pieces)


def _write(value: Any, put: Callable[[bytes], None], extend: Callable[[Any], Any] | None) -> None:
    kind = type(value)
    if value is None or kind is bool:
        put({None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value])
    elif kind is int:
        put(_integer(value))
    elif kind is float:
        put(struct.pack(">Bd", 0xCB, value))
    elif kind is str:
        encoded = value.encode()
        put(_head(len(encoded), (0xA0, 32), (0xD9, 0xDA, 0xDB)))
        put(encoded)
    elif kind in (bytes, bytearray, memoryview):
        put(_head(len(value), None, (0xC4, 0xC5, 0xC6)))
        put(bytes(value))
    elif kind is Extension:
        put(_extension_head(len(value.data)) + struct.pack(">b", value.code))
        put(value.data)
    elif kind in (list, tuple):
        put(_head(len(value), (0x90, 16), (None, 0xDC, 0xDD)))
        for item in value:
            _write(item, put, extend)
    elif kind is dict:
        put(_head(len(value), (0x80, 16), (None, 0xDE, 0xDF)))
        for key, item in value.items():
            _write(key, put, extend)
            _write(item, put, extend)
    elif extend is not None:
        _write(extend(value), put, None)
    else:
        raise TypeError(f"a value of type {kind.__name__} can't be written as MessagePack: {value!r}")


_INTEGERS = (  # first byte, format, least and greatest
    (0xCC, ">BB", 0, 0xFF), (0xCD, ">BH", 0, 0xFFFF), (0xCE, ">BI", 0, 0xFFFFFFFF), (0xCF, ">BQ", 0, 0xFFFFFFFFFFFFFFFF),
    (0xD0, ">Bb", -0x80, 0), (0xD1, ">Bh", -0x8000, 0), (0xD2, ">Bi", -0x80000000, 0), (0xD3, ">Bq", -0x8000000000000000, 0))


def _integer(value: int) -> bytes:
    if -32 <= value < 128:
        return struct.pack(">b", value) if value < 0 else bytes([value])
    for first, form, least, greatest in _INTEGERS:
        if least <= value <= greatest:
            return struct.pack(form, first, value)
    raise ValueError(f"integer {value} does not fit into 64 bits, the most that MessagePack has. Give it as a string or a float")


def _head(size: int, small: tuple[int, int] | None, firsts: tuple[int | None, int, int]) -> bytes:
    """The type and the size: in one byte below a limit, otherwise with the size in 1, 2 or 4 bytes."""
    if small is not None and size < small[1]:
        return bytes([small[0] | size])
    for first, form, limit in zip(firsts, (">BB", ">BH", ">BI"), (1 << 8, 1 << 16, 1 << 32), strict=True):
        if first is not None and size < limit:
            return struct.pack(form, first, size)
    raise ValueError(f"a size of {size} does not fit into 32 bits, the most that MessagePack has")


def _extension_head(size: int) -> bytes:
    fixed = {1: 0xD4, 2: 0xD5, 4: 0xD6, 8: 0xD7, 16: 0xD8}
    return bytes([fixed[size]]) if size in fixed else _head(size, None, (0xC7, 0xC8, 0xC9))


def unpack(data: bytes, extension: Callable[[int, bytes], Any] = Extension) -> Any:
    """The value that `pack` wrote.

    Args:
      data: the bytes of one value.
      extension: function of the code and the bytes of an extension that returns its value.

    Raises:
      ValueError: if the bytes are not those of one value.

    Example:
      >>> unpack(pack({"a": [1, None]}))
      {'a': [1, None]}
    """
    reader = _Reader(memoryview(data), extension)
    try:
        value = reader.value()
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"the data are cut off or are no MessagePack: {error}, at byte {reader.at} of {len(data)}") from error
    if reader.at != len(data):
        raise ValueError(f"the data go on after their value has ended: {len(data)} bytes, of which {reader.at} belong to it")
    return value


class _Reader:
    """Reads values one after the other; `at` is the place of the next."""

    def __init__(self, data: memoryview, extension: Callable[[int, bytes], Any]) -> None:
        self.data, self.extension, self.at = data, extension, 0

    def value(self) -> Any:
        first = self._number(">B")
        if first < 0x80:
            return first
        if first >= 0xE0:
            return first - 0x100
        if first < 0x90:
            return self._dict(first & 0x0F)
        if first < 0xA0:
            return self._list(first & 0x0F)
        if first < 0xC0:
            return self._string(first & 0x1F)
        if first in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[first]
        if first in _NUMBERS:
            return self._number(_NUMBERS[first])
        if first in _SIZED:
            read, form = _SIZED[first]
            return read(self, self._number(form) if isinstance(form, str) else form)
        raise ValueError(f"the data are no MessagePack: byte {first:#04x} at place {self.at - 1} begins no value")

    def _number(self, form: str) -> Any:
        (number,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return number

    def _bytes(self, size: int) -> bytes:
        piece = bytes(self.data[self.at:self.at + size])
        if len(piece) < size:
            raise ValueError(f"the data are cut off: {size} bytes should follow byte {self.at}, {len(piece)} do")
        self.at += size
        return piece

    def _list(self, size: int) -> list[Any]:
        return [self.value() for _ in range(size)]

    def _dict(self, size: int) -> dict[Any, Any]:
        return {self.value(): self.value() for _ in range(size)}

    def _string(self, size: int) -> str:
        return str(self._bytes(size), "utf-8")

    def _extension(self, size: int) -> Any:
        code = self._number(">b")
        return self.extension(code, self._bytes(size))


_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_SIZED: dict[int, tuple[Callable[[_Reader, int], Any], str | int]] = {
    0xC4: (_Reader._bytes, ">B"), 0xC5: (_Reader._bytes, ">H"), 0xC6: (_Reader._bytes, ">I"),
    0xC7: (_Reader._extension, ">B"), 0xC8: (_Reader._extension, ">H"), 0xC9: (_Reader._extension, ">I"),
    **{0xD4 + i: (_Reader._extension, 1 << i) for i in range(5)},
    0xD9: (_Reader._string, ">B"), 0xDA: (_Reader._string, ">H"), 0xDB: (_Reader._string, ">I"),
    0xDC: (_Reader._list, ">H"), 0xDD: (_Reader._list, ">I"),
    0xDE: (_Reader._dict, ">H"), 0xDF: (_Reader._dict, ">I"),
}
