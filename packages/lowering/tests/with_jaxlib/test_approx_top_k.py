"""Approximate selection through XLA against the reference."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops.sorting import approx_max_k, approx_min_k


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_selection(dtype):
    x = np.array([[1, np.nan, 3, -np.inf, 0, -0.0, 2, 3], [5, 4, np.inf, 2, 1, 0, -1, -2]]).astype(dtype)
    check(lambda x: [*approx_max_k(x, 8), *approx_min_k(x, 8), *approx_max_k(x, 1, 0), *approx_min_k(x, 2, 0)], x)


def test_without_aggregation():
    x = np.random.default_rng(0).normal(size=(2, 600)).astype("float32")
    check(lambda x: [*approx_max_k(x, 3, aggregate_to_topk=False), *approx_min_k(x, 3, aggregate_to_topk=False)], x)
