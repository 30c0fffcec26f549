"""Linear algebra, as in `scipy.linalg`. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.scipy.linalg": """
        cho_factor cho_solve cholesky det inv lu lu_factor lu_solve qr qr_multiply solve solve_triangular""",
    "numerics.scipy.eigenvalues": "eigh eigh_tridiagonal hessenberg schur svd",
    "numerics.scipy.matrix_functions": "expm expm_frechet funm polar rsf2csf solve_sylvester sqrtm",
    "numerics.scipy.special_matrices": "dft hadamard helmert hilbert invhilbert invpascal pascal",
    "numerics.scipy.structured_matrices": """
        block_diag circulant companion convolution_matrix fiedler fiedler_companion hankel leslie toeplitz""",
})
