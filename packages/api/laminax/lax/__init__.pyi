# Written by tools/stubs.py.
"""laminax.lax: the operations that everything else is made of."""

import numpy as np
from collections.abc import Callable, Hashable, Sequence
from laminax._array import Array
from laminax.typing import ArrayLike, DTypeLike
from laminax_ir.ops.contraction import PrecisionLike as _PrecisionLike, RaggedDotDimensionNumbers as _RaggedDotDimensionNumbers
from laminax_ir.ops.convolution import ConvDimensionNumbers as _ConvDimensionNumbers
from laminax_ir.ops.elementwise import RoundingMethod as _RoundingMethod
from laminax_ir.ops.elementwise_transcendental import Accuracy
from laminax_ir.ops.fft import FftType as _FftType
from laminax_ir.ops.indexing import (
    GatherDimensionNumbers as _GatherDimensionNumbers,
    GatherScatterMode as _GatherScatterMode,
    ScatterDimensionNumbers as _ScatterDimensionNumbers,
)
from laminax_ir.ops.random_bits import RandomAlgorithm as _RandomAlgorithm
from laminax_ir.ops.shape_tuples import Shape
from laminax_ir.ops.tokens import Token
from laminax_ir.symbolic.symbolic_dims import DimSize
from laminax_ir.types.avals import ShapedArray
from typing import Any, NoReturn
from laminax.lax import linalg as linalg
from laminax_ir.ops.contraction import DotDimensionNumbers as DotDimensionNumbers
from laminax_ir.ops.contraction import Precision as Precision
from laminax_ir.ops.contraction import PrecisionLike as PrecisionLike
from laminax_ir.ops.contraction import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
from laminax_ir.ops.convolution import ConvDimensionNumbers as ConvDimensionNumbers
from laminax_ir.ops.convolution import ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers
from laminax_ir.ops.elementwise import RoundingMethod as RoundingMethod
from laminax_ir.ops.fft import FftType as FftType
from laminax_ir.ops.indexing import GatherDimensionNumbers as GatherDimensionNumbers
from laminax_ir.ops.indexing import GatherScatterMode as GatherScatterMode
from laminax_ir.ops.indexing import ScatterDimensionNumbers as ScatterDimensionNumbers
from laminax_ir.ops.random_bits import RandomAlgorithm as RandomAlgorithm
from laminax_ir.types.accuracy import AccuracyMode as AccuracyMode
from laminax_ir.types.accuracy import Tolerance as Tolerance
from laminax_ir.types.dot_algorithms import DotAlgorithm as DotAlgorithm
from laminax_ir.types.dot_algorithms import DotAlgorithmPreset as DotAlgorithmPreset

__all__: list[str]

def abs(x: ArrayLike) -> Array:
    """Elementwise absolute value of signed integers or floats; of complex input the real magnitude."""
def acos(x: ArrayLike) -> Array:
    """Elementwise arc cosine (floating or complex), in radians."""
def acosh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic cosine (floating or complex)."""
def add(x: Any, y: Any) -> Any:
    """Elementwise sum, x + y."""
def after_all(*operands: Token) -> Token:
    """A token made of any number of tokens."""
def all_gather(x: Any, axis_name: Any, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False, to: str = 'varying') -> Any:
    """Gathers values along a named axis; every participant gets all of them."""
def all_to_all(x: Any, axis_name: Any, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None, tiled: bool = False) -> Any:
    """Trades parts between all participants: one axis of the array for the named axis."""
def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """The k greatest elements along an axis and where they were, of which some may be missed."""
def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Any]:
    """The k least elements along an axis and where they were; otherwise as `approx_max_k`, in ascending order."""
def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Index of the first greatest element along an axis; the first NaN wins over all numbers."""
def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Index of the first least element along an axis; the first NaN wins over all numbers."""
def asin(x: ArrayLike) -> Array:
    """Elementwise arc sine (floating or complex), in radians."""
def asinh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic sine (floating or complex)."""
def associative_scan(fn: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Scan by an associative operation in logarithmic depth."""
def atan(x: ArrayLike) -> Array:
    """Elementwise arc tangent (floating or complex), in radians."""
def atan2(x: Any, y: Any) -> Any:
    """Elementwise angle of the point (y, x) in radians: arc tangent of x / y with quadrant."""
def atanh(x: ArrayLike) -> Array:
    """Elementwise inverse hyperbolic tangent (floating or complex)."""
def axis_index(axis_name: Hashable | Sequence[Hashable]) -> Array:
    """The index of this participant along a named axis."""
def axis_size(axis_name: Hashable | Sequence[Hashable]) -> int:
    """The size of a named axis."""
def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: _PrecisionLike = None) -> Array:
    """Matrix products over leading batch axes."""
def bessel_i0e(x: ArrayLike) -> Array:
    """Elementwise modified Bessel function of order 0, scaled: exp(-|x|) I0(x)."""
def bessel_i1e(x: ArrayLike) -> Array:
    """Elementwise modified Bessel function of order 1, scaled: exp(-|x|) I1(x)."""
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularised incomplete beta function, :math:`I_x(a, b)`."""
def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Reinterprets the bits of each element as another dtype; a change of width adds or removes a last axis."""
def bitwise_and(x: Any, y: Any) -> Any:
    """Elementwise and of integers or bools."""
def bitwise_not(x: ArrayLike) -> Array:
    """Elementwise complement of integers or bools."""
def bitwise_or(x: Any, y: Any) -> Any:
    """Elementwise or of integers or bools."""
def bitwise_xor(x: Any, y: Any) -> Any:
    """Elementwise exclusive or of integers or bools."""
def broadcast(operand: ArrayLike, sizes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Repeats an array along new leading axes."""
def broadcast_in_dim(operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Repeats an array along new axes and along axes of size 1."""
def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """An array broadcast to the shape of another one, by NumPy's rule."""
def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of the given shapes broadcast to by NumPy's rules."""
def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Adds leading axes of size 1 until the array has `rank` axes."""
def broadcasted_iota(dtype: DTypeLike, shape: Sequence[DimSize], dimension: int, *, out_sharding: Any = None) -> Array:
    """An array of the given shape whose elements are their index along one axis."""
def cbrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise real cube root (floating)."""
def ceil(x: ArrayLike) -> Array:
    """Elementwise smallest integer not below x (floating)."""
def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Elementwise x limited to [min, max]; bounds are scalars or of x's shape, all of one dtype."""
def clz(x: ArrayLike) -> Array:
    """Elementwise number of leading zero bits of integers, in the operand's dtype."""
def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merges the axes from start_dimension up to, not including, stop_dimension (by default all after it) into one."""
def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise complex number x + iy from two float32 or two float64 arrays."""
def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function that computes what `decomposition` does, under a name that compilers may recognise."""
def concatenate(operands: Sequence[Any], dimension: int) -> Array:
    """Joins arrays along an axis."""
def cond(pred: ArrayLike, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any, operand: Any = ...) -> Any:
    """Applies one of two functions, chosen by a scalar that may be traced."""
def conj(x: ArrayLike) -> Array:
    """Elementwise complex conjugate; a float32 or float64 input becomes complex."""
def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Any,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolution in the standard order of axes; see `conv_general_dilated`."""
def conv_dimension_numbers(lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any) -> _ConvDimensionNumbers:
    """Dimension numbers from letters."""
def conv_general_dilated(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """General convolution over n spatial axes."""
def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Any,
    filter_shape: Sequence[int],
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    precision: _PrecisionLike = None,
) -> Array:
    """Convolution with a kernel of its own at each place of the result (a locally connected layer)."""
def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Any = None,
    rhs_dilation: Any = None,
    dimension_numbers: Any = None,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The patches of the input that a convolution would see, flattened into the feature axis."""
def conv_general_permutations(dimension_numbers: tuple[str, str, str]) -> tuple[Shape, Shape, Shape]:
    """Which axes of lhs, rhs and result are batch, features and space."""
def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: tuple[str, str, str],
) -> Shape:
    """The shape of a convolution with axes in any order."""
def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    batch_group_count: int = 1,
) -> Shape:
    """The shape of a convolution of arrays whose axes are in the order batch, feature, spatial...."""
def conv_transpose(
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: Any,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Transposed convolution: upsamples by `strides`, as the gradient of a convolution does."""
def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
    dimension_numbers: tuple[str, str, str],
) -> Shape:
    """The shape of a transposed convolution; see `conv_transpose`."""
def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """As `conv`, with dilations; see `conv_general_dilated`."""
def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike, weak_type: bool = False) -> Array:
    """Converts each element to another dtype."""
def copy(x: ArrayLike) -> Array:
    """A copy of the array (any dtype)."""
def cos(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise cosine (floating or complex); x in radians."""
def cosh(x: ArrayLike) -> Array:
    """Elementwise hyperbolic cosine (floating or complex)."""
def create_token(_: Any = None) -> Token:
    """A new token."""
def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative log(sum(exp(x))) along an axis."""
def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative maximum, NaN from the first NaN on, along an axis."""
def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative minimum, NaN from the first NaN on, along an axis."""
def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative product along an axis."""
def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """Cumulative sum along an axis."""
def custom_linear_solve(
    matvec: Callable[..., Any],
    b: Any,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solves `matvec(x) = b` with the given solver; derivatives are solves, not derivatives of the solver."""
def custom_root(
    f: Callable[..., Any],
    initial_guess: Any,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> Any:
    """Finds `x` with `f(x) = 0` with the given solver; derivatives follow from `f`, not from the solver."""
def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keeps the computation of values in a program, used or not."""
def digamma(x: ArrayLike) -> Array:
    """Elementwise derivative of the logarithm of Γ; NaN at its poles 0, -1, -2, ..."""
def div(x: Any, y: Any) -> Any:
    """Elementwise quotient, x / y; of integers rounded towards zero."""
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: Any = None,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Product of matrices and vectors: vector-vector, matrix-vector, vector-matrix or matrix-matrix."""
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """General product: multiplies, sums over the contracting axes, keeps the batch axes paired."""
def dtype(x: Any) -> np.dtype[Any]:
    """The dtype that a value has, or would have, as an array."""
def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Reads one computed position along an axis, clamped to the axis."""
def dynamic_slice(operand: ArrayLike, start_indices: Any, slice_sizes: Sequence[int], *, allow_negative_indices: bool = True) -> Array:
    """Reads a window of static size at a computed position; the position is clamped so that the window fits."""
def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Reads positions along one axis, from a computed one on, clamped so that they fit; see `dynamic_slice`."""
def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Writes an update at one computed position along an axis, clamped to it."""
def dynamic_update_slice(operand: ArrayLike, update: ArrayLike, start_indices: Any, *, allow_negative_indices: bool = True) -> Array:
    """Writes a window at a computed position; the position is clamped so that the window fits."""
def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Writes an update over the positions along one axis from a computed one on; see `dynamic_update_slice`."""
def empty(shape: Sequence[int], dtype: DTypeLike, *, out_sharding: Any = None) -> Array:
    """An array whose values the caller promises not to rely on; they are zeros."""
def eq(x: Any, y: Any) -> Any:
    """Elementwise comparison x == y, a bool array."""
def erf(x: ArrayLike) -> Array:
    """Elementwise error function, :math:`\\frac{2}{\\sqrt\\pi} \\int_0^x e^{-t^2} dt`."""
def erf_inv(x: ArrayLike) -> Array:
    """Elementwise inverse of `erf`: infinite at -1 and 1, NaN outside them."""
def erfc(x: ArrayLike, *, accuracy: Any = None) -> Array:
    """Elementwise complementary error function, 1 - erf(x), accurate where that is small."""
def exp(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise exponential (floating or complex)."""
def exp2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise power of two, 2**x (floating or complex)."""
def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Adds axes of size 1."""
def expm1(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise exp(x) - 1 (floating or complex), accurate near 0."""
def fft(x: ArrayLike, fft_type: _FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform over the last axes."""
def floor(x: ArrayLike) -> Array:
    """Elementwise largest integer not above x (floating)."""
def fori_loop(lower: ArrayLike, upper: ArrayLike, body_fun: Callable[..., Any], init_val: Any, *, unroll: int | bool | None = None) -> Any:
    """Applies a function to each integer of a range in turn."""
def full(shape: Sequence[int], fill_value: ArrayLike, dtype: DTypeLike | None = None, *, sharding: Any = None) -> Array:
    """An array with one value everywhere."""
def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    sharding: Any = None,
) -> Array:
    """An array with one value everywhere, of the shape and dtype of another."""
def gather(
    operand: ArrayLike,
    start_indices: Any,
    dimension_numbers: _GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | _GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Reads many windows of one static size."""
def ge(x: Any, y: Any) -> Any:
    """Elementwise comparison x >= y, a bool array."""
def gt(x: Any, y: Any) -> Any:
    """Elementwise comparison x > y, a bool array."""
def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularised lower incomplete gamma function, :math:`P(a, x) = \\int_0^x t^{a-1} e^{-t} dt / \\Gamma(a)`."""
def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise derivative of `igamma(a, x)` with respect to a."""
def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise regularised upper incomplete gamma function, Q(a, x) = 1 - P(a, x)."""
def imag(x: ArrayLike) -> Array:
    """Elementwise imaginary part of a complex array."""
def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Reads one position along an axis."""
def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Array:
    """Reads single positions along several axes, indices counted modulo the axes' sizes."""
def integer_pow(x: ArrayLike, y: int) -> Array:
    """Elementwise x**y for a static integer y; a negative y needs an inexact x."""
def iota(dtype: DTypeLike, size: DimSize) -> Array:
    """The numbers 0, 1, ..., size - 1 as an array of the given dtype."""
def is_finite(x: ArrayLike) -> bool:
    """Elementwise bool: whether x (floating) is neither infinite nor NaN."""
def le(x: Any, y: Any) -> Any:
    """Elementwise comparison x <= y, a bool array."""
def lgamma(x: ArrayLike) -> Array:
    """Elementwise logarithm of |Γ(x)|; infinite at 0, -1, -2, ..."""
def log(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise natural logarithm (floating or complex)."""
def log1p(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise log(1 + x) (floating or complex), accurate near 0."""
def log2(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise logarithm to base 2 (floating or complex)."""
def logistic(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise sigmoid (floating or complex), 1 / (1 + exp(-x))."""
def lt(x: Any, y: Any) -> Any:
    """Elementwise comparison x < y, a bool array."""
def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Applies a function to each slice along the leading axis, in sequence."""
def max(x: Any, y: Any) -> Any:
    """Elementwise maximum; NaN if either is NaN; complex numbers in lexicographic order."""
def min(x: Any, y: Any) -> Any:
    """Elementwise minimum; NaN if either is NaN; complex numbers in lexicographic order."""
def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """Elementwise product, x * y."""
def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Elementwise high half of the product x * y: what the dtype does not hold of its bits."""
def ne(x: Any, y: Any) -> Any:
    """Elementwise comparison x != y, a bool array."""
def neg(x: ArrayLike) -> Array:
    """Elementwise negation, -x, of numbers."""
def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Elementwise next representable value after x1 in the direction of x2."""
def one_minus_square(x: ArrayLike) -> Array:
    """Elementwise 1 - x*x (integer, floating or complex), as (1 + x)(1 - x): accurate near -1 and 1."""
def optimization_barrier(operand: Any, /) -> Any:
    """The same values, across which the compiler moves nothing."""
def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """Puts a value before, after and between the elements along each axis."""
def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
) -> list[tuple[int, int]]:
    """The (low, high) padding of each axis for a padding by name."""
def pbroadcast(x: Any, axis_name: Any, source: int) -> Any:
    """Gives every participant the value of one of them."""
def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Changes what types say of values along axes of a checked `shard_map` (`check_vma`); the devices' numbers stay."""
def platform_dependent(*args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]) -> Any:
    """Applies a function that depends on the platform the program is compiled for."""
def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The maximum over a named axis; every participant gets it."""
def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The mean over a named axis; every participant gets it."""
def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """The minimum over a named axis; every participant gets it."""
def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Elementwise m-th derivative of `digamma` at x."""
def polynomial(x: ArrayLike, coeffs: Sequence[Any], *, unroll: int | None = None) -> Array:
    """Elementwise polynomial coeffs[0] + coeffs[1] x + coeffs[2] x**2 + ..., by Horner's rule."""
def population_count(x: ArrayLike) -> Array:
    """Elementwise number of set bits of integers, in the operand's dtype."""
def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Elementwise power x**y: x inexact, y of x's dtype or an integer array."""
def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Sends each participant's value to another participant."""
def precv(token: Any, out_shape: Any, axis_name: Any, perm: Any) -> NoReturn:
    """Not supported: `ppermute` sends and receives in one operation."""
def psend(x: Any, axis_name: Any, perm: Any) -> NoReturn:
    """Not supported: `ppermute` sends and receives in one operation."""
def pshuffle(x: Any, axis_name: Any, perm: Sequence[int]) -> Any:
    """Permutes the values along a named axis: participant i gets the value of participant `perm[i]`."""
def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Sums over a named axis; every participant gets the sum."""
def psum_scatter(x: Any, axis_name: Any, *, scatter_dimension: int = 0, axis_index_groups: Any = None, tiled: bool = False) -> Any:
    """Sums over a named axis; each participant gets one part of the sum."""
def pswapaxes(x: Any, axis_name: Any, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Exchanges a named axis with an axis of the array: `all_to_all` that splits and stacks along `axis`."""
def ragged_all_to_all(
    operand: ArrayLike,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: Any,
    axis_index_groups: Any = None,
) -> NoReturn:
    """Not supported: `all_to_all` sends pieces of one size."""
def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Product of groups of rows with a matrix each: row r of group i gives lhs[r] @ rhs[i]."""
def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: _RaggedDotDimensionNumbers,
    precision: _PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """General product over groups: an axis of lhs is divided into consecutive groups of given sizes."""
def random_gamma_grad(a: ArrayLike, x: ArrayLike, *, dtype: DTypeLike | None = None) -> Array:
    """Elementwise derivative of a sample from the gamma distribution with respect to its shape parameter."""
def real(x: ArrayLike) -> Array:
    """Elementwise real part of a complex array."""
def reciprocal(x: ArrayLike) -> Array:
    """Elementwise reciprocal, 1 / x."""
def reduce(
    operands: Sequence[Any],
    init_values: Any,
    computation: Callable[..., Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Reduces one or several arrays over axes by a monoid."""
def reduce_and(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """And of bools, or bitwise and of integers, over axes; all ones where there is nothing."""
def reduce_max(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Maximum over axes: NaN if one is there, complex numbers in lexicographic order, the dtype's least value where empty."""
def reduce_min(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Minimum over axes: NaN if one is there, complex numbers in lexicographic order, the dtype's greatest value where empty."""
def reduce_or(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Or of bools, or bitwise or of integers, over axes; zero where there is nothing."""
def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounds to a float format with the given numbers of exponent and mantissa bits; the dtype stays."""
def reduce_prod(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Product of numbers over axes; 1 where there is nothing; integers wrap around."""
def reduce_sum(operand: ArrayLike, axes: Sequence[int], *, out_sharding: Any = None) -> Array:
    """Sum of numbers over axes."""
def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str = 'VALID',
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduces every window of one or several arrays by a monoid."""
def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Shape:
    """The shape of a windowed reduction; see `reduce_window`."""
def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Array:
    """Exclusive or of bools, or bitwise of integers, over axes; zero where there is nothing."""
def rem(x: Any, y: Any) -> Any:
    """Elementwise remainder of x / y with the sign of x."""
def reshape(operand: ArrayLike, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, *, out_sharding: Any = None) -> Array:
    """The same elements in another shape."""
def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverses the order of the elements along the given axes (not negative, unique)."""
def rng_bit_generator(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: DTypeLike = ...,
    algorithm: _RandomAlgorithm = ...,
    *,
    out_sharding: Any = None,
) -> tuple[Any, ...]:
    """Random bits of XLA's stateless generator, and the state after them."""
def rng_uniform(a: ArrayLike, b: ArrayLike, shape: Sequence[int]) -> Array:
    """Random numbers in [a, b) from a generator with a hidden state, others at each run."""
def round(x: ArrayLike, rounding_method: _RoundingMethod = ...) -> Array:
    """Elementwise nearest integer (floating); halves go away from zero or to the even neighbour."""
def rsqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise reciprocal square root (floating or complex), 1/sqrt(x)."""
def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: Any = None,
    rhs_scale: Any = None,
    dimension_numbers: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The product of (lhs * lhs_scale) and (rhs * rhs_scale), each scale's elements repeated over blocks."""
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> Any:
    """Applies a function along the leading axis of arrays, carrying state from one step to the next."""
def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: _ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | _GatherScatterMode | None = None,
) -> Any:
    """Writes updates into an array at many positions."""
def scatter_add(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: _ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | _GatherScatterMode | None = None,
) -> Any:
    """Adds updates to an array at many positions."""
def scatter_apply(
    operand: ArrayLike,
    scatter_indices: Any,
    func: Callable[..., Any],
    dimension_numbers: _ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = ...,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | _GatherScatterMode | None = None,
) -> Array:
    """Applies a function to the elements of an array at many positions; it cannot be differentiated."""
def scatter_max(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: _ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | _GatherScatterMode | None = None,
) -> Any:
    """Takes the maximum of an array and updates at many positions."""
def scatter_min(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: _ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | _GatherScatterMode | None = None,
) -> Any:
    """Takes the minimum of an array and updates at many positions."""
def scatter_mul(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: _ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | _GatherScatterMode | None = None,
) -> Any:
    """Multiplies an array by updates at many positions."""
def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: _ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | _GatherScatterMode | None = None,
) -> Any:
    """Subtracts updates from an array at many positions."""
def select(pred: ArrayLike, on_true: Any, on_false: Any) -> Array:
    """Elementwise choice: `on_true` where pred (bool) holds, `on_false` elsewhere."""
def select_n(which: Any, *cases: ShapedArray) -> Array:
    """Elementwise choice between cases."""
def shape_as_value(shape: Sequence[Any]) -> Any:
    """A shape as an array of its sizes."""
def shift_left(x: Any, y: Any) -> Any:
    """Elementwise x * 2**y in integers of fixed width."""
def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """Elementwise right shift of integers that repeats the sign bit."""
def shift_right_logical(x: Any, y: Any) -> Any:
    """Elementwise right shift of integers that fills with zeros."""
def sign(x: ArrayLike) -> Array:
    """Elementwise sign: -1, 0 or 1; x/|x| for complex x; NaN for NaN."""
def sin(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise sine (floating or complex); x in radians."""
def sinh(x: ArrayLike) -> Array:
    """Elementwise hyperbolic sine (floating or complex)."""
def slice(operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None) -> Array:
    """Reads a window at a static position."""
def slice_in_dim(operand: ArrayLike, start_index: DimSize | None, limit_index: DimSize | None, stride: int = 1, axis: int = 0) -> Array:
    """Slices along one axis."""
def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """Sorts arrays along an axis, all in the order of the first ones."""
def sort_key_val(keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True) -> tuple[Array, Array]:
    """Sorts keys along an axis and puts values in the same order; see `sort`."""
def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> Any:
    """Cuts an array into pieces along an axis."""
def sqrt(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise square root (floating or complex)."""
def square(x: ArrayLike) -> Array:
    """Elementwise x*x (integer, floating or complex)."""
def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Removes axes of size 1."""
def stack(operands: Sequence[Any], axis: int = 0) -> Array:
    """Joins arrays of one shape along a new axis."""
def stage(x: ArrayLike, /) -> Any:
    """The value as one of the trace at work, or outside of any as an array."""
def stop_gradient(x: Any) -> Any:
    """The identity with derivative zero."""
def sub(x: Any, y: Any) -> Any:
    """Elementwise difference, x - y."""
def switch(index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: Any, operand: ArrayLike = ...) -> Any:
    """Applies one of several functions, chosen by an integer that may be traced."""
def tan(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise tangent (floating or complex); x in radians."""
def tanh(x: ArrayLike, *, accuracy: Accuracy = None) -> Array:
    """Elementwise hyperbolic tangent (floating or complex)."""
def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeats an array as a whole, reps[i] times along axis i."""
def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> Any:
    """The k greatest elements along an axis, in descending order, and where they were."""
def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Reorders the axes: axis i of the result is axis permutation[i] of the operand."""
def unstack(x: ArrayLike, axis: int = 0) -> tuple[Any, ...]:
    """The slices of an array along an axis."""
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Any) -> Any:
    """Applies a function as long as a condition holds."""
def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Constrains the sharding of values inside of a jitted function; outside, moves the values to this sharding."""
def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Elementwise Hurwitz zeta function, :math:`\\sum_{n \\ge 0} (n + q)^{-x}`."""
