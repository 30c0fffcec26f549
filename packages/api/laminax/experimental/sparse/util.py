"""Errors, warnings and types of sparse arrays. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.sparse.base": "CuSparseEfficiencyWarning SparseEfficiencyError SparseEfficiencyWarning SparseInfo",
})
