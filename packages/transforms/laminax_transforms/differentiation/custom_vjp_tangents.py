"""Tangents of functions with a backward rule of their own: one equation, whose transpose is that rule."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.calls import CustomVJPCall, custom_vjp_tangent_p, run_forward
from laminax_ir.refs.refs import Ref
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.zeros import ZERO, has_tangents, instantiate


def linearize_custom_vjp(call: CustomVJPCall, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The results of the forward rule, and their tangents, which record the backward rule; the tangent trace is current."""
    results, residuals, bwd = run_forward(call.fwd, call.bwd, primals, [t is not ZERO for t in tangents])
    out_avals = tuple(get_aval(r) for r in results)
    full = [_NO_TANGENT if isinstance(x, Ref) else instantiate(t, get_aval(x)) for x, t in zip(primals, tangents)]
    out_tangents = custom_vjp_tangent_p.bind(*residuals, *full, bwd=bwd, num_residuals=len(residuals),
                                             out_avals=out_avals, name=call.name)
    return results, [t if has_tangents(aval) else ZERO for t, aval in zip(out_tangents, out_avals)]


_NO_TANGENT = np.zeros((), dtypes.float0)  # of a reference
