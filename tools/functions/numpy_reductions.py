"""`laminax.numpy`: reductions, cumulative functions, statistics, products."""

from __future__ import annotations

from typing import Any

import numpy as np

from functions.drawing import BOOL, COMPLEX, FLOATS, FULL_FLOATS, INTEGERS, NUMBERS, REAL, Call, Draw
from functions.entries import Arguments, entry

M = "numpy"


def reduction(
    dtypes: Any, axes: bool = True, where: bool = False, initial: bool = False, keepdims: bool = True, **options: Any
) -> Arguments:
    """A call with an array, and the options of reductions."""

    def draw_one(draw: Draw) -> Call:
        x = draw.array(dtypes, **options)
        kwargs: dict[str, Any] = {"axis": draw.axes(x.ndim) if axes else (draw.axis(x.ndim) if x.ndim and draw.flag() else None)}
        if keepdims and draw.flag():
            kwargs["keepdims"] = True
        if initial and draw.below(3) == 0:
            kwargs["initial"] = 1 if x.dtype.kind in "iu" else True if x.dtype.kind == "b" else 1.5
        if where and (not initial or "initial" in kwargs) and draw.below(3) == 0:
            kwargs["where"] = draw.array("bool", x.shape)
        return Call((x,), kwargs)

    return draw_one


def numpys(names: str, draw: Arguments, **options: Any) -> None:
    """Functions that are compared with NumPy's of the same name."""
    for name in names.split():
        entry(M, name, draw, getattr(np, name), scale="largest", **options)


SUMS = BOOL + INTEGERS + FLOATS + COMPLEX
numpys("sum", reduction(SUMS, where=True, initial=True, special=False), units=64)
numpys("nansum", reduction(SUMS, where=True, initial=True), units=64)
numpys("prod nanprod", reduction(BOOL + INTEGERS + FLOATS[2:] + COMPLEX, where=True, initial=True, special=False), units=256)
numpys("max min amax amin", reduction(REAL, where=True, initial=True, filled=True, extremes=True))
numpys("nanmax nanmin", reduction(BOOL + INTEGERS + FLOATS, filled=True, where=True, initial=True))
entry(M, "ptp", reduction(INTEGERS + FLOATS, axes=True, filled=True), np.ptp)
numpys("all any", reduction(NUMBERS, where=True))
numpys("count_nonzero", reduction(NUMBERS))
numpys("mean", reduction(SUMS, filled=True, special=False, where=False), units=64)
numpys("nanmean", reduction(FLOATS[2:], filled=True), units=64)


def _ddof(dtypes: Any) -> Arguments:
    draw = reduction(dtypes, filled=True, special=False)

    def draw_one(source: Draw) -> Call:
        call = draw(source)
        return Call(call.args, call.kwargs | source.one({}, {"ddof": 1}, {"correction": 1}))

    return draw_one


def _moment(function: Any) -> Any:
    return lambda x, correction=None, ddof=0, **kwargs: function(x, ddof=ddof if correction is None else correction, **kwargs)


entry(M, "var", _ddof(FULL_FLOATS + COMPLEX + INTEGERS), _moment(np.var), units=256, scale="square")
entry(M, "std", _ddof(FULL_FLOATS + COMPLEX + INTEGERS), _moment(np.std), units=256, scale="square")
for _name, _function in (("nanvar", np.nanvar), ("nanstd", np.nanstd)):
    entry(M, _name, lambda d: Call((d.array(FULL_FLOATS, filled=True, special=False),), {"ddof": d.below(2)}), _function, units=256,
          scale="square")
numpys("median", reduction(INTEGERS + FLOATS, filled=True))
numpys("nanmedian", reduction(FLOATS, filled=True))

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(dtypes: Any, largest: float) -> Arguments:
    def draw_one(draw: Draw) -> Call:
        x = draw.array(dtypes, filled=True, special=False)  # NumPy has NaN between two infinities
        if draw.special and draw.flag():
            x = np.where(draw.rng.integers(0, 5, x.shape) == 0, np.asarray(np.nan, x.dtype), x)
        q = draw.one(0.0, 0.27, 1.0, 0.71)
        many = draw.array("float32", (3,), 0, 1) * np.float32(largest)
        kwargs = {"axis": draw.axes(x.ndim), "method": draw.one(*METHODS), "keepdims": draw.flag()}
        return Call((x, draw.one(q * largest, many)), kwargs)

    return draw_one


numpys("quantile", _quantile(FULL_FLOATS, 1.0), units=256)
numpys("percentile", _quantile(FULL_FLOATS, 100.0), units=256)
numpys("nanquantile", _quantile(FULL_FLOATS, 1.0), units=256)
numpys("nanpercentile", _quantile(FULL_FLOATS, 100.0), units=256)
numpys("argmax argmin", reduction(REAL, axes=False, filled=True, extremes=True), raw=True)
numpys("nanargmax nanargmin", reduction(FULL_FLOATS, axes=False, filled=True, special=False), raw=True)
entry(
    M,
    "average",
    lambda d: Call(
        (x := d.array(FULL_FLOATS + INTEGERS, filled=True, special=False),),
        d.one({}, {"weights": d.array("float32", x.shape, 0.1, 2)}, {"axis": d.axes(x.ndim)}),
    ),
    np.average,
    units=64,
    scale="largest",
)


def _along(dtypes: Any, **options: Any) -> Arguments:
    def draw_one(draw: Draw) -> Call:
        x = draw.array(dtypes, **options)
        return Call((x,), {"axis": draw.axis(x.ndim) if x.ndim and draw.below(3) else None})

    return draw_one


numpys("cumsum nancumsum", _along(SUMS, special=False), units=64)
numpys("cumprod nancumprod", _along(BOOL + INTEGERS + FULL_FLOATS + COMPLEX, special=False), units=256)
entry(
    M,
    "cumulative_sum",
    lambda d: Call((x := d.array(SUMS, special=False, least=1),), {"axis": d.axis(x.ndim), "include_initial": d.flag()}),
    np.cumulative_sum,
    units=64,
    scale="largest",
)
entry(
    M,
    "cumulative_prod",
    lambda d: Call((x := d.array(INTEGERS + FULL_FLOATS, special=False, least=1),), {"axis": d.axis(x.ndim), "include_initial": d.flag()}),
    np.cumulative_prod,
    units=256,
    scale="largest",
)
numpys(
    "diff",
    lambda d: Call((x := d.array(BOOL + INTEGERS + FLOATS + COMPLEX, special=False, least=1),), {"n": d.below(3), "axis": d.axis(x.ndim)}),
    raw=True,
    units=16,
)
numpys(
    "ediff1d",
    lambda d: Call(
        (x := d.array(INTEGERS + FULL_FLOATS, special=False),),
        d.one({}, {"to_end": np.asarray(3, x.dtype)}, {"to_begin": np.asarray([2, 1], x.dtype)}),
    ),
    raw=True,
)
numpys(
    "gradient",
    lambda d: Call(
        (
            x := d.array(FULL_FLOATS, d.one((5,), (3, 4), (2, 3, 4)), special=False),
            *d.one((), (0.5,)),
        ),
        {"axis": d.axis(x.ndim)},
    ),
)
entry(
    M,
    "trapezoid",
    lambda d: Call((y := d.array(FULL_FLOATS, least=1, special=False),), {"dx": 0.5, "axis": d.axis(y.ndim)}),
    np.trapezoid,
    units=64,
    scale="largest",
)
numpys(
    "cov",
    lambda d: Call((d.array(FULL_FLOATS + COMPLEX, (3, 5), special=False),), d.one({}, {"rowvar": False}, {"bias": True}, {"ddof": 0})),
    units=256,
)
numpys("corrcoef", lambda d: Call((d.array(FULL_FLOATS, (3, 5), special=False),), {"rowvar": d.flag()}), units=256)
entry(M, "minmax", reduction(REAL, filled=True), lambda x, **kwargs: (np.min(x, **kwargs), np.max(x, **kwargs)))

# --- products ---

MATRICES = BOOL + INTEGERS + FLOATS[2:] + COMPLEX


def _pair(draw: Draw, a: tuple[int, ...], b: tuple[int, ...], dtypes: Any = MATRICES) -> Call:
    x = draw.array(dtypes, a, special=False)
    return Call((x, draw.array(x.dtype.name, b, special=False)))


PRODUCTS = (
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (1, 3, 4)),
    ((0, 3), (3, 2)),
    ((2, 0), (0, 3)),
)
numpys("matmul", lambda d: _pair(d, *d.one(*PRODUCTS)), units=64, raw=True)
numpys("dot", lambda d: _pair(d, *d.one(*PRODUCTS[:4], ((), (3,)), ((2, 3), (5, 3, 4)))), units=64, raw=True)
numpys("inner", lambda d: _pair(d, *d.one(((3,), (3,)), ((2, 3), (4, 3)), ((), (2,)))), units=64, raw=True)
numpys("outer", lambda d: _pair(d, *d.one(((3,), (4,)), ((2, 2), (3,)), ((0,), (2,)))), raw=True, units=16)
numpys("vdot", lambda d: _pair(d, *d.one(((3,), (3,)), ((2, 3), (2, 3)))), units=64, raw=True)
numpys("vecdot", lambda d: _pair(d, *d.one(((3,), (3,)), ((2, 3), (2, 3)), ((4, 1, 3), (2, 3)))), units=64, raw=True)
entry(
    M,
    "matvec",
    lambda d: _pair(d, *d.one(((2, 3), (3,)), ((4, 2, 3), (4, 3)))),
    lambda a, x: np.einsum("...ij,...j->...i", a, x),
    units=64,
    scale="largest",
)
entry(
    M,
    "vecmat",
    lambda d: _pair(d, *d.one(((3,), (3, 2)), ((4, 3), (4, 3, 2)))),
    lambda x, a: np.einsum("...i,...ij->...j", x.conj(), a),
    units=64,
    scale="largest",
)
numpys("kron", lambda d: _pair(d, *d.one(((3,), (2,)), ((2, 2), (3, 1)), ((2,), (2, 2)))), raw=True, units=16)
numpys(
    "tensordot",
    lambda d: Call((*_pair(d, (2, 3, 4), (3, 4, 2)).args, d.one(((1, 2), (0, 1)), ((0,), (2,)), ((-1, 1), (1, 0))))),
    units=64,
    raw=True,
)
numpys("cross", lambda d: _pair(d, *d.one(((3,), (3,)), ((2, 3), (2, 3)), ((4, 3), (3,))), INTEGERS + FULL_FLOATS), units=64, raw=True)
EINSUMS = (
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,ij->", (2, 3), (2, 3)),
    ("bij,bjk", (2, 3, 4), (2, 4, 2)),
    ("...i,...i->...", (2, 3), (3,)),
    ("ij,kj->ki", (2, 3), (4, 3)),
    ("i,j", (2,), (3,)),
    ("iij,j->i", (3, 3, 2), (2,)),
)


def _einsum(draw: Draw) -> Call:
    text, a, b = draw.one(*EINSUMS)
    return Call((text, *_pair(draw, a, b).args))


numpys("einsum", _einsum, units=64, raw=True)
numpys("trace", lambda d: Call((d.array(MATRICES, d.one((3, 3), (2, 4), (2, 3, 4)), special=False),), {"offset": d.below(3, -2)}), raw=True)
numpys(
    "convolve correlate",
    lambda d: Call(
        (
            x := d.array(INTEGERS + FULL_FLOATS + COMPLEX, (d.below(6, 1),), special=False),
            d.array(x.dtype.name, (d.below(4, 1),), special=False),
        ),
        {"mode": d.one("full", "same", "valid")},
    ),
    units=64,
    raw=True,
)
