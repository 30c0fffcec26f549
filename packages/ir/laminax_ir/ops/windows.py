"""Windowed reductions: a reduction of each of the overlapping windows of an array (pooling), and their adjoints.

A window has one size, stride, padding and dilation per axis of the operand; padding and the holes of a base dilation
count as the identity. Source: StableHLO specification, `reduce_window` and `select_and_scatter`.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir.ops.convolution import canonical_pads, check_per_axis, dilated, int_tuple, padtype_to_pads, windows_along
from laminax_ir.ops.dtype_kinds import NUMBER, NUMBER_BOOL, REAL, check_dtype
from laminax_ir.ops.elementwise import ge_p, le_p
from laminax_ir.ops.elementwise_avals import joined_named_shape
from laminax_ir.ops.monoids import flatten_monoid, is_leaf, stage_monoid, unflatten_results
from laminax_ir.ops.reduction import check_monoid, special_monoid, split_operands
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import DTypeError, ShapeError


# Pure in its arguments, and a program's layers repeat them: worth remembering on the staging path.
@functools.lru_cache(maxsize=1024)
def windowed_shape(name: str, shape: tuple[int, ...], window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any,
                   window_dilation: Any) -> tuple[int, ...]:
    """The number of windows along each axis.

    Args:
      name: the operation, for messages.
      shape: the operand's shape.
      window_dimensions, window_strides, base_dilation, window_dilation: a positive int per axis.
      padding: a pair (low, high) per axis.

    Returns:
      A tuple of ints, one per axis.

    Raises:
      ShapeError: if a parameter has not one entry per axis.
      ValueError: if a size, stride or dilation is not positive, or negative padding cuts off more than there is.
    """
    rank = len(shape)
    for what, values in (("window_dimensions", window_dimensions), ("window_strides", window_strides),
                         ("base_dilation", base_dilation), ("window_dilation", window_dilation)):
        check_per_axis(name, what, values, rank, f"axis of the operand of shape {shape}")
    if len(padding) != rank:
        raise ShapeError(f"{name}: padding must have one pair per axis of the operand of shape {shape}, got {padding}")
    result = []
    for i, size in enumerate(shape):
        size = dilated(size, base_dilation[i]) + padding[i][0] + padding[i][1]
        if size < 0:
            raise ValueError(f"{name}: negative padding {padding[i]} is larger than axis {i} of the operand of shape {shape} with "
                             f"base_dilation {base_dilation[i]}")
        result.append(windows_along(size, dilated(window_dimensions[i], window_dilation[i]), window_strides[i]))
    return tuple(result)


def _windowed(name: str, kinds: tuple) -> Primitive:
    primitive = Primitive(name, family="windows")

    @shape_rule(primitive)
    def rule(x: ShapedArray, *, window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any,
             window_dilation: Any) -> ShapedArray:
        check_dtype(name, x.dtype, kinds)
        return x.update(shape=windowed_shape(name, x.shape, window_dimensions, window_strides, padding, base_dilation,
                                             window_dilation))

    return primitive


reduce_window_sum_p = _windowed("reduce_window_sum", NUMBER)
reduce_window_max_p = _windowed("reduce_window_max", NUMBER_BOOL)
reduce_window_min_p = _windowed("reduce_window_min", NUMBER_BOOL)
reduce_window_p = Primitive("reduce_window", multiple_results=True, family="windows")
select_and_scatter_p = Primitive("select_and_scatter", family="windows")
select_and_scatter_add_p = Primitive("select_and_scatter_add", family="windows")
select_and_gather_add_p = Primitive("select_and_gather_add", family="windows")


@shape_rule(reduce_window_p)
def _reduce_window_shape(*avals: ShapedArray, jaxpr: ClosedJaxpr, window_dimensions: tuple[int, ...], window_strides: tuple[int, ...],
                         padding: tuple[tuple[int, ...], ...], base_dilation: tuple[int, ...],
                         window_dilation: tuple[int, ...]) -> list[ShapedArray]:
    operands, inits = split_operands("reduce_window", avals)
    check_monoid("reduce_window", operands, inits, jaxpr)
    shape = windowed_shape("reduce_window", operands[0].shape, window_dimensions, window_strides, padding, base_dilation,
                           window_dilation)
    named = joined_named_shape(avals)
    return [ShapedArray(shape, x.dtype, x.weak_type and init.weak_type, named_shape=named)
            for x, init in zip(operands, inits)]


@shape_rule(select_and_scatter_add_p)
def _select_and_scatter_add_shape(source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, window_dimensions: tuple[int, ...],
                                  window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...]) -> ShapedArray:
    name = "select_and_scatter_add"
    ones = (1,) * operand.ndim
    shape = windowed_shape(name, operand.shape, window_dimensions, window_strides, padding, ones, ones)
    _check_selection(name, select_prim, operand)
    if source.shape != shape or source.dtype != operand.dtype:
        raise ShapeError(f"{name}: the source must have one element per window and the operand's dtype, "
                         f"{operand.update(shape=shape).str_short()} for {operand.str_short()}; got {source.str_short()}")
    return operand.update(weak_type=source.weak_type and operand.weak_type,
                          named_shape=joined_named_shape((source, operand)))


@shape_rule(select_and_scatter_p)
def _select_and_scatter_shape(operand: ShapedArray, source: ShapedArray, init: ShapedArray, *, select_jaxpr: ClosedJaxpr,
                              scatter_jaxpr: ClosedJaxpr, window_dimensions: tuple[int, ...], window_strides: tuple[int, ...],
                              padding: tuple[tuple[int, ...], ...]) -> ShapedArray:
    name = "select_and_scatter"
    ones = (1,) * operand.ndim
    shape = windowed_shape(name, operand.shape, window_dimensions, window_strides, padding, ones, ones)
    if source.shape != shape or source.dtype != operand.dtype or init.shape or init.dtype != operand.dtype:
        raise ShapeError(f"{name}: the source must have one element per window, and the initial value none, of the operand's dtype: "
                         f"{operand.update(shape=shape).str_short()} and {operand.update(shape=()).str_short()} for "
                         f"{operand.str_short()}; got {source.str_short()} and {init.str_short()}")
    for what, jaxpr, dtype in (("select", select_jaxpr, np.dtype(bool)), ("scatter", scatter_jaxpr, operand.dtype)):
        if [(a.shape, a.dtype) for a in jaxpr.out_avals] != [((), dtype)]:
            raise DTypeError(f"{name}: `{what}` must return one scalar of dtype {dtypes.dtype_name(dtype)}, got "
                             f"{', '.join(a.str_short() for a in jaxpr.out_avals)}")
    return operand.update(weak_type=False, named_shape=joined_named_shape((operand, source, init)))


@shape_rule(select_and_gather_add_p)
def _select_and_gather_add_shape(tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, window_dimensions: tuple[int, ...],
                                 window_strides: tuple[int, ...], padding: tuple[tuple[int, ...], ...], base_dilation: tuple[int, ...],
                                 window_dilation: tuple[int, ...]) -> ShapedArray:
    name = "select_and_gather_add"
    shape = windowed_shape(name, operand.shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    _check_selection(name, select_prim, operand)
    if tangents.shape != operand.shape or tangents.dtype != operand.dtype:
        raise ShapeError(f"{name}: the tangents must have the operand's shape and dtype, got {tangents.str_short()} and "
                         f"{operand.str_short()}")
    return tangents.update(shape=shape, named_shape=joined_named_shape((tangents, operand)))


def _check_selection(name: str, select_prim: Primitive, operand: ShapedArray) -> None:
    if select_prim is not ge_p and select_prim is not le_p:
        raise ValueError(f"{name}: select_prim must be ge_p or le_p, got {select_prim}")
    if not any(dtypes.issubdtype(operand.dtype, kind) for kind in REAL):
        raise DTypeError(f"{name} does not accept dtype {dtypes.dtype_name(operand.dtype)}. Accepted dtypes are real numbers.")


# The functions


def reduce_window(operand: Any, init_value: Any, computation: Callable, window_dimensions: Sequence[int],
                  window_strides: Sequence[int] | None = None, padding: str = "VALID", base_dilation: Sequence[int] | None = None,
                  window_dilation: Sequence[int] | None = None) -> Any:
    """Reduces every window of one or several arrays by a monoid.

    Args:
      operand: an array or a pytree of arrays of one shape.
      init_value: scalars of the operands' dtypes, the identity of the computation, in the same pytree.
      computation: takes two pytrees of scalars like init_value and returns one; must be associative. The elementwise
        functions add, max and min with their identities have rules of their own.
      window_dimensions: the window's size along each axis.
      window_strides: steps between windows; 1 by default.
      padding: 'VALID', 'SAME', 'SAME_LOWER', or a pair (low, high) per axis.
      base_dilation: steps between elements of the operand; 1 by default.
      window_dilation: steps between elements of the window; 1 by default.

    Returns:
      Arrays of the operands' dtypes with one element per window, in the pytree of the operands.

    Raises:
      TypeError: if numbers of axes, shapes or dtypes do not fit.
      ValueError: if a size, stride or dilation is not positive.

    Example:
      >>> reduce_window(np.arange(6, dtype=np.float32), -np.inf, elementwise.max, (2,), (2,))
      array([1., 3., 5.], dtype=float32)
    """
    name = "reduce_window"
    flat, inits, treedef = flatten_monoid(name, operand, init_value, computation)
    avals = [get_aval(x) for x in flat]
    params = _window_params(name, avals[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation)
    if is_leaf(operand) and is_leaf(init_value):
        primitive = _special_primitives.get(special_monoid(computation, init_value, avals[0].dtype) or "")
        if primitive is not None:
            return primitive.bind(operand, **params)
    jaxpr = stage_monoid(name, computation, [get_aval(x).dtype for x in inits], treedef)
    return unflatten_results(reduce_window_p.bind(*flat, *inits, jaxpr=jaxpr, **params), treedef)


_special_primitives = {"sum": reduce_window_sum_p, "max": reduce_window_max_p, "min": reduce_window_min_p}


def _window_params(name: str, shape: Sequence[int], window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any,
                   window_dilation: Any) -> dict:
    rank = len(shape)
    window = int_tuple(name, "window_dimensions", window_dimensions)
    strides = int_tuple(name, "window_strides", window_strides, len(window))
    base_dilation = int_tuple(name, "base_dilation", base_dilation, len(window))
    window_dilation = int_tuple(name, "window_dilation", window_dilation, len(window))
    if isinstance(padding, str):
        for what, values in (("window_dimensions", window), ("window_strides", strides), ("base_dilation", base_dilation),
                             ("window_dilation", window_dilation)):
            check_per_axis(name, what, values, rank, f"axis of the operand of shape {shape}")
        padding = padtype_to_pads([dilated(n, d) for n, d in zip(shape, base_dilation)],
                                  [dilated(n, d) for n, d in zip(window, window_dilation)], strides, padding)
    return {"window_dimensions": window, "window_strides": strides, "padding": canonical_pads(name, padding, rank),
            "base_dilation": base_dilation, "window_dilation": window_dilation}


def select_and_scatter(operand: Any, select: Callable, window_dimensions: Sequence[int], window_strides: Sequence[int],
                       padding: Sequence[tuple[int, int]], source: Any, init_value: Any, scatter: Callable) -> Any:
    """Picks an element of each window and combines a source element into its place.

    Args:
      operand: an array.
      select: takes two scalars of the operand's dtype; returns a bool scalar, whether the first one is picked. A window is
        gone through in row-major order, without its padding.
      window_dimensions, window_strides, padding: as for `reduce_window`, padding as pairs.
      source: one element per window, of the operand's dtype.
      init_value: a scalar of that dtype: the result where nothing is combined.
      scatter: takes the element so far and the source's, scalars; returns the combined one. The order of windows that
        picked the same place is open, so it should be associative and commutative.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if numbers of axes, shapes or dtypes do not fit.
    """
    name = "select_and_scatter"
    aval = get_aval(operand)
    for what, fun in (("select", select), ("scatter", scatter)):
        if not callable(fun):
            raise TypeError(f"{name}: {what} must be callable, got {fun!r}")
    select_jaxpr, scatter_jaxpr = (stage_monoid(name, fun, [aval.dtype]) for fun in (select, scatter))
    return select_and_scatter_p.bind(
        operand, source, init_value, select_jaxpr=select_jaxpr, scatter_jaxpr=scatter_jaxpr,
        window_dimensions=int_tuple(name, "window_dimensions", window_dimensions),
        window_strides=int_tuple(name, "window_strides", window_strides), padding=canonical_pads(name, padding, aval.ndim))


def select_and_scatter_add(source: Any, operand: Any, select_prim: Primitive, window_dimensions: Sequence[int],
                           window_strides: Sequence[int], padding: Sequence[tuple[int, int]]) -> Any:
    """Adds each source element to the place of its window's extreme element: the adjoint of max or min pooling.

    Args:
      source: one element per window, of the operand's dtype.
      operand: a real array.
      select_prim: `ge_p` for the greatest element, `le_p` for the least; the first of equal ones.
      window_dimensions, window_strides, padding: as for `reduce_window`, padding as pairs.

    Returns:
      An array of the operand's shape and dtype.
    """
    name = "select_and_scatter_add"
    return select_and_scatter_add_p.bind(
        source, operand, select_prim=select_prim, window_dimensions=int_tuple(name, "window_dimensions", window_dimensions),
        window_strides=int_tuple(name, "window_strides", window_strides),
        padding=canonical_pads(name, padding, get_aval(operand).ndim))


def select_and_gather_add(tangents: Any, operand: Any, select_prim: Primitive, window_dimensions: Sequence[int],
                          window_strides: Sequence[int], padding: Sequence[tuple[int, int]],
                          base_dilation: Sequence[int] | None = None, window_dilation: Sequence[int] | None = None) -> Any:
    """For each window the tangent at the place of its extreme element: the derivative of max or min pooling.

    Args:
      tangents: an array of the operand's shape and dtype.
      operand: a real array.
      select_prim: `ge_p` for the greatest element, `le_p` for the least; the first of equal ones.
      window_dimensions, window_strides, padding, base_dilation, window_dilation: as for `reduce_window`, padding as pairs.

    Returns:
      An array of the operand's dtype with one element per window.
    """
    name = "select_and_gather_add"
    rank = get_aval(operand).ndim
    return select_and_gather_add_p.bind(
        tangents, operand, select_prim=select_prim, window_dimensions=int_tuple(name, "window_dimensions", window_dimensions),
        window_strides=int_tuple(name, "window_strides", window_strides), padding=canonical_pads(name, padding, rank),
        base_dilation=int_tuple(name, "base_dilation", base_dilation, rank),
        window_dilation=int_tuple(name, "window_dilation", window_dilation, rank))
