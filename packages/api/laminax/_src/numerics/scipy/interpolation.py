"""Interpolation in arrays and on rectilinear grids, nearest and linear, as in `scipy.ndimage` and `scipy.interpolate`."""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops.elementwise import round as round_away
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import convert, ensure_array, ensure_arrays, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

# --- in arrays ---


def _mirrored(index: Any, size: int) -> Any:
    """Reflection at the centres of the first and the last element."""
    if size <= 1:
        return jnp.zeros_like(index)
    period = 2 * size - 2
    index = index % period
    return jnp.minimum(index, period - index)


def _reflected(index: Any, size: int) -> Any:
    """Reflection at the outer borders of the first and the last element."""
    index = index % (2 * size)
    return jnp.minimum(index, 2 * size - 1 - index)


_INDEX_MODES: dict[str, Callable[..., Any]] = {
    "constant": lambda index, size: jnp.clip(index, 0, size - 1), "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size, "mirror": _mirrored, "reflect": _reflected}


def map_coordinates(input: ArrayLike, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: ArrayLike = 0.0) -> Array:
    """The values of an array at points between its elements.

    Args:
      input: an array.
      coordinates: for each of its axes an array of positions, which broadcast.
      order: 0 for the nearest element, 1 for linear interpolation.
      mode: what is beyond the borders: "constant", the nearest element ("nearest"), the array again ("wrap"), or mirrored
        at the last elements ("mirror") or at their outer borders ("reflect").
      cval: the value for "constant".

    Returns:
      An array of the coordinates' shape and the input's dtype.

    Raises:
      ValueError: if there is not one array of coordinates for each axis.
      NotImplementedError: for another order or mode.

    Example:
      >>> map_coordinates(numpy.array([0., 10., 20.]), [numpy.array([0.5, 1.25])], order=1)
      Array([ 5. , 12.5], dtype=float32)
    """
    if mode not in _INDEX_MODES:
        raise NotImplementedError(f"map_coordinates does not yet support mode {mode!r}: it must be one of "
                                  f"{', '.join(map(repr, _INDEX_MODES))}")
    if order not in (0, 1):
        raise NotImplementedError(f"map_coordinates requires order<=1: it must be 0 or 1, got {order!r}")
    input = ensure_array("map_coordinates", input)
    coordinates = list(coordinates)
    if len(coordinates) != len(shape_of(input)):
        raise ValueError("map_coordinates: coordinates must be a sequence of length input.ndim, but "
                         f"{len(coordinates)} != {len(shape_of(input))}")
    return _map_coordinates(input, cval, *coordinates, order=operator.index(order), mode=mode)


@fused(static_argnames=("order", "mode"))
def _map_coordinates(input: ArrayLike, cval: ArrayLike, *coordinates: ArrayLike, order: int, mode: str) -> Array:
    input = jnp.asarray(input)
    corners = []  # for each axis, index, weight and whether it is inside
    for coordinate, size in zip(coordinates, input.shape):
        (coordinate,) = ensure_arrays("map_coordinates", coordinate)
        coordinate = jnp.asarray(convert(coordinate, dtypes.to_inexact_dtype(get_aval(coordinate).dtype)))
        if order == 0:
            parts = [(round_away(coordinate).astype(np.int32), None)]
        else:
            low = jnp.floor(coordinate)
            upper = coordinate - low
            parts = [(low.astype(np.int32), 1 - upper), (low.astype(np.int32) + 1, upper)]
        corners.append([(_INDEX_MODES[mode](index, size), weight, (index >= 0) & (index < size)) for index, weight in parts])
    total = jnp.zeros((), input.dtype if order == 0 else dtypes.to_inexact_dtype(input.dtype))
    for corner in itertools.product(*corners):
        value = input[tuple(index for index, _, _ in corner)]
        if mode == "constant":
            inside = math.prod((inside for _, _, inside in corner), start=jnp.ones((), bool))
            value = jnp.where(inside, value, jnp.asarray(cval, dtype=input.dtype))
        for _, weight, _ in corner:
            value = value if weight is None else weight * value
        total = total + value
    if order == 1 and dtypes.issubdtype(input.dtype, dtypes.integer):
        total = round_away(total)
    return total.astype(input.dtype)


# --- on grids ---


class RegularGridInterpolator:
    """Interpolation of values on a rectilinear grid.

    Args:
      points: for each axis the coordinates of the grid, ascending or descending; ascending if they are traced.
      values: [n1, n2, ..., *rest], the values at the points.
      method: "linear" or "nearest".
      bounds_error: must be False.
      fill_value: what points outside of the grid get; None extrapolates.

    Raises:
      ValueError: if the method is unknown, or the shapes do not fit.
      NotImplementedError: for bounds_error=True.

    Example:
      >>> f = RegularGridInterpolator((numpy.array([0., 1.]),), numpy.array([5., 7.]))
      >>> f(numpy.array([[0.25]]))
      Array([5.5], dtype=float32)
    """

    def __init__(self, points: tuple[ArrayLike, ...], values: ArrayLike, method: str = "linear", bounds_error: bool = False,
                 fill_value: Any = math.nan) -> None:
        self._check_method(method)
        if bounds_error:
            raise NotImplementedError("RegularGridInterpolator: bounds_error=True is not supported, values are not known while a function "
                                      "is traced; compare the points with the grid")
        values = jnp.asarray(ensure_array("RegularGridInterpolator", values))
        if len(points) > values.ndim:
            raise ValueError(f"RegularGridInterpolator: there are {len(points)} point arrays, but values has {values.ndim} dimensions")
        self.values: Any = values.astype(dtypes.to_inexact_dtype(values.dtype))
        self.fill_value: Any = fill_value
        self.method: str = method
        self.bounds_error: bool = bounds_error
        grid = []
        for i, p in enumerate(points):
            known = p.concrete_value() if isinstance(p, Tracer) else np.asarray(p)
            steps = np.zeros(0) if known is None or known.ndim != 1 else np.diff(known)
            if np.shape(p) != values.shape[i:i + 1] or not (np.all(steps > 0) or np.all(steps < 0)):
                raise ValueError(f"RegularGridInterpolator: the points in axis {i} must be a vector of {values.shape[i]} elements, "
                                 f"strictly ascending or descending, got shape {np.shape(p)}")
            if len(steps) and steps[0] < 0:
                p, self.values = p[::-1], jnp.flip(self.values, i)
            grid.append(jnp.asarray(p))
        self.grid: tuple[Any, ...] = tuple(grid)

    @staticmethod
    def _check_method(method: str) -> None:
        if method not in ("linear", "nearest"):
            raise ValueError(f"RegularGridInterpolator: method must be 'linear' or 'nearest', got {method!r}")

    def __call__(self, xi: Any, method: str | None = None) -> Any:
        """The values at points.

        Args:
          xi: [..., d], or a tuple of d arrays that broadcast.
          method: another method than the interpolator's.

        Returns:
          [..., *rest].
        """
        method = self.method if method is None else method
        self._check_method(method)
        if isinstance(xi, tuple):
            xi = jnp.stack(jnp.broadcast_arrays(*xi), axis=-1)
        xi = jnp.asarray(xi)
        xi = xi[:, None] if xi.ndim == 1 and len(self.grid) == 1 else xi
        if xi.shape[-1:] != (len(self.grid),):
            raise ValueError(f"RegularGridInterpolator: the points xi must be [..., {len(self.grid)}], got {get_aval(xi).str_short()}")
        batch, flat = xi.shape[:-1], jnp.reshape(xi, (-1, len(self.grid)))
        result = self._interpolated(flat, method)
        if self.fill_value is not None:
            inside = math.prod(((x >= g[0]) & (x <= g[-1]) for x, g in zip(flat.T, self.grid)), start=jnp.ones(len(flat), bool))
            result = jnp.where(jnp.reshape(inside, (-1, *[1] * (result.ndim - 1))), result, self.fill_value)
        return jnp.reshape(result, (*batch, *self.values.shape[len(self.grid):]))

    def _interpolated(self, points: Array, method: str) -> Array:
        corners = []
        for x, g in zip(points.T, self.grid):
            i = jnp.clip(jnp.searchsorted(g, x, side="right") - 1, 0, max(len(g) - 2, 0))
            step = g[jnp.minimum(i + 1, len(g) - 1)] - g[i]
            part = jnp.where(step == 0, 0, (x - g[i]) / jnp.where(step == 0, 1, step))
            if method == "nearest":
                corners.append([(jnp.where(part <= 0.5, i, jnp.minimum(i + 1, len(g) - 1)), jnp.ones_like(part))])
            else:
                corners.append([(i, 1 - part), (jnp.minimum(i + 1, len(g) - 1), part)])
        total = 0
        rank = self.values.ndim - len(self.grid)
        for corner in itertools.product(*corners):
            weight = math.prod(w for _, w in corner)
            total = total + self.values[tuple(i for i, _ in corner)] * jnp.reshape(weight, (-1, *[1] * rank))
        return total
