"""Names that libraries import from here; they are defined in `laminax.dtypes` and `laminax_ir.types.dtypes`."""

import numpy as np

from laminax_ir.types.dtypes import ExtendedDType, TypePromotionError, to_complex_dtype, to_floating_dtype, to_inexact_dtype

from laminax.dtypes import *  # noqa: F403

DType = np.dtype

__all__ = ["DType", "ExtendedDType", "TypePromotionError", "to_complex_dtype", "to_floating_dtype", "to_inexact_dtype"]
