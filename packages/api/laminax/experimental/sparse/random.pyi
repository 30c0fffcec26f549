# Written by tools/stubs.py.
"""Random sparse arrays. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax._src.numerics.sparse.bcoo import BCOO
from typing import Any

__all__: list[str]

def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = ...,
    indices_dtype: Any = None,
    nse: int | float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = ...,
    **kwds: Any,
) -> BCOO:
    """A sparse array of random values at random places."""
