"""What becomes of composites under transformations: nothing, unless the user says what."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.composite import composite
from laminax_transforms import custom_jvp, grad, jvp, vmap

SINE = composite(lambda x: op.sin(x), "my.sine")


def test_there_is_no_derivative():
    for transformed in (lambda: grad(SINE)(1.0), lambda: jvp(SINE, (1.0,), (1.0,))):
        with pytest.raises(ValueError, match="the composite my.sine has no derivative rule.*custom_jvp"):
            transformed()
    with pytest.raises(NotImplementedError, match="Batching rule for 'composite'"):
        vmap(SINE)(np.ones(3))


def test_a_custom_rule_gives_it_one():
    sine = custom_jvp(lambda x: SINE(x))
    sine.defjvp(lambda primals, tangents: (sine(*primals), op.cos(*primals) * tangents[0]))
    np.testing.assert_allclose(grad(sine)(0.5), np.cos(0.5), rtol=1e-6)
