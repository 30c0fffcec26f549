"""Element types: those besides NumPy's, how types combine, and what a value's type becomes."""

from __future__ import annotations

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.types.dtypes": """
        TypePromotionError bfloat16 extended finfo float0 iinfo issubdtype itemsize_bits prng_key result_type scalar_type_of""",
    "numerics.host_dtypes": "canonicalize_dtype",
})
