"""Cotangents along the axes of devices that are checked (see `laminax_ir.tracing.manual_axes`).

Each device has a cotangent of its own for a value that varies. For a value that does not, all have the same one: the sum of what
they make of it. Its type tells what a cotangent is: one that does not vary is that sum, one that varies is each device's share of
it. Sums are linear, so shares may be summed late: at the inputs of the outermost linear program, or of a loop's body, or where
the transpose of a sum over devices needs it. They are not summed in branches, which devices may take or not: a sum that only
some take part in never ends.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.calls import checkpoint_p, jit_p
from laminax_ir.ops.collective_primitives import axis_size
from laminax_ir.ops.collectives import psum_p, vary
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


def varying_like(ct: Any, aval: ShapedArray | None) -> Any:
    """A cotangent of a value of this type, of a type that says so where the value varies."""
    return ct if ct is ZERO or aval is None else vary(ct, varying_axes(aval))


def tangents_like(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Results with their tangents, these of types that say so where the result varies."""
    return [(p, t if t is ZERO else vary(t, varying_axes(p))) for p, t in pairs]


def summed_like(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent of a value of this type, with shares summed where the value is one value."""
    return ct if ct is ZERO else _summed(ct, [name for name in varying_axes(ct) if name not in aval.named_shape])


def entered(cts: Sequence[Any], eqn: Any, sums_shared: bool) -> tuple[list[Any], Any]:
    """The cotangents of the results of one equation, and the equation, of types that fit together.

    Shares of what all devices have are summed; or, where they must not be, a called program is made one that takes shares.
    """
    if sums_shared or eqn.primitive not in (jit_p, checkpoint_p):
        return [summed_like(ct, aval) for ct, aval in zip(cts, eqn.out_avals)], eqn
    axes = tuple(() if ct is ZERO else varying_axes(ct) for ct in cts)
    closed = with_varying_results(eqn.params["jaxpr"], axes)
    return list(cts), eqn if closed is eqn.params["jaxpr"] else eqn._replace(params={**eqn.params, "jaxpr": closed})


def _summed(ct: Any, names: Sequence) -> Any:
    return psum_p.bind(ct, axes=tuple(names), axis_index_groups=None) if names else ct


def added(a: Any, b: Any, sums_shared: bool) -> tuple[Any, Any]:
    """Two cotangents of one value, ready to be added: both sums, or both shares."""
    only_a = [name for name in varying_axes(a) if name not in varying_axes(b)]
    only_b = [name for name in varying_axes(b) if name not in varying_axes(a)]
    if sums_shared:
        return _summed(a, only_a), _summed(b, only_b)
    return _share(a, only_b), _share(b, only_a)


def _share(ct: Any, names: Sequence) -> Any:
    """Each device's part of a sum, in equal parts."""
    if not names:
        return ct
    count = math.prod(axis_size(name) for name in names)
    return vary(div(ct, np.asarray(count, get_aval(ct).dtype)), names)


@cached_by_jaxpr
def with_varying_results(closed: ClosedJaxpr, axes: tuple[tuple, ...]) -> ClosedJaxpr:
    """The program with results of types that say that they vary along the given axes."""
    if all(set(names) <= set(varying_axes(aval)) for names, aval in zip(axes, closed.out_avals)):
        return closed

    def fun(*args: Any) -> list[Any]:
        return [vary(r, names) for r, names in zip(eval_jaxpr(closed.jaxpr, closed.consts, *args), axes)]

    return stage(fun, closed.in_avals, closed.jaxpr.debug_info)


def branches_alike(branches: Sequence[ClosedJaxpr], index: Any) -> tuple[ClosedJaxpr, ...]:
    """Branches whose results vary along the same axes: those of any branch, and those of the index that chooses one."""
    if not checked_axes():
        return tuple(branches)
    chosen = set(varying_axes(index))
    axes = tuple(tuple(name for name in checked_axes() if name in chosen or any(name in aval.named_shape for aval in avals))
                 for avals in zip(*[branch.out_avals for branch in branches]))
    return tuple(with_varying_results(branch, axes) for branch in branches)
