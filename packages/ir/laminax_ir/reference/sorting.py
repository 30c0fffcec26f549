"""The meaning of the sorting operations, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import sorting as ops
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.reference.ordering import in_numpy_type, total_order
from laminax_ir.types.avals import get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


@reference_rule(ops.sort_p)
def _sort(*operands: np.ndarray, dimension: int, is_stable: bool, num_keys: int) -> list[np.ndarray]:
    keys = [part for x in operands[:num_keys] for part in _key_parts(x)]
    order = np.lexsort([np.moveaxis(key, dimension, -1) for key in reversed(keys)], axis=-1)
    order = np.moveaxis(order, -1, dimension)
    return [np.take_along_axis(x, order, dimension) for x in operands]


def _key_parts(x: np.ndarray) -> list[np.ndarray]:
    """Arrays of NumPy's own real types, ordered as x is; NumPy sorts NaN last too."""
    if np.iscomplexobj(x):
        return [x.real, x.imag]
    return [in_numpy_type(x)]


@reference_rule(ops.top_k_p)
def _top_k(x: np.ndarray, *, k: int, axis: int) -> list[np.ndarray]:
    return _first(x, -1 - total_order(x), k, axis)  # -1 - n reverses without overflow


@reference_rule(ops.approx_top_k_p)
def _approx_top_k(x: np.ndarray, *, is_max_k: bool, reduction_dimension: int, **params: Any) -> Sequence[ArrayLike]:
    """Exactly."""
    values, _ = ops.approx_top_k_p.shape_rule(get_aval(x), is_max_k=is_max_k, reduction_dimension=reduction_dimension, **params)
    keys = -1 - total_order(x) if is_max_k else total_order(x)
    return _first(x, keys, values.shape[reduction_dimension], reduction_dimension)


def _first(x: np.ndarray, keys: np.ndarray, count: int, axis: int) -> list[np.ndarray]:
    """The elements with the least keys, and where they are; of equal ones the earlier one first."""
    indices = np.take(np.argsort(keys, axis=axis, kind="stable"), np.arange(count), axis)
    return [np.take_along_axis(x, indices, axis), indices.astype(np.int32)]
