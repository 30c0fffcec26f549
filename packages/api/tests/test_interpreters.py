"""Rules in JAX's form: primitives as the libraries on top of JAX define theirs, through every transformation."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.extend.core import Primitive
from laminax.extend.core.primitives import dot_general_p, mul_p, sin_p
from laminax.interpreters import ad, batching, mlir, partial_eval, xla

X = np.linspace(-1, 1, 5, dtype=np.float32)


def make_scaled():
    """x -> scale * sin(x), with all rules and a NumPy implementation that counts its calls."""
    scaled_p, calls = Primitive("scaled_sin"), []
    scaled_p.def_abstract_eval(lambda x, *, scale: laminax.core.ShapedArray(x.shape, x.dtype))

    @scaled_p.def_impl
    def impl(x, *, scale):
        calls.append(scale)
        return jnp.asarray(np.float32(scale) * np.sin(np.asarray(x)))

    mlir.register_lowering(scaled_p, mlir.lower_fun(lambda x, *, scale: scale * jnp.sin(x), multiple_results=False))

    def jvp(primals, tangents, *, scale):
        (x,), (x_dot,) = primals, tangents
        assert type(x_dot) is not ad.Zero
        return scaled_p.bind(x, scale=scale), x_dot * (scale * jnp.cos(x))
    ad.primitive_jvps[scaled_p] = jvp
    batching.primitive_batchers[scaled_p] = lambda args, dims, *, scale: (scaled_p.bind(*args, scale=scale), dims[0])
    return scaled_p, calls


def test_a_primitive_defined_as_for_jax():
    scaled_p, calls = make_scaled()
    fun = lambda x: scaled_p.bind(x, scale=3.0)  # noqa: E731
    np.testing.assert_allclose(fun(jnp.asarray(X)), 3 * np.sin(X), rtol=1e-6)
    assert calls == [3.0]  # values are computed by the implementation
    np.testing.assert_allclose(laminax.jit(fun)(X), 3 * np.sin(X), rtol=1e-6)
    assert calls == [3.0]  # compiled code is not
    np.testing.assert_allclose(laminax.vmap(laminax.grad(fun))(X), 3 * np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(laminax.jit(laminax.vmap(laminax.grad(laminax.grad(fun))))(X), -3 * np.sin(X), rtol=1e-6)


def test_a_lowering_rule_writes_stablehlo_text():
    twice_p = Primitive("twice_text")
    twice_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(twice_p, lambda ctx, x: [ctx.emit("stablehlo.add", [x, x])])
    np.testing.assert_array_equal(laminax.jit(twice_p.bind)(X), 2 * X)
    square_p = Primitive("square_text")
    square_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(square_p, lambda ctx, x: [ctx.emit("stablehlo.add", [x, x])])
    mlir.register_lowering(square_p, lambda ctx, x: [ctx.emit("stablehlo.multiply", [x, x])], platform="cpu")
    lowered = laminax.jit(square_p.bind).trace(X).lower(lowering_platforms=("cpu",))
    assert "stablehlo.multiply" in lowered.as_text() and "stablehlo.add" not in lowered.as_text()
    on_tpu = laminax.jit(square_p.bind).trace(X).lower(lowering_platforms=("tpu",))
    assert "stablehlo.add" in on_tpu.as_text()
    with pytest.raises(NotImplementedError, match="inline=False is not supported"):
        mlir.register_lowering(twice_p, lambda ctx, x: [x], inline=False)
    with pytest.raises(NotImplementedError, match="rule for primitive twice.* for an unknown platform abacus. Known platforms are: cpu, "
                                                  "cuda"):
        mlir.register_lowering(twice_p, lambda ctx, x: [x], platform="abacus")


def test_several_results_and_effects():
    pair_p = Primitive("sum_and_difference", multiple_results=True)
    pair_p.def_effectful_abstract_eval(lambda x, y: ([x, x], set()))
    mlir.register_lowering(pair_p, mlir.lower_fun(lambda x, y: (x + y, x - y)))

    def jvp(primals, tangents):
        return pair_p.bind(*primals), [ad.instantiate_zeros(t) for t in pair_p.bind(*map(ad.instantiate_zeros, tangents))]
    ad.primitive_jvps[pair_p] = jvp

    def transpose(cts, x, y):
        assert type(cts[1]) is ad.Zero and cts[1].aval.shape == (5,) and ad.is_undefined_primal(x)
        return [cts[0], cts[0]]
    ad.primitive_transposes[pair_p] = transpose
    total, difference = pair_p.bind(X, 2 * X)
    np.testing.assert_allclose(total, 3 * X, rtol=1e-6)
    np.testing.assert_allclose(difference, -X, rtol=1e-6)
    gradients = laminax.grad(lambda x, y: jnp.sum(pair_p.bind(x, y)[0] ** 2), (0, 1))(X, 2 * X)
    np.testing.assert_allclose(gradients, [6 * X, 6 * X], rtol=1e-6)


def test_linear_and_bilinear_operations():
    scale_p = Primitive("scale_by")
    scale_p.def_abstract_eval(lambda x, *, by: x)
    mlir.register_lowering(scale_p, mlir.lower_fun(lambda x, *, by: by * x, multiple_results=False))
    ad.deflinear(scale_p, lambda ct, *, by: [scale_p.bind(ct, by=by)])
    batching.defvectorized(scale_p)
    np.testing.assert_array_equal(laminax.vmap(laminax.grad(lambda x: scale_p.bind(x, by=4.0)))(X), [4] * 5)
    assert ad.get_primitive_transpose(scale_p)(1.0, ad.UndefinedPrimal(None), by=3.0)[0] == 3

    outer_p = Primitive("bilinear_product")
    outer_p.def_abstract_eval(lambda x, y: x)
    mlir.register_lowering(outer_p, mlir.lower_fun(lambda x, y: x * y, multiple_results=False))
    ad.defbilinear(outer_p, lambda ct, x, y: outer_p.bind(ct, y), lambda ct, x, y: outer_p.bind(ct, x))
    batching.defbroadcasting(outer_p)
    np.testing.assert_allclose(laminax.grad(lambda x: jnp.sum(outer_p.bind(x, outer_p.bind(x, x))))(X), 3 * X ** 2, rtol=1e-6)
    table = laminax.vmap(lambda a: laminax.vmap(lambda b: outer_p.bind(a, b))(X))(X)
    np.testing.assert_array_equal(table, np.outer(X, X))


def test_defjvp():
    sine_p = Primitive("own_sine")
    sine_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(sine_p, mlir.lower_fun(jnp.sin, multiple_results=False))
    ad.defjvp(sine_p, lambda g, x: g * jnp.cos(x))
    np.testing.assert_allclose(laminax.grad(sine_p.bind)(0.3), np.cos(0.3), rtol=1e-6)
    power_p = Primitive("own_power")
    power_p.def_abstract_eval(lambda x, y: x)
    mlir.register_lowering(power_p, mlir.lower_fun(lambda x, y: x ** y, multiple_results=False))
    ad.defjvp2(power_p, lambda g, result, x, y: g * y * result / x, None)
    np.testing.assert_allclose(laminax.grad(power_p.bind, (0, 1))(2.0, 3.0), (12, 0), rtol=1e-6)


def test_reductions_map():
    total_p = Primitive("own_sum")
    total_p.def_abstract_eval(lambda x, *, axes: laminax.core.ShapedArray(tuple(n for i, n in enumerate(x.shape) if i not in axes),
                                                                          x.dtype))
    mlir.register_lowering(total_p, mlir.lower_fun(lambda x, *, axes: jnp.sum(x, axes), multiple_results=False))
    batching.defreducer(total_p)
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for axis in range(3):
        got = laminax.vmap(lambda y: total_p.bind(y, axes=(1,)), in_axes=axis)(x)
        np.testing.assert_array_equal(got, [np.sum(y, 1) for y in np.moveaxis(x, axis, 0)])


def test_rules_that_need_the_axis():
    size_p = Primitive("size_of_axis")
    size_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(size_p, mlir.lower_fun(lambda x: x, multiple_results=False))
    batching.fancy_primitive_batchers[size_p] = lambda axis, args, dims: (args[0] * axis.size, dims[0])
    np.testing.assert_array_equal(laminax.vmap(size_p.bind)(X), 5 * X)


def test_each_missing_rule_is_named():
    bare_p = Primitive("bare")
    cases = [("Evaluation rule for 'bare' not implemented", bare_p.bind),
             ("Abstract evaluation for 'bare' not implemented", laminax.jit(bare_p.bind)),
             ("Differentiation rule for 'bare' not implemented", laminax.grad(bare_p.bind)),
             ("Batching rule for 'bare' not implemented", lambda x: laminax.vmap(bare_p.bind)(jnp.full(2, x)))]
    for message, call in cases:
        with pytest.raises(NotImplementedError, match=f"^{message}"):
            call(1.0)
    bare_p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="^Lowering rule for primitive 'bare' not found for platform cpu"):
        laminax.jit(bare_p.bind)(1.0)
    bare_p.def_impl(lambda x: x)
    ad.defjvp(bare_p, lambda t, x: bare_p.bind(t))
    with pytest.raises(NotImplementedError, match=r"^Transpose rule \(for reverse-mode differentiation\) for 'bare' not implemented"):
        laminax.grad(bare_p.bind)(1.0)


def test_none_takes_a_rule_away():
    """Libraries that make primitives from a list of rules give None for those that there are not."""
    bare_p = Primitive("without_transpose")
    ad.deflinear(bare_p, lambda ct: [ct])
    ad.primitive_transposes[bare_p] = None
    assert bare_p not in ad.primitive_transposes
    ad.primitive_transposes[bare_p] = None
    with pytest.raises(NotImplementedError, match="for 'without_transpose' not implemented"):
        ad.get_primitive_transpose(bare_p)


def test_a_lowering_rule_calls_python():
    """As equinox's functions that are not inlined do."""
    seen, called_p = [], Primitive("called")
    called_p.multiple_results = True
    called_p.def_abstract_eval(lambda x, y: [y, x])

    def call(x, y):
        seen.append((type(x), type(y)))
        return [y * 2, np.sin(x)]

    def lower(ctx, *operands, **options):
        results, token, keepalive = mlir.emit_python_callback(
            ctx, call, None, operands, ctx.avals_in, ctx.avals_out, has_side_effect=False, **options)
        assert token is None
        ctx.module_context.add_keepalive(keepalive)
        return results

    mlir.register_lowering(called_p, lower)
    doubled, sine = laminax.jit(called_p.bind)(X, np.int32(3))
    np.testing.assert_allclose(sine, np.sin(X), rtol=1e-6)
    assert doubled == 6 and doubled.dtype == np.int32 and len(seen) == 1
    refused_p = Primitive("called_on_each_device")
    refused_p.multiple_results = True
    refused_p.def_abstract_eval(lambda x, y: [y, x])
    mlir.register_lowering(refused_p, lambda ctx, *operands: lower(ctx, *operands, partitioned=True))
    with pytest.raises(NotImplementedError, match="emit_python_callback: sharding must be None and partitioned False"):
        laminax.jit(refused_p.bind)(X, np.int32(3))


def test_the_rules_of_built_in_operations_have_the_same_form():
    result, tangent = ad.primitive_jvps[sin_p]((0.3,), (2.0,))
    np.testing.assert_allclose((result, tangent), (np.sin(0.3), 2 * np.cos(0.3)), rtol=1e-6)
    result, tangent = ad.primitive_jvps[mul_p]((3.0, 4.0), (ad.Zero(laminax.core.get_aval(3.0)), 1.0))
    assert (result, tangent) == (12, 3)
    aval = laminax.core.get_aval(np.float32(1))
    assert ad.primitive_transposes[mul_p](2.0, ad.UndefinedPrimal(aval), 5.0)[0] == 10
    assert sin_p in ad.primitive_jvps and Primitive("unknown") not in ad.primitive_jvps
    with pytest.raises(KeyError):
        ad.primitive_jvps[Primitive("unknown")]
    with pytest.raises(NotImplementedError, match=r"Transpose rule \(for reverse-mode differentiation\) for 'sin' not implemented; set "
                                                  r"primitive_transposes\[sin\]"):
        ad.get_primitive_transpose(sin_p)
    result, axis = batching.primitive_batchers[sin_p]((np.float32([[0.1, 0.2]]),), (1,))
    np.testing.assert_allclose(np.moveaxis(result, axis, 0), np.sin([[0.1], [0.2]]), rtol=1e-6)


def test_axes():
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(batching.bdim_at_front(x, 1, 3), x.T)
    np.testing.assert_array_equal(batching.broadcast(x, 4, 1), np.stack([x] * 4, 1))
    assert batching.not_mapped is None


def test_tracing_and_thinning():
    from laminax.extend import linear_util
    aval = laminax.core.ShapedArray((), np.dtype(np.float32))
    big = jnp.arange(100.0)
    fun = linear_util.wrap_init(lambda x, y: (x * 2, jnp.sum(big) * y))
    jaxpr, avals, consts = partial_eval.trace_to_jaxpr_dynamic(fun, [aval, aval])
    assert avals == [aval, aval] and len(consts) == 1
    np.testing.assert_allclose(laminax.core.eval_jaxpr(jaxpr, consts, 3.0, 2.0), (6, 9900))
    thin, used = partial_eval.dce_jaxpr(jaxpr, [True, False])
    assert used == [True, False] and len(thin.eqns) == 1
    thin, used_consts, used = partial_eval.dce_jaxpr_consts(jaxpr, [True, False])
    assert (used_consts, used) == ([False], [True, False]) and not thin.constvars
    assert laminax.core.eval_jaxpr(thin, [], 3.0) == [6]
    np.testing.assert_allclose(xla.apply_primitive(sin_p, 0.5), np.sin(0.5), rtol=1e-6)
    assert dot_general_p is lax.dot_general_p


def test_refusals():
    with pytest.raises(TypeError, match="rule is for a Primitive, got 'sin'"):
        ad.primitive_jvps["sin"] = lambda primals, tangents: None
    with pytest.raises(TypeError, match="must be a function, got 3"):
        batching.primitive_batchers[Primitive("x")] = 3
    wrong_p = Primitive("wrong_transpose")
    wrong_p.def_abstract_eval(lambda x: x)
    ad.deflinear(wrong_p, lambda ct: [ct, ct])
    with pytest.raises(TypeError, match="must return one cotangent or None for each of the 1 operands, got 2"):
        laminax.make_jaxpr(laminax.grad(wrong_p.bind))(1.0)
