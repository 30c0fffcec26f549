# Functions that return one array or several, by what they are asked for.
import builtins
from typing import Any, Literal, overload

from laminax._array import Array
from laminax.typing import ArrayLike, DTypeLike

@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: builtins.bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: builtins.bool = True,
) -> Array:
    """The different elements of an array, sorted."""
@overload
def unique(
    ar: ArrayLike,
    return_index: builtins.bool = False,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    axis: int | None = None,
    *,
    equal_nan: builtins.bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: builtins.bool = True,
) -> Any:
    """The different elements of an array, with the arrays that are asked for, in the order of the parameters."""
@overload
def average(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: builtins.bool = False,
) -> Array:
    """Weighted mean over axes."""
@overload
def average(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: builtins.bool = False,
) -> tuple[Array, Array]:
    """Weighted mean over axes, and the sum of the weights."""
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: builtins.bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Array:
    """Numbers at equal distances in an interval."""
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: builtins.bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Any = None,
) -> tuple[Array, Array]:
    """Numbers at equal distances in an interval, and the distance."""
@overload
def where(
    condition: ArrayLike, x: ArrayLike, y: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Elements of x where a condition holds, of y elsewhere."""
@overload
def where(
    condition: ArrayLike, x: None = None, y: None = None, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> tuple[Array, ...]:
    """The indices where a condition holds."""
@overload
def atleast_1d(ary: ArrayLike, /) -> Array:
    """The argument with at least one axis."""
@overload
def atleast_1d(*arys: ArrayLike) -> Any:
    """The arguments with at least one axis, as a list."""
@overload
def atleast_2d(ary: ArrayLike, /) -> Array:
    """The argument with at least two axes, new ones in front."""
@overload
def atleast_2d(*arys: ArrayLike) -> Any:
    """The arguments with at least two axes, as a list."""
@overload
def atleast_3d(ary: ArrayLike, /) -> Array:
    """The argument with at least three axes: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1]."""
@overload
def atleast_3d(*arys: ArrayLike) -> Any:
    """The arguments with at least three axes, as a list."""
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: builtins.bool = False,
    return_indices: Literal[False] = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements that are in both arrays, sorted."""
@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: builtins.bool = False,
    *,
    return_indices: Literal[True],
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]:
    """The elements that are in both arrays, sorted, and where they are first in each."""
