"""Sparse arrays to test with: some elements zero, some entries twice, some padding."""

from __future__ import annotations

import numpy as np

import laminax.numpy as jnp
from laminax.experimental import sparse


def layouts(ndim: int) -> list[tuple[int, int]]:
    """All pairs of a number of batch axes and one of dense axes."""
    return [(n_batch, n_dense) for n_batch in range(ndim + 1) for n_dense in range(ndim + 1 - n_batch)]


def random_bcoo(rng, shape, n_batch=0, n_dense=0, dtype=np.float32, nse=5) -> tuple[sparse.BCOO, np.ndarray]:
    """A sparse array of small integers with entries at the same place and padding, and the same array of NumPy."""
    end = len(shape) - n_dense
    batch, inner, dense = shape[:n_batch], shape[n_batch:end], shape[end:]
    data = rng.integers(-4, 5, (*batch, nse, *dense)).astype(dtype)
    indices = np.stack([rng.integers(0, size, (*batch, nse)) for size in inner], axis=-1) if inner else np.zeros((*batch, nse, 0), int)
    if inner:
        indices[..., -1, :] = inner  # padding, whatever its value
    expected = np.zeros(shape, dtype)
    for place in np.ndindex(*batch, nse if not inner else nse - 1):
        expected[(*place[:-1], *indices[place])] += data[place]
    return sparse.BCOO((jnp.asarray(data), jnp.asarray(indices, dtype=np.int32)), shape=shape), expected
