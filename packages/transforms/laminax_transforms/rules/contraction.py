"""Derivatives and batching of contractions: algebra of dimension numbers.

With `out = lhs . rhs`, the cotangent of lhs contracts the result's cotangent with rhs over the free axes of rhs, and
that of rhs contracts lhs with the cotangent over the free axes of lhs.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.contraction import (
    RaggedDotDimensionNumbers,
    dot_general_p,
    free_axes,
    outer_ragged_axes,
    ragged_dot_general_p,
)
from laminax_ir.ops.shape import broadcast_in_dim, transpose
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.type_shardings import TypeSharding
from laminax_transforms.base.registry import axis_batching_rule, batching_rule, define_jvp, is_linear, transpose_rule
from laminax_transforms.base.zeros import ZERO, cotangent_of_dtype
from laminax_transforms.batching.batch_axes import Axis, batch_axis_first

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


def _linear_in(position: int, primitive: Primitive) -> Callable:
    """The part of the tangent that comes from one operand: the same product with the tangent in its place."""
    def partial(t: Any, result: ArrayLike, *operands: Any, **params: Any) -> Any:
        if not dtypes.issubdtype(result.dtype, dtypes.inexact):  # an integer preferred_element_type
            return ZERO
        values = list(operands)
        values[position] = t
        return primitive.bind(*values, **params)
    return partial


define_jvp(dot_general_p, _linear_in(0, dot_general_p), _linear_in(1, dot_general_p))


@transpose_rule(dot_general_p)
def _dot_general_transpose(ct: Any, lhs: Any, rhs: Any, *, dimension_numbers: tuple[tuple[Any, ...], ...], out_sharding: Any,
                           **params: Any) -> list[Any]:
    if is_linear(lhs):
        numbers, permutation = _lhs_adjoint(len(lhs.shape), len(get_aval(rhs).shape), dimension_numbers)
        split = _before(lhs._split, permutation)
        return [_as_operand(dot_general_p.bind(ct, rhs, dimension_numbers=numbers, out_sharding=split, **params), permutation, lhs), None]
    numbers, permutation = _rhs_adjoint(len(get_aval(lhs).shape), len(rhs.shape), dimension_numbers)
    split = _before(rhs._split, permutation)
    return [None, _as_operand(dot_general_p.bind(lhs, ct, dimension_numbers=numbers, out_sharding=split, **params), permutation, rhs)]


def _before(split: TypeSharding | None, permutation: tuple[int, ...] | None) -> TypeSharding | None:
    """The sharding of a product that becomes, by the permutation of its axes, the sharding of the cotangent of a value split as `split`.

    It says nothing of sums over the devices of a program per device, which the transposition leaves open, or makes, itself.
    """
    explicit = None if split is None else split.along_explicit_axes()
    if explicit is None:
        return None
    split = explicit.of_cotangents()
    if permutation is None:
        return split
    entries = [None] * len(permutation)
    for entry, axis in zip(split.spec.partitions, permutation):
        entries[axis] = entry
    return split.with_entries(entries)


@functools.lru_cache(maxsize=1024)
def _lhs_adjoint(lhs_ndim: int, rhs_ndim: int, dimension_numbers: tuple[tuple[Any, ...], ...]) -> tuple[Any, Any]:
    """How to contract ct with rhs, and the permutation that gives the result lhs's axis order (None: has it)."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_free = free_axes(lhs_ndim, lhs_contracting, lhs_batch)
    rhs_free = free_axes(rhs_ndim, rhs_contracting, rhs_batch)
    first_rhs = len(lhs_batch) + len(lhs_free)  # the result's axes: batch, lhs free, rhs free
    numbers = ((tuple(range(first_rhs, first_rhs + len(rhs_free))), rhs_free), (tuple(range(len(lhs_batch))), rhs_batch))
    # rhs keeps its contracting axes, in its own order; each stands for its partner in lhs.
    partners = dict(zip(rhs_contracting, lhs_contracting))
    return numbers, _sorting((*lhs_batch, *lhs_free, *(partners[axis] for axis in sorted(rhs_contracting))))


@functools.lru_cache(maxsize=1024)
def _rhs_adjoint(lhs_ndim: int, rhs_ndim: int, dimension_numbers: tuple[tuple[Any, ...], ...]) -> tuple[Any, Any]:
    """How to contract lhs with ct, and the permutation that gives the result rhs's axis order (None: has it)."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_free = free_axes(lhs_ndim, lhs_contracting, lhs_batch)
    rhs_free = free_axes(rhs_ndim, rhs_contracting, rhs_batch)
    batch = tuple(range(len(lhs_batch)))
    numbers = ((lhs_free, tuple(range(len(batch), len(batch) + len(lhs_free)))), (lhs_batch, batch))
    partners = dict(zip(lhs_contracting, rhs_contracting))
    return numbers, _sorting((*rhs_batch, *(partners[axis] for axis in sorted(lhs_contracting)), *rhs_free))


def _sorting(axes: tuple[int, ...]) -> tuple[int, ...] | None:
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return None if order == tuple(range(len(axes))) else order


def _as_operand(ct: Any, permutation: Any, operand: ShapedArray) -> Any:
    """The cotangent in the operand's axis order and dtype."""
    if permutation is not None:
        ct = transpose(ct, permutation)
    return ct if ct.dtype == operand.dtype else cotangent_of_dtype(ct, operand.dtype)


@batching_rule(dot_general_p)
def _dot_general_batch(operands: Sequence[Any], batch_axes: Sequence[int | None], *, dimension_numbers: tuple[tuple[Any, ...], ...],
                       **params: Any) -> tuple[Any, Any]:
    lhs, rhs = operands
    numbers, out_axis = _batched_numbers(len(get_aval(lhs).shape), len(get_aval(rhs).shape), *batch_axes, dimension_numbers)
    return dot_general_p.bind(lhs, rhs, dimension_numbers=numbers, **params), out_axis


@functools.lru_cache(maxsize=1024)
def _batched_numbers(lhs_ndim: int, rhs_ndim: int, lhs_axis: int | None, rhs_axis: int | None,
                     dimension_numbers: tuple[tuple[Any, ...], ...]) -> tuple[Any, Any]:
    """Dimension numbers with the mapped axes, and where the mapped axis is in the result.

    Mapped in both operands it is a further batch axis, in one a further free axis. The ranks include it.
    """
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_contracting, lhs_batch = _shifted(lhs_contracting, lhs_axis), _shifted(lhs_batch, lhs_axis)
    rhs_contracting, rhs_batch = _shifted(rhs_contracting, rhs_axis), _shifted(rhs_batch, rhs_axis)
    if lhs_axis is not None and rhs_axis is not None:
        return ((lhs_contracting, rhs_contracting), ((lhs_axis, *lhs_batch), (rhs_axis, *rhs_batch))), 0
    numbers = ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))
    lhs_free = free_axes(lhs_ndim, lhs_contracting, lhs_batch)
    if rhs_axis is None:
        return numbers, len(lhs_batch) + lhs_free.index(lhs_axis)
    return numbers, len(lhs_batch) + len(lhs_free) + free_axes(rhs_ndim, rhs_contracting, rhs_batch).index(rhs_axis)


def _shifted(axes: tuple[int, ...], inserted: int | None) -> tuple[int, ...]:
    """The numbers of the axes after one axis has been inserted."""
    return axes if inserted is None else tuple(axis + (axis >= inserted) for axis in axes)


# Ragged products: the product with a free ragged axis and the one with a contracting ragged axis are each other's adjoints.


define_jvp(ragged_dot_general_p, _linear_in(0, ragged_dot_general_p), _linear_in(1, ragged_dot_general_p), None)


@transpose_rule(ragged_dot_general_p)
def _ragged_dot_general_transpose(ct: Any, lhs: Any, rhs: Any, group_sizes: Any, *, ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
                                  **params: Any) -> Sequence[Any]:
    numbers = ragged_dot_dimension_numbers
    ((lhs_contracting, _), _), (ragged,), _ = numbers
    adjoint = _contracting_adjoint if ragged in lhs_contracting else _free_adjoint
    position = 0 if is_linear(lhs) else 1
    operand = (lhs, rhs)[position]
    first, second, adjoint_numbers, permutation = adjoint(ct, lhs, rhs, numbers, position)
    # An axis outside of the ragged axis may have another role in the adjoint; only plain group sizes mean the same in both.
    if get_aval(group_sizes).ndim > 1 and outer_ragged_axes(len(lhs.shape), numbers) != numbers[0][1][0]:
        raise NotImplementedError("ragged_dot_general: no transpose rule for group sizes that differ along axes outside the "
                                  "ragged one, except batch axes")
    params["out_sharding"] = _before(operand._split, permutation)
    result = ragged_dot_general_p.bind(first, second, group_sizes, ragged_dot_dimension_numbers=adjoint_numbers, **params)
    cts = [None, None, None]
    cts[position] = _as_operand(result, permutation, operand)
    return cts


def _free_adjoint(ct: Any, lhs: Any, rhs: Any, numbers: Any, position: int) -> tuple[Any, Any, Any, Any]:
    """For out[b, m, n] = lhs[b, m, k] . rhs[g, b, k, n], ragged in m."""
    ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), (ragged,), (group,) = numbers
    lhs_free = free_axes(len(lhs.shape), lhs_contracting, lhs_batch)
    rhs_free = free_axes(len(rhs.shape), rhs_contracting, rhs_batch, (group,))
    batch = tuple(range(len(lhs_batch)))
    ct_lhs_free = tuple(range(len(batch), len(batch) + len(lhs_free)))
    ct_rhs_free = tuple(range(len(batch) + len(lhs_free), len(batch) + len(lhs_free) + len(rhs_free)))
    if position == 0:  # ct[b, m, n] . rhs[g, b, k, n] over n, ragged in m
        dot = ((ct_rhs_free, rhs_free), (batch, rhs_batch))
        partners = dict(zip(rhs_contracting, lhs_contracting))
        axes = (*lhs_batch, *lhs_free, *(partners[axis] for axis in sorted(rhs_contracting)))
        return ct, rhs, RaggedDotDimensionNumbers(dot, (ct_lhs_free[lhs_free.index(ragged)],), (group,)), _sorting(axes)
    # lhs[b, m, k] . ct[b, m, n] over m, ragged there: [g, b, k, n]
    dot = ((lhs_free, ct_lhs_free), (lhs_batch, batch))
    partners = dict(zip(lhs_contracting, rhs_contracting))
    axes = (group, *rhs_batch, *(partners[axis] for axis in sorted(lhs_contracting)), *rhs_free)
    return lhs, ct, RaggedDotDimensionNumbers(dot, (ragged,), ()), _sorting(axes)


def _contracting_adjoint(ct: Any, lhs: Any, rhs: Any, numbers: Any, position: int) -> tuple[Any, Any, Any, Any]:
    """For out[g, b, m, n] = lhs[b, m, k] . rhs[b, k, n], ragged in k."""
    ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), (ragged,), _ = numbers
    lhs_free = free_axes(len(lhs.shape), lhs_contracting, lhs_batch)
    rhs_free = free_axes(len(rhs.shape), rhs_contracting, rhs_batch)
    batch = tuple(range(1, 1 + len(lhs_batch)))
    ct_lhs_free = tuple(range(1 + len(batch), 1 + len(batch) + len(lhs_free)))
    ct_rhs_free = tuple(range(1 + len(batch) + len(lhs_free), 1 + len(batch) + len(lhs_free) + len(rhs_free)))
    rhs_ragged = dict(zip(lhs_contracting, rhs_contracting))[ragged]
    if position == 0:  # rhs[b, k, n] . ct[g, b, m, n] over n, ragged in k: [b, k, m]
        dot = ((rhs_free, ct_rhs_free), (rhs_batch, batch))
        partners = dict(zip(rhs_contracting, lhs_contracting))
        axes = (*lhs_batch, *(partners[axis] for axis in sorted(rhs_contracting)), *lhs_free)
        return rhs, ct, RaggedDotDimensionNumbers(dot, (rhs_ragged,), (0,)), _sorting(axes)
    # lhs[b, m, k] . ct[g, b, m, n] over m, ragged in k: [b, k, n]
    dot = ((lhs_free, ct_lhs_free), (lhs_batch, batch))
    partners = dict(zip(lhs_contracting, rhs_contracting))
    axes = (*rhs_batch, *(partners[axis] for axis in sorted(lhs_contracting)), *rhs_free)
    return lhs, ct, RaggedDotDimensionNumbers(dot, (ragged,), (0,)), _sorting(axes)


@axis_batching_rule(ragged_dot_general_p)
def _ragged_dot_general_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *,
                              ragged_dot_dimension_numbers: RaggedDotDimensionNumbers, **params: Any) -> tuple[Any, Any]:
    """The mapped axis becomes the first batch axis, and group sizes differ along it."""
    numbers = ragged_dot_dimension_numbers
    lhs, rhs, group_sizes = (batch_axis_first(x, b, axis.size) for x, b in zip(operands, batch_axes))
    ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), ragged, group = numbers
    up = functools.partial(_shifted, inserted=0)
    outer = up(outer_ragged_axes(lhs.ndim - 1, numbers))
    if group_sizes.ndim == 2 and outer:  # sizes for every example, now also for every outer position
        shape = (axis.size, *(lhs.shape[i] for i in outer), group_sizes.shape[-1])
        group_sizes = broadcast_in_dim(group_sizes, shape, (0, len(shape) - 1))
    dot = ((up(lhs_contracting), up(rhs_contracting)), ((0, *up(lhs_batch)), (0, *up(rhs_batch))))
    result = ragged_dot_general_p.bind(
        lhs, rhs, group_sizes, ragged_dot_dimension_numbers=RaggedDotDimensionNumbers(dot, up(ragged), up(group)), **params)
    return result, 1 if ragged[0] in lhs_contracting else 0
