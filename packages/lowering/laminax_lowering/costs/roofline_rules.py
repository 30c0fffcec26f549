"""What operations ask for, for roofline models: a rule per operation or family, as JAX's module has them.

Elementwise operations count one operation for each element of the result. Operations that only move, convert or name values count as
nothing: compilers fuse them with the operations that read the result. Collectives are modelled as rings, one phase along each mesh axis,
the data split over the axes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from laminax_ir.ops import (
    callbacks,
    checks,
    collective_primitives,
    control_primitives,
    conversion,
    cumulative,
    elementwise,
    hints,
    indexing,
    open_sums,
    random_bits,
    reduction,
    shape_primitives,
    sharding,
    slicing,
    stacking,
    windows,
)
from laminax_ir.ops.calls import name_p
from laminax_ir.ops.contraction import dot_general_p
from laminax_ir.ops.convolution import conv_general_dilated_p
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_lowering.costs.roofline_counts import RooflineResult, RooflineRuleContext, RooflineShape

_Rule = Callable[..., RooflineResult]


def roofline_rule(primitive: Primitive) -> _Rule | None:
    """The rule for an operation: the one that was registered last, one of this module, or None."""
    if (rule := _registered.get(primitive) or _RULES.get(primitive)) is not None:
        return rule
    if primitive in _NOTHING:
        return _nothing
    return _elementwise if Trait.ELEMENTWISE in primitive.traits else None


_registered: dict[Primitive, _Rule] = {}


def register_roofline(prim: Primitive) -> Callable[[Callable[..., RooflineResult]], Callable[..., RooflineResult]]:
    """A decorator that registers what an operation asks for; it takes the place of an earlier rule.

    Args:
      prim: the operation. The rule is called as `rule(context, *shapes, **params)` with a `RooflineRuleContext`, a `RooflineShape` per
        operand and the operation's parameters.

    Returns:
      The decorator, which returns the rule.

    Raises:
      TypeError: if prim is no primitive.
    """
    if not isinstance(prim, Primitive):
        raise TypeError(f"register_roofline: expected a primitive, got {prim!r} of type {type(prim).__name__}.")

    def register(rule: _Rule) -> _Rule:
        _registered[prim] = rule
        return rule
    return register


def register_standard_roofline(prim: Primitive) -> None:
    """Registers an operation that asks for nothing, because compilers make it a part of what reads its result.

    Args:
      prim: the operation.
    """
    register_roofline(prim)(_nothing)


def _nothing(context: RooflineRuleContext, *shapes: RooflineShape, **params: Any) -> RooflineResult:
    return RooflineResult.zeros()


def _result(context: RooflineRuleContext, flops: int) -> RooflineResult:
    """This many operations on numbers; each operand is read and each result written once."""
    return RooflineResult(unfused_flops=int(flops), unfused_hbm_bytes=RooflineShape.total_bytes([*context.avals_in, *context.avals_out]))


def _elementwise(context: RooflineRuleContext, *shapes: RooflineShape, **params: Any) -> RooflineResult:
    return _result(context, math.prod(context.avals_out[0].shape))


def _select(context: RooflineRuleContext, which: RooflineShape, *cases: RooflineShape, **params: Any) -> RooflineResult:
    """Counts the predicate and the result, not the cases: compilers often compute these where they are chosen from."""
    out = RooflineShape.from_aval(context.avals_out[0])
    return RooflineResult(unfused_flops=out.size, unfused_hbm_bytes=which.bytes + out.bytes)


def _cumulative(context: RooflineRuleContext, x: RooflineShape, *, axis: int, **params: Any) -> RooflineResult:
    """Counts the steps along one line of the axis, as JAX's model does, however many lines there are."""
    return _result(context, x.shape[axis])


def _cumlogsumexp(context: RooflineRuleContext, x: RooflineShape, *, axis: int, **params: Any) -> RooflineResult:
    return _result(context, 2 * x.shape[axis])  # an exponential and a sum for each


def _reduction(context: RooflineRuleContext, x: RooflineShape, *rest: RooflineShape, **params: Any) -> RooflineResult:
    """n - 1 operations make one result of n elements."""
    out = RooflineShape.from_aval(context.avals_out[0])
    return _result(context, max(x.size - out.size, 0))


def _windows(context: RooflineRuleContext, x: RooflineShape, *, window_dimensions: Sequence[int], **params: Any) -> RooflineResult:
    return _result(context, RooflineShape.from_aval(context.avals_out[0]).size * (math.prod(window_dimensions) - 1))


def _dot_general(context: RooflineRuleContext, lhs: RooflineShape, rhs: RooflineShape, *, dimension_numbers: Any,
                 **params: Any) -> RooflineResult:
    (contracted, _), _ = dimension_numbers
    out = RooflineShape.from_aval(context.avals_out[0])
    flops = 2 * math.prod(context.avals_out[0].shape) * math.prod(lhs.shape[axis] for axis in contracted)
    moved = (0 if context.pin_lhs_in_vmem else lhs.bytes + out.bytes) + (0 if context.pin_rhs_in_vmem else rhs.bytes)
    return RooflineResult(flops=flops, unfused_flops=flops, hbm_bytes=moved, unfused_hbm_bytes=moved)


def _convolution(context: RooflineRuleContext, lhs: RooflineShape, rhs: RooflineShape, *, window_strides: Sequence[int],
                 padding: Sequence[tuple[int, int]], lhs_dilation: Sequence[int], rhs_dilation: Sequence[int], dimension_numbers: Any,
                 batch_group_count: int, **params: Any) -> RooflineResult:
    """Two operations for each weight and each element of the operand that it meets; padding and the holes of dilation are not met."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    out = context.avals_out[0].shape
    meetings = math.prod(
        _meetings(lhs.shape[lhs_spec[2 + i]], rhs.shape[rhs_spec[2 + i]], out[out_spec[2 + i]], window_strides[i], padding[i][0],
                  lhs_dilation[i], rhs_dilation[i]) for i in range(len(lhs_spec) - 2))
    lines = lhs.shape[lhs_spec[0]] // batch_group_count * out[out_spec[1]] * rhs.shape[rhs_spec[1]]
    return _result(context, 2 * meetings * lines)


def _meetings(size: int, kernel: int, out: int, stride: int, padding: int, dilation: int, kernel_dilation: int) -> int:
    """How often a weight meets an element of the operand along one axis.

    Weight k of result o is at place o * stride + k * kernel_dilation - padding, where an element is if that is a multiple of dilation, from
    0 to (size - 1) * dilation. For each k the results for which it is a multiple are an arithmetic progression, which is counted.
    """
    if min(size, kernel, out) == 0:
        return 0
    offset = np.arange(kernel, dtype=np.int64) * kernel_dilation - padding
    common = math.gcd(stride, dilation)
    offset = offset[offset % common == 0]
    step = dilation // common
    first = (-offset // common) * pow(stride // common, -1, step) % step if step > 1 else np.zeros_like(offset)
    lowest = np.maximum(-(offset // stride), 0)  # the smallest o whose place is not negative
    highest = np.minimum(((size - 1) * dilation - offset) // stride, out - 1)
    counts = (highest - first) // step - (lowest - 1 - first) // step  # of the o = first, modulo step, from lowest to highest
    return int(np.maximum(counts, 0).sum())


def _gather(context: RooflineRuleContext, operand: RooflineShape, indices: RooflineShape, *, mode: indexing.GatherScatterMode,
            **params: Any) -> RooflineResult:
    """What is gathered is read and written. Where indices may be out of bounds, four operations check each and one masks the results."""
    out = RooflineShape.from_aval(context.avals_out[0])
    checked = mode == indexing.GatherScatterMode.FILL_OR_DROP
    return RooflineResult(unfused_flops=4 * indices.size + out.size if checked else 0, unfused_hbm_bytes=2 * out.bytes + indices.bytes)


def _scatter(context: RooflineRuleContext, operand: RooflineShape, indices: RooflineShape, updates: RooflineShape,
             **params: Any) -> RooflineResult:
    """An update is read, what it changes read and written; the function of an update counts for each."""
    if context.primitive is not indexing.scatter_p:
        flops = 1
    elif (program := params.get("update_jaxpr")) is not None:
        flops = sum(1 for eqn in program.jaxpr.eqns if roofline_rule(eqn.primitive) is _elementwise)
    else:
        flops = 0
    return RooflineResult(unfused_flops=flops * updates.size, unfused_hbm_bytes=3 * updates.bytes + indices.bytes)


def _callback(context: RooflineRuleContext, *shapes: RooflineShape, **params: Any) -> RooflineResult:
    """Counts the bytes to and from the host; the operations there are not known."""
    return _result(context, 0)


# --- collectives ---


def _sizes(context: RooflineRuleContext, axes: Iterable[Any]) -> dict[Any, int]:
    if context.mesh is None:
        raise ValueError(f"roofline: {context.primitive.name} over {tuple(axes)} needs the sizes of these mesh axes: give roofline the "
                         "mesh, and in_specs and out_specs if the function is the program of a device.")
    sizes = context.mesh.shape
    return {axis: sizes[axis] for axis in axes}


def _communication(axes: Iterable[Any], moved: float, hops: float) -> RooflineResult:
    axes = tuple(axes)
    return RooflineResult(ici_bytes=dict.fromkeys(axes, int(moved)), ici_latency=dict.fromkeys(axes, int(hops)))


def _ring(sizes: dict[Any, int], part: float) -> RooflineResult:
    """Each device passes its part of the data on, along one axis after the other, as the parts grow; each axis begins with its share."""
    if math.prod(sizes.values()) == 1:
        return _communication(sizes, 0, 0)
    part //= len(sizes)
    longest_first = sorted(sizes, key=lambda axis: -sizes[axis])
    moved = 0.0
    for axis in longest_first:
        moved += part * (sizes[axis] - 1)
        part *= sizes[axis]
    return _communication(longest_first, moved, sizes[longest_first[0]] * len(sizes))


def _all_gather(context: RooflineRuleContext, *shapes: RooflineShape, axis_name: Sequence[Any], **params: Any) -> RooflineResult:
    return _ring(_sizes(context, axis_name), sum(shape.bytes for shape in shapes))


def _reduce_scatter(context: RooflineRuleContext, *shapes: RooflineShape, axis_name: Sequence[Any], **params: Any) -> RooflineResult:
    sizes = _sizes(context, axis_name)
    return _ring(sizes, sum(shape.bytes for shape in shapes) / math.prod(sizes.values()))


def _psum(context: RooflineRuleContext, *shapes: RooflineShape, axes: Sequence[Any], **params: Any) -> RooflineResult:
    """The sums of parts, one on each device, and then everybody gets all parts."""
    once = _reduce_scatter(context, *shapes, axis_name=[axis for axis in axes if not isinstance(axis, int)])
    return 2 * once


def _extremum(context: RooflineRuleContext, *shapes: RooflineShape, axes: Sequence[Any], **params: Any) -> RooflineResult:
    """Counted as for one element, as in JAX's model, which has the extrema of scalars in mind (conditions, norms)."""
    return _ring(_sizes(context, axes), sum(shape.dtype.itemsize for shape in shapes))


def _all_to_all(context: RooflineRuleContext, *shapes: RooflineShape, axis_name: Sequence[Any], **params: Any) -> RooflineResult:
    """Half of all data crosses the middle of the smallest axis, over the links that are there, twice as many where an axis is a ring."""
    sizes = _sizes(context, axis_name)
    devices, smallest = math.prod(sizes.values()), min(sizes.values())
    if devices == 1:
        return _communication(sizes, 0, 0)
    links = smallest ** (len(sizes) - 1) * (2 if smallest > 2 else 1)
    return _communication(sizes, sum(shape.bytes for shape in shapes) * devices / 2 / links, sum(size / 2 for size in sizes.values()))


def _ppermute(context: RooflineRuleContext, *shapes: RooflineShape, axis_name: Sequence[Any], perm: Sequence[tuple[int, int]],
              **params: Any) -> RooflineResult:
    """Every part goes the shorter way around each axis in turn; the link that most parts share decides, and the longest way."""
    sizes = _sizes(context, axis_name)
    grid = tuple(sizes.values())
    if math.prod(grid) == 1:
        return _communication(sizes, 0, 0)
    used: Counter[Any] = Counter()
    longest = 0
    for source, target in perm:
        start, end = np.unravel_index(source, grid), np.unravel_index(target, grid)
        hops = 0
        for axis, size in enumerate(grid):
            there = int(end[axis] - start[axis]) % size
            direction, distance = (1, there) if there <= size - there else (-1, size - there)
            for hop in range(distance):
                place = (int(start[axis]) + direction * hop) % size
                ends = sorted((place, (place + direction) % size))
                used[axis, *(int(x) for i, x in enumerate(start) if i != axis), *ends] += 1
            hops += distance
        longest = max(longest, hops)
    return _communication(sizes, sum(shape.bytes for shape in shapes) * max(used.values(), default=0), longest)


def _primitives(module: Any) -> list[Primitive]:
    return [value for value in vars(module).values() if isinstance(value, Primitive)]


# What moves, converts, names or describes values.
_NOTHING: frozenset[Primitive] = frozenset((
    *_primitives(shape_primitives), *_primitives(slicing), *_primitives(stacking), *_primitives(sharding), *_primitives(hints),
    *_primitives(random_bits), *_primitives(checks), conversion.convert_element_type_p, conversion.bitcast_convert_type_p,
    conversion.complex_p, elementwise.copy_p, elementwise.reduce_precision_p, elementwise.stop_gradient_p,
    elementwise.optimization_barrier_p, name_p, control_primitives.platform_index_p, collective_primitives.axis_index_p,
    collective_primitives.pvary_p, callbacks.inspect_sharding_p,
    open_sums.preduced_p, open_sums.vary_unreduced_cast_p, open_sums.reduced_vary_cast_p))

_RULES: dict[Primitive, _Rule] = {
    elementwise.select_n_p: _select,
    **dict.fromkeys((cumulative.cumsum_p, cumulative.cumprod_p, cumulative.cummax_p, cumulative.cummin_p), _cumulative),
    cumulative.cumlogsumexp_p: _cumlogsumexp,
    **dict.fromkeys((primitive for primitive in _primitives(reduction) if primitive is not reduction.reduce_p), _reduction),
    **dict.fromkeys((windows.reduce_window_sum_p, windows.reduce_window_max_p, windows.reduce_window_min_p), _windows),
    dot_general_p: _dot_general, conv_general_dilated_p: _convolution, indexing.gather_p: _gather,
    **dict.fromkeys((indexing.scatter_p, indexing.scatter_add_p, indexing.scatter_sub_p, indexing.scatter_mul_p, indexing.scatter_min_p,
                     indexing.scatter_max_p), _scatter),
    **dict.fromkeys((callbacks.pure_callback_p, callbacks.io_callback_p, callbacks.debug_callback_p), _callback),
    collective_primitives.all_gather_p: _all_gather, collective_primitives.reduce_scatter_p: _reduce_scatter,
    **dict.fromkeys((collective_primitives.psum_p, collective_primitives.psum_shared_p), _psum),
    **dict.fromkeys((collective_primitives.pmax_p, collective_primitives.pmin_p), _extremum),
    collective_primitives.all_to_all_p: _all_to_all, collective_primitives.ppermute_p: _ppermute,
}
