"""Linear algebra, as in `numpy.linalg`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.numpy.linalg.determinants": "det slogdet",
    "numerics.numpy.linalg.equations": "inv lstsq pinv solve tensorinv tensorsolve",
    "numerics.numpy.linalg.factorizations": "cholesky eig eigh eigvals eigvalsh qr svd svdvals",
    "numerics.numpy.linalg.norms": "cond matrix_norm matrix_rank norm vector_norm",
    "numerics.numpy.linalg.products": "cross diagonal matmul matrix_power matrix_transpose multi_dot outer tensordot trace vecdot",
})
