"""Arrays as the bytes that they are stored in: what the methods `view` and `byteswap` do."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.numpy.indexing import getitem
from laminax._src.numerics.numpy.reshaping import flip


def view(self: Any, dtype: Any = None, type: None = None) -> Any:
    """The same bytes with another dtype; a change of width changes the size of the last axis.

    Args:
      dtype: the dtype; None leaves it.
      type: must be None.

    Raises:
      NotImplementedError: if type is given.
      ValueError: if the last axis does not divide into elements of the dtype.
    """
    if type is not None:
        raise NotImplementedError("ndarray.view: the parameter type is not supported; pass None")
    if dtype is None:
        return self
    aval = get_aval(self)
    new = dtypes.check_user_dtype_supported(dtype, "view")
    old_bits, new_bits = _stored_bits(aval.dtype), _stored_bits(new)
    if np.dtype(bool) in (aval.dtype, new):  # as bytes 0 and 1
        if aval.dtype == new:
            return self
        if aval.dtype == np.dtype(bool):
            return view(op.convert_element_type(self, np.uint8), new)
        return op.ne(view(self, np.uint8), np.uint8(0))
    if not aval.shape and old_bits != new_bits:
        raise ValueError(f"view: a scalar cannot be viewed with a dtype of another width, got {aval.str_short()} and {new}")
    source_complex = dtypes.issubdtype(aval.dtype, dtypes.complexfloating)
    target_complex = dtypes.issubdtype(new, dtypes.complexfloating)
    if source_complex and target_complex and old_bits == new_bits:
        return self
    if source_complex:
        parts = shape_ops.concatenate([shape_ops.expand_dims(op.real(self), (aval.ndim,)),
                                       shape_ops.expand_dims(op.imag(self), (aval.ndim,))], aval.ndim)
        return view(shape_ops.reshape(parts, (*aval.shape[:-1], 2 * aval.shape[-1])), new)
    if target_complex:
        component = dtypes.to_floating_dtype(new)
        parts = view(self, component)
        if parts.shape[-1] % 2:
            raise ValueError(f"view: the last axis of {aval.str_short()} cannot be divided into elements of {new}")
        return op.complex(getitem(parts, (Ellipsis, slice(0, None, 2))), getitem(parts, (Ellipsis, slice(1, None, 2))))
    if old_bits == new_bits:
        return op.bitcast_convert_type(self, new)
    if old_bits > new_bits:
        wide = op.bitcast_convert_type(self, new)
        return shape_ops.reshape(wide, (*aval.shape[:-1], aval.shape[-1] * (old_bits // new_bits)))
    if aval.shape[-1] * old_bits % new_bits:
        raise ValueError(f"view: the last axis of {aval.str_short()} cannot be divided into elements of {new}")
    ratio = new_bits // old_bits
    return op.bitcast_convert_type(shape_ops.reshape(self, (*aval.shape[:-1], aval.shape[-1] // ratio, ratio)), new)


def byteswap(self: Any) -> Any:
    """The array with the bytes of each element in reverse order; the parts of a complex number are elements of their own.

    Raises:
      TypeError: if an element is not a whole number of bytes.
    """
    aval = get_aval(self)
    if _stored_bits(aval.dtype) % 8:
        raise TypeError(f"byteswap: elements of {aval.dtype} are no whole bytes. Convert to an 8-bit type first.")
    is_complex = dtypes.issubdtype(aval.dtype, dtypes.complexfloating)
    width = aval.dtype.itemsize // (2 if is_complex else 1)
    octets = view(shape_ops.reshape(self, (aval.size,)), np.uint8)
    swapped = flip(shape_ops.reshape(octets, (octets.size // width, width)), 1)
    return shape_ops.reshape(view(shape_ops.reshape(swapped, (octets.size,)), aval.dtype), aval.shape)


def _stored_bits(dtype: Any) -> int:
    return 8 if dtype == np.dtype(bool) else dtypes.bit_width(dtype)
