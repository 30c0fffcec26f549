"""Which calls stay in place, become functions, or stay calls in the compiled program."""

import numpy as np
import pytest

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.elementwise import sin
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower
from laminax_lowering.planning import outlining

F32 = ShapedArray((4,), np.dtype(np.float32))
KEPT = 'inlineable = "false"'


def program(length, name="block"):
    """A program of `length` sines in a row."""
    def fun(x):
        for _ in range(length):
            x = sin(x)
        return [x]
    return stage(fun, [F32], name)


def calling(closed, times):
    """A program that calls another one several times."""
    def fun(x):
        for _ in range(times):
            (x,) = call_jaxpr(closed, x, name="block")
        return [x]
    return stage(fun, [F32], "caller")


def test_one_call_is_written_in_place():
    text = lower(calling(program(50), 1)).text
    assert text.count("func.func") == 1 and "func.call" not in text
    assert text.count("stablehlo.sine") == 50


@pytest.mark.parametrize("times, length, is_kept", [
    (2, 1000, False),  # too few calls
    (outlining.OUTLINE_MIN_CALLS, outlining.OUTLINE_MIN_EQUATIONS, True),
    (8, outlining.OUTLINE_MIN_EQUATIONS - 1, False),  # too small
])
def test_repeated_large_blocks_stay_calls(times, length, is_kept):
    text = lower(calling(program(length), times)).text
    assert text.count("func.call @block(") == times
    assert text.count("func.func private @block(") == 1
    assert text.count(KEPT) == (times if is_kept else 0)


def test_only_one_level_is_outlined():
    inner = program(100)
    outer = calling(inner, 5)
    text = lower(calling(outer, 5)).text
    assert text.count(KEPT) == 5  # the calls of outer; those of inner, inside it, are inlined by XLA


def test_what_is_written_in_place_belongs_to_the_top_level():
    text = lower(calling(calling(program(100), 4), 1)).text
    assert text.count(KEPT) == 4


def test_inline_overrides():
    closed = program(100)

    def fun(x):
        for _ in range(6):
            (x,) = call_jaxpr(closed, x, name="block", inline=True)
        return [x]

    text = lower(stage(fun, [F32], "caller")).text
    assert "func.call" not in text and text.count("stablehlo.sine") == 600


@pytest.mark.parametrize("name, module",
                         [("f", "jit_f"), ("<lambda>", "jit__lambda"), ("δ", "jit"), ("fδ2", "jit_f_2"), ("a.b", "jit_a.b")])
def test_names_of_functions_become_symbols(name, module):
    assert lower(stage(lambda x: [sin(x)], [ShapedArray((), np.float32)]), name=name).text.startswith(f"module @{module} ")
