"""laminax.testing and laminax.test_util: the checks pass for what is right, and fail for what is not."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import test_util, testing


@laminax.custom_jvp
def wrong_slope(x):
    return jnp.sin(x)


wrong_slope.defjvp(lambda primals, tangents: (jnp.sin(primals[0]), 0.9 * jnp.cos(primals[0]) * tangents[0]))


@laminax.custom_jvp
def wrong_second(x):
    return x ** 3


wrong_second.defjvp(lambda primals, tangents: (primals[0] ** 3, 3 * laminax.lax.stop_gradient(primals[0]) ** 2 * tangents[0]))


def test_right_derivatives_pass():
    tree = {"a": np.float32(0.3), "b": np.arange(3, dtype=np.float32)}
    testing.check_grads(lambda t, n: {"c": jnp.sin(t["a"]) * t["b"] ** 2, "n": n}, (tree, 2), order=2)
    testing.check_grads(lambda z: z * jnp.exp(z), (np.complex64(0.2 + 0.3j),), order=1)
    with laminax.enable_x64(True):
        testing.check_grads(jnp.exp, (np.float64(0.7),), order=3, modes=["rev"])


@pytest.mark.parametrize("modes", [["fwd"], ["rev"], ["lin"], ["fwd", "rev", "lin"]])
def test_wrong_derivatives_fail(modes):
    with pytest.raises(AssertionError, match={"fwd": "JVP tangent", "rev": "VJP cotangent", "lin": "LIN tangent"}[modes[0]]):
        testing.check_grads(wrong_slope, (0.5,), order=1, modes=modes)
    testing.check_grads(wrong_second, (0.5,), order=1, modes=modes)
    with pytest.raises(AssertionError):
        testing.check_grads(wrong_second, (0.5,), order=2, modes=modes)


def test_tolerances():
    testing.check_grads(wrong_slope, (0.5,), order=1, rtol=0.2)
    testing.check_grads(wrong_slope, (0.5,), order=1, rtol={np.float32: 0.2})
    with pytest.raises(ValueError, match="modes must be of 'fwd', 'rev' and 'lin'"):
        testing.check_grads(jnp.sin, (0.5,), order=1, modes=("forward",))


def test_the_default_tolerances_leave_room_for_rounding():
    """Copies are differentiated exactly; what the checks see is the rounding of a difference, with many digits lost to the step."""
    x = np.random.default_rng(0).normal(size=(3, 4))
    for dtype, eps in (("bfloat16", 1.0), ("float16", 1.0), ("float32", None), ("complex64", None)):
        testing.check_grads(lambda x: jnp.flip(x.T), (jnp.asarray(3 * x).astype(dtype),), order=2, modes=("fwd", "rev", "lin"), eps=eps)


def test_check_jvp_and_check_vjp():
    test_util.check_jvp(jnp.sin, lambda p, t: (jnp.sin(*p), jnp.cos(*p) * t[0]), (0.5,))
    test_util.check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct * jnp.cos(x),)), (0.5,))
    with pytest.raises(AssertionError, match="mine primal"):
        test_util.check_jvp(jnp.sin, lambda p, t: (jnp.cos(*p), jnp.cos(*p) * t[0]), (0.5,), err_msg="mine")
    with pytest.raises(AssertionError, match="mine cotangent"):
        test_util.check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct * jnp.sin(x),)), (0.5,), err_msg="mine")


def test_check_batching():
    testing.check_batching(lambda x, y: {"s": jnp.dot(x, y)}, (np.ones((4, 2), np.float32), np.ones((2, 4), np.float32)), in_axes=(0, 1))
    testing.check_batching(lambda x, y: jnp.outer(x, y), (np.ones((4, 2)), np.ones(3)), in_axes=(0, None), out_axes=1)

    @laminax.custom_batching.custom_vmap
    def wrong(x):
        return 2 * x
    wrong.def_vmap(lambda size, batched, x: (3 * x, True))
    with pytest.raises(AssertionError, match="vmap against a loop"):
        testing.check_batching(wrong, (np.ones(3, np.float32),))
    with pytest.raises(ValueError, match="must have one size"):
        testing.check_batching(jnp.add, (np.ones(3), np.ones(4)))


def test_assert_max_traces():
    step = laminax.jit(testing.assert_max_traces(lambda x: x + 1, n=2))
    for x in (np.ones(2), np.ones(2), np.ones(3), np.ones(3)):
        step(x)
    with pytest.raises(AssertionError, match="traced 3 times, 2 allowed"):
        step(np.ones(4))

    @testing.assert_max_traces(n=0)
    def never(x):
        return x
    with pytest.raises(AssertionError, match="never was traced 1 times"):
        never(1)
    with pytest.raises(TypeError, match="a function is expected, got 3"):
        testing.assert_max_traces(3)
    with pytest.raises(ValueError, match="n must be a number of calls"):
        testing.assert_max_traces(lambda x: x)
