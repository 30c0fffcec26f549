"""Block-scaled products through XLA: a composite that the CPU takes apart."""

import ml_dtypes
import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops.scaled_dot import scaled_dot
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower


def arguments():
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((2, 4, 8), (2, 8, 3)))
    return [x, y, *((2.0 ** rng.integers(-2, 3, shape)).astype(ml_dtypes.float8_e8m0fnu) for shape in ((2, 4, 2), (2, 4, 3)))]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_product(dtype):
    # a bfloat16 result of float32 sums may be rounded to either side
    check(lambda x, y, sx, sy: [scaled_dot(x, y, lhs_scale=sx, rhs_scale=sy, preferred_element_type=dtype), scaled_dot(x, y)],
          *arguments(), rtol=2**-7)


def test_text():
    args = arguments()
    text = lower(stage(lambda x, y, sx, sy: [scaled_dot(x, y, lhs_scale=sx, rhs_scale=sy)], [get_aval(x) for x in args])).text
    assert ('name = "xla.scaled_dot", composite_attributes = {"dimension_numbers" = [[[2 : i64], [1 : i64]], [[0 : i64], [0 : i64]]], '
            '"preferred_element_type" = bf16}, decomposition = @xla.scaled_dot') in text
