"""The scalar types: `float32` and its like, which are dtypes wherever one is asked for, and make arrays when called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from laminax_ir.types import dtypes

from laminax._src.numerics.numpy.conversion import array

if TYPE_CHECKING:
    from laminax_ir.types.annotations import DTypeLike


class ScalarType(type):
    """The type of `float32` and its like; each has its NumPy dtype as the attribute `dtype`."""

    dtype: np.dtype

    def __call__(cls, x: Any) -> Any:
        return array(x, dtype=cls.dtype)

    def __eq__(cls, other: Any) -> bool:
        return cls is other or cls.dtype.type == other

    def __ne__(cls, other: Any) -> bool:
        return not cls == other

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.dtype.type)


def _scalar_type(name: str, dtype: np.dtype) -> ScalarType:
    made = ScalarType(name, (), {"dtype": dtype, "__doc__": f"The dtype {name}; called on a value, an array of it."})
    made.__module__ = "laminax.numpy"
    return made


# The names NumPy and the array API give besides the dtypes' own.
_aliases = {"bool_": "bool", "int_": "int64", "uint": "uint64", "float_": "float64", "complex_": "complex128", "single": "float32",
            "double": "float64", "csingle": "complex64", "cdouble": "complex128"}
scalar_types: dict[str, ScalarType] = {d.name: _scalar_type(d.name, d) for d in dtypes.supported_dtypes if d != dtypes.float0}
scalar_types.update({alias: scalar_types[name] for alias, name in _aliases.items()})
globals().update(scalar_types)

generic, number, inexact, flexible, character = np.generic, np.number, np.inexact, np.flexible, np.character
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
floating, complexfloating, object_ = np.floating, np.complexfloating, np.object_
dtype = np.dtype
finfo, iinfo = dtypes.finfo, dtypes.iinfo


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Whether a dtype lies at or below another, or an abstract type such as `floating`, in the hierarchy of types.

    Args:
      arg1: a dtype, or an abstract type.
      arg2: a dtype, or an abstract type.

    Example:
      >>> jnp.issubdtype(jnp.float32, jnp.floating)
      True
    """
    return dtypes.issubdtype(_plain(arg1), _plain(arg2))


def _plain(x: Any) -> Any:
    return x.dtype.type if isinstance(x, ScalarType) else x


def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype:
    """The dtype that two dtypes promote to.

    Args:
      a: a dtype.
      b: a dtype.

    Raises:
      ValueError: if there is none.

    Example:
      >>> jnp.promote_types("int32", "float16")
      dtype('float16')
    """
    return dtypes.promote_types(_plain(a), _plain(b))


def result_type(*args: Any) -> np.dtype:
    """The dtype of an operation on arrays, scalars and dtypes; None is the default float, as it is for NumPy.

    Raises:
      ValueError: if there is no argument, or no common dtype.

    Example:
      >>> jnp.result_type(jnp.ones(2, "bfloat16"), 1.0)
      dtype(bfloat16)
    """
    return dtypes.result_type(*map(_plain, args))


def can_cast(from_: DTypeLike, to: DTypeLike, casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "safe") -> bool:
    """Whether NumPy's casting rules allow a conversion between dtypes; parameters as for `numpy.can_cast`.

    Example:
      >>> jnp.can_cast("int32", "float64")
      True
    """
    def as_dtype(x: Any) -> Any:
        own = getattr(x, "dtype", None)
        return own if own is not None else x
    return np.can_cast(np.dtype(as_dtype(from_)), np.dtype(as_dtype(to)), casting=casting)


_KINDS = {
    "bool": (np.bool_,), "signed integer": (np.signedinteger,), "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,), "real floating": (np.floating,), "complex floating": (np.complexfloating,),
    "numeric": (np.integer, np.floating, np.complexfloating)}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind of the array API standard.

    Args:
      dtype: the dtype.
      kind: "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" or "numeric", a
        dtype, or a tuple of these, of which one must hold.

    Raises:
      ValueError: for an unknown kind.

    Example:
      >>> jnp.isdtype(jnp.float32, "real floating")
      True
    """
    found = dtypes.supported_dtype(dtype)
    for one in kind if isinstance(kind, tuple) else (kind,):
        if isinstance(one, str) and one in _KINDS:
            if any(dtypes.issubdtype(found, abstract) for abstract in _KINDS[one]):
                return True
        else:
            try:
                other = dtypes.supported_dtype(one)
            except TypeError:
                raise ValueError(f"isdtype: unrecognized kind {one!r}; expected one of {', '.join(map(repr, _KINDS))}, or a dtype") \
                    from None
            if other == found:
                return True
    return False
