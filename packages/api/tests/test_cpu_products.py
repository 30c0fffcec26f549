"""Small matrix products on one CPU device: in loops and in large batches they are sums of outer products."""

import numpy as np
import pytest

from laminax_ir.options import config

import laminax
from laminax import lax
from laminax import numpy as jnp


def _normal(*shape, dtype=np.float32):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def _text(f, *args):
    return laminax.jit(f).lower(*args).as_text()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("equation, a, b", [
    ("bij,bjk->bik", (3000, 4, 4), (3000, 4, 4)),
    ("bij,bkj->bik", (3000, 4, 5), (3000, 3, 5)),
    ("ibj,jkb->bik", (4, 3000, 5), (5, 3, 3000)),
    ("bcijk,bckjl->bcil", (20, 60, 3, 2, 4), (20, 60, 4, 2, 5)),
])
def test_a_batch_of_products(equation, a, b, dtype):
    with config.enable_x64(dtype == np.float64):
        a, b = jnp.asarray(_normal(*a, dtype=dtype)), jnp.asarray(_normal(*b, dtype=dtype) + 1)
        f = lambda a, b: jnp.einsum(equation, a, b)  # noqa: E731
        assert "dot_general" not in _text(f, a, b)
        with config.cpu_kernels(False):
            assert "dot_general" in _text(lambda a, b: f(a, b), a, b)
        wanted = np.einsum(equation, np.asarray(a, np.float64), np.asarray(b, np.float64))
        magnitude = np.einsum(equation, np.abs(np.asarray(a, np.float64)), np.abs(np.asarray(b, np.float64)))
        # a rounding for each product and each sum, of at most the sum of the absolute values; eight terms at most
        assert (np.abs(np.asarray(laminax.jit(f)(a, b)) - wanted) <= 8 * np.finfo(dtype).eps * magnitude).all()


def test_a_batch_of_products_of_many_terms_is_the_librarys():
    """Sixteen terms fill the library's vectors; in a loop that is to be one kernel they are sums all the same."""
    a, b = jnp.asarray(_normal(500, 16, 16)), jnp.asarray(_normal(500, 16, 16))
    assert "dot_general" in _text(jnp.matmul, a, b)
    assert "dot_general" not in _text(jnp.matmul, a[..., :12], b[:, :12])
    assert "dot_general" not in _text(lambda a, b: lax.fori_loop(0, 3, lambda i, x: x @ b, a), a[0], b[0])


def _filter(a, ys):
    def step(state, y):
        m, p = state
        m, p = a @ m, a @ p @ a.T + 0.1 * jnp.eye(4)
        gain = p[:, 0] / (p[0, 0] + 0.5)
        return (m + gain * (y - m[0]), p - gain[:, None] * p[0]), m

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), ys)[1]


def _filter_by_numpy(a, ys):
    m, p, found = np.zeros(4), np.eye(4), []
    for y in ys:
        m, p = a @ m, a @ p @ a.T + 0.1 * np.eye(4)
        found.append(m)
        gain = p[:, 0] / (p[0, 0] + 0.5)
        m, p = m + gain * (y - m[0]), p - gain[:, None] * p[0]
    return np.array(found)


def test_products_in_a_loop_and_in_its_derivative():
    a, ys = (0.9 * np.eye(4) + 0.1 * _normal(4, 4, dtype=np.float64)), _normal(50, dtype=np.float64)
    small = a.astype(np.float32), ys.astype(np.float32)
    np.testing.assert_allclose(laminax.jit(_filter)(*small), _filter_by_numpy(*(x.astype(np.float64) for x in small)), rtol=1e-3, atol=1e-4)

    def loss(a):
        return (_filter_by_numpy(a, small[1].astype(np.float64)) ** 2).sum()

    a = small[0].astype(np.float64)
    basis = np.eye(16).reshape(16, 4, 4)
    differences = [(loss(a + 1e-5 * e) - loss(a - 1e-5 * e)) / 2e-5 for e in basis]
    gradient = laminax.jit(laminax.grad(lambda a, ys: (_filter(a, ys) ** 2).sum()))
    np.testing.assert_allclose(gradient(*small), np.reshape(differences, (4, 4)), rtol=1e-3, atol=1e-3)
    compiled = gradient.lower(*small).compile().as_text()
    assert compiled.count(" while(") == compiled.count('xla_cpu_small_call="true"') == 2
    batched = laminax.vmap(_filter, (None, 0))(small[0], jnp.stack([small[1], 2 * small[1]]))
    np.testing.assert_allclose(batched[1], _filter_by_numpy(a, 2 * small[1].astype(np.float64)), rtol=1e-3, atol=1e-4)


def test_what_the_compiler_does_well_is_left_to_it():
    for a, b in ((_normal(4, 4), _normal(4, 4)), (_normal(500, 32, 32), _normal(500, 32, 32)), (_normal(3000, 4, 4), _normal(3000, 4, 1))):
        assert "dot_general" in _text(lambda a, b: a @ b, a, b)
    w = _normal(64, 64)
    assert "dot_general" in _text(lambda x: lax.fori_loop(0, 9, lambda _, x: jnp.tanh(x @ w), x), _normal(8, 64))
    algorithm = lax.DotAlgorithmPreset.F32_F32_F32
    assert "dot_general" in _text(lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))), precision=algorithm),
                                  _normal(3000, 4, 4), _normal(3000, 4, 4))


def test_a_function_that_is_called_in_a_loop_and_outside():
    @laminax.jit
    def square(x):
        return jnp.tanh(x @ x) + x

    def run(x):
        return lax.fori_loop(0, 3, lambda _, x: square(square(x)), square(square(x)))

    x = _normal(4, 4)
    text = _text(run, x)
    assert text.count("dot_general") == 1  # of the function outside; that in the loop is another one
    wanted = x.astype(np.float64)
    for _ in range(8):
        wanted = np.tanh(wanted @ wanted) + wanted
    np.testing.assert_allclose(laminax.jit(run)(x), wanted, rtol=1e-3, atol=1e-4)
