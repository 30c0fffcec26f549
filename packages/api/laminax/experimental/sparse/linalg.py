"""Linear equations and eigenvectors of sparse matrices. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "sparse.solving": "spsolve",
    "sparse.eigenvectors": "lobpcg_standard",
})
