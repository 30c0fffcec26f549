"""Derivatives and batching of windowed reductions.

The sum is linear; its adjoint is a windowed sum with strides and base dilation in each other's places. The derivative
of a maximum is the tangent at the window's first greatest element. Any other monoid is differentiated as a fold of its
own derivative over the places of the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

import numpy as np

from laminax_ir.ops import windows as op
from laminax_ir.ops.convolution import dilated
from laminax_ir.ops.elementwise import bitwise_and, bitwise_not, bitwise_or, ge_p, le_p, select
from laminax_ir.ops.reduction import greatest, least, split_operands
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import broadcast_in_dim, full, full_like, pad
from laminax_ir.ops.slicing import slice as slice_array
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import axis_batching_rule, batching_rule, define_jvp, define_linear, jvp_rule, transpose_rule
from laminax_transforms.base.zeros import zeros_of
from laminax_transforms.batching.batch_axes import Axis, batch_axis_first
from laminax_transforms.differentiation.differentiation import linear_program_of
from laminax_transforms.rules.reduction import apply_to_elements, jvp_by_operations

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

define_linear(op.reduce_window_sum_p)


@transpose_rule(op.reduce_window_sum_p)
def _reduce_window_sum_transpose(ct: Any, x: Any, *, window_dimensions: Any, window_strides: tuple[int, ...],
                                 padding: Sequence[tuple[int, int]], base_dilation: Any, window_dilation: Any) -> list[Any]:
    if 0 in x.shape or 0 in ct.shape:
        return [zeros_of(x)]
    pads = []
    for i, (low, _) in enumerate(padding):  # the index equation of a convolution with a kernel of ones
        window = dilated(window_dimensions[i], window_dilation[i])
        new_low = window - 1 - low
        size = (x.shape[i] - 1) * base_dilation[i] + window
        pads.append((new_low, size - dilated(ct.shape[i], window_strides[i]) - new_low))
    return [op.reduce_window_sum_p.bind(ct, window_dimensions=window_dimensions, window_strides=base_dilation,
                                        padding=tuple(pads), base_dilation=window_strides, window_dilation=window_dilation)]


def _extremum_partial(select_prim: Primitive) -> Callable:
    def partial(t: Any, result: ArrayLike, x: ArrayLike, **window: Any) -> Any:
        return op.select_and_gather_add_p.bind(t, x, select_prim=select_prim, **window)
    return partial


define_jvp(op.reduce_window_max_p, _extremum_partial(ge_p))
define_jvp(op.reduce_window_min_p, _extremum_partial(le_p))

# A selection is linear in the gathered or scattered operand, and constant in the operand that decides.
define_jvp(op.select_and_gather_add_p, lambda t, result, tangents, operand, **params:
           op.select_and_gather_add_p.bind(t, operand, **params), None)
define_jvp(op.select_and_scatter_add_p, lambda t, result, source, operand, **params:
           op.select_and_scatter_add_p.bind(t, operand, **params), None)


@transpose_rule(op.select_and_gather_add_p)
def _select_and_gather_add_transpose(ct: Any, tangents: Any, operand: Any, *, select_prim: Primitive, window_dimensions: tuple[int, ...],
                                     window_strides: tuple[int, ...], padding: Sequence[tuple[int, int]], base_dilation: tuple[int, ...],
                                     window_dilation: tuple[int, ...]) -> list[Any]:
    ones = (1,) * len(window_dimensions)
    if window_dilation != ones or base_dilation != ones:
        window = {"window_dimensions": window_dimensions, "window_strides": window_strides, "padding": padding,
                  "base_dilation": base_dilation, "window_dilation": window_dilation}
        program = linear_program_of(lambda t: [_gathered_by_place(t, operand, select_prim, window)], [tangents])
        return [program.transpose([ct])[0], None]
    return [op.select_and_scatter_add_p.bind(ct, operand, select_prim=select_prim, window_dimensions=window_dimensions,
                                             window_strides=window_strides, padding=padding), None]


def _gathered_by_place(tangents: Any, operand: Any, select_prim: Primitive, window: dict[str, Any]) -> Any:
    """`select_and_gather_add` in operations that have transposes: a sum over the places of a window, for all windows at once.

    For dilations, with which the compiler has no adjoint of it.
    """
    dtype = get_aval(operand).dtype
    sizes = op.windowed_shape("reduce_window", get_aval(operand).shape, **window)
    total = full(sizes, 0, get_aval(tangents).dtype)
    if 0 in sizes:
        return total
    worst = scalar_like((least if select_prim is ge_p else greatest)(dtype), dtype)
    taken = full(sizes, False, np.bool_)
    best = full(sizes, worst, dtype)
    padded = ((operand, worst), (tangents, scalar_like(0, get_aval(tangents).dtype)), (full_like(operand, True, np.bool_), np.False_))
    for value, tangent, is_inside in zip(*(_parts_of_windows(x, init, window, sizes) for x, init in padded)):
        keep = bitwise_and(taken, select_prim.bind(best, value))
        takes = bitwise_and(is_inside, bitwise_not(keep))
        total = select(takes, tangent, total)
        best, taken = select(takes, value, best), bitwise_or(taken, takes)
    return total


def _parts_of_windows(x: Any, init: Any, window: dict[str, Any], sizes: Sequence[int]) -> Iterator[Any]:
    """For each place of a window the elements at it, for all windows; `init` in the padding and between elements."""
    config = [(low, high, d - 1) for (low, high), d in zip(window["padding"], window["base_dilation"])]
    spread = pad(x, init, config)
    for place in np.ndindex(*window["window_dimensions"]):
        start = tuple(p * d for p, d in zip(place, window["window_dilation"]))
        limit = tuple(s + (n - 1) * stride + 1 for s, n, stride in zip(start, sizes, window["window_strides"]))
        yield slice_array(spread, start, limit, window["window_strides"])


@transpose_rule(op.select_and_scatter_add_p)
def _select_and_scatter_add_transpose(ct: Any, source: Any, operand: Any, *, select_prim: Primitive, window_dimensions: tuple[int, ...],
                                      window_strides: tuple[int, ...], padding: Sequence[tuple[int, int]]) -> list[Any]:
    ones = (1,) * len(window_dimensions)
    return [op.select_and_gather_add_p.bind(ct, operand, select_prim=select_prim, window_dimensions=window_dimensions,
                                            window_strides=window_strides, padding=padding, base_dilation=ones,
                                            window_dilation=ones), None]


# The general reduction


@jvp_rule(op.reduce_window_p, symbolic_zeros=True)
def _reduce_window_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return jvp_by_operations(op.reduce_window_p.bind(*primals, **params), lambda *values: _fold_over_window(values, **params), primals,
                             tangents)


def _fold_over_window(values: tuple[ArrayLike, ...], *, jaxpr: ClosedJaxpr, window_dimensions: tuple[int, ...],
                      window_strides: tuple[int, ...], padding: Sequence[tuple[int, int]], base_dilation: Any,
                      window_dilation: Any) -> list[Array]:
    """`reduce_window` in differentiable operations: place by place of the window, for all windows at once."""
    operands, inits = split_operands("reduce_window", values)
    sizes = op.windowed_shape("reduce_window", get_aval(operands[0]).shape, window_dimensions, window_strides, padding,
                              base_dilation, window_dilation)
    results = [broadcast_in_dim(init, sizes, ()) for init in inits]
    if 0 in sizes:
        return results
    window = {"window_dimensions": window_dimensions, "window_strides": window_strides, "padding": padding,
              "base_dilation": base_dilation, "window_dilation": window_dilation}
    for parts in zip(*(_parts_of_windows(x, init, window, sizes) for x, init in zip(operands, inits))):
        results = apply_to_elements(jaxpr, [*results, *parts])
    return results


# Batching: the mapped axis is one more axis, with windows of size 1.


def _with_unit_window(params: dict, axis: int) -> dict:
    units = {"padding": (0, 0)}
    return {name: (*value[:axis], units.get(name, 1), *value[axis:]) if isinstance(value, tuple) else value
            for name, value in params.items()}


def _batch_one(primitive: Primitive) -> None:
    @batching_rule(primitive)
    def rule(operands: Sequence[Any], batch_axes: Sequence[int], **params: Any) -> tuple[Any, Any]:
        return primitive.bind(*operands, **_with_unit_window(params, batch_axes[0])), batch_axes[0]


for _primitive in (op.reduce_window_sum_p, op.reduce_window_max_p, op.reduce_window_min_p):
    _batch_one(_primitive)


def _batch_two(primitive: Primitive) -> None:
    @axis_batching_rule(primitive)
    def rule(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        operands = [batch_axis_first(x, b, axis.size) for x, b in zip(operands, batch_axes)]
        return primitive.bind(*operands, **_with_unit_window(params, 0)), 0


_batch_two(op.select_and_gather_add_p)
_batch_two(op.select_and_scatter_add_p)


@axis_batching_rule(op.select_and_scatter_p)
def _select_and_scatter_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    if batch_axes[2] is not None:
        raise NotImplementedError("select_and_scatter cannot be mapped over its initial value; add it to the result instead")
    arrays = [batch_axis_first(x, b, axis.size) for x, b in zip(operands[:2], batch_axes)]
    return op.select_and_scatter_p.bind(*arrays, operands[2], **_with_unit_window(params, 0)), 0


@axis_batching_rule(op.reduce_window_p)
def _reduce_window_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    arrays, inits = split_operands("reduce_window", operands)
    array_axes, init_axes = split_operands("reduce_window", batch_axes)
    if any(b is not None for b in init_axes):
        raise NotImplementedError("reduce_window cannot be mapped over its initial values; an identity is the same for all examples")
    arrays = [batch_axis_first(x, b, axis.size) for x, b in zip(arrays, array_axes)]
    results = op.reduce_window_p.bind(*arrays, *inits, **_with_unit_window(params, 0))
    return results, [0] * len(results)
