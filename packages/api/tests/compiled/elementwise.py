"""Elementwise operations: one comparison per operation and dtype it takes."""

from __future__ import annotations

from typing import Iterator

import ml_dtypes
import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import BOOL, COMPLEX, DTYPES, FLOATS, INTEGERS, Draw, is_float

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import hints
from laminax_ir.ops.polynomial import polynomial

# Rounded by a rule of their own, or not at all: the bits are given.
_EXACT_ON_FLOATS = ("neg", "sign", "floor", "ceil", "is_finite", "abs", "copy", "square", "sqrt")
_EXACT_ON_INTEGERS = ("abs", "neg", "sign", "square", "one_minus_square", "population_count", "clz")
_APPROXIMATE = ("exp", "exp2", "expm1", "log", "log1p", "log2", "one_minus_square", "logistic", "rsqrt",
                "cbrt", "sin", "cos", "tan", "asin", "acos", "atan",
                "sinh", "cosh", "tanh", "asinh", "acosh", "atanh")
_ON_COMPLEX = ("neg", "sign", "exp", "expm1", "log", "log1p", "log2", "logistic", "sqrt", "rsqrt", "sin", "cos", "tan", "asin",
               "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "abs", "square", "one_minus_square",
               "real", "imag", "copy")
_ARITHMETIC = ("add", "sub", "mul", "div", "max", "min")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_BITWISE = {"and": op.bitwise_and, "or": op.bitwise_or, "xor": op.bitwise_xor}
_SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
_PRECISIONS = ((5, 10), (8, 7), (4, 3), (5, 2), (11, 52))


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Every operation that takes operands of the dtype."""
    yield from _of_every_dtype(draw, dtype)
    if is_float(dtype):
        yield from _of_floats(draw, dtype)
    elif dtype in COMPLEX:
        yield from _of_complex_numbers(draw, dtype)
    else:
        yield from _of_integers(draw, dtype)


def _of_every_dtype(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    x, y, z = draw.values(dtype), draw.values(dtype), draw.values(dtype)
    for name in _COMPARISONS[:2 if dtype.kind == "c" else None]:
        yield Comparison(name, getattr(op, name), [x, y])
        yield Comparison(name, getattr(op, name), [x, x])
    for count in (1, 2, 3, 5):
        which = draw.rng.integers(0, count, draw.shape).astype(bool if count <= 2 else np.int32)
        yield Comparison("select_n", op.select_n, [which, *[draw.values(dtype) for _ in range(count)]])
    yield Comparison("select_n", op.select_n, [np.array(draw.integer(0, 1), bool), x, y])  # one predicate for all elements
    yield Comparison("optimization_barrier", lambda *xs: op.optimization_barrier_p.bind(*xs), [x, y])
    yield Comparison("stop_gradient", op.stop_gradient_p.bind, [x])
    yield Comparison("copy", op.copy, [x])
    yield Comparison("todense", hints.todense_p.bind, [x])
    yield from _conversions(draw, dtype)
    if dtype.kind != "c" and dtype.kind != "b":
        low, high = _ordered(y, z)
        yield Comparison("clamp", op.clamp, [low, x, high], is_zero_signed=False)
        if low.size:
            yield Comparison("clamp", op.clamp, [low.ravel()[0], x, high.ravel()[0]], is_zero_signed=False)


def _ordered(y: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(invalid="ignore"):  # comparisons with NaN
        return np.minimum(y, z), np.maximum(y, z)


def _conversions(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    for target in (*DTYPES, np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2), np.dtype(ml_dtypes.int4)):
        if target == dtype or dtype.kind == "c" and target not in COMPLEX:
            continue  # parts are taken with `real`
        x = draw.values(dtype)
        if (is_float(dtype) or dtype.kind in "iu") and not (target in FLOATS or target in COMPLEX):
            x = draw.between(0, 7, dtype)  # what becomes of numbers beyond the target's range is not defined
        yield Comparison("convert_element_type", lambda x, t=target: op.convert_element_type(x, t), [x])
    if dtype.kind != "b" and dtype.kind != "c":
        for target in (*INTEGERS, *FLOATS):
            if draw.shape and draw.shape[-1] * dtype.itemsize != target.itemsize and target.itemsize > dtype.itemsize:
                continue
            if not draw.shape and target.itemsize > dtype.itemsize:
                continue
            # bits of integers: as floats they may be NaN, whose payload compilers need not keep
            x = draw.between(1, 2, dtype)
            yield Comparison("bitcast_convert_type", lambda x, t=target: op.bitcast_convert_type(x, t), [x])


def _of_floats(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    x, y = draw.values(dtype), draw.values(dtype)
    for name in _EXACT_ON_FLOATS:
        yield Comparison(name, getattr(op, name), [x])
    for method in op.RoundingMethod:
        yield Comparison("round", lambda x, m=method: op.round(x, m), [x])
    for name in _APPROXIMATE:
        yield Comparison(name, getattr(op, name), [x], is_widened=True)
        if name in ("asin", "acos", "atanh"):
            yield Comparison(name, getattr(op, name), [draw.between(-1, 1, dtype)], is_widened=True)
    for name in (*_ARITHMETIC, "rem"):
        yield Comparison(name, getattr(op, name), [x, y], is_zero_signed=name not in ("max", "min"))
    for name in ("eq_to", "lt_to", "le_to"):
        primitive = getattr(op, f"{name}_p")
        yield Comparison(name, primitive.bind, [x, y])
        yield Comparison(name, primitive.bind, [x, x])
    yield Comparison("atan2", op.atan2, [x, y], is_widened=True)
    yield Comparison("pow", op.pow, [x, y], is_widened=True)
    yield Comparison("pow", op.pow, [np.abs(draw.normal(dtype)), draw.normal(dtype)], is_widened=True)
    yield Comparison("pow", op.pow, [draw.normal(dtype), draw.normal(np.int32)])
    for count in (3, 11):  # written out, and in a loop
        yield Comparison("polynomial", lambda x, *c: polynomial(x, c), [x, *[draw.normal(dtype) for _ in range(count)]], is_widened=True)
    for exponent in (-3, -1, 0, 1, 2, 5):
        yield Comparison("integer_pow", lambda x, n=exponent: op.integer_pow(x, n), [draw.normal(dtype)], is_widened=True)
    if dtype.itemsize >= 4:
        yield Comparison("nextafter", op.nextafter, [x, y])
        yield Comparison("complex", op.complex, [x, y])
        yield Comparison("conj", op.conj, [x])
    for exponent_bits, mantissa_bits in _PRECISIONS:
        if mantissa_bits <= 23 or dtype.itemsize == 8:
            yield Comparison("reduce_precision", lambda x, e=exponent_bits, m=mantissa_bits: op.reduce_precision(x, e, m),
                             [draw.normal(dtype)])


def _of_complex_numbers(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    x, y = draw.normal(dtype), draw.normal(dtype)
    for name in _ON_COMPLEX:
        yield Comparison(name, getattr(op, name), [x], is_widened=True)
    yield Comparison("conj", op.conj, [draw.values(dtype)])
    for name in (*_ARITHMETIC, "pow"):
        yield Comparison(name, getattr(op, name), [x, y], is_widened=True)
    yield Comparison("atan2", op.atan2, [x, y], 1.0, is_widened=True)  # the logarithm of numbers near 1
    yield Comparison("polynomial", lambda x, *c: polynomial(x, c), [x, *[draw.normal(dtype) for _ in range(5)]], is_widened=True)
    for exponent in (-2, 0, 1, 3):
        yield Comparison("integer_pow", lambda x, n=exponent: op.integer_pow(x, n), [x], is_widened=True)


def _of_integers(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    x, y = draw.values(dtype), draw.values(dtype)
    for name, function in _BITWISE.items():
        yield Comparison(name, function, [x, y])
    yield Comparison("not", op.bitwise_not, [x])
    yield Comparison("max", op.max, [x, y])
    yield Comparison("min", op.min, [x, y])
    if dtype in BOOL:
        return
    for name in _EXACT_ON_INTEGERS[0 if dtype.kind == "i" else 1:]:
        yield Comparison(name, getattr(op, name), [x])
    for name in ("add", "sub", "mul", "div", "rem", "mulhi"):
        yield Comparison(name, getattr(op, name), [x, y])
        yield Comparison(name, getattr(op, name), [x, draw.normal(dtype)])
    for name in _SHIFTS:
        yield Comparison(name, getattr(op, name), [x, draw.between(0, dtype.itemsize * 8 + 3, dtype)])
        yield Comparison(name, getattr(op, name), [x, y])
    yield Comparison("polynomial", lambda x, *c: polynomial(x, c), [x, y, x, y])
    for exponent in (0, 1, 2, 5):
        yield Comparison("integer_pow", lambda x, n=exponent: op.integer_pow(x, n), [x])
