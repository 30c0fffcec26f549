"""The option debug_key_reuse: keys that are used twice, eagerly, in jitted functions, in loops, under transformations."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax, random
from laminax.experimental.key_reuse import KeyReuseError

PASSED = "Previously-consumed key passed to "


@pytest.fixture(autouse=True)
def checked():
    with laminax.debug_key_reuse(True):
        yield


def again(fun, *args, match):
    with pytest.raises(KeyReuseError, match=match):
        fun(*args)


@pytest.mark.parametrize("sample, match", [
    (random.bits, "random_bits at index 0"), (random.uniform, "jit-compiled function at index 0"),
    (random.split, "random_split at index 0"),
    (laminax.jit(random.normal), r"jit-compiled function at index 0: jit\(normal\)"),
    (lambda k: random.permutation(k, 5), "jit-compiled function at index 0"),
])
def test_a_key_is_used_once(sample, match):
    key, other = random.split(random.key(0))
    first = sample(key)
    again(sample, key, match=PASSED + match)
    again(random.bits, key.reshape(1)[0], match=PASSED + "random_bits")
    sample(other)  # the other key of the pair is another key
    np.testing.assert_array_equal(_words(sample(random.clone(key))), _words(first))
    assert key._consumed and not random.fold_in(key, 1)._consumed


def _words(x):
    return random.key_data(x) if jnp.issubdtype(x.dtype, laminax.dtypes.prng_key) else x


SAMPLERS = {
    "ball": (2,), "bernoulli": (), "beta": (1.0, 2.0), "binomial": (5, 0.5), "categorical": (np.zeros(3),), "cauchy": (),
    "chisquare": (2.0,),
    "choice": (5,), "dirichlet": (np.ones(3),), "double_sided_maxwell": (0.0, 1.0), "exponential": (), "f": (2.0, 3.0), "gamma": (2.0,),
    "generalized_normal": (1.5,), "geometric": (0.5,), "gumbel": (), "laplace": (), "loggamma": (2.0,), "logistic": (), "lognormal": (),
    "maxwell": (), "multinomial": (5, np.full(3, 1 / 3)), "multivariate_normal": (np.zeros(2), np.eye(2)), "normal": (), "orthogonal": (3,),
    "pareto": (2.0,), "permutation": (5,), "poisson": (3.0,), "rademacher": (), "randint": ((), 0, 9), "rayleigh": (1.0,), "t": (3.0,),
    "triangular": (0.0, 0.5, 1.0), "truncated_normal": (-1.0, 1.0), "uniform": (), "wald": (1.0,), "weibull_min": (1.0, 2.0),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_use_each_of_their_keys_once(name):
    key, args = random.key(3), SAMPLERS[name]
    sample = getattr(random, name)
    if name in ("double_sided_maxwell", "generalized_normal", "pareto"):
        laminax.jit(lambda k: sample(k, *args, shape=() if name != "pareto" else None))(key)
    else:
        sample(key, *args)
    assert key._consumed
    again(random.bits, key, match=PASSED)


def test_programs_are_checked_before_they_run():
    @laminax.jit
    def twice(key):
        laminax.debug.callback(lambda: pytest.fail("it ran"))
        return random.bits(key) + random.bits(key)
    again(twice, random.key(0), match=r"In random_bits, argument 0 is already consumed(.|\n)*test_key_reuse.py")
    again(laminax.jit(lambda k: laminax.jit(random.normal)(k) + laminax.jit(random.uniform)(k)), random.key(0),
          match="In jit, argument 0 is")


def test_keys_that_a_function_closes_over_and_those_it_returns():
    key = random.key(0)
    f = laminax.jit(lambda: random.bits(key))
    f()
    again(f, match=PASSED + "jit-compiled function at index 0")
    used, new = laminax.jit(lambda k: (random.bits(k), k, random.fold_in(k, 1)))(random.key(1))[1:]
    again(random.bits, used, match=PASSED)
    random.bits(new)


def test_loops_use_their_keys_again():
    again(lambda: lax.scan(lambda c, _: (c, random.bits(c)), random.key(0), None, length=3), match="scan body function leads to key reuse")
    again(lambda: lax.fori_loop(0, 9, lambda i, k: (random.bits(k), k)[1], random.key(0)), match="body function leads to key reuse")
    again(lambda: lax.while_loop(lambda k: random.uniform(k) > 2, lambda k: k, random.key(0)), match="while_loop cond function leads")
    keys = random.split(random.key(0), 4)
    lax.map(random.bits, keys)
    again(random.bits, keys[2], match=PASSED)
    lax.scan(lambda k, _: tuple(random.split(k)), random.key(0), None, length=3)


def test_transformations():
    keys = random.split(random.key(0), 3)
    laminax.vmap(random.bits)(keys)
    assert keys._consumed.all()
    again(laminax.vmap(random.bits), keys, match=PASSED)
    loss = lambda x, key: x * jnp.sin(x * random.uniform(key))  # noqa: E731
    for wrap in (lambda f: f, laminax.jit):
        for inner in (loss, laminax.checkpoint(loss)):  # what checkpoint computes again needs the key again
            wrap(laminax.grad(inner))(1.0, random.key(0))
        again(wrap(laminax.grad(laminax.checkpoint(lambda x, k: loss(x, k) + loss(x, k)))), 1.0, random.key(0), match="onsumed")
    key = random.key(5)
    with laminax.disable_jit():
        random.bits(key)
        again(random.bits, key, match=PASSED + "random_bits")


def test_a_program_per_device_has_keys_of_its_own():
    mesh = laminax.make_mesh((1,), ("i",), laminax.sharding.AxisType.Auto)
    spec = laminax.sharding.PartitionSpec("i")
    draw = laminax.shard_map(lambda k: laminax.vmap(random.uniform)(k), mesh=mesh, in_specs=spec, out_specs=spec)
    keys = random.split(random.key(0), 2)
    laminax.jit(draw)(keys)
    again(laminax.jit(draw), keys, match=PASSED)


def test_keys_that_are_moved_or_cut_out_are_the_same_keys():
    keys = random.split(random.key(0), 4)
    random.bits(keys[1])
    for other in (keys[1], laminax.device_put(keys)[1], keys.T[1], keys.reshape(2, 2)[0, 1], list(keys)[1], keys.addressable_data(0)[1],
                  keys.addressable_shards[0].data[1], laminax.jit(lambda ks: ks[1])(keys), jnp.array(keys)[1]):
        again(random.bits, other, match=PASSED)
    assert keys._consumed.tolist() == [False, True, False, False]


def test_without_the_option_nothing_is_marked_and_nothing_refused():
    key = random.key(0)
    f = laminax.jit(random.bits)
    with laminax.debug_key_reuse(False):
        assert f(key) == f(key) and not key._consumed
    f(key)
    again(f, key, match=PASSED)
    with laminax.debug_key_reuse(False):
        f(key)
