"""Fast Fourier transforms over the last axes of an array.

The forward transform has exp(-2πi jk/n) and no factor, the inverse exp(+2πi jk/n) and the factor 1/n per axis.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Sequence

import numpy as np

from laminax_ir.ops.dtype_kinds import COMPLEX_OF, COMPONENT_OF
from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

fft_p = Primitive("fft", family="fft")


class FftType(enum.IntEnum):
    """The kind of a transform.

    Example:
      >>> fft(np.float32([1, 2, 0, -1]), FftType.RFFT, (4,))
      array([2.+0.j, 1.-3.j, 0.+0.j], dtype=complex64)
    """

    FFT = 0  # complex to complex
    IFFT = 1  # its inverse
    RFFT = 2  # real to complex, the half that is not redundant
    IRFFT = 3  # its inverse


@shape_rule(fft_p)
def _fft_shape(x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    rank = len(fft_lengths)
    if rank > x.ndim:
        raise ValueError(f"FFT input shape {x.shape} must have at least as many input dimensions as fft_lengths {fft_lengths}; the "
                         f"input is {x.str_short()}")
    if not 1 <= rank <= 3:
        raise ValueError(f"fft: one to three axes can be transformed at once, got fft_lengths {fft_lengths}")
    kept, sizes = x.shape[:x.ndim - rank], x.shape[x.ndim - rank:]
    is_real = fft_type == FftType.RFFT
    if x.dtype not in (COMPLEX_OF if is_real else COMPONENT_OF):
        wanted = "float32 or float64" if is_real else "complex64 or complex128"
        raise ValueError(f"fft: the input of {fft_type.name} must be {wanted}, got {x.str_short()}")
    if fft_type == FftType.IRFFT:
        expected = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
        if sizes != expected:
            raise ValueError(f"IRFFT input shape {x.shape} minor dimensions must be equal to all except the last fft_length, got "
                             f"fft_lengths={fft_lengths}: the last one must be half of that and one, {expected} altogether; the input is "
                             f"{x.str_short()}")
        return x.update(shape=(*kept, *fft_lengths), dtype=COMPONENT_OF[x.dtype])
    if sizes != fft_lengths:
        raise ValueError(f"{fft_type.name} input shape {x.shape} minor dimensions must be equal to fft_lengths {fft_lengths}; the input "
                         f"is {x.str_short()}")
    if is_real:
        return x.update(shape=(*kept, *fft_lengths[:-1], fft_lengths[-1] // 2 + 1), dtype=COMPLEX_OF[x.dtype])
    return x


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """The discrete Fourier transform over the last axes.

    Args:
      x: an array; converted to a complex dtype, for RFFT to a floating one.
      fft_type: FFT, IFFT, RFFT or IRFFT, or the name as a string.
      fft_lengths: the sizes of the transformed axes, one to three of them: the last axes of x, for IRFFT of the result.

    Returns:
      An array like x, of the complex dtype of its precision; for RFFT with n // 2 + 1 in place of the last size n;
      for IRFFT of the real dtype, with `fft_lengths` as last sizes.

    Raises:
      TypeError: if fft_type is no name and none of the four.
      ValueError: if there is no type of that name, the sizes do not fit, or the input of RFFT is complex.

    Example:
      >>> fft(np.complex64([1, 0, 0, 0]), "FFT", (4,))
      array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    try:
        kind = FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(fft_type)
    except (KeyError, ValueError):
        error = ValueError if isinstance(fft_type, str) else TypeError
        raise error(f"fft: unknown FFT type {fft_type!r}; expected FFT, IFFT, RFFT or IRFFT") from None
    dtype = get_aval(x).dtype
    if kind == FftType.RFFT:
        if dtypes.issubdtype(dtype, dtypes.complexfloating):
            raise ValueError(f"fft: only real valued inputs are supported for RFFT, got {get_aval(x).str_short()}")
        wanted = np.dtype(np.float64 if dtypes.to_inexact_dtype(dtype) == np.float64 else np.float32)
    else:
        wanted = dtypes.to_complex_dtype(dtype)
    x = convert_element_type(x, wanted)
    lengths = canonical_shape("fft", fft_lengths)
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths) if lengths else x
