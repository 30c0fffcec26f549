"""The methods of built-in ufuncs for which there is better than a loop: `add.reduce` is a sum, `maximum.at` one scatter.

They are called by the methods of `ufunc`, which have checked the arguments. Reductions and running sums are loaded when they are first
called: `add` is used by every program, its methods by few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import reduction
from laminax_ir.ops import shape as shape_ops

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import axis_tuple, convert, dtype_of, shape_of
from laminax._src.numerics.numpy.conditions import _where, truth_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def update(kind: str) -> Callable:
    """`at` by the method of `x.at[index]` of that name."""
    def at(a: Array, indices: Any, b: ArrayLike, /) -> Array:
        if b is None:
            raise TypeError(f"{kind}: a function of two arguments needs the second one, b")
        return getattr(a.at[indices], kind)(b)
    return at


def sum_(a: ArrayLike, **options: Any) -> Array:
    """`add.reduce`."""
    from laminax._src.numerics.numpy.reductions import sum
    return sum(a, **options)


def prod(a: Any, **options: Any) -> Any:
    """`multiply.reduce`."""
    from laminax._src.numerics.numpy.reductions import prod
    return prod(a, **options)


def cumsum(a: ArrayLike, **options: Any) -> Array:
    """`add.accumulate`."""
    from laminax._src.numerics.numpy.cumulative import cumsum
    return cumsum(a, **options)


def cumprod(a: ArrayLike, **options: Any) -> Array:
    """`multiply.accumulate`."""
    from laminax._src.numerics.numpy.cumulative import cumprod
    return cumprod(a, **options)


def extreme(name: str) -> Callable:
    """`maximum.reduce` by `max`, `minimum.reduce` by `min`."""
    def reduce(a: ArrayLike, *, dtype: np.dtype | None, **options: Any) -> Array:
        from laminax._src.numerics.numpy import reductions
        return getattr(reductions, name)(a if dtype is None else convert(a, dtype), **options)
    return reduce


_TRUTH = {"and": True, "or": False, "xor": False}
_BITS = {"and": -1, "or": 0, "xor": 0}


def logical(name: str) -> Callable:
    """The reduction of truth values by an operation on bits."""
    def reduce(a: ArrayLike, *, axis: int, dtype: Any, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None) -> Array:
        result = _bits(truth_of(a), None if initial is None else truth_of(initial), where, name=name, neutral=_TRUTH[name], axis=axis,
                       keepdims=bool(keepdims))
        return result if dtype is None else convert(result, dtype)
    return reduce


def bitwise(name: str) -> Callable:
    """The reduction of integers by an operation on bits."""
    def reduce(a: ArrayLike, *, axis: int, dtype: Any, keepdims: bool, initial: ArrayLike | None, where: ArrayLike | None) -> Array:
        return _bits(a if dtype is None else convert(a, dtype), initial, where, name=name, neutral=_BITS[name], axis=axis,
                     keepdims=bool(keepdims))
    return reduce


@fused(static_argnames=("name", "neutral", "axis", "keepdims"))
def _bits(a: ArrayLike, initial: ArrayLike | None, where: ArrayLike | None, *, name: str, neutral: int, axis: int, keepdims: bool) -> Array:
    axes, dtype = axis_tuple(f"bitwise_{name}.reduce", axis, len(shape_of(a))), dtype_of(a)
    if where is not None:
        a = _where(where, a, np.asarray(neutral).astype(dtype)[()])
    result = getattr(reduction, f"reduce_{name}")(a, axes)
    if initial is not None:
        result = getattr(op, f"bitwise_{name}")(result, convert(initial, dtype))
    return shape_ops.expand_dims(result, axes) if keepdims else result


