"""StableHLO of convolutions.

Source: StableHLO specification, `convolution`; the text form of its dimension numbers is StableHLO's own.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

import laminax_lowering.rules.convolution_cpu  # noqa: F401
from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated_p
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.contraction import converted_product, precision_text, product_dtypes
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array, i64_pairs

if TYPE_CHECKING:
    from laminax_ir.ops.contraction import Precision


@lowering_rule(conv_general_dilated_p)
def _conv_general_dilated(ctx: FunctionWriter, lhs: Value, rhs: Value, *, window_strides: Sequence[int], padding: Sequence[tuple[int, int]],
                          lhs_dilation: Sequence[int], rhs_dilation: Sequence[int], dimension_numbers: ConvDimensionNumbers,
                          feature_group_count: int, batch_group_count: int,
                          precision: tuple[Precision, ...] | None, preferred_element_type: Any, out_sharding: Any) -> Value:
    (out,) = ctx.avals_out
    attributes = {
        "window_strides": i64_array(window_strides), "lhs_dilation": i64_array(lhs_dilation), "rhs_dilation": i64_array(rhs_dilation),
        "padding": i64_pairs(padding),
        "dimension_numbers": _dimension_numbers(dimension_numbers),
        "feature_group_count": f"{feature_group_count} : i64", "batch_group_count": f"{batch_group_count} : i64",
    }
    if precision is not None:
        attributes["precision_config"] = precision_text(precision)
    operand_dtype, result_dtype = product_dtypes(lhs.aval.dtype, rhs.aval.dtype, out.dtype)
    lhs, rhs, result = ctx.convert(lhs, operand_dtype), ctx.convert(rhs, operand_dtype), out.update(dtype=result_dtype)
    emit = _emit_complex if dtypes.issubdtype(operand_dtype, dtypes.complexfloating) else _emit
    return converted_product(ctx, emit(ctx, lhs, rhs, result, attributes), out)


def _emit(ctx: FunctionWriter, lhs: Value, rhs: Value, result: ShapedArray, attributes: dict[str, str]) -> Value:
    return ctx.emit("stablehlo.convolution", [lhs, rhs], attributes=attributes, results=[result])


def _emit_complex(ctx: FunctionWriter, lhs: Value, rhs: Value, result: ShapedArray, attributes: dict[str, str]) -> Value:
    """As four real convolutions: the compilers' convolution libraries have no complex ones."""
    def part(value: Value, name: str) -> Any:
        dtype = _part_dtype(value.aval.dtype)
        return ctx.emit(f"stablehlo.{name}", [value], results=[ShapedArray(value.aval.shape, dtype)])

    (a, b), (c, d) = ((part(x, "real"), part(x, "imag")) for x in (lhs, rhs))
    real_result = result.update(dtype=_part_dtype(result.dtype))
    convolve = functools.partial(_emit, ctx, result=real_result, attributes=attributes)
    real = ctx.emit("stablehlo.subtract", [convolve(a, c), convolve(b, d)], results=[real_result])
    imag = ctx.emit("stablehlo.add", [convolve(a, d), convolve(b, c)], results=[real_result])
    return ctx.emit("stablehlo.complex", [real, imag], results=[result])


def _part_dtype(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def _dimension_numbers(numbers: ConvDimensionNumbers) -> str:
    """`#stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>`"""
    lhs, rhs, out = (_labels(spec, names) for spec, names in zip(numbers, ("bf", "oi", "bf")))
    return f"#stablehlo.conv<{lhs}x{rhs}->{out}>"


def _labels(spec: tuple[int, ...], names: str) -> str:
    labels = [""] * len(spec)
    for axis, name in zip(spec, (*names, *range(len(spec) - 2))):
        labels[axis] = str(name)
    return f"[{', '.join(labels)}]"
