# Written by tools/stubs.py.
"""Functions of arrays as functions of sparse arrays. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax._src.numerics.sparse.environments import SparsifyEnv as _SparsifyEnv
from typing import Any
from laminax._src.numerics.sparse.environments import SparsifyEnv as SparsifyEnv
from laminax._src.numerics.sparse.environments import SparsifyValue as SparsifyValue
from laminax._src.numerics.sparse.transform import SparseTracer as SparseTracer

__all__: list[str]

def arrays_to_spvalues(spenv: _SparsifyEnv, args: Any) -> Any:
    """A pytree of arrays, sparse or not, as one of values, each with buffers of its own."""
def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Makes a function that takes sparse arrays of one that is written for arrays."""
def sparsify_raw(f: Callable[..., Any]) -> Callable[..., Any]:
    """As `sparsify`, of values that refer to the buffers of an environment."""
def spvalues_to_arrays(spenv: _SparsifyEnv, spvalues: Any) -> Any:
    """A pytree of values as one of arrays, sparse or not."""
def todense(arr: Any) -> Any:
    """The array with all its elements; in a function for `sparsify`, whether its argument is sparse or not."""
