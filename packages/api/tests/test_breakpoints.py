"""`debug.breakpoint`, with commands from a text."""

from __future__ import annotations

import io

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import debug


def commands(*lines):
    """What a breakpoint is given: its input, with an end, and its output."""
    return {"stdin": io.StringIO("\n".join([*lines, "c", ""])), "stdout": io.StringIO()}


def answers(streams):
    """What was written, by prompt."""
    head, *texts = streams["stdout"].getvalue().split("(jdb) ")
    assert head == "Entering jdb:\n"
    return [text.rstrip() for text in texts[:-1]]


def run(wrap, f, *args):
    out = wrap(f)(*args)
    laminax.effects_barrier()
    return out


@pytest.mark.parametrize("wrap", [laminax.jit, lambda f: f])
def test_variables_have_their_values(wrap):
    streams = commands("p x, y", "p state['n'], label", "y + 40", "pp np.float32(1) + x", "p nothing", "p 1 / 0")

    def f(x):
        y = x * 2
        state, label = {"n": y + 1}, "a text"
        debug.breakpoint(**streams)
        return y, state, label and 0

    run(wrap, f, jnp.float32(3))
    assert answers(streams) == [
        "(Array(3., dtype=float32), Array(6., dtype=float32))", "(Array(7., dtype=float32), 'a text')", "Array(46., dtype=float32)",
        "Array(4., dtype=float32)", "*** NameError: name 'nothing' is not defined", "*** ZeroDivisionError: division by zero"]


def test_frames():
    streams = commands("l", "u", "p outside", "bt", "d", "p inside", "d", "u", "u")

    def inner(inside):
        debug.breakpoint(num_frames=2, **streams)
        return inside

    @laminax.jit
    def outer(outside):
        return inner(outside + 1)

    run(lambda f: f, outer, 1.0)
    listed, up, outside, trace, down, inside, bottom, _, top = answers(streams)
    assert "test_breakpoints.py(" in listed and "->          debug.breakpoint(num_frames=2" in listed and listed == down
    assert "->          return inner(outside + 1)" in up
    assert (outside, inside) == ("Array(1., dtype=float32)", "Array(2., dtype=float32)")
    assert trace.startswith("Traceback:\n") and trace.index("return inner(outside + 1)") < trace.index("debug.breakpoint(")
    assert (bottom, top) == ("At bottommost frame.", "At topmost frame.")


def test_examples_of_vmap_stop_one_by_one():
    streams = commands("p x", "c", "p x")

    def f(x):
        debug.breakpoint(**streams)
        return x

    run(laminax.jit, laminax.vmap(f), np.float32([5, 6]))
    text = streams["stdout"].getvalue()
    assert text.index("Array(5., dtype=float32)") < text.index("Array(6., dtype=float32)") and text.count("Entering jdb:") == 2


def test_derivatives_see_the_primal_values():
    streams = commands("p y")

    def f(x):
        y = x * x
        debug.breakpoint(**streams)
        return y

    assert run(lambda f: laminax.jit(laminax.grad(f)), f, 3.0) == 6
    assert answers(streams) == ["Array(9., dtype=float32)"]


def test_what_cannot_pass_is_shown_as_it_was():
    streams = commands("p odd", "p old", "p (known, x)")
    kept = []
    laminax.jit(lambda z: kept.append(z) or z)(1.0)

    @laminax.jit
    def f(x):
        odd, (old,), known = np.array([None, {}]), kept, np.arange(2)
        debug.breakpoint(num_frames=1, **streams)
        return x, known + 0 if odd is not old else 0

    run(lambda f: f, f, jnp.float32(2))
    odd, old, known = answers(streams)
    assert odd == "array([None, {}], dtype=object)" and "of a function that has returned" in old
    assert known == "(array([0, 1]), Array(2., dtype=float32))"


def test_the_end_of_the_input_ends_the_process():
    with pytest.raises(SystemExit):
        debug.breakpoint(stdin=io.StringIO(), stdout=io.StringIO())


@pytest.mark.parametrize("options, error, message", [
    ({"backend": "web"}, ValueError, "backend must be None or 'cli', got 'web'"),
    ({"num_frames": 0}, ValueError, "num_frames must be None or an int of at least 1, got 0"),
    ({"token": 1}, NotImplementedError, "token is not supported; ordered=True keeps breakpoints in order"),
])
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        debug.breakpoint(**options)
