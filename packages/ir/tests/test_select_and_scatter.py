"""Picking from windows against a loop over them."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.windows import select_and_scatter, select_and_scatter_add
from laminax_ir.types.errors import DTypeError, ShapeError

F32 = np.float32


def by_loops(x, keeps, window, strides, padding, source, init, combine):
    result = np.full(x.shape, init, x.dtype)
    for place in np.ndindex(source.shape):
        chosen = None
        for offset in np.ndindex(*window):
            at = tuple(p * s + o - low for p, s, o, (low, _) in zip(place, strides, offset, padding))
            if all(0 <= i < n for i, n in zip(at, x.shape)) and (chosen is None or not keeps(x[chosen], x[at])):
                chosen = at
        if chosen is not None:
            result[chosen] = combine(result[chosen], source[place])
    return result


@pytest.mark.parametrize("shape, window, strides, padding", [
    ((5,), (2,), (1,), ((0, 0),)), ((4, 5), (2, 3), (1, 2), ((1, 0), (0, 2))), ((4, 4), (2, 2), (2, 2), ((0, 0), (0, 0))),
    ((2, 2), (1, 1), (1, 1), ((2, 0), (0, 1)))])
@pytest.mark.parametrize("select, keeps", [(op.ge, lambda a, b: a >= b), (op.lt, lambda a, b: a < b)])
@pytest.mark.parametrize("scatter, combine, init", [(op.add, lambda a, b: a + b, 0), (op.mul, lambda a, b: a * b, 1), (op.max, max, -9)])
def test_against_a_loop(shape, window, strides, padding, select, keeps, scatter, combine, init):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 5, size=shape).astype(F32)
    sizes = [(n + low + high - w) // s + 1 for n, w, s, (low, high) in zip(shape, window, strides, padding)]
    source = rng.integers(-3, 4, size=sizes).astype(F32)
    result = select_and_scatter(x, select, window, strides, padding, source, F32(init), scatter)
    np.testing.assert_array_equal(result, by_loops(x, keeps, window, strides, padding, source, init, combine))


def test_adding_is_select_and_scatter_add():
    rng = np.random.default_rng(0)
    x, source = rng.normal(size=(4, 6)).astype(F32), rng.normal(size=(3, 3)).astype(F32)
    window = (2, 2), (1, 2), ((0, 0), (0, 0))
    np.testing.assert_allclose(select_and_scatter(x, op.ge, *window, source, F32(0), op.add),
                               select_and_scatter_add(source, x, op.ge_p, *window), rtol=1e-6)


X, WINDOW = np.ones((4,), F32), ((2,), (2,), ((0, 0),))


@pytest.mark.parametrize("call, error, message", [
    (lambda: select_and_scatter(X, op.ge, *WINDOW, np.ones(3, F32), F32(0), op.add), ShapeError,
     r"one element per window.*f32\[2\].*got f32\[3\]"),
    (lambda: select_and_scatter(X, op.ge, *WINDOW, np.ones(2, np.int32), F32(0), op.add), ShapeError, r"got i32\[2\] and f32\[\]"),
    (lambda: select_and_scatter(X, op.ge, *WINDOW, np.ones(2, F32), np.zeros(1, F32), op.add), ShapeError, r"and f32\[1\]"),
    (lambda: select_and_scatter(X, op.add, *WINDOW, np.ones(2, F32), F32(0), op.add), DTypeError,
     "`select` must return one scalar of dtype bool"),
    (lambda: select_and_scatter(X, op.ge, *WINDOW, np.ones(2, F32), F32(0), op.ge), DTypeError,
     "`scatter` must return one scalar of dtype float32"),
])
def test_malformed_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()
