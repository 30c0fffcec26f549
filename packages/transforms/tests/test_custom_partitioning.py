"""What becomes of functions with their own partitioner under transformations: nothing, unless the user says what."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.custom_partitioning import bind_custom_partitioning
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms import custom_jvp, grad, jvp, vmap


def sine(x):
    program = stage(lambda x: [op.sin(x)], [get_aval(x)])
    return bind_custom_partitioning(program, x, partitioner=None, sharding_rule="", name="sine")[0]


def test_there_is_no_derivative():
    for transformed in (lambda: grad(sine)(1.0), lambda: jvp(sine, (1.0,), (1.0,))):
        with pytest.raises(NotImplementedError, match="'custom_partitioning' not implemented"):
            transformed()
    with pytest.raises(NotImplementedError, match="Batching rule for 'custom_partitioning'"):
        vmap(sine)(np.ones(3, np.float32))


def test_a_custom_rule_gives_it_one():
    with_rule = custom_jvp(sine)
    with_rule.defjvp(lambda primals, tangents: (with_rule(*primals), op.cos(*primals) * tangents[0]))
    np.testing.assert_allclose(grad(with_rule)(0.5), np.cos(0.5), rtol=1e-6)
