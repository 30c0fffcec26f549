"""Windowed reductions: the forms of their arguments, and what is refused."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise, windows
from laminax_ir.ops.elementwise import ge_p, lt_p
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import DTypeError, ShapeError

f32 = np.float32
inf = np.inf
reduce_window = windows.reduce_window


def test_variadic_window_finds_maxima_with_their_places():
    x = np.random.default_rng(0).normal(size=8).astype(f32)

    def later(a, b):
        keep = elementwise.ge(a[0], b[0])
        return tuple(elementwise.select(keep, p, q) for p, q in zip(a, b))

    value, place = reduce_window((x, np.arange(8, dtype=np.int32)), (f32(-inf), np.int32(-1)), later, (3,), (2,))
    np.testing.assert_array_equal(value, [x[i:i + 3].max() for i in (0, 2, 4)])
    np.testing.assert_array_equal(place, [i + x[i:i + 3].argmax() for i in (0, 2, 4)])


@pytest.mark.parametrize("computation, init, dtype, name", [
    (elementwise.add, 0.0, f32, "reduce_window_sum"), (elementwise.max, -inf, f32, "reduce_window_max"),
    (elementwise.min, inf, f32, "reduce_window_min"), (elementwise.max, False, bool, "reduce_window_max"),
    (elementwise.mul, f32(1), f32, "reduce_window"), (elementwise.max, f32(0), f32, "reduce_window"),
])
def test_known_monoids_have_primitives(computation, init, dtype, name):
    jaxpr = stage(lambda x: [reduce_window(x, init, computation, (2,))], [ShapedArray((5,), dtype)])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == [name] and jaxpr.out_avals == [ShapedArray((4,), dtype)]


def test_same_padding_with_dilations():
    x = np.ones((4, 6), f32)
    assert reduce_window(x, 0.0, elementwise.add, (2, 2), (1, 1), "SAME", (2, 1), (1, 2)).shape == (7, 6)


y = np.ones((4, 6), f32)
add = elementwise.add


@pytest.mark.parametrize("call, error, words", [
    (lambda: reduce_window(y, 0.0, add, (2,)), ShapeError,
     "window_dimensions must have one entry per axis of the operand of shape (4, 6), 2, got (2,)"),
    (lambda: reduce_window(y, 0.0, add, (0, 2)), ShapeError, "window_dimensions must have every element be strictly positive"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (0, 1)), ShapeError, "window_strides must have every element be strictly positive"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1,)), ShapeError, "window_strides"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1,), "SAME"), ShapeError, "window_strides"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1, 1), "FOO"), ValueError, "'FOO'"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1, 1), [(0, 0)]), ShapeError, "expected 2, got 1"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), (1, 1), [(-9, 0), (0, 0)]), ValueError, "negative padding"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), base_dilation=(0, 1)), ShapeError,
     "base_dilation must have every element be strictly positive"),
    (lambda: reduce_window(y, 0.0, add, (2, 2), window_dilation=(0, 1)), ShapeError,
     "window_dilation must have every element be strictly positive"),
    (lambda: reduce_window(y, np.zeros(2, f32), add, (2, 2)), ShapeError, "scalars"),
    (lambda: reduce_window(y, np.int32(1), lambda a, b: add(a, b), (2, 2)), DTypeError, "initial values"),
    (lambda: windows.select_and_scatter_add(y, y, ge_p, (2, 2), (1, 1), [(0, 0)] * 2), ShapeError, "one element per window"),
    (lambda: windows.select_and_scatter_add(y, y, lt_p, (1, 1), (1, 1), [(0, 0)] * 2), ValueError, "ge_p or le_p"),
    (lambda: windows.select_and_gather_add(y[0], y, ge_p, (1, 1), (1, 1), [(0, 0)] * 2), ShapeError, "operand's shape"),
    (lambda: windows.select_and_gather_add(y > 0, y > 0, ge_p, (1, 1), (1, 1), [(0, 0)] * 2), DTypeError, "bool"),
])
def test_malformed_calls(call, error, words):
    with pytest.raises(error) as info:
        call()
    assert words in str(info.value)


def test_the_computation_of_windows_returns_the_structure_of_the_operands():
    with pytest.raises(ValueError, match="reduce_window output must have the same tree structure as the operands"):
        reduce_window(y, 0.0, lambda a, b: [a + b], (2, 2))
