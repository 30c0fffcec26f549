"""Values of types of users' own (HiType) under every transformation, against NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from user_types import (
    Lazy,
    LazyType,
    Pair,
    PairSpec,
    PairType,
    Quantized,
    QuantizedType,
    Rows,
    dequantize,
    make_pair,
    multiply,
    numpy_quantized,
    numpy_rounded,
    parts,
    product,
    quantize,
    transpose,
)

import laminax
import laminax.numpy as jnp
from laminax import lax, typeof
from laminax.experimental.hijax import HiPrim, HiType, MappingSpec, ShapedArray, register_hitype
from laminax.interpreters import batching


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def x(rng):
    return rng.normal(size=(2, 3)).astype(np.float32)


@pytest.fixture
def xs(rng):
    return rng.normal(size=(4, 2, 3)).astype(np.float32)


def assert_quantized(found, x):
    """That a value has the scales of `x`, and its values up to one step, since the compiler may divide in another way."""
    values, scales = numpy_quantized(x)
    assert isinstance(found, Quantized)
    np.testing.assert_allclose(found.scales, scales, rtol=1e-6)
    assert np.abs(np.asarray(found.values).astype(int) - values).max() <= 1


def close(found, expected, tolerance=0.02):
    """One step of quantisation is a 127th of the largest element of a row."""
    np.testing.assert_allclose(found, expected, atol=tolerance * max(1, np.abs(expected).max()))


# Programs


def test_the_type_is_that_of_the_value_and_there_is_one_of_it(x):
    q = quantize(x)
    assert typeof(q) is QuantizedType((2, 3))
    assert_quantized(q, x)
    assert laminax.tree.leaves({"q": q}) == [q]


def test_programs_print_it_as_one_value(x):
    program = laminax.make_jaxpr(lambda x: dequantize(quantize(x)))(x)
    first, second = program.eqns
    assert first.outvars[0].aval is QuantizedType((2, 3)) is second.invars[0].aval
    assert str(program).count("q8[2,3]") == 1


def test_jit_takes_and_gives_it_and_has_it_inside(x):
    q = quantize(x)
    assert_quantized(laminax.jit(quantize)(x), x)
    close(laminax.jit(dequantize)(q), numpy_rounded(x))
    close(laminax.jit(lambda x: dequantize(quantize(x)))(x), numpy_rounded(x))
    close(laminax.jit(lambda: dequantize(q))(), numpy_rounded(x))  # closed over
    close(laminax.jit(lambda q: laminax.jit(dequantize)(q) * 2)(q), 2 * numpy_rounded(x))
    result = laminax.jit(lambda tree: {"again": tree["q"], "n": tree["n"] + 1})({"q": q, "n": 1})
    assert_quantized(result["again"], x)
    assert result["n"] == 2


def test_a_program_that_has_it_inside_only_runs_in_cpp_the_second_time(x):
    traces = []

    @laminax.jit
    def f(x):
        traces.append(1)
        return dequantize(quantize(x))

    for _ in range(3):
        close(f(x), numpy_rounded(x))
    assert len(traces) == 1 and f._cache_size() == 1


def test_stages_lower_and_compile_it(x):
    q = quantize(x)
    lowered = laminax.jit(lambda q, y: (quantize(dequantize(q) * y), y + 1)).lower(q, 2.0)
    assert "tensor<2x3xi8>" in lowered.as_text()
    again, more = lowered.compile()(q, 2.0)
    assert_quantized(again, 2 * numpy_rounded(x))
    assert more == 3
    close(laminax.jit(lambda x: dequantize(quantize(x))).lower(x).compile()(x), numpy_rounded(x))
    with pytest.raises(TypeError, match=r"compiled with q8\[2,3\] and called with q8\[3\]"):
        lowered.compile()(Quantized(q.values[0], q.scales[0]), 2.0)


def test_eval_shape_gives_its_type(x):
    assert laminax.eval_shape(quantize, x) is QuantizedType((2, 3))
    assert laminax.jit(quantize).eval_shape(x) is QuantizedType((2, 3))


def test_donated_arguments_are_counted_by_value(x):
    q = quantize(x)
    y = jnp.ones((2, 3))
    close(laminax.jit(lambda q, y: dequantize(q) + y, donate_argnums=1)(q, y), numpy_rounded(x) + 1)
    assert y.is_deleted() and not q.values.is_deleted()


def test_export_takes_programs_that_have_it_inside(x):
    exported = laminax.export.export(laminax.jit(lambda x: dequantize(quantize(x))))(x)
    close(exported.call(x), numpy_rounded(x))
    with pytest.raises(NotImplementedError, match="export.*users' own"):
        laminax.export.export(laminax.jit(quantize))(x)


# Derivatives


def test_gradients_have_the_tangent_type(x):
    """A straight-through estimator: quantisation counts as the identity."""
    q = quantize(x)
    for transform in (lambda f: f, laminax.jit):
        close(transform(laminax.grad(lambda x: jnp.sum(dequantize(quantize(x)) ** 2)))(x), 2 * numpy_rounded(x))
        close(transform(laminax.grad(lambda q: jnp.sum(dequantize(q) ** 2)))(q), 2 * numpy_rounded(x))
    close(laminax.grad(laminax.jit(lambda q: jnp.sum(dequantize(q) ** 2)))(q), 2 * numpy_rounded(x))
    close(laminax.grad(lambda s: jnp.sum(s * dequantize(q)))(2.0), numpy_rounded(x).sum())


def test_vjp_takes_cotangents_of_the_tangent_type(x):
    q, pullback = laminax.vjp(quantize, x)
    ct = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert_quantized(q, x)
    np.testing.assert_array_equal(pullback(ct)[0], ct)
    value, pullback = laminax.vjp(dequantize, q)
    np.testing.assert_array_equal(pullback(ct)[0], ct)


@pytest.mark.parametrize("prevent_cse", [True, False])
def test_checkpointed_functions_have_it_inside_and_as_argument(x, prevent_cse):
    q = quantize(x)

    def loss(q, x):
        return jnp.sum(jnp.sin(dequantize(q)) + jnp.cos(dequantize(quantize(x))))

    remat = laminax.checkpoint(loss, prevent_cse=prevent_cse)
    rounded = numpy_rounded(x)
    close(remat(q, x), np.sum(np.sin(rounded) + np.cos(rounded)), 0.1)
    for transform in (lambda f: f, laminax.jit):
        of_q, of_x = transform(laminax.grad(remat, (0, 1)))(q, x)
        close(of_q, np.cos(rounded))
        close(of_x, -np.sin(rounded))


def test_custom_rules_take_it(x):
    q = quantize(x)

    @laminax.custom_vjp
    def f(q):
        return jnp.sum(dequantize(q))

    f.defvjp(lambda q: (f(q), q), lambda q, ct: (ct * dequantize(q),))

    @laminax.custom_jvp
    def g(q):
        return jnp.sum(dequantize(q))

    g.defjvp(lambda primals, tangents: (g(*primals), 3 * jnp.sum(tangents[0])))
    for transform in (lambda f: f, laminax.jit):
        close(transform(f)(q), numpy_rounded(x).sum(), 0.1)
        close(transform(laminax.grad(f))(q), numpy_rounded(x))
        close(transform(g)(q), numpy_rounded(x).sum(), 0.1)
        np.testing.assert_array_equal(transform(laminax.grad(g))(q), np.full((2, 3), 3))


def _complex(pair):
    return np.asarray(pair.re) + 1j * np.asarray(pair.im)


def _pair(z):
    return Pair(jnp.asarray(z.real, np.float32), jnp.asarray(z.imag, np.float32))


def test_tangents_may_be_of_users_types_themselves(rng):
    """The product of complex numbers: the derivatives by the product rule, the cotangents by the adjoint of a product."""
    a, b, da, db = [rng.normal(size=3) + 1j * rng.normal(size=3) for _ in range(4)]
    for transform in (lambda f: f, laminax.jit):
        value, tangent = transform(lambda *p: laminax.jvp(multiply, p[:2], p[2:]))(*map(_pair, (a, b, da, db)))
        np.testing.assert_allclose(_complex(value), a * b, rtol=1e-5)
        np.testing.assert_allclose(_complex(tangent), da * b + a * db, rtol=1e-5)
        cts = transform(lambda x, y, ct: laminax.vjp(multiply, x, y)[1](ct))(*map(_pair, (a, b, da)))
        np.testing.assert_allclose(_complex(cts[0]), da * b.conj(), rtol=1e-5)
        np.testing.assert_allclose(_complex(cts[1]), da * a.conj(), rtol=1e-5)
    value, f_jvp = laminax.linearize(multiply, _pair(a), _pair(b))
    np.testing.assert_allclose(_complex(f_jvp(_pair(da), _pair(db))), da * b + a * db, rtol=1e-5)


def test_cotangents_of_users_types_are_added_by_the_type(rng):
    """|z^2|^2 has the gradient 4 |z|^2 z, to which z contributes twice in each product."""
    z = rng.normal(size=3) + 1j * rng.normal(size=3)

    def loss(z):
        re, im = parts(multiply(z, z))
        return jnp.sum(re ** 2 + im ** 2)

    for function in (loss, laminax.jit(loss), laminax.checkpoint(loss)):
        for transform in (lambda f: f, laminax.jit):
            np.testing.assert_allclose(_complex(transform(laminax.grad(function))(_pair(z))), 4 * abs(z) ** 2 * z, rtol=1e-5)
    unused = laminax.grad(lambda z, y: y ** 2)(_pair(z), 3.0)
    np.testing.assert_array_equal(_complex(unused), np.zeros(3))


def test_the_type_may_say_how_the_arrays_are_meant(rng):
    """A matrix that is transposed by its type: the arrays stay what they are."""
    m, v = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=2).astype(np.float32)
    flipped = laminax.jit(transpose)(Lazy(jnp.asarray(m), False))
    assert typeof(flipped) is LazyType(3, 2, True)
    np.testing.assert_array_equal(flipped.matrix, m)

    def loss(x, v):
        return jnp.sum(product(x, v) ** 2)

    for function in (loss, laminax.jit(loss)):
        np.testing.assert_allclose(function(flipped, v), np.sum((m.T @ v) ** 2), rtol=1e-5)
        of_x, of_v = laminax.grad(function, (0, 1))(flipped, v)
        np.testing.assert_allclose(of_x, 2 * np.outer(m.T @ v, v), rtol=1e-5)
        np.testing.assert_allclose(of_v, 2 * m @ (m.T @ v), rtol=1e-5)
    of_m = laminax.grad(lambda x: jnp.sum(product(transpose(x), v) ** 2))(Lazy(jnp.asarray(m), False))
    np.testing.assert_allclose(of_m, 2 * np.outer(v, m.T @ v), rtol=1e-5)


# Batches


def test_vmap_takes_specs_for_arguments_and_results(xs):
    expected = np.stack([numpy_rounded(x) for x in xs])
    for transform in (lambda f: f, laminax.jit):
        qs = transform(laminax.vmap(quantize, out_axes=Rows()))(xs)
        assert_quantized(qs, xs)
        close(transform(laminax.vmap(dequantize, in_axes=Rows(), axis_size=4))(qs), expected)
    close(laminax.vmap(laminax.jit(dequantize), in_axes=Rows(), axis_size=4)(qs), expected)
    close(laminax.vmap(lambda x, q: x + dequantize(q), in_axes=(0, Rows()))(xs, qs), xs + expected)
    close(laminax.vmap(lambda x, q: x + dequantize(q), in_axes=(0, None))(xs, quantize(xs[0])), xs + expected[0])
    close(laminax.vmap(laminax.grad(lambda x: jnp.sum(dequantize(quantize(x)) ** 2)))(xs), 2 * expected)
    close(laminax.vmap(laminax.grad(lambda q: jnp.sum(dequantize(q) ** 2)), in_axes=Rows(), axis_size=4)(qs), 2 * expected)


class Labelled:
    """A container of a user's, of which `vmap` takes out the examples by functions."""

    def __init__(self, data):
        self.data = data


def test_specs_beside_containers_with_functions_for_vmap(x, xs):
    """Where a container of a user's is known to vmap, a MappingSpec was taken for an axis of an array."""
    batching.register_vmappable(Labelled, int, int, lambda cont, labelled, spec: cont(labelled.data, spec),
                                lambda cont, size, data, spec: Labelled(cont(size, data, spec)), None)
    try:
        qs = laminax.vmap(quantize, out_axes=Rows())(xs)
        close(laminax.vmap(dequantize, in_axes=Rows(), axis_size=4)(qs), np.stack([numpy_rounded(x) for x in xs]))
        with pytest.raises(TypeError, match="needs an int or None"):
            laminax.vmap(jnp.sin, in_axes=Rows(), axis_size=4)(xs)
    finally:
        batching.unregister_vmappable(Labelled)


def test_specs_say_along_which_axis(rng):
    a, b = [rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)) for _ in range(2)]
    mapped = laminax.vmap(multiply, in_axes=(PairSpec(1), PairSpec(1)), out_axes=PairSpec(1), axis_size=4)
    for transform in (lambda f: f, laminax.jit):
        np.testing.assert_allclose(_complex(transform(mapped)(_pair(a), _pair(b))), a * b, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="is mapped as"):
        laminax.vmap(lambda x: x, in_axes=PairSpec(1), out_axes=PairSpec(0), axis_size=4)(_pair(a))


def test_vmap_of_custom_rules(xs):
    qs = laminax.vmap(quantize, out_axes=Rows())(xs)

    @laminax.custom_vjp
    def f(q):
        return jnp.sum(dequantize(q))

    f.defvjp(lambda q: (f(q), q), lambda q, ct: (ct * dequantize(q),))
    expected = np.stack([numpy_rounded(x) for x in xs])
    close(laminax.vmap(f, in_axes=Rows(), axis_size=4)(qs), expected.sum((1, 2)), 0.1)
    close(laminax.vmap(laminax.grad(f), in_axes=Rows(), axis_size=4)(qs), expected)


# Loops and branches


def _numpy_accumulated(xs):
    total, steps = numpy_rounded(np.ones((2, 3), np.float32)), []
    for x in xs:
        steps.append(numpy_rounded(2 * x))
        total = numpy_rounded(total + x)
    return total, np.stack(steps)


def test_scan_carries_takes_and_stacks_it(xs):
    def step(total, x):
        return quantize(dequantize(total) + x), quantize(2 * x)

    start = quantize(jnp.ones((2, 3)))
    total, steps = _numpy_accumulated(xs)
    for transform in (lambda f: f, laminax.jit):
        found, stacked = transform(lambda q, xs: lax.scan(step, q, xs))(start, xs)
        close(dequantize(found), total, 0.05)
        assert typeof(stacked) is QuantizedType((4, 2, 3))
        close(dequantize(stacked), steps)
        summed, () = transform(lambda qs: lax.scan(lambda t, q: (t + jnp.sum(dequantize(q)), ()), 0.0, qs, length=4))(stacked)
        close(summed, steps.sum(), 0.2)
        summed, () = transform(lambda qs, xs: lax.scan(lambda t, p: (t + jnp.sum(dequantize(p[0]) * p[1]), ()), 0.0, (qs, xs)))(stacked, xs)
        close(summed, (steps * xs).sum(), 0.2)


def test_derivatives_of_scan(xs):
    qs = laminax.vmap(quantize, out_axes=Rows())(xs)
    rounded = np.stack([numpy_rounded(x) for x in xs])

    def squares(qs, s):
        return lax.scan(lambda t, q: (t + jnp.sum((s * dequantize(q)) ** 2), ()), 0.0, qs, length=4)[0]

    def carried(x, s):
        q, _ = lax.scan(lambda q, _: (quantize(s * dequantize(q)), None), quantize(x), None, length=3)
        return jnp.sum(dequantize(q))

    for transform in (lambda f: f, laminax.jit):
        of_qs, of_s = transform(laminax.grad(squares, (0, 1)))(qs, 3.0)
        close(of_qs, 18 * rounded, 0.02)
        close(of_s, 6 * np.sum(rounded ** 2), 0.05)
        close(transform(laminax.grad(carried))(xs[0], 2.0), np.full((2, 3), 8.0))


def test_vmap_of_scan(xs):
    def f(x):
        q, ys = lax.scan(lambda q, _: (quantize(2 * dequantize(q)), jnp.sum(dequantize(q))), quantize(x), None, length=3)
        return dequantize(q), ys

    found, sums = laminax.vmap(f)(xs)
    rounded = np.stack([numpy_rounded(x) for x in xs])
    close(found, 8 * rounded, 0.03)
    close(sums, rounded.sum((1, 2))[:, None] * [1, 2, 4], 0.05)


def test_while_and_fori_carry_it(x):
    def double(q):
        return quantize(2 * dequantize(q))

    for transform in (lambda f: f, laminax.jit):
        count, q = transform(lambda q: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, double(c[1])), (0, q)))(quantize(x))
        assert count == 3
        close(dequantize(q), 8 * numpy_rounded(x), 0.05)
        close(dequantize(transform(lambda q: lax.fori_loop(0, 2, lambda i, q: double(q), q))(quantize(x))), 4 * numpy_rounded(x), 0.05)


@pytest.mark.parametrize("is_true", [True, False])
def test_cond_takes_and_gives_it(x, is_true):
    def f(p, x):
        return dequantize(lax.cond(p, lambda q: q, lambda q: quantize(-dequantize(q)), quantize(x)))

    sign = 1 if is_true else -1
    for transform in (lambda f: f, laminax.jit):
        close(transform(f)(is_true, x), sign * numpy_rounded(x))
        close(transform(laminax.grad(lambda x, p: jnp.sum(f(p, x))))(x, is_true), np.full((2, 3), sign))


def test_forward_mode_through_loops_and_branches(rng):
    """Powers of complex numbers: the tangent of z^(2^n) is 2^n z^(2^n - 1) dz."""
    z, dz = [rng.normal(size=2) + 1j * rng.normal(size=2) for _ in range(2)]

    def by_scan(z):
        return lax.scan(lambda z, _: (multiply(z, z), None), z, None, length=2)[0]

    def by_while(z):
        return lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, multiply(c[1], c[1])), (0, z))[1]

    def by_cond(z):
        return multiply(*[lax.cond(p, lambda z: multiply(z, z), lambda z: z, z) for p in (True, True)])

    for function in (by_scan, by_while, by_cond):
        for transform in (lambda f: f, laminax.jit):
            value, tangent = transform(lambda z, dz: laminax.jvp(function, (z,), (dz,)))(_pair(z), _pair(dz))
            np.testing.assert_allclose(_complex(value), z ** 4, rtol=1e-4)
            np.testing.assert_allclose(_complex(tangent), 4 * z ** 3 * dz, rtol=1e-4)
    ct = laminax.vjp(by_scan, _pair(z))[1](_pair(dz))[0]
    np.testing.assert_allclose(_complex(ct), dz * (4 * z ** 3).conj(), rtol=1e-4)


def test_programs_per_device_have_it_inside(x):
    mesh = laminax.make_mesh((1,), ("i",), axis_types=(laminax.sharding.AxisType.Auto,))

    @laminax.shard_map(mesh=mesh, in_specs=laminax.P("i"), out_specs=laminax.P(), check_vma=False)
    def total(x):
        return lax.psum(jnp.sum(dequantize(quantize(x)) ** 2), "i")

    for transform in (lambda f: f, laminax.jit):
        close(transform(total)(x), np.sum(numpy_rounded(x) ** 2), 0.05)
        close(transform(laminax.grad(total))(x), 2 * numpy_rounded(x))
    close(laminax.pmap(lambda x: dequantize(quantize(x)))(x[None])[0], numpy_rounded(x))
    with pytest.raises(NotImplementedError, match="check_vma=False"):  # its type does not say that it varies, which derivatives need
        laminax.shard_map(lambda x: dequantize(quantize(x)), mesh=mesh, in_specs=laminax.P("i"), out_specs=laminax.P("i"))(x)


# What is refused


def test_what_is_not_supported_says_so(x, xs):
    q, qs = quantize(x), laminax.vmap(quantize, out_axes=Rows())(xs)
    with pytest.raises(ValueError, match=r"in_axes has 0 for a value of the non-array type q8\[4,2,3\]"):
        laminax.vmap(dequantize, axis_size=4)(qs)
    with pytest.raises(ValueError, match="axis_size must be specified"):
        laminax.vmap(dequantize, in_axes=Rows())(qs)
    with pytest.raises(TypeError, match="needs an int or None"):
        laminax.vmap(jnp.sin, in_axes=Rows(), axis_size=4)(xs)
    with pytest.raises(NotImplementedError, match="cannot be repeated"):
        laminax.vmap(lambda x: q, out_axes=Rows())(xs)
    with pytest.raises(NotImplementedError, match="the predicate is mapped"):
        laminax.vmap(lambda p, x: dequantize(lax.cond(p, lambda q: q, lambda q: q, quantize(x))))(np.arange(4) > 1, xs)
    with pytest.raises(NotImplementedError, match="a part of a reference to a value of the type"):
        laminax.new_ref(q)[0]
    with pytest.raises(NotImplementedError, match="in_shardings"):
        laminax.jit(lambda q: q, out_shardings=laminax.sharding.SingleDeviceSharding(laminax.devices()[0]))(q)
    with pytest.raises(AttributeError, match="its values are no arrays"):
        laminax.jit(jnp.sin)(q)
    with pytest.raises(AttributeError, match="scales"):
        laminax.jit(lambda q: q.scales)(q)
    with pytest.raises(NotImplementedError, match="jvp"):
        laminax.jvp(dequantize, (q,), (x,))
    with pytest.raises(TypeError, match="scalar-output"):
        laminax.grad(quantize)(x)
    with pytest.raises(ValueError, match="tangent must be of the type"):
        laminax.jvp(lambda z: z, (Pair(x, x),), (x,))


@dataclass(frozen=True)
class Bare:
    value: Any


@dataclass(frozen=True)
class BareType(HiType):
    pass


@dataclass(frozen=True)
class BareSpec(MappingSpec):
    pass


register_hitype(Bare, lambda _: BareType())


def test_methods_that_a_type_lacks_are_named():
    with pytest.raises(NotImplementedError, match="lowering requires .*BareType.* to implement the `lo_ty` method"):
        laminax.jit(lambda x: x)(Bare(1))
    with pytest.raises(NotImplementedError, match="vmap requires .*BareType.* to implement the `dec_rank` method"):
        laminax.vmap(lambda x: x, in_axes=BareSpec(), out_axes=BareSpec(), axis_size=3)(Bare(1))
    with pytest.raises(NotImplementedError, match="derivatives requires .*BareType.* to implement the `to_tangent_aval` method"):
        laminax.grad(lambda x: 1.0)(Bare(1))


def test_registration_is_checked():
    with pytest.raises(TypeError, match="expected a class and a function"):
        register_hitype(3, lambda x: x)
    with pytest.raises(ValueError, match="has a type already"):
        register_hitype(Bare, lambda _: BareType())

    class Unhashable(HiType):
        __hash__ = None

    with pytest.raises(TypeError, match="must be hashable"):
        Unhashable()
    assert PairType((3,)) is PairType((3,)) is not PairType((4,))


def test_operations_say_which_types_they_take():
    class Wrong(HiPrim):
        def __init__(self):
            self.in_avals, self.out_aval, self.params = ("no type",), ShapedArray((), np.dtype("float32")), {}
            super().__init__()

    with pytest.raises(TypeError, match="in_avals and out_aval must be types"):
        Wrong()(1.0)


def test_pairs_are_made_of_constants_too():
    np.testing.assert_allclose(_complex(laminax.jit(lambda a: multiply(make_pair(a, a), make_pair(a, -a)))(jnp.ones(2))), [2, 2])
