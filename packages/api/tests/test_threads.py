"""Eight threads trace, compile and run at once, the same functions and their own; every result is NumPy's."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import errors

THREADS = 8


@pytest.fixture(autouse=True)
def frequent_switches():
    """Python gives another thread its turn every 10 microseconds, instead of 5 milliseconds."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def in_threads(work):
    """The results of `work(i)` in eight threads that start together; what one raises is raised here."""
    barrier = threading.Barrier(THREADS)

    def run(i):
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def test_one_function_of_all_threads():
    """All miss at the same time, on the same shapes and on others."""
    f = laminax.jit(lambda x, y: {"sum": x + y, "product": (x * y).sum()})

    def work(i):
        for size in (1, 2, 3, i + 1):
            x = np.arange(size, dtype=np.float32)
            result = f(x, jnp.float32(i))
            np.testing.assert_array_equal(result["sum"], x + i)
            assert float(result["product"]) == (x * i).sum()

    in_threads(work)
    assert f._cache_size() > 0


def test_functions_made_in_threads_with_all_transformations():
    def work(i):
        scale = np.float32(i + 1)

        @laminax.jit
        def step(carry, x):
            return carry * 0.5 + x * scale, carry

        def loss(x):
            carry, trail = laminax.lax.scan(step, x, jnp.arange(3.0))
            return laminax.lax.cond(carry > 0, lambda: carry, lambda: -carry) + trail.sum()

        def expected(x):
            trail = []
            for k in range(3):
                trail.append(x)
                x = x * 0.5 + k * scale
            return abs(x) + sum(trail)

        x = np.float32(2 + i)
        value, slope = laminax.jit(laminax.value_and_grad(loss))(x)
        np.testing.assert_allclose(value, expected(x), rtol=1e-6)
        np.testing.assert_allclose(slope, 1 + 0.5 + 0.25 + 0.125, rtol=1e-6)
        mapped = laminax.vmap(laminax.grad(loss))(np.full(2, x))
        np.testing.assert_allclose(mapped, [1.875, 1.875], rtol=1e-6)

    in_threads(work)


def test_eager_operations_of_all_threads():
    """Caches of single operations are filled by several threads at once; each has its own named trace and its x64 setting."""
    def work(i):
        with laminax.enable_x64(i % 2 == 1):
            dtype = np.float64 if i % 2 else np.float32
            x = jnp.arange(i + 2.0)
            assert x.dtype == dtype
            for n in range(2, 6):
                y = jnp.concatenate([x] * n)[::n] + jnp.ones((), dtype)
                np.testing.assert_array_equal(y, np.concatenate([np.arange(i + 2.0)] * n)[::n] + 1)
                assert y.dtype == dtype

    in_threads(work)


def test_caches_cleared_while_others_run():
    f = laminax.jit(lambda x: x * 2 + 1)

    def work(i):
        for n in range(6):
            if i == 0:
                laminax.clear_caches()
            else:
                np.testing.assert_array_equal(f(np.full(3, n, np.float32)), [2 * n + 1] * 3)

    in_threads(work)


def test_tracers_belong_to_their_thread():
    """A traced value used by another thread is a leak, not a wrong program."""
    def traced(x):
        found = []

        def use():
            try:
                found.append(x + 1)
            except Exception as error:  # noqa: BLE001
                found.append(error)

        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        assert isinstance(found[0], (errors.LeakedTracerError, errors.UnexpectedTracerError)), found
        return x

    with ThreadPoolExecutor(1) as pool:
        assert float(pool.submit(laminax.jit(traced), 1.0).result()) == 1


def test_donation_and_callbacks_in_threads():
    def work(i):
        seen = []
        update = laminax.jit(lambda x: x + 1, donate_argnums=0)
        note = laminax.jit(lambda x: laminax.pure_callback(lambda v: seen.append(float(v)) or np.float32(v) * 2, x, x))
        x = jnp.full(3, i, jnp.float32)
        for n in range(5):
            old, x = x, update(x)
            assert old.is_deleted()
            assert float(note(x[0])) == 2 * (i + n + 1)
        assert seen[-1] == i + 5

    in_threads(work)
