"""Element types: what there is beside NumPy's, how types combine, and what a value's type becomes."""

from __future__ import annotations

from laminax_ir.dtypes import (
    bfloat16, canonicalize_dtype, extended, finfo, float0, iinfo, issubdtype, prng_key, result_type, scalar_type_of,
)

__all__ = [
    "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "issubdtype", "prng_key", "result_type",
    "scalar_type_of",
]
