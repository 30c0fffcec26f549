"""Comparisons and selections that rules write beside their own operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.ssa_values import Value

_BOOL = np.dtype(bool)


def compare_type(dtype: Any) -> str:
    """How StableHLO compares values of a dtype: "FLOAT", "UNSIGNED" or "SIGNED"."""
    if dtypes.issubdtype(dtype, dtypes.inexact):
        return "FLOAT"
    unsigned = dtype == bool or dtypes.issubdtype(dtype, dtypes.unsignedinteger)
    return "UNSIGNED" if unsigned else "SIGNED"


def compare(ctx: FunctionWriter, x: Value, y: Value, direction: str, kind: str | None = None) -> Value:
    """Compares elements.

    Args:
      x, y: of one shape and dtype.
      direction: "EQ", "NE", "LT", "LE", "GT" or "GE".
      kind: "FLOAT", "TOTALORDER", "SIGNED" or "UNSIGNED"; by default what the dtype asks for.

    Returns:
      Booleans of x's shape.
    """
    attributes = {"comparison_direction": f"#stablehlo<comparison_direction {direction}>",
                  "compare_type": f"#stablehlo<comparison_type {kind or compare_type(x.aval.dtype)}>"}
    return ctx.emit("stablehlo.compare", [x, y], attributes=attributes, results=[ShapedArray(x.aval.shape, _BOOL)])


def select(ctx: FunctionWriter, pred: Value, on_true: Value, on_false: Value, aval: ShapedArray) -> Value:
    """Chooses elements by a boolean, a scalar or one per element; `aval` is that of the result."""
    return ctx.emit("stablehlo.select", [pred, on_true, on_false], results=[aval])


def complex_order(ctx: FunctionWriter, x: Value, y: Value, direction: str) -> Value:
    """Lexicographic comparison of complex numbers: by real part, then by imaginary part."""
    part = ShapedArray(x.aval.shape, np.dtype(np.float32 if x.aval.dtype == np.complex64 else np.float64))
    x_real, y_real = (ctx.emit("stablehlo.real", [v], results=[part]) for v in (x, y))
    x_imag, y_imag = (ctx.emit("stablehlo.imag", [v], results=[part]) for v in (x, y))
    tie = compare(ctx, x_real, y_real, "EQ")
    by_real = compare(ctx, x_real, y_real, direction)
    by_imag = compare(ctx, x_imag, y_imag, direction)
    return select(ctx, tie, by_imag, by_real, tie.aval)
