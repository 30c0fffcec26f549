"""Linear equations and eigenvectors of sparse matrices. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.sparse.solving": "spsolve",
    "numerics.sparse.eigenvectors": "lobpcg_standard",
})
