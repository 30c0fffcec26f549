"""`laminax.numpy`: functions of each element."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from functions.drawing import BOOL, COMPLEX, FLOATS, INTEGERS, NUMBERS, REAL, SIGNED, UNSIGNED, Call, Draw
from functions.entries import Arguments, entry

M = "numpy"


def one(dtypes: Any, **options: Any) -> Arguments:
    """A call with one array."""
    return lambda draw: Call((draw.array(dtypes, **options),))


def two(dtypes: Any, second: dict[str, Any] | None = None, scalars: bool = True, **options: Any) -> Arguments:
    """A call with two arrays of one dtype that broadcast, or with an array and a Python number."""

    def draw_two(draw: Draw) -> Call:
        x = draw.array(dtypes, **options)
        if scalars and x.dtype.kind not in "bu" and draw.below(4) == 0 and second is None:
            number = draw.scalar(x.dtype)
            return Call((x, number)) if draw.flag() or options else Call((number, x))
        return Call((x, draw.like(x, **(options if second is None else second))))

    return draw_two


def numpys(names: str, draw: Arguments, **options: Any) -> None:
    """Functions that are compared with NumPy's of the same name."""
    for name in names.split():
        entry(M, name, draw, getattr(np, name), **options)


FLOATING = REAL + COMPLEX

numpys("sin cos sinh cosh tanh arctan arcsinh exp expm1", one(FLOATING, low=-20, high=20))
numpys("tan", one(FLOATS, low=-1.5, high=1.5))
numpys("asinh acosh atan atanh arcsin arccos arccosh arctanh asin acos", one(FLOATS))
numpys("log log2 log10 log1p sqrt cbrt exp2", one(BOOL + INTEGERS + FLOATS))
entry(M, "sinc", one(FLOATS), lambda x: np.where(np.isinf(x), 0, np.sinc(x)), scale="largest")  # NumPy: NaN at infinity
numpys("i0", one(FLOATS, low=-10, high=10))
numpys("deg2rad rad2deg degrees radians", one(INTEGERS + FLOATS))
numpys("abs absolute conj conjugate square positive", one(INTEGERS + FLOATS + COMPLEX, extremes=True))
numpys("negative", one(INTEGERS + FLOATS + COMPLEX, extremes=True))
numpys("fabs", one(REAL))
numpys("reciprocal", one(FLOATS + COMPLEX, nonzero=True))
numpys("real imag", one(NUMBERS))
entry(
    M,
    "angle",
    lambda d: Call((d.array(FLOATS + COMPLEX),), {"deg": d.flag()}),
    lambda x, deg: np.where(np.isnan(x), np.nan, np.angle(x, deg)),
)
numpys("sign", one(INTEGERS + FLOATS + COMPLEX, extremes=True))
numpys("signbit", one(FLOATS))
numpys("floor ceil trunc rint", one(REAL))
entry(M, "fix", one(REAL), np.trunc)
numpys("isnan isfinite isinf", one(NUMBERS))
numpys("isneginf isposinf", one(BOOL + INTEGERS + FLOATS))
numpys("iscomplex isreal", one(NUMBERS))
numpys("iscomplexobj isrealobj", one(NUMBERS))
numpys("logical_not", one(NUMBERS))
numpys("bitwise_not invert", one(BOOL + INTEGERS, extremes=True), raw=True)
entry(M, "bitwise_invert", one(BOOL + INTEGERS, extremes=True), np.invert, raw=True)
numpys("bitwise_count", one(INTEGERS, extremes=True), raw=True)
entry(
    M,
    "nan_to_num",
    lambda d: Call((d.array(NUMBERS),), d.one({}, {"nan": 2.5}, {"posinf": 7.0, "neginf": -3.0})),
    lambda x, **options: _nan_to_num(x, **options),
    raw=True,
)


def _nan_to_num(x: np.ndarray, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> np.ndarray:
    """NumPy's, also of bfloat16."""
    if x.dtype.kind in "biu":
        return x
    if x.dtype.kind == "c":
        return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)

    largest = ml_dtypes.finfo(x.dtype).max
    x = np.where(np.isnan(x), np.asarray(nan, x.dtype), x)
    x = np.where(x == np.inf, np.asarray(largest if posinf is None else posinf, x.dtype), x)
    return np.where(x == -np.inf, np.asarray(-largest if neginf is None else neginf, x.dtype), x)


numpys("spacing", one(("float32", "float64"), special=False, nonzero=True), raw=True)
numpys("frexp", one(("float16", "float32", "float64")), raw=True)
numpys("modf", one(FLOATS))

# --- of two arrays ---

numpys("add multiply", two(NUMBERS, extremes=True))
numpys("subtract", two(INTEGERS + FLOATS + COMPLEX, extremes=True))
numpys("divide true_divide", two(INTEGERS + FLOATS + COMPLEX, second={"nonzero": True}))
numpys("maximum minimum", two(REAL, extremes=True))
numpys("fmax fmin", two(BOOL + INTEGERS + FLOATS, extremes=True))
numpys("floor_divide", two(INTEGERS + FLOATS, second={"nonzero": True, "special": False}, special=False), scale="largest")
numpys("remainder mod fmod", two(INTEGERS + FLOATS, second={"nonzero": True, "special": False}, special=False), scale="largest")
numpys("divmod", two(INTEGERS + ("float32", "float64"), second={"nonzero": True, "special": False}, special=False), scale="largest")
numpys("power", two(FLOATS, second={"low": -3, "high": 3}, low=0.1, high=5))
entry(M, "pow", two(INTEGERS, second={"low": 0, "high": 6}, scalars=False), np.power)
numpys("float_power", two(FLOATS, second={"low": -3, "high": 3}, low=0.1, high=5))
numpys("arctan2", two(FLOATS))
entry(M, "atan2", two(FLOATS), np.arctan2)
numpys("hypot copysign", two(FLOATS))
numpys("logaddexp logaddexp2", two(FLOATS), scale="largest")
numpys("heaviside", two(FLOATS))
numpys("nextafter", two(("float32", "float64"), special=False, nonzero=True, scalars=False), raw=True)
numpys("ldexp", lambda d: Call((x := d.array(("float16", "float32", "float64")), d.like(d.array("int32", x.shape, -8, 8), low=-8, high=8))))
numpys("gcd lcm", two(INTEGERS, low=-100, high=100, scalars=False), raw=True)
numpys("bitwise_and bitwise_or bitwise_xor", two(BOOL + INTEGERS, extremes=True, scalars=False), raw=True)
numpys("left_shift right_shift", two(SIGNED + UNSIGNED, second={"low": 0, "high": 7}, extremes=True, scalars=False), raw=True)
entry(M, "bitwise_left_shift", two(INTEGERS, second={"low": 0, "high": 7}, extremes=True, scalars=False), np.left_shift, raw=True)
entry(M, "bitwise_right_shift", two(INTEGERS, second={"low": 0, "high": 7}, extremes=True, scalars=False), np.right_shift, raw=True)
numpys("equal not_equal", two(NUMBERS, extremes=True))
numpys("less less_equal greater greater_equal", two(REAL, extremes=True))
numpys("logical_and logical_or logical_xor", two(NUMBERS))
numpys(
    "isclose allclose",
    lambda d: Call(
        (x := d.array(FLOATS[2:]), np.where(d.array("bool", x.shape), x, d.array(x.dtype.name, x.shape))),
        d.one({}, {"rtol": 0.5}, {"atol": 3.0}, {"equal_nan": True}),
    ),
)
numpys(
    "array_equal",
    lambda d: Call((x := d.array(NUMBERS), d.one(x, x.copy(), d.like(x))), {"equal_nan": x.dtype.kind in "fc" and d.flag()}),
    raw=True,
    flips=False,
)
numpys("array_equiv", lambda d: Call((x := d.array(NUMBERS, special=False), d.one(x, x.copy(), d.like(x)))), raw=True)


def _clip(draw: Draw) -> Call:
    x = draw.array(INTEGERS + FLOATS, extremes=True)
    return draw.one(
        lambda: Call((x,), {"min": draw.like(x, special=False), "max": draw.like(x, special=False)}),
        lambda: Call((x, None, draw.like(x, special=False))),
        lambda: Call((x, draw.like(x, special=False), None)),
    )()


entry(M, "clip", _clip, lambda x, min=None, max=None: np.clip(x, min, max))
entry(M, "unwrap", lambda d: Call((d.array(FLOATS[2:], d.one((5,), (3, 4)), -9, 9),), {"axis": d.one(0, -1)}), np.unwrap, scale="largest")
entry(M, "where", lambda d: Call((d.like(x := d.array(NUMBERS)).astype(bool), x, d.like(x))), np.where)
for _name in ("round", "around"):
    entry(M, _name, lambda d: Call((d.array(INTEGERS + FLOATS[2:], special=False),), {"decimals": d.below(4)}), np.round, scale="largest",
          raw=True)
entry(
    M,
    "select",
    lambda d: Call(([d.array("bool", (3, 4)), d.array("bool", (3, 4))], [d.array("float32", (3, 4)), d.array("float32", (3, 4))], 7.0)),
    np.select,
)
entry(
    M,
    "choose",
    lambda d: Call((d.array("int32", (2, 3), -4, 6), [d.array("float32", (2, 3)) for _ in range(3)]), {"mode": d.one("wrap", "clip")}),
    np.choose,
)
