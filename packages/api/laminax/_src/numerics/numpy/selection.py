"""Choice between values, element by element: where, select, clip and their relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import broadcast_to_shape
from laminax_ir.ops.shape_arguments import broadcast_shapes
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import stop_gradient

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_numpy,
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    is_kind,
    promote_arrays,
    promote_dtypes,
    refuse_out,
    shape_of,
    strong,
)
from laminax._src.numerics.numpy.conditions import _where, repeated
from laminax._src.numerics.numpy.gather_plans import brought_in_range

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_BOOL = np.dtype(bool)


def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /, *, size: int | None = None,
          fill_value: ArrayLike | None = None) -> Array | tuple[Array, ...]:
    """Elements of x where a condition holds, of y elsewhere; with the condition alone, where it holds.

    Args:
      condition: an array or scalar; numbers are true where they are not 0.
      x, y: arrays or scalars, both or neither; shapes are broadcast and dtypes promoted.
      size, fill_value: with the condition alone, as for `nonzero`.

    Returns:
      An array; with the condition alone a tuple of index arrays, one for each axis.

    Raises:
      ValueError: if one of x and y is given, or size with both.

    Example:
      >>> jnp.where(jnp.array([True, False]), 1, -1)
      Array([ 1, -1], dtype=int32, weak_type=True)
    """
    if x is None and y is None:
        from laminax._src.numerics.numpy.finding import nonzero
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("where: either both of x and y must be given, or neither")
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value are for the form with a condition alone")
    return _where(condition, x, y)


@fused
def select(condlist: Sequence, choicelist: Sequence, default: ArrayLike = 0) -> Array:
    """For each element, the choice that belongs to the first condition that holds.

    Args:
      condlist: bool arrays; numbers are true where they are not 0.
      choicelist: arrays, one for each condition; shapes are broadcast and dtypes promoted.
      default: the value where no condition holds.

    Raises:
      ValueError: if there are not as many choices as conditions, or none.

    Example:
      >>> jnp.select([jnp.array([True, False, False]), jnp.array([False, True, False])], [jnp.ones(3), 2 * jnp.ones(3)])
      Array([1., 2., 0.], dtype=float32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: there must be one choice for each condition, got {len(condlist)} conditions and "
                         f"{len(choicelist)} choices")
    if len(condlist) == 0:
        raise ValueError("select: condlist must be non-empty")
    condlist = ensure_arrays("select", *condlist)
    *choices, default = promote_dtypes("select", *choicelist, default)
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choices)):
        result = _where(condition, choice, result)
    return result


def choose(a: ArrayLike, choices: ArrayLike, out: None = None, mode: str = "raise") -> Array:
    """For each element of an index array, the element of that number's choice.

    Args:
      a: an integer array.
      choices: a sequence of arrays, or an array whose first axis numbers them; they and a are broadcast.
      out: must be None.
      mode: what to do with indices out of range: "clip", "wrap", or "raise", which needs concrete indices.

    Raises:
      ValueError: with mode="raise" if an index is out of range, and for an unknown mode.

    Example:
      >>> jnp.choose(jnp.array([0, 1, 0]), jnp.array([[1, 2, 3], [10, 20, 30]]))
      Array([ 1, 20,  3], dtype=int32)
    """
    refuse_out("choose", out)
    a = ensure_array("choose", a)
    if not is_kind(a, dtypes.integer) and dtype_of(a) != _BOOL:
        raise ValueError(f"choose: a must hold integers, got {get_aval(a).str_short()}")
    if not isinstance(choices, (list, tuple)):
        choices = [choices[i] for i in range(len(ensure_array("choose", choices)))]
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"choose: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    if mode == "raise":
        values = concrete_numpy("choose(mode='raise')", "the index array", a, "The error occurred because jnp.choose was jit-compiled "
                                "with mode='raise'. Use mode='wrap' or mode='clip' instead.")
        if values.size and (values.min() < 0 or values.max() >= len(choices)):
            raise ValueError(f"invalid entry in choice array of choose: an index is out of range for {len(choices)} choices; "
                             "use mode='clip' or 'wrap'")
    return _choose(a, list(choices), mode=mode)


@fused(static_argnames=("mode",))
def _choose(a: Any, choices: Any, mode: Any) -> Any:
    a = convert(a, np.dtype(np.int32)) if dtype_of(a) == _BOOL else a
    a = convert(brought_in_range(a, len(choices), mode), np.dtype(np.int32))
    choices = promote_dtypes("choose", *choices)
    shape = broadcast_shapes(shape_of(a), *map(shape_of, choices))
    return op.select_n(broadcast_to_shape(a, shape), *[repeated(c, shape) for c in choices])


def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence, *args: Any, **kw: Any) -> Array:
    """A function given by pieces.

    Args:
      x: an array.
      condlist: bool arrays of x's shape, or an array whose first axis numbers them; they may be scalars, which hold for all of x.
      funclist: for each condition a function of x (elementwise) or a scalar; one more is for where none holds, which is
        0 otherwise. Where several hold, the last of them counts.
      *args, **kw: passed on to the functions.

    Raises:
      ValueError: if the numbers of conditions and functions do not fit.

    Example:
      >>> jnp.piecewise(jnp.array([-1.0, 2.0]), [jnp.array([True, False])], [lambda x: -x, lambda x: x * 10])
      Array([ 1., 20.], dtype=float32)
    """
    x = as_array(ensure_array("piecewise", x))
    if not isinstance(condlist, (list, tuple)):
        is_one = len(condlist.shape) <= len(x.shape) and (not condlist.shape or condlist.shape[0] not in (len(funclist), len(funclist) - 1))
        condlist = [condlist] if is_one else [condlist[i] for i in range(condlist.shape[0])]
    conditions = [as_array(c) if not isinstance(c, (list, tuple)) else as_array(np.asarray(c)) for c in condlist]
    funclist = list(funclist)
    if len(funclist) == len(conditions):
        funclist = [*funclist, 0]
    elif len(funclist) != len(conditions) + 1:
        raise ValueError(f"piecewise: with {len(conditions)} conditions there must be {len(conditions)} or "
                         f"{len(conditions) + 1} functions, got {len(funclist)}")
    return _piecewise(x, conditions, [None if callable(f) else f for f in funclist], args, kw,
                      functions=tuple([f if callable(f) else None for f in funclist]))


@fused(static_argnames=("functions",))
def _piecewise(x: ArrayLike, conditions: Sequence[ArrayLike], constants: Sequence[ArrayLike | None], args: tuple[Any, ...],
               kw: dict[Any, Any], functions: tuple[Callable | None, ...]) -> Array:
    dtype = dtype_of(x)

    def piece(is_wanted: ArrayLike, constant: ArrayLike | None, function: Callable | None) -> Array:
        value = constant if function is None else function(_where(is_wanted, x, stop_gradient(x)), *args, **kw)
        return convert(ensure_array("piecewise", value), dtype)

    # Where another piece counts a function may have an infinite slope, which would make NaN of a cotangent of 0.
    free: Any = np.True_  # where no later condition holds
    pieces = []
    for condition, constant, function in reversed([*zip(conditions, constants, functions)]):
        pieces.append((condition, piece(_where(condition, free, np.False_), constant, function)))
        free = _where(condition, np.False_, free)
    result = piece(free, constants[-1], functions[-1])
    for condition, value in reversed(pieces):
        result = _where(condition, value, result)
    return result


def clip(arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Limits the elements to an interval.

    Args:
      arr: an array or scalar of real numbers.
      min, max: bounds, arrays or scalars that broadcast against it; None is no bound.

    Returns:
      minimum(max, maximum(arr, min)), in the promoted dtype.

    Raises:
      ValueError: for complex numbers.
      TypeError: if arr is missing.

    Example:
      >>> jnp.clip(jnp.array([-1.0, 0.5, 7.0]), 0, 1)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    if arr is None:
        raise TypeError("clip: the array must be given")
    return _clip(arr, min, max)


@fused
def _clip(arr: Any, min: ArrayLike, max: ArrayLike) -> Any:
    given = [x for x in (arr, min, max) if x is not None]
    for x in ensure_arrays("clip", *given):
        if is_kind(x, dtypes.complexfloating):
            raise ValueError("clip: Complex values have no ordering and cannot be clipped. Clip the real and the imaginary part.")
    arr = ensure_array("clip", arr)
    if min is not None:
        arr = op.max(*promote_arrays("clip", min, arr))
    if max is not None:
        arr = op.min(*promote_arrays("clip", max, arr))
    return as_array(arr)


@fused(static_argnames=("copy",))
def nan_to_num(x: ArrayLike, copy: bool = True, nan: ArrayLike = 0.0, posinf: ArrayLike | None = None,
               neginf: ArrayLike | None = None) -> Array:
    """Replaces NaN and the infinities, elementwise.

    Args:
      x: an array or scalar.
      copy: without effect, because arrays do not change.
      nan: what NaN becomes.
      posinf: what +inf becomes, by default the greatest number of the dtype.
      neginf: what -inf becomes, by default the least number of the dtype.

    Example:
      >>> jnp.nan_to_num(jnp.array([1.0, jnp.nan]), nan=-1.0)
      Array([ 1., -1.], dtype=float32)
    """
    del copy
    x = ensure_array("nan_to_num", x)
    dtype = dtype_of(x)
    if not dtypes.issubdtype(dtype, dtypes.inexact):
        return as_array(x)
    if dtypes.issubdtype(dtype, dtypes.complexfloating):
        real, imag = (nan_to_num(part, True, nan, posinf, neginf) for part in (op.real(x), op.imag(x)))
        return op.complex(real, imag)
    info = dtypes.finfo(dtype)
    posinf = float(info.max) if posinf is None else posinf
    neginf = float(info.min) if neginf is None else neginf
    value = _where(op.ne(x, x), _as(nan, dtype), x)
    value = _where(op.eq(x, scalar_like(float("inf"), dtype)), _as(posinf, dtype), value)
    return strong(_where(op.eq(x, scalar_like(float("-inf"), dtype)), _as(neginf, dtype), value))


def _as(value: Any, dtype: Any) -> Any:
    return scalar_like(value, dtype) if type(value) in dtypes.python_scalar_types else convert(value, dtype)


