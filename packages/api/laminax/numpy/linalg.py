"""Linear algebra, as in `numpy.linalg`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numpy.linalg.determinants": "det slogdet",
    "numpy.linalg.equations": "inv lstsq pinv solve tensorinv tensorsolve",
    "numpy.linalg.factorizations": "cholesky eig eigh eigvals eigvalsh qr svd svdvals",
    "numpy.linalg.norms": "cond matrix_norm matrix_rank norm vector_norm",
    "numpy.linalg.products": "cross diagonal matmul matrix_power matrix_transpose multi_dot outer tensordot trace vecdot",
})
