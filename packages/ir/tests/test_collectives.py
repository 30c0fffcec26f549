"""Collectives: signatures, constant folding, shapes, errors, and their meaning on an axis of size 1."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.collective_primitives import axis_size
from laminax_ir.ops.collectives import (
    all_gather,
    all_to_all,
    axis_index,
    pbroadcast,
    pcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
from laminax_ir.ops.elementwise import add, convert_element_type
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import UnboundAxisNameError

F32 = np.dtype("float32")


def out_avals(fun, *shapes, axes=(("i", 4), ("j", 2))):
    with extend_axis_env(*axes):
        return stage(lambda *xs: fun(*xs), [ShapedArray(s, F32) for s in shapes]).out_avals


def test_the_sum_of_a_python_number_is_known():
    with extend_axis_env(("i", 4), ("j", 2)):
        assert psum(1, "i") == 4 and type(psum(1, "i")) is int
        assert psum(2.5, ("i", "j")) == 20.0 and type(psum(2.5, ("i", "j"))) is float
        assert psum(1, "i", axis_index_groups=[[0, 1], [2, 3]]) == 2
        assert axis_size("i") == 4 and axis_size(("i", "j")) == 8


@pytest.mark.parametrize("fun, shape", [
    (lambda x: [psum(x, "i")], (4, 6)),
    (lambda x: [pmax(x, ("i", "j"))], (4, 6)),
    (lambda x: [pmin(x, "j")], (4, 6)),
    (lambda x: [pmean(x, "i")], (4, 6)),
    (lambda x: [psum(x, (0, "i"))], (6,)),
    (lambda x: [psum(x, -1)], (4,)),
    (lambda x: [all_gather(x, "i")], (4, 4, 6)),
    (lambda x: [all_gather(x, ("i", "j"), axis=1)], (4, 8, 6)),
    (lambda x: [all_gather(x, "i", axis=-1)], (4, 6, 4)),
    (lambda x: [all_gather(x, "j", axis=1, tiled=True)], (4, 12)),
    (lambda x: [all_gather(x, "i", axis_index_groups=[[0, 1], [2, 3]])], (2, 4, 6)),
    (lambda x: [psum_scatter(x, "i")], (6,)),
    (lambda x: [psum_scatter(x, "j", scatter_dimension=1, tiled=True)], (4, 3)),
    (lambda x: [all_to_all(x, "i", 0, 1)], (6, 4)),
    (lambda x: [all_to_all(x, "j", 1, 0, tiled=True)], (8, 3)),
    (lambda x: [pswapaxes(x, "i", 0)], (4, 6)),
    (lambda x: [ppermute(x, "i", [(0, 1)])], (4, 6)),
    (lambda x: [pshuffle(x, "i", [3, 2, 1, 0])], (4, 6)),
    (lambda x: [pbroadcast(x, "i", 2)], (4, 6)),
])
def test_result_shapes(fun, shape):
    (aval,) = out_avals(fun, (4, 6))
    assert (aval.shape, aval.dtype) == (shape, F32)


def test_pytrees_and_dtypes():
    with extend_axis_env(("i", 4)):
        closed = stage(lambda x, n, b: [*psum({"a": x, "b": 1}, "i").values(), psum(b, "i"), pmean(n, "i"), pmax(b, "i")],
                       [ShapedArray((2,), F32), ShapedArray((), np.int32), ShapedArray((), np.bool_)])
    assert [a.str_short() for a in closed.out_avals] == ["f32[2]", "i32[]", "i32[]", "f32[]", "bool[]"]


def test_a_collective_prints_as_in_jax():
    with extend_axis_env(("i", 4)):
        text = str(stage(lambda x: [psum(x, "i"), ppermute(x, "i", [(0, 1)])], [ShapedArray((2,), F32)]))
    assert "psum[axes=('i',) axis_index_groups=None] a" in text
    assert "ppermute[axis_name=('i',) perm=((0, 1),)] a" in text


def test_named_shapes():
    """An index varies over its axis, and so does what is computed from it, until a collective makes it the same for all."""
    def fun(x):
        i = axis_index("i")
        y = add(x, convert_element_type(i, F32))
        return [i, y, psum(y, "i"), psum(y, "i", axis_index_groups=[[0, 1], [2, 3]]), all_gather(y, "i"), pmax(y, "j")]

    named = [a.named_shape for a in out_avals(fun, (3,))]
    assert named == [{"i": 4}, {"i": 4}, {}, {"i": 4}, {}, {"i": 4}]


def test_alone_on_an_axis():
    x = np.arange(6, dtype=F32).reshape(1, 6)
    with extend_axis_env(("i", 1)):
        for result in (psum(x, "i"), pmax(x, "i"), pmin(x, "i"), pmean(x, "i"), all_gather(x, "i", tiled=True),
                       all_to_all(x, "i", 0, 0), ppermute(x, "i", [(0, 0)]), pbroadcast(x, "i", 0)):
            np.testing.assert_array_equal(result, x)
        np.testing.assert_array_equal(all_gather(x, "i"), x[None])
        np.testing.assert_array_equal(psum_scatter(x, "i"), x[0])
        np.testing.assert_array_equal(ppermute(x, "i", []), 0 * x)
        assert axis_index("i") == 0


@pytest.mark.parametrize("function, call", [
    ("psum", lambda x: psum(x, "i")), ("pmax", lambda x: pmax(x, "i")), ("pmean", lambda x: pmean(x, "i")),
    ("all_gather", lambda x: all_gather(x, "i")), ("psum_scatter", lambda x: psum_scatter(x, "i")),
    ("all_to_all", lambda x: all_to_all(x, "i", 0, 0)), ("pbroadcast", lambda x: pbroadcast(x, "i", 0)),
    ("axis_size", lambda x: x * axis_size("i")), ("pvary", lambda x: pcast(x, "i", to="varying")),
])
def test_a_name_that_nothing_defines(function, call):
    with pytest.raises(NameError, match=f"Found an unbound axis name: i.*please call {function} under `laminax.shard_map`.*axis_name='i'"):
        stage(lambda x: [call(x)], [ShapedArray((4,), F32)])


@pytest.mark.parametrize("to, function", [("varying", "pvary"), ("reduced", "preduced"), ("unreduced", "vary_unreduced_cast")])
def test_casts_outside_of_all_functions(to, function):
    with pytest.raises(ValueError, match=f"{function} should be called under laminax.shard_map.*nothing runs along 'i' here"):
        pcast(np.ones(3, F32), "i", to=to)


def test_not_alone_on_an_axis():
    with extend_axis_env(("i", 2)), pytest.raises(NotImplementedError, match="axis 'i' of size 2 .* Apply vmap with axis_name='i'"):
        psum(np.ones(3, F32), "i")


x46 = ShapedArray((4, 6), F32)


@pytest.mark.parametrize("call, error, message", [
    (lambda x: psum(x, "k"), UnboundAxisNameError, "unbound axis name: k.*'i', 'j'"),
    (lambda x: psum(1, "k"), NameError, "unbound axis name: k"),
    (lambda x: pmax(x, ("i", "k")), NameError, "unbound axis name: k"),
    (lambda x: axis_index("k"), NameError, "unbound axis name: k"),
    (lambda x: all_gather(x, "k"), NameError, "unbound"),
    (lambda x: all_to_all(x, "k", 0, 0), NameError, "unbound"),
    (lambda x: ppermute(x, "k", []), NameError, "unbound"),
    (lambda x: psum_scatter(x, "k"), NameError, "unbound"),
    (lambda x: psum(x, ("i", "i")), ValueError, "named twice"),
    (lambda x: psum(x, "i", axis_index_groups=[[0, 1]]), ValueError, "must cover all indices exactly once"),
    (lambda x: psum(x, "i", axis_index_groups=[[0, 1], [1, 2, 3]]), ValueError, "must cover all indices exactly once"),
    (lambda x: psum(x, "i", axis_index_groups=3), TypeError, "must be a list of lists of ints, got 3"),
    (lambda x: all_gather(x, "i", axis_index_groups=[[0, 1, 2], [3]]), ValueError, "must have the same size"),
    (lambda x: psum(x, (0, "i"), axis_index_groups=[[0, 1], [2, 3]]), ValueError, "for named axes only"),
    (lambda x: psum(x, 2), ValueError, "psum"),
    (lambda x: all_gather(x, "i", axis=3), ValueError, "all_gather"),
    (lambda x: all_gather(x, "i", axis=2, tiled=True), ValueError, "all_gather"),
    (lambda x: psum_scatter(x, "j"), ValueError, r"scatter dimension size 4 must match shard count 2; the operand is f32\[4,6\]"),
    (lambda x: psum_scatter(x, "i", scatter_dimension=1, tiled=True), ValueError, "size 6 must be divisible by shard_count 4"),
    (lambda x: all_to_all(x, "j", 0, 0), ValueError, r"but they are 2 and 4 respectively; x is f32\[4,6\]"),
    (lambda x: all_to_all(x, "i", 1, 0, tiled=True), ValueError, "divisible by the size of the mapped axis, but they are 6 and 4"),
    (lambda x: all_to_all(x, "i", 2, 0), ValueError, "all_to_all"),
    (lambda x: ppermute(x, "i", [(0, 1), (0, 2)]), ValueError, "sources and destinations must be unique"),
    (lambda x: ppermute(x, "i", [(0, 4)]), ValueError, r"must be in \[0, 4\), the range of axis 'i'"),
    (lambda x: ppermute(x, "i", [0, 1]), TypeError, "pairs"),
    (lambda x: pshuffle(x, "i", [0, 0, 1, 2]), ValueError, r"`perm` does not represent a permutation: \[0, 0, 1, 2\]"),
    (lambda x: pbroadcast(x, "i", 4), ValueError, r"source must be in \[0, 4\)"),
])
def test_wrong_calls(call, error, message):
    with extend_axis_env(("i", 4), ("j", 2)), pytest.raises(error, match=message):
        stage(lambda x: [call(x)], [x46])


@pytest.mark.parametrize("dtype, expected",
                         [(np.int32, np.float32), (np.uint8, np.float32), (np.bool_, np.float32), (np.float16, np.float16),
                          (np.float32, np.float32), (np.complex64, np.complex64)])
def test_a_mean_over_a_named_axis_is_the_sum_divided_by_its_size(dtype, expected):
    with extend_axis_env(("i", 4)):
        closed = stage(lambda x: [pmean(x, "i")], [ShapedArray((3,), dtype)])
    assert closed.out_avals == [ShapedArray((3,), expected)]
    last = closed.eqns[-1]
    assert str(last.primitive) == "div" and last.invars[1].val == 4
