"""Types along the axes of devices that are checked: which values are known to be the same for all."""

import numpy as np
import pytest

from laminax_ir.ops import collectives as op
from laminax_ir.ops.control_flow import cond, switch
from laminax_ir.ops.loops import fori_loop, while_loop
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.slicing import dynamic_index_in_dim
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import checked_axes, manual_axes, running_along
from laminax_ir.types.avals import ShapedArray

SAME = ShapedArray((4,), np.float32)
VARIES = ShapedArray((4,), np.float32, named_shape={"i": 4})


def axes_of(fun, *avals):
    """The axes along which the results of a function vary."""
    with running_along([("i", 4)], True):
        return [set(aval.named_shape) for aval in stage(lambda *xs: [fun(*xs)], avals).out_avals][0]


@pytest.mark.parametrize("fun, expected", [
    (lambda x, y: x * 2, set()),
    (lambda x, y: x + y, {"i"}),
    (lambda x, y: reduce_sum(y, (0,)), {"i"}),
    (lambda x, y: x + op.psum(y, "i"), set()),
    (lambda x, y: op.pmax(y, "i"), set()),
    (lambda x, y: op.pmean(y, "i"), set()),
    (lambda x, y: op.all_gather(x, "i"), {"i"}),  # as in JAX: who wants it known to be the same uses psum
    (lambda x, y: op.ppermute(x, "i", [(0, 1)]), {"i"}),
    (lambda x, y: op.psum_scatter(x, "i"), {"i"}),
    (lambda x, y: op.all_to_all(x, "i", 0, 0), {"i"}),
    (lambda x, y: op.axis_index("i"), {"i"}),
    (lambda x, y: op.pcast(x, "i", to="varying"), {"i"}),
    (lambda x, y: dynamic_index_in_dim(x, op.axis_index("i")), {"i"}),
    (lambda x, y: cond(reduce_sum(x, (0,)) > 0, lambda: x, lambda: x * 2), set()),
    (lambda x, y: cond(reduce_sum(x, (0,)) > 0, lambda: op.pcast(x, "i", to="varying"), lambda: y), {"i"}),
    (lambda x, y: cond(reduce_sum(y, (0,)) > 0, lambda: x, lambda: x * 2), {"i"}),
    (lambda x, y: fori_loop(0, 3, lambda i, c: c * 2, x), set()),
    (lambda x, y: fori_loop(0, 3, lambda i, c: c + op.psum(y, "i"), x), set()),
    (lambda x, y: fori_loop(0, 3, lambda i, c: c + y, op.pcast(x, "i", to="varying")), {"i"}),
    (lambda x, y: while_loop(lambda c: reduce_sum(c * y, (0,)) < 0, lambda c: c * 2, x), {"i"}),
])
def test_what_varies(fun, expected):
    assert axes_of(fun, SAME, VARIES) == expected


@pytest.mark.parametrize("fun", [
    lambda x, y: fori_loop(0, 3, lambda i, c: c + y, x),
    lambda x, y: while_loop(lambda c: reduce_sum(c, (0,)) < 0, lambda c: c + y, x),
])
def test_a_carry_must_not_begin_to_vary(fun):
    with pytest.raises(TypeError, match=r"f?.*is the same along the axes \('i',\), and the corresponding output carry varies.\n\nThis "
                                        r"might be fixed by applying `jax.lax.pcast\(..., \('i',\), to='varying'\)` to the initial"):
        axes_of(fun, SAME, VARIES)


def test_branches_must_vary_alike():
    with pytest.raises(TypeError, match=r"(?s)cond branches must have equal output types.*same on all devices.*varies along the axes "
                                        r"\('i',\).\n\nThis might be fixed by applying `jax.lax.pcast\(..., \('i',\), to='varying'\)` to "
                                        r"the output of true_fun\."):
        axes_of(lambda x, y: cond(reduce_sum(x, (0,)) > 0, lambda: x, lambda: y), SAME, VARIES)
    with pytest.raises(TypeError, match=r"(?s)switch branches.*to the output of branch 0 at path \[0\];\n.*of branch 2 at path \[1\]\."):
        axes_of(lambda x, y: switch(0, [lambda: (x, y), lambda: (x, y), lambda: (y, x)])[0], SAME, VARIES)
    with running_along([("i", 4)], False):
        stage(lambda x: [cond(reduce_sum(x, (0,)) > 0, lambda: x, lambda: op.ppermute(x, "i", [(0, 1)]))], [SAME])


def test_branches_of_our_own_vary_along_the_axes_of_either():
    def chosen(x, y):
        branches = [lambda: x, lambda: y]
        for branch in branches:
            branch.__module__ = "laminax_ir.functions"
        return cond(reduce_sum(x, (0,)) > 0, *branches)
    assert axes_of(chosen, SAME, VARIES) == axes_of(chosen, VARIES, SAME) == {"i"}


def test_axes_that_are_not_checked_leave_types_alone():
    with running_along([("i", 4)], False):
        program = stage(lambda x: [op.all_gather(x, "i"), op.pcast(x, "i", to="varying")], [SAME])
    assert not any(aval.named_shape for aval in program.out_avals) and len(program.eqns) == 1


def test_axes_end_with_their_function():
    with running_along([("i", 4)], True), running_along([("j", 2)], False):
        assert checked_axes() == ("i",) and manual_axes.value == (("i", 4, True), ("j", 2, False)) and op.axis_size(("i", "j")) == 8
    assert checked_axes() == () == manual_axes.value


def test_pcast_refuses():
    with running_along([("i", 4)], True):
        with pytest.raises(ValueError, match="Allowed `to` values are.*got 'whole'"):
            op.pcast(np.ones(3), "i", to="whole")
        with pytest.raises(TypeError, match="axis_name must be a tuple or a str, got {'i'} of type set"):
            op.pcast(np.ones(3), {"i"}, to="varying")
        with pytest.raises(NameError, match="unbound axis name: j"):
            op.pcast(np.ones(3), "j", to="varying")


def test_pvary_keeps_its_operand():
    np.testing.assert_array_equal(op.pvary_p.bind(np.arange(3, dtype=np.float32), axes=("i",)), np.arange(3))
