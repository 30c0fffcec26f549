"""Element types: those besides NumPy's, how types combine, and what a value's type becomes."""

from __future__ import annotations

from laminax_ir.types.dtypes import bit_width as itemsize_bits

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.types.dtypes": """
        TypePromotionError bfloat16 extended finfo float0 iinfo issubdtype prng_key result_type scalar_type_of""",
    "numerics.host_dtypes": "canonicalize_dtype",
})
__all__ += ["itemsize_bits"]
