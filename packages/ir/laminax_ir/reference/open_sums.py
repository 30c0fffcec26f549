"""Open sums, evaluated: alone on an axis, a device has the only term of a sum, which is the sum."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import open_sums as op
from laminax_ir.reference.collectives import require_alone
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(op.preduced_p, op.vary_unreduced_cast_p, op.reduced_vary_cast_p)
def _cast(x: np.ndarray, *, axes: tuple[str, ...]) -> np.ndarray:
    return x


@reference_rule(op.unreduced_psum_p)
def _unreduced_psum(x: np.ndarray, *, axes: tuple[str, ...]) -> np.ndarray:
    require_alone("psum", axes)
    return x


@reference_rule(op.unreduced_reduce_scatter_p)
def _unreduced_reduce_scatter(x: np.ndarray, *, scatter_dimension: int, axis_name: tuple, axis_size: int, tiled: bool) -> np.ndarray:
    require_alone("psum_scatter", axis_name)
    return x if tiled else np.squeeze(x, scatter_dimension)


@reference_rule(op.all_gather_reduced_p)
def _all_gather_reduced(x: np.ndarray, *, all_gather_dimension: int, axis_name: tuple, axis_size: int, tiled: bool) -> Any:
    require_alone("all_gather", axis_name)
    return x if tiled else np.expand_dims(x, all_gather_dimension)
