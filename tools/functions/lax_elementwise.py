"""`laminax.lax`: functions of each element."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from functions.drawing import BOOL, COMPLEX, FLOATS, FULL_FLOATS, INTEGERS, NUMBERS, REAL, SIGNED, Call
from functions.entries import Arguments, entry

L = "lax"


def one(dtypes: Any, **options: Any) -> Arguments:
    return lambda d: Call((d.array(dtypes, **options),))


def same(dtypes: Any, second: dict[str, Any] | None = None, **options: Any) -> Arguments:
    """Two arrays of one dtype and shape."""
    return lambda d: Call((x := d.array(dtypes, **options), d.array(x.dtype.name, x.shape, **(options if second is None else second))))


def numpys(names: str, draw: Arguments, oracle: Any = None, **options: Any) -> None:
    for name in names.split():
        entry(L, name, draw, oracle or getattr(np, name), **options)


NUMERIC = INTEGERS + FLOATS + COMPLEX
numpys("sin cos sinh cosh tanh exp expm1", one(FLOATS + COMPLEX, low=-20, high=20))
numpys("tan", one(FLOATS, low=-1.5, high=1.5))
numpys("asin acos atan asinh acosh atanh log log1p log2 sqrt cbrt exp2", one(FLOATS))
numpys("abs", one(SIGNED + FLOATS + COMPLEX, extremes=True))
numpys("sign square", one(NUMERIC, extremes=True))
numpys("neg", one(NUMERIC, extremes=True), np.negative)
numpys("floor ceil", one(FLOATS))
numpys("round", lambda d: Call((d.array(FLOATS), 1)), lambda x, method: np.rint(x))
numpys("is_finite", one(FLOATS), np.isfinite)
numpys("rsqrt", one(FLOATS, low=0.01), lambda x: 1 / np.sqrt(x))
numpys("reciprocal", one(FLOATS + COMPLEX, nonzero=True))
numpys("logistic", one(FLOATS, low=-50, high=50), scipy.special.expit, scale="largest")
for name, oracle, low, high in (
    ("erf", scipy.special.erf, -6, 6),
    ("erfc", scipy.special.erfc, -3, 3),
    ("erf_inv", scipy.special.erfinv, -0.99, 0.99),
    ("lgamma", scipy.special.gammaln, 0.1, 40),
    ("digamma", scipy.special.digamma, 0.1, 40),
    ("bessel_i0e", scipy.special.i0e, -30, 30),
    ("bessel_i1e", scipy.special.i1e, -30, 30),
):
    entry(L, name, one(FULL_FLOATS, low=low, high=high), oracle, units=256, scale="largest")
numpys("real imag conj", one(COMPLEX))
numpys("bitwise_not", one(BOOL + INTEGERS, extremes=True), np.invert, raw=True)
numpys("population_count", one(INTEGERS, extremes=True), lambda x: _bits(x).sum(-1))
numpys("clz", one(INTEGERS, extremes=True), lambda x: np.cumprod(1 - _bits(x)[..., ::-1], -1).sum(-1), raw=True)


def _bits(x: np.ndarray) -> np.ndarray:
    """The bits of integers, the lowest first."""
    size = 8 * x.dtype.itemsize
    return (x[..., None].astype(f"uint{size}") >> np.arange(size, dtype=f"uint{size}")) & np.ones((), f"uint{size}")


for lax_name, numpy_name in (("add", "add"), ("mul", "multiply"), ("sub", "subtract"), ("max", "maximum"), ("min", "minimum")):
    entry(L, lax_name, same(INTEGERS + FLOATS, extremes=True), getattr(np, numpy_name))
numpys("div", same(FLOATS + COMPLEX, second={"nonzero": True}), np.divide)
numpys("rem", same(INTEGERS + FLOATS, second={"nonzero": True, "special": False}, special=False), np.fmod, scale="largest")
numpys("pow", same(FLOATS, second={"low": -3, "high": 3}, low=0.1, high=5), np.power)
numpys("atan2", same(FLOATS), np.arctan2)
numpys("nextafter", same(("float32", "float64"), special=False, nonzero=True), raw=True)
for lax_name, numpy_name in (("bitwise_and", "bitwise_and"), ("bitwise_or", "bitwise_or"), ("bitwise_xor", "bitwise_xor")):
    entry(L, lax_name, same(BOOL + INTEGERS, extremes=True), getattr(np, numpy_name), raw=True)
for lax_name, numpy_name in (
    ("eq", "equal"),
    ("ne", "not_equal"),
    ("lt", "less"),
    ("le", "less_equal"),
    ("gt", "greater"),
    ("ge", "greater_equal"),
):
    entry(L, lax_name, same(REAL, extremes=True), getattr(np, numpy_name))
numpys("shift_left", same(INTEGERS, second={"low": 0, "high": 7}, extremes=True), np.left_shift, raw=True)
numpys("shift_right_arithmetic", same(SIGNED, second={"low": 0, "high": 7}, extremes=True), np.right_shift, raw=True)
numpys(
    "shift_right_logical",
    same(INTEGERS, second={"low": 0, "high": 7}, extremes=True),
    lambda x, n: (
        (x.view(f"u{x.itemsize}") >> n.view(f"u{x.itemsize}")).view(x.dtype)
        if x.ndim
        else np.asarray(np.asarray(x).reshape(1).view(f"u{x.itemsize}") >> np.asarray(n).reshape(1).view(f"u{x.itemsize}")).view(x.dtype)[0]
    ),
    raw=True,
)
numpys(
    "mulhi",
    same(("int8", "int16", "int32", "uint8", "uint16", "uint32"), extremes=True),
    lambda x, y: (
        (x.astype("int64" if x.dtype.kind == "i" else "uint64") * y.astype("int64" if x.dtype.kind == "i" else "uint64"))
        >> (8 * x.dtype.itemsize)
    ),
    raw=True,
)
numpys("integer_pow", lambda d: Call((d.array(FULL_FLOATS + COMPLEX, low=0.3, high=3), d.below(6, -4))), np.power, units=64)
entry(L, "complex", same(FULL_FLOATS, special=False), lambda x, y: x + 1j * y, raw=True)
entry(
    L,
    "clamp",
    lambda d: Call((np.asarray(-1, (x := d.array(SIGNED + FULL_FLOATS)).dtype), x, np.asarray(2, x.dtype))),
    lambda low, x, high: np.clip(x, low, high),
    raw=True,
)
entry(
    L,
    "select",
    lambda d: Call((d.array("bool", (x := d.array(NUMBERS)).shape), x, d.array(x.dtype.name, x.shape))),
    np.where,
    raw=True,
    units=0,
)
entry(
    L,
    "select_n",
    lambda d: Call((d.array("int32", (x := d.array(NUMBERS)).shape, 0, 1), x, d.array(x.dtype.name, x.shape))),
    lambda i, x, y: np.where(i, y, x),
    raw=True,
    units=0,
)
entry(
    L,
    "betainc",
    lambda d: Call(
        (x := d.array(FULL_FLOATS, low=0.3, high=20), d.array(x.dtype.name, x.shape, 0.3, 20), d.array(x.dtype.name, x.shape, 0, 1))
    ),
    scipy.special.betainc,
    units=20000,
    scale="largest",
)
for name, oracle in (("igamma", scipy.special.gammainc), ("igammac", scipy.special.gammaincc)):
    entry(L, name, same(FULL_FLOATS, low=0.2, high=30), oracle, units=20000, scale="largest")
entry(
    L,
    "polygamma",
    lambda d: Call((n := np.floor(d.array(FULL_FLOATS, low=0, high=4)), d.array(n.dtype.name, n.shape, 0.5, 20))),
    scipy.special.polygamma,
    units=20000,
    scale="largest",
)
entry(L, "zeta", same(FULL_FLOATS, low=1.5, high=10), scipy.special.zeta, units=4000, scale="largest")
