"""Sums along a short last axis on one CPU device, and which programs have reductions that the compiler had better do itself."""

import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import reduction
from laminax_ir.ops.elementwise import add, mul
from laminax_ir.ops.loops import fori_loop
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

RNG = np.random.default_rng(0)


def lowered(fun, x, **options):
    with enable_x64(x.dtype == np.float64):
        closed = stage(lambda x: [fun(x)], [get_aval(x)])
    return lower(closed, cpu_kernels=True, **{"has_new_cpu_compiler": True, **options})


@pytest.mark.parametrize("shape", [(60_000, 2), (200, 200, 3), (30_000, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_are_additions_in_order(shape, dtype):
    x = RNG.normal(size=shape).astype(dtype)
    text = lowered(lambda x: reduction.reduce_sum(x, (len(shape) - 1,)), x).text
    assert "stablehlo.reduce" not in text
    expected = x[..., 0]
    for i in range(1, shape[-1]):
        expected = expected + x[..., i]
    np.testing.assert_array_equal(run_text(text, [x])[0], expected)


@pytest.mark.parametrize("shape, axes, dtype", [((60_000, 2), (0,), "float32"), ((30_000, 5), (1,), "float32"),
                                                ((1000, 3), (1,), "float32"), ((60_000, 2), (0, 1), "float32"),
                                                ((60_000, 2), (1,), "int32")])
def test_what_is_left_to_the_rule(shape, axes, dtype):
    assert "stablehlo.reduce" in lowered(lambda x: reduction.reduce_sum(x, axes), np.ones(shape, dtype)).text


def test_the_compiler_of_jaxlib_0_10_has_no_library_for_them():
    assert "stablehlo.reduce" in lowered(lambda x: reduction.reduce_sum(x, (1,)), np.ones((60_000, 2), np.float32),
                                         has_new_cpu_compiler=False).text


def looped(fun):
    return lambda x: fori_loop(0, 3, lambda _, x: fun(x), x)


def less_its_sum(axes):
    def fun(x):
        total = reduction.reduce_sum(x, axes)
        return add(x, broadcast_in_dim(total, x.shape, [i for i in range(x.ndim) if i not in axes]))
    return fun


@pytest.mark.parametrize("fun, shape, are_short", [
    (looped(less_its_sum((1,))), (64, 64, 3), True),
    (looped(less_its_sum((1,))), (100, 100, 3), True),  # of three side by side the library makes no more
    (looped(less_its_sum((0,))), (10_000,), True),
    (looped(less_its_sum((0,))), (20_000,), False),
    (looped(less_its_sum((1,))), (100, 1000), False),
    (less_its_sum((1,)), (64, 64, 3), False),  # no loop
    (looped(lambda x: mul(x, x)), (64, 64, 3), False),  # no reduction
    (lambda x: less_its_sum((0,))(looped(less_its_sum((1,)))(x)), (64, 64, 3), False),  # as many outside
    (lambda x: less_its_sum((1,))(looped(less_its_sum((1,)))(x)), (100, 1000), False),
])
def test_programs_with_short_reductions_in_loops(fun, shape, are_short):
    x = np.ones(shape, np.float32)
    assert lowered(fun, x).convention.has_short_reductions == are_short
    with enable_x64(False):
        closed = stage(lambda x: [fun(x)], [get_aval(x)])
    assert not lower(closed).convention.has_short_reductions
