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


@pytest.mark.parametrize("first, second, expected", [
    (((F32(3),), {}), ((F32(4),), {}), "x: another shape: f32[4], before f32[3]"),
    (((w(F32(3)),), {}), ((w(F32((3, 1))),), {}), "x['w']: another shape: f32[3,1], before f32[3]"),
    (((F32(3),), {}), ((np.ones(3, np.int32),), {}), "x: another dtype: i32[3], before f32[3]"),
    (((F32(3),), {}), ((np.ones(2, np.int32),), {}), "x: another shape and dtype: i32[2], before f32[3]"),
    (((2.0,), {}), ((F32(()),), {}),
     "x: another weak type: f32[] (not weakly typed), before f32[] (weakly typed, as Python numbers are)"),
    (((F32(3), 2), {}), ((F32(3), 3), {}), "the static argument n: 3, before 2"),
    (((F32(3), 1), {}), ((F32(3), True), {}), "the static argument n: True (bool), before 1 (int)"),
    (((F32(3),), {}), ((F32(3), 2), {}), "the static argument n=2, which was not given before"),
    (((F32(3),), {"mode": "a"}), ((F32(3),), {"mode": "b"}), "the static argument mode: 'b', before 'a'"),
    (((F32(3),), {"mode": "a"}), ((F32(3),), {}), "the static argument mode is not given, before it was 'a'"),
    (((w(F32(3)),), {}), (({"w": F32(3), "v": F32(3)},), {}), "x: a dict with keys ['v', 'w'], before a dict with keys ['w']"),
    (((w(F32(3)),), {}), (([F32(3)],), {}), "x: a list of length 1, before a dict with keys ['w']"),
    (((F32(3),), {"a": 1.0}), ((F32(3),), {"b": 1.0}), "the arguments given by name: b, before a"),
])
def test_what_changed(explained, first, second, expected):
    f = laminax.jit(step if type(second[0][0]) is not list else lambda x: jnp.ones(2), **(
        {"static_argnums": 1, "static_argnames": "mode"} if type(second[0][0]) is not list else {}))
    f.clear_cache()
    assert explained(lambda: f(*first[0], **first[1])) == []
    (message,) = explained(lambda: f(*second[0], **second[1]), lambda: f(*second[0], **second[1]))
    head, line, where = message.split("\n  ")
    assert head.startswith("jit(") and head.endswith("of the 1 forms there are, the one most like this call differs in:")
    assert line.rstrip(".") == expected
    assert where.startswith("called at test_cache_misses.py:")


def test_the_most_similar_form_is_compared(explained):
    f = laminax.jit(lambda x, y: x + y)
    f(F32(3), F32(3))
    f(F32((2, 3)), 2)
    (message,) = explained(lambda: f(F32((2, 3)), 2.0))
    assert "of the 2 forms" in message
    assert message.split("\n  ")[1:-1] == ["y: another dtype: f32[], before i32[]"]


def test_many_differences_are_cut_short(explained):
    f = laminax.jit(lambda *xs: sum(xs))
    f(*[F32(3)] * 20)
    (message,) = explained(lambda: f(*[F32(4)] * 20))
    lines = message.split("\n  ")
    assert len(lines) == 11 and lines[1] == "xs[0]: another shape: f32[4], before f32[3]"
    assert lines[9] == "and 12 more differences"


def test_options(explained):
    f = laminax.jit(lambda x: x * 2)
    f(F32(3))
    with laminax.default_matmul_precision("highest"):
        (message,) = explained(lambda: f(F32(3)))
    assert "the option default_matmul_precision: 'highest', before None" in message


def test_named_axes(explained):
    f = laminax.jit(lambda x: x * 2)
    f(F32(3))
    f.clear_cache()
    laminax.vmap(f, axis_name="i")(F32(3))
    (message,) = explained(lambda: laminax.vmap(f, axis_name="j")(F32(3)))
    assert "the named axes in scope: 'j' of size 3, before 'i' of size 3" in message


def test_functions_made_anew(explained):
    def call_fresh():
        laminax.jit(lambda x: x * 3)(F32(3))

    (message,) = explained(call_fresh, call_fresh)
    assert "jit(<lambda>) is traced again, because it is another function than before, made by the same code" in message
    assert "Make the function once" in message

    def loss(x):
        return jnp.sum(x)

    def call_gradient():
        laminax.jit(laminax.grad(loss))(F32(3))

    (message,) = explained(call_gradient, call_gradient)
    assert "jit(loss) is traced again" in message and "a transformation of it too" in message


def test_two_functions_are_not_one_made_anew(explained):
    assert explained(lambda: laminax.jit(lambda x: x + 1)(1.0), lambda: laminax.jit(lambda x: x + 2)(1.0)) == []


def test_silent_without_misses_and_when_off(explained, caplog):
    f = laminax.jit(lambda x: jnp.where(x > 0, x, 0))
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
    assert "jit(<lambda>) is compiled again without being traced, because of:" in messages
    assert "the device: cpu:1, before cpu:0" in messages


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
