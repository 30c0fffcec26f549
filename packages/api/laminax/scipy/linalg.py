"""Linear algebra, as in `scipy.linalg`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.scipy.linalg": """
        cho_factor cho_solve cholesky det eigh eigh_tridiagonal hessenberg inv lu lu_factor lu_solve qr qr_multiply schur solve
        solve_triangular svd""",
    "numerics.scipy.matrix_functions": "expm expm_frechet funm polar rsf2csf solve_sylvester sqrtm",
    "numerics.scipy.special_matrices": """
        block_diag circulant companion convolution_matrix dft fiedler fiedler_companion hadamard hankel helmert hilbert
        invhilbert invpascal leslie pascal toeplitz""",
})
