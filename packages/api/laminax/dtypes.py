"""Element types: those besides NumPy's, how types combine, and what a value's type becomes."""

from __future__ import annotations

from laminax_ir.types.dtypes import (
    TypePromotionError,
    bfloat16,
    extended,
    finfo,
    float0,
    iinfo,
    issubdtype,
    prng_key,
    result_type,
    scalar_type_of,
)
from laminax_ir.types.dtypes import bit_width as itemsize_bits

from laminax._src.numerics.host_dtypes import canonicalize_dtype

__all__ = [
    "TypePromotionError", "bfloat16", "canonicalize_dtype", "extended", "finfo", "float0", "iinfo", "issubdtype", "itemsize_bits",
    "prng_key", "result_type", "scalar_type_of",
]
