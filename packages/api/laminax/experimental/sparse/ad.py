"""Derivatives with respect to the values of sparse arrays. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.sparse.base": "is_sparse",
    "numerics.sparse.derivatives": "grad jacfwd jacobian jacrev value_and_grad",
})
