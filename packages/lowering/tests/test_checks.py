"""Checks have no StableHLO: those that only `checkify` looks at are left out, others must be made values of before."""

import re

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.checks import check, debug_check
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.lower import lower

F32 = ShapedArray((), np.float32)


def test_a_check_for_checkify_alone_is_left_out():
    closed = stage(lambda x: [debug_check(op.gt(x, np.float32(0)), "{}", x) or x], [F32])
    assert re.findall(r'"(stablehlo\.\w+)"', lower(closed, name="f").text) == ["stablehlo.constant", "stablehlo.compare"]


def test_other_checks_are_refused():
    closed = stage(lambda x: [check(op.gt(x, np.float32(0)), "x must be positive") or x], [F32])
    with pytest.raises(ValueError, match="not functionalized: 'x must be positive' in .*Wrap the function in checkify.checkify"):
        lower(closed, name="f")
