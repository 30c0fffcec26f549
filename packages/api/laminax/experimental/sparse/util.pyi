# Written by tools/stubs.py.
"""Errors, warnings and types of sparse arrays. A table of contents: names load on first use."""

from laminax._src.numerics.sparse.base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from laminax._src.numerics.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from laminax._src.numerics.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from laminax._src.numerics.sparse.base import SparseInfo as SparseInfo

__all__: list[str]

