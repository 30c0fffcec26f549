"""The CPU's kernel for the permutations of LU factorizations: exchanges in NumPy, one after the other."""

import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import linalg
from laminax_ir.ops.loops import fori_loop
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower


def pivots_of(shape, size):
    """As LAPACK gives them: each exchange is with a later row."""
    rng = np.random.default_rng(0)
    return rng.integers(np.arange(shape[-1]), size, shape).astype(np.int32)


def exchanged(pivots, size):
    found = np.tile(np.arange(size, dtype=np.int32), (*pivots.shape[:-1], 1))
    for batch in np.ndindex(pivots.shape[:-1]):
        for i, pivot in enumerate(pivots[batch]):
            found[batch][[i, pivot]] = found[batch][[pivot, i]]
    return found


def text_of(fun, x):
    return lower(stage(lambda x: [fun(x)], [get_aval(x)]), cpu_kernels=True).text


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("shape, size", [((5,), 5), ((1,), 4), ((4,), 9), ((3, 4), 4), ((2, 3, 5), 6), ((1, 1, 3), 3), ((2, 1), 2),
                                         ((100,), 100), ((70, 16), 16)])
def test_against_numpy(shape, size, x64):
    pivots = pivots_of(shape, size)
    with enable_x64(x64):
        text = text_of(lambda x: linalg.lu_pivots_to_permutation(x, size), pivots)
    assert "xla_cpu_small_call" in text
    (found,) = run_text(text, [pivots])
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, exchanged(pivots, size))


@pytest.mark.parametrize("shape, size", [((1,), 1), ((3, 1), 1), ((0,), 3), ((0, 4), 4), ((65, 4), 4)],
                         ids=["one", "ones", "none", "empty", "many"])
def test_what_is_left_to_the_rule(shape, size):
    """A kernel that does not read its operand stops the compiler; many short ones are done together."""
    pivots = pivots_of(shape, size)
    closed = stage(lambda x: [linalg.lu_pivots_to_permutation(x, size)], [get_aval(pivots)])
    text = lower(closed, cpu_kernels=True).text
    assert text == lower(closed).text
    np.testing.assert_array_equal(run_text(text, [pivots])[0], exchanged(pivots, size))


@pytest.mark.parametrize("shape", [(6, 6), (2, 5, 3), (3, 4), (1, 1), (7, 1), (2, 1, 4)])
def test_factors_in_the_order_of_their_rows(shape):
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def factors(a):
        packed, _, permutation = linalg.lu(a)
        return [packed, permutation]

    text = lower(stage(factors, [get_aval(a)]), cpu_kernels=True).text
    packed, permutation = run_text(text, [a])
    k = min(shape[-2:])
    left = np.tril(packed[..., :k], -1) + np.eye(shape[-2], k)
    expected = np.take_along_axis(a, permutation[..., None].astype(np.int64), axis=-2)
    np.testing.assert_allclose(left @ np.triu(packed[..., :k, :]), expected, atol=1e-5)


def test_in_a_loop():
    """Where each permutation gives the exchanges of the next."""
    pivots = pivots_of((6,), 6)
    text = text_of(lambda x: fori_loop(0, 3, lambda i, x: linalg.lu_pivots_to_permutation(x, 6), x), pivots)
    expected = pivots
    for _ in range(3):
        expected = exchanged(expected, 6)
    np.testing.assert_array_equal(run_text(text, [pivots])[0], expected)
