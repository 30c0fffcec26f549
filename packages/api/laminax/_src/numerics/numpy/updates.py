"""Writing by index: `x.at[index].set(y)` and its relatives, each a changed copy made by one scatter, or by an update of
one slice whose place is known.

Values out of bounds are dropped unless a mode says otherwise. Where an element is named several times, `add`,
`multiply`, `min` and `max` take all its values, `set` one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import indexing as indexing_ops
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import slicing as slicing_ops
from laminax_ir.ops.indexing import GatherScatterMode, ScatterDimensionNumbers
from laminax_ir.options import config
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy.arguments import convert, dtype_of, ensure_array, shape_of
from laminax._src.numerics.numpy.conversion import asarray
from laminax._src.numerics.numpy.gather_plans import make_plan
from laminax._src.numerics.numpy.index_items import Computed, Window, parse_index, scalar_masks_removed, separate
from laminax._src.numerics.numpy.indexing import read

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

    from laminax._src.numerics.numpy.gather_plans import Plan

_SCATTERS: dict[str, Callable] = {
    "set": indexing_ops.scatter, "add": indexing_ops.scatter_add, "subtract": indexing_ops.scatter_sub,
    "multiply": indexing_ops.scatter_mul, "min": indexing_ops.scatter_min, "max": indexing_ops.scatter_max}


def update(kind: str, x: Any, index: Any, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
           mode: Any = None, wrap_negative_indices: bool = True, function: Callable | None = None) -> Any:
    """A copy of x changed at an index.

    Args:
      kind: "set", "add", "subtract", "multiply", "min", "max" or "apply".
      x: an array.
      index: what stands between the brackets.
      values: an array or scalar that broadcasts to the shape of x[index]; None for "apply".
      indices_are_sorted, unique_indices, mode, wrap_negative_indices: see `IndexUpdate`.
      function: for "apply".
    """
    index, axis = scalar_masks_removed(x.shape, index)
    if axis is not None:
        wide = update(kind, shape_ops.expand_dims(x, (axis,)), index, values, indices_are_sorted=indices_are_sorted,
                      unique_indices=unique_indices, mode=mode, wrap_negative_indices=wrap_negative_indices, function=function)
        return shape_ops.squeeze(wide, (axis,))
    mode = GatherScatterMode.FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
    if values is not None:
        if isinstance(values, (list, tuple)):
            values = asarray(values)
        if type(values) is bool and dtypes.issubdtype(x.dtype, dtypes.integer):
            values = int(values)
        if type(values) is int and values >= 2**31 and dtypes.issubdtype(x.dtype, dtypes.unsignedinteger):
            values = x.dtype.type(values)  # which need not fit in the default integer dtype
        values = ensure_array(f"x.at[...].{kind}", values)
        _check_narrowing(x, values)
    spec, positions = separate(parse_index(x.shape, index))
    return _update(x, positions, values, kind=kind, spec=spec, mode=mode, indices_are_sorted=bool(indices_are_sorted),
                   unique_indices=bool(unique_indices), wrap=bool(wrap_negative_indices), function=function)


def _check_narrowing(x: Any, values: Any) -> None:
    dtype, own = dtype_of(values), dtype_of(x)
    if dtype == own or dtypes.is_extended(own):
        return
    try:
        fits = dtypes.result_type(x, values) == own
    except ValueError:
        if config.numpy_dtype_promotion.value == "strict":
            raise  # as it is for x + values
        fits = False
    if not fits:
        import warnings
        warnings.warn(
            f"scatter inputs have incompatible types: cannot safely cast value from dtype={dtypes.dtype_name(dtype)} to dtype="
            f"{dtypes.dtype_name(own)} with numpy_dtype_promotion={config.numpy_dtype_promotion.value!r}. In future this will be an error; "
            "convert the values with astype.", FutureWarning, stacklevel=4)


@fused(static_argnames=("kind", "spec", "mode", "indices_are_sorted", "unique_indices", "wrap", "function"))
def _update(x: ArrayLike, positions: Sequence[ArrayLike], values: ArrayLike | None, kind: str, spec: tuple[Any, ...], mode: Any,
            indices_are_sorted: Any, unique_indices: Any, wrap: bool, function: Any) -> Array:
    found = iter(positions)
    items = [next(found) if type(item) is Computed else (item, next(found)) if type(item) is Window else item for item in spec]
    plan = make_plan(x.shape, items, wrap)
    own = get_aval(x)
    options = {"indices_are_sorted": indices_are_sorted or plan.is_single, "unique_indices": unique_indices or plan.is_single,
               "mode": mode}
    dims = ScatterDimensionNumbers(plan.window_axes, plan.collapsed, plan.index_map)
    if 0 in plan.shape:
        return x
    if kind == "apply":
        return indexing_ops.scatter_apply(x, plan.indices, function, dims, update_shape=plan.shape, **options)
    dtype = own.dtype
    if not dtypes.is_extended(dtype):
        if kind != "set" and (promoted := dtypes.result_type(x, values)) != dtype:  # computed in the wider dtype, as the operator would
            x, values = convert(x, promoted), convert(values, promoted)
        else:
            values = convert(values, dtype)
    values = _as_updates(values, plan)
    is_split = own._split is not None or get_aval(values)._split is not None  # over explicit mesh axes, of which scatters can do more
    if kind == "set" and not is_split and (starts := _known_place(x.shape, plan)) is not None:
        return slicing_ops.dynamic_update_slice(x, shape_ops.reshape(values, plan.window_sizes), starts)
    result = _SCATTERS[kind](x, plan.indices, values, dims, **options)
    if dtype_of(result) != dtype:
        result = convert(result, dtype)
    return result


def _known_place(shape: tuple[Any, ...], plan: Plan) -> list[np.integer[Any]] | None:
    """Where one window begins that is known to lie inside; None if it is not.

    Written by `dynamic_update_slice`, whose derivatives keep the place as a constant: a scatter's index becomes an operand of the loops
    that a derivative makes, and the compiler then writes the window element by element.
    """
    if not plan.is_single or not isinstance(plan.indices, np.ndarray) or not all([type(n) is int for n in (*shape, *plan.window_sizes)]):
        return None
    starts = dict(zip(plan.index_map, plan.indices))
    if any([not 0 <= start <= shape[axis] - plan.window_sizes[axis] for axis, start in starts.items()]):
        return None
    return [starts.get(axis, plan.indices.dtype.type(0)) for axis in range(len(shape))]


def _as_updates(values: Any, plan: Plan) -> Any:
    """The values in the shape of the plan's result: broadcast, without new axes, backwards where the index is."""
    full = list(plan.shape)
    for axis in plan.new_axes:
        full.insert(axis, 1)
    shape = shape_of(values)
    if len(shape) > len(full) or any(n not in (1, m) for n, m in zip(reversed(shape), reversed(full))):
        raise ValueError(f"Incompatible shapes for broadcasting: {shape} and requested shape {tuple(full)}. The values of an update "
                         "must broadcast to the shape of x[index].")
    if plan.new_axes:
        if len(shape) == len(full):
            values = shape_ops.squeeze(values, plan.new_axes)
        else:
            values = shape_ops.squeeze(shape_ops.broadcast_to_shape(values, tuple(full)), plan.new_axes)
    values = shape_ops.broadcast_to_shape(values, plan.shape)
    return shape_ops.rev(values, plan.reversed_axes) if plan.reversed_axes else values


class IndexUpdate:
    """`x.at`: the index in brackets after it chooses elements, and the method called on `x.at[index]` says what to do with them.

    Example:
      >>> x = zeros(3)
      >>> x.at[1].set(5.)
      Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"IndexUpdate({self.array!r})"


class IndexUpdateRef:
    """`x.at[index]`: the methods make changed copies of x.

    Their common parameters: `mode` says what becomes of positions out of bounds: "drop" (the default; "fill" when
    reading), "clip" to the nearest, or "promise_in_bounds", the caller's word that there are none.
    `indices_are_sorted` and `unique_indices` are the caller's word that the positions increase, and that none occurs
    twice. `wrap_negative_indices` says whether negative positions count from the end. `out_sharding` says how the
    result is split over explicit mesh axes.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(self, *, fill_value: int | None = None, indices_are_sorted: bool = False, mode: str | None = None, out_sharding: Any = None,
            unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x[index], with `fill_value` (a static scalar) for what is out of bounds in mode "fill"."""
        if out_sharding is not None:
            return split_result("ndarray.at[...].get", out_sharding,
                                lambda: read(self.array, self.index, mode, fill_value, indices_are_sorted,
                                             unique_indices, wrap_negative_indices))
        return read(self.array, self.index, mode, fill_value, indices_are_sorted, unique_indices, wrap_negative_indices)

    def set(self, values: Any, *, indices_are_sorted: bool = False, mode: Any = None, out_sharding: Any = None,
            unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x with x[index] = values."""
        return self._updated("set", values, indices_are_sorted, mode, out_sharding, unique_indices, wrap_negative_indices)

    def add(self, values: Any, *, indices_are_sorted: bool = False, mode: Any = None, out_sharding: Any = None,
            unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x with x[index] += values."""
        return self._updated("add", values, indices_are_sorted, mode, out_sharding, unique_indices, wrap_negative_indices)

    def subtract(self, values: ArrayLike, *, indices_are_sorted: bool = False, mode: Any = None, out_sharding: Any = None,
                 unique_indices: bool = False, wrap_negative_indices: bool = True) -> Array:
        """x with x[index] -= values."""
        return self._updated("subtract", values, indices_are_sorted, mode, out_sharding, unique_indices, wrap_negative_indices)

    def multiply(self, values: ArrayLike, *, indices_are_sorted: bool = False, mode: Any = None, out_sharding: Any = None,
                 unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x with x[index] *= values."""
        return self._updated("multiply", values, indices_are_sorted, mode, out_sharding, unique_indices, wrap_negative_indices)

    mul = multiply

    def divide(self, values: float, *, indices_are_sorted: bool = False, mode: Any = None, out_sharding: Any = None,
               unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x with x[index] /= values."""
        divisors = self._factors(values, indices_are_sorted, mode, out_sharding, unique_indices, wrap_negative_indices)
        return operators.true_divide(self.array, divisors)

    def power(self, values: float, *, indices_are_sorted: bool = False, mode: Any = None, out_sharding: Any = None,
              unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x with x[index] **= values."""
        exponents = self._factors(values, indices_are_sorted, mode, out_sharding, unique_indices, wrap_negative_indices)
        return operators.power(self.array, exponents)

    def min(self, values: ArrayLike, *, indices_are_sorted: bool = False, mode: Any = None, out_sharding: Any = None,
            unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x with x[index] = minimum(x[index], values)."""
        return self._updated("min", values, indices_are_sorted, mode, out_sharding, unique_indices, wrap_negative_indices)

    def max(self, values: ArrayLike, *, indices_are_sorted: bool = False, mode: str | None = None, out_sharding: Any = None,
            unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x with x[index] = maximum(x[index], values)."""
        return self._updated("max", values, indices_are_sorted, mode, out_sharding, unique_indices, wrap_negative_indices)

    def apply(self, func: Callable, *, indices_are_sorted: bool = False, mode: Any = None, out_sharding: Any = None,
              unique_indices: bool = False, wrap_negative_indices: bool = True) -> Any:
        """x with x[index] = func(x[index]), for an elementwise function, which is applied twice to an element that is named twice."""
        if out_sharding is not None:
            return split_result("ndarray.at[...].apply", out_sharding, lambda: self.apply(
                func, indices_are_sorted=indices_are_sorted, mode=mode, unique_indices=unique_indices,
                wrap_negative_indices=wrap_negative_indices))
        return update("apply", self.array, self.index, None, indices_are_sorted=indices_are_sorted,
                      unique_indices=unique_indices, mode=mode, wrap_negative_indices=wrap_negative_indices, function=func)

    def _updated(self, kind: str, values: Any, indices_are_sorted: Any, mode: Any, out_sharding: Any, unique_indices: bool,
                 wrap_negative_indices: bool) -> Any:
        if out_sharding is not None:
            return split_result(f"ndarray.at[...].{kind}", out_sharding, lambda: self._updated(
                kind, values, indices_are_sorted, mode, None, unique_indices, wrap_negative_indices))
        return update(kind, self.array, self.index, values, indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
                      mode=mode, wrap_negative_indices=wrap_negative_indices)

    def _factors(self, values: float, *options: Any) -> Any:
        """Ones of the array's shape and dtype, with the values multiplied in at the index."""
        ones = shape_ops.full_like(self.array, 1)
        return IndexUpdateRef(ones, self.index)._updated("multiply", values, *options)
