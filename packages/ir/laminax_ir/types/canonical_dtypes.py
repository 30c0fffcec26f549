"""Which dtypes there are, and which one a value has.

Every dtype of a program is canonical: one of the supported ones, in native byte order and, unless `enable_x64` holds,
with its 64-bit types replaced by their 32-bit counterparts. A Python scalar has the default dtype of its type, weakly:
it yields to the dtype of what it meets (see `promotion`).
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

import ml_dtypes
import numpy as np

from laminax_ir.options import config
from laminax_ir.types.arguments import called_with
from laminax_ir.types.extended_dtypes import ExtendedDType, float0
from laminax_ir.types.warning_counts import count_warning


def _installed(*names: str) -> tuple[np.dtype, ...]:
    """The dtypes of these names that the installed ml_dtypes has; older versions lack the newest ones."""
    return tuple(np.dtype(getattr(ml_dtypes, name)) for name in names if hasattr(ml_dtypes, name))


def _dtypes(*names: str) -> tuple[np.dtype, ...]:
    return tuple(map(np.dtype, names))


bool_dtype = np.dtype(np.bool_)
signed_dtypes = _installed("int1", "int2", "int4") + _dtypes("int8", "int16", "int32", "int64")
unsigned_dtypes = _installed("uint1", "uint2", "uint4") + _dtypes("uint8", "uint16", "uint32", "uint64")
narrow_float_dtypes = _installed(
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
)
float_dtypes = narrow_float_dtypes + _installed("bfloat16") + _dtypes("float16", "float32", "float64")
complex_dtypes = _dtypes("complex64", "complex128")

# Everything that an array's elements can be, but for the extended dtypes.
supported_dtypes = frozenset((bool_dtype, float0, *signed_dtypes, *unsigned_dtypes, *float_dtypes, *complex_dtypes))


# --- canonical dtypes ---

_narrowed: dict[np.dtype, np.dtype] = {
    np.dtype(wide): np.dtype(narrow)
    for wide, narrow in (
        ("int64", "int32"),
        ("uint64", "uint32"),
        ("float64", "float32"),
        ("complex128", "complex64"),
    )
}
# The results of canonicalize_dtype, by its argument. NumPy's dtypes and scalar types are few; strings are not kept, since a program may
# make any number of them.
_canonical_with_x64: dict[Any, np.dtype] = {}
_canonical_without_x64: dict[Any, np.dtype] = {}


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays of this dtype get: 32-bit for 64-bit, unless `enable_x64` holds.

    Args:
        dtype: a NumPy dtype or what `np.dtype` accepts: a scalar type, a Python scalar type, a name.
        allow_extended_dtype: whether an extended dtype is returned as it is, instead of refused.

    Raises:
        TypeError: this is no dtype, or one that arrays cannot have.
        ValueError: it is an extended dtype, and these are not allowed here.
    """
    memo = _canonical_with_x64 if config.enable_x64.value else _canonical_without_x64
    try:
        return memo[dtype]
    except (KeyError, TypeError):  # TypeError: unhashable, and refused below
        pass
    if isinstance(dtype, ExtendedDType):
        if allow_extended_dtype:
            return dtype
        raise ValueError(f"canonicalize_dtype: {dtype} is an extended dtype, and only ordinary ones are allowed here.")
    canonical = supported_dtype(dtype)
    if memo is _canonical_without_x64:
        canonical = _narrowed.get(canonical, canonical)
    if isinstance(dtype, (np.dtype, type)):
        memo[dtype] = canonical
    return canonical


def requested_dtype(dtype: Any, allow_extended_dtype: bool = False, fun_name: str | None = None) -> Any:
    """The dtype that arrays get for which this one is asked: canonical, unless `explicit_x64_dtypes` says that 64-bit ones may stay.

    Args:
        dtype: as for `canonicalize_dtype`.
        allow_extended_dtype: whether an extended dtype is returned as it is, instead of refused.
        fun_name: the function the user called, for the message.

    Raises:
        TypeError: this is no dtype, or one that arrays cannot have.
        ValueError: it is an extended dtype, and these are not allowed here; or it has 64 bits, neither `enable_x64` holds nor
            `explicit_x64_dtypes` allows it, and the latter says that this is an error.
    """
    mode = config.explicit_x64_dtypes.value
    if mode == "warn" or config.enable_x64.value or isinstance(dtype, ExtendedDType) or _is_python_scalar_type(dtype):
        return canonicalize_dtype(dtype, allow_extended_dtype)
    requested = supported_dtype(dtype)
    if mode == "error" and requested in _narrowed:
        raise ValueError(_narrowing_message(requested, fun_name, "is not available"))
    return requested


def _narrowing_message(requested: np.dtype, fun_name: str | None, outcome: str) -> str:
    where = f" requested in {fun_name}" if fun_name else ""
    return (f"Explicitly requested dtype {requested.name}{where} {outcome}. To enable more dtypes, set the "
            "laminax_enable_x64 configuration option or the LAMINAX_ENABLE_X64 environment variable.")


def is_kept_wide(dtype: Any) -> bool:
    """Whether values of this dtype have 64 bits though `enable_x64` does not hold: NumPy's scalars of it would lose half of them."""
    return dtype in _narrowed and not config.enable_x64.value


def supported_dtype(dtype: Any) -> np.dtype:
    """`np.dtype(dtype)` in native byte order, with its 64-bit types left alone.

    Raises:
        TypeError: this is no dtype, or one that arrays cannot have.
    """
    own = getattr(dtype, "dtype", None)  # a scalar-type object of the api, such as `laminax.numpy.float32`
    try:
        found = own if isinstance(own, np.dtype) and not isinstance(dtype, (np.ndarray, np.generic)) else np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{called_with(dtype)}data type {dtype!r} not understood. Name one, such as 'float32' or numpy.int8.") from None
    if found not in supported_dtypes:
        if found.byteorder in "<>":  # others have no order, and strings of variable length no method to change it
            found = found.newbyteorder("=")
        if found not in supported_dtypes:
            raise TypeError(f"{called_with(dtype)}Arrays cannot have the dtype {found}. They hold booleans, numbers or random keys.")
    return found


def check_user_dtype_supported(dtype: Any, fun_name: str | None = None) -> Any:
    """The canonical form of a dtype that the user asked for, with a warning where that is narrower.

    Args:
        dtype: what the user wrote. `int`, `float` and `complex` ask for the default dtypes and never warn.
        fun_name: the function the user called, for the messages.

    Raises:
        TypeError: this is no dtype, or one that arrays cannot have.
        ValueError: the dtype has 64 bits, and `explicit_x64_dtypes` is "error".

    Warns:
        UserWarning: the dtype has 64 bits and `enable_x64` does not hold.
    """
    try:
        canonical = requested_dtype(dtype, True, fun_name)
    except TypeError as error:
        raise TypeError(f"{fun_name}: {error}" if fun_name else str(error)) from None
    if config.enable_x64.value or isinstance(dtype, ExtendedDType) or _is_python_scalar_type(dtype):
        return canonical
    requested = supported_dtype(dtype)
    if requested != canonical:
        count_warning()
        outcome = f"is not available, and will be truncated to dtype {canonical.name}"
        warnings.warn(_narrowing_message(requested, fun_name, outcome), UserWarning, stacklevel=_stacklevel_of_user())
    return canonical


_OWN_PACKAGES = frozenset(("laminax", "laminax_ir", "laminax_transforms", "laminax_lowering", "laminax_runtime"))


def _stacklevel_of_user() -> int:
    """The `stacklevel`, for a warning raised by this function's caller, of the nearest frame outside laminax."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OWN_PACKAGES:
        level, frame = level + 1, frame.f_back
    return level


# --- Python scalars ---

# Each Python scalar type with its dtype where 64-bit types are kept; `scalar_dtype` gives the one that holds.
python_scalar_types: dict[type, np.dtype] = {
    bool: bool_dtype,
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}
_narrow_scalar_types = {kind: _narrowed.get(dtype, dtype) for kind, dtype in python_scalar_types.items()}


def scalar_dtype(kind: type) -> np.dtype:
    """The default dtype of a Python scalar type (bool, int, float or complex)."""
    return (python_scalar_types if config.enable_x64.value else _narrow_scalar_types)[kind]


def is_python_scalar(x: Any) -> bool:
    """Whether x is a Python bool, int, float or complex; NumPy's float64 is not, though Python calls it a float."""
    return type(x) in python_scalar_types or _scalar_base(x) is not None


def _scalar_base(x: Any) -> type | None:
    """The Python scalar type that x is an instance of, subclasses (an IntEnum) included."""
    if isinstance(x, (bool, int, float, complex)) and not isinstance(x, np.generic):
        return next(kind for kind in python_scalar_types if isinstance(x, kind))
    return None


def _is_python_scalar_type(x: Any) -> bool:
    return isinstance(x, type) and x in python_scalar_types


def scalar_type_of(x: Any) -> type:
    """The Python scalar type (bool, int, float or complex) of the same kind as x's dtype.

    Raises:
        TypeError: x has no dtype, or one of no such kind (a random key).
    """
    found = dtype(x)
    for kind, members in (
        (bool, (bool_dtype,)),
        (int, signed_dtypes + unsigned_dtypes),
        (float, float_dtypes),
        (complex, complex_dtypes),
    ):
        if found in members:
            return kind
    raise TypeError(f"scalar_type_of: no Python scalar type corresponds to the dtype {found}.")


def coerce_to_array(x: Any, dtype: Any = None) -> np.ndarray:
    """x, a scalar or array-like, as a NumPy array of a canonical dtype.

    Args:
        x: a Python scalar, a NumPy array or scalar, or nested sequences of them.
        dtype: the dtype of the result; by default the one `dtype(x)` gives.

    Raises:
        OverflowError: x is a Python int that the dtype, of 8 bits or more, cannot hold.
        TypeError: the result would have a dtype that arrays cannot have.
    """
    kind = type(x) if type(x) in python_scalar_types else _scalar_base(x)
    target = None if dtype is None else requested_dtype(dtype)
    if kind is None:
        array = np.asarray(x)
        return np.asarray(array, canonicalize_dtype(array.dtype) if target is None else target)
    target = scalar_dtype(kind) if target is None else target
    if kind is int and (target in signed_dtypes or target in unsigned_dtypes):
        _check_fits(x, target)
    return np.asarray(x, target)


def _check_fits(x: int, target: np.dtype) -> None:
    limits = ml_dtypes.iinfo(target)
    if limits.bits < 8:  # these wrap around, as in ml_dtypes, JAX, and all that converts arrays of them
        return
    if limits.min <= x <= limits.max:
        return
    advice = "Use a float, or a dtype that holds it."
    if target in _narrowed.values() and not config.enable_x64.value:
        advice = "Use a float, or enable 64-bit types with laminax.config.update('laminax_enable_x64', True)."
    raise OverflowError(
        f"Python int {x} too large to convert to {target.name}, which holds {limits.min} to {limits.max}. {advice}"
    )


# --- the dtype of a value ---


def dtype(x: Any) -> Any:
    """The canonical dtype of x: a value with a dtype, a Python scalar, or a dtype itself.

    The dtype of an array that laminax made, and of its aval, is returned as it is: with `enable_x64` it may have been
    made under another setting than the current one.

    Raises:
        TypeError: x has no dtype (a list, say), or one that arrays cannot have.
    """
    kind = type(x)
    if kind in python_scalar_types:
        return scalar_dtype(kind)
    if isinstance(x, (np.ndarray, np.generic)):
        return canonicalize_dtype(x.dtype)
    if isinstance(x, (np.dtype, type, str)):
        return requested_dtype(x, fun_name="dtype")
    aval = getattr(x, "aval", x)
    found = aval if isinstance(aval, ExtendedDType) else getattr(aval, "dtype", None)
    if isinstance(found, ExtendedDType) or hasattr(aval, "weak_type"):
        return found
    if found is not None:
        return canonicalize_dtype(found)
    if (base := _scalar_base(x)) is not None:
        return scalar_dtype(base)
    raise TypeError(f"{x!r}, a {kind.__name__}, has no dtype. Convert it to an array first.")


def is_weakly_typed(x: Any) -> bool:
    """Whether x's dtype yields to others in promotion: a Python int, float or complex, or an array made from one."""
    kind = type(x)
    if kind in python_scalar_types:
        return kind is not bool
    if isinstance(x, (np.ndarray, np.generic, type)):
        return getattr(kind, "weak_type", False)  # True for those of `weak_scalars`
    described = getattr(x, "aval", x)
    if (weak_type := getattr(described, "weak_type", None)) is not None:
        return weak_type and not getattr(described, "counts_by_dtype", False)
    return _scalar_base(x) not in (None, bool)
