"""What messages say about why a traced value is not known."""

import numpy as np
import pytest

from laminax_ir.ops.elementwise import add, gt
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ConcretizationTypeError, TracerArrayConversionError

F32 = ShapedArray((), np.float32)


def staged(fun, count=3, name="step"):
    return stage(fun, [F32] * count, name, "xyz"[:count])


@pytest.mark.parametrize("fun, message", [
    (lambda x, y, z: [x] if gt(x, np.float32(0)) else [y], "depends on the value of the argument x of step"),
    (lambda x, y, z: [x] if gt(add(x, y), z) else [y], "depends on the values of the arguments x, y and z of step"),
    (lambda x, y, z: [float(z)], "depends on the value of the argument z of step"),
])
def test_the_arguments_that_it_depends_on(fun, message):
    with pytest.raises(ConcretizationTypeError, match=message):
        staged(fun)


def test_for_numpy_too():
    with pytest.raises(TracerArrayConversionError, match="depends on the value of the argument y of step"):
        staged(lambda x, y, z: [np.sin(add(y, y))])


def test_a_value_of_an_outer_program():
    def outer(x):
        return staged(lambda y, z: [y] if gt(x, np.float32(1)) else [z], 2, "inner").consts

    with pytest.raises(ConcretizationTypeError, match="depends on the value of the argument x of outer"):
        staged(outer, 1, "outer")


@pytest.mark.parametrize("count, says_more", [(2, False), (7, True)])
def test_a_value_that_depends_on_no_argument(count, says_more):
    def fun(x):
        total = np.float32(0)
        for _ in range(count):
            total = add(total, add(np.float32(1), np.float32(2)))
        return [x] if gt(total, np.float32(0)) else []

    with pytest.raises(ConcretizationTypeError, match="due to operations on these lines: add at test_origins.py:.* in fun, add") as caught:
        staged(fun, 1)
    assert ("Additional originating lines are not shown" in str(caught.value)) == says_more
