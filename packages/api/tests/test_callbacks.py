"""Callbacks from compiled programs."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental import io_callback

S = laminax.ShapeDtypeStruct((3,), np.float32)
SCALAR = laminax.ShapeDtypeStruct((), np.float32)
X = np.float32([1, 2, 3])


def test_pure_callback():
    f = laminax.jit(lambda x: laminax.pure_callback(np.sin, S, x) * 2.0)
    for _ in range(3):  # the later calls stay in C++
        np.testing.assert_allclose(f(X), 2 * np.sin(X), rtol=1e-6)
    assert isinstance(laminax.pure_callback(np.sin, S, X), laminax.Array)
    np.testing.assert_allclose(laminax.pure_callback(np.sin, S, jnp.asarray(X)), np.sin(X), rtol=1e-6)


@pytest.mark.parametrize("wrap", [laminax.jit, lambda f: f])
@pytest.mark.parametrize("callback", [laminax.pure_callback, io_callback, partial(io_callback, ordered=True)])
def test_arguments_are_arrays_of_laminax(wrap, callback):
    """With their promotion (an int32 and a Python float make a float32), their methods, and the dtype they had in the program."""
    seen = []

    def on_host(n, weights):
        seen.append((type(n) is type(weights["w"]) is type(jnp.zeros(3)), n.devices() == {laminax.local_devices(backend="cpu")[0]}))
        return (n * 0.5).at[0].set(7.0) + weights["w"]

    out = wrap(lambda n: callback(on_host, S, n, {"w": np.float32(1)}))(jnp.arange(3))
    np.testing.assert_array_equal(out, [8, 1.5, 2])
    with laminax.enable_x64(True):
        out = wrap(lambda n: callback(lambda n: n + 2**40, n, n))(jnp.arange(3))
        np.testing.assert_array_equal(out, 2**40 + np.arange(3))
    assert seen == [(True, True)]


@pytest.mark.parametrize("result", [np.float32([1, 2]), np.int32([1, 2, 3]), (X, X)])
@pytest.mark.parametrize("callback", [laminax.pure_callback, io_callback])
def test_results_that_were_not_announced_are_a_runtime_error_with_and_without_jit(callback, result):
    for wrap in (laminax.jit, lambda f: f):
        with pytest.raises(RuntimeError, match="incorrect output|returned 2 arrays, result_shape_dtypes announced 1"):
            laminax.block_until_ready(wrap(lambda x: callback(lambda x: result, S, x))(X))
            laminax.effects_barrier()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64"])
def test_types_and_layouts(dtype):
    shape = laminax.ShapeDtypeStruct((2, 3), dtype)
    x = np.arange(6).reshape(3, 2) % 2
    announced = (shape, laminax.ShapeDtypeStruct((), bool))
    f = laminax.jit(lambda x: laminax.pure_callback(lambda x: (x.T, x.dtype == dtype), announced, x))
    out, flag = f(jnp.asarray(x, dtype))
    np.testing.assert_array_equal(np.asarray(out, np.complex64), x.T)
    assert bool(flag) and out.dtype == dtype


def test_a_program_that_calls_back_twice():
    def f(x):
        y = laminax.pure_callback(np.sin, S, x)
        announced = {"sum": S, "n": laminax.ShapeDtypeStruct((), np.int32)}
        return laminax.pure_callback(lambda a, b: {"sum": a + b, "n": np.int32(a.size)}, announced, x, y)

    out = laminax.jit(f)(X)
    np.testing.assert_allclose(out["sum"], X + np.sin(X), rtol=1e-6)
    assert out["n"] == 3


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"])
def test_vmap(method):
    f = laminax.jit(laminax.vmap(lambda x, y: laminax.pure_callback(np.add, S, x, y, vmap_method=method), in_axes=(0, None)))
    x = np.stack([X, 2 * X])
    np.testing.assert_allclose(f(x, X), x + X)


def test_an_exception_in_a_callback():
    def fail(x):
        raise KeyError("out of luck")

    with pytest.raises(Exception, match="out of luck"):
        laminax.jit(lambda x: laminax.pure_callback(fail, S, x))(X).block_until_ready()
    with pytest.raises(Exception, match=r"expected \(3,\), got \(2,\)"):
        laminax.jit(lambda x: laminax.pure_callback(lambda x: x[:2], S, x))(X).block_until_ready()


@pytest.mark.parametrize("callback", [laminax.pure_callback, io_callback])
@pytest.mark.parametrize("jit", [laminax.jit, lambda f: f], ids=["jit", "eager"])
def test_what_a_callback_raises_is_the_same_error_compiled_or_not(callback, jit):
    """JAX's kind of it, which programs catch; without jit the user's own exception is its cause."""
    def fail(x):
        raise KeyError("out of luck")

    with pytest.raises(laminax.errors.JaxRuntimeError, match=r"(?s)calling callback: Traceback.*KeyError: 'out of luck'") as caught:
        laminax.block_until_ready(jit(lambda x: callback(fail, S, x))(X))
    if jit is not laminax.jit:
        assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(laminax.errors.JaxRuntimeError, match=r"expected \(3,\), got \(2,\)"):
        laminax.block_until_ready(jit(lambda x: callback(lambda x: x[:2], S, x))(X))


@pytest.mark.parametrize("call, name", [
    (lambda fail, x: laminax.pure_callback(fail, SCALAR, x), "pure_callback"), (lambda fail, x: io_callback(fail, None, x), "io_callback"),
    (lambda fail, x: laminax.debug.callback(fail, x), "debug.callback")])
@pytest.mark.parametrize("jit", [True, False])
def test_a_failure_is_logged_with_its_traceback_since_nobody_may_wait_for_the_program(call, name, jit, caplog):
    def fail(x):
        raise KeyError("out of luck")

    run = laminax.jit(partial(call, fail)) if jit else partial(call, fail)
    with pytest.raises(Exception, match="out of luck"):
        laminax.block_until_ready(run(1.0))
        laminax.effects_barrier()
    (record,) = caplog.records
    assert record.message == f"jax.{name} failed: the callback fail raised" and record.levelno == logging.ERROR
    assert "Traceback (most recent call last)" in caplog.text and "KeyError: 'out of luck'" in caplog.text


def test_effects_happen_in_every_run():
    seen = []
    f = laminax.jit(lambda x: io_callback(lambda x: seen.append(x.tolist()), None, x) or x + 1)
    for i in range(3):
        f(X * i)
    laminax.effects_barrier()
    assert sorted(seen) == [(X * i).tolist() for i in range(3)]
    result = laminax.jit(lambda x: io_callback(lambda x: 2 * x, S, x))(X)
    np.testing.assert_array_equal(result, 2 * X)


def test_ordered_effects():
    seen = []

    def note(label, x):
        io_callback(lambda x: seen.append((label, float(x))), None, x, ordered=True)

    @laminax.jit
    def inner(x):
        note("inner", x)
        return x + 1.0

    @laminax.jit
    def f(x):
        note("first", x)
        x = inner(inner(x))

        def step(c, y):
            note("scan", c)
            return c + y, None

        x, _ = lax.scan(step, x, jnp.arange(2.0))
        x = lax.cond(x > 3.0, lambda x: note("high", x) or x, lambda x: note("low", x) or x, x)
        x = lax.while_loop(lambda x: x < 7.0, lambda x: note("while", x) or x + 1.0, x)
        x = lax.fori_loop(0, 2, lambda i, x: note("fori", x) or x, x)
        note("last", x)
        return x

    expected = [("first", 1), ("inner", 1), ("inner", 2), ("scan", 3), ("scan", 3), ("high", 4), ("while", 4), ("while", 5),
                ("while", 6), ("fori", 7), ("fori", 7), ("last", 7)]
    for _ in range(3):
        f(1.0)
    assert seen == expected * 3
    del seen[:]
    with laminax.disable_jit():
        f(1.0)
    assert seen == expected


def test_debug_print(capfd):
    @laminax.jit
    def f(x):
        laminax.debug.print("x = {x}, {}", x[0], x=x)
        return x * 2

    f(X)
    f(2 * X)
    laminax.effects_barrier()
    assert capfd.readouterr().out == "x = [1. 2. 3.], 1.0\nx = [2. 4. 6.], 2.0\n"
    laminax.jit(laminax.vmap(lambda x: laminax.debug.print("{}", x, ordered=True) or x))(X)
    laminax.effects_barrier()
    assert capfd.readouterr().out == "1.0\n2.0\n3.0\n"
    laminax.jit(laminax.grad(lambda x: laminax.debug.print("at {}", x) or jnp.sin(x)))(1.0)
    laminax.effects_barrier()
    assert capfd.readouterr().out == "at 1.0\n"
    laminax.debug.print("eager {}", jnp.float32(2))
    assert capfd.readouterr().out == "eager 2.0\n"


def test_debug_callback_in_a_scan():
    seen = []

    def step(c, x):
        laminax.debug.callback(lambda c: seen.append(float(c)), c, ordered=True)
        return c + x, c

    grad = laminax.jit(laminax.grad(lambda c: lax.scan(step, c, X)[0] ** 2))(1.0)
    assert grad == 14 and seen == [1, 2, 4]


def test_differentiation():
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        laminax.jit(laminax.grad(lambda x: laminax.pure_callback(np.sin, SCALAR, x)))(1.0)


def test_from_several_threads():
    f = laminax.jit(lambda x: laminax.pure_callback(np.sin, S, x))
    results = {}

    def work(i):
        for _ in range(5):
            results[i] = np.asarray(f(X * i))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(6):
        np.testing.assert_allclose(results[i], np.sin(X * i), rtol=1e-6)


def test_equal_texts_share_a_program():
    f = laminax.jit(lambda x: laminax.debug.print("{}", x) or x)
    assert str(laminax.make_jaxpr(f)(1.0)) == str(laminax.make_jaxpr(f)(1.0))


KEPT = """
import sys
import numpy as np
import laminax
import laminax.numpy as jnp
from laminax.experimental import io_callback
from laminax_runtime.base import options
from laminax_runtime.compiling import compilation_cache

FACTOR, seen = float(sys.argv[1]), []

@laminax.jit
def step(x):
    y = laminax.pure_callback(lambda v: np.asarray(v) * FACTOR, laminax.ShapeDtypeStruct((3,), np.float32), x)
    for sign in (1, -1):
        io_callback(lambda v, sign: seen.append(float(sign * FACTOR * v.sum())), None, x, sign, ordered=True)
    return y + 1

with options.persistent_cache_min_compile_time_secs(0.0):
    print(step(jnp.arange(3.0)).tolist())
laminax.effects_barrier()
print(seen, compilation_cache.statistics.hits > 0)
"""


def test_a_program_with_callbacks_comes_from_the_disk_and_calls_the_functions_of_its_process(tmp_path):
    """Solvers whose errors are checked by callbacks, such as diffrax's, were compiled anew by every process."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LAMINAX_ENABLE_COMPILATION_CACHE": "1",
           "LAMINAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    said = [subprocess.run([sys.executable, "-c", KEPT, factor], env=env, capture_output=True, text=True, check=True).stdout.splitlines()
            for factor in ("2", "5")]
    assert said == [["[1.0, 3.0, 5.0]", "[6.0, -6.0] False"], ["[1.0, 6.0, 11.0]", "[15.0, -15.0] True"]]


def test_the_last_callbacks_run_before_python_ends():
    code = ("import laminax\n"
            "f = laminax.jit(lambda x: laminax.debug.print('x is {}', x) or x)\n"
            "f(1.0)\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    assert done.stdout == "x is 1.0\n"


def test_debug_log(caplog):
    @laminax.jit
    def f(x):
        laminax.debug.log("x is {} and {y}", x, y=x + 1)
        return x

    with caplog.at_level(logging.INFO, "laminax.debug"):
        f(1.0), f(2.0)
        laminax.effects_barrier()
    assert sorted(caplog.messages) == ["x is 1.0 and 2.0", "x is 2.0 and 3.0"]
    assert {(r.filename, r.levelname) for r in caplog.records} == {("test_callbacks.py", "INFO")}
    with open(__file__) as file:
        assert "debug.log" in file.readlines()[caplog.records[0].lineno - 1]
    with pytest.raises(ValueError, match="Unused keyword arguments"):
        laminax.debug.log("nothing", x=1)
    with pytest.raises(TypeError, match="debug.log: the format must be a string"):
        laminax.debug.log(3)


@pytest.mark.parametrize("ordered, kind", [(False, laminax.debug.DebugEffect), (True, laminax.debug.OrderedDebugEffect)])
def test_debug_effects(ordered, kind):
    (effect,) = laminax.make_jaxpr(lambda x: laminax.debug.print("{}", x, ordered=ordered))(1.0).effects
    assert type(effect) is kind


# --- where callbacks may stand ---


@pytest.mark.parametrize("wrap", [
    laminax.pmap, lambda f: laminax.jit(laminax.shard_map(f, mesh=laminax.make_mesh((1,), ("x",), laminax.sharding.AxisType.Auto),
                                                          in_specs=laminax.P("x"), out_specs=None))])
def test_callbacks_in_a_program_per_device_on_one_device(capsys, wrap):
    wrap(lambda x: laminax.debug.print("got {}", x.sum()))(jnp.arange(3.0).reshape(1, 3))
    laminax.effects_barrier()
    assert capsys.readouterr().out == "got 3.0\n"


def test_ordered_callbacks_in_the_condition_of_a_loop(capsys):
    def go_on(x):
        laminax.debug.print("is {x} small", x=x, ordered=True)
        return x < 4

    def body(x):
        laminax.debug.print("from {x}", x=x, ordered=True)
        return x + 1

    @laminax.jit
    def fun(x):
        laminax.debug.print("first", ordered=True)
        y = lax.while_loop(go_on, body, x)
        laminax.debug.print("last", ordered=True)
        return y

    for start, end in ((2, 4), (7, 7)):
        assert fun(start) == end
        laminax.effects_barrier()
        rounds = "".join(f"is {x} small\nfrom {x}\n" for x in range(start, end))
        assert capsys.readouterr().out == f"first\n{rounds}is {end} small\nlast\n"


def test_print_tells_of_values_that_are_not_printed():
    with pytest.raises(ValueError, match=r"Unused positional arguments.*\[1\]"):
        laminax.debug.print("x: {}", 1, 2)
    with pytest.raises(ValueError, match="Unused keyword arguments.*'y'"):
        laminax.debug.print("x: {}", 1, y=2)


@laminax.custom_jvp
def watched(x):
    return x


@watched.defjvp
def _watched_jvp(primals, tangents):
    laminax.debug.print("tangent {}", *tangents)
    return primals[0], tangents[0]


def printed(capsys, run):
    capsys.readouterr()
    run()
    laminax.effects_barrier()
    return capsys.readouterr().out


def test_callbacks_on_tangents_run_with_the_linear_function(capsys):
    linear = []
    assert printed(capsys, lambda: linear.append(laminax.linearize(lambda x: watched(x) * 2, 1.0)[1])) == ""
    assert printed(capsys, lambda: linear[0](3.0)) == "tangent 3.0\n"
    assert printed(capsys, lambda: laminax.linear_transpose(linear[0], 1.0)(1.0)) == ""
    assert printed(capsys, lambda: laminax.grad(laminax.jit(watched))(1.0)) == ""


def test_what_is_rematerialized_prints_again(capsys):
    def fun(x):
        laminax.debug.print("x {}", x)
        return jnp.sin(x)

    for wrap in (lambda f: f, laminax.jit):
        assert printed(capsys, lambda: laminax.grad(laminax.checkpoint(wrap(fun)))(1.0)) == "x 1.0\n" * 2
        saving = laminax.checkpoint(wrap(fun), policy=laminax.checkpoint_policies.everything_saveable)
        assert printed(capsys, lambda: laminax.grad(saving)(1.0)) == "x 1.0\n"


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit, lambda f: lambda keys: laminax.vmap(f)(keys[None])])
def test_keys_are_printed_as_their_words(capsys, wrap):
    keys = laminax.random.split(laminax.random.key(7))
    out = printed(capsys, lambda: wrap(lambda keys: laminax.debug.print("{}", keys))(keys))
    assert out == f"{np.asarray(laminax.random.key_data(keys))}\n"


def test_ordered_prints_in_the_condition_of_a_mapped_loop(capsys):
    """Each step prints for all examples in order, as the condition is asked: once more than there are steps."""
    def count(x):
        def is_small(x):
            laminax.debug.print("at {x}", x=x, ordered=True)
            return x < 3
        return laminax.lax.while_loop(is_small, lambda x: x + 1, x)

    assert laminax.vmap(count)(jnp.arange(2)).tolist() == [3, 3]
    laminax.effects_barrier()
    steps = [(0, 1), (1, 2), (2, 3), (3, 3)]
    assert capsys.readouterr().out.split("\n")[:-1] == [f"at {x}" for step in steps for x in step]


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit])
def test_what_is_done_once_is_done_once_by_a_checkpointed_function_too(wrap):
    seen = []

    @laminax.checkpoint
    def f(x, y):
        io_callback(lambda v: seen.append(float(v)), None, y)
        return jnp.sin(jnp.sin(x))

    slope = wrap(laminax.grad(f))(2., 3.)
    laminax.effects_barrier()
    np.testing.assert_allclose(slope, np.cos(np.sin(2.)) * np.cos(2.), rtol=1e-5)
    assert seen == [3.]

    @laminax.checkpoint
    def g(x, y):
        return x ** 2 * io_callback(lambda v: v + 1, SCALAR, y)

    with pytest.raises(NotImplementedError, match="Effects not supported here: io_callback"):
        wrap(laminax.grad(g))(2., 3.)
