"""Sparse arrays as batches of compressed rows. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.sparse.bcsr": """
        BCSR bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general bcsr_eliminate_zeros bcsr_extract bcsr_fromdense
        bcsr_sum_duplicates bcsr_todense""",
})
