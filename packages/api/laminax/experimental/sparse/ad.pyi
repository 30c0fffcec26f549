# Written by tools/stubs.py.
"""Derivatives with respect to the values of sparse arrays. A table of contents: names load on first use."""

from typing import Any
from laminax.experimental.sparse import grad as grad
from laminax.experimental.sparse import jacfwd as jacfwd
from laminax.experimental.sparse import jacobian as jacobian
from laminax.experimental.sparse import jacrev as jacrev
from laminax.experimental.sparse import value_and_grad as value_and_grad

__all__: list[str]

def is_sparse(x: Any) -> bool:
    """Whether x is an array in a sparse format."""
