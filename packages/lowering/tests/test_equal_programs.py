"""Equal programs, traced separately, share one function of the module and are planned as one."""

import sys

import numpy as np
import pytest

from laminax_ir.ops import elementwise as el
from laminax_ir.ops.callbacks import pure_callback
from laminax_ir.ops.calls import bind_checkpoint, call_jaxpr
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import reshape, transpose
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_lowering import lower
from laminax_lowering.planning.equal_programs import ProgramTable

F32 = ShapedArray((3, 3), np.dtype(np.float32))


def are_equal(f, g, *avals) -> bool:
    programs = ProgramTable()
    first, second = (stage(lambda *xs, h=h: [h(*xs)], avals or [F32, F32]) for h in (f, g))
    assert programs.representative(first) is first
    return programs.representative(second) is first


def stack(x):
    return reshape(x, (1, 3, 3))


def callback(x):
    return pure_callback(np.sin, ShapeDtypeStruct((3, 3), np.float32), x)


@pytest.mark.parametrize("fun", [
    lambda x, y: el.add(el.sin(x), y), lambda x, y: x, lambda x, y: el.mul(np.float32(np.nan), x),
    lambda x, y: scan(lambda c, row: (el.add(c, row), el.sin(c)), transpose(y, (1, 0)), stack(x))[0],
    lambda x, y: call_jaxpr(stage(lambda a: [el.cos(a)], [F32]), x, name="inner")[0],
])
def test_equal(fun):
    assert are_equal(fun, lambda x, y: fun(x, y))


@pytest.mark.parametrize("f, g", [
    (lambda x, y: el.sub(x, y), lambda x, y: el.sub(y, x)),
    (lambda x, y: el.sub(x, y), lambda x, y: el.sub(x, x)),
    (lambda x, y: el.sin(el.cos(x)), lambda x, y: el.cos(el.sin(x))),
    (lambda x, y: x, lambda x, y: y),
    (lambda x, y: el.mul(np.float32(0), x), lambda x, y: el.mul(np.float32(-0.0), x)),
    (lambda x, y: el.mul(np.float32(1), x), lambda x, y: el.mul(np.float32(2), x)),
    (lambda x, y: reduce_sum(x, (0,)), lambda x, y: reduce_sum(x, (1,))),
    (lambda x, y: el.sin(x), lambda x, y: el.sin(el.sin(x))),
    (lambda x, y: call_jaxpr(stage(lambda a: [el.cos(a)], [F32]), x, name="inner")[0],
     lambda x, y: call_jaxpr(stage(lambda a: [el.sin(a)], [F32]), x, name="inner")[0]),
    (lambda x, y: callback(x), lambda x, y: pure_callback(np.cos, ShapeDtypeStruct((3, 3), np.float32), x)),
])
def test_different(f, g):
    assert not are_equal(f, g)


def test_programs_inside_of_similar_ones():
    """A program that only calls another one has its types and number of equations: it once was compared with itself."""
    def around(fun):
        return lambda x: call_jaxpr(stage(lambda a: [fun(a)], [F32]), x, name="around")[0]

    assert are_equal(around(around(el.sin)), around(around(el.sin)), F32)
    assert not are_equal(around(around(el.sin)), around(el.sin), F32)
    assert not are_equal(around(el.sin), around(around(el.sin)), F32)
    assert not are_equal(el.sin, around(el.sin), F32)


def layers(count, make):
    """A program that calls as many separately traced layers."""
    def fun(x):
        for _ in range(count):
            (x,) = make(x)
        return [x]
    return stage(fun, [F32], "model")


def layer(x):
    def body(x):
        for _ in range(16):
            x = el.tanh(el.add(x, x))
        return [x]
    return call_jaxpr(stage(body, [F32], "layer"), x, name="layer")


def test_layers_traced_one_by_one_are_outlined_as_one():
    text = lower(layers(4, layer)).text
    assert text.count("func.func private @layer(") == 1 == text.count("func.func private")
    assert text.count("func.call @layer(") == 4 == text.count('inlineable = "false"')
    assert text.count("stablehlo.tanh") == 16


def test_checkpoints_share_a_function():
    def make(x):
        return bind_checkpoint(stage(lambda x: [el.sin(el.cos(x))], [F32]), x, name="layer", prevent_cse=True, policy=lambda *_: True)

    text = lower(layers(3, make)).text
    assert text.count("func.func private") == 1 and text.count("func.call @layer(") == 3


def calls_to_tell_apart(count: int) -> int:
    """How many functions of Python run while a table meets so many different programs of the same types."""
    programs = [stage(lambda x, i=i: [el.mul(np.float32(i), x)], [F32]) for i in range(count)]
    table, calls = ProgramTable(), 0

    def profile(_frame, event, _arg):
        nonlocal calls
        calls += event == "call"

    sys.setprofile(profile)
    try:
        firsts = [table.representative(program) for program in programs]
    finally:
        sys.setprofile(None)
    assert firsts == programs
    return calls


def test_many_programs_of_the_same_types_are_told_apart_in_linear_time():
    """Each was compared with all others: 2000 functions of the same types took 5 s to lower."""
    assert calls_to_tell_apart(200) < 2.2 * calls_to_tell_apart(100)
