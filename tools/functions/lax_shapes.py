"""`laminax.lax`: functions that move elements, sort, reduce and convolve, and what is tested elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from functions.drawing import BOOL, COMPLEX, FULL_FLOATS, INTEGERS, NUMBERS, Call, Draw
from functions.entries import entry, untested

L = "lax"

entry(
    L,
    "broadcast",
    lambda d: Call((d.array(NUMBERS), d.one((2,), (2, 3), ()))),
    lambda x, sizes: np.broadcast_to(x, (*sizes, *x.shape)),
    raw=True,
    units=0,
)
entry(
    L,
    "broadcast_in_dim",
    lambda d: Call((d.array(NUMBERS, (2, 1)), (3, 2, 4), d.one((1, 2), (1, 2)))),
    lambda x, shape, dims: np.broadcast_to(x, shape),
    raw=True,
    units=0,
)
entry(L, "reshape", lambda d: Call((d.array(NUMBERS, (2, 3)), d.one((6,), (3, 2), (1, 6)))), np.reshape, raw=True, units=0)
entry(
    L,
    "transpose",
    lambda d: Call((x := d.array(NUMBERS), tuple(int(i) for i in d.rng.permutation(x.ndim)))),
    np.transpose,
    raw=True,
    units=0,
)
entry(L, "rev", lambda d: Call((x := d.array(NUMBERS, least=1), (d.below(x.ndim),))), np.flip, raw=True, units=0)
entry(L, "squeeze", lambda d: Call((d.array(NUMBERS, (1, 3, 1)), d.one((0,), (2,), (0, 2)))), np.squeeze, raw=True, units=0)
entry(L, "expand_dims", lambda d: Call((d.array(NUMBERS, (2, 3)), d.one((0,), (1, 3), (-1,)))), np.expand_dims, raw=True, units=0)
entry(L, "collapse", lambda d: Call((d.array(NUMBERS, (2, 3, 4)), 0, 2)), lambda x, a, b: x.reshape(6, 4), raw=True, units=0)
entry(L, "concatenate", lambda d: Call(([x := d.array(NUMBERS, least=1), x.copy()], d.below(x.ndim))), np.concatenate, raw=True, units=0)
entry(
    L,
    "slice",
    lambda d: Call((d.array(NUMBERS, (5, 6)), (1, 2), (4, 6), d.one(None, (1, 2), (2, 3)))),
    lambda x, a, b, s: x[a[0] : b[0] : (s or (1, 1))[0], a[1] : b[1] : (s or (1, 1))[1]],
    raw=True,
    units=0,
)
entry(
    L,
    "slice_in_dim",
    lambda d: Call((d.array(NUMBERS, (5, 6)), d.below(4), d.one(None, 5)), {"axis": 1}),
    lambda x, a, b, axis: x[:, a:b],
    raw=True,
    units=0,
)
entry(
    L,
    "index_in_dim",
    lambda d: Call((d.array(NUMBERS, (5, 6)), d.below(5, -5)), {"keepdims": d.flag()}),
    lambda x, i, keepdims: np.take(x, [i] if keepdims else i, 0),
    raw=True,
    units=0,
)
entry(
    L,
    "dynamic_slice",
    lambda d: Call((d.array(NUMBERS, (5, 6)), (d.array("int32", (), -7, 9), d.array("int32", (), -7, 9)), (2, 3))),
    lambda x, at, size: x[(i := _start(at[0], 5, 2)) : i + 2, (j := _start(at[1], 6, 3)) : j + 3],
    raw=True,
    units=0,
)
entry(
    L,
    "dynamic_index_in_dim",
    lambda d: Call((d.array(NUMBERS, (5, 6)), d.array("int32", (), -7, 9)), {"keepdims": False}),
    lambda x, i, keepdims: x[_start(i, 5, 1)],
    raw=True,
    units=0,
)
entry(
    L,
    "dynamic_slice_in_dim",
    lambda d: Call((d.array(NUMBERS, (5, 6)), d.array("int32", (), -7, 9), 2)),
    lambda x, i, n: x[(k := _start(i, 5, 2)) : k + 2],
    raw=True,
    units=0,
)
entry(
    L,
    "dynamic_update_slice",
    lambda d: Call(
        (x := d.array(NUMBERS, (5, 6)), d.array(x.dtype.name, (2, 3)), (d.array("int32", (), -7, 9), d.array("int32", (), -7, 9)))
    ),
    lambda x, u, at: _updated(x, u, (_start(at[0], 5, 2), _start(at[1], 6, 3))),
    raw=True,
    units=0,
)
entry(
    L,
    "dynamic_update_slice_in_dim",
    lambda d: Call((x := d.array(NUMBERS, (5, 6)), d.array(x.dtype.name, (2, 6)), d.array("int32", (), -7, 9), 0)),
    lambda x, u, i, axis: _updated(x, u, (_start(i, 5, 2), 0)),
    raw=True,
    units=0,
)
entry(
    L,
    "dynamic_update_index_in_dim",
    lambda d: Call((x := d.array(NUMBERS, (5, 6)), d.array(x.dtype.name, (6,)), d.array("int32", (), -7, 9), 0)),
    lambda x, u, i, axis: _updated(x, u[None], (_start(i, 5, 1), 0)),
    raw=True,
    units=0,
)


def _start(i: Any, size: int, length: int) -> int:
    """Where a slice begins: negative indices count from the end, and the slice lies inside."""
    i = int(i)
    return min(max(i + size if i < 0 else i, 0), size - length)


def _updated(x: np.ndarray, u: np.ndarray, at: tuple[int, int]) -> np.ndarray:
    x = x.copy()
    x[at[0] : at[0] + u.shape[0], at[1] : at[1] + u.shape[1]] = u
    return x


entry(L, "iota", lambda d: Call((d.dtype(INTEGERS + FULL_FLOATS), d.below(7))), lambda dtype, n: np.arange(n, dtype=dtype), units=0)
entry(L, "full", lambda d: Call((d.shape(), 3, d.dtype(INTEGERS + FULL_FLOATS))), np.full)
entry(
    L,
    "sort",
    lambda d: Call((x := d.array(NUMBERS, least=1, extremes=True),), {"dimension": d.axis(x.ndim)}),
    lambda x, dimension: np.sort(x, dimension),
    raw=True,
    units=0,
)
for name, oracle in (("cumsum", np.cumsum), ("cumprod", np.cumprod), ("cummax", np.maximum.accumulate), ("cummin", np.minimum.accumulate)):
    entry(
        L,
        name,
        lambda d: Call(
            (x := d.array(("int32", "uint8", "float32", "float64"), least=1, special=False),),
            {"axis": d.below(x.ndim), "reverse": d.flag()},
        ),
        lambda x, axis, reverse, oracle=oracle: np.flip(oracle(np.flip(x, axis), axis=axis), axis) if reverse else oracle(x, axis=axis),
        units=256,
        scale="largest",
    )
entry(
    L,
    "cumlogsumexp",
    lambda d: Call((x := d.array(FULL_FLOATS, least=1, low=-5, high=5),), {"axis": d.below(x.ndim)}),
    lambda x, axis: np.logaddexp.accumulate(x, axis),
    units=64,
    scale="largest",
)
for name, oracle in (("argmax", np.argmax), ("argmin", np.argmin)):
    entry(
        L,
        name,
        lambda d: Call((x := d.array(INTEGERS + FULL_FLOATS, least=1, filled=True), d.below(x.ndim), "int32")),
        lambda x, axis, dtype, oracle=oracle: oracle(x, axis),
        raw=True,
    )
for name, oracle in (("reduce_sum", np.sum), ("reduce_prod", np.prod), ("reduce_max", np.max), ("reduce_min", np.min)):
    entry(
        L,
        name,
        lambda d: Call((x := d.array(("int32", "float32", "float64"), least=1, filled=True, special=False), (d.below(x.ndim),))),
        oracle,
        units=256,
        scale="largest",
    )
for name, oracle in (("reduce_and", np.bitwise_and), ("reduce_or", np.bitwise_or), ("reduce_xor", np.bitwise_xor)):
    entry(
        L,
        name,
        lambda d: Call((x := d.array(BOOL + INTEGERS, least=1, filled=True), (d.below(x.ndim),))),
        lambda x, axes, oracle=oracle: oracle.reduce(x, axis=axes),
        raw=True,
    )
entry(L, "top_k", lambda d: Call((d.array(INTEGERS + FULL_FLOATS, d.one((5,), (3, 4)), special=False), d.below(4, 1))), units=0)
entry(L, "tile", lambda d: Call((d.array(NUMBERS, (2, 3)), d.one((2, 1), (1, 3)))), np.tile, raw=True, units=0)
entry(
    L,
    "dot",
    lambda d: Call((x := d.array(FULL_FLOATS + COMPLEX, (2, 3), -2, 2), d.array(x.dtype.name, d.one((3,), (3, 4)), -2, 2))),
    np.dot,
    units=64,
    scale="largest",
)
entry(
    L,
    "batch_matmul",
    lambda d: Call((x := d.array(FULL_FLOATS, (5, 2, 3), -2, 2), d.array(x.dtype.name, (5, 3, 4), -2, 2))),
    np.matmul,
    units=64,
    scale="largest",
)


def _conv(draw: Draw, spatial: tuple[int, ...] = (6, 5), window: tuple[int, ...] = (3, 2)) -> tuple[np.ndarray, np.ndarray]:
    """An image [batch, features, *spatial] and a kernel [features out, features in, *window]."""
    x = draw.array(FULL_FLOATS, (2, 3, *spatial), -2, 2)
    return x, draw.array(x.dtype.name, (4, 3, *window), -2, 2)


SUMS = {"units": 64, "scale": "largest"}
entry(L, "conv", lambda d: Call((*_conv(d), (1, 2), d.one("SAME", "VALID"))), **SUMS)
entry(L, "conv_with_general_padding", lambda d: Call((*_conv(d), (1, 2), ((1, 0), (2, -1)), (1, 2), (2, 1))), **SUMS)
entry(
    L,
    "conv_transpose",
    lambda d: Call(
        (d.array("float32", (2, 6, 5, 3), -2, 2), d.array("float32", (3, 2, 3, 4), -2, 2), d.one((1, 2), (2, 3)), d.one("SAME", "VALID"))
    ),
    **SUMS,
)
entry(
    L,
    "conv_general_dilated_patches",
    lambda d: Call((d.array("float32", (2, 3, 6, 5), -2, 2), (3, 2), (1, 2), d.one("SAME", "VALID"))),
    **SUMS,
)
entry(
    L,
    "conv_general_dilated_local",
    lambda d: Call((d.array("float32", (2, 3, 6, 5), -2, 2), d.array("float32", (4, 18, 4, 4), -2, 2), (1, 1), "VALID", (3, 2))),
    **SUMS,
)
entry(
    L,
    "sort_key_val",
    lambda d: Call(
        (x := d.array(INTEGERS + FULL_FLOATS, d.one((6,), (2, 5)), special=False), d.array("int32", x.shape)), {"dimension": d.axis(x.ndim)}
    ),
    lambda x, y, dimension: (np.sort(x, dimension), np.take_along_axis(y, np.argsort(x, dimension, kind="stable"), dimension)),
    raw=True,
    units=0,
)
entry(
    L,
    "broadcast_like",
    lambda d: Call((d.array(NUMBERS, d.one((), (3,), (2, 1))), d.array("float32", (2, 3)))),
    lambda x, like: np.broadcast_to(x, like.shape),
    raw=True,
    units=0,
)
entry(
    L,
    "broadcast_to_rank",
    lambda d: Call((x := d.array(NUMBERS), x.ndim + d.below(3))),
    lambda x, rank: x.reshape((1,) * (rank - x.ndim) + x.shape),
    raw=True,
    units=0,
)
entry(
    L,
    "broadcasted_iota",
    lambda d: Call((d.dtype(INTEGERS), (2, 3), d.below(2))),
    lambda dtype, shape, axis: np.indices(shape)[axis],
    units=0,
)
entry(L, "empty", lambda d: Call((d.shape(), d.dtype(NUMBERS))), np.zeros)
entry(L, "full_like", lambda d: Call((d.array(NUMBERS), 2), d.one({}, {"dtype": "float32"}, {"shape": (2, 2)})), np.full_like, raw=True)
entry(
    L,
    "split",
    lambda d: Call((d.array(NUMBERS, (6, 2)), d.one((2, 4), (1, 0, 5), (6,)))),
    lambda x, sizes: np.split(x, np.cumsum(sizes)[:-1]),
    raw=True,
    units=0,
)
entry(L, "stack", lambda d: Call(([x := d.array(NUMBERS), x.copy()],), {"axis": d.axis(x.ndim + 1)}), np.stack, raw=True, units=0)
entry(
    L,
    "unstack",
    lambda d: Call((x := d.array(NUMBERS, d.one((3,), (2, 3))),), {"axis": d.axis(x.ndim)}),
    lambda x, axis: list(np.moveaxis(x, axis, 0)),
    raw=True,
    units=0,
)
entry(L, "broadcast_shapes", lambda d: Call(d.one(((2, 1), (3,)), ((0,), (1,)))), np.broadcast_shapes)

OPERATIONS = """approx_max_k approx_min_k bitcast_convert_type conv_general_dilated convert_element_type copy dot_general fft gather
    igamma_grad_a one_minus_square
    pad polynomial ragged_dot ragged_dot_general random_gamma_grad reduce reduce_precision reduce_window rng_bit_generator rng_uniform
    scatter scatter_add scatter_apply
    scatter_max scatter_min scatter_mul scatter_sub"""
untested(L, OPERATIONS, "operations: drawn against their references", "packages/api/tests/compiled", "packages/api/tests/test_lax.py")
untested(
    L,
    "conv_dimension_numbers conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple padtype_to_pads "
    "reduce_window_shape_tuple",
    "shapes, not numbers",
    "packages/ir/tests/test_shape_tuples.py",
    "packages/ir/tests/test_convolution.py",
)
untested(
    L,
    "dtype shape_as_value index_take",
    "types, shapes and an old name",
    "packages/api/tests/test_lax.py",
    "packages/ir/tests/test_indexing.py",
    "packages/api/tests/test_export_symbolic.py",
    "packages/api/tests/numpy/test_dynamic_slices.py",
)
untested(
    L,
    "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute pshuffle psum psum_scatter pswapaxes psend "
    "precv ragged_all_to_all "
    "with_sharding_constraint",
    "collectives",
    "packages/api/tests/eight_devices",
    "packages/ir/tests",
)
untested(
    L,
    "associative_scan composite cond custom_linear_solve custom_root dce_sink fori_loop map optimization_barrier platform_dependent "
    "scan stage stop_gradient "
    "switch while_loop after_all create_token",
    "control flow and identities",
    "tools/fuzzing",
    "packages/api/tests",
    "packages/ir/tests/test_derived.py",
)
untested(L, "scaled_dot", "operands of four and eight bits with scales", "packages/ir/tests/test_scaled_dot.py")
