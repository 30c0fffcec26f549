"""Initializers against what defines them."""

import numpy as np
import pytest

import laminax
from laminax.nn import initializers


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 3, 4, 4), (2, 4, 3, 2, 5)])
def test_delta_orthogonal_is_the_orthogonal_matrix_at_the_centre(shape):
    """The draw of the same key, so that numbers are JAX's: a matrix of the kernel's own size, not a part of a square one."""
    key = laminax.random.key(3)
    kernel = np.asarray(initializers.delta_orthogonal(2.0)(key, shape))
    centre = tuple((size - 1) // 2 for size in shape[:-2])
    matrix = kernel[centre]
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(shape[-2]), atol=1e-5)
    np.testing.assert_array_equal(matrix, initializers.orthogonal(2.0)(key, shape[-2:]))
    rest = kernel.copy()
    rest[centre] = 0
    assert not rest.any()
