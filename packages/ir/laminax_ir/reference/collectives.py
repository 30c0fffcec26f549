"""Collectives, evaluated: alone on an axis, a participant communicates with itself.

The reference evaluator runs one program on one set of values. A collective has a meaning there only over axes of size 1;
over longer ones it disappears under `vmap`, or runs on as many devices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import collectives as op
from laminax_ir.reference.evaluate import reference_rule


def _require_alone(function: str, axis_name: Any) -> None:
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
def _reduction(x: Any, *, axes: Any, axis_index_groups: Any) -> Any:
    _require_alone("a reduction (psum, pmax or pmin)", axes)
    return x


@reference_rule(op.psum_shared_p)
def _psum_shared(x: Any, like: Any, *, axes: Any) -> Any:
    _require_alone("a reduction (reduce_axes)", axes)
    return x


@reference_rule(op.all_gather_p)
def _all_gather(x: Any, *, all_gather_dimension: Any, axis_name: Any, axis_index_groups: Any, axis_size: Any, tiled: Any) -> Any:
    _require_alone("all_gather", axis_name)
    return x if tiled else np.expand_dims(x, all_gather_dimension)


@reference_rule(op.reduce_scatter_p)
def _reduce_scatter(x: Any, *, scatter_dimension: Any, axis_name: Any, axis_index_groups: Any, axis_size: Any, tiled: Any) -> Any:
    _require_alone("psum_scatter", axis_name)
    return x if tiled else np.squeeze(x, scatter_dimension)


@reference_rule(op.all_to_all_p)
def _all_to_all(x: Any, *, split_axis: Any, concat_axis: Any, axis_name: Any, axis_index_groups: Any, tiled: Any) -> Any:
    _require_alone("all_to_all", axis_name)
    return x if tiled else np.expand_dims(np.squeeze(x, split_axis), concat_axis)


@reference_rule(op.ppermute_p)
def _ppermute(x: Any, *, axis_name: Any, perm: Any) -> Any:
    _require_alone("ppermute", axis_name)
    return x if perm else np.zeros_like(x)


@reference_rule(op.axis_index_p)
def _axis_index(*, axis_name: Any) -> Any:
    _require_alone("axis_index", axis_name)
    return np.int32(0)


@reference_rule(op.pvary_p)
def _pvary(x: Any, *, axes: Any) -> Any:
    return x
