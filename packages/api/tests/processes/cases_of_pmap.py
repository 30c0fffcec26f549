"""`pmap` over the devices of all processes, each of which gives and gets its part. Run by each process."""

import numpy as np
import pytest
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed, lax, pmap

index, count = together.begin()
own = laminax.local_device_count()
n = laminax.device_count()
everything = np.arange(float(n), dtype=np.float32)
mine = everything[index * own:(index + 1) * own]


def test_the_example_of_the_manual():
    """Of two processes with four devices each."""
    f = lambda x: x + laminax.lax.psum(x, axis_name="i")  # noqa: E731
    data = jnp.arange(4) if laminax.process_index() == 0 else jnp.arange(4, 8)
    out = pmap(f, axis_name="i")(data)
    assert str(out) == {0: "[28 29 30 31]", 1: "[32 33 34 35]"}[index]


def test_collectives_are_over_all():
    total = pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")(mine)
    assert total.is_fully_addressable and total.shape == (own,)
    np.testing.assert_allclose(total, mine + everything.sum())
    np.testing.assert_array_equal(pmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(mine), np.tile(everything, (own, 1)))
    np.testing.assert_array_equal(pmap(lambda x: x * 0 + lax.axis_index("i"), axis_name="i")(mine), mine)
    np.testing.assert_array_equal(pmap(lambda x: x * 0 + lax.psum(1, "i"), axis_name="i", axis_size=n)(mine), np.full(own, n))
    np.testing.assert_array_equal(pmap(lambda x: x + 1)(mine), mine + 1)


def test_axes_of_arguments_and_results():
    x = np.arange(3.0 * n, dtype=np.float32).reshape(3, n)
    here = x[:, index * own:(index + 1) * own]
    got = pmap(lambda x: x / lax.psum(x, "i"), axis_name="i", in_axes=1, out_axes=1)(here)
    np.testing.assert_allclose(got, here / x.sum(1, keepdims=True), rtol=1e-6)
    whole = pmap(lambda x, y: lax.psum(x, "i") * y["a"], axis_name="i", in_axes=(0, None), out_axes=None)(mine, {"a": np.float32(2)})
    assert float(whole) == 2 * everything.sum()


def test_training_step_after_step():
    step = pmap(lambda p, x: p - 0.1 * lax.pmean(2 * (p - x), "i"), axis_name="i", donate_argnums=0)
    p, expected = np.zeros(own, np.float32), 0.0
    for _ in range(5):
        p = step(p, mine)
        expected -= 0.1 * np.mean(2 * (expected - everything))
    np.testing.assert_allclose(p, np.full(own, expected), rtol=1e-5)


def test_devices_of_one_process_or_of_all():
    f = lambda x: lax.psum(x, "i")  # noqa: E731
    np.testing.assert_array_equal(pmap(f, axis_name="i", devices=laminax.devices())(mine), np.full(own, everything.sum()))
    np.testing.assert_array_equal(pmap(f, axis_name="i", devices=laminax.local_devices())(mine), np.full(own, mine.sum()))
    np.testing.assert_array_equal(laminax.jit(pmap(f, axis_name="i"))(mine), np.full(own, mine.sum()))


def test_keys():
    keys = laminax.random.split(laminax.random.key(index), own)
    got = pmap(laminax.random.bits)(keys)
    np.testing.assert_array_equal(got, [laminax.random.bits(key) for key in keys])
    assert pmap(lambda key: key)(keys).dtype == keys.dtype


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=f"requires {own + 1} replicas in each process, but process 0 has only {own}"):
        pmap(lambda x: x)(np.ones(own + 1))
    with pytest.raises(ValueError, match=f"axis_size is {own}, but the mapped axis has size {n} over all"):
        pmap(lambda x: x, axis_size=own)(mine)


together.run_tests(globals())
distributed.shutdown()
