"""Control flow run by XLA, against Python's own branches and loops and the reference evaluator."""

import numpy as np
import pytest
from stablehlo_runner import check, run

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.control_flow import cond, platform_dependent, switch
from laminax_ir.ops.loops import fori_loop, scan, while_loop
from laminax_ir.ops.random_bits import random_bits, random_fold_in, random_unwrap, random_wrap
from laminax_ir.ops.slicing import index_in_dim
from laminax_ir.options import config
from laminax_ir.pytrees.pytree import tree_flatten
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval

f32 = np.float32
X = np.random.default_rng(0).normal(size=(7, 3)).astype(f32)


def at(x, i):
    return index_in_dim(x, i, keepdims=False)


def flat(fun):
    return lambda *args: tree_flatten(fun(*args))[0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, 7, 9, True])
def test_scan(unroll, reverse):
    def step(carry, x):
        return carry * f32(0.5) + x, (carry - x, at(x, 0) > 0)

    def f(init, xs):
        return scan(step, init, xs, reverse=reverse, unroll=unroll)

    check(flat(f), X[0], X, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("length", [0, 1, 2])
def test_short_scans(length):
    check(flat(lambda init, xs: scan(lambda c, x: (c + x, c * x), init, xs, unroll=2)), X[0], X[:length])


def test_scan_without_carry_or_slices():
    check(flat(lambda x: scan(lambda c, _: (c, c), x, None, length=3)), X)
    check(flat(lambda xs: scan(lambda c, x: (c, x * 2), None, xs)), X)
    check(flat(lambda x: scan(lambda c, _: (c * 2, None), x, None, length=3)), X)


def test_constants_in_and_around_the_loop():
    table = np.arange(3, dtype=f32)
    big = np.arange(90, dtype=f32).reshape(30, 3)
    check(flat(lambda w, xs: scan(lambda c, x: (c + table * x * w, big[4] + x), at(xs, 0), xs)),
          f32(3), X, rtol=1e-5)  # XLA may fuse the product and the sum


@pytest.mark.parametrize("n", [-1, 0, 5])
def test_while_loop_and_dynamic_fori_loop(n):
    check(flat(lambda n, x: while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (0, x))), np.int32(n), f32(1.5))
    check(flat(lambda n, x: fori_loop(0, n, lambda i, c: c + i * x, x)), np.int32(n), f32(1.5))
    check(flat(lambda n, x: while_loop(lambda c: c < n, lambda c: c + 1, n)), np.int32(n), f32(1.5))  # one carried value


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 8])
def test_switch(index):
    check(flat(lambda i, x: switch(i, [lambda x: (x, 1), lambda x: (x * 2, 2), lambda x: (-x, 3)], x)), np.int32(index), X)
    check(flat(lambda i, x: switch(i, [op.sin, op.cos], x)), np.int32(index), X, rtol=1e-6)


@pytest.mark.parametrize("pred", [True, False])
def test_cond_with_captured_values(pred):
    check(flat(lambda p, x, y: cond(p, lambda: x * y, lambda: x - 1)), np.bool_(pred), f32(2), f32(3))
    check(flat(lambda p, x: cond(p, lambda: x, lambda: 1.5)), np.bool_(pred), f32(2))
    check(flat(lambda p, x: cond(p, lambda: None, lambda: None)), np.bool_(pred), f32(2))


def test_nested():
    def f(n, xs):
        def step(c, x):
            inner = while_loop(lambda v: v[0] < n, lambda v: (v[0] + 1, v[1] * f32(0.5) + x), (0, c))[1]
            return cond(at(x, 0) > 0, lambda: inner, lambda: scan(lambda a, b: (a + b * c, a), inner, xs)[0]), inner
        return scan(step, at(xs, 0), xs, reverse=True, unroll=2)

    check(flat(f), np.int32(3), X, rtol=1e-5, atol=1e-5)


def test_keys_in_the_carry_and_stacked():
    words = np.array([3, 9], np.uint32)

    def f(words):
        key = random_wrap(words, impl="threefry2x32")

        def step(key, i):
            new = random_fold_in(key, i)
            return new, (random_bits(new, 32, (2,)), new)

        last, (bits, keys) = scan(step, key, np.arange(4, dtype=np.uint32), reverse=True)
        chosen = cond(at(words, 0) > 0, lambda: last, lambda: key)
        return random_unwrap(last), bits, random_unwrap(keys), random_unwrap(chosen)

    check(flat(f), words)
    closed = stage(lambda w: [scan(lambda k, i: (random_fold_in(k, i), None), random_wrap(w, impl="threefry2x32"),
                                   np.arange(2, dtype=np.uint32))[0]], [get_aval(words)])
    expected = random_fold_in(random_fold_in(PRNGKeyArray("threefry2x32", words), np.uint32(0)), np.uint32(1))
    np.testing.assert_array_equal(run(closed, words)[0], expected.base)


def test_counter_is_32_bit_with_64_bit_values():
    with config.enable_x64(True):
        check(flat(lambda xs: scan(lambda c, x: (c + x, c * 2), np.int64(2 ** 40), xs)), np.arange(4, dtype=np.int64))
        check(flat(lambda n: fori_loop(np.int64(0), n, lambda i, c: c + i, np.int64(2 ** 40))), np.int64(5))


def test_platform_dependent():
    check(flat(lambda x: platform_dependent(x, tpu=op.cos, cpu=op.exp)), X, rtol=1e-6)
