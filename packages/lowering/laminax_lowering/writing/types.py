"""MLIR text for types, attributes and constants.

StableHLO is written in MLIR's generic form; this module knows how avals, integers, lists and array constants
look there. Source: the StableHLO specification, "Types" and "Constants", and the MLIR language reference.
"""

from __future__ import annotations

import math
from typing import Any, Iterable, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import InconclusiveDimensionOperation

_ELEMENT_NAMES = {
    "bool": "i1", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
    "float8_e3m4": "f8E3M4", "float8_e4m3": "f8E4M3", "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e4m3fn": "f8E4M3FN", "float8_e4m3fnuz": "f8E4M3FNUZ", "float8_e5m2": "f8E5M2",
    "float8_e5m2fnuz": "f8E5M2FNUZ", "float8_e8m0fnu": "f8E8M0FNU", "float6_e2m3fn": "f6E2M3FN",
    "float6_e3m2fn": "f6E3M2FN", "float4_e2m1fn": "f4E2M1FN",
}

_MAX_TYPE_TEXTS = 4096
_type_texts: dict[ShapedArray, str] = {}  # which keeps the types alive, and so forgets them all when there are many


def element_type(dtype: Any) -> str:
    """The MLIR element type of a dtype: `f32`, `i32`, `ui8`, `complex<f32>`."""
    name = np.dtype(dtype).name
    known = _ELEMENT_NAMES.get(name)
    if known is not None:
        return known
    if name.startswith("uint"):
        return f"ui{name[4:]}"
    if name.startswith("int"):
        return f"i{name[3:]}"
    if np.dtype(dtype) == dtypes.float0:
        return "i1"
    raise TypeError(f"lowering: the dtype {name} has no StableHLO element type")


class TokenType:
    """The type of a token of StableHLO, which a value of the text may have where others have that of an array."""
    shape = ()
    ndim = 0
    dtype = None
    _split = None


TOKEN: Any = TokenType()
_TOKEN_TEXT = "!stablehlo.token"
_type_texts[TOKEN] = _TOKEN_TEXT


def type_text(aval: ShapedArray) -> str:
    """The tensor type of an aval: `tensor<2x3xf32>`; a key array is the tensor of its key data."""
    text = _type_texts.get(aval)
    if text is None:
        physical = physical_aval(aval) if dtypes.is_extended(aval.dtype) else aval
        if len(_type_texts) >= _MAX_TYPE_TEXTS:
            _type_texts.clear()
            _type_texts[TOKEN] = _TOKEN_TEXT
        text = _type_texts[aval] = tensor_text(physical.shape, physical.dtype)
    return text


def tensor_text(shape: Sequence[int], dtype: Any) -> str:
    """The tensor type of a shape and dtype."""
    return f"tensor<{''.join(f'{size}x' if type(size) is not SymbolicDim else '?x' for size in shape)}{element_type(dtype)}>"


def types_text(avals: Iterable[ShapedArray]) -> str:
    """Comma-separated tensor types."""
    return ", ".join([type_text(aval) for aval in avals])


# Attributes


def i64_array(values: Iterable[int]) -> str:
    """`array<i64: 0, 2>`"""
    values = tuple(values)
    try:
        text = ", ".join(str(int(v)) for v in values)
    except InconclusiveDimensionOperation:  # of a symbolic dimension
        return SymbolicArray(values)
    return f"array<i64: {text}>" if text else "array<i64>"


class SymbolicArray(str):
    """An attribute whose numbers are known only as expressions, `values`: an operation with such an attribute is written in its dynamic
    form (`dynamic_shapes`)."""

    values: tuple[Any, ...]

    def __new__(cls, values: tuple[Any, ...]) -> Any:
        self = super().__new__(cls, f"array<i64: {', '.join(map(str, values))}>")
        self.values = values
        return self


def i64_tensor(values: Any) -> str:
    """A dense i64 tensor attribute, as window paddings and replica groups need."""
    return dense(np.asarray(values, np.int64))


def i64_pairs(pairs: Iterable[tuple[Any, Any]]) -> str:
    """The padding of each axis as a dense i64 tensor attribute, [n, 2]."""
    values = tuple(value for pair in pairs for value in pair)
    try:
        return i64_tensor(np.reshape(np.array([int(v) for v in values], np.int64), (-1, 2)))
    except InconclusiveDimensionOperation:
        return SymbolicArray(values)


def int_list(values: Iterable[int]) -> str:
    """`[0, 2]`, inside attributes with their own syntax such as `#stablehlo.dot<...>`."""
    return "[" + ", ".join(str(int(v)) for v in values) + "]"


def bool_text(value: Any) -> str:
    return "true" if value else "false"


def symbol_text(name: str) -> str:
    """A name as an MLIR symbol that needs no quotes: letters, digits, `_` and `.`, not first a digit.

    Source: MLIR Language Reference, identifiers and keywords.
    """
    clean = "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in name)
    return clean if clean and not clean[0].isdigit() else f"_{clean}"


def string_text(text: str) -> str:
    """A quoted MLIR string."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:  # as nearly all are
        return f'"{text}"'
    escaped = "".join(c if c.isprintable() and c not in '"\\' and ord(c) < 128 else _escape(c) for c in text)
    return f'"{escaped}"'


def _escape(char: str) -> str:
    return "".join(f"\\{byte:02X}" for byte in char.encode())


def dense(value: Any) -> str:
    """A constant's value with its type: `dense<[1, 2]> : tensor<2xi32>`; larger arrays as raw bytes in hexadecimal."""
    value = np.asarray(value)
    return f"{_elements_text(value)} : {tensor_text(value.shape, value.dtype)}"


def splat(value: Any, shape: Sequence[Any], dtype: Any) -> str:
    """A constant all of whose elements are one scalar."""
    scalar = np.asarray(value, dtype)
    return f"dense<{scalar_text(scalar)}> : {tensor_text(shape, scalar.dtype)}"


_INLINE_LIMIT = 16


def _elements_text(value: np.ndarray) -> str:
    if value.size == 0:
        return "dense<>"
    if value.ndim == 0:
        return f"dense<{scalar_text(value)}>"
    bits = dtypes.bit_width(value.dtype)
    if value.size <= _INLINE_LIMIT or bits < 8 and value.dtype != bool:
        return f"dense<{_nested_text(value)}>"
    if value.dtype == bool:
        return f"dense<{_nested_text(value)}>"
    return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'


def _nested_text(value: np.ndarray) -> str:
    if value.ndim == 0:
        return scalar_text(value)
    return "[" + ", ".join(_nested_text(v) for v in value) + "]"


def scalar_text(value: np.ndarray) -> str:
    """One element: `true`, `3`, `2.5`, `0x7F800000`, `(1.0, 2.0)`."""
    dtype = value.dtype
    if dtype == bool:
        return bool_text(value)
    if dtype.kind == "c":
        part = np.float32 if dtype == np.complex64 else np.float64
        return f"({scalar_text(np.asarray(value.real, part))}, {scalar_text(np.asarray(value.imag, part))})"
    if dtypes.issubdtype(dtype, dtypes.integer):
        return str(int(value))
    number = float(value)
    if not math.isfinite(number):
        return _bits_text(value)
    text = repr(number)  # exact: a double prints with as many digits as tell it apart
    if "e" in text and "." not in text:
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}.0e{exponent}"
    return text


def _bits_text(value: np.ndarray) -> str:
    width = value.dtype.itemsize
    bits = int.from_bytes(np.ascontiguousarray(value).tobytes(), "little")
    return f"0x{bits:0{2 * width}X}"
