"""Cotangents along checked axes of devices: summed once, where a value is the same for all. Counted in the programs."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.collectives import psum, psum_p, pvary_p
from laminax_ir.ops.elementwise import sin
from laminax_ir.programs.dce import dce_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import grad, jvp, vmap

SAME, VARIES = ShapedArray((), np.float32), ShapedArray((), np.float32, named_shape={"i": 4})


def program_of(fun, *avals, is_checked=True):
    with running_along([("i", 4)], is_checked):
        return stage(lambda *xs: [fun(*xs)], avals)


def sums(program):
    return sum(eqn.primitive is psum_p for eqn in program.eqns)


@pytest.mark.parametrize("fun, wrt, count, varies", [
    (lambda w, x: w * x, 0, 1, set()),  # each device's x, summed
    (lambda w, x: w * x, 1, 0, {"i"}),
    (lambda w, x: psum(w * x, "i"), 0, 1, set()),  # besides the value's own sum, which nobody needs
    (lambda w, x: psum(w * x, "i"), 1, 0, {"i"}),  # the cotangent is the same for all already
    (lambda w, x: psum(w, "i"), 0, 1, set()),  # the sum of as many equal values
    (lambda w, x: psum(w, "i") + x, 0, 2, set()),  # of which each device makes something of its own
    (lambda w, x: w + x, 0, 1, set()),
    (lambda w, x: sin(sin(w)) * x, 0, 1, set()),  # once, at the end
    (lambda w, x: w * x + w, 0, 1, set()),
    (lambda w, x: psum(sin(w * x), "i") * x, 1, 2, {"i"}),  # the value's sum, and that of the cotangents
])
def test_sums_in_gradients(fun, wrt, count, varies):
    program = program_of(grad(fun, argnums=wrt), SAME, VARIES)
    assert set(program.out_avals[0].named_shape) == varies
    needed, _ = dce_jaxpr(program.jaxpr, [True])
    assert sums(program.replace(jaxpr=needed)) == count


def test_without_the_check_every_sum_is_transposed_to_a_sum():
    program = program_of(grad(lambda w, x: psum(w * x, "i")), SAME, SAME, is_checked=False)
    assert sums(program.replace(jaxpr=dce_jaxpr(program.jaxpr, [True])[0])) == 1
    program = program_of(grad(lambda w, x: w * x), SAME, SAME, is_checked=False)
    assert sums(program) == 0


def test_marks_under_transformations():
    def f(x):
        return pvary_p.bind(x, axes=("i",)) * 3

    x = np.float32(2)
    assert jvp(f, (x,), (np.float32(1),)) == (6, 3) and grad(f)(x) == 3
    np.testing.assert_array_equal(vmap(f)(np.arange(3, dtype=np.float32)), [0, 3, 6])
