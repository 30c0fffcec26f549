"""NumPy meaning of windowed reductions: a fold over the places of the window, for all windows at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import windows as ops
from laminax_ir.ops.elementwise import ge_p
from laminax_ir.ops.reduction import identity, split_operands
from laminax_ir.reference.convolution import padded, window_part
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.reference.reduction import apply_elementwise
from laminax_ir.reference.widening import widened

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import ClosedJaxpr
    from laminax_ir.programs.primitive import Primitive
    from laminax_ir.types.annotations import ArrayLike


def _parts(x: np.ndarray, fill: ArrayLike, *, window_dimensions: tuple[int, ...], window_strides: tuple[int, ...],
           padding: tuple[tuple[int, ...], ...], base_dilation: tuple[int, ...], window_dilation: tuple[int, ...]) -> Iterator[Any]:
    """For each place of the window, in row-major order, the elements that all windows have there."""
    sizes = ops.windowed_shape("window", x.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    x = padded(x, fill, padding, base_dilation)
    for place in np.ndindex(*window_dimensions):
        yield window_part(x, place, window_dilation, window_strides, sizes)


def _define(primitive: Primitive, monoid: str, ufunc: Callable) -> None:
    @reference_rule(primitive)
    def rule(x: np.ndarray, **window: Any) -> Any:
        fill = identity(monoid, x.dtype)
        result = None
        for part in _parts(widened(x), fill, **window):
            result = part if result is None else ufunc(result, part)
        return result


_define(ops.reduce_window_sum_p, "sum", np.add)
_define(ops.reduce_window_max_p, "max", np.maximum)
_define(ops.reduce_window_min_p, "min", np.minimum)


@reference_rule(ops.reduce_window_p)
def _reduce_window(*values: np.ndarray, jaxpr: ClosedJaxpr, **window: Any) -> Any:
    operands, inits = split_operands("reduce_window", values)
    results = None
    for parts in zip(*(_parts(x, init, **window) for x, init in zip(operands, inits))):
        if results is None:
            results = [np.broadcast_to(init, parts[0].shape) for init in inits]
        results = apply_elementwise(jaxpr, [*results, *parts])
    return results


def _extreme_places(operand: np.ndarray, select_prim: Primitive, **window: Any) -> ArrayLike:
    """For each window the flat index of its extreme element in the operand, -1 where a window has none.

    Padding is never selected; the first of equal elements is.
    """
    return _selected_places(widened(operand), np.greater_equal if select_prim is ge_p else np.less_equal, **window)


def _selected_places(operand: np.ndarray, compare: Callable, **window: Any) -> Any:
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
def _select_and_scatter_add(source: np.ndarray, operand: np.ndarray, *, select_prim: Primitive, window_dimensions: tuple[int, ...],
                            window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...]) -> np.ndarray:
    ones = (1,) * operand.ndim
    places = _extreme_places(operand, select_prim, window_dimensions=window_dimensions, window_strides=window_strides,
                             padding=padding, base_dilation=ones, window_dilation=ones)
    source = widened(source)
    result = np.zeros(operand.size, source.dtype)
    np.add.at(result, places[places >= 0], source[places >= 0])
    return result.reshape(operand.shape)


@reference_rule(ops.select_and_scatter_p)
def _select_and_scatter(operand: np.ndarray, source: np.ndarray, init: np.ndarray, *, select_jaxpr: ClosedJaxpr, scatter_jaxpr: ClosedJaxpr,
                        **window: Any) -> np.ndarray:
    ones = (1,) * operand.ndim
    places = _selected_places(operand, lambda best, value: apply_elementwise(select_jaxpr, [best, value])[0], **window,
                              base_dilation=ones, window_dilation=ones)
    result = np.full(operand.size, init, operand.dtype)
    for place, value in zip(places.ravel(), source.ravel()):
        if place >= 0:
            (result[place],) = apply_elementwise(scatter_jaxpr, [result[place], value])
    return result.reshape(operand.shape)


@reference_rule(ops.select_and_gather_add_p)
def _select_and_gather_add(tangents: np.ndarray, operand: np.ndarray, *, select_prim: Primitive, **window: Any) -> np.ndarray:
    places = _extreme_places(operand, select_prim, **window)
    if operand.size == 0:
        return np.full(places.shape, tangents.dtype.type(0))
    return np.where(places >= 0, tangents.ravel()[places], tangents.dtype.type(0))
