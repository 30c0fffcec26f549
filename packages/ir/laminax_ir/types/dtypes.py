"""The vocabulary of element types: scalar types, their hierarchy, limits and short names.

`from laminax_ir import dtypes` gives the whole subject: which dtypes there are and what a value has
(`canonical_dtypes`), how they combine (`promotion`), and the ones NumPy does not know (`extended_dtypes`) are found
here under their own names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from laminax_ir.options import config
from laminax_ir.types.canonical_dtypes import (
    bool_dtype,
    canonicalize_dtype,
    check_user_dtype_supported,
    coerce_to_array,
    complex_dtypes,
    dtype,
    float_dtypes,
    is_kept_wide,
    is_python_scalar,
    is_weakly_typed,
    narrow_float_dtypes,
    python_scalar_types,
    requested_dtype,
    scalar_dtype,
    scalar_type_of,
    signed_dtypes,
    supported_dtype,
    supported_dtypes,
    unsigned_dtypes,
)
from laminax_ir.types.extended_dtypes import (
    ExtendedDType,
    KeyDType,
    PrimalTangentDType,
    PRNGImpl,
    extended,
    float0,
    is_extended,
    key_dtype,
    prng_impls,
    prng_key,
    tangent_dtype_of,
)
from laminax_ir.types.promotion import TypePromotionError, promote_pair, promote_types, result_type

if TYPE_CHECKING:
    from laminax_ir.types.annotations import DTypeLike

# Names from the modules above that other modules find here.
__all__ = [
    "ExtendedDType",
    "KeyDType",
    "PRNGImpl",
    "PrimalTangentDType",
    "TypePromotionError",
    "bool_dtype",
    "canonicalize_dtype",
    "check_user_dtype_supported",
    "coerce_to_array",
    "complex_dtypes",
    "dtype",
    "extended",
    "float0",
    "float_dtypes",
    "is_extended",
    "is_kept_wide",
    "is_python_scalar",
    "is_weakly_typed",
    "key_dtype",
    "narrow_float_dtypes",
    "prng_impls",
    "prng_key",
    "promote_pair",
    "promote_types",
    "python_scalar_types",
    "requested_dtype",
    "result_type",
    "scalar_dtype",
    "scalar_type_of",
    "signed_dtypes",
    "supported_dtype",
    "supported_dtypes",
    "tangent_dtype_of",
    "unsigned_dtypes",
]

# --- scalar types ---

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64
complex64, complex128 = np.complex64, np.complex128
bfloat16 = ml_dtypes.bfloat16
# The rest of ml_dtypes' types, as far as the installed version has them: int4, float8_e4m3fn, ...
globals().update({d.name: d.type for d in supported_dtypes if d.type.__module__ == "ml_dtypes"})

# The abstract ones, for issubdtype; `extended` and `prng_key` belong to them.
generic, number, inexact = np.generic, np.number, np.inexact
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
floating, complexfloating = np.floating, np.complexfloating

# NumPy's hierarchy does not know ml_dtypes' types: each of them, with the abstract type it belongs under.
_parents: dict[type, type] = {
    d.type: parent
    for members, parent in (
        (signed_dtypes, signedinteger),
        (unsigned_dtypes, unsignedinteger),
        (float_dtypes, floating),
    )
    for d in members
    if not issubclass(d.type, parent)
}
_is_subdtype: dict[tuple[Any, Any], bool] = {}


def issubdtype(a: Any, b: Any) -> bool:
    """Whether the dtype or scalar type a lies at or below b in the hierarchy of scalar types.

    As NumPy's function of this name, with bfloat16 and the other floats of ml_dtypes under `floating`, its integers
    under `integer`, and the extended dtypes under `extended`.

    Args:
        a: a dtype, ordinary or extended, a scalar type, a Python scalar type or a name.
        b: the same; usually an abstract type such as `floating`.

    Raises:
        TypeError: one of them is none of these.

    Example:
        >>> issubdtype("bfloat16", floating)
        True
    """
    try:
        return _is_subdtype[a, b]
    except (KeyError, TypeError):  # TypeError: unhashable, and refused below
        pass
    answer = _compute_issubdtype(a, b)
    if not isinstance(a, str) and not isinstance(b, str):
        _is_subdtype[a, b] = answer
    return answer


def _compute_issubdtype(a: np.dtype, b: type) -> bool:
    if isinstance(b, ExtendedDType):
        return a == b
    below, above = _scalar_type(a), _scalar_type(b)
    return issubclass(below, above) or issubclass(_parents.get(below, below), above)


def _scalar_type(x: np.dtype | type) -> type:
    if isinstance(x, type) and issubclass(x, np.generic):
        return x
    if isinstance(x, ExtendedDType):
        return x.type
    own = getattr(x, "dtype", None)  # a scalar-type object of the api
    return (own if isinstance(own, np.dtype) else np.dtype(x)).type


# --- limits ---


def finfo(dtype: DTypeLike) -> Any:
    """The limits of a floating-point type; of a complex type, those of its parts; of an array or a number, those of its dtype.

    Returns:
        An object with `bits`, `eps`, `max`, `min`, `tiny`, `smallest_normal` and the rest of NumPy's `finfo`.

    Raises:
        ValueError: the dtype is no inexact one.

    Example:
        >>> float(finfo("bfloat16").eps)
        0.0078125
    """
    dtype = _own_dtype(dtype)
    if not issubdtype(dtype, inexact):
        raise ValueError(f"finfo: {dtype_name(dtype)} is not a floating-point or complex dtype.")
    return ml_dtypes.finfo(supported_dtype(dtype))


def iinfo(int_type: DTypeLike) -> Any:
    """The limits of an integer type, or of that of an array or a number: `bits`, `min` and `max`.

    Raises:
        ValueError: the dtype is no integer one.

    Example:
        >>> iinfo("int4").max
        7
    """
    dtype = _own_dtype(int_type)
    if not issubdtype(dtype, integer):
        raise ValueError(f"iinfo: {dtype_name(dtype)} is not an integer dtype.")
    return ml_dtypes.iinfo(supported_dtype(dtype))


def _own_dtype(x: np.dtype) -> Any:
    """The dtype of an array, the type of a Python scalar, or a dtype as it is."""
    if type(x) in python_scalar_types:
        return type(x)
    own = getattr(x, "dtype", None)
    return own if isinstance(own, np.dtype) else x


def bit_width(dtype: Any) -> int:
    """The bits of one element that carry information: 4 for int4, though NumPy stores it in a byte."""
    if isinstance(dtype, ExtendedDType):
        return 8 * dtype.itemsize
    dtype = supported_dtype(dtype)
    if dtype in signed_dtypes or dtype in unsigned_dtypes:
        return ml_dtypes.iinfo(dtype).bits
    if dtype in narrow_float_dtypes:
        return ml_dtypes.finfo(dtype).bits
    return 8 * dtype.itemsize


def itemsize_bits(dtype: Any) -> int:
    """The bits of one element that carry information, by the name that users know; see `bit_width`.

    Raises:
        ValueError: dtype is None, which names no dtype here, though to NumPy it means float64.
    """
    if dtype is None:
        raise ValueError("itemsize_bits: dtype cannot be None. Pass a dtype such as 'float32'.")
    return bit_width(dtype)


# --- related dtypes ---


def to_inexact_dtype(dtype: Any) -> np.dtype:
    """The dtype in which a function like `sin` computes on this one: itself if inexact, else a float of fit size."""
    dtype = _as_it_is(dtype)
    return dtype if issubdtype(dtype, inexact) else _float_of_size(dtype)


def to_floating_dtype(dtype: Any) -> np.dtype:
    """The real counterpart: itself if real floating point, of a complex one its part's, else a float of fit size."""
    dtype = _as_it_is(dtype)
    if dtype in complex_dtypes:
        return dtype.type(0).real.dtype
    return to_inexact_dtype(dtype)


def to_complex_dtype(dtype: Any) -> np.dtype:
    """The complex counterpart: itself if complex, else complex128 for 64-bit dtypes and complex64 for smaller ones."""
    dtype = _as_it_is(dtype)
    if dtype in complex_dtypes:
        return dtype
    return np.dtype(complex128 if dtype.itemsize == 8 else complex64)


def _as_it_is(dtype: Any) -> np.dtype:
    """The canonical form of a dtype; where 64-bit types may be asked for, an array's own dtype stays as it is."""
    if config.explicit_x64_dtypes.value != "warn" and isinstance(dtype, np.dtype) and dtype in supported_dtypes:
        return dtype
    return canonicalize_dtype(dtype)


def _float_of_size(dtype: np.dtype) -> np.dtype:
    return np.dtype(float64 if dtype.itemsize == 8 else float32)


# --- names ---


def dtype_name(dtype: Any) -> str:
    """The full name, as errors print it: `float32`, `bfloat16`, `float0`, `key<fry>`."""
    if isinstance(dtype, ExtendedDType):
        return dtype.name
    dtype = np.dtype(dtype)
    return "float0" if dtype == float0 else dtype.name


_short_names: dict[Any, str] = {float0: "float0", bool_dtype: "bool"}
_abbreviations = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


def short_name(dtype: Any) -> str:
    """The name that programs print: `f32`, `bf16`, `u8`, `c64`, `f8_e4m3fn`, `key<fry>`.

    Example:
        >>> short_name(np.dtype("float32"))
        'f32'
    """
    try:
        return _short_names[dtype]
    except (KeyError, TypeError):
        pass
    if isinstance(dtype, ExtendedDType):
        return dtype.name
    dtype = np.dtype(dtype)
    if dtype not in _short_names:
        word = dtype.name.rstrip("0123456789") if "_" not in dtype.name else "float"
        _short_names[dtype] = _abbreviations.get(word, word) + dtype.name.removeprefix(word)
    return _short_names[dtype]


# --- dtypes with other tangents ---


def primal_tangent_dtype(primal_dtype: DTypeLike, tangent_dtype: DTypeLike, name: str | None = None) -> PrimalTangentDType:
    """A dtype of numbers whose tangents and cotangents have another dtype: integers, say, that are differentiated.

    Arrays of it are made of arrays of `primal_dtype` with `astype` or `lax.convert_element_type`, and converted back to compute with
    them; no other operation on numbers takes them. What the derivative of such a computation is, a `custom_vjp` or `custom_gradient` says.

    Args:
        primal_dtype: the dtype of the numbers.
        tangent_dtype: that of tangents and cotangents.
        name: the name that the dtype is printed with; one that is made of both by default.

    Example:
        >>> primal_tangent_dtype("int8", "bfloat16")
        PrimalTangentDType{i8/bf16}
    """
    primal, tangent = requested_dtype(primal_dtype), requested_dtype(tangent_dtype, True)
    return PrimalTangentDType(primal, tangent, name or f"PrimalTangentDType{{{short_name(primal)}/{short_name(tangent)}}}")
