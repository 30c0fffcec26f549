"""Arguments that made no sense, or no end: each is refused in words that name it, or answered where that is cheap."""

import math

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax, random, tree_util
from laminax.scipy import linalg as sl
from laminax.scipy import special
from laminax.sharding import PartitionSpec as P

KEY = random.key(0)
V = np.ones(3, np.float32)


@pytest.mark.parametrize("call, error, words", [
    (lambda: laminax.shard_map(lambda x: x, mesh=3, in_specs=P(), out_specs=P()), TypeError,
     "instance for mesh, but got 3 of type int.*make_mesh"),
    (lambda: laminax.linear_transpose(str, slice(None)), TypeError,
     r"linear_transpose: .*a shape and a dtype; got slice\(None, None, None\) of type slice"),
    (lambda: jnp.count_nonzero(KEY), TypeError, r"count_nonzero does not accept dtype key<fry>.*random.key_data"),
    (lambda: jnp.any(KEY), TypeError, "any does not accept dtype key<fry>"),
    (lambda: jnp.logical_not(KEY), TypeError, "logical_not does not accept dtype key<fry>"),
    (lambda: jnp.nonzero(random.split(KEY)), TypeError, "nonzero does not accept dtype key<fry>"),
    (lambda: jnp.histogram(3, range=(1, 2, 3)), ValueError, r"histogram: range must be None or a pair of scalars.*got \(1, 2, 3\)"),
    (lambda: jnp.histogram(3, range=5), ValueError, "histogram: range must be None or a pair of scalars.*got 5"),
    (lambda: jnp.histogram(3, range=(V, V)), ValueError, "histogram: range must be None or a pair of scalars"),
    (lambda: jnp.histogramdd(np.ones((3, 2)), range=[(1, 2, 3), (1, 2)]), ValueError, r"range must be None or a pair.*\(1, 2, 3\)"),
    (lambda: jnp.histogram(3, bins=-1), ValueError, "histogram: bins must be positive where it is their number, got -1"),
    (lambda: jnp.polyint(2**63), ValueError, r"polyint: p must be an array of coefficients, .*got the scalar "
                                             r"9223372036854775808.*array\(\[p\]\)"),
    (lambda: jnp.polyder(2.5), ValueError, "polyder: p must be an array of coefficients"),
    (lambda: jnp.polyval(2.5, 7), ValueError, "polyval: p must be an array of coefficients"),
    (lambda: jnp.polydiv(V, np.zeros(0, np.float32)), ValueError, "polydiv: v has no coefficients"),
    (lambda: jnp.linalg.cross(5, V), ValueError, "linalg.cross: axis -1 is out of bounds for array of dimension 0. x1 is a scalar"),
    (lambda: jnp.cross(5, V), ValueError, "cross: axis -1 is out of bounds for array of dimension 0. a is a scalar"),
    (lambda: jnp.linalg.multi_dot(5.0), TypeError, "multi_dot: arrays must be a sequence of arrays, got 5.0"),
    (lambda: laminax.nn.glu(2.5), ValueError, "glu: axis -1 is out of bounds for array of dimension 0. x is a scalar"),
    (lambda: tree_util.treedef_tuple((2, 3)), TypeError, "treedef_tuple: element 0 must be a PyTreeDef, got 2 of type int.*tree_structure"),
    (lambda: tree_util.treedef_tuple(3), TypeError, "treedef_tuple: the argument must be a sequence of PyTreeDefs, got 3"),
    (lambda: tree_util.treedef_children(3), TypeError, "treedef_children: a PyTreeDef is expected, got 3 of type int"),
    (lambda: tree_util.treedef_is_leaf(3), TypeError, "treedef_is_leaf: a PyTreeDef is expected"),
    (lambda: tree_util.tree_transpose(3, None, [1]), TypeError, "tree_transpose: a PyTreeDef is expected"),
    (lambda: laminax.checkpoint(lambda x: x, static_argnums=1.5), TypeError,
     "checkpoint: static_argnums must be an int or a sequence of ints.*got 1.5"),
    (lambda: laminax.checkpoint(lambda x: x, static_argnames=5), TypeError, "checkpoint: static_argnames must be a string.*got 5"),
    (lambda: laminax.custom_jvp(lambda x: x, nondiff_argnums=1.5), TypeError,
     "nondiff_argnums of .* must be an int or a sequence of ints.*got 1.5"),
    (lambda: laminax.custom_vjp(lambda x: x, nondiff_argnums="a"), TypeError, "nondiff_argnums of .* must be an int.*got 'a'"),
    (lambda: jnp.tensordot(np.ones((3, 2)), np.ones(2), axes=([0], [0, 1])), TypeError,
     "tensordot requires axes lists to have equal length"),
    (lambda: laminax.jit(lambda x, i: x[i:i + 2])(V, 1), IndexError,
     "static start/stop/step.*depends on the value of the argument i of jit"),
    (lambda: random.wrap_key_data(3), TypeError, "random.wrap_key_data: invalid PRNG key data: an array with ndim, shape and dtype is "
                                                 "expected, got a int: 3"),
    (lambda: random.wrap_key_data(V), TypeError, "random.wrap_key_data: invalid PRNG key data: the dtype must be uint32, got float32"),
    (lambda: laminax.jit(random.wrap_key_data)(np.ones(3, np.uint32)), TypeError, r"random.wrap_key_data: .*has shape \(2,\).*got \(3,\)"),
    (lambda: random.normal(np.ones(3, np.uint32)), TypeError, r"random.normal: invalid PRNG key data.*got \(3,\)")])
def test_what_was_wrong_is_said(call, error, words):
    with pytest.raises(error, match=words) as caught:
        call()
    assert "JAX" not in str(caught.value).replace("jax.", "")


@pytest.mark.parametrize("call, words", [
    (lambda: jnp.zeros(2**63), r"full: each size in the shape must be from 0 to 2\*\*63 - 1"),
    (lambda: jnp.tri(3, 2**63), "tri: each size in the shape"), (lambda: jnp.eye(2**63), "eye: each size"),
    (lambda: lax.iota("int32", 2**63), "each size in the shape"), (lambda: jnp.broadcast_to(1.0, (2**63,)), "broadcast_to: each size"),
    (lambda: random.split(KEY, 2**63), "each size in the shape"),
    (lambda: random.choice(KEY, 2**63, (2,)), "choice: a, the number of what is chosen from"),
    (lambda: laminax.eval_shape(lambda x: x, laminax.ShapeDtypeStruct((2**63,), "float32")), r"2\*\*63 - 1"),
    (lambda: jnp.diag_indices(2**63), "diag_indices: n must be from 0 to"),
    (lambda: jnp.triu_indices(2**63), "triu_indices: n must be from 0 to"),
    (lambda: jnp.tril_indices(3, m=2**63), "tril_indices: m must be"), (lambda: jnp.blackman(2**63), "blackman: M must be"),
    (lambda: jnp.kaiser(2**63, 1.0), "kaiser: M must be"), (lambda: special.bernoulli(2**63), "bernoulli: n must be"),
    (lambda: jnp.diag_indices(4, ndim=2**31), "diag_indices: arrays have at most 1024 axes, got 2147483648"),
    (lambda: lax.broadcast_to_rank(V, 10**6), "broadcast_to_rank: arrays have at most 1024 axes, got 1000000"),
    (lambda: lax.broadcast_to_rank(V, 2**63), "broadcast_to_rank: arrays have at most 1024 axes"),
    (lambda: jnp.expand_dims(1.0, tuple(range(10**5))), "expand_dims: arrays have at most 1024 axes"),
    (lambda: jnp.reshape(1.0, (1,) * 10**5), "reshape: arrays have at most 1024 axes"),
    (lambda: jnp.tile(1.0, (1,) * 10**5), "at most 1024 axes"),
    (lambda: jnp.zeros((1,) * 10**5), "full: arrays have at most 1024 axes"),
    (lambda: sl.pascal(2**63), "pascal: n must be at most 32768, got 9223372036854775808"),
    (lambda: sl.invpascal(2**40), "invpascal: n must be at most"),
    (lambda: sl.invhilbert(2**63), "invhilbert: n must be at most"), (lambda: sl.hilbert(2**63), "hilbert: n must be at most"),
    (lambda: sl.hadamard(2**62), "hadamard: n must be at most"), (lambda: sl.helmert(2**63), "helmert: n must be at most"),
    (lambda: sl.dft(2**63), "dft: n must be at most")])
def test_sizes_are_checked_first(call, words):
    """These did not end, ended in the compiler's words, or had no elements."""
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("call", [
    lambda: jnp.arange(2**40), lambda: jnp.diag_indices(2**40), lambda: jnp.tri(2**40), lambda: jnp.eye(2**40),
    lambda: jnp.linspace(0, 1, 2**40),
    lambda: jnp.indices((2**40,)), lambda: laminax.nn.one_hot(1, 2**40), lambda: jnp.fft.fft(np.ones(3, np.complex64), 2**40),
    lambda: random.normal(KEY, (2**40,)), lambda: random.split(KEY, 2**40), lambda: laminax.jit(lambda: (jnp.zeros(2**40), 1.0))()])
def test_results_that_no_memory_holds(call):
    """The compiler ended the process for most of these."""
    with pytest.raises(laminax.errors.JaxRuntimeError, match=r"RESOURCE_EXHAUSTED: Out of memory allocating \d+ bytes\. jit\("):
        call()


def test_programs_with_results_that_no_memory_holds_can_be_lowered():
    lowered = laminax.jit(lambda: random.bits(KEY, (2**20, 2**20))).lower()  # 4 TB, for a larger machine
    assert "tensor<1048576x1048576xui32>" in lowered.as_text()
    with pytest.raises(laminax.errors.JaxRuntimeError, match=r"RESOURCE_EXHAUSTED: Out of memory allocating 4398046511104 bytes"):
        lowered.compile()


def test_large_values_that_are_no_results():
    assert laminax.jit(lambda: jnp.zeros((2**40,))[3])() == 0
    assert laminax.eval_shape(lambda: jnp.zeros((2**40, 2**10))).shape == (2**40, 2**10)


def test_polynomials_of_one_coefficient():
    """As in NumPy, for which a scalar is a constant polynomial here."""
    for name in ("polyadd", "polysub", "polymul", "polydiv"):
        for args in ((2.5, 7.0), (2.5, V), (V, 2.5)):
            for found, expected in zip(np.atleast_2d(getattr(jnp, name)(*args)), np.atleast_2d(getattr(np, name)(*args)), strict=True) \
                    if name != "polydiv" else zip(getattr(jnp, name)(*args)[:1], getattr(np, name)(*args)[:1]):
                np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_differences_end_when_none_is_left():
    assert jnp.diff(V, 2**40).shape == np.diff(V, 40).shape == (0,)


@pytest.mark.parametrize("kind", ["symmetric", "lower", "upper"])
def test_large_matrices_of_binomials(kind):
    n = 1200
    found = np.asarray(sl.pascal(n, kind), np.float64)
    assert found.shape == (n, n)
    for i, j in ((0, 0), (5, 7), (30, 31), (1100, 3), (3, 1100), (40, 20), (20, 40), (1199, 1199), (1199, 600)):
        exact = {"symmetric": math.comb(i + j, i), "lower": math.comb(i, j), "upper": math.comb(j, i)}[kind]
        expected = np.float32(exact) if exact < 2**127 else np.inf
        np.testing.assert_allclose(found[i, j], expected, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 5, 12])
def test_inverses_of_matrices_of_binomials_and_of_hilbert(n):
    for kind in (None, "lower", "upper"):
        product = np.asarray(sl.invpascal(n, kind), np.float64) @ np.array(sl.pascal(n, kind), np.float64)
        np.testing.assert_allclose(product, np.eye(n), atol=1e-6)
    hilbert = [[1 / (i + j + 1) for j in range(n)] for i in range(n)]
    if n == 5:
        np.testing.assert_allclose(np.asarray(sl.invhilbert(n)), np.linalg.inv(hilbert), rtol=1e-6)
    assert np.asarray(sl.invhilbert(300)).shape == (300, 300) and np.isinf(sl.invhilbert(300)[150, 150])


def test_bernoulli_numbers_beyond_the_range_of_doubles():
    with laminax.enable_x64():
        found = np.asarray(special.bernoulli(1000))
        np.testing.assert_allclose(found[[0, 1, 2, 4, 10]], [1, -1 / 2, 1 / 6, -1 / 30, 5 / 66], rtol=1e-15)
        np.testing.assert_allclose(found[258], 2 * math.exp(math.lgamma(259) - 258 * math.log(2 * math.pi)), rtol=1e-11)  # Euler's formula
        assert (found[261::2] == 0).all() and (found[260::4] == -np.inf).all() and (found[262::4] == np.inf).all()
