# Written by tools/stubs.py.
"""Element types: those besides NumPy's, how types combine, and what a value's type becomes."""

from laminax.typing import DTypeLike
from numpy.dtypes import VoidDType
from typing import Any
from laminax_ir.types.extended_dtypes import extended as extended
from laminax_ir.types.extended_dtypes import prng_key as prng_key
from laminax_ir.types.promotion import TypePromotionError as TypePromotionError
from ml_dtypes import bfloat16 as bfloat16

__all__: list[str]

def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays of this dtype get: 32-bit for 64-bit, unless `enable_x64` holds."""
def finfo(dtype: DTypeLike) -> Any:
    """The limits of a floating-point type; of a complex type, those of its parts; of an array or a number, those of its dtype."""
float0: VoidDType
def iinfo(int_type: DTypeLike) -> Any:
    """The limits of an integer type, or of that of an array or a number: `bits`, `min` and `max`."""
def issubdtype(a: Any, b: Any) -> bool:
    """Whether the dtype or scalar type a lies at or below b in the hierarchy of scalar types."""
def itemsize_bits(dtype: Any) -> int:
    """The bits of one element that carry information, by the name that users know; see `bit_width`."""
def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype of an operation on these operands."""
def scalar_type_of(x: Any) -> type[Any]:
    """The Python scalar type (bool, int, float or complex) of the same kind as x's dtype."""
