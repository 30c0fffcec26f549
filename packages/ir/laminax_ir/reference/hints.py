"""Hints change no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops import hints as op
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    import numpy as np


@reference_rule(op.stage_p, op.todense_p)
def _same(x: Any) -> Any:
    return x


@reference_rule(op.xla_metadata_value_p)
def _xla_metadata_value(x: np.ndarray, *, xla_metadata_kvs: tuple[tuple[int | str, ...], ...]) -> np.ndarray:
    return x


@reference_rule(op.dce_sink_p)
def _dce_sink(x: np.ndarray, *, prevent_mlir_dce: bool) -> list[Any]:
    return []
