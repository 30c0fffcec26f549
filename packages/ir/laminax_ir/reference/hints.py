"""Hints change no value."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import hints as op
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(op.stage_p, op.todense_p)
def _same(x: Any) -> Any:
    return x


@reference_rule(op.xla_metadata_value_p)
def _xla_metadata_value(x: Any, *, xla_metadata_kvs: Any) -> Any:
    return x


@reference_rule(op.dce_sink_p)
def _dce_sink(x: Any, *, prevent_mlir_dce: Any) -> Any:
    return []
