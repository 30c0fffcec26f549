"""Collectives, evaluated: alone on an axis, a participant communicates with itself.

The reference evaluator runs one program on one set of values. A collective has a meaning there only over axes of size 1;
over longer ones it disappears under `vmap`, or runs on as many devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import collectives as op
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


def require_alone(function: str, axis_name: Any) -> None:
    """Raises unless the axis has one participant: NameError if it is unbound, NotImplementedError if it is longer."""
    size = op.axis_size(axis_name)
    if size != 1:
        if isinstance(axis_name, tuple) and len(axis_name) == 1:
            axis_name = axis_name[0]
        raise NotImplementedError(
            f"{function} over the axis {axis_name!r} of size {size} cannot be evaluated on one example's values. Apply vmap with "
            f"axis_name={axis_name!r} around the function, which turns it into an ordinary operation, or compile it for "
            f"{size} devices.")


@reference_rule(op.psum_p, op.pmax_p, op.pmin_p)
def _reduction(x: np.ndarray, *, axes: tuple[str, ...], axis_index_groups: Any) -> np.ndarray:
    require_alone("a reduction (psum, pmax or pmin)", axes)
    return x


@reference_rule(op.psum_shared_p)
def _psum_shared(x: np.ndarray, like: np.ndarray, *, axes: tuple[str, ...]) -> np.ndarray:
    require_alone("a reduction (reduce_axes)", axes)
    return x


@reference_rule(op.all_gather_p)
def _all_gather(x: np.ndarray, *, all_gather_dimension: int, axis_name: tuple[str, ...], axis_index_groups: Any, axis_size: int,
                tiled: bool) -> np.ndarray:
    require_alone("all_gather", axis_name)
    return x if tiled else np.expand_dims(x, all_gather_dimension)


@reference_rule(op.reduce_scatter_p)
def _reduce_scatter(x: np.ndarray, *, scatter_dimension: int, axis_name: tuple[str, ...], axis_index_groups: Any, axis_size: int,
                    tiled: bool) -> np.ndarray:
    require_alone("psum_scatter", axis_name)
    return x if tiled else np.squeeze(x, scatter_dimension)


@reference_rule(op.all_to_all_p)
def _all_to_all(x: np.ndarray, *, split_axis: int, concat_axis: int, axis_name: str, axis_index_groups: Any, tiled: bool) -> np.ndarray:
    require_alone("all_to_all", axis_name)
    return x if tiled else np.expand_dims(np.squeeze(x, split_axis), concat_axis)


@reference_rule(op.ppermute_p)
def _ppermute(x: np.ndarray, *, axis_name: tuple[str, ...], perm: tuple[tuple[int, ...], ...]) -> np.ndarray:
    require_alone("ppermute", axis_name)
    return x if perm else np.zeros_like(x)


@reference_rule(op.axis_index_p)
def _axis_index(*, axis_name: str) -> ArrayLike:
    require_alone("axis_index", axis_name)
    return np.int32(0)


@reference_rule(op.pvary_p)
def _pvary(x: np.ndarray, *, axes: tuple[str, ...]) -> np.ndarray:
    return x
