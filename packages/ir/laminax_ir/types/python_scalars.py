"""Which arrays Python may take for a truth value, a number or an index: refusals in NumPy's words, of values and of tracers alike."""

from __future__ import annotations

from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray


def check_has_truth_value(aval: ShapedArray) -> None:
    """Refuses, in NumPy's words, to take one truth value of an array that has many or none."""
    if aval.size > 1:
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    if aval.size == 0:
        raise ValueError("The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty.")


def check_is_scalar(aval: ShapedArray) -> None:
    """Refuses to make a Python number of an array that has axes."""
    if aval.ndim:
        raise TypeError(f"Only scalar arrays can be converted to Python scalars; got arr.ndim={aval.ndim}, shape {aval.shape}. "
                        "Take an element of it, or reshape it to ().")


def check_is_index(aval: ShapedArray) -> None:
    """Refuses to take an array that has axes, or is not of an integer dtype, for a Python index."""
    if aval.ndim or not dtypes.issubdtype(aval.dtype, dtypes.integer):
        raise TypeError(f"Only integer scalar arrays can be converted to a scalar index. Got {aval.str_short()}.")
