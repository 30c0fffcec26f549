"""Stacks of loops on one CPU device: which depend on what the loop reads."""

import numpy as np
import pytest

from laminax_ir.ops.elementwise import add, tanh
from laminax_ir.ops.loops import scan
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower
from laminax_lowering.rules import control_flow_cpu

ROWS = 16
LARGE = control_flow_cpu.MIN_BYTES // (4 * ROWS)


def _text(fun, size=LARGE, dtype=np.float32, **options):
    avals = [ShapedArray((size,), np.dtype(dtype)), ShapedArray((ROWS, size), np.dtype(dtype))]
    return lower(stage(fun, avals, "f"), **options).text


def _is_late(text):
    """Whether a number is compared with itself: of a loop there is only the comparison of its counter otherwise."""
    return text.count('"stablehlo.compare"') > text.count('"stablehlo.while"')


def _sums(carry, xs):
    return scan(lambda total, x: (add(total, x), tanh(x)), carry, xs)


def _of_results(carry, xs):
    return [*_sums(carry, tanh(xs))]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stacks_of_a_loop_over_results_are_late(dtype):
    assert _is_late(_text(_of_results, dtype=dtype, cpu_kernels=True))


@pytest.mark.parametrize("options", [{}, {"cpu_kernels": True, "platform": "tpu"}, {"cpu_kernels": True, "num_partitions": 2}])
def test_only_on_one_cpu_device(options):
    assert not _is_late(_text(_of_results, **options))


def test_small_stacks_and_those_of_arguments_are_zeros():
    assert not _is_late(_text(_of_results, LARGE - 1, cpu_kernels=True))
    assert not _is_late(_text(lambda carry, xs: [*_sums(carry, xs)], cpu_kernels=True))


def test_a_stack_inside_of_a_loop_is_zeros():
    def fun(carry, xs):
        return [scan(lambda total, _: (_sums(total, tanh(xs))[0], total), tanh(carry), None, length=3)[0]]
    assert not _is_late(_text(fun, cpu_kernels=True))
