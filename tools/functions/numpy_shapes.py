"""`laminax.numpy`: functions that move elements, make arrays, and index."""

from __future__ import annotations

from typing import Any

import numpy as np

from functions.drawing import FULL_FLOATS, INTEGERS, NUMBERS, Call, Draw
from functions.entries import Arguments, entry, untested

M = "numpy"


def numpys(names: str, draw: Arguments, **options: Any) -> None:
    """Functions that are compared with NumPy's of the same name, on arguments of the same dtype, exactly."""
    for name in names.split():
        entry(M, name, draw, getattr(np, name), **({"raw": True, "units": 0} | options))


def one(*options: Any, least: int = 0, **more: Any) -> Arguments:
    """A call with an array, and one of the options."""

    def draw_one(draw: Draw) -> Call:
        return Call((draw.array(NUMBERS, least=least),), draw.one({}, *options) | more)

    return draw_one


numpys("ravel", one({"order": "F"}, {"order": "C"}))
numpys("transpose", lambda d: Call((x := d.array(NUMBERS),), d.one({}, {"axes": tuple(int(i) for i in d.rng.permutation(x.ndim))})))
entry(
    M,
    "permute_dims",
    lambda d: Call((x := d.array(NUMBERS),), {"axes": tuple(int(i) for i in d.rng.permutation(x.ndim))}),
    lambda x, axes: np.transpose(x, axes),
    raw=True,
    units=0,
)
entry(M, "matrix_transpose", lambda d: Call((d.array(NUMBERS, least=2),)), lambda x: np.swapaxes(x, -1, -2), raw=True, units=0)
numpys("swapaxes", lambda d: Call((x := d.array(NUMBERS, least=1), d.axis(x.ndim), d.axis(x.ndim))))
numpys("moveaxis", lambda d: Call((d.array(NUMBERS, least=2), *d.one((0, -1), (-1, 0), ((0, 1), (1, 0)), ((-1,), (0,))))))
numpys("rollaxis", lambda d: Call((x := d.array(NUMBERS, least=1), d.axis(x.ndim), d.below(x.ndim + 1))))
numpys(
    "reshape",
    lambda d: Call((d.array(NUMBERS, d.one((2, 3), (6,), (3, 2, 1))), d.one((6,), (-1,), (3, 2), (1, -1, 2))), d.one({}, {"order": "F"})),
)
numpys("resize", lambda d: Call((d.array(NUMBERS, (2, 3)), d.one((4,), (3, 3), (0,), (7, 2)))))
numpys("expand_dims", lambda d: Call((d.array(NUMBERS), d.one(0, -1, (0, -1)))))
numpys("squeeze", lambda d: Call((d.array(NUMBERS, (1, 3, 1)),), d.one({}, {"axis": 0}, {"axis": -1}, {"axis": (0, 2)})))
numpys("broadcast_to", lambda d: Call((d.array(NUMBERS, d.one((), (3,), (2, 1), (1, 3))), (2, 3))))
numpys("broadcast_arrays", lambda d: Call((x := d.array(NUMBERS), d.like(x))))
numpys("atleast_1d atleast_2d atleast_3d", one())
numpys("flip", lambda d: Call((x := d.array(NUMBERS),), {"axis": d.axes(x.ndim)}))
numpys("fliplr", one(least=2))
numpys("flipud", one(least=1))
numpys("rot90", lambda d: Call((d.array(NUMBERS, least=2),), {"k": d.below(6, -4), "axes": d.one((0, 1), (1, 0), (-1, 0))}))
numpys(
    "roll",
    lambda d: Call((x := d.array(NUMBERS, least=1), *d.one((d.below(9, -9),), (d.below(9, -9), d.axis(x.ndim)), ((1, -2), (0, -1))))),
)
numpys("repeat", lambda d: Call((x := d.array(NUMBERS, least=1), d.below(4)), d.one({}, {"axis": d.axis(x.ndim)})))
numpys("tile", lambda d: Call((d.array(NUMBERS), d.one(2, (2,), (2, 1, 3), 0, (1, 2)))))
numpys("concatenate", lambda d: Call(([x := d.array(NUMBERS, least=1), x, x.copy()],), {"axis": d.one(None, d.axis(x.ndim))}))
numpys("concat", lambda d: Call(([x := d.array(NUMBERS, least=1), x.copy()],), {"axis": d.axis(x.ndim)}))
numpys("stack", lambda d: Call(([x := d.array(NUMBERS), d.array(x.dtype.name, x.shape)],), {"axis": d.axis(x.ndim + 1)}))
numpys("vstack hstack dstack column_stack", lambda d: Call(([x := d.array(NUMBERS), d.array(x.dtype.name, x.shape)],)))
numpys("append", lambda d: Call((x := d.array(NUMBERS, least=1), x.copy()), d.one({}, {"axis": d.axis(x.ndim)})))
numpys("block", lambda d: Call(([[x := d.array(NUMBERS, (2, 2)), x.copy()], [x, x]],)))
entry(
    M,
    "unstack",
    lambda d: Call((x := d.array(NUMBERS, d.one((3,), (2, 3), (2, 1, 4))),), {"axis": d.axis(x.ndim)}),
    lambda x, axis: list(np.moveaxis(x, axis, 0)),
    raw=True,
    units=0,
)
numpys("split array_split", lambda d: Call((d.array(NUMBERS, (6, 2)), d.one(2, 3, (1, 4), (2, 2, 9)))))
numpys("vsplit", lambda d: Call((d.array(NUMBERS, (6, 2)), d.one(2, (1, 4)))))
numpys("hsplit", lambda d: Call((d.array(NUMBERS, (3, 6)), d.one(2, (1, 4)))))
numpys("dsplit", lambda d: Call((d.array(NUMBERS, (1, 2, 6)), d.one(2, (1, 4)))))
numpys("delete", lambda d: Call((d.array(NUMBERS, (4, 3)), d.one(1, -1, slice(1, 3), slice(None, None, 2))), {"axis": d.one(0, 1, None)}))
numpys("insert", lambda d: Call((x := d.array(NUMBERS, (4, 3)), d.one(1, -1, 4), d.array(x.dtype.name, (3,))), {"axis": 0}))
numpys("trim_zeros", lambda d: Call((d.array(INTEGERS, (6,), 0, 1),), d.one({}, {"trim": "f"}, {"trim": "b"})), traceable=False)
PADS = (
    {"mode": "constant"},
    {"mode": "constant", "constant_values": 3},
    {"mode": "edge"},
    {"mode": "wrap"},
    {"mode": "reflect"},
    {"mode": "symmetric"},
    {"mode": "reflect", "reflect_type": "odd"},
    {"mode": "maximum"},
    {"mode": "minimum"},
    {"mode": "empty"},
)
numpys(
    "pad",
    lambda d: Call(
        (d.array(INTEGERS + FULL_FLOATS, d.one((3,), (2, 3)), special=False), d.one(1, (2, 1), ((0, 2),), 5)), d.one(*PADS[:-1])
    ),
)
numpys("diag", lambda d: Call((d.array(NUMBERS, d.one((3,), (2, 3), (3, 3), (0,))),), {"k": d.below(4, -3)}))
numpys("diagflat", lambda d: Call((d.array(NUMBERS, d.one((3,), (2, 2), ())),), {"k": d.below(3, -2)}))
numpys(
    "diagonal",
    lambda d: Call(
        (d.array(NUMBERS, d.one((3, 4), (2, 3, 4))),),
        {"offset": d.below(3, -2), **d.one({}, {"axis1": 1, "axis2": 0}, {"axis1": -1, "axis2": 0})},
    ),
)
numpys("tril triu", lambda d: Call((d.array(NUMBERS, d.one((3, 4), (2, 3, 3))),), {"k": d.below(4, -3)}))
numpys("copy", one())
numpys("shape ndim size", one())

# --- indexing ---

numpys(
    "take",
    lambda d: Call(
        (x := d.array(NUMBERS, d.one((5,), (3, 4)), special=False), d.array("int32", d.one((), (3,), (2, 2)), -8, 8)),
        {"axis": d.one(None, d.axis(x.ndim)), "mode": d.one("clip", "wrap")},
    ),
    flips=True,
)
numpys("take_along_axis", lambda d: Call((d.array(NUMBERS, (3, 4)), d.array("int32", (3, 2), -4, 3), 1)))
entry(
    M,
    "put_along_axis",
    lambda d: Call(
        (x := d.array(NUMBERS, (3, 4)), np.argsort(d.rng.normal(size=(3, 4)), 1)[:, :2].astype("int32"), d.array(x.dtype.name, (3, 2)), 1),
        {"inplace": False},
    ),
    lambda x, i, v, axis, inplace: _changed(np.put_along_axis, x, i, v, axis),
    raw=True,
    units=0,
    flips=False,
)
entry(
    M,
    "put",
    lambda d: Call(
        (x := d.array(NUMBERS, (3, 4)), np.asarray(d.rng.permutation(12)[:3] - 12 * d.flag(), "int32"), d.array(x.dtype.name, (3,))),
        {"inplace": False, "mode": d.one("wrap", "clip", None)},
    ),
    lambda x, i, v, inplace, mode: _changed(
        lambda *args: np.put(*args, mode=mode or "raise"), x, np.clip(i, 0, 11) if mode == "clip" else i, v
    ),
    raw=True,
    units=0,
    traceable=True,
    flips=False,
)


def _changed(function: Any, x: np.ndarray, *args: Any) -> np.ndarray:
    x = x.copy()
    function(x, *args)
    return x


entry(
    M,
    "place",
    lambda d: Call((x := d.array(NUMBERS, (3, 4)), d.array("bool", (3, 4)), d.array(x.dtype.name, (2,))), {"inplace": False}),
    lambda x, m, v, inplace: _changed(np.place, x, m, v),
    raw=True,
    units=0,
)
entry(
    M,
    "fill_diagonal",
    lambda d: Call((x := d.array(NUMBERS, d.one((3, 3), (4, 2))), d.array(x.dtype.name, ())), {"inplace": False}),
    lambda x, v, inplace: _changed(lambda y: np.fill_diagonal(y, v), x),
    raw=True,
    units=0,
)
numpys("compress", lambda d: Call((d.array("bool", (3,)), d.array(NUMBERS, (3, 4))), {"axis": 0}), traceable=False)
numpys("extract", lambda d: Call((d.array("bool", (3, 4)), d.array(NUMBERS, (3, 4)))), traceable=False)
numpys("nonzero argwhere flatnonzero", lambda d: Call((d.array(NUMBERS, d.one((3,), (2, 3), (0,))),)), traceable=False)
numpys("unravel_index", lambda d: Call((d.array(INTEGERS, (4,), 0, 11), (3, 4))))
numpys(
    "ravel_multi_index",
    lambda d: Call(
        ((d.array("int32", (4,), 0, 9), d.array("int32", (4,), -2, 9)), (3, 4)), {"mode": d.one("clip", "wrap"), "order": d.one("C", "F")}
    ),
)
numpys("tril_indices triu_indices", lambda d: Call((d.below(5), d.below(3, -2))))
numpys("tril_indices_from triu_indices_from", lambda d: Call((d.array("float32", (3, 4)), d.below(3, -2))))
numpys("diag_indices", lambda d: Call((d.below(5),), {"ndim": d.below(4, 1)}))
numpys("diag_indices_from", lambda d: Call((d.array("float32", (3, 3)),)))
numpys("mask_indices", lambda d: Call((d.below(5), d.one(np.tril, np.triu), d.below(3, -2))), traceable=False)
numpys("indices", lambda d: Call(((2, 3),), {"sparse": d.flag()}))
numpys("ix_", lambda d: Call((d.array("int32", (3,)), d.array("int32", (2,)))))
numpys(
    "meshgrid",
    lambda d: Call(
        (d.array(NUMBERS, (3,)), d.array("float32", (2,)), d.array("float32", (0,))), {"indexing": d.one("xy", "ij"), "sparse": d.flag()}
    ),
)

# --- sorting and sets ---

numpys(
    "sort",
    lambda d: Call(
        (x := d.array(NUMBERS, extremes=True),),
        {"axis": None if not x.ndim else d.one(None, d.axis(x.ndim)), **d.one({}, {"stable": True})},
    ),
)
numpys(
    "argsort",
    lambda d: Call(
        (x := d.array(NUMBERS, extremes=True, special=False),),
        {"axis": None if not x.ndim else d.one(None, d.axis(x.ndim)), "stable": True},
    ),
)
numpys("sort_complex", lambda d: Call((d.array(FULL_FLOATS + ("complex64", "complex128"), (5,), special=False),)))
untested(M, "partition argpartition", "the order within parts is free", "packages/api/tests/numpy/test_sorting.py")
numpys("lexsort", lambda d: Call(((d.array("int32", (6,), 0, 2), d.array(INTEGERS, (6,), 0, 2)),)))
numpys(
    "searchsorted",
    lambda d: Call(
        (np.sort(d.array(INTEGERS + FULL_FLOATS, (5,), special=False)), d.array("float32", d.one((), (3,), (2, 2)), -10, 10)),
        {"side": d.one("left", "right")},
    ),
    flips=False,
)
entry(
    M,
    "digitize",
    lambda d: Call(
        (d.array("float32", (2, 3), -10, 10), np.sort(d.array(FULL_FLOATS, (4,), special=False))[:: d.one(1, -1)].copy()),
        {"right": d.flag()},
    ),
    np.digitize,
    flips=False,
)
entry(M, "top_k", lambda d: Call((d.array(INTEGERS + FULL_FLOATS, d.one((5,), (3, 4)), special=False), d.below(4, 1))), None, units=0)
numpys(
    "unique",
    lambda d: Call((d.array(INTEGERS + FULL_FLOATS, d.one((6,), (2, 3)), -3, 3),), {"return_index": d.flag(), "return_counts": d.flag()}),
    traceable=False,
)
entry(M, "unique_values", lambda d: Call((d.array(INTEGERS, d.one((6,), (2, 3)), 0, 3),)), np.unique, raw=True, traceable=False)
numpys("unique_counts unique_all unique_inverse", lambda d: Call((d.array(INTEGERS, d.one((6,), (2, 3)), 0, 3),)), traceable=False)
SETS = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "bool")


def _sets(draw: Draw) -> Call:
    x = draw.array(SETS, draw.one((5,), (2, 3), (0,)), -3, 4)
    return Call((x, draw.array(x.dtype.name, (4,), -3, 4)))


numpys("union1d setdiff1d setxor1d intersect1d", _sets, traceable=False)
numpys("isin", lambda d: Call((*_sets(d).args,), {"invert": d.flag()}))
numpys(
    "bincount",
    lambda d: Call((d.array(INTEGERS, (6,), 0, 7),), d.one({"minlength": 9}, {"minlength": 8, "weights": d.array("float32", (6,), 0, 1)})),
    traceable=False,
    units=16,
)
entry(
    M,
    "histogram",
    lambda d: Call((d.array(FULL_FLOATS, (12,), -3, 3),), d.one({"bins": 4}, {"bins": 5, "range": (-2, 2)}, {"bins": 3, "density": True})),
    np.histogram,
    scale="any",
    units=64,
    flips=False,
)
entry(
    M,
    "histogram_bin_edges",
    lambda d: Call((d.array(FULL_FLOATS, (12,), -3, 3),), d.one({"bins": 4}, {"bins": 5, "range": (-2, 2)})),
    np.histogram_bin_edges,
    units=64,
    scale="largest",
)
entry(
    M,
    "histogram2d",
    lambda d: Call((d.array("float32", (12,), -3, 3), d.array("float32", (12,), -3, 3)), {"bins": 3}),
    np.histogram2d,
    scale="any",
    units=64,
)
entry(M, "histogramdd", lambda d: Call((d.array("float32", (12, 2), -3, 3),), {"bins": 3}), np.histogramdd, scale="any", units=64)
entry(
    M,
    "interp",
    lambda d: Call(
        (d.array("float32", d.one((), (4,), (2, 2)), -6, 6), np.sort(d.array("float32", (5,), -4, 4)), d.array("float32", (5,), -4, 4)),
        d.one({}, {"left": 7.0, "right": -7.0}, {"period": 3.0}),
    ),
    np.interp,
    units=4000,
    scale="largest",
    flips=False,
)
numpys("packbits", lambda d: Call((d.array("bool", d.one((9,), (2, 9))),), {"bitorder": d.one("big", "little"), "axis": d.one(None, -1)}))
numpys(
    "unpackbits", lambda d: Call((d.array("uint8", d.one((3,), (2, 3))),), {"bitorder": d.one("big", "little"), "axis": d.one(None, -1)})
)

# --- creation ---

numpys("zeros ones", lambda d: Call((d.shape(), d.dtype(NUMBERS))))
numpys("zeros_like ones_like", lambda d: Call((d.array(NUMBERS),), d.one({}, {"dtype": "int8"}, {"shape": (2, 2)})))
numpys("full", lambda d: Call((d.shape(), 3, d.dtype(NUMBERS))))
numpys("full_like", lambda d: Call((d.array(NUMBERS), 2), d.one({}, {"dtype": "float32"}, {"shape": (2, 2)})))
entry(M, "empty", lambda d: Call((d.shape(), d.dtype(NUMBERS))), np.zeros)
entry(M, "empty_like", lambda d: Call((d.array(NUMBERS),), d.one({}, {"dtype": "int8"}, {"shape": (2, 2)})), np.zeros_like)
numpys("eye", lambda d: Call((d.below(5), *d.one((), (3,), (None, 1), (4, -2)))))
numpys("identity", lambda d: Call((d.below(5),)))
numpys("tri", lambda d: Call((d.below(5), d.below(5), d.below(3, -2))))
numpys("arange", lambda d: Call(d.one((d.below(7),), (d.below(5, -5), 7), (8, -3, -2), (0.5, 4.0, 0.5), (5, 1))), units=2, scale="largest")
numpys(
    "linspace",
    lambda d: Call((d.below(5, -5), 7.5, d.one(5, 1, 0)), {"endpoint": d.flag(), **d.one({}, {"retstep": True})}),
    units=32,
    scale="largest",
)
numpys("logspace", lambda d: Call((0.0, 2.0, 5), {"endpoint": d.flag(), "base": d.one(10.0, 2.0)}), units=256)
numpys("geomspace", lambda d: Call((1.0, d.one(100.0, 0.01), 5), {"endpoint": d.flag()}), units=256)
numpys("hamming hanning blackman bartlett", lambda d: Call((d.below(9),)), units=32, scale="largest")
numpys("kaiser", lambda d: Call((d.below(9), d.one(0.0, 3.0, 14.0))), units=64, scale="largest")
entry(M, "vander", lambda d: Call((d.array(INTEGERS + FULL_FLOATS, (4,), -3, 3),), d.one({}, {"N": 3, "increasing": True}, {"N": 2})),
      lambda x, N=None, increasing=False: np.vander(x, N, increasing).astype(x.dtype), units=32)  # NumPy's of uint64 is float64
numpys("asarray array", lambda d: Call((d.array(NUMBERS, special=False),), d.one({}, {"dtype": "complex64"})))
entry(
    M,
    "astype",
    lambda d: Call((d.array(INTEGERS + FULL_FLOATS, special=False), d.one("float32", "bool", "int32"))),
    lambda x, dtype: x.astype(dtype),
    raw=True,
    units=2,
)

# --- polynomials ---

COEFFICIENTS = lambda d, n: d.array(INTEGERS + FULL_FLOATS, (n,), -4, 4)  # noqa: E731
numpys(
    "polyadd polysub polymul",
    lambda d: Call((p := d.array(INTEGERS + FULL_FLOATS, (d.below(5, 1),), 1, 4), d.array(p.dtype.name, (d.below(5, 1),), 1, 4))),
    units=32,
)
numpys(
    "polyval",
    lambda d: Call((p := d.array(FULL_FLOATS, (d.below(5, 1),), -4, 4), d.array(p.dtype.name, d.one((), (3,), (2, 2)), -2, 2))),
    units=64,
    scale="largest",
    raw=False,
)
numpys("polyder", lambda d: Call((COEFFICIENTS(d, 5), d.below(4))), units=32)
numpys("polyint", lambda d: Call((d.array(FULL_FLOATS, (4,), -4, 4), d.below(3)), d.one({}, {"k": 2})), units=32)
numpys("poly", lambda d: Call((d.array(FULL_FLOATS, (d.below(5, 1),), -2, 2),)), units=256, scale="largest", raw=False)
entry(
    M,
    "polydiv",
    lambda d: Call((d.array(FULL_FLOATS, (5,), 1, 4), np.asarray([2, *d.rng.uniform(-1, 1, d.below(3, 0))], "float32"))),
    lambda u, v: _divided(u, v),
    units=2000,
    scale="largest",
    flips=False,
)


def _divided(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """NumPy's quotient, and the remainder with its leading zeros."""
    quotient, remainder = np.polydiv(u, v)
    return quotient, np.pad(remainder, (len(u) - len(remainder), 0))


entry(
    M,
    "polyfit",
    lambda d: Call((np.linspace(-1, 1, 7, dtype="float32"), d.array("float32", (7,), -2, 2), 2)),
    np.polyfit,
    units=20000,
    scale="largest",
    flips=False,
)
untested(M, "roots", "the order of roots is free", "packages/api/tests/numpy/test_polynomials.py")

# --- others ---

numpys("broadcast_shapes", lambda d: Call(d.one(((2, 1), (3,)), ((4, 1, 3), (2, 1), ()), ((0,), (1,)))))
DTYPES = ("bool", "int8", "int32", "uint16", "float16", "float32", "complex64")
numpys("can_cast", lambda d: Call((d.one(*DTYPES), d.one(*DTYPES)), {"casting": d.one("safe", "same_kind", "unsafe", "no")}))
numpys("issubdtype", lambda d: Call((d.one(*DTYPES), d.one(*DTYPES, np.integer, np.floating, np.inexact, np.number))))
numpys(
    "isdtype",
    lambda d: Call(
        (np.dtype(d.one(*DTYPES)), d.one("bool", "integral", "signed integer", "real floating", "numeric", ("bool", "complex floating")))
    ),
)
numpys("iterable isscalar", lambda d: Call((d.one(3, 2.5, [1, 2], (), True, None, "text"),)))
untested(
    M,
    "finfo iinfo promote_types result_type",
    "types, not numbers",
    "packages/ir/tests/test_promotion.py",
    "packages/api/tests/numpy/test_result_types.py",
    "packages/api/tests/test_dtypes.py",
)
untested(M, "__array_namespace_info__", "facts, not numbers", "packages/api/tests/numpy/test_array_api.py")
untested(
    M,
    "array_repr array_str get_printoptions set_printoptions printoptions load save savez frombuffer from_dlpack fromfile fromiter "
    "fromstring",
    "text and files",
    "packages/api/tests/numpy/test_text_and_files.py",
)
untested(M, "apply_along_axis apply_over_axes fromfunction frompyfunc piecewise vectorize", "takes functions", "packages/api/tests/numpy")
untested(M, "einsum_path", "a plan, not numbers", "packages/api/tests/numpy/test_manipulation.py")
