"""The examples of JAX's public api document, and what it says around them.

Those of `xla_computation` are in `test_xla_computation.py`, those of `pmap` in `eight_devices/cases_of_pmap.py`, and the sentences of `jit`
in `test_jax_jit.py`.
"""

import functools
import types

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import ShapeDtypeStruct, lax
from laminax.custom_derivatives import linear_call


def close(actual, expected, rtol=1e-5):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-6)


def test_all_that_the_document_lists_is_there():
    names = """jit disable_jit xla_computation make_jaxpr eval_shape device_put device_put_replicated device_put_sharded device_get
        default_backend named_call grad value_and_grad jacfwd jacrev hessian jvp linearize linear_transpose vjp custom_jvp custom_vjp
        closure_convert checkpoint remat vmap pmap devices local_devices process_index device_count local_device_count process_count
        numpy.vectorize""".split()
    for name in names:
        assert callable(functools.reduce(getattr, name.split("."), laminax)), name


# --- programs and shapes ---


def test_disable_jit(capsys):
    """A function that prints shows a tracer once, and values while `jit` is disabled."""
    @laminax.jit
    def f(x):
        y = x * 2
        print("Value of y is", y)
        return y + 3

    assert f(jnp.array([1, 2, 3])).tolist() == [5, 7, 9]
    assert "int32[3]" in (printed := capsys.readouterr().out) and "[2 4 6]" not in printed
    with laminax.disable_jit():
        assert f(jnp.array([1, 2, 3])).tolist() == [5, 7, 9]
    assert capsys.readouterr().out == "Value of y is [2 4 6]\n"


def test_named_call():
    @functools.partial(laminax.named_call, name="layer")
    def f(x):
        return jnp.sin(x)

    assert "layer" in laminax.jit(f).lower(1.0).as_text(debug_info=True)
    close(f(1.0), np.sin(1.0))


# --- values on devices ---


def test_devices():
    devices = laminax.devices()
    assert len(devices) == laminax.device_count() == laminax.device_count("cpu") and laminax.devices("cpu") == devices
    assert laminax.local_devices() == devices and laminax.local_device_count() == len(devices)
    assert all(device.process_index == laminax.process_index() == 0 for device in devices)
    assert laminax.process_count() == 1 and laminax.default_backend() == devices[0].platform == "cpu"


def test_device_put():
    device = laminax.devices()[0]
    tree = laminax.device_put({"a": np.arange(3), "b": (1.5, True)}, device)
    assert tree["a"].tolist() == [0, 1, 2] and tree["b"][0].devices() == {device} and tree["a"].committed
    uncommitted = laminax.device_put(np.arange(3))
    assert not uncommitted.committed
    x = jnp.arange(3)
    assert laminax.device_put(x) is x or laminax.device_put(x).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()  # the identity


def test_device_put_replicated():
    devices = laminax.local_devices()
    x = laminax.numpy.array([1.0, 2.0, 3.0])
    y = laminax.device_put_replicated(x, devices)
    assert np.allclose(y, laminax.numpy.stack([x for _ in devices]))
    assert {shard.device for shard in y.addressable_shards} == set(devices)


def test_device_put_sharded():
    devices = laminax.local_devices()
    x = [laminax.numpy.ones(5) for _ in devices]
    assert np.allclose(laminax.device_put_sharded(x, devices), laminax.numpy.stack(x))
    x = [(i, laminax.numpy.arange(i, i + 4)) for i in range(len(devices))]
    y = laminax.device_put_sharded(x, devices)
    assert type(y) is tuple
    assert np.allclose(y[0], laminax.device_put_sharded([a for a, b in x], devices))
    assert np.allclose(y[1], laminax.device_put_sharded([b for a, b in x], devices))
    with pytest.raises(ValueError, match="len"):
        laminax.device_put_sharded([*x, x[0]], devices)


def test_device_get():
    got = laminax.device_get(laminax.numpy.array([1.0, 2.0, 3.0]))
    assert type(got) is np.ndarray and got.dtype == np.float32 and got.tolist() == [1, 2, 3]
    assert laminax.device_get(1) == 1
    tree = laminax.device_get({"a": (jnp.arange(2), 2.5)})
    assert type(tree["a"][0]) is np.ndarray and tree["a"][1] == 2.5


def test_make_jaxpr():
    def f(x):
        return jnp.sin(jnp.cos(x))

    close(f(3.0), np.sin(np.cos(3.0)))
    assert str(laminax.make_jaxpr(f)(3.0)) == "{ lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = sin b in (c,) }"
    assert [eqn.primitive.name for eqn in laminax.make_jaxpr(laminax.grad(f))(3.0).eqns] == [
        "cos", "sin", "sin", "cos", "mul", "neg", "mul"]


def test_make_jaxpr_options():
    closed, shape = laminax.make_jaxpr(lambda x, n: {"a": x * n}, static_argnums=1, return_shape=True)(np.ones(2, np.float32), 3)
    assert str(closed) == "{ lambda ; a:f32[2]. let b:f32[2] = mul a 3.0:f32[] in (b,) }"
    assert shape == {"a": ShapeDtypeStruct((2,), np.float32)}
    summed = laminax.make_jaxpr(lambda x: x - lax.psum(x, "i"), axis_env=[("i", 4)])(2)
    assert [eqn.primitive.name for eqn in summed.eqns] == ["psum", "sub"]
    with pytest.raises(NameError, match="unbound axis name: i"):
        laminax.make_jaxpr(lambda x: lax.psum(x, "i"))(2)
    with pytest.raises(TypeError, match="abstracted_axes must be a dict"):
        laminax.make_jaxpr(lambda x: x, abstracted_axes="n")
    with pytest.raises(TypeError, match="callable"):
        laminax.make_jaxpr(3)


def test_make_jaxpr_is_named_after_the_function():
    def step(x):
        return x

    make = laminax.make_jaxpr(step)
    assert (make.__name__, make.__module__) == ("make_jaxpr(step)", "laminax")
    assert make.__qualname__ == f"make_jaxpr({step.__qualname__})"


def test_make_jaxpr_takes_shapes_for_arrays():
    closed = laminax.make_jaxpr(lambda x: x["w"] @ x["w"])({"w": ShapeDtypeStruct((3, 3), np.float32)})
    assert closed.in_avals == closed.out_avals


def test_eval_shape():
    class MyArgArray:
        def __init__(self, shape, dtype):
            self.shape = shape
            self.dtype = jnp.dtype(dtype)

    f = lambda A, x: jnp.tanh(jnp.dot(A, x))  # noqa: E731
    out = laminax.eval_shape(f, MyArgArray((2000, 3000), jnp.float32), MyArgArray((3000, 1000), jnp.float32))
    assert (out.shape, out.dtype) == ((2000, 1000), np.float32)
    assert laminax.eval_shape(lambda x, *, y: (x, {"y": y}), 1.0, y=np.zeros((0, 2), np.int32)) == (
        ShapeDtypeStruct((), np.float32, weak_type=True), {"y": ShapeDtypeStruct((0, 2), np.int32)})
    with pytest.raises(TypeError, match=r"same size|same shape"):
        laminax.eval_shape(f, MyArgArray((2, 3), jnp.float32), MyArgArray((2, 3), jnp.float32))


# --- derivatives ---


def test_grad_and_value_and_grad():
    gradient = laminax.grad(jnp.tanh)(0.2)
    close(gradient, 1 - np.tanh(0.2) ** 2)
    assert gradient.weak_type
    f = lambda x, y, z: x * y + z["a"]  # noqa: E731
    assert laminax.grad(f, (0, 1))(2.0, 3.0, {"a": 1.0}) == (3.0, 2.0)
    assert laminax.grad(f, argnums=[0, -1])(2.0, 3.0, {"a": 1.0}) == (3.0, {"a": 1.0})
    assert laminax.value_and_grad(f, argnums=2)(2.0, 3.0, {"a": 1.0}) == (7.0, {"a": 1.0})


def test_has_aux():
    f = lambda x: (x ** 2, {"seen": x + 1})  # noqa: E731
    gradient, aux = laminax.grad(f, has_aux=True)(3.0)
    assert (float(gradient), float(aux["seen"])) == (6, 4)
    (value, aux), gradient = laminax.value_and_grad(f, has_aux=True)(3.0)
    assert (float(value), float(aux["seen"]), float(gradient)) == (9, 4, 6)
    value, pullback, aux = laminax.vjp(f, 3.0, has_aux=True)
    assert (float(value), float(pullback(1.0)[0]), float(aux["seen"])) == (9, 6, 4)


def test_holomorphic_and_allow_int():
    for derivative in (laminax.grad, laminax.jacfwd, laminax.jacrev):
        close(derivative(lambda z: z ** 2, holomorphic=True)(1 + 1j), 2 + 2j)
    gradient = laminax.grad(lambda i: i * 2.0, allow_int=True)(3)
    assert gradient.dtype == laminax.dtypes.float0 and gradient.shape == ()


def test_reduce_axes():
    xs, w = np.arange(3, dtype=np.float32), np.float32(2)
    loss = lambda w, x: w * x  # noqa: E731
    per_example = laminax.vmap(laminax.grad(loss), (None, 0), axis_name="batch")(w, xs)
    total = laminax.vmap(laminax.grad(loss, reduce_axes=("batch",)), (None, 0), axis_name="batch")(w, xs)
    np.testing.assert_array_equal(per_example, xs)
    np.testing.assert_array_equal(total, np.full(3, xs.sum()))


def test_jacobians():
    def f(x):
        return jnp.asarray([x[0], 5 * x[2], 4 * x[1] ** 2 - 2 * x[2], x[2] * jnp.sin(x[0])])

    expected = [[1, 0, 0], [0, 0, 5], [0, 16, -2], [3 * np.cos(1), 0, np.sin(1)]]
    for jacobian in (laminax.jacfwd, laminax.jacrev, laminax.jacobian):
        close(jacobian(f)(jnp.array([1.0, 2.0, 3.0])), expected)


def test_hessian():
    g = lambda x: x[0] ** 3 - 2 * x[0] * x[1] - x[1] ** 6  # noqa: E731
    np.testing.assert_array_equal(laminax.hessian(g)(jnp.array([1.0, 2.0])), [[6, -2], [-2, -480]])


def test_hessian_of_pytrees():
    f = lambda dct: {"c": jnp.power(dct["a"], dct["b"])}  # noqa: E731
    a, b = np.arange(2) + 1.0, np.arange(2) + 2.0
    blocks = laminax.hessian(f)({"a": jnp.array(a), "b": jnp.array(b)})["c"]
    mixed = a ** (b - 1) * (1 + b * np.log(a))
    expected = {("a", "a"): b * (b - 1) * a ** (b - 2), ("a", "b"): mixed, ("b", "a"): mixed, ("b", "b"): a ** b * np.log(a) ** 2}
    for (first, second), diagonal in expected.items():
        block = np.zeros((2, 2, 2))
        block[np.arange(2), np.arange(2), np.arange(2)] = diagonal
        close(blocks[first][second], block)


def test_jvp_and_linearize():
    y, v = laminax.jvp(jnp.sin, (0.1,), (0.2,))
    close((y, v), (np.sin(0.1), 0.2 * np.cos(0.1)))
    assert y.weak_type and v.weak_type

    def f(x):
        return 3.0 * jnp.sin(x) + jnp.cos(x / 2.0)

    slope = 3 * np.cos(2) - np.sin(1) / 2
    out = laminax.jvp(f, (2.0,), (3.0,))
    close(out, (3 * np.sin(2) + np.cos(1), 3 * slope))
    assert all(x.weak_type for x in out)
    y, f_jvp = laminax.linearize(f, 2.0)
    close((y, f_jvp(3.0), f_jvp(4.0)), (out[0], 3 * slope, 4 * slope))
    pushforward = functools.partial(laminax.jvp, f, (2.0,))
    y, tangents = laminax.vmap(pushforward, out_axes=(None, 0))((jnp.arange(3.0),))
    assert y.shape == ()
    close(tangents, np.arange(3) * slope)


def test_linear_transpose():
    f = lambda x, y: 0.5 * x - 0.5 * y  # noqa: E731
    scalar = types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))
    assert laminax.linear_transpose(f, scalar, scalar)(1.0) == (0.5, -0.5)
    (truncated,) = laminax.linear_transpose(lambda x: x * (1 + 0j), scalar)(1.0 + 2j)
    assert truncated.dtype == np.float32 and float(truncated) == 1
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    (row,) = laminax.linear_transpose(lambda x: matrix @ x, np.ones(3, np.float32))(np.ones(2, np.float32))
    close(row, matrix.sum(0))


def test_vjp():
    def f(x, y):
        return jnp.sin(x), jnp.cos(y)

    primals, f_vjp = laminax.vjp(f, 0.5, 1.0)
    close(primals, (np.sin(0.5), np.cos(1)))
    close(f_vjp((-0.7, 0.3)), (-0.7 * np.cos(0.5), -0.3 * np.sin(1)))


def sine_times(x, y):
    return jnp.sin(x) * y


def test_custom_jvp_defjvp():
    rules = []
    f = laminax.custom_jvp(sine_times)

    @f.defjvp
    def f_jvp(primals, tangents):
        rules.append(1)
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), jnp.cos(x) * x_dot * y + jnp.sin(x) * y_dot

    assert f_jvp is not None and not rules
    close(f(0.5, 2.0), 2 * np.sin(0.5))
    assert not rules  # only differentiation calls the rule
    close(laminax.jvp(f, (0.5, 2.0), (1.0, 3.0)), (2 * np.sin(0.5), 2 * np.cos(0.5) + 3 * np.sin(0.5)))
    close(laminax.grad(f, (0, 1))(0.5, 2.0), (2 * np.cos(0.5), np.sin(0.5)))
    assert len(rules) == 2


def test_custom_jvp_defjvps():
    f = laminax.custom_jvp(sine_times)
    f.defjvps(lambda x_dot, primal_out, x, y: jnp.cos(x) * x_dot * y, lambda y_dot, primal_out, x, y: jnp.sin(x) * y_dot)
    close(laminax.grad(f, (0, 1))(0.5, 2.0), (2 * np.cos(0.5), np.sin(0.5)))


def test_custom_vjp_defvjp():
    f = laminax.custom_vjp(sine_times)

    def f_fwd(x, y):
        return f(x, y), (jnp.cos(x), jnp.sin(x), y)

    def f_bwd(res, g):
        cos_x, sin_x, y = res
        return (cos_x * g * y, sin_x * g)

    f.defvjp(f_fwd, f_bwd)
    close(f(0.5, 2.0), 2 * np.sin(0.5))
    close(laminax.grad(f, (0, 1))(0.5, 2.0), (2 * np.cos(0.5), np.sin(0.5)))
    with pytest.raises(TypeError, match="forward-mode"):
        laminax.jvp(f, (0.5, 2.0), (1.0, 1.0))


def test_closure_convert():
    """The document's sketch, filled in: the minimum of a parabola, which depends on what its function closes over."""
    def minimize(objective_fn, x0):
        converted_fn, aux_args = laminax.closure_convert(objective_fn, x0)
        return _minimize(converted_fn, x0, *aux_args)

    @functools.partial(laminax.custom_vjp, nondiff_argnums=(0,))
    def _minimize(objective_fn, x0, *args):
        x = x0
        for _ in range(2):  # Newton's method ends at once
            slope = laminax.grad(objective_fn)
            x = x - slope(x, *args) / laminax.grad(slope)(x, *args)
        return x

    def fwd(objective_fn, x0, *args):
        y = _minimize(objective_fn, x0, *args)
        return y, (y, args)

    def rev(objective_fn, res, g):
        """By the implicit function theorem: the slope stays 0."""
        y, args = res
        slope = laminax.grad(objective_fn)
        adjoint = -g / laminax.grad(slope)(y, *args)
        return (jnp.zeros_like(y), *laminax.vjp(lambda *args: slope(y, *args), *args)[1](adjoint))

    _minimize.defvjp(fwd, rev)

    def minimum(center):
        return minimize(lambda x: 3 * (x - jnp.sin(center)) ** 2, 0.0)

    close(minimum(0.7), np.sin(0.7))
    close(laminax.grad(minimum)(0.7), np.cos(0.7))


def test_checkpoint():
    @laminax.checkpoint
    def g(x):
        y = jnp.sin(x)
        z = jnp.sin(y)
        return z

    close(laminax.grad(g)(2.0), np.cos(np.sin(2)) * np.cos(2))

    def computed(f):
        program = laminax.make_jaxpr(laminax.grad(f))(2.0)
        return str(program).count("= sin ")

    assert computed(g) > computed(lambda x: jnp.sin(jnp.sin(x)))  # once more, on the backward pass


def test_checkpoint_applied_recursively():
    def recursive_checkpoint(funs):
        if len(funs) == 1:
            return funs[0]
        if len(funs) == 2:
            f1, f2 = funs
            return lambda x: f1(f2(x))
        f1 = recursive_checkpoint(funs[:len(funs) // 2])
        f2 = recursive_checkpoint(funs[len(funs) // 2:])
        return lambda x: f1(laminax.checkpoint(f2)(x))

    f = recursive_checkpoint([jnp.sin] * 8)
    expected, slope = 0.5, 1.0
    for _ in range(8):
        expected, slope = np.sin(expected), slope * np.cos(expected)
    close(laminax.value_and_grad(f)(0.5), (expected, slope))


# --- vmap ---


def test_vmap_makes_matrix_products_of_dot_products():
    vv = lambda x, y: jnp.vdot(x, y)  # noqa: E731
    mv = laminax.vmap(vv, (0, None), 0)
    mm = laminax.vmap(mv, (None, 1), 1)
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    close(mm(a, b), a @ b)
    close(laminax.vmap(vv, (0, 0), 0)(a, a), (a * a).sum(1))
    mv2 = laminax.vmap(vv, (0, 1), 0)
    close(mv2(a, a.T), (a * a).sum(1))
    x, y = np.random.default_rng(0).normal(size=(2, 5, 3)), np.random.default_rng(1).normal(size=(3, 5, 2))
    close(laminax.vmap(mv2, (1, 1), 0)(x, y), np.einsum("bca,acb->cb", x, y))


def test_vmap_over_containers():
    A, B, C, D, K = 2, 3, 4, 5, 6

    def foo(tree_arg):
        x, (y, z) = tree_arg
        return jnp.dot(x, jnp.dot(y, z))

    np.testing.assert_array_equal(foo((jnp.ones((A, B)), (jnp.ones((B, C)), jnp.ones((C, D))))), np.full((A, D), 12))
    tree = (jnp.ones((K, A, B)), (jnp.ones((B, K, C)), jnp.ones((C, D, K))))
    assert laminax.vmap(foo, in_axes=((0, (1, 2)),))(tree).shape == (6, 2, 5)
    dct = {"a": 0.0, "b": jnp.arange(5.0)}
    out = laminax.vmap(lambda d, x: d["a"] + d["b"] + x, in_axes=({"a": None, "b": 0}, None))(dct, 1.0)
    np.testing.assert_array_equal(out, [1, 2, 3, 4, 5])


def test_vmap_out_axes_keywords_and_names():
    f = lambda x, y: (x + y, y * 2.0)  # noqa: E731
    mapped, unmapped = laminax.vmap(f, in_axes=(0, None), out_axes=(0, None))(jnp.arange(2.0), 4.0)
    np.testing.assert_array_equal(mapped, [4, 5])
    assert np.shape(unmapped) == () and unmapped == 8
    np.testing.assert_array_equal(laminax.vmap(f, in_axes=(0, None), out_axes=0)(jnp.arange(2.0), 4.0)[1], [8, 8])
    np.testing.assert_array_equal(laminax.vmap(lambda x, y: x - y)(jnp.arange(2.0), y=jnp.ones(2)), [-1, 0])
    assert laminax.vmap(lambda x: x * 2, in_axes=-1, out_axes=-1)(np.ones((2, 3))).shape == (2, 3)
    close(laminax.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(np.arange(4.0)), np.arange(4) / 6)


def test_vectorize():
    @functools.partial(jnp.vectorize, signature="(k),(k)->(k)")
    def cross_product(a, b):
        assert a.shape == b.shape and a.ndim == b.ndim == 1
        return jnp.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])

    @functools.partial(jnp.vectorize, signature="(n,m),(m)->(n)")
    def matrix_vector_product(matrix, vector):
        assert matrix.ndim == 2 and matrix.shape[1:] == vector.shape
        return matrix @ vector

    rng = np.random.default_rng(0)
    for left, right in (((3,), (3,)), ((2, 3), (3,)), ((1, 2, 3), (2, 1, 3))):
        a, b = rng.normal(size=left), rng.normal(size=right)
        close(cross_product(a, b), np.cross(a, b))
    matrix, vectors = rng.normal(size=(2, 3)), rng.normal(size=(4, 3))
    close(matrix_vector_product(matrix, vectors[0]), matrix @ vectors[0])
    close(matrix_vector_product(matrix, vectors), vectors @ matrix.T)
    with pytest.raises(ValueError, match="does not have enough"):
        matrix_vector_product(jnp.ones(3), jnp.ones(3))
    with pytest.raises(TypeError, match=r"same size|same shape"):
        jnp.matmul(jnp.ones((2, 3)), jnp.ones((4, 3)))


# --- errors ---


@pytest.mark.parametrize("argnums", ["x", {0}, 1.0, (0, "a"), None])
def test_argnums_of_a_wrong_kind(argnums):
    for transform in (laminax.grad, laminax.value_and_grad, laminax.jacfwd, laminax.jacrev):
        with pytest.raises(TypeError, match="argnums must be an integer or a tuple or list of integers"):
            transform(lambda x: x, argnums=argnums)


@pytest.mark.parametrize("call, message", [
    (lambda: laminax.grad(lambda x: x, argnums=1)(1.0), "argnums=1 requires at least 2 positional arguments"),
    (lambda: laminax.grad(lambda x: x)(x=1.0), "requires at least 1 positional"),
    (lambda: laminax.grad(lambda x: x)(np.ones(3, np.float32)), r"scalar-output functions.*\(3,\).*jacrev"),
    (lambda: laminax.grad(lambda x: (x, x))(1.0), "scalar-output functions.*has_aux"),
    (lambda: laminax.grad(lambda x: x * 2.0)(1), r"argument 0 is i32\[\].*allow_int.*convert it to a float"),
    (lambda: laminax.grad(lambda x: x["a"])({"a": True}), r"argument 0\['a'\] is bool"),
    (lambda: laminax.grad(lambda x: x)("text"), "argument 0, 'text' of type <class 'str'> is not a valid JAX type"),
    (lambda: laminax.grad(lambda x: jnp.int32(1))(1.0), "real-valued outputs"),
    (lambda: laminax.grad(lambda z: z ** 2)(1j), "holomorphic=True"),
    (lambda: laminax.grad(lambda z: z ** 2, holomorphic=True)(1.0), "requires inputs with complex dtype"),
    (lambda: laminax.grad(lambda x: x, has_aux=True)(1.0), r"must return a pair \(result, aux\)"),
    (lambda: laminax.grad(3), "Expected a callable"),
    (lambda: laminax.jvp(jnp.sin, 1.0, 1.0), r"write jvp\(f, \(x,\), \(x_dot,\)\)"),
    (lambda: laminax.jvp(jnp.sin, (1.0,), (1,)), r"tangents\[0\].*f32\[\].*i32\[\]"),
    (lambda: laminax.jvp(jnp.sin, (1.0,), (1.0, 2.0)), "same tree structure"),
    (lambda: laminax.linearize(jnp.sin, 1.0)[1](1.0, 2.0), "structure"),
    (lambda: laminax.linear_transpose(lambda x: x * x, 1.0)(1.0), "not linear: mul at test_jax_public_api.py"),
    (lambda: laminax.linear_transpose(lambda x: x * 2.0, 1), "integer -> integer functions, but <lambda> is"),
    (lambda: laminax.vmap(lambda x: x, in_axes="0"), "in_axes must be"),
    (lambda: laminax.vmap(lambda x: x)("text"), "not an array"),
])
def test_type_errors(call, message):
    with pytest.raises(TypeError, match=f"(?s){message}"):
        call()


@pytest.mark.parametrize("call, message", [
    (lambda: laminax.vmap(lambda a, b: a)(np.ones(3), {"c": np.ones(4)}),
     r"size 3: axis 0 of argument a of type float32\[3\].*size 4: axis 0 of argument b\['c'\] of type float32\[4\].*Make the sizes equal"),
    (lambda: laminax.vmap(lambda x: x, axis_size=4)(np.ones(3)), "argument was 4"),
    (lambda: laminax.vmap(lambda x: x, in_axes=1)(np.ones(3)), "axis 1.*at least 2.*only 1"),
    (lambda: laminax.vmap(lambda x: x, in_axes=None)(np.ones(3)), "at least one non-None value in in_axes"),
    (lambda: laminax.vmap(lambda x: x, in_axes=(0, 0))(np.ones(3)), r"len\(in_axes\)=2, len\(args\)=1"),
    (lambda: laminax.vmap(lambda x: x, in_axes=({"b": 0},))({"a": np.ones(3)}), "prefix"),
    (lambda: laminax.vmap(lambda x: x, out_axes=None)(np.ones(3)), "out_axes is None"),
    (lambda: laminax.vmap(lambda x: x, out_axes=(0, 0))(np.ones(3)), "out_axes specification must be a tree prefix"),
    (lambda: laminax.vmap(lambda x: x, out_axes=1)(np.ones(3)), "out_axes=1: axis 1 is out of bounds"),
    (lambda: laminax.vjp(lambda x: (x, x), 1.0)[1](1.0), "structure"),
    (lambda: laminax.vjp(jnp.sin, 1.0)[1](np.ones(3)), r"f32\[\].*f32\[3\]"),
])
def test_value_errors(call, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        call()


def test_linear_transpose_checks_its_cotangent():
    with pytest.raises(TypeError, match=r"linear_transpose: cotangent type does not match: .*f32\[\]; got f32\[3\]"):
        laminax.linear_transpose(lambda x: 2 * x, 1.0)(np.ones(3))


def test_linear_call():
    def div_add(x, denom):
        return x + linear_call(lambda r, x: x / r, lambda r, t: t / r, denom, x)

    def transpose(f, x_example):
        return lambda y: laminax.linear_transpose(f, x_example)(y)[0]

    for wrap in (lambda f: f, laminax.jit):
        assert float(wrap(div_add)(9.0, 3.0)) == 12
        assert float(transpose(wrap(functools.partial(div_add, denom=3.0)), 1.0)(18.0)) == 24
        close(wrap(laminax.vmap(laminax.grad(div_add), (0, None)))(np.arange(3.0), 2.0), [1.5] * 3)
    custom_id = functools.partial(linear_call, lambda _, x: x, lambda _, t: 7.0, ())
    assert float(transpose(custom_id, 1.0)(1.0)) == 7 and float(transpose(transpose(custom_id, 1.0), 1.0)(1.0)) == 1


@pytest.mark.parametrize("jitted", [True, False])
def test_fwd_and_bwd(jitted):
    traces = []

    def f(x, w):
        traces.append(1)
        return jnp.sin(x @ w)

    x = w = np.arange(16, dtype=np.float32).reshape(4, 4) / 10
    fwd, bwd = laminax.fwd_and_bwd(f, argnums=(0, 1), jitted=jitted)
    for scale in (1.0, 2.0, 3.0):
        y, residuals = fwd(scale * x, w)
        x_ct, w_ct = bwd(residuals, y)
        inner = np.cos(scale * x @ w) * np.sin(scale * x @ w)
        close(y, np.sin(scale * x @ w))
        close(x_ct, inner @ w.T)
        close(w_ct, scale * x.T @ inner)
    assert len(traces) == (1 if jitted else 3)
    if jitted:
        assert (fwd._cache_size(), bwd._cache_size()) == (1, 1)


def test_a_pullback_of_scalars_goes_through_jit():
    """A residual that is traced in the forward pass and a scalar after it stays a leaf of the pullback."""
    fwd, bwd = laminax.fwd_and_bwd(lambda x, y, k: x * k + y * k, argnums=(0, 1))
    for k in (3.0, 5.0):
        _, residuals = fwd(1.0, 2.0, k)
        assert [float(leaf) for leaf in laminax.tree_util.tree_leaves(residuals)] == [k]
        assert [float(ct) for ct in bwd(residuals, 2.0)] == [2 * k, 2 * k]


def test_keys_have_gradients_of_float0_with_allow_int():
    def noise(x, key):
        return x * laminax.random.normal(key)

    key = laminax.random.key(0)
    x_grad, key_grad = laminax.grad(noise, (0, 1), allow_int=True)(2.0, key)
    assert float(x_grad) == float(laminax.random.normal(key))
    assert key_grad.dtype == laminax.dtypes.float0 and key_grad.shape == ()
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs: cannot differentiate with respect to argument 1"):
        laminax.grad(noise, 1)(2.0, key)


def test_a_weak_seed_leaves_compiled_operations_as_they_are():
    """The seed was a subclass of NumPy's scalar, whose result C++ kept for the strongly typed scalar."""
    assert float(laminax.hessian(lambda x: x * x * x)(1.0)) == 6
    y, y_dot = laminax.jvp(lambda x: x * np.float32(2), (1.0,), (1.0,))
    assert not y.weak_type and not y_dot.weak_type and float(y_dot) == 2
    assert not (jnp.asarray(1.0) * np.float32(2)).weak_type
