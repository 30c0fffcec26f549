"""What the sorting operations mean, in NumPy."""

from __future__ import annotations

import numpy as np

from laminax_ir import dtypes
from laminax_ir.ops import sorting as ops
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(ops.sort_p)
def _sort(*operands, dimension, is_stable, num_keys):
    keys = [part for x in operands[:num_keys] for part in _key_parts(x)]
    order = np.lexsort([np.moveaxis(key, dimension, -1) for key in reversed(keys)], axis=-1)
    order = np.moveaxis(order, -1, dimension)
    return [np.take_along_axis(x, order, dimension) for x in operands]


def _key_parts(x) -> list[np.ndarray]:
    """Arrays of NumPy's own real types, ordered as x is; NumPy sorts NaN last too."""
    if np.iscomplexobj(x):
        return [x.real, x.imag]
    return [_in_numpy_type(x)]


def _in_numpy_type(x):
    """x in a type that NumPy can compare; each narrow type of ml_dtypes fits one exactly."""
    if x.dtype.kind in "biuf":
        return x
    return x.astype(np.float32 if dtypes.issubdtype(x.dtype, dtypes.floating) else np.int32)


@reference_rule(ops.top_k_p)
def _top_k(x, *, k, axis):
    order = np.argsort(-1 - _total_order(_in_numpy_type(x)), axis=axis, kind="stable")  # -1 - n reverses without overflow
    indices = np.take(order, np.arange(k), axis)
    return [np.take_along_axis(x, indices, axis), indices.astype(np.int32)]


def _total_order(x) -> np.ndarray:
    """Signed integers ordered as IEEE 754 totalOrder orders x: the bits, with those of negative numbers mirrored."""
    if x.dtype.kind == "u":
        return (x ^ np.array(1 << (8 * x.itemsize - 1), x.dtype)).view(f"i{x.itemsize}")
    if x.dtype.kind != "f":
        return x.astype(np.int8) if x.dtype == bool else x
    bits = x.view(f"i{x.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)
