"""Loops that keep less for their derivatives' loops: the values are those of the program as it is, and of NumPy."""

import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.loops import scan
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

N = 12


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def check(fun, *args, stacks):
    """Results as NumPy's; `stacks` are the numbers of stacks that the loops write, as the program is and with the CPU's kernels."""
    closed = stage(lambda *xs: list(fun(*xs)), [get_aval(x) for x in args])
    text, general = lower(closed, cpu_kernels=True).text, lower(closed).text
    assert (general.count("stablehlo.dynamic_update_slice"), text.count("stablehlo.dynamic_update_slice")) == stacks
    for result, expected in zip(run_text(text, list(args)), evaluate(closed, *args), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)  # sums of some products that the compiler contracts


def forward(x, c):
    """A loop of sines that keeps what its derivative needs: s, cos, and products."""
    def body(x, u):
        y = e.mul(e.add(x, u), c)
        s, t = e.tanh(y), e.exp(e.neg(y))
        return e.add(s, e.mul(x, t)), (e.mul(s, s), t, e.mul(x, t), y)
    return body, x


def test_cheap_values_are_made_again():
    def fun(x, c, us):
        body, x = forward(x, c)
        x, kept = scan(body, x, us)
        def back(ct, k):
            return e.add(e.mul(ct, k[0]), e.sub(e.mul(k[1], k[2]), k[3])), None
        return x, scan(back, x, kept, reverse=True)[0]

    check(fun, normal(5), normal(5, seed=1) / 4, normal(N, 5, seed=2) / 4, stacks=(4, 1))


def test_a_stack_that_is_a_result_stays_and_is_read():
    def fun(x, c, us):
        body, x = forward(x, c)
        x, kept = scan(body, x, us)
        def back(ct, k):
            return e.add(e.mul(ct, k[0]), e.sub(e.mul(k[1], k[2]), k[3])), e.mul(ct, k[1])
        ct, each = scan(back, x, kept, reverse=True)
        return x, kept[1], ct, each

    check(fun, normal(5), normal(5, seed=1) / 4, normal(N, 5, seed=2) / 4, stacks=(5, 3))


def test_two_results_that_are_one_value():
    def fun(x, us):
        def body(x, u):
            y = e.sin(e.add(x, u))
            return y, (y, y, e.mul(y, u), u)
        _, (first, second, third, fourth) = scan(body, x, us)
        back = scan(lambda ct, k: (e.add(e.mul(ct, k[0]), e.mul(k[1], k[2])), None), x, (first, third, fourth), reverse=True)[0]
        return first, second, back

    check(fun, normal(3), normal(N, 3, seed=1), stacks=(4, 2))


def test_products_are_kept_and_not_made_again():
    def fun(x, w):
        def body(x, _):
            y = dot_general(w, x, (((1,), (0,)), ((), ())))
            s = e.tanh(y)
            return s, (s, e.sub(np.float32(1), e.mul(s, s)))
        x, (s, slope) = scan(body, x, None, length=N)
        def back(ct, k):
            return dot_general(e.mul(ct, k[1]), w, (((0,), (0,)), ((), ()))), e.mul(ct, k[0])
        ct, each = scan(back, x, (s, slope), reverse=True)
        return x, ct, each

    check(fun, normal(40), normal(40, 40, seed=1) / 8, stacks=(3, 2))


@pytest.mark.parametrize("length", [0, 1])
def test_lengths(length):
    def fun(x, c, us):
        body, x = forward(x, c)
        x, kept = scan(body, x, us)
        return x, scan(lambda ct, k: (e.add(e.mul(ct, k[0]), e.mul(k[1], k[2])), None), x, kept, reverse=True)[0]

    args = normal(5), normal(5, seed=1) / 4, normal(length, 5, seed=2)
    closed = stage(lambda *xs: list(fun(*xs)), [get_aval(x) for x in args])
    for result, expected in zip(run_text(lower(closed, cpu_kernels=True).text, list(args)), evaluate(closed, *args), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_what_is_read_in_parts_stays():
    def fun(x, us):
        _, (a, b) = scan(lambda x, u: (e.sin(x), (e.exp(u), e.cos(e.exp(u)))), x, us)
        parts = [slice_in_dim(v, 0, N // 2) for v in (a, b)]
        return [scan(lambda c, k: (e.add(c, e.mul(k[0], k[1])), None), x, tuple(parts))[0]]

    check(fun, normal(3), normal(N, 3, seed=1) / 4, stacks=(2, 2))
