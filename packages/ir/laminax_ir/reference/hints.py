"""Hints change no value."""

from __future__ import annotations

from laminax_ir.ops import hints as op
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(op.stage_p, op.todense_p)
def _same(x):
    return x


@reference_rule(op.xla_metadata_value_p)
def _xla_metadata_value(x, *, xla_metadata_kvs):
    return x


@reference_rule(op.dce_sink_p)
def _dce_sink(x, *, prevent_mlir_dce):
    return []
