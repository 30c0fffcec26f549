"""The arrays in references: which values may be written, and the operations that read and write parts of the arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Protocol

from laminax_ir.options.composition import compose
from laminax_ir.refs.ref_indexing import Place, part_aval
from laminax_ir.tracing.trace import eval_trace, state
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import HiType

if TYPE_CHECKING:
    import numpy as np


class ArrayOperations(Protocol):
    """The operations on arrays that references use. Their module imports this one; `set_array_operations` registers them."""

    def copied(self, x: Any) -> Any:
        """The array, in memory of its own."""

    def converted(self, x: Any, dtype: Any, weak_type: bool) -> Any:
        """The array with another dtype, or weak type."""

    def without_gradient(self, x: Any) -> Any:
        """The array, as a constant for derivatives."""

    def part(self, x: Any, nested: tuple[Place, ...]) -> Any:
        """The part of the array at these places."""

    def with_part(self, x: Any, nested: tuple[Place, ...], value: Any, adds: bool) -> Any:
        """The array with that part replaced, or added to."""


def _first_operations() -> ArrayOperations:
    compose()  # installs the operations in place of this function
    return _load()


_load: Callable[[], ArrayOperations] = _first_operations


def array_operations() -> ArrayOperations:
    """The operations on arrays.

    Raises:
      RuntimeError: if none have been registered.
    """
    return _load()


def set_array_operations(load: Callable[[], ArrayOperations]) -> None:
    """Registers the function that gives the operations on arrays; it is called whenever they are needed, and may import them."""
    global _load
    _load = load


def own_copy(value: Any, aval: Any) -> Any:
    """A value that is no tracer, in memory of its own; of a value of a user's type, another with copies of its arrays."""
    if not isinstance(aval, HiType):
        return array_operations().copied(value)
    return aval.raise_val(*[own_copy(x, part) for x, part in zip(aval.lower_val(value), aval.lo_ty(), strict=True)])


def checked_value(name: str, aval: ShapedArray, nested: tuple[Place, ...], value: Any) -> Any:
    """The value to write, checked, in the dtype of the reference.

    Args:
      name: the function, for messages.
      aval: the type of the array in the reference.

    Raises:
      ValueError: if the value is not of the part's shape, or not of the reference's dtype. Numbers of Python, and arrays of
        weak type, may be of another type of the same kind.
      TypeError: if it is not an array.
    """
    try:
        given = get_aval(value)
    except TypeError:
        raise TypeError(f"{name}: the value to write must be an array or a scalar, got {value!r:.60} of type "
                        f"{type(value).__name__}") from None
    operation = "addupdate" if name == "ref_addupdate" else "swap"
    if isinstance(aval, HiType):
        if operation == "addupdate":
            raise NotImplementedError(f"{name}: adding to a reference to a value of the type {aval.str_short()} is not supported. Read it, "
                                      "ref[...], add by an operation of the type, and write the sum.")
        if given is not aval:
            raise ValueError(f"Invalid type for `swap`. Ref type: {aval.str_short()}. Value type: {given.str_short()}. {name} writes "
                             "values of the reference's type.")
        return value
    expected = part_aval(aval, nested)
    if given.shape != expected.shape:
        raise ValueError(f"Invalid shape for `{operation}`. Ref shape: {aval.shape}. Expected shape: {expected.shape}. "
                         f"Value shape: {given.shape}. {name} does not broadcast: give a value of the shape of the part that is written.")
    if given.dtype != aval.dtype and not (given.weak_type and _same_kind(given.dtype, aval.dtype)):
        raise ValueError(f"Invalid dtype for `{operation}`. Ref dtype: {aval.dtype}. Value dtype: {given.dtype}. "
                         f"{name} does not convert: use value.astype(ref.dtype).")
    if type(value) in dtypes.python_scalar_types and not aval.weak_type:
        return aval.dtype.type(value)
    return value if given.dtype == aval.dtype else array_operations().converted(value, aval.dtype, aval.weak_type)


def typed_as(aval: ShapedArray, value: Any) -> Any:
    """A value of a reference's dtype as an array to put into the reference: weakly typed if the reference's type is."""
    if isinstance(aval, HiType):
        return value
    if dtypes.is_extended(aval.dtype) or (get_aval(value).weak_type == aval.weak_type
                                          and (state.trace is not eval_trace or hasattr(value, "aval"))):
        return value
    return array_operations().converted(value, aval.dtype, aval.weak_type)


def _same_kind(a: np.dtype, b: np.dtype) -> bool:
    return any(dtypes.issubdtype(a, kind) and dtypes.issubdtype(b, kind)
               for kind in (dtypes.integer, dtypes.floating, dtypes.complexfloating))
