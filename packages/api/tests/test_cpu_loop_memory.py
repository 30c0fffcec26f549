"""The memory of programs with several loops on the CPU: what a loop stacks is in memory from that loop on."""

import numpy as np
import pytest

from laminax_ir.options import config

import laminax
from laminax import lax
from laminax import numpy as jnp

STEPS, BATCH, WIDTH, LAYERS = 64, 32, 64, 6


def _loss(ws, xs):
    for w in ws:
        xs = xs + lax.scan(lambda h, x: (jnp.tanh(x + h @ w),) * 2, jnp.zeros((BATCH, WIDTH)), xs)[1]
    return (xs**2).mean()


def _arguments(dtype=np.float32):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(LAYERS, WIDTH, WIDTH)) * WIDTH**-0.5).astype(dtype), rng.normal(size=(STEPS, BATCH, WIDTH)).astype(dtype)


def _numpy_loss(ws, xs):
    for w in ws:
        h, ys = np.zeros((BATCH, WIDTH)), []
        for x in xs:
            h = np.tanh(x + h @ w)
            ys.append(h)
        xs = xs + np.stack(ys)
    return (xs**2).mean()


def test_derivatives_of_several_loops_need_less_memory():
    temporaries = {}
    for is_on in (False, True):
        with config.cpu_kernels(is_on):
            compiled = laminax.jit(lambda *args: laminax.grad(_loss)(*args)).lower(*_arguments()).compile()
        temporaries[is_on] = compiled.memory_analysis().temp_size_in_bytes
    stack = 4 * STEPS * BATCH * WIDTH
    assert temporaries[True] <= temporaries[False] - LAYERS // 2 * stack


def test_derivatives_of_several_loops_are_those_of_differences():
    ws, xs = _arguments(np.float64)
    direction = np.random.default_rng(1).normal(size=ws.shape)
    wanted = (_numpy_loss(ws + 1e-5 * direction, xs) - _numpy_loss(ws - 1e-5 * direction, xs)) / 2e-5
    found = laminax.jit(laminax.grad(_loss))(*_arguments())
    np.testing.assert_allclose(np.vdot(found, direction), wanted, rtol=1e-3)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("reverse", [False, True])
def test_what_a_loop_reads_does_not_show_in_what_it_stacks_elsewhere(special, reverse):
    x = np.random.default_rng(2).normal(size=(STEPS, 1 << 13)).astype(np.float32)
    x[0, 0] = special

    def fun(x):
        return lax.scan(lambda last, row: (row, 2 * row + last), jnp.zeros(x.shape[1]), 3 * x, reverse=reverse)[1]

    last = np.roll(x, -1 if reverse else 1, axis=0)
    last[-1 if reverse else 0] = 0
    np.testing.assert_allclose(laminax.jit(fun)(x), 3 * (2 * x + last), rtol=1e-5, atol=1e-5)
