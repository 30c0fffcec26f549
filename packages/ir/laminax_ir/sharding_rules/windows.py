"""Windows: axes along which every window has one element are split as they were, the others must be whole."""

from __future__ import annotations

from laminax_ir.explicit_axes import sharding_rules
from laminax_ir.ops import windows as op
from laminax_ir.sharding_rules.agreement import entries_of, joined, listed, refuse


def _kept(name, x, out, window_dimensions, window_strides=None):
    entries = list(entries_of(x))
    for axis, entry in enumerate(entries):
        if entry is not None and (window_dimensions[axis] != 1 or x.shape[axis] != out.shape[axis]):
            refuse(f"{name}: the axis {axis} of {x.str_short()}, along which windows have size {window_dimensions[axis]}, must not be split. Use reshard on the "
                   "operand.")
            entries[axis] = None
    return tuple(entries)


@sharding_rules(op.reduce_window_sum_p, op.reduce_window_max_p, op.reduce_window_min_p)
def _reduce_window(out, x, *, window_dimensions, **_params):
    return _kept("reduce_window", x, out, window_dimensions)


@sharding_rules(op.reduce_window_p)
def _reduce_window_general(outs, *avals, window_dimensions, **_params):
    return [_kept("reduce_window", x, out, window_dimensions) for x, out in zip(avals, outs)]


@sharding_rules(op.select_and_scatter_add_p)
def _select_and_scatter_add(out, source, operand, *, window_dimensions, **_params):
    return _kept("select_and_scatter_add", operand, out, window_dimensions)


@sharding_rules(op.select_and_scatter_p)
def _select_and_scatter(out, operand, source, init, *, window_dimensions, **_params):
    return _kept("select_and_scatter", operand, out, window_dimensions)


@sharding_rules(op.select_and_gather_add_p)
def _select_and_gather_add(out, tangents, operand, *, window_dimensions, **_params):
    joined((tangents, operand), operand.shape, lambda: f"select_and_gather_add: operands must have the same shardings, got {listed((tangents, operand))}")
    return _kept("select_and_gather_add", operand, out, window_dimensions)
