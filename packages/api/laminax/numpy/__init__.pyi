# Written by tools/stubs.py.
"""NumPy's interface on laminax's arrays: differentiable, compiled, and the same function inside and outside of `jit`."""

import builtins
import numpy as np
from builtins import bool as _bool
from collections.abc import Callable, Sequence
from laminax._array import Array
from laminax._src.numerics.numpy.array_api import ArrayNamespaceInfo
from laminax._src.numerics.numpy.set_ops import _UniqueAllResult, _UniqueCountsResult, _UniqueInverseResult
from laminax._src.numerics.numpy.ufunc import _BinaryUfunc, _UnaryUfunc, ufunc as _ufunc
from laminax.typing import ArrayLike, DTypeLike
from laminax_ir.ops.contraction import Precision
from laminax_ir.ops.indexing import GatherScatterMode
from numpy.lib._index_tricks_impl import IndexExpression
from typing import Any, Literal, overload
from laminax._array import Array as ndarray
from laminax._src.numerics.numpy.ufunc import ufunc as ufunc
from laminax.dtypes import finfo as finfo
from laminax.dtypes import iinfo as iinfo
from laminax.numpy import fft as fft
from laminax.numpy import linalg as linalg
from numpy import character as character
from numpy import complexfloating as complexfloating
from numpy import dtype as dtype
from numpy import flexible as flexible
from numpy import floating as floating
from numpy import generic as generic
from numpy import inexact as inexact
from numpy import integer as integer
from numpy import number as number
from numpy import object_ as object_
from numpy import signedinteger as signedinteger
from numpy import unsignedinteger as unsignedinteger
from numpy.exceptions import ComplexWarning as ComplexWarning

__all__: list[str]

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

__array_api_version__: str
def __array_namespace_info__() -> ArrayNamespaceInfo:
    """The capabilities of `laminax.numpy`: an object with the standard's inspection functions."""
def abs(x: ArrayLike, /) -> Array:
    """|x|, elementwise; of complex numbers the real magnitude."""
def absolute(x: ArrayLike, /) -> Array:
    """|x|, elementwise; of complex numbers the real magnitude."""
def acos(x: ArrayLike, /) -> Array:
    """Inverse cosine in radians, from 0 to pi; NaN outside [-1, 1], elementwise."""
def acosh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic cosine; NaN below 1, elementwise."""
add: _BinaryUfunc
def all(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    keepdims: _bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Whether all elements over axes are true (not 0)."""
def allclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: _bool = False) -> Array:
    """Whether all elements are close; see `isclose`."""
def amax(
    a: ArrayLike,
    axis: Any = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum over axes; NaN if one is there."""
def amin(
    a: ArrayLike,
    axis: Any = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum over axes; NaN if one is there."""
def angle(z: ArrayLike, deg: _bool = False) -> Array:
    """The angle of complex numbers in radians, from -pi to pi, or in degrees, elementwise."""
def any(a: ArrayLike, axis: Any = None, out: None = None, keepdims: _bool = False, *, where: ArrayLike | None = None) -> Array:
    """Whether any element over axes is true (not 0)."""
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """Joins two arrays along an axis; None joins them as flat arrays."""
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Array:
    """Applies a function of a vector to each vector along an axis."""
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: Sequence[int]) -> Array:
    """Applies a function of an array and an axis once for each axis, its result to the next."""
def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: DTypeLike | None = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Numbers from start (included) to stop (not included), step apart."""
def arccos(x: ArrayLike, /) -> Array:
    """Inverse cosine in radians, from 0 to pi; NaN outside [-1, 1], elementwise."""
def arccosh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic cosine; NaN below 1, elementwise."""
def arcsin(x: ArrayLike, /) -> Array:
    """Inverse sine in radians, from -pi/2 to pi/2; NaN outside [-1, 1], elementwise."""
def arcsinh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic sine, elementwise."""
def arctan(x: ArrayLike, /) -> Array:
    """Inverse tangent in radians, from -pi/2 to pi/2, elementwise."""
def arctan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle of the point (x2, x1) in radians, from -pi to pi, elementwise."""
def arctanh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic tangent; NaN outside [-1, 1], elementwise."""
def argmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: _bool | None = None) -> Array:
    """Index of the greatest element along an axis, the first if there are several; NaN counts as the greatest."""
def argmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: _bool | None = None) -> Array:
    """Index of the least element along an axis; parameters as for `argmax`; NaN counts as the least."""
def argpartition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """The indices that partition an array; parameters and errors as for `partition`."""
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: _bool = True,
    descending: _bool = False,
    dtype: DTypeLike | None = None,
) -> Array:
    """The indices that sort an array along an axis."""
def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The indices of the elements that are not 0, one in each row: [n, rank]; parameters as for `nonzero`."""
def around(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Rounds to a number of decimals, elementwise; halves go to the even neighbour."""
def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *,
    copy: _bool = True,
    order: str | None = 'K',
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Makes an array from a value, or from nested sequences of values."""
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: _bool = False) -> Array:
    """Whether two arrays have the same shape and elements."""
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Whether two arrays broadcast to one shape and are equal there."""
def array_repr(arr: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: _bool | None = None) -> str:
    """The text of an array with its type; parameters as for `numpy.array_repr`."""
def array_split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Cuts an array into pieces along an axis; as `split`, but the first pieces may be one longer."""
def array_str(a: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: _bool | None = None) -> str:
    """The text of an array's values; parameters as for `numpy.array_str`."""
def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: _bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """Converts a value to an array, without a copy where it is one already."""
def asin(x: ArrayLike, /) -> Array:
    """Inverse sine in radians, from -pi/2 to pi/2; NaN outside [-1, 1], elementwise."""
def asinh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic sine, elementwise."""
def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: _bool = False, device: Any = None) -> Array:
    """Converts the elements to another dtype."""
def atan(x: ArrayLike, /) -> Array:
    """Inverse tangent in radians, from -pi/2 to pi/2, elementwise."""
def atan2(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The angle of the point (x2, x1) in radians, from -pi to pi, elementwise."""
def atanh(x: ArrayLike, /) -> Array:
    """Inverse hyperbolic tangent; NaN outside [-1, 1], elementwise."""
def bartlett(M: int) -> Array:
    """The triangular window of M points that is 0 at its ends."""
bfloat16: type[Any]
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """How often each non-negative integer occurs; negative ones count as 0."""
bitwise_and: _BinaryUfunc
def bitwise_count(x: ArrayLike, /) -> Array:
    """The number of set bits of |x|, elementwise."""
def bitwise_invert(x: ArrayLike, /) -> Array:
    """The complement of the bits of integers or bools, elementwise."""
def bitwise_left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x * 2**y in integers of fixed width, x << y, elementwise."""
def bitwise_not(x: ArrayLike, /) -> Array:
    """The complement of the bits of integers or bools, elementwise."""
bitwise_or: _BinaryUfunc
def bitwise_right_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x / 2**y rounded down, x >> y, elementwise."""
bitwise_xor: _BinaryUfunc
def blackman(M: int) -> Array:
    """Blackman's window of M points."""
def block(arrays: Sequence[Any]) -> Array:
    """Joins nested lists of arrays: the innermost lists along the last axis, those around them along the one before, ..."""
bool: type[Any]
bool_: type[Any]
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """The arguments, broadcast to one shape."""
def broadcast_shapes(*shapes: int | Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes broadcast to."""
def broadcast_to(array: ArrayLike, shape: int | Sequence[int], *, out_sharding: Any = None) -> Array:
    """Repeats an array along new leading axes and axes of size 1, to a shape."""
c_: Any
def can_cast(from_: DTypeLike, to: DTypeLike, casting: Literal['no', 'equiv', 'safe', 'same_kind', 'unsafe'] = 'safe') -> _bool:
    """Whether NumPy's casting rules allow a conversion between dtypes; parameters as for `numpy.can_cast`."""
def cbrt(x: ArrayLike, /) -> Array:
    """Real cube root, elementwise."""
cdouble: type[Any]
def ceil(x: ArrayLike, /) -> Array:
    """The smallest whole number not below x, elementwise; integers stay."""
def choose(a: ArrayLike, choices: ArrayLike, out: None = None, mode: str = 'raise') -> Array:
    """For each element of an index array, the element of that number's choice."""
def clip(arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Limits the elements to an interval."""
def column_stack(tup: Array | Sequence[ArrayLike]) -> Array:
    """Joins arrays as columns; those of one axis become columns."""
complex128: type[Any]
complex64: type[Any]
complex_: type[Any]
def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """The slices of an array along an axis where a condition holds."""
def concat(arrays: Any, /, *, axis: int | None = 0) -> Array:
    """Joins arrays along an axis; see `concatenate`."""
def concatenate(arrays: Array | Sequence[ArrayLike], axis: int | None = 0, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along an axis."""
def conj(x: ArrayLike, /) -> Array:
    """The complex conjugate, elementwise; a real array is its own."""
def conjugate(x: ArrayLike, /) -> Array:
    """The complex conjugate, elementwise; a real array is its own."""
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = 'full',
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolution of two vectors."""
def copy(a: ArrayLike, order: str | None = None) -> Array:
    """A copy of an array."""
def copysign(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """|x1| with the sign of x2, elementwise; signed zeros count."""
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: _bool = True, dtype: DTypeLike | None = None) -> Array:
    """The matrix of correlation coefficients of variables; parameters as for `cov`."""
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = 'valid',
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Cross-correlation of two vectors, the second conjugated; parameters as for `convolve`."""
def cos(x: ArrayLike, /) -> Array:
    """Cosine; x in radians, elementwise."""
def cosh(x: ArrayLike, /) -> Array:
    """Hyperbolic cosine, elementwise."""
def count_nonzero(a: ArrayLike, axis: int | tuple[int, ...] | None = None, keepdims: _bool = False) -> Array:
    """How many elements over axes are not 0."""
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: _bool = True,
    bias: _bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """The covariance matrix of variables."""
def cross(a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Array:
    """Cross product of vectors of 2 or 3 components."""
csingle: type[Any]
def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Products of the elements up to each one along an axis; parameters as for `cumsum`."""
def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Sums of the elements up to each one along an axis."""
def cumulative_prod(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: _bool = False) -> Array:
    """Products of the elements up to each one along an axis; parameters as for `cumulative_sum`; `include_initial` puts a 1 first."""
def cumulative_sum(x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: _bool = False) -> Array:
    """Sums of the elements up to each one along an axis, as the array API standard has it."""
def deg2rad(x: ArrayLike, /) -> Array:
    """Converts angles from degrees to radians, elementwise."""
def degrees(x: ArrayLike, /) -> Array:
    """Converts angles from radians to degrees, elementwise."""
def delete(arr: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: _bool = False) -> Array:
    """A copy without some slices along an axis."""
def diag(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with a diagonal, or the diagonal of a matrix."""
def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of size n."""
def diag_indices_from(arr: ArrayLike) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with equal sizes."""
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """A matrix with the elements of the flat v on diagonal k."""
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals of matrices, along a new last axis."""
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None) -> Array:
    """Differences of neighbours along an axis, n times over."""
def digitize(x: ArrayLike, bins: ArrayLike, right: _bool = False, *, method: str | None = None) -> Array:
    """The number of the bin that each value falls into."""
def divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x / y; integers are taken as floats, elementwise."""
def divmod(x: ArrayLike, y: ArrayLike, /) -> tuple[Array, Array]:
    """The pair (floor_divide(x, y), remainder(x, y))."""
def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Product of two arrays: the last axis of a is summed against the last but one of b."""
double: type[Any]
def dsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Any]:
    """Cuts an array along its third axis; see `split`."""
def dstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the third axis, after `atleast_3d`."""
e: float
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> Array:
    """Differences of neighbours in the flat array, with values put before and after them."""
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = 'auto',
    precision: str | None = None,
    preferred_element_type: DTypeLike | None = None,
    _dot_general: Any = ...,
    out_sharding: Any = None,
) -> Array:
    """Sums products of arrays over named axes."""
def einsum_path(subscripts: str, /, *operands: ArrayLike, optimize: Any = 'greedy') -> tuple[list[Any], str]:
    """The order in which `einsum` would multiply, and a description of it."""
def empty(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """The same as `zeros`: there are no arrays without values here."""
def empty_like(prototype: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None) -> Array:
    """The same as `zeros_like`: there are no arrays without values here."""
def equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x == y, elementwise."""
euler_gamma: float
def exp(x: ArrayLike, /) -> Array:
    """Exponential, e**x, elementwise."""
def exp2(x: ArrayLike, /) -> Array:
    """Power of two, 2**x, elementwise."""
def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Adds axes of size 1, at the given places of the result."""
def expm1(x: ArrayLike, /) -> Array:
    """exp(x) - 1, accurate near 0, elementwise."""
def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Array:
    """The elements of the flat array where a condition holds; parameters as for `compress`."""
def eye(N: int, M: int | None = None, k: Any = 0, dtype: DTypeLike | None = None, *, device: Any = None) -> Array:
    """A matrix with ones on one diagonal and zeros elsewhere."""
def fabs(x: ArrayLike, /) -> Array:
    """|x| of real numbers, elementwise; integers are taken as floats."""
def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: _bool = False, *, inplace: _bool = True) -> Array:
    """An array with a value, or values, on its diagonal."""
def fix(x: ArrayLike) -> Array:
    """The whole number next to x on the way to 0, elementwise; integers stay."""
def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The places of the elements of the flat array that are not 0; parameters as for `nonzero`."""
def flip(m: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Reverses the order of the elements along axes; None is all."""
def fliplr(m: ArrayLike) -> Array:
    """Reverses the second axis."""
def flipud(m: ArrayLike) -> Array:
    """Reverses the first axis."""
float16: type[Any]
float32: type[Any]
float4_e2m1fn: type[Any]
float64: type[Any]
float6_e2m3fn: type[Any]
float6_e3m2fn: type[Any]
float8_e3m4: type[Any]
float8_e4m3: type[Any]
float8_e4m3b11fnuz: type[Any]
float8_e4m3fn: type[Any]
float8_e4m3fnuz: type[Any]
float8_e5m2: type[Any]
float8_e5m2fnuz: type[Any]
float8_e8m0fnu: type[Any]
float_: type[Any]
def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x ** y computed in floats, elementwise."""
def floor(x: ArrayLike, /) -> Array:
    """The largest whole number not above x, elementwise; integers stay."""
def floor_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The largest whole number not above x / y, elementwise; bools are taken as integers."""
def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greater of x1 and x2, elementwise; of a number and NaN the number."""
def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The lesser of x1 and x2, elementwise; of a number and NaN the number."""
def fmod(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Remainder of x / y with the sign of x, elementwise; of integers and 0 it is 0."""
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """Splits x into a mantissa in [0.5, 1) and an exponent: x == mantissa * 2**exponent, elementwise."""
def from_dlpack(x: Any, /, *, device: Any = None, copy: _bool | None = None) -> Array:
    """An array from an object with the DLPack protocol, sharing its memory where that is possible."""
def frombuffer(buffer: Any, dtype: DTypeLike = ..., count: int = -1, offset: int = 0) -> Array:
    """An array from an object's bytes; parameters as for `numpy.frombuffer`."""
def fromfile(*args: Any, **kwargs: Any) -> None:
    """Not provided, because it would depend on the machine's files."""
def fromfunction(function: Any, shape: Any, *, dtype: DTypeLike = ..., **kwargs: Any) -> Array:
    """An array whose elements are a function of their indices."""
def fromiter(*args: Any, **kwargs: Any) -> None:
    """Not provided, because iterators have effects."""
def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> _ufunc:
    """A ufunc from a function of scalars."""
def fromstring(string: str, dtype: DTypeLike = ..., count: int = -1, *, sep: str) -> Array:
    """An array from numbers written in a string, separated by `sep`; parameters as for `numpy.fromstring`."""
def full(shape: Any, fill_value: ArrayLike, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """An array filled with a value."""
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """An array filled with a value, of the shape and dtype of another."""
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Greatest common divisor of integers, elementwise, by Euclid's algorithm; gcd(0, 0) is 0."""
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: _bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Numbers evenly spaced on a logarithmic scale, from start to stop: a geometric progression."""
def get_printoptions() -> Any:
    """Return the current print options."""
def gradient(f: ArrayLike, *varargs: Any, axis: int | Sequence[int] | None = None, edge_order: int | None = None) -> Array | list[Array]:
    """Differences in the middle of neighbours, one-sided at the ends: the slope of sampled values."""
def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x > y, elementwise."""
def greater_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x >= y, elementwise."""
def hamming(M: int) -> Array:
    """Hamming's window of M points."""
def hanning(M: int) -> Array:
    """Von Hann's window of M points."""
def heaviside(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The step function: 0 below 0, x2 at 0, 1 above, elementwise."""
def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: _bool | None = None,
    out_sharding: Any = None,
) -> tuple[Array, Array]:
    """How many elements fall into each bin; the last bin includes its right edge."""
def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: _bool | None = None,
) -> tuple[Array, Array, Array]:
    """How many points fall into each bin of a plane."""
def histogram_bin_edges(a: ArrayLike, bins: ArrayLike = 10, range: Sequence[Any] | None = None, weights: ArrayLike | None = None) -> Array:
    """The edges of the bins of a histogram."""
def histogramdd(
    sample: ArrayLike,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    weights: ArrayLike | None = None,
    density: _bool | None = None,
) -> tuple[Array, list[Array]]:
    """How many points fall into each bin of a space."""
def hsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Any]:
    """Cuts an array along its second axis, or its only one; see `split`."""
def hstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the second axis, or along the first if they have one."""
def hypot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """sqrt(x1**2 + x2**2), elementwise, without overflow on the way; inf if either is infinite."""
def i0(x: ArrayLike) -> Array:
    """Modified Bessel function of order 0, elementwise."""
def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """The identity matrix of shape [n, n]."""
def imag(val: ArrayLike, /) -> Array:
    """The imaginary part, elementwise; 0 for a real array."""
index_exp: IndexExpression
def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: _bool = False) -> Array:
    """The index of each element along each axis."""
inf: float
def inner(a: ArrayLike, b: ArrayLike, *, precision: Any = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """Sum of products over the last axes of both arrays; a scalar multiplies elementwise. Parameters as for `dot`."""
def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> Array:
    """A copy with values put in along an axis."""
int1: type[Any]
int16: type[Any]
int2: type[Any]
int32: type[Any]
int4: type[Any]
int64: type[Any]
int8: type[Any]
int_: type[Any]
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None = None,
    right: ArrayLike | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Linear interpolation of a function given at points."""
def invert(x: ArrayLike, /) -> Array:
    """The complement of the bits of integers or bools, elementwise."""
def isclose(a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: ArrayLike = False) -> Array:
    """Whether |a - b| <= atol + rtol * |b|, elementwise; of random keys, whether they are equal."""
def iscomplex(x: ArrayLike) -> Array:
    """Whether the imaginary part is not 0, elementwise."""
def iscomplexobj(x: Any) -> _bool:
    """Whether x has a complex dtype; lists and the like are converted first."""
def isdtype(dtype: Any, kind: Any) -> _bool:
    """Whether a dtype is of a kind of the array API standard."""
def isfinite(x: ArrayLike, /) -> Array:
    """Whether x is neither infinite nor NaN, elementwise."""
def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: _bool = False,
    invert: _bool = False,
    *,
    method: str = 'auto',
) -> Array:
    """Whether each element is one of the test elements."""
def isinf(x: ArrayLike, /) -> Array:
    """Whether x is infinite, elementwise."""
def isnan(x: ArrayLike, /) -> Array:
    """Whether x is NaN, elementwise."""
def isneginf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether x is -inf, elementwise."""
def isposinf(x: ArrayLike, /, out: None = None) -> Array:
    """Whether x is +inf, elementwise."""
def isreal(x: ArrayLike) -> Array:
    """Whether the imaginary part is 0, elementwise."""
def isrealobj(x: Any) -> _bool:
    """Whether x has no complex dtype."""
def isscalar(element: Any) -> _bool:
    """Whether x is a scalar: a Python scalar, or an array of rank 0."""
def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> _bool:
    """Whether a dtype lies at or below another, or an abstract type such as `floating`, in the hierarchy of types."""
def iterable(y: Any) -> Any:
    """Check whether or not an object can be iterated over."""
def ix_(*args: ArrayLike) -> tuple[Any, ...]:
    """Index arrays for the product of index vectors: each gets an axis of its own; bool vectors mean where they hold."""
def kaiser(M: int, beta: ArrayLike) -> Array:
    """Kaiser's window of M points with shape parameter beta, a scalar."""
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Kronecker product: each element of a replaced by its product with b."""
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Least common multiple of integers, elementwise; 0 if either is 0."""
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """x1 * 2**x2, elementwise."""
def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x * 2**y in integers of fixed width, x << y, elementwise."""
def less(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x < y, elementwise."""
def less_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x <= y, elementwise."""
def lexsort(keys: ArrayLike, axis: int = -1, *, batch_size: int = 16) -> Array:
    """The indices that sort by several keys; the last key decides first."""
def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """An array from a file that `save` wrote."""
def log(x: ArrayLike, /) -> Array:
    """Natural logarithm; -inf at 0, NaN for negative numbers, elementwise."""
def log10(x: ArrayLike, /) -> Array:
    """Logarithm to base 10, elementwise; parameters as for `log`."""
def log1p(x: ArrayLike, /) -> Array:
    """log(1 + x), accurate near 0, elementwise."""
def log2(x: ArrayLike, /) -> Array:
    """Logarithm to base 2, elementwise; parameters as for `log`."""
logaddexp: _BinaryUfunc
logaddexp2: _BinaryUfunc
logical_and: _BinaryUfunc
def logical_not(x: ArrayLike, /) -> Array:
    """Whether x is not true, elementwise; numbers are true where they are not 0."""
logical_or: _BinaryUfunc
logical_xor: _BinaryUfunc
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: _bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Numbers evenly spaced on a logarithmic scale, from base**start to base**stop."""
def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> tuple[Any, ...]:
    """The indices where `mask_func(ones((n, n)), k)` is not 0, such as those of a triangle with `triu`."""
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: str | None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Matrix product of the last two axes, leading axes broadcast."""
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Swaps the last two axes."""
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of matrices [..., m, n] and vectors [..., n], leading axes broadcast; the result is [..., m]."""
def max(
    a: ArrayLike,
    axis: Any = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum over axes; NaN if one is there."""
maximum: _BinaryUfunc
def mean(
    a: ArrayLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: _bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Mean over axes; NaN where there is nothing."""
def median(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: _bool = False,
    keepdims: _bool = False,
) -> Array:
    """The middle of the sorted elements, or the mean of the two in the middle; parameters as for `quantile`."""
def meshgrid(*xi: Any, copy: _bool = True, sparse: _bool = False, indexing: str = 'xy') -> tuple[Any, ...]:
    """Coordinate arrays from coordinate vectors."""
mgrid: Any
def min(
    a: ArrayLike,
    axis: Any = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum over axes; NaN if one is there."""
minimum: _BinaryUfunc
def minmax(
    a: ArrayLike,
    axis: Any = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> tuple[Any, Any]:
    """Minimum and maximum over axes; NaN if one is there."""
def mod(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x - floor(x / y) * y, with the sign of y, elementwise; bools are taken as integers."""
def modf(x: ArrayLike, /, out: None = None) -> tuple[Array, Array]:
    """Splits x into its fraction and its whole part, both with x's sign, elementwise; the fraction of an infinity is zero."""
def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Moves axes to other places; the rest stay in order."""
multiply: _BinaryUfunc
nan: float
def nan_to_num(
    x: ArrayLike,
    copy: _bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Replaces NaN and the infinities, elementwise."""
def nanargmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: _bool | None = None) -> Array:
    """Index of the greatest element along an axis, NaN left out; -1 where there is nothing else. As `argmax` otherwise."""
def nanargmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: _bool | None = None) -> Array:
    """Index of the least element along an axis, NaN left out; -1 where there is nothing else. As `argmin` otherwise."""
def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Products of the elements up to each one along an axis, NaN counted as 1; parameters as for `cumsum`."""
def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Sums of the elements up to each one along an axis, NaN counted as 0; parameters as for `cumsum`."""
def nanmax(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Maximum over axes; NaN where there is nothing else, NaN left out."""
def nanmean(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: _bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Mean over axes; NaN where there is nothing else, NaN left out."""
def nanmedian(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: _bool = False,
    keepdims: _bool = False,
) -> Array:
    """The median, NaN left out; parameters as for `quantile`."""
def nanmin(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Minimum over axes; NaN where there is nothing else, NaN left out."""
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: _bool = False,
    method: str = 'linear',
    keepdims: _bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The values below which given percentages of the elements lie, NaN left out; see `percentile`."""
def nanprod(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Product over axes, NaN left out."""
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: _bool = False,
    method: str = 'linear',
    keepdims: _bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The values below which given fractions of the elements lie, NaN left out; see `quantile`."""
def nanstd(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: _bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Standard deviation over axes, NaN left out."""
def nansum(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Sum over axes, NaN left out."""
def nanvar(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: _bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Variance over axes, NaN left out."""
def ndim(a: Any) -> int:
    """The number of axes of an array or scalar; of a list too, which is deprecated."""
negative: _UnaryUfunc
newaxis: Any
def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The next representable number after x in the direction of y, elementwise."""
def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> tuple[Any, ...]:
    """The indices of the elements that are not 0."""
def not_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Whether x != y, elementwise."""
ogrid: Any
def ones(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """An array of ones, by default of the default float; parameters as for `full`."""
def ones_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Ones of the shape and dtype of another array; parameters as for `full_like`."""
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Products of all elements of the flat a with all of the flat b: [m, n]."""
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = 'big') -> Array:
    """Packs truth values into bytes, eight along an axis into one; zeros fill up the last."""
def pad(array: Any, pad_width: Any, mode: str | Callable[..., Any] = 'constant', **kwargs: Any) -> Array:
    """Adds elements at the ends of the axes."""
def partition(a: ArrayLike, kth: int, axis: int = -1) -> Array:
    """A copy in which element kth is where sorting puts it, with lesser ones before and greater ones after it."""
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: _bool = False,
    method: str = 'linear',
    keepdims: _bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """The values below which given percentages of the elements lie; q is from 0 to 100; see `quantile`."""
def permute_dims(a: ArrayLike, /, axes: Sequence[int]) -> Array:
    """Reorders the axes; see `transpose`."""
pi: float
def piecewise(x: ArrayLike, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """A function given by pieces."""
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: _bool = True) -> Array:
    """An array with values written where a mask holds, in order, repeated if there are fewer."""
def poly(seq_of_zeros: ArrayLike) -> Array:
    """The polynomial with given roots, or the characteristic polynomial of a square matrix."""
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The sum of two polynomials."""
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """The m-th derivative of a polynomial."""
def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: _bool = False) -> tuple[Array, Array]:
    """Quotient and remainder of two polynomials."""
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: _bool = False,
    w: ArrayLike | None = None,
    cov: _bool | str = False,
) -> Array | tuple[Array, ...]:
    """The polynomial of a degree that fits points best, by least squares."""
def polyint(p: ArrayLike, m: int = 1, k: Any = None) -> Array:
    """The m-th integral of a polynomial."""
def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: _bool = False) -> Array:
    """The product of two polynomials."""
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """The difference of two polynomials."""
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """The value of a polynomial at points, by Horner's rule."""
def positive(x: ArrayLike, /) -> Array:
    """x itself, as an array."""
def pow(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x ** y, elementwise."""
def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x ** y, elementwise."""
def printoptions(*args: Any, **kwargs: Any) -> Any:
    """Context manager for setting print options."""
def prod(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: _bool = True,
) -> Array:
    """Product over axes."""
def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype[Any]:
    """The dtype that two dtypes promote to."""
def ptp(a: ArrayLike, axis: Any = None, out: None = None, keepdims: _bool = False) -> Array:
    """Peak to peak: the maximum over axes less the minimum; parameters as for `max`."""
def put(a: ArrayLike, ind: Any, v: ArrayLike, mode: str | None = None, *, inplace: _bool = True) -> Array:
    """An array with values written at places of the flat array."""
def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: _bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """An array with values written along an axis at positions that differ from vector to vector."""
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    out: None = None,
    overwrite_input: _bool = False,
    method: str = 'linear',
    keepdims: _bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """The values below which given fractions of the elements lie."""
r_: Any
def rad2deg(x: ArrayLike, /) -> Array:
    """Converts angles from radians to degrees, elementwise."""
def radians(x: ArrayLike, /) -> Array:
    """Converts angles from degrees to radians, elementwise."""
def ravel(a: ArrayLike, order: str = 'C', *, out_sharding: Any = None) -> Array:
    """The elements in one axis; parameters as for `reshape`."""
def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = 'raise',
    order: str = 'C',
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Places in the flat array from the index along each axis."""
def real(val: ArrayLike, /) -> Array:
    """The real part, elementwise; a real array is its own."""
def reciprocal(x: ArrayLike, /) -> Array:
    """1 / x, elementwise; integers are taken as floats."""
def remainder(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x - floor(x / y) * y, with the sign of y, elementwise; bools are taken as integers."""
def repeat(
    a: ArrayLike,
    repeats: ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Array:
    """Repeats each element along an axis."""
def reshape(a: ArrayLike, shape: Any, order: str = 'C', *, copy: _bool | None = None, out_sharding: Any = None) -> Array:
    """The same elements in another shape."""
def resize(a: ArrayLike, new_shape: int | Sequence[int]) -> Array:
    """The elements, repeated as often as needed or cut off, in another shape."""
def result_type(*args: Any) -> np.dtype[Any]:
    """The dtype of an operation on arrays, scalars and dtypes; None is the default float, as it is for NumPy."""
def right_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x / 2**y rounded down, x >> y, elementwise."""
def rint(x: ArrayLike, /) -> Array:
    """The nearest whole number, elementwise; halves go to the even neighbour. Integers become the default float."""
def roll(a: ArrayLike, shift: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Moves the elements along axes; what leaves at one end comes in at the other."""
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Moves an axis to before another one; `moveaxis` says it more clearly."""
def roots(p: ArrayLike, *, strip_zeros: _bool = True) -> Array:
    """The roots of a polynomial: the eigenvalues of its companion matrix."""
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = ...) -> Array:
    """Rotates by k quarter turns in the plane of two axes, from the first towards the second."""
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Rounds to a number of decimals, elementwise; halves go to the even neighbour."""
s_: IndexExpression
def save(file: Any, arr: ArrayLike, allow_pickle: _bool = True) -> None:
    """Writes an array to a file in NumPy's format."""
def savez(file: Any, *args: Any, allow_pickle: _bool = True, **kwds: Any) -> None:
    """Writes arrays to an archive in NumPy's format."""
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = 'left', sorter: Any = None, *, method: str = 'scan') -> Array:
    """Where values would have to be inserted in a sorted array to keep it sorted."""
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> Array:
    """For each element, the choice that belongs to the first condition that holds."""
def set_printoptions(
    precision: Any = None,
    threshold: Any = None,
    edgeitems: Any = None,
    linewidth: Any = None,
    suppress: Any = None,
    nanstr: Any = None,
    infstr: Any = None,
    formatter: Any = None,
    sign: Any = None,
    floatmode: Any = None,
    *,
    legacy: Any = None,
    override_repr: Any = None,
) -> Any:
    """Set printing options."""
def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: _bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements of the first array that are not in the second, sorted."""
def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: _bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """The elements of exactly one of the arrays, sorted."""
def shape(a: ArrayLike) -> tuple[int, ...]:
    """The sizes of the axes of an array or scalar; of a list too, which is deprecated."""
def sign(x: ArrayLike, /) -> Array:
    """-1, 0 or 1 by the sign of x, elementwise; x/|x| for complex numbers, NaN for NaN."""
def signbit(x: ArrayLike, /) -> Array:
    """Whether the sign bit of x is set, elementwise; so it is for -0.0."""
def sin(x: ArrayLike, /) -> Array:
    """Sine; x in radians, elementwise."""
def sinc(x: ArrayLike, /) -> Array:
    """sin(pi x) / (pi x), elementwise: 1 at 0, exactly 0 at other integers and at infinity."""
single: type[Any]
def sinh(x: ArrayLike, /) -> Array:
    """Hyperbolic sine, elementwise."""
def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """The number of elements of an array or scalar, or along some of its axes; of a list too, which is deprecated."""
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: _bool = True,
    descending: _bool = False,
) -> Any:
    """A sorted copy; NaN go last."""
def sort_complex(a: ArrayLike) -> Array:
    """A sorted copy as complex numbers, in lexicographic order."""
def spacing(x: ArrayLike, /) -> Array:
    """The distance between x and the next number of greater magnitude, with x's sign, elementwise; NaN for infinity."""
def split(ary: ArrayLike, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Cuts an array into pieces along an axis."""
def sqrt(x: ArrayLike, /) -> Array:
    """Square root; NaN for negative real numbers, elementwise."""
def square(x: ArrayLike, /) -> Array:
    """x * x, elementwise."""
def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Removes axes of size 1."""
def stack(arrays: Array | Sequence[ArrayLike], axis: int = 0, out: None = None, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays of one shape along a new axis."""
def std(
    a: ArrayLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: _bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: Any = None,
) -> Array:
    """Standard deviation over axes, sqrt(var(a))."""
subtract: _BinaryUfunc
def sum(
    a: ArrayLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: _bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: _bool = True,
) -> Array:
    """Sum over axes."""
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Swaps two axes."""
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: _bool = False,
    indices_are_sorted: _bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Reads elements along an axis."""
def take_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: _bool | None = None,
) -> Array:
    """Reads along an axis at positions that differ from vector to vector, as `argsort` and `argmax` give them."""
def tan(x: ArrayLike, /) -> Array:
    """Tangent; x in radians, elementwise."""
def tanh(x: ArrayLike, /) -> Array:
    """Hyperbolic tangent, elementwise."""
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | list[Any] | tuple[Any, ...] = 2,
    *,
    precision: Precision | str | None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Sum of products over given axes."""
def tile(A: ArrayLike, reps: int | Sequence[int]) -> Array:
    """Repeats an array as a whole, reps[i] times along axis i; missing axes and counts are added in front."""
def top_k(a: ArrayLike, k: int, /, *, axis: int = -1, mode: str = 'largest', sorted: _bool = True) -> tuple[Any, Any]:
    """The k greatest or least elements along an axis, and where they were."""
def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Sum of a diagonal."""
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Reorders the axes: axis i of the result is axis axes[i] of the argument; by default they are reversed."""
def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """Integral along an axis by the trapezoidal rule."""
def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Ones at and below a diagonal, zeros above."""
def tril(m: ArrayLike, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros above diagonal k."""
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """The indices of the lower triangle, at and below diagonal k, of an [n, m] matrix."""
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Any, ...]:
    """The indices of the lower triangle of a matrix."""
def trim_zeros(filt: Any, trim: str = 'fb', axis: Any = None) -> Array:
    """Removes zeros from the ends; the values must be known."""
def triu(m: ArrayLike, k: int = 0) -> Array:
    """The matrices in the last two axes with zeros below diagonal k."""
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, ...]:
    """The indices of the upper triangle, at and above diagonal k, of an [n, m] matrix."""
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Any, ...]:
    """The indices of the upper triangle of a matrix."""
def true_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x / y; integers are taken as floats, elementwise."""
def trunc(x: ArrayLike) -> Array:
    """The whole number next to x on the way to 0, elementwise; integers stay."""
uint: type[Any]
uint1: type[Any]
uint16: type[Any]
uint2: type[Any]
uint32: type[Any]
uint4: type[Any]
uint64: type[Any]
uint8: type[Any]
def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The elements of either array, sorted; size and fill_value as for `unique`."""
def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueAllResult:
    """The different elements, where each occurs first, the inverse and the counts; NaN are different; see `unique`."""
def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueCountsResult:
    """The different elements and how often each occurs; NaN are different; see `unique`."""
def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> _UniqueInverseResult:
    """The different elements and which of them each element is; NaN are different; see `unique`."""
def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None) -> Array:
    """The different elements; NaN are different; see `unique`."""
def unpackbits(a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = 'big') -> Array:
    """Unpacks bytes into bits, one into eight along an axis."""
def unravel_index(indices: ArrayLike, shape: Any) -> tuple[Any, ...]:
    """The index along each axis of places in the flat array; places out of bounds give the nearest one."""
def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The pieces of an array along an axis, without it."""
def unwrap(p: ArrayLike, discont: Any = None, axis: int = -1, period: ArrayLike = 6.283185307179586) -> Array:
    """Adds multiples of a period so that neighbours along an axis are never further apart than half of it."""
def vander(x: ArrayLike, N: int | None = None, increasing: _bool = False) -> Array:
    """Matrix of the powers of a vector: column i is x**(N - 1 - i), or x**i if increasing."""
def var(
    a: ArrayLike,
    axis: Any = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: _bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: Any = None,
) -> Array:
    """Variance over axes: the mean of |a - mean(a)|**2."""
def vdot(a: ArrayLike, b: ArrayLike, *, precision: str | None = None, preferred_element_type: DTypeLike | None = None) -> Array:
    """Inner product of the flat arrays, the first conjugated."""
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Inner products along an axis, the first argument conjugated, the other axes broadcast."""
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Products of conjugated vectors [..., n] and matrices [..., n, m], leading axes broadcast; the result is [..., m]."""
def vectorize(pyfunc: Callable[..., Any], *, excluded: Any = ..., signature: str | None = None) -> Callable[..., Any]:
    """Makes a function of scalars, or of arrays of given ranks, one of arrays with any further leading axes, broadcast."""
def vsplit(ary: ArrayLike, indices_or_sections: Any) -> list[Any]:
    """Cuts an array along its first axis; see `split`."""
def vstack(tup: Array | Sequence[ArrayLike], dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the first axis; those of one axis become rows."""
def zeros(shape: Any, dtype: DTypeLike | None = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """An array of zeros, by default of the default float; parameters as for `full`."""
def zeros_like(a: ArrayLike, dtype: DTypeLike | None = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None) -> Array:
    """Zeros of the shape and dtype of another array; parameters as for `full_like`."""
