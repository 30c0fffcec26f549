"""Convolution, correlation and window functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops import special
from laminax_ir.ops.calls import CustomJVPCall
from laminax_ir.ops.convolution import conv_general_dilated
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.symbolic.symbolic_dims import known_size
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_size
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy.arguments import (
    as_array,
    concrete_int,
    convert,
    dtype_of,
    ensure_arrays,
    inexact,
    shape_of,
    user_dtype,
    weak_like,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

_MODES = ("full", "same", "valid")


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full", *, precision: Any = None,
             preferred_element_type: DTypeLike | None = None) -> Array:
    """Convolution of two vectors.

    Args:
      a, v: vectors, not empty.
      mode: "full" for every overlap, "same" for the size of the longer one, "valid" for full overlaps.
      precision: see `lax.Precision`.
      preferred_element_type: the dtype to sum in and return.

    Raises:
      ValueError: if an argument is no vector or empty, or for another mode.

    Example:
      >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
      Array([1., 3., 5., 3.], dtype=float32)
    """
    return _convolve("convolve", a, v, mode, precision, preferred_element_type)


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid", *, precision: Any = None,
              preferred_element_type: DTypeLike | None = None) -> Array:
    """Cross-correlation of two vectors, the second conjugated; parameters as for `convolve`.

    Example:
      >>> jnp.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]))
      Array([2., 3.], dtype=float32)
    """
    return _convolve("correlate", a, v, mode, precision, preferred_element_type)


def _convolve(name: str, a: Any, v: Any, mode: str, precision: Any, preferred: Any) -> Any:
    if isinstance(precision, list):
        precision = tuple(precision)
    return _convolved(a, v, name=name, mode=mode, precision=precision, preferred=user_dtype(name, preferred))


@fused(static_argnames=("name", "mode", "precision", "preferred"))
def _convolved(a: ArrayLike, v: Any, name: str, mode: str, precision: Any, preferred: Any) -> Array:
    a, v = ensure_arrays(name, a, v)
    for x in (a, v):
        if len(shape_of(x)) != 1:
            raise ValueError(f"{name}() only support 1-dimensional inputs, got {get_aval(x).str_short()}")
        if not shape_of(x)[0]:
            raise ValueError(f"{name}: inputs cannot be empty, got shapes {shape_of(a)} and {shape_of(v)}")
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of {_MODES}, got {mode!r}")
    operands, is_default = (a, v), preferred is None
    result = dtypes.to_inexact_dtype(dtypes.result_type(a, v))
    if preferred is None:
        preferred = result
    a, v = as_array(convert(a, result)), as_array(convert(v, result))
    turned = False
    if name == "correlate":
        v = op.conj(v) if dtypes.issubdtype(result, dtypes.complexfloating) else v
        if v.shape[0] > a.shape[0]:
            a, v, turned = v, a, True
        kernel = v
    else:
        if mode != "full" and v.shape[0] > a.shape[0]:
            a, v = v, a
        kernel = shape_ops.rev(v, (0,))
    n = kernel.shape[0]
    low = {"full": n - 1, "valid": 0, "same": n // 2}[mode]
    high = {"full": n - 1, "valid": 0, "same": n - 1 - low}[mode]
    out = conv_general_dilated(shape_ops.expand_dims(a, (0, 1)), shape_ops.expand_dims(kernel, (0, 1)), (1,), [(low, high)],
                               precision=precision, preferred_element_type=preferred)
    out = shape_ops.reshape(out, (out.shape[-1],))
    out = shape_ops.rev(out, (0,)) if turned else out
    return weak_like(out, *operands) if is_default else out


# --- windows ---


def _window(name: str, M: Any) -> int:
    M = known_size(name, concrete_int(name, "M", M))
    if M < 0:
        raise ValueError(f"{name}: the number of points must not be negative, got {M}")
    return check_size(name, "M", M)


def _host_window(values: np.ndarray) -> Any:
    return as_array(values.astype(dtypes.canonicalize_dtype(float)))


def bartlett(M: int) -> Array:
    """The triangular window of M points that is 0 at its ends.

    Example:
      >>> jnp.bartlett(5)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    return _host_window(np.bartlett(_window("bartlett", M)))


def blackman(M: int) -> Array:
    """Blackman's window of M points.

    Example:
      >>> jnp.blackman(5).round(2)
      Array([-0.  ,  0.34,  1.  ,  0.34, -0.  ], dtype=float32)
    """
    return _host_window(np.blackman(_window("blackman", M)))


def hamming(M: int) -> Array:
    """Hamming's window of M points.

    Example:
      >>> jnp.hamming(3)
      Array([0.08, 1.  , 0.08], dtype=float32)
    """
    return _host_window(np.hamming(_window("hamming", M)))


def hanning(M: int) -> Array:
    """Von Hann's window of M points.

    Example:
      >>> jnp.hanning(3)
      Array([0., 1., 0.], dtype=float32)
    """
    return _host_window(np.hanning(_window("hanning", M)))


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Kaiser's window of M points with shape parameter beta, a scalar.

    Args:
      M: the number of points.
      beta: the shape parameter, a scalar: 0 is a rectangle, larger ones are narrower.

    Returns:
      A float vector [M].

    Example:
      >>> jnp.kaiser(3, 0.0)
      Array([1., 1., 1.], dtype=float32)
    """
    return _kaiser(beta, M=_window("kaiser", M))


@fused(static_argnames=("M",))
def _kaiser(beta: ArrayLike, M: int) -> Array:
    dtype = dtypes.canonicalize_dtype(float)
    if M <= 1:
        return shape_ops.full((M,), 1, dtype)
    beta = convert(beta, dtype)
    alpha = 0.5 * (M - 1)
    along = op.div(op.sub(shape_ops.iota(dtype, M), scalar_like(alpha, dtype)), scalar_like(alpha, dtype))
    inside = op.sub(scalar_like(1.0, dtype), op.mul(along, along))
    root = op.sqrt(op.max(inside, scalar_like(0.0, dtype)))
    return op.div(i0(op.mul(beta, root)), i0(beta))


@fused
def i0(x: ArrayLike) -> Array:
    """Modified Bessel function of order 0, elementwise.

    Raises:
      ValueError: for complex numbers.

    Example:
      >>> jnp.i0(jnp.array([0.0, 1.0]))
      Array([0.99999994, 1.266066  ], dtype=float32)
    """
    x = inexact("i0", x)
    if dtypes.issubdtype(dtype_of(x), dtypes.complexfloating):
        raise ValueError(f"i0: complex numbers are not supported, got {get_aval(x).str_short()}")
    return CustomJVPCall(_i0, _i0_jvp, (x,), "i0").bind()[0]


def _i0(x: Any) -> list[Any]:
    return [op.mul(op.exp(op.abs(x)), special.bessel_i0e(x))]


def _i0_jvp(primals: Sequence[Any], tangents: Sequence[ArrayLike]) -> tuple[list[Any], list[Array]]:
    """The derivative is I1: that of the product has a kink at 0, where |x| has one."""
    (x,), (x_dot,) = primals, tangents
    return [i0(x)], [op.mul(x_dot, op.mul(op.exp(op.abs(x)), special.bessel_i1e(x)))]
