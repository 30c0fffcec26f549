"""Random streams: which key a module draws where. Keys are those of Flax: SHA-1 of the path and the number, folded into the stream's key.

The paths were found with flax 0.12.12: a place is the names on the way down, then how many keys were drawn there. Lifted `jit` starts a
new stream from a key of its own; `split` stands for one key for each example or step.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import laminax as lx
from laminax import linen as nn

KEY = lx.random.key(0)


def fold(key, *path):
    digest = hashlib.sha1()
    for part in path:
        digest.update(part.encode() if isinstance(part, str) else part.to_bytes((part.bit_length() + 7) // 8, "big"))
    return lx.random.fold_in(key, np.uint32(int.from_bytes(digest.digest()[:4], "big")))


def drawn(module):
    return lx.random.key_data(module.make_rng("params"))


class Inner(nn.Module):
    @nn.compact
    def __call__(self):
        return drawn(self), drawn(self)


class Outer(nn.Module):
    body: object

    @nn.compact
    def __call__(self):
        drawn(self)
        return self.body(self), drawn(self)


def run(body, **kwargs):
    return Outer(body).apply({}, rngs={"params": KEY}, **kwargs)


def assert_keys(got, *expected):
    np.testing.assert_array_equal(np.reshape(got, (-1, 2)), [lx.random.key_data(key) for key in expected])


def test_each_place_counts_for_itself():
    def body(module):
        inner = Inner(name="a")
        return inner(), inner()
    (first, second), after = run(body)
    assert_keys(first, fold(KEY, "a", 1), fold(KEY, "a", 2))
    assert_keys(second, fold(KEY, "a", 3), fold(KEY, "a", 4))
    assert_keys(after, fold(KEY, 2))


def test_a_missing_stream_is_that_of_params():
    class Model(nn.Module):
        def __call__(self):
            return drawn(self), lx.random.key_data(self.make_rng("dropout"))
    assert_keys(Model().apply({}, rngs={"params": KEY}), fold(KEY, 1), fold(KEY, 2))


def test_jit_draws_a_key_for_itself_and_goes_on_from_there():
    inside, after = run(lambda module: nn.jit(lambda module: (drawn(module), *Inner(name="a")()))(module))
    assert_keys(inside, fold(fold(KEY, 2), 3), fold(fold(KEY, 2), "a", 1), fold(fold(KEY, 2), "a", 2))
    assert_keys(after, fold(KEY, 4))


def test_a_jitted_module_that_is_called_again_draws_other_keys_and_the_same_in_another_apply():
    def body(module):
        inner = nn.jit(Inner)(name="a")
        return inner(), inner()
    for _ in range(2):
        (first, second), _ = run(body)
        assert_keys(first, fold(fold(KEY, "a", 1), 2), fold(fold(KEY, "a", 1), 3))
        assert_keys(second, fold(fold(KEY, "a", 4), 5), fold(fold(KEY, "a", 4), 6))


def test_a_compiled_call_that_is_not_traced_counts_too():
    jitted = nn.jit(Inner)

    def body(module):
        return jitted(name="a")(), drawn(module)
    once, again = run(body), run(body)
    assert_keys(once[0][1], fold(KEY, 2))
    assert_keys(again[0][1], fold(KEY, 2))


def test_remat_draws_the_same_keys():
    inside, after = run(lambda module: nn.remat(lambda module: drawn(module))(module))
    assert_keys(inside, fold(KEY, 2))
    assert_keys(after, fold(KEY, 3))


@pytest.mark.parametrize("split", [True, False])
def test_vmap(split):
    inside, after = run(lambda module: nn.vmap(drawn, split_rngs={"params": split}, axis_size=2)(module))
    keys = lx.random.split(KEY, 2) if split else [KEY, KEY]
    assert_keys(inside, fold(keys[0], 2), fold(keys[1], 2))
    assert_keys(after, fold(KEY, 3))


@pytest.mark.parametrize("split", [True, False])
def test_scan_traces_twice_and_counts_twice(split):
    def body(module):
        return nn.scan(lambda module, carry, x: (carry, drawn(module)), split_rngs={"params": split})(module, 0.0, np.zeros(2))[1]
    inside, after = run(body)
    keys = lx.random.split(KEY, 2) if split else [KEY, KEY]
    assert_keys(inside, fold(keys[0], 3), fold(keys[1], 3))
    assert_keys(after, fold(KEY, 4))


@pytest.mark.parametrize("split", [True, False])
def test_while_loop(split):
    def step(module, state):
        i, keys = state
        return i + 1, keys.at[i].set(drawn(module))

    def body(module):
        start = (lx.numpy.array(0), lx.numpy.zeros((2, 2), np.uint32))
        return nn.while_loop(lambda module, state: state[0] < 2, step, module, start, split_rngs={"params": split})[1]
    inside, after = run(body)
    keys = [lx.random.fold_in(KEY, i) for i in range(2)] if split else [KEY, KEY]
    assert_keys(inside, fold(keys[0], 2), fold(keys[1], 2))
    assert_keys(after, fold(KEY, 3))


@pytest.mark.parametrize("taken, number", [(True, 2), (False, 4)])
def test_branches_draw_different_keys(taken, number):
    def twice(module):
        drawn(module)
        return drawn(module)
    inside, after = run(lambda module: nn.cond(taken, drawn, twice, module))
    assert_keys(inside, fold(KEY, number))
    assert_keys(after, fold(KEY, 5))


@pytest.mark.parametrize("derivative", [
    lambda module, f: nn.vjp(f, module, 1.0, has_aux=True)[2],
    lambda module, f: nn.value_and_grad(f, module, 1.0, has_aux=True)[0][1],
    lambda module, f: nn.jvp(f, module, (1.0,), (1.0,), {})[0][1],
    lambda module, f: nn.custom_vjp(f, lambda module, x: (f(module, x), x), lambda x, ct: ({}, ct[0]))(module, 1.0)[1],
], ids=["vjp", "value_and_grad", "jvp", "custom_vjp"])
def test_derivatives_draw_once(derivative):
    inside, after = run(lambda module: derivative(module, lambda module, x: (x * 2.0, drawn(module))))
    assert_keys(inside, fold(KEY, 2))
    assert_keys(after, fold(KEY, 3))


def test_map_variables_with_init_runs_the_module_twice_where_variables_may_be_written():
    def body(module):
        return nn.map_variables(drawn, "params", init=True)(module)
    (inside, after), _ = run(body, mutable=True)
    assert_keys(inside, fold(KEY, 3))
    assert_keys(after, fold(KEY, 4))
    inside, after = run(body)
    assert_keys(inside, fold(KEY, 2))
    assert_keys(after, fold(KEY, 3))
