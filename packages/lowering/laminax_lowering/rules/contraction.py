"""StableHLO of the contractions.

Operands of different dtypes are converted first, because the compilers take few mixtures but those of float8; StableHLO's `dot_general`
gets operands of one dtype, and a result dtype of the same kind to accumulate in.
Source: StableHLO specification, `dot_general`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

import laminax_lowering.rules.contraction_cpu  # noqa: F401
from laminax_ir.ops import contraction as op
from laminax_ir.ops.cumulative import cumsum
from laminax_ir.ops.elementwise import bitwise_and, convert_element_type, le, lt, select, sub
from laminax_ir.ops.shape import broadcast_in_dim, broadcasted_iota, full, transpose
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.explicit_axes import abstract_mesh
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.dot_algorithms import (
    TF32,
    DotAlgorithm,
    DotAlgorithmPreset,
    concrete_algorithm,
    storage_dtype,
)
from laminax_lowering.writing.comparisons import compare
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text, element_type, int_list

if TYPE_CHECKING:
    from laminax_ir.ops.contraction import Precision, RaggedDotDimensionNumbers
    from laminax_ir.types.annotations import Array, ArrayLike


@lowering_rule(op.dot_general_p)
def _dot_general(ctx: FunctionWriter, lhs: Value, rhs: Value, *, dimension_numbers: tuple[tuple[Any, ...], ...], precision: Any,
                 preferred_element_type: np.dtype | None, out_sharding: Any) -> Value:
    return emit_dot_general(ctx, lhs, rhs, ctx.avals_out[0], dimension_numbers, precision)


def emit_dot_general(ctx: FunctionWriter, lhs: Value, rhs: Value, out: ShapedArray, dimension_numbers: Any, precision: Any) -> Value:
    """Writes a product with the result's aval `out`, in one operation and conversions where dtypes need them."""
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        algorithm = concrete_algorithm(precision, lhs.aval.dtype, rhs.aval.dtype, out.dtype)
        if algorithm is not None:
            return _emit_by_algorithm(ctx, lhs, rhs, out, dimension_numbers, precision, algorithm)
        precision = None
    operand_dtype, result_dtype = product_dtypes(lhs.aval.dtype, rhs.aval.dtype, out.dtype)
    if all(x.aval.dtype.itemsize == 1 and _kind(x.aval.dtype) == _FLOATING for x in (lhs, rhs)):
        operands = [lhs, rhs]  # the compilers take any mixture of the float8 types
    else:
        operands = [ctx.convert(lhs, operand_dtype), ctx.convert(rhs, operand_dtype)]
    attributes = {"dot_dimension_numbers": _dimension_numbers(dimension_numbers)}
    if precision is not None:
        attributes["precision_config"] = precision_text(precision)
    product = ctx.emit("stablehlo.dot_general", operands, attributes=attributes,
                       results=[out if out.dtype == result_dtype else out.update(dtype=result_dtype)])
    return converted_product(ctx, product, out)


# The algorithms that XLA's CPU backend computes as asked for; the compilers of other platforms refuse those that they do not support.
_CPU_ALGORITHMS = (DotAlgorithmPreset.F16_F16_F16, DotAlgorithmPreset.F32_F32_F32, DotAlgorithmPreset.F64_F64_F64,
                   DotAlgorithmPreset.BF16_BF16_F32, DotAlgorithmPreset.BF16_BF16_F32_X3, DotAlgorithmPreset.BF16_BF16_F32_X6)


def _emit_by_algorithm(ctx: FunctionWriter, lhs: Value, rhs: Value, out: ShapedArray, dimension_numbers: tuple[tuple[Any, ...], ...],
                       asked: Any, algorithm: DotAlgorithm) -> Value:
    if "cpu" in ctx.platforms and not any(
            concrete_algorithm(p, lhs.aval.dtype, rhs.aval.dtype, out.dtype) == algorithm for p in _CPU_ALGORITHMS):
        raise ValueError(f"dot_general: the algorithm {asked} is not supported on cpu; expected one of "
                                  f"{', '.join(['DEFAULT', *map(str, _CPU_ALGORITHMS)])}")
    types = (algorithm.lhs_precision_type, algorithm.rhs_precision_type)
    operands = [ctx.convert(x, storage_dtype(algorithm, t, x.aval.dtype)) for x, t in zip((lhs, rhs), types)]
    names = [t if t is TF32 else element_type(t) for t in types]
    text = (f"#stablehlo.dot_algorithm<lhs_precision_type = {names[0]}, rhs_precision_type = {names[1]}, "
            f"accumulation_type = {element_type(algorithm.accumulation_type)}, "
            f"lhs_component_count = {algorithm.lhs_component_count}, rhs_component_count = {algorithm.rhs_component_count}, "
            f"num_primitive_operations = {algorithm.num_primitive_operations}, "
            f"allow_imprecise_accumulation = {bool_text(algorithm.allow_imprecise_accumulation)}>")
    product = ctx.emit("stablehlo.dot_general", operands, results=[out.update(dtype=algorithm.accumulation_type)], attributes={
        "dot_dimension_numbers": _dimension_numbers(dimension_numbers),
        "precision_config": precision_text((op.Precision.DEFAULT, op.Precision.DEFAULT)), "algorithm": text})
    return ctx.convert(product, out.dtype)


@functools.lru_cache(maxsize=None)
def product_dtypes(lhs: np.dtype, rhs: np.dtype, out: np.dtype) -> tuple[Any, Any]:
    """The dtype of the operands and of the result of the StableHLO operation; the result may be converted after it."""
    operand = op.contraction_dtype("dot_general", lhs, rhs, None)
    if _kind(operand) == _kind(out):
        # Of two floating dtypes neither holds the other's values when they are equally wide; a wider result's dtype does.
        return out if lhs != rhs and out.itemsize > operand.itemsize else operand, out
    if _kind(operand) < _kind(out):  # bool to integer to float to complex: the operands fit into the result's dtype
        return out, out
    return operand, operand


_FLOATING = 2


def _kind(dtype: np.dtype) -> int:
    kinds = (np.bool_, dtypes.integer, dtypes.floating, dtypes.complexfloating)
    return next(i for i, kind in enumerate(kinds) if dtypes.issubdtype(dtype, kind))


def converted_product(ctx: FunctionWriter, product: Value, out: ShapedArray) -> Value:
    """The product in the result's dtype: rounded towards zero, the real part, or whether it is not zero."""
    if product.aval.dtype == out.dtype:
        return product
    if dtypes.issubdtype(product.aval.dtype, dtypes.complexfloating):
        part = np.dtype(np.float32 if product.aval.dtype == np.complex64 else np.float64)
        product = ctx.emit("stablehlo.real", [product], results=[out.update(dtype=part)])
    if out.dtype == np.bool_:
        return compare(ctx, product, ctx.constant(0, product.aval.dtype, out.shape), "NE")
    return ctx.convert(product, out.dtype)


@functools.lru_cache(maxsize=1024)
def _dimension_numbers(dimension_numbers: Any) -> str:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    lists = {"lhs_batching_dimensions": lhs_batch, "rhs_batching_dimensions": rhs_batch,
             "lhs_contracting_dimensions": lhs_contracting, "rhs_contracting_dimensions": rhs_contracting}
    return f"#stablehlo.dot<{', '.join(f'{name} = {int_list(axes)}' for name, axes in lists.items() if axes)}>"


def precision_text(precision: tuple[Precision, ...]) -> str:
    """The attribute of a pair of precisions."""
    return "[" + ", ".join(f"#stablehlo<precision {p.name}>" for p in precision) + "]"


@lowering_rule(op.ragged_dot_general_p)
def _ragged_dot_general(ctx: FunctionWriter, lhs: Value, rhs: Value, group_sizes: Value, **params: Any) -> Value:
    """As dense products: per group, lhs with the other groups' part set to zero."""
    program = _dense_program(*(x.aval.update(weak_type=False, sharding=None) for x in (lhs, rhs, group_sizes)),
                             tuple({**params, "out_sharding": None}.items()))
    (result,) = ctx.run(program, [lhs, rhs, group_sizes])
    return result


@functools.lru_cache(maxsize=256)
def _dense_program(lhs: ShapedArray, rhs: ShapedArray, group_sizes: ShapedArray, params: tuple) -> ClosedJaxpr:
    with abstract_mesh(None):  # between its operands and its result, whose types say it, the compiler decides how values are split
        return stage(functools.partial(_ragged_by_masks, **dict(params)), [lhs, rhs, group_sizes], name="ragged_dot_general")


def _ragged_by_masks(lhs: ArrayLike, rhs: ArrayLike, group_sizes: ArrayLike, *, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
                     precision: Any, preferred_element_type: Any, group_offset: Any, out_sharding: Any) -> list[Any]:
    """One dense product whose lhs has a group axis in front: contracted with that of rhs, or kept in the result."""
    ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), (ragged,), group = ragged_dot_dimension_numbers
    inside = _in_group(lhs.aval, group_sizes, ragged_dot_dimension_numbers)
    repeated = broadcast_in_dim(lhs, inside.shape, range(1, 1 + lhs.ndim))
    lhs = select(inside, repeated, full(inside.shape, 0, lhs.dtype))
    behind = [tuple(axis + 1 for axis in axes) for axes in (lhs_contracting, lhs_batch)]
    options = {"precision": precision, "preferred_element_type": preferred_element_type, "out_sharding": out_sharding}
    if group:
        numbers = (((0, *behind[0]), (*group, *rhs_contracting)), (behind[1], rhs_batch))
        return [op.dot_general_p.bind(lhs, rhs, dimension_numbers=numbers, **options)]
    numbers = ((behind[0], rhs_contracting), (behind[1], rhs_batch))
    result = op.dot_general_p.bind(lhs, rhs, dimension_numbers=numbers, **options)
    batch = len(lhs_batch)  # the group axis is the first free one
    return [transpose(result, (batch, *range(batch), *range(batch + 1, result.ndim)))]


def _in_group(lhs: ShapedArray, group_sizes: ArrayLike, numbers: RaggedDotDimensionNumbers) -> Array:
    """bool[g, *lhs]: whether an element of lhs belongs to a group."""
    (ragged,) = numbers.lhs_ragged_dimensions
    sizes = convert_element_type(group_sizes, np.int32)
    last = sizes.ndim - 1
    ends = cumsum(sizes, last)
    shape = (sizes.shape[last], *lhs.shape)
    # The axes of group_sizes, [outer..., g], in the order they have in [g, *lhs].
    places = (*(axis + 1 for axis in op.outer_ragged_axes(lhs.ndim, numbers)), 0) if last else (0,)
    order = sorted(range(last + 1), key=places.__getitem__)
    start, end = (broadcast_in_dim(transpose(x, order), shape, sorted(places)) for x in (sub(ends, sizes), ends))
    position = broadcasted_iota(np.int32, shape, ragged + 1)
    return bitwise_and(le(start, position), lt(position, end))
