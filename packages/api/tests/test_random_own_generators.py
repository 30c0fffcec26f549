"""Random keys of a generator that the user defines. Oracle: the same arithmetic in NumPy, and the built-in generator by its parts."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import export, random
from laminax.extend.random import define_prng_impl, random_seed, threefry_2x32

_STEP = jnp.array([3, 5], jnp.uint32)  # a constant of the generator


def _split(key, shape):
    return key + _STEP * (1 + jnp.arange(np.prod(shape, dtype=int), dtype=jnp.uint32)).reshape(*shape, 1)


def _bits(key, width, shape):
    count = jnp.arange(np.prod(shape, dtype=int), dtype=jnp.uint32).reshape(shape)
    return (key[0] + key[1] * count).astype(f"uint{width}")


def define(**changes):
    functions = dict(key_shape=(2,), seed=lambda s: jnp.stack([s.astype(jnp.uint32), jnp.uint32(7)]), split=_split, random_bits=_bits,
                     fold_in=lambda key, data: key ^ data, name="counting", tag="cnt")
    return define_prng_impl(**functions | changes)


COUNTING = define()


def words(key):
    return np.asarray(random.key_data(key)).tolist()


def test_a_key_is_made_split_folded_into_and_drawn_from():
    key = random.key(11, impl=COUNTING)
    assert key.dtype.name == "key<cnt>" and key.shape == () and words(key) == [11, 7] and random.key_impl(key) == COUNTING
    assert words(random.split(key, 3)) == [[14, 12], [17, 17], [20, 22]]
    assert random.split(key, (2, 3)).shape == (2, 3) and words(random.fold_in(key, 8)) == [11 ^ 8, 7 ^ 8]
    assert random.bits(key, (2, 2)).tolist() == [[11, 18], [25, 32]] and random.bits(key, (), jnp.uint8) == 11
    assert words(random.wrap_key_data(np.array([[1, 2]], np.uint32), impl=COUNTING)) == [[1, 2]]


def test_under_jit_vmap_and_in_control_flow():
    key = random.key(11, impl=COUNTING)
    keys = random.split(key, 3)
    each = [random.bits(keys[i], (2,)).tolist() for i in range(3)]
    assert laminax.vmap(lambda k: random.bits(k, (2,)))(keys).tolist() == each
    assert laminax.jit(laminax.vmap(lambda k: random.bits(k, (2,))))(keys).tolist() == each
    folded = laminax.vmap(random.fold_in, in_axes=(None, 0))(key, jnp.arange(3))
    assert words(folded) == [[11 ^ i, 7 ^ i] for i in range(3)]
    assert words(laminax.lax.fori_loop(0, 3, lambda i, k: random.split(k, 1)[0], key)) == [11 + 9, 7 + 15]


def test_samplers_draw_from_it():
    """A generator made of the threefry hash as the built-in one is draws the same numbers."""
    def hashed(key, count):
        return threefry_2x32((key[0], key[1]), count)

    def bits(key, width, shape):
        high, low = _pairs(hashed, key, int(np.prod(shape, dtype=int)))
        return (high ^ low).reshape(shape).astype(f"uint{width}")
    own = define(random_bits=bits, seed=lambda s: jnp.stack([jnp.uint32(0), s.astype(jnp.uint32)]))
    for draw in (lambda k: random.normal(k, (5,)), lambda k: random.uniform(k, (2, 3)), lambda k: random.bernoulli(k, 0.3, (4,))):
        np.testing.assert_array_equal(draw(random.key(4, impl=own)), draw(random.key(4, impl="threefry2x32")))


def _pairs(hashed, key, count):
    mixed = hashed(key, jnp.concatenate([jnp.zeros(count, jnp.uint32), jnp.arange(count, dtype=jnp.uint32)]))
    return mixed[:count], mixed[count:]


def test_two_generators_of_one_name_are_two():
    other = define(fold_in=lambda key, data: key)
    assert other != COUNTING and random.key(1, impl=other).dtype != random.key(1, impl=COUNTING).dtype
    assert words(random.fold_in(random.key(1, impl=other), 5)) == [1, 7]
    with pytest.raises((TypeError, ValueError)):
        jnp.stack([random.key(1, impl=other), random.key(1, impl=COUNTING)])


@pytest.mark.parametrize("parameter, wrong, use", [
    ("seed", lambda s: jnp.zeros(3, jnp.uint32), lambda impl: random.key(0, impl=impl)),
    ("split", lambda key, shape: key, lambda impl: random.split(random.key(0, impl=impl))),
    ("random_bits", lambda key, width, shape: jnp.zeros(shape), lambda impl: random.bits(random.key(0, impl=impl))),
    ("fold_in", lambda key, data: key.astype(int), lambda impl: random.fold_in(random.key(0, impl=impl), 1)),
])
def test_a_result_of_another_type_is_refused(parameter, wrong, use):
    with pytest.raises(TypeError, match=f"define_prng_impl: {parameter} of the generator 'counting' must return an array of shape .* got "):
        use(define(**{parameter: wrong}))


def test_keys_of_it_are_not_exported():
    key = random.key(1, impl=COUNTING)
    exported = export.export(laminax.jit(lambda k: random.bits(k, (2,))))(key)
    np.testing.assert_array_equal(exported.call(key), random.bits(key, (2,)))
    with pytest.raises(ValueError, match="keys of the generator 'counting'.*cannot be written"):
        exported.serialize()


def test_several_seeds_at_once():
    """As `random_seed` of the interface for extensions takes them: with the generator itself, or with its name."""
    assert words(random_seed(np.arange(3), COUNTING)) == [[0, 7], [1, 7], [2, 7]]
    assert words(random_seed(np.arange(2), "threefry2x32")) == [words(random.key(seed, impl="threefry2x32")) for seed in range(2)]
