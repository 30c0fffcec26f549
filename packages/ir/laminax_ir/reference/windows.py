"""NumPy meaning of windowed reductions: a fold over the places of the window, for all windows at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import windows as ops
from laminax_ir.ops.elementwise import ge_p
from laminax_ir.ops.reduction import identity, split_operands
from laminax_ir.reference.convolution import padded, window_part
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.reference.reduction import apply_elementwise
from laminax_ir.reference.widening import widened


def _parts(x: Any, fill: Any, *, window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any,
           window_dilation: Any) -> Any:
    """For each place of the window, in row-major order, the elements that all windows have there."""
    sizes = ops.windowed_shape("window", x.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    x = padded(x, fill, padding, base_dilation)
    for place in np.ndindex(*window_dimensions):
        yield window_part(x, place, window_dilation, window_strides, sizes)


def _define(primitive: Any, monoid: str, ufunc: Any) -> None:
    @reference_rule(primitive)
    def rule(x: Any, **window: Any) -> Any:
        fill = identity(monoid, x.dtype)
        result = None
        for part in _parts(widened(x), fill, **window):
            result = part if result is None else ufunc(result, part)
        return result


_define(ops.reduce_window_sum_p, "sum", np.add)
_define(ops.reduce_window_max_p, "max", np.maximum)
_define(ops.reduce_window_min_p, "min", np.minimum)


@reference_rule(ops.reduce_window_p)
def _reduce_window(*values: Any, jaxpr: Any, **window: Any) -> Any:
    operands, inits = split_operands("reduce_window", values)
    results = None
    for parts in zip(*(_parts(x, init, **window) for x, init in zip(operands, inits))):
        if results is None:
            results = [np.broadcast_to(init, parts[0].shape) for init in inits]
        results = apply_elementwise(jaxpr, [*results, *parts])
    return results


def _extreme_places(operand: Any, select_prim: Any, **window: Any) -> Any:
    """For each window the flat index of its extreme element in the operand, -1 where a window has none.

    Padding is never selected; the first of equal elements is.
    """
    return _selected_places(widened(operand), np.greater_equal if select_prim is ge_p else np.less_equal, **window)


def _selected_places(operand: Any, compare: Any, **window: Any) -> Any:
    """As `_extreme_places`, of the element that `compare(so far, next)` keeps, each time it is asked."""
    places = np.arange(operand.size).reshape(operand.shape)
    best: Any = None
    chosen: Any = None
    for value, place in zip(_parts(operand, 0, **window), _parts(places, -1, **window)):
        if best is None:
            best, chosen = value, place
            continue
        keep = (chosen >= 0) & compare(best, value) | (place < 0)
        best, chosen = np.where(keep, best, value), np.where(keep, chosen, place)
    return chosen


@reference_rule(ops.select_and_scatter_add_p)
def _select_and_scatter_add(source: Any, operand: Any, *, select_prim: Any, window_dimensions: Any, window_strides: Any,
                            padding: Any) -> Any:
    ones = (1,) * operand.ndim
    places = _extreme_places(operand, select_prim, window_dimensions=window_dimensions, window_strides=window_strides,
                             padding=padding, base_dilation=ones, window_dilation=ones)
    source = widened(source)
    result = np.zeros(operand.size, source.dtype)
    np.add.at(result, places[places >= 0], source[places >= 0])
    return result.reshape(operand.shape)


@reference_rule(ops.select_and_scatter_p)
def _select_and_scatter(operand: Any, source: Any, init: Any, *, select_jaxpr: Any, scatter_jaxpr: Any, **window: Any) -> Any:
    ones = (1,) * operand.ndim
    places = _selected_places(operand, lambda best, value: apply_elementwise(select_jaxpr, [best, value])[0], **window,
                              base_dilation=ones, window_dilation=ones)
    result = np.full(operand.size, init, operand.dtype)
    for place, value in zip(places.ravel(), source.ravel()):
        if place >= 0:
            (result[place],) = apply_elementwise(scatter_jaxpr, [result[place], value])
    return result.reshape(operand.shape)


@reference_rule(ops.select_and_gather_add_p)
def _select_and_gather_add(tangents: Any, operand: Any, *, select_prim: Any, **window: Any) -> Any:
    places = _extreme_places(operand, select_prim, **window)
    if operand.size == 0:
        return np.full(places.shape, tangents.dtype.type(0))
    return np.where(places >= 0, tangents.ravel()[places], tangents.dtype.type(0))
