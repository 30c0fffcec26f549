"""Stacking through XLA against the reference."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops.random_bits import random_unwrap, random_wrap
from laminax_ir.ops.stacking import stack, unstack


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["float32", "int4", "complex64", "bool"])
def test_stack_and_unstack(shape, dtype):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    for axis in range(len(shape) + 1):
        check(lambda x: [stack([x, x, x], axis), stack([x], axis)], x)
        if axis < len(shape):
            check(lambda x: list(unstack(x, axis)), x)


def test_random_keys():
    def keys(words):
        one = random_wrap(words, impl="threefry2x32")
        return [random_unwrap(stack([one, one], 1)), *map(random_unwrap, unstack(one))]

    check(keys, np.arange(8, dtype=np.uint32).reshape(2, 2, 2))
