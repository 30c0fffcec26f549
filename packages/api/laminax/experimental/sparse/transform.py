"""Functions of arrays as functions of sparse arrays. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.sparse.environments": "SparsifyEnv SparsifyValue arrays_to_spvalues sparsify_raw spvalues_to_arrays",
    "numerics.sparse.transform": "SparseTracer sparsify todense",
})
