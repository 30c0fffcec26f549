"""The log of what made a function be traced or compiled again."""

import functools
import logging

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

F32 = functools.partial(np.ones, dtype=np.float32)


@pytest.fixture
def explained(caplog):
    """Runs calls with the option on; returns what was logged."""

    def run(*calls):
        caplog.clear()
        with laminax.explain_cache_misses(), caplog.at_level(logging.WARNING, "laminax"):
            for call in calls:
                call()
        return [r.getMessage() for r in caplog.records]

    return run


def step(x, n=2, *, mode="a", **rest):
    return x["w"] * n if isinstance(x, dict) else x * n


def w(value):
    return {"w": value}


STATIC_ARGS, STATIC_KWARGS = "different value of static args:", "different value of static kwargs:"
TREE, TYPES = "different input pytree:", "different input types:"


@pytest.mark.parametrize("first, second, kind, expected", [
    (((F32(3),), {}), ((F32(4),), {}), TYPES, "at x, now f32[4] and before f32[3]"),
    (((w(F32(3)),), {}), ((w(F32((3, 1))),), {}), TYPES, "at x['w'], now f32[3,1] and before f32[3]"),
    (((F32(3),), {}), ((np.ones(3, np.int32),), {}), TYPES, "at x, now i32[3] and before f32[3]"),
    (((2.0,), {}), ((F32(()),), {}), TYPES, "at x, now f32[]{weak_type=False} and before f32[]{weak_type=True}, where weak_type=True "
     "often means a Python number, and weak_type=False an array. See https://docs.jax.dev/en/latest/type_promotion.html#weak-types"),
    (((F32(3), 2), {}), ((F32(3), 3), {}), STATIC_ARGS, "at n, now 3 and before 2"),
    (((F32(3), 1), {}), ((F32(3), True), {}), STATIC_ARGS, "at n, now True (bool) and before 1 (int)"),
    (((F32(3),), {}), ((F32(3), 2), {}), STATIC_ARGS, "at n, now 2 and before not given"),
    (((F32(3),), {"mode": "a"}), ((F32(3),), {"mode": "b"}), STATIC_KWARGS, "at mode, now 'b' and before 'a'"),
    (((F32(3),), {"mode": "a"}), ((F32(3),), {}), STATIC_KWARGS, "at mode, now not given and before 'a'"),
    (((w(F32(3)),), {}), (({"w": F32(3), "v": F32(3)},), {}), TREE,
     "at x, now a dict with keys ['v', 'w'] and before a dict with keys ['w']"),
    (((w(F32(3)),), {}), (([F32(3)],), {}), TREE, "at x, now a list of length 1 and before a dict with keys ['w']"),
    (((F32(3),), {"a": 1.0}), ((F32(3),), {"b": 1.0}), TREE, "the keys of kwargs, now ['b'] and before ['a']"),
    (((F32(3),), {}), ((), {"x": F32(3)}), TREE, "different number of args and kwargs, but same total number, now 0 args and kwargs with "
     "keys ['x'] and before 1 args and kwargs with keys []"),
])
def test_what_changed(explained, first, second, kind, expected):
    is_plain = not second[0] or type(second[0][0]) is list
    f = laminax.jit(lambda x, **rest: jnp.ones(2)) if is_plain else laminax.jit(step, static_argnums=1, static_argnames="mode")
    f.clear_cache()
    (message,) = explained(lambda: f(*first[0], **first[1]))
    assert "never seen function, defined at test_cache_misses.py:" in message
    (message,) = explained(lambda: f(*second[0], **second[1]), lambda: f(*second[0], **second[1]))
    head, where, seen, *lines = message.split("\n  ")
    assert head.startswith("TRACING CACHE MISS at test_cache_misses.py:") and ": jit(" in head
    assert where.startswith("function defined at test_cache_misses.py:")
    assert seen == "all 1 previously seen cache keys differ. For the closest previous key:"
    assert lines == [kind, f"* {expected}"]


def test_the_most_similar_form_is_compared(explained):
    f = laminax.jit(lambda x, y: x + y)
    f(F32(3), F32(3))
    f(F32((2, 3)), 2)
    (message,) = explained(lambda: f(F32((2, 3)), 2.0))
    assert "all 2 previously seen cache keys differ" in message
    assert message.split("\n  ")[3:] == [TYPES, "* at y, now f32[] and before i32[]"]


def test_many_differences_are_cut_short(explained):
    f = laminax.jit(lambda *xs: sum(xs))
    f(*[F32(3)] * 20)
    (message,) = explained(lambda: f(*[F32(4)] * 20))
    lines = message.split("\n  ")
    assert len(lines) == 13 and lines[3:5] == [TYPES, "* at xs[0], now f32[4] and before f32[3]"]
    assert lines[12] == "and 12 more differences"


def test_options(explained):
    f = laminax.jit(lambda x: x * 2)
    f(F32(3))
    with laminax.default_matmul_precision("highest"):
        (message,) = explained(lambda: f(F32(3)))
    assert message.split("\n  ")[3:] == ["Tracing context doesn't match, e.g. due to config or context manager:",
                                         "* the option default_matmul_precision, now highest and before None"]


def test_named_axes(explained):
    f = laminax.jit(lambda x: x * 2)
    f(F32(3))
    f.clear_cache()
    laminax.vmap(f, axis_name="i")(F32(3))
    (message,) = explained(lambda: laminax.vmap(f, axis_name="j")(F32(3)))
    assert "* the named axes in scope, now 'j' of size 3 and before 'i' of size 3" in message


def test_functions_made_anew(explained):
    def call_fresh():
        laminax.jit(lambda x: x * 3)(F32(3))

    first, again = explained(call_fresh, call_fresh)
    assert "never seen function" in first and "another function" not in first
    assert ": jit(<lambda>)\n" in again and "but seen another function defined on the same line" in again
    assert "Make the function once" in again

    def loss(x):
        return jnp.sum(x)

    def call_gradient():
        laminax.jit(laminax.grad(loss))(F32(3))

    _, message = explained(call_gradient, call_gradient)
    assert ": jit(loss)\n" in message and "a transformation of it too" in message


def test_two_functions_are_not_one_made_anew(explained):
    for message in explained(lambda: laminax.jit(lambda x: x + 1)(1.0), lambda: laminax.jit(lambda x: x + 2)(1.0)):
        assert "never seen function" in message and "another function" not in message


def test_silent_without_misses_and_when_off(explained, caplog):
    f = laminax.jit(lambda x: jnp.where(x > 0, x, 0))
    f(1.0)
    assert explained(lambda: f(1.0), lambda: f(2.0), lambda: jnp.sort(F32(3)), lambda: jnp.sort(F32(4))) == []
    caplog.clear()
    f(F32(2))
    assert not caplog.records


def test_other_devices(run_on_two_devices):
    messages = run_on_two_devices("""
        import logging, sys, laminax, numpy as np
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        f = laminax.jit(lambda x: x + 1)
        with laminax.explain_cache_misses():
            for device in laminax.devices():
                f(laminax.device_put(np.ones(2, np.float32), device))
    """)
    assert ": jit(<lambda>)\n  traced before, compiled again because of:\n  * the device, now cpu:1 and before cpu:0" in messages


@pytest.fixture
def run_on_two_devices():
    import os
    import subprocess
    import sys
    import textwrap

    def run(code):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "JAX_NUM_CPU_DEVICES": "2"}
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
