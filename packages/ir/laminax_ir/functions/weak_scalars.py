"""Python numbers that have a shape: weakly typed NumPy scalars.

A Python float is a scalar of weak type, and rules ask their operands for shape and dtype, which it does not have. While
a program is staged, such a number becomes a NumPy scalar of a class of its own, so that it is still a literal of the
program and still weak; otherwise it becomes an array. Compiled functions must not meet these classes: their caches take
them for the strongly typed NumPy scalars that they derive from.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.recording.staging_trace import StagingTrace, literal_types
from laminax_ir.tracing.trace import state
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, register_value_type


class WeakFloat32(np.float32):
    """A Python float as a float32."""

    weak_type = True


class WeakFloat64(np.float64):
    """A Python float as a float64."""

    weak_type = True


class WeakComplex64(np.complex64):
    """A Python complex as a complex64."""

    weak_type = True


class WeakComplex128(np.complex128):
    """A Python complex as a complex128."""

    weak_type = True


_classes: dict[Any, type] = {np.dtype(cls.__base__): cls for cls in (WeakFloat32, WeakFloat64, WeakComplex64, WeakComplex128)}


def _aval(dtype: Any, _value: Any) -> ShapedArray:
    return ShapedArray((), dtype, True)


def _register() -> None:
    for dtype, cls in _classes.items():
        register_value_type(cls, functools.partial(_aval, dtype))
        literal_types.add(cls)


_register()


def weak_scalar(value: float | complex, dtype: Any) -> Any:
    """A number as a weakly typed value with a shape: a literal while a program is staged, an array otherwise.

    Args:
      value: the number.
      dtype: the dtype that it has, float or complex.
    """
    dtype = np.dtype(dtype)
    if _is_staging():
        return _classes.get(dtype, dtype.type)(value)
    return convert_element_type_p.bind(dtype.type(value), new_dtype=dtype, weak_type=True)


def _is_staging() -> bool:
    """Whether operations end up in a program: a staging trace is current, or encloses the transformations at work."""
    trace = state.trace
    while not isinstance(trace, StagingTrace) and (parent := getattr(trace, "parent", None)) is not None:
        trace = parent
    return isinstance(trace, StagingTrace)


def shaped(x: Any) -> Any:
    """A Python float or complex as a weakly typed value with a shape; anything else as it is."""
    return weak_scalar(x, dtypes.scalar_dtype(type(x))) if type(x) in (float, complex) else x
