"""What jit keeps and for how long, and many threads at once."""

import gc
import threading
import weakref

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental.pjit import pjit


def live_objects() -> int:
    gc.collect()
    return len(gc.get_objects())


def trace(i):
    laminax.jit(lambda x: x * i).trace(1.0)


def trace_derivatives(i):
    laminax.make_jaxpr(laminax.vmap(laminax.value_and_grad(lambda x: jnp.sin(x) * i)))(np.ones(3, np.float32))


def run(i):
    laminax.jit(laminax.grad(lambda x: x * x * i))(1.0)


@pytest.mark.parametrize("work, times", [(trace, 2000), (trace_derivatives, 200), (run, 40)])
def test_fresh_functions_leave_nothing_behind(work, times):
    for i in range(10):  # what is made once
        work(i)
    before = live_objects()
    for i in range(times):
        work(i)
    assert live_objects() - before < times / 10


@pytest.mark.parametrize("work", [
    lambda x: laminax.jit(lambda x: jnp.sin(x) + 1)(x).block_until_ready(), lambda x: laminax.linearize(lambda x: jnp.sum(x), x),
    lambda x: laminax.grad(laminax.checkpoint(jnp.cos))(x), lambda x: laminax.vmap(lambda y: y + x)(jnp.ones(2)),
    lambda x: laminax.grad(lambda x: laminax.lax.scan(lambda c, y: (c * y, None), x, jnp.arange(3.0))[0])(x),
], ids=["jit", "linearize", "checkpoint", "vmap", "scan"])
def test_no_work_is_left_to_the_cyclic_garbage_collector(work):
    x = jnp.float32(1.0)
    work(x)  # what is imported and made once
    laminax.clear_caches()
    gc.collect()
    gc.disable()
    try:
        work(x)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_caches_hold_functions_and_constants_weakly():
    def make():
        constant = jnp.arange(7.0)
        return constant, lambda x: jnp.sum(constant * x)

    constant, fun = make()
    function_ref, constant_ref = weakref.ref(fun), weakref.ref(constant)
    jitted = laminax.jit(fun)
    jitted(1.0), laminax.grad(jitted)(1.0), laminax.vmap(jitted)(np.ones(2)), laminax.jit(laminax.grad(jitted))(1.0)
    del fun, constant, jitted
    gc.collect()
    assert function_ref() is None and constant_ref() is None


def test_arguments_are_not_kept():
    f = laminax.jit(lambda x: x + 1)
    x = jnp.arange(5.0)
    ref = weakref.ref(x)
    f(x), f(x)
    del x
    gc.collect()
    assert ref() is None


def test_a_traced_function_that_raises_keeps_nothing():
    kept = weakref.WeakSet()

    class Thing:
        pass

    def failing(x):
        thing = Thing()
        kept.add(thing)
        raise ValueError(thing)

    f = laminax.jit(laminax.grad(failing))
    for _ in range(3):
        with pytest.raises(ValueError):
            f(1.0)
    gc.collect()
    assert not kept


def test_eight_threads_trace_compile_run_and_differentiate():
    shared = laminax.jit(lambda x, scale: jnp.sum(x * scale))
    problems = []
    barrier = threading.Barrier(8)

    def work(number):
        try:
            barrier.wait()
            for step in range(6):
                size = step % 3 + 1
                x = jnp.ones(size)
                own = laminax.jit(lambda x: shared(x, 2.0) + number)
                assert float(own(x)) == 2 * size + number
                np.testing.assert_array_equal(laminax.jit(laminax.grad(own))(x), np.full(size, 2))
                np.testing.assert_array_equal(laminax.vmap(lambda a: shared(a, 3.0))(x), np.full(size, 3))
                with laminax.enable_x64(number % 2 == 0):
                    assert shared(np.ones(2), 1.0).dtype == (np.float64 if number % 2 == 0 else np.float32)
        except BaseException as error:  # noqa: BLE001  (reported by the test's own thread)
            problems.append(f"thread {number}: {error!r}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_one_thread_traces_while_another_runs():
    f = laminax.jit(lambda x: x + 1)
    assert float(f(1.0)) == 2
    results = []

    def traced(x):
        thread = threading.Thread(target=lambda: results.append(float(f(2.0))))
        thread.start()
        thread.join()
        return f(x)

    assert float(laminax.jit(traced)(3.0)) == 4
    assert results == [3]


@pytest.mark.parametrize("transform", [laminax.jit, pjit])
def test_functions_that_cannot_be_held_weakly(transform):
    """jaxlib's cache takes them, and ends the process some calls later: the caches get a function that calls them."""
    class AddOne:
        __slots__ = ()

        def __call__(self, x, *, step=1):
            return x + step

    add = transform(AddOne(), static_argnames="step")
    assert [float(add(float(i))) for i in range(100)] == [i + 1.0 for i in range(100)]
    assert float(add(1.0, step=2)) == 3
    assert float(laminax.grad(AddOne())(1.0)) == 1
    with pytest.raises(laminax.errors.TracerArrayConversionError):
        transform(np.sin)(1.0)
