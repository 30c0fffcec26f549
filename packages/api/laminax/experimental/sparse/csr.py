"""Sparse matrices as compressed rows or columns. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.sparse.csr": "CSC CSR csr_fromdense csr_matmat csr_matvec csr_todense",
})
