"""Cotangents along the axes of devices that are checked (see `laminax_ir.tracing.manual_axes`).

For a value that varies, each device has a cotangent of its own. For a value that does not vary, the cotangent is one sum over the
devices. The type of a cotangent tells its state: a cotangent that does not vary is that sum, and a cotangent that varies is the
device's share of the sum. Sums are linear, so shares may be summed late: at the inputs of the outermost linear program, or of a
loop's body, or where the transpose of a sum over devices needs the sum. Shares are not summed in branches, since some devices may
take another branch: a sum in which only some devices take part never ends.

The cotangent of a value that is reduced along an axis is unreduced there, and the other way round (`laminax_ir.ops.open_sums`): each
device's share is a term, and nothing is summed.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops import open_sums as op
from laminax_ir.ops.calls import checkpoint_p, jit_p
from laminax_ir.ops.collective_primitives import axis_size
from laminax_ir.ops.collectives import vary
from laminax_ir.ops.elementwise import div
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.zeros import ZERO


def varying_axes(x: Any) -> tuple:
    """The checked axes along which a value varies."""
    named, checked = (x if type(x) is ShapedArray else get_aval(x)).named_shape, checked_axes()
    return tuple(name for name in checked if name in named)


def cotangent_like(ct: Any, aval: ShapedArray | None) -> Any:
    """A cotangent of a value of this type, which varies along the axes along which the value does, and has its sums open or made.

    Where the value is one that all devices have, it stays a sum or a share of one.
    """
    if ct is ZERO or aval is None:
        return ct
    for state, wanted in ((op.REDUCED, op.UNREDUCED), (op.UNREDUCED, op.REDUCED)) if aval._split is not None else ():
        ct = op.cast_to(ct, [name for name in checked_axes() if op.state_along(aval, name) == state], wanted)
    return op.cast_to(ct, varying_axes(aval), op.VARYING)


def tangents_like(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Results with their tangents; the tangents are made to vary along the axes along which their results vary."""
    return [(p, t if t is ZERO else vary(t, varying_axes(p))) for p, t in pairs]


def summed_like(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent of a value of this type, with shares summed along the axes along which all devices have the value."""
    if ct is ZERO:
        return ct
    return op.cast_to(ct, [name for name in checked_axes() if op.state_along(aval, name) == op.INVARYING], op.INVARYING)


def entered(cts: Sequence[Any], eqn: Any, sums_shared: bool) -> tuple[list[Any], Any]:
    """The cotangents of the results of one equation, and the equation, brought to types that match each other.

    Shares are summed for results that do not vary; or, where they must not be summed, a called program is changed to take shares.
    """
    if sums_shared or eqn.primitive not in (jit_p, checkpoint_p):
        return [summed_like(ct, aval) for ct, aval in zip(cts, eqn.out_avals)], eqn
    axes = tuple(() if ct is ZERO else varying_axes(ct) for ct in cts)
    closed = with_varying_results(eqn.params["jaxpr"], axes)
    return list(cts), eqn if closed is eqn.params["jaxpr"] else eqn._replace(params={**eqn.params, "jaxpr": closed})


def added(a: Any, b: Any, sums_shared: bool) -> tuple[Any, Any]:
    """Two cotangents of one value, ready to be added: both sums, or both shares, or both terms of sums that are left open."""
    for name in checked_axes():
        states = {op.state_along(get_aval(x), name) for x in (a, b)}
        if len(states) > 1:
            common = op.UNREDUCED if op.UNREDUCED in states else op.INVARYING if sums_shared else op.VARYING
            a, b = (_share(x, name) if common == op.VARYING else op.cast_to(x, (name,), common) for x in (a, b))
    return a, b


def _share(ct: Any, name: Any) -> Any:
    """Each device's part of a sum along an axis, in equal parts; a share that it is already."""
    if op.state_along(get_aval(ct), name) == op.VARYING:
        return ct
    return vary(div(ct, np.asarray(axis_size(name), get_aval(ct).dtype)), (name,))


@cached_by_jaxpr
def with_varying_results(closed: ClosedJaxpr, axes: tuple[tuple, ...]) -> ClosedJaxpr:
    """The program with results that are typed as varying along the given axes."""
    if all(set(names) <= set(varying_axes(aval)) for names, aval in zip(axes, closed.out_avals)):
        return closed

    def fun(*args: Any) -> list[Any]:
        return [vary(r, names) for r, names in zip(eval_jaxpr(closed.jaxpr, closed.consts, *args), axes)]

    return stage(fun, closed.in_avals, closed.jaxpr.debug_info)


def branches_alike(branches: Sequence[ClosedJaxpr], index: Any) -> tuple[ClosedJaxpr, ...]:
    """The branches, whose results are made to vary along the same axes: the axes of the result in any branch, and the axes of the index."""
    if not checked_axes():
        return tuple(branches)
    chosen = set(varying_axes(index))
    axes = tuple(tuple(name for name in checked_axes() if name in chosen or any(name in aval.named_shape for aval in avals))
                 for avals in zip(*[branch.out_avals for branch in branches]))
    return tuple(with_varying_results(branch, axes) for branch in branches)
