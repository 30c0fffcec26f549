"""`setxor1d` with a size known beforehand, against NumPy's."""

import numpy as np
import pytest

from laminax import numpy as jnp

SIZE = 9


@pytest.mark.parametrize("assume_unique", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_as_numpy(seed, assume_unique):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 6, rng.integers(0, 7)) for _ in range(2))  # with elements that are there twice
    wanted = np.setxor1d(a, b, assume_unique=assume_unique)
    found = np.asarray(jnp.setxor1d(a, b, assume_unique=assume_unique, size=SIZE, fill_value=-1))
    np.testing.assert_array_equal(found, np.append(wanted, np.full(SIZE - len(wanted), -1)))
