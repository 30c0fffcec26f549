"""Messages of protocol buffers, read without their definitions: numbers of fields and values, as they stand in the bytes.

The compiler's buffer assignment and module come in this form. A reader names the fields that it wants; all others are passed over.
Source: the encoding at protobuf.dev.
"""

from __future__ import annotations

from typing import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message in order: the number of each, and an integer, or the bytes of a string or an inner message.

    Raises:
      ValueError: if the bytes are no message.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield number, value
        elif kind == _BYTES:
            length, at = _varint(message, at)
            if at + length > end:
                raise ValueError(f"a message of {end} bytes ends within its field {number}")
            yield number, message[at:at + length]
            at += length
        elif kind in (_FIXED64, _FIXED32):
            width = 8 if kind == _FIXED64 else 4
            yield number, int.from_bytes(message[at:at + width], "little")
            at += width
        else:
            raise ValueError(f"field {number} of a message is of the unknown kind {kind}")


def packed(value: int | bytes) -> tuple[int, ...]:
    """The numbers of a repeated field, which stand one by one or together."""
    if isinstance(value, int):
        return (value,)
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number)
    return tuple(numbers)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """The number that begins there, and where the next begins."""
    number = shift = 0
    while True:
        try:
            byte = message[at]
        except IndexError:
            raise ValueError("a message ends within a number") from None
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
