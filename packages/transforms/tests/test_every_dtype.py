"""Every family of operations over drawn shapes and all floating dtypes: derivatives to second order, vmap, vmap of grad.

In float64 the oracles are those of `numeric_checks`. A narrower dtype must give the float64 derivative to its own precision,
in its own dtype.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.config import enable_x64
from laminax_ir.ops import contraction, cumulative, indexing, reduction, shape, sorting, special
from laminax_ir.ops import elementwise as op
from laminax_transforms import grad, jvp, vjp, vmap

DTYPES = [np.dtype(d) for d in (ml_dtypes.bfloat16, np.float16, np.float32, np.float64)]


def axes(x):
    return tuple(range(len(x.shape)))


def flat(x):
    return shape.reshape(x, (x.size if hasattr(x, "size") else int(np.prod(x.shape)),))


def typed(value, x):
    return np.asarray(value).astype(x.dtype)


# Functions of two arrays of one shape, smooth where the drawn numbers (0.6 to 1.9, all different) are.
FUNCTIONS = {
    **{f.__name__: (lambda f: lambda x, y: f(x))(f) for f in (
        op.neg, op.exp, op.exp2, op.expm1, op.log, op.log1p, op.logistic, op.sqrt, op.rsqrt, op.cbrt, op.sin, op.cos, op.sinh, op.cosh,
        op.tanh, op.atan, op.asinh, op.square, op.abs, op.sign, op.floor, special.erf, special.erfc, special.lgamma, special.digamma)},
    **{f.__name__: f for f in (op.add, op.sub, op.mul, op.div, op.max, op.min, op.atan2, op.pow)},
    "integer_pow": lambda x, y: op.integer_pow(x, 3), "select": lambda x, y: op.select(op.gt(x, y), op.sin(x), op.mul(x, y)),
    "clamp": lambda x, y: op.clamp(typed(0.9, x), x, typed(1.5, x)),
    "reduce_sum": lambda x, y: reduction.reduce_sum(op.mul(x, y), axes(x)[:1]), "reduce_max": lambda x, y: reduction.reduce_max(op.mul(x, y), axes(x)),
    "reduce_min": lambda x, y: reduction.reduce_min(x, axes(x)[-1:]),
    "reduce_prod": lambda x, y: reduction.reduce_prod(op.tanh(x), axes(x)[:1]),
    "broadcast": lambda x, y: op.mul(shape.broadcast_in_dim(x, (2, *x.shape), tuple(a + 1 for a in axes(x))), typed(2, x)),
    "transpose": lambda x, y: op.sin(shape.transpose(x, axes(x)[::-1])), "reshape": lambda x, y: op.mul(flat(x), flat(y)),
    "rev": lambda x, y: op.mul(shape.rev(x, axes(x)[:1]), y), "concatenate": lambda x, y: op.sin(shape.concatenate([flat(x), flat(y)], 0)),
    "pad": lambda x, y: op.square(shape.pad(flat(x), typed(0.5, x), ((1, 2, 1),))),
    "slice": lambda x, y: op.mul(indexing.slice_in_dim(flat(x), 0, None, 2), typed(3, x)),
    "dot": lambda x, y: contraction.dot(flat(x), op.sin(flat(y))),
    "cumsum": lambda x, y: cumulative.cumsum(op.mul(flat(x), flat(y))), "cummax": lambda x, y: cumulative.cummax(flat(x)),
    "cumlogsumexp": lambda x, y: cumulative.cumlogsumexp(flat(x)), "sort": lambda x, y: op.mul(sorting.sort(flat(x)), flat(y)),
    "dynamic_slice": lambda x, y: op.mul(indexing.dynamic_index_in_dim(flat(x), np.int32(0), keepdims=False), y),
}
shapes = st.lists(st.integers(1, 3), min_size=0, max_size=3).map(tuple)
EXAMPLES = settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def draw(size: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Numbers from 0.6 to 1.9, far enough from each other and from whole numbers for a central difference."""
    rng = np.random.default_rng([seed, *size])
    values = np.setdiff1d(np.arange(0.6, 1.9, 0.013), [1.0])
    return rng.permutation(values[np.abs(values - 1) > 0.02])[:int(np.prod(size))].reshape(size)


def points(size):
    both = draw((2, *size))
    return both[0], both[1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_over_shapes(name):
    @EXAMPLES
    @given(shapes)
    def run(size):
        check_derivatives(FUNCTIONS[name], *points(size))

    run()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_in_every_dtype(name, dtype):
    """The tangents and cotangents of narrow dtypes are those of float64, to a few units in the last place."""
    fun = FUNCTIONS[name]
    eps = float(ml_dtypes.finfo(dtype).eps)

    @EXAMPLES
    @given(shapes)
    def run(size):
        with enable_x64():
            x, y = (v.astype(dtype) for v in points(size))
            if dtype.itemsize == 2 and len({float(v) for v in [*x.ravel(), *y.ravel()]}) < 2 * x.size:
                return  # rounding made a tie, where narrow and wide take different branches
            wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
            tangent = jvp(fun, (x, y), (y, x))[1]
            wide = jvp(fun, (wide_x, wide_y), (wide_y, wide_x))[1]
            assert np.asarray(tangent).dtype == dtype
            scale = float(np.max(np.abs(wide), initial=1.0))
            np.testing.assert_allclose(np.asarray(tangent, np.float64), wide, rtol=40 * eps, atol=40 * eps * scale)
            result, pullback = vjp(fun, x, y)
            cts = pullback(np.ones(np.shape(result), dtype))
            wide_cts = vjp(fun, wide_x, wide_y)[1](np.ones(np.shape(result)))
            for ct, wide_ct in zip(cts, wide_cts):
                assert np.asarray(ct).dtype == dtype
                scale = float(np.max(np.abs(wide_ct), initial=1.0))
                np.testing.assert_allclose(np.asarray(ct, np.float64), wide_ct, rtol=40 * eps, atol=40 * eps * scale)

    run()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vmap_and_vmap_of_grad_in_every_dtype(name, dtype):
    fun = FUNCTIONS[name]
    eps = float(ml_dtypes.finfo(dtype).eps)

    def total(x, y):
        result = fun(x, y)
        return reduction.reduce_sum(result, axes(result))

    @EXAMPLES
    @given(shapes, st.integers(0, 3))
    def run(size, axis):
        with enable_x64():
            axis %= len(size) + 1
            batch = np.moveaxis(draw((2, 2, *size)).astype(dtype), 1, axis + 1)
            x, y = batch[0], batch[1]
            first = np.take(y, 0, axis=axis)
            check_vmap(fun, (x, y), (axis, axis), rtol=20 * eps)
            check_vmap(fun, (x, first), (axis, None), rtol=20 * eps)
            loop = [grad(total, (0, 1))(np.take(x, i, axis), np.take(y, i, axis)) for i in range(2)]
            mapped = vmap(grad(total, (0, 1)), axis, axis)(x, y)
            for k in (0, 1):
                assert np.asarray(mapped[k]).dtype == dtype
                want = np.stack([np.asarray(pair[k], np.float64) for pair in loop], axis)
                np.testing.assert_allclose(np.asarray(mapped[k], np.float64), want, rtol=20 * eps, atol=20 * eps * np.max(np.abs(want), initial=1.0))

    run()
