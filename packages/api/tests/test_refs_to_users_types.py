"""References to values of types of users' own: read and written whole, in functions and loops. What they stand for is computed by NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from user_types import dequantize, make_pair, multiply, numpy_rounded, parts, quantize

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental import hijax

F32 = np.dtype("float32")


@dataclass
class Scaled:
    """The array `whole * scale`."""
    whole: Any
    scale: Any

    def value(self):
        return np.asarray(self.whole) * np.asarray(self.scale)


@dataclass(frozen=True)
class ScaledType(hijax.HiType):
    shape: tuple

    def lo_ty(self):
        return [hijax.ShapedArray(self.shape, np.dtype("int32")), hijax.ShapedArray((), F32)]

    def lower_val(self, scaled):
        return [scaled.whole, scaled.scale]

    def raise_val(self, whole, scale):
        return Scaled(whole, scale)


hijax.register_hitype(Scaled, lambda scaled: ScaledType(np.shape(scaled.whole)))


class Times(hijax.HiPrim):
    """A value whose scale is multiplied by a number."""

    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval, hijax.ShapedArray((), F32)), aval, {}
        super().__init__()

    def expand(self, scaled, factor):
        return Scaled(scaled.whole, scaled.scale * factor)


class Decoded(hijax.HiPrim):
    """The array that a value stands for."""

    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), hijax.ShapedArray(aval.shape, F32), {}
        super().__init__()

    def expand(self, scaled):
        return scaled.whole.astype(F32) * scaled.scale


def times(scaled, factor):
    return Times(laminax.typeof(scaled))(scaled, jnp.float32(factor))


def decoded(scaled):
    return Decoded(laminax.typeof(scaled))(scaled)


def scaled(scale=0.5):
    return Scaled(jnp.array([[1, 2, 3], [4, 5, 6]], "int32"), jnp.float32(scale))


WHOLE = np.arange(1, 7).reshape(2, 3)


def check(found, factor):
    assert isinstance(found, Scaled)
    np.testing.assert_array_equal(found.value(), WHOLE * np.float32(factor))


def made_inside(x):
    ref = laminax.new_ref(x)
    old = ref.swap(times(ref[...], 3))
    ref.set(times(ref.get(), 2))
    ref[:, :] = ref[..., :]
    return old, ref[...], laminax.freeze(ref)


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit, laminax.checkpoint])
def test_made_read_and_written_by_one_function(wrap):
    for found, factor in zip(wrap(made_inside)(scaled()), (0.5, 3, 3)):
        check(found, factor)


@pytest.mark.parametrize("jit", [True, False])
def test_of_a_caller(jit):
    ref = laminax.new_ref(scaled())

    def closing(factor):
        ref[...] = times(ref[...], factor)
        return decoded(ref[...])

    def taking(ref, factor):
        ref[...] = times(ref[...], factor)

    if jit:
        closing, taking = laminax.jit(closing), laminax.jit(taking)
    np.testing.assert_array_equal(closing(4.), WHOLE * 2)
    taking(ref, 2.)
    taking(ref, 2.)
    check(ref[...], 8)
    assert laminax.typeof(ref).inner_aval is ScaledType((2, 3))


@pytest.mark.parametrize("jit", [True, False])
def test_loops_and_branches_write(jit):
    def f(x, n):
        ref = laminax.new_ref(x)

        def body(i, total):
            ref[...] = times(ref[...], 2.)
            return total + decoded(ref[...])[0, 0]

        total = lax.fori_loop(0, n, body, 0.)

        def write():
            ref[...] = times(ref[...], -1.)

        lax.cond(total > 5, write, lambda: None)
        _, firsts = lax.scan(lambda c, k: (c, decoded(times(ref[...], k))[0, 0]), 0., jnp.arange(3.))
        return ref[...], total, firsts

    found, total, firsts = (laminax.jit(f) if jit else f)(scaled(), 3)
    check(found, -4)
    assert total == 1 + 2 + 4 and firsts.tolist() == [0., -4., -8.]


@pytest.mark.parametrize("jit", [True, False])
def test_an_empty_one_holds_zeros(jit):
    def f():
        return laminax.freeze(laminax.empty_ref(ScaledType((2, 3))))

    found = (laminax.jit(f) if jit else f)()
    assert found.whole.shape == (2, 3) and found.whole.dtype == np.int32 and found.scale.shape == () and not found.value().any()


def test_it_holds_a_value_of_its_own():
    x = scaled()
    ref = laminax.new_ref(x)
    x.scale = jnp.float32(100)
    check(ref[...], 0.5)
    assert repr(ref).startswith("Ref(Scaled(whole=")


@pytest.mark.parametrize("use, error, message", [
    (lambda ref: ref[0], NotImplementedError, r"a part of a reference to a value of the type ScaledType.* is read and written whole"),
    (lambda ref: ref.__setitem__(..., 1.), ValueError, r"Invalid type for `swap`. Ref type: ScaledType.*Value type: f32\[\]"),
    (lambda ref: ref.__setitem__(..., Scaled(jnp.zeros(3, "int32"), 1.)), ValueError, r"Value type: ScaledType\(shape=\(3,\)\)"),
    (lambda ref: ref.addupdate(scaled()), NotImplementedError, "adding to a reference to a value of the type ScaledType"),
    (lambda ref: laminax.grad(lambda x: x * decoded(ref[0])[0])(1.), NotImplementedError, "a part of a reference"),
])
@pytest.mark.parametrize("jit", [True, False])
def test_wrong_uses(use, error, message, jit):
    def f(x):
        use(laminax.new_ref(x))

    with pytest.raises(error, match=message):
        (laminax.jit(f) if jit else f)(scaled())


@pytest.mark.parametrize("jit", [lambda f: f, laminax.jit])
def test_derivatives_and_batches_go_through_references(jit):
    x = np.random.default_rng(0).normal(size=(4, 2, 3)).astype(np.float32)

    def squares(x):
        ref = laminax.new_ref(quantize(jnp.zeros((2, 3))))
        ref[...] = quantize(x)
        return jnp.sum(dequantize(ref[...]) ** 2)

    expected = 2 * np.stack([numpy_rounded(row) for row in x])
    np.testing.assert_allclose(jit(laminax.grad(squares))(x[0]), expected[0], rtol=1e-6)
    np.testing.assert_allclose(jit(laminax.grad(laminax.jit(squares)))(x[0]), expected[0], rtol=1e-6)
    np.testing.assert_allclose(jit(laminax.vmap(laminax.grad(squares)))(x), expected, rtol=1e-6)

    def looped(re, im):  # ((z z) z) z, whose derivative is 4 z^3
        z = make_pair(re, im)
        ref = laminax.new_ref(z)

        def body(i, _):
            ref[...] = multiply(ref[...], z)
            return 0

        lax.fori_loop(0, 3, body, 0)
        return parts(ref[...])

    z = 0.6 + 0.7j
    derivative = jit(lambda re, im: laminax.jvp(looped, (re, im), (1., 0.)))
    (real, imaginary), (real_dot, imaginary_dot) = derivative(np.float32(z.real), np.float32(z.imag))
    np.testing.assert_allclose([real + 1j * imaginary, real_dot + 1j * imaginary_dot], [z ** 4, 4 * z ** 3], rtol=1e-5)
