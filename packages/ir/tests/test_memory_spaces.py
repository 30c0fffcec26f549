"""Types in the host's memory: which types results have, how a trace comes to keep track of them, and what is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from laminax_ir.ops.contraction import dot
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.elementwise import add, gt, mul, sin
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import broadcast_in_dim, transpose
from laminax_ir.ops.sharding import in_memory
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray, aval_in, get_aval, insert_axis, placed_aval, remove_axis
from laminax_ir.types.memory_spaces import MemorySpace, kind_of_space, space_of_kind

HOST, DEVICE = MemorySpace.Host, MemorySpace.Device
X = np.arange(6, dtype=np.float32).reshape(2, 3)
PLAIN = ShapedArray((2, 3), np.float32)
THERE = ShapedArray((2, 3), np.float32, memory_space=HOST)


def out_types(fun, *avals) -> list[str]:
    closed = stage(lambda *xs: fun(*xs), avals)
    check_jaxpr(closed)
    return [aval.str_short() for aval in closed.out_avals]


def test_types():
    assert THERE is aval_in(PLAIN, HOST) and aval_in(THERE, DEVICE) is PLAIN and THERE is not PLAIN
    assert str(THERE) == "float32<host>[2,3]" and THERE.str_short() == "f32<host>[2,3]" and str(PLAIN) == "float32[2,3]"
    assert pickle.loads(pickle.dumps(THERE)) is copy.deepcopy(THERE) is THERE
    assert THERE.update(dtype=np.int32).to_tangent_aval().memory_space is HOST and THERE.update(weak_type=True).strip_weak_type() is THERE
    assert THERE.update(memory_space=DEVICE) is PLAIN and PLAIN.update(memory_space=HOST) is THERE
    assert insert_axis(remove_axis(THERE, 0), 0, 2) is THERE

    class Sharding:
        memory_kind = "pinned_host"

    assert placed_aval(PLAIN, Sharding()) is THERE and placed_aval(THERE, None) is PLAIN
    assert ([kind_of_space(space_of_kind(kind)) for kind in ("pinned_host", "device", "unpinned_host", None)]
            == ["pinned_host"] + ["device"] * 3)


@pytest.mark.parametrize("fun, expected", [
    (lambda x: [sin(x), mul(x, 2.0), reduce_sum(x, (0,)), dot(x, broadcast_in_dim(reduce_sum(x, (0, 1)), (3,), ()))],
     ["f32<host>[2,3]"] * 2 + ["f32<host>[3]", "f32<host>[2]"]),
    (lambda x: [in_memory(x, DEVICE), in_memory(x, HOST), in_memory(sin(in_memory(x, DEVICE)), HOST)],
     ["f32[2,3]", "f32<host>[2,3]", "f32<host>[2,3]"]),
    (lambda x: scan(lambda c, row: (add(c, 1.0), in_memory(row, DEVICE)), 0.0, x), ["f32[]", "f32[2,3]"]),
    (lambda x: scan(lambda c, row: (add(c, row), c), reduce_sum(x, (0,)), x), ["f32<host>[3]", "f32<host>[2,3]"]),
    (lambda x: [while_loop(lambda c: gt(reduce_sum(c, (0, 1)), 0.0), lambda c: mul(c, 0.5), x)], ["f32<host>[2,3]"]),
    (lambda x: [cond(gt(reduce_sum(x, (0, 1)), 0.0), sin, lambda x: x, x)], ["f32<host>[2,3]"]),
])
def test_results_lie_with_their_operands(fun, expected):
    assert out_types(fun, THERE) == expected


def test_a_trace_keeps_track_once_it_meets_a_value_in_other_memory():
    inner = stage(lambda x: [sin(in_memory(x, HOST))], [PLAIN])
    assert inner.out_avals[0] is THERE

    def by_program(y):  # nothing that the function is given is there
        (there,) = eval_jaxpr(inner.jaxpr, inner.consts, y)
        return [mul(there, there), in_memory(there, DEVICE)]

    assert out_types(by_program, PLAIN) == ["f32<host>[2,3]", "f32[2,3]"]
    outer = out_types(lambda y: scan(lambda c, row: (c, add(row, c)), reduce_sum(in_memory(y, HOST), (0,)), in_memory(y, HOST)), PLAIN)
    assert outer == ["f32<host>[3]", "f32<host>[2,3]"]


@pytest.mark.parametrize("fun", [add, lambda x, y: dot(x, transpose(y, (1, 0))), lambda x, y: mul(y, x)])
def test_operands_in_several_kinds_of_memory(fun):
    with pytest.raises(ValueError, match=r"memory_space of all inputs passed to `\w+` must be the same. "
                                         r"Got one operand with type: .*host.*Move one of them"):
        stage(lambda x, y: [fun(x, y)], [THERE, PLAIN])
    assert out_types(lambda x, y: [mul(x, y)], THERE, get_aval(np.float32(2))) == ["f32<host>[2,3]"]  # a scalar may lie anywhere


def test_what_is_refused():
    with pytest.raises(TypeError, match="memory_space must be a MemorySpace, got 'pinned_host' of type str"):
        ShapedArray((2,), np.float32, memory_space="pinned_host")
    with pytest.raises(ValueError, match="memory.Space.Any names no memory"):
        kind_of_space(MemorySpace.Any)
    with pytest.raises(TypeError, match="(?s)carry input and carry output must have equal types.*f.*<host>"):
        stage(lambda x: scan(lambda c, _: (in_memory(c, HOST), None), x, length=2), [PLAIN])
