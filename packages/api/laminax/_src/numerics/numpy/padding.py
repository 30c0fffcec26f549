"""pad, in all of NumPy's modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, is_constant_shape, max_dim
from laminax_ir.types import dtypes

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import averages, quantiles, reductions
from laminax._src.numerics.numpy.apply import apply_along_axis
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_int,
    convert,
    dtype_of,
    ensure_array,
    is_host_value,
    one_axis,
    positions,
    shape_of,
    size_scalar,
)
from laminax._src.numerics.numpy.conversion import asarray
from laminax._src.numerics.numpy.ranges import linspace
from laminax._src.numerics.numpy.reshaping import broadcast_to
from laminax._src.numerics.numpy.taking import take

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def pad(array: Any, pad_width: Any, mode: str | Callable = "constant", **kwargs: Any) -> Array:
    """Adds elements at the ends of the axes.

    Args:
      array: an array.
      pad_width: how many before and after along each axis: ((before, after), ...), one pair for all axes, or one number
        for all ends; a dict from axis to number or pair pads only these.
      mode: "constant" (with `constant_values`, by default 0), "edge", "reflect" and "symmetric" (with `reflect_type`
        "even" or "odd"), "wrap", "empty", "linear_ramp" (with `end_values`), "maximum", "minimum", "mean", "median" (with
        `stat_length`), or a function as for `numpy.pad` that returns the padded vector.
      **kwargs: what belongs to the mode.

    Raises:
      ValueError: if the widths do not fit, or are negative but for "constant".
      NotImplementedError: for an unknown mode.

    Example:
      >>> jnp.pad(jnp.array([1, 2]), (1, 2))
      Array([0, 1, 2, 0, 0], dtype=int32)
    """
    array = as_array(ensure_array("pad", array))
    widths = _pad_widths(pad_width, len(array.shape))
    result = _padded(array, widths, mode, kwargs)
    if array.aval.weak_type and not result.aval.weak_type:
        return op.convert_element_type(result, dtype_of(result), weak_type=True)
    return result


def _padded(array: Any, widths: tuple[tuple[SymbolicDim | int, ...], ...], mode: Any, kwargs: dict[Any, Any]) -> Any:
    if callable(mode):
        return _pad_with_function(array, widths, mode, kwargs)
    allowed = _PAD_OPTIONS.get(mode) if isinstance(mode, str) else None
    if allowed is None:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad. Expected one of {', '.join(_PAD_OPTIONS)}, or a "
                                  "function.")
    if unknown := set(kwargs) - set(allowed):
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}; it takes {allowed or 'none'}")
    if mode != "constant" and any(n < 0 for pair in widths for n in pair):
        raise ValueError(f"pad: widths must not be negative with mode={mode!r}, got {widths}")
    if mode == "constant":
        return _pad_constant(array, kwargs.get("constant_values", 0), widths=widths)
    if mode == "empty":
        return _pad_constant(array, 0, widths=widths)
    if mode == "linear_ramp":
        return _pad_ramp(array, kwargs.get("end_values", 0), widths=widths)
    if mode in ("maximum", "minimum", "mean", "median"):
        lengths = kwargs.get("stat_length")
        lengths = None if lengths is None else _pad_widths(lengths, len(array.shape))
        return _pad_statistic(array, widths=widths, mode=mode, lengths=lengths)
    return _pad_copies(array, widths=widths, mode=mode, odd=kwargs.get("reflect_type", "even") == "odd")


_PAD_OPTIONS: dict[str, list[str]] = {
    "constant": ["constant_values"], "edge": [], "empty": [], "linear_ramp": ["end_values"], "maximum": ["stat_length"],
    "mean": ["stat_length"], "median": ["stat_length"], "minimum": ["stat_length"], "reflect": ["reflect_type"],
    "symmetric": ["reflect_type"], "wrap": []}


def _pad_widths(pad_width: Any, rank: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        pairs: list[tuple[int, int]] = [(0, 0)] * rank
        for axis, width in pad_width.items():
            width = (width, width) if np.ndim(width) == 0 else tuple(width)
            low, high = (concrete_int("pad", "a width", n) for n in width)
            pairs[one_axis("pad", axis, rank)] = low, high
        return tuple(pairs)
    try:
        widths = np.asarray(pad_width)
        if not np.issubdtype(widths.dtype, np.integer) and not all(type(width) is SymbolicDim or isinstance(width, int)
                                                                   for width in widths.flat):
            raise TypeError(f"pad: widths must be integers, got {pad_width!r}")
        pairs = np.broadcast_to(widths, (rank, 2)).tolist()
    except ValueError:
        raise ValueError(f"pad: pad_width must be one number, a pair, or a pair for each of the {rank} axes, got "
                         f"{pad_width!r}") from None
    return tuple((low, high) for low, high in pairs)


def _end_values(name: str, values: Any, rank: int, dtype: Any) -> list[tuple[Any, Any]]:
    """A value for each end of each axis."""
    values = np.asarray(values) if isinstance(values, (list, tuple)) and _is_host_nested(values) else values
    if isinstance(values, (list, tuple)):
        values = asarray(values)
    if shape_of(values) == ():
        value = convert(values, dtype)
        return [(value, value)] * rank
    full = broadcast_to(convert(values, dtype), (rank, 2))
    return [(slicing_ops.index_in_dim(slicing_ops.index_in_dim(full, i, 0, False), 0, 0, False),
             slicing_ops.index_in_dim(slicing_ops.index_in_dim(full, i, 0, False), 1, 0, False)) for i in range(rank)]


def _is_host_nested(values: Any) -> bool:
    return all(_is_host_nested(v) for v in values) if isinstance(values, (list, tuple)) else is_host_value(values)


def _pad_constant(array: Any, constant_values: int, widths: tuple[tuple[SymbolicDim | int, ...], ...]) -> Any:
    if isinstance(constant_values, (list, tuple)):
        constant_values = asarray(constant_values)
    return _pad_with_constants(array, constant_values, widths=widths)


@fused(static_argnames=("widths",))
def _pad_with_constants(array: ArrayLike, constant_values: Any, widths: Any) -> Any:
    dtype = dtype_of(array)
    if shape_of(ensure_array("pad", constant_values)) == ():
        return shape_ops.pad(array, convert(constant_values, dtype), [(low, high, 0) for low, high in widths])
    for axis, (ends, (low, high)) in enumerate(zip(_end_values("pad", constant_values, len(widths), dtype), widths)):
        for value, config in ((ends[0], (low, 0, 0)), (ends[1], (0, high, 0))):
            array = shape_ops.pad(array, value, [config if i == axis else (0, 0, 0) for i in range(len(widths))])
    return array


@fused(static_argnames=("widths", "mode", "odd"))
def _pad_copies(array: ArrayLike, widths: tuple[tuple[int, ...], ...], mode: str, odd: bool) -> Array:
    """The modes whose new elements are elements of the array: by an index for each new place, axis by axis."""
    for axis, (low, high) in enumerate(widths):
        if low == high == 0:
            continue
        size = array.shape[axis]
        if size == 0:
            raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        if odd and mode in ("reflect", "symmetric"):
            array = _pad_odd(array, axis, low, high, mode)
            continue
        if not is_constant_shape((size, low, high)):
            array = take(array, _symbolic_places(size, low, high, mode), axis, mode="clip")
            continue
        places = np.arange(-low, size + high)
        if mode == "edge":
            places = np.clip(places, 0, size - 1)
        elif mode == "wrap":
            places = places % size
        elif mode == "symmetric":
            places = places % (2 * size)
            places = np.where(places < size, places, 2 * size - 1 - places)
        else:
            period = max(2 * (size - 1), 1)
            places = places % period
            places = np.where(places < size, places, period - places)
        array = _taken(array, places, axis)
    return array


def _symbolic_places(size: Any, low: Any, high: Any, mode: str) -> Array:
    """The index for each new place, where the numbers of places are symbolic."""
    places = op.sub(positions(size + low + high), shape_ops.full((size + low + high,), size_scalar(low)))

    def whole(n: Any) -> Array:
        return shape_ops.full(places.shape, size_scalar(n))

    if mode == "edge":
        return op.clamp(size_scalar(0), places, size_scalar(size - 1))
    if mode == "wrap":
        return operators.remainder(places, whole(size))
    period = 2 * size if mode == "symmetric" else max_dim(2 * (size - 1), 1)
    places = operators.remainder(places, whole(period))
    mirrored = op.sub(whole(period - 1 if mode == "symmetric" else period), places)
    return op.select(op.lt(places, whole(size)), places, mirrored)


def _taken(array: ArrayLike, places: np.ndarray, axis: int) -> Array:
    """Elements at known places along an axis, as few slices where they are runs."""
    runs = _runs(places)
    if len(runs) > 6:
        return take(array, places.astype(np.int32), axis, mode="clip")
    return shape_ops.concatenate([_run(array, run, axis) for run in runs], axis)


def _runs(places: np.ndarray) -> list[tuple[int, int, int]]:
    """(first, length, step) of runs of equal step."""
    runs: list[tuple[int, int, int]] = []
    values = places.tolist()
    i = 0
    while i < len(values):
        step = values[i + 1] - values[i] if i + 1 < len(values) else 1
        if step not in (-1, 0, 1):
            step = 1
        j = i + 1
        while j < len(values) and values[j] - values[j - 1] == step:
            j += 1
        runs.append((values[i], j - i, step))
        i = j
    return runs


def _run(array: ArrayLike, run: tuple[int, int, int], axis: int) -> Array:
    first, length, step = run
    if step == 1:
        return slicing_ops.slice_in_dim(array, first, first + length, 1, axis)
    if step == -1:
        return shape_ops.rev(slicing_ops.slice_in_dim(array, first - length + 1, first + 1, 1, axis), (axis,))
    one = slicing_ops.slice_in_dim(array, first, first + 1, 1, axis)
    return shape_ops.broadcast_in_dim(one, tuple(length if i == axis else n for i, n in enumerate(one.shape)),
                                      tuple(range(len(one.shape))))


def _pad_odd(array: Any, axis: int, low: int, high: int, mode: str) -> Any:
    """Reflection through the end points: twice the edge less the mirrored elements, as often as it takes."""
    offset = 1 if mode == "reflect" else 0
    while low > 0 or high > 0:
        size = array.shape[axis]
        if size == 1:
            return _taken(array, np.zeros(size + low + high, np.int64), axis)
        reach = size - offset
        step_low, step_high = min(low, reach), min(high, reach)
        pieces = [array]
        if step_low:
            edge = slicing_ops.slice_in_dim(array, 0, 1, 1, axis)
            mirrored = shape_ops.rev(slicing_ops.slice_in_dim(array, offset, offset + step_low, 1, axis), (axis,))
            pieces.insert(0, operators.subtract(operators.add(edge, edge), mirrored))
        if step_high:
            edge = slicing_ops.slice_in_dim(array, size - 1, size, 1, axis)
            mirrored = shape_ops.rev(slicing_ops.slice_in_dim(array, size - offset - step_high, size - offset, 1, axis), (axis,))
            pieces.append(operators.subtract(operators.add(edge, edge), mirrored))
        array = shape_ops.concatenate(pieces, axis)
        low, high = low - step_low, high - step_high
    return array


def _pad_ramp(array: Array, end_values: int, widths: Any) -> Array:
    if isinstance(end_values, (list, tuple)):
        end_values = asarray(end_values)
    return _pad_ramps(array, end_values, widths=widths)


@fused(static_argnames=("widths",))
def _pad_ramps(array: ArrayLike, end_values: ArrayLike, widths: tuple[tuple[int, ...], ...]) -> Array:
    dtype = dtype_of(array)
    for axis, (ends, (low, high)) in enumerate(zip(_end_values("pad", end_values, len(widths), dtype), widths)):
        pieces = [array]
        for which, width in ((0, low), (1, high)):
            if not width:
                continue
            edge = slicing_ops.index_in_dim(array, 0 if which == 0 else array.shape[axis] - 1, axis, keepdims=False)
            ramp = linspace(ends[which], edge, width, endpoint=False, dtype=dtype, axis=axis)
            pieces = [ramp, *pieces] if which == 0 else [*pieces, shape_ops.rev(ramp, (axis,))]
        array = shape_ops.concatenate(pieces, axis)
    return array


@fused(static_argnames=("widths", "mode", "lengths"))
def _pad_statistic(array: Any, widths: Any, mode: Any, lengths: Any) -> Array:
    functions: dict[str, Callable] = {"maximum": reductions.max, "minimum": reductions.min, "mean": averages.mean,
                "median": quantiles.median}
    dtype = dtype_of(array)
    for axis, (low, high) in enumerate(widths):
        size = array.shape[axis]
        pieces = [array]
        for which, width in ((0, low), (1, high)):
            if not width:
                continue
            length = size if lengths is None else min(lengths[axis][which], size)
            if length == 0:
                raise ValueError(f"pad: stat_length of 0 yields no value for padding with mode={mode!r}")
            part = slicing_ops.slice_in_dim(array, 0 if which == 0 else size - length, length if which == 0 else size, 1, axis)
            value = functions[mode](part, axis=axis, keepdims=True)
            if dtypes.issubdtype(dtype, dtypes.integer) and mode in ("mean", "median"):
                value = op.round(value, op.RoundingMethod.TO_NEAREST_EVEN)
            value = convert(value, dtype)
            value = shape_ops.broadcast_to_shape(value, tuple(width if i == axis else n for i, n in enumerate(value.shape)))
            pieces = [value, *pieces] if which == 0 else [*pieces, value]
        array = shape_ops.concatenate(pieces, axis)
    return array


def _pad_with_function(array: Any, widths: Any, function: Callable, kwargs: dict) -> Any:
    array = shape_ops.pad(array, convert(0, dtype_of(array)), [(low, high, 0) for low, high in widths])
    for axis in range(len(array.shape)):
        array = apply_along_axis(lambda vector, axis=axis: function(vector, widths[axis], axis, kwargs), axis, array)
    return array
