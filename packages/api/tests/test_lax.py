"""laminax.lax: its table of contents, and control flow compiled by XLA against loops in Python."""

import subprocess
import sys

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax

f32 = np.float32
XS = np.random.default_rng(0).normal(size=(5, 3)).astype(f32)
W = np.random.default_rng(1).normal(size=(3, 3)).astype(f32) / 2


# The table


@pytest.mark.parametrize("name", lax.__all__)
def test_every_name_in_the_table_exists(name):
    assert getattr(lax, name) is not None
    assert name in dir(lax)


@pytest.mark.parametrize("name", lax.linalg.__all__)
def test_every_name_in_the_table_of_linalg_exists(name):
    assert callable(getattr(lax.linalg, name)) and lax.linalg.cholesky_p.name == "cholesky"


def test_primitives_are_found_by_their_names():
    assert [getattr(lax, name).name for name in ("sin_p", "scan_p", "dot_general_p", "while_p")] == \
        ["sin", "scan", "dot_general", "while"]


@pytest.mark.parametrize("name", ["nothing", "nothing_p", "_private"])
def test_unknown_names(name):
    with pytest.raises(AttributeError, match=f"module 'laminax.lax' has no attribute '{name}'"):
        getattr(lax, name)
    with pytest.raises(AttributeError, match=f"module 'laminax.lax.linalg' has no attribute '{name}'"):
        getattr(lax.linalg, name)


def test_importing_lax_loads_no_operations():
    code = ("import sys, laminax; from laminax import lax\n"
            "assert not [m for m in sys.modules if m.startswith('laminax_ir.ops.') or 'jaxlib' in m]\n"
            "assert float(lax.sin(0.0)) == 0.0")
    subprocess.run([sys.executable, "-c", code], check=True)


# Control flow


def cell(w, c, x):
    return lax.tanh(lax.dot(w, c) + x), c


def last_state(w, xs):
    return lax.scan(lambda c, x: cell(w, c, x), xs[0] * 0, xs)


def loss(w, xs):
    last, states = last_state(w, xs)
    return lax.reduce_sum(last * last, (0,)) + lax.reduce_sum(states, (0, 1))


def numpy_loss(w, xs):
    c, total = np.zeros(3), 0.0
    for x in xs:
        total += c.sum()
        c = np.tanh(w @ c + x)
    return np.sum(c * c) + total


@pytest.mark.parametrize("compiled", [False, True])
def test_gradient_of_a_recurrent_network(compiled):
    f = laminax.value_and_grad(loss)
    value, gradient = (laminax.jit(f) if compiled else f)(W, XS)
    w, xs = W.astype(float), XS.astype(float)
    numeric = np.zeros((3, 3))
    for index in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[index] = 1e-6
        numeric[index] = (numpy_loss(w + step, xs) - numpy_loss(w - step, xs)) / 2e-6
    np.testing.assert_allclose(value, numpy_loss(w, xs), rtol=1e-5)  # float32 against float64
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("transform", ["jit", "vmap", "jit of vmap", "vmap of jit"])
def test_masked_loops(transform):
    def steps(n):
        return lax.while_loop(lambda c: c[0] > 1, lambda c: (lax.cond(c[0] % 2 == 0, lambda v: v // 2, lambda v: 3 * v + 1, c[0]),
                                                             c[1] + 1), (n, 0))[1]

    ns = np.arange(1, 20, dtype=np.int32)
    expected = []
    for n in ns:
        count = 0
        while n > 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        expected.append(count)
    if transform == "jit":
        result = [laminax.jit(steps)(n) for n in ns]
    else:
        result = {"vmap": laminax.vmap(steps), "jit of vmap": laminax.jit(laminax.vmap(steps)),
                  "vmap of jit": laminax.vmap(laminax.jit(steps))}[transform](ns)
    np.testing.assert_array_equal(result, expected)


def test_loops_outside_of_jit_are_traced_and_compiled_once():
    count = []

    def step(c, x):
        count.append(1)
        return c + x, c

    for _ in range(3):
        carry, ys = lax.scan(step, 0.0, XS[:, 0])
    assert len(count) <= 2  # once more if the initial value's type had to follow the body's
    np.testing.assert_allclose(carry, XS[:, 0].sum(), rtol=1e-5)


def test_switch_map_and_associative_scan():
    np.testing.assert_array_equal(laminax.jit(lambda i: lax.switch(i, [lambda: 1, lambda: 2, lambda: 3]))(7), 3)
    np.testing.assert_allclose(lax.map(lambda x: lax.reduce_sum(x * x, (0,)), XS, batch_size=2), (XS * XS).sum(1), rtol=1e-6)
    np.testing.assert_allclose(laminax.jit(lambda x: lax.associative_scan(lax.add, x))(XS), np.cumsum(XS, 0), rtol=1e-5)


def test_fori_loop_with_a_traced_bound():
    f = laminax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))
    assert [int(f(n)) for n in (0, 1, 5)] == [0, 0, 10]


def test_disable_jit_runs_loops_in_python():
    seen = []
    with laminax.disable_jit():
        lax.fori_loop(0, 3, lambda i, c: seen.append(i), None)
        np.testing.assert_allclose(laminax.grad(loss)(W, XS), laminax.jit(laminax.grad(loss))(W, XS), rtol=1e-5, atol=1e-6)
    assert seen == [0, 1, 2]


def test_platform_dependent():
    f = lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x * 10)  # noqa: E731
    expected = 2.0 if laminax.default_backend() == "cpu" else 10.0
    assert f(1.0) == expected and laminax.jit(f)(1.0) == expected

def test_functions_for_other_platforms_are_not_compiled_whatever_is_done_to_the_choice():
    """The choice was lost where it left the program that makes it, as a residual does: the other platform's kernel was looked for."""
    other = "cuda" if laminax.default_backend() == "cpu" else "cpu"

    def elsewhere(x):
        return laminax.ffi.ffi_call("a_kernel_of_another_platform", laminax.ShapeDtypeStruct(x.shape, x.dtype),
                                    vmap_method="broadcast_all")(x)

    kernel = laminax.custom_vjp(elsewhere)
    kernel.defvjp(lambda x: (elsewhere(x), x), lambda x, ct: (elsewhere(x) * ct,))

    def f(x):
        return lax.platform_dependent(x, default=jnp.sin, **{other: kernel})

    def total(f):
        return lambda x: f(x).sum()

    def looped(x):
        return lax.scan(lambda c, _: (c * f(x), None), jnp.ones(3), None, 2)[0]

    x = jnp.arange(3.0)
    calls = [(f, np.sin), (laminax.vmap(f), np.sin), (laminax.grad(total(f)), np.cos), (laminax.grad(total(laminax.jit(f))), np.cos),
             (laminax.vmap(laminax.grad(f)), np.cos), (laminax.grad(total(laminax.checkpoint(f))), np.cos),
             (laminax.grad(lambda x: lax.cond(x[1] > 0, f, jnp.tan, x).sum()), np.cos),
             (laminax.grad(total(looped)), lambda x: 2 * np.sin(x) * np.cos(x))]
    for call, expected in calls:
        np.testing.assert_allclose(call(x), expected(np.arange(3.0)), rtol=1e-6, atol=1e-6)


def test_optimization_barrier_and_stop_gradient_take_pytrees():
    tree = {"a": XS, "b": (f32(1), None)}
    out = laminax.jit(lax.optimization_barrier)(tree)
    np.testing.assert_array_equal(out["a"], XS)
    assert out["b"][1] is None
    assert laminax.grad(lambda x: x * lax.stop_gradient({"x": x})["x"])(3.0) == 3.0
    np.testing.assert_allclose(lax.reciprocal(f32(4)), 0.25)


@pytest.mark.parametrize("dtypes", [("float8_e4m3fn", "float8_e5m2"), ("bfloat16", "float16")])
def test_products_of_different_narrow_dtypes_are_exact_in_a_wide_one(dtypes):
    x, y = (np.random.default_rng(0).normal(size=shape).astype(dtype) for shape, dtype in zip([(3, 4), (4, 2)], dtypes))
    wide = x.astype(np.float32) @ y.astype(np.float32)  # sums of four products of at most 11 bits are exact up to one rounding
    np.testing.assert_allclose(lax.dot(x, y, preferred_element_type=np.float32), wide, rtol=1e-6, atol=1e-6)


def test_a_reduction_is_weakly_typed_only_if_operand_and_initial_value_are():
    weak, strong = lax.convert_element_type(np.arange(3, dtype=np.int32), np.int32, weak_type=True), np.arange(3, dtype=np.int32)
    for x, init, expected in [(weak, 0, True), (weak, np.int32(0), False), (strong, 0, False)]:
        for reduce in (lambda x, init: lax.reduce(x, init, lax.add, (0,)), laminax.jit(lambda x, init: lax.reduce(x, init, lax.add, (0,)))):
            assert reduce(x, init).weak_type is expected
