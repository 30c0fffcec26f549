"""Sparse arrays. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.sparse.base": "CuSparseEfficiencyWarning JAXSparse SparseEfficiencyError SparseEfficiencyWarning",
    "numerics.sparse.bcoo": "BCOO bcoo_extract bcoo_fromdense bcoo_todense",
    "numerics.sparse.ordering": "bcoo_eliminate_zeros bcoo_sort_indices bcoo_sum_duplicates",
    "numerics.sparse.layout": """
        bcoo_broadcast_in_dim bcoo_concatenate bcoo_reshape bcoo_rev bcoo_squeeze bcoo_transpose bcoo_update_layout""",
    "numerics.sparse.slicing": "bcoo_dynamic_slice bcoo_gather bcoo_slice",
    "numerics.sparse.arithmetic": "bcoo_multiply_dense bcoo_multiply_sparse bcoo_reduce_sum",
    "numerics.sparse.products": "bcoo_conv_general_dilated bcoo_dot_general bcoo_dot_general_sampled",
    "numerics.sparse.bcsr": """
        BCSR bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general bcsr_extract bcsr_fromdense bcsr_sum_duplicates bcsr_todense""",
    "numerics.sparse.coo": "COO coo_fromdense coo_matmat coo_matvec coo_todense",
    "numerics.sparse.csr": "CSC CSR csr_fromdense csr_matmat csr_matvec csr_todense",
    "numerics.sparse.creation": "empty eye random_bcoo",
    "numerics.sparse.transform": "SparseTracer sparsify todense",
    "numerics.sparse.derivatives": "grad jacfwd jacobian jacrev value_and_grad",
}, submodules=("ad", "api", "bcoo", "bcsr", "coo", "csr", "linalg", "random", "transform", "util"))
