"""Discrete Fourier transforms: NumPy's functions on the one operation `laminax_ir.ops.fft`, which transforms last axes.

A transform is four steps: the input is cut or padded with zeros to the wanted sizes, its axes are moved to the end,
transformed by threes (the operation takes no more), moved back, and scaled.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.fft import FftType
from laminax_ir.ops.fft import fft as fft_of_last_axes
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.symbolic.symbolic_dims import size_of
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    axis_tuple,
    convert,
    dtype_of,
    ensure_array,
    is_kind,
    shape_of,
    user_dtype,
)
from laminax._src.numerics.numpy.conversion import placed
from laminax._src.numerics.numpy.repeating import roll

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_NORMS = ("backward", "ortho", "forward")
_INVERSE = (FftType.IFFT, FftType.IRFFT)
_MOST_AXES = 3  # that one operation can transform

_ARGS = """
    Args:
      a: an array, {input}.
      {sizes}
      norm: which direction has the factor 1/n: "backward" (None is the same), "forward", or 1/sqrt(n) in both: "ortho".

    Returns:
      {result}

    Raises:
      ValueError: if an axis is out of range or given twice, a size is not positive{raises}, or for another norm.

    Example:
      >>> jnp.fft.{example}
      {shown}
    """
_ONE = """n: the size of the transform; a is cut or padded with zeros to {what}. By default {default}.
      axis: the axis to transform."""
_MANY = """s: the sizes of the transform, one per axis; a is cut or padded with zeros to {what}. By default {default}.
      axes: the axes to transform{axes}."""
_COMPLEX, _REAL, _HALF = "real or complex", "real", "the half of a spectrum that is not redundant"
_HALF_SIZE = "; the (last) transformed axis, of size n, has n // 2 + 1 elements"


def _doc(text: str, many: str | None, kind: FftType, result: str, example: str, shown: str) -> str:
    """A transform's docstring; `many` says which axes are transformed, None stands for one axis."""
    is_inverse_real = kind == FftType.IRFFT
    fields = {"what": "n // 2 + 1 elements" if is_inverse_real else "it",
              "default": "2 * (size - 1) of the (last) axis's size" if is_inverse_real else "the size of a", "axes": many}
    return text + ".\n" + _ARGS.format(
        input={FftType.RFFT: _REAL, FftType.IRFFT: _HALF}.get(kind, _COMPLEX), result=result,
        sizes=(_ONE if many is None else _MANY).format(**fields), raises=", a is complex" if kind == FftType.RFFT else "",
        example=example, shown=shown.replace("\n", "\n      "))


def _documented(text: str, many: str | None, kind: FftType, result: str, at: str, shown: str) -> Callable:
    def decorate(fun: Callable) -> Callable:
        fun.__doc__ = _doc(text, many, kind, result, f"{fun.__name__}({at})", shown)
        return fun
    return decorate


# --- one axis ---


@_documented("Transform of one axis, to frequencies: sum_k a[k] exp(-2πi jk/n)", None, FftType.FFT, "A complex array.",
             "jnp.array([1., 2., 0., -1.])",
             "Array([2.+0.j, 1.-3.j, 0.+0.j, 1.+3.j], dtype=complex64)")
def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    return _one_axis("fft", FftType.FFT, a, n, axis, norm)


@_documented("Inverse transform of one axis: sum_k a[k] exp(2πi jk/n) / n", None, FftType.IFFT, "A complex array.",
             "jnp.array([4., 2.j, 0., -2.j])",
             "Array([1.+0.j, 0.+0.j, 1.+0.j, 2.+0.j], dtype=complex64)")
def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    return _one_axis("ifft", FftType.IFFT, a, n, axis, norm)


@_documented("Transform of one axis of a real array", None, FftType.RFFT, f"A complex array{_HALF_SIZE}.",
             "jnp.array([1., 2., 0., -1.])",
             "Array([2.+0.j, 1.-3.j, 0.+0.j], dtype=complex64)")
def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    return _one_axis("rfft", FftType.RFFT, a, n, axis, norm)


@_documented("Inverse of `rfft`", None, FftType.IRFFT, "A real array.",
             "jnp.array([2., 1. - 3.j, 0.])",
             "Array([ 1.,  2.,  0., -1.], dtype=float32)")
def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    return _one_axis("irfft", FftType.IRFFT, a, n, axis, norm)


@_documented("Transform of one axis of a signal with Hermitian symmetry, of which a is one half: its spectrum is real", None,
             FftType.IRFFT, "A real array.",
             "jnp.array([1., 1.j, 2.])",
             "Array([ 3.,  1.,  3., -3.], dtype=float32)")
def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    return _one_axis("hfft", FftType.IRFFT, a, n, axis, _opposite("hfft", norm))


@_documented("Inverse of `hfft`", None, FftType.RFFT, f"A complex array{_HALF_SIZE}.",
             "jnp.array([1., 2., 0., -1.])",
             "Array([0.5 +0.j  , 0.25+0.75j, 0.  +0.j  ], dtype=complex64)")
def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    return _one_axis("ihfft", FftType.RFFT, a, n, axis, _opposite("ihfft", norm))


def _opposite(name: str, norm: Any) -> str:
    """The norm for the transform in the other direction, by which a Hermitian transform is computed."""
    return {"backward": "forward", "forward": "backward"}.get(_checked_norm(name, norm), norm)


def _one_axis(name: str, kind: FftType, a: Any, n: Any, axis: Any, norm: Any) -> Any:
    if np.ndim(axis):
        raise ValueError(f"laminax.numpy.fft.{name} does not support multiple axes. Please use laminax.numpy.fft.{name}n. Got axis = "
                         f"{axis}.")
    return _transform(name, kind, a, None if n is None else (n,), (operator.index(axis),), norm)


# --- several axes ---


_TWO, _ALL = ", two of them", "; by default the last len(s) ones, or all"


@_documented("Transform of two axes", _TWO, FftType.FFT, "A complex array.",
             "jnp.array([[1., 2.], [3., 5.]])",
             "Array([[11.+0.j, -3.+0.j],\n"
             "       [-5.+0.j,  1.+0.j]], dtype=complex64)")
def fft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Array:
    return _two_axes("fft2", FftType.FFT, a, s, axes, norm)


@_documented("Inverse transform of two axes", _TWO, FftType.IFFT, "A complex array.",
             "jnp.array([[11., -3.], [-5., 1.]])",
             "Array([[1.+0.j, 2.+0.j],\n"
             "       [3.+0.j, 5.+0.j]], dtype=complex64)")
def ifft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Array:
    return _two_axes("ifft2", FftType.IFFT, a, s, axes, norm)


@_documented("Transform of two axes of a real array", _TWO, FftType.RFFT, f"A complex array{_HALF_SIZE}.",
             "jnp.array([[1., 2.], [3., 5.]])",
             "Array([[11.+0.j, -3.+0.j],\n"
             "       [-5.+0.j,  1.+0.j]], dtype=complex64)")
def rfft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Array:
    return _two_axes("rfft2", FftType.RFFT, a, s, axes, norm)


@_documented("Inverse of `rfft2`", _TWO, FftType.IRFFT, "A real array.",
             "jnp.array([[11., -3.], [-5., 1.]])",
             "Array([[1., 2.],\n"
             "       [3., 5.]], dtype=float32)")
def irfft2(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Array:
    return _two_axes("irfft2", FftType.IRFFT, a, s, axes, norm)


def _two_axes(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    if np.size(axes) != 2:
        raise ValueError(f"laminax.numpy.fft.{name} only supports 2 axes. Got axes = {axes}. For another number use {name[:-1]}n.")
    return _transform(name, kind, a, s, axes, norm)


@_documented("Transform of several axes", _ALL, FftType.FFT, "A complex array.",
             "jnp.array([[1., 2.], [3., 5.]])",
             "Array([[11.+0.j, -3.+0.j],\n"
             "       [-5.+0.j,  1.+0.j]], dtype=complex64)")
def fftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    return _transform("fftn", FftType.FFT, a, s, axes, norm)


@_documented("Inverse transform of several axes", _ALL, FftType.IFFT, "A complex array.",
             "jnp.array([[11., -3.], [-5., 1.]])",
             "Array([[1.+0.j, 2.+0.j],\n"
             "       [3.+0.j, 5.+0.j]], dtype=complex64)")
def ifftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    return _transform("ifftn", FftType.IFFT, a, s, axes, norm)


@_documented("Transform of several axes of a real array", _ALL, FftType.RFFT, f"A complex array{_HALF_SIZE}.",
             "jnp.array([[1., 2.], [3., 5.]])",
             "Array([[11.+0.j, -3.+0.j],\n"
             "       [-5.+0.j,  1.+0.j]], dtype=complex64)")
def rfftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    return _transform("rfftn", FftType.RFFT, a, s, axes, norm)


@_documented("Inverse of `rfftn`", _ALL, FftType.IRFFT, "A real array.",
             "jnp.array([[11., -3.], [-5., 1.]])",
             "Array([[1., 2.],\n"
             "       [3., 5.]], dtype=float32)")
def irfftn(a: ArrayLike, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = None) -> Array:
    return _transform("irfftn", FftType.IRFFT, a, s, axes, norm)


# --- the common form ---


def _transform(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    a = ensure_array(name, a)
    norm = _checked_norm(name, norm)
    shape = shape_of(a)
    if kind == FftType.RFFT and is_kind(a, dtypes.complexfloating):
        raise ValueError(f"{name}: only real input is supported, got {get_aval(a).str_short()}. Take its real part, or use fft.")
    axes, sizes = _axes_and_sizes(name, kind, shape, s, axes)
    if axes:
        return _transformed(a, name=name, kind=kind, axes=axes, sizes=sizes, norm=norm)
    if kind in (FftType.RFFT, FftType.IRFFT):
        raise ValueError(f"{name}: at least one axis must be transformed, got {get_aval(a).str_short()} and axes=()")
    return as_array(convert(a, dtypes.to_complex_dtype(dtype_of(a))))


def _checked_norm(name: str, norm: Any) -> str:
    if norm is not None and norm not in _NORMS:
        raise ValueError(f"{name}: norm must be None or one of {_NORMS}, got {norm!r}")
    return norm or "backward"


def _axes_and_sizes(name: str, kind: FftType, shape: tuple[int, ...], s: Any, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes to transform, and the sizes that they have on the real side for the half transforms."""
    rank = len(shape)
    if s is not None:
        s = tuple(size_of(size) for size in s)
        if any(size < 1 for size in s):
            raise ValueError(f"{name}: sizes must be positive, got {s}")
    if axes is None and s is not None:
        if len(s) > rank:
            raise ValueError(f"{name}: there are more sizes than axes, got s={s} for an array of shape {shape}")
        axes = tuple(range(rank - len(s), rank))
    if np.ndim(axes) and len({axis % rank if rank else axis for axis in axes}) < len(axes):
        raise ValueError(f"laminax.numpy.fft.{name} does not support repeated axes. Got axes {list(axes)}.")
    axes = axis_tuple(name, axes, rank)
    if s is None:
        s = tuple(shape[axis] for axis in axes)
        if kind == FftType.IRFFT and axes:
            s = (*s[:-1], max(0, 2 * (s[-1] - 1)))
    if len(s) != len(axes):
        raise ValueError(f"{name}: s and axes must have the same length, got s={s} and axes={axes}")
    return axes, s


@fused(static_argnames=("name", "kind", "axes", "sizes", "norm"))
def _transformed(a: ArrayLike, name: str, kind: FftType, axes: tuple[int, ...], sizes: tuple[int, ...], norm: str) -> Array:
    rank = len(shape_of(a))
    if name == "hfft" and is_kind(a, dtypes.complexfloating):
        a = op.conj(a)
    given = (*sizes[:-1], sizes[-1] // 2 + 1) if kind == FftType.IRFFT else sizes
    a = _resized(a, axes, given)
    front = tuple(i for i in range(rank) if i not in axes)
    order = (*front, *axes)
    is_moved = order != tuple(range(rank))
    result = _of_last_axes(shape_ops.transpose(a, order) if is_moved else a, kind, sizes)
    if is_moved:
        result = shape_ops.transpose(result, tuple(int(i) for i in np.argsort(order)))
    if name == "ihfft":
        result = op.conj(result)
    return _scaled(result, _factor(kind, math.prod(sizes), norm))


def _resized(a: Any, axes: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """a cut or padded with zeros at the end of axes; a negative padding cuts."""
    change = [0] * len(shape_of(a))
    for axis, size in zip(axes, sizes):
        change[axis] = size - shape_of(a)[axis]
    if not any(change):
        return a
    return shape_ops.pad(a, scalar_like(0, dtype_of(a)), [(0, by, 0) for by in change])


def _of_last_axes(x: Any, kind: FftType, sizes: tuple[int, ...]) -> Any:
    """The transform over the last axes, as many as sizes; the half transforms halve or double the very last."""
    if not math.prod(shape_of(x)) or not math.prod(sizes):
        return _empty(x, kind, sizes)
    if len(sizes) <= _MOST_AXES:
        return fft_of_last_axes(x, kind, sizes)
    rest, last = sizes[:-_MOST_AXES], sizes[-_MOST_AXES:]
    if kind == FftType.IRFFT:
        return fft_of_last_axes(_of_earlier_axes(x, FftType.IFFT, rest), kind, last)
    x = fft_of_last_axes(x, kind, last)
    return _of_earlier_axes(x, FftType.FFT if kind == FftType.RFFT else kind, rest)


def _of_earlier_axes(x: Any, kind: FftType, sizes: tuple[int, ...]) -> Any:
    """The transform over the axes before the last three."""
    rank = len(shape_of(x))
    batch = rank - _MOST_AXES - len(sizes)
    order = (*range(batch), *range(rank - _MOST_AXES, rank), *range(batch, rank - _MOST_AXES))
    x = _of_last_axes(shape_ops.transpose(x, order), kind, sizes)
    return shape_ops.transpose(x, tuple(int(i) for i in np.argsort(order)))


def _empty(x: Any, kind: FftType, sizes: tuple[int, ...]) -> Any:
    """The transform of no numbers: XLA has none."""
    dtype = dtypes.to_complex_dtype(dtype_of(x))
    if kind == FftType.IRFFT:
        dtype = np.zeros((), dtype).real.dtype
    last = sizes[-1] // 2 + 1 if kind == FftType.RFFT else sizes[-1]
    return shape_ops.full((*shape_of(x)[:-1], last), 0, dtype)


def _factor(kind: FftType, count: int, norm: str) -> float:
    """The factor of the operation's result; the inverse operations divide by the count themselves."""
    if norm == "backward":
        return 1.0
    power = 1.0 if kind in _INVERSE else -1.0
    return float(count) ** (power if norm == "forward" else power / 2) if count else 1.0


def _scaled(x: Any, factor: float) -> Any:
    return x if factor == 1 else op.mul(x, scalar_like(factor, dtype_of(x)))


# --- frequencies ---


def fftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """The frequencies of the elements that `fft` returns: 0, 1, ..., -2, -1 over n * d.

    Args:
      n: the size of the transform.
      d: a scalar, the distance of the samples; may be traced.
      dtype: the dtype of the result, by default the default float.
      device: the device or sharding that holds the result.

    Returns:
      float[n], in cycles per unit of d.

    Raises:
      ValueError: if n is a sequence or d no scalar.
      TypeError: if n is otherwise no integer.

    Example:
      >>> jnp.fft.fftfreq(4)
      Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    n = _size_argument("fftfreq", n)
    return _frequencies("fftfreq", np.fft.ifftshift(np.arange(-(n // 2), n - n // 2)), n, d, dtype, device)


def rfftfreq(n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: Any = None) -> Array:
    """The frequencies of the elements that `rfft` returns: 0, 1, ..., n // 2 over n * d; parameters as for `fftfreq`.

    Example:
      >>> jnp.fft.rfftfreq(4)
      Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    n = _size_argument("rfftfreq", n)
    return _frequencies("rfftfreq", np.arange(n // 2 + 1), n, d, dtype, device)


def _size_argument(name: str, n: Any) -> int:
    if isinstance(n, (list, tuple)):
        raise ValueError(f"The n argument of laminax.numpy.fft.{name} only takes an int. Got n = {n!r}.")
    return as_int(name, "n", n)


def _frequencies(name: str, cycles: np.ndarray, n: int, d: Any, dtype: Any, device: Any) -> Any:
    if isinstance(d, (list, tuple)) or shape_of(ensure_array(name, d)):
        raise ValueError(f"The d argument of laminax.numpy.fft.{name} only takes a single value. Got d = {d!r}.")
    dtype = user_dtype(name, float if dtype is None else dtype)
    span = op.mul(convert(d, dtype), scalar_like(n, dtype))
    return placed(op.div(cycles.astype(dtype), span), device)


# --- order ---


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Moves frequency 0 to the middle of axes.

    Args:
      x: an array in the order of `fft`.
      axes: the axis or axes; None is all.

    Returns:
      An array of x's shape, rolled by half the size, rounded down.

    Example:
      >>> jnp.fft.fftshift(jnp.arange(4))
      Array([2, 3, 0, 1], dtype=int32)
    """
    return _shifted("fftshift", x, axes, lambda size: size // 2)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Moves frequency 0 from the middle of axes to the front: the inverse of `fftshift`; parameters as there.

    Example:
      >>> jnp.fft.ifftshift(jnp.arange(4))
      Array([2, 3, 0, 1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, lambda size: -(size // 2))


def _shifted(name: str, x: Any, axes: Any, by: Callable) -> Any:
    x = as_array(ensure_array(name, x))
    axes = axis_tuple(name, axes, len(x.shape))
    return roll(x, tuple(by(x.shape[axis]) for axis in axes), axes) if axes else x
