"""Tracing flat functions to programs, and thinning programs out, by JAX's names."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.avals import ShapedArray
from laminax_ir.dce import dce_jaxpr, dce_rules
from laminax_ir.jaxpr import Jaxpr
from laminax_ir.staging import StagedTracer as DynamicJaxprTracer
from laminax_ir.staging import StagingTrace as DynamicJaxprTrace
from laminax_ir.staging import stage

__all__ = ["DynamicJaxprTrace", "DynamicJaxprTracer", "dce_jaxpr", "dce_rules"]

Val = Any


def dce_jaxpr_consts(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False) \
        -> tuple[Jaxpr, list[bool], list[bool]]:
    """The part of a program that some of its results need, without the constants that it does not need.

    Args:
      jaxpr: the program.
      used_outputs: which results are needed.
      instantiate: which inputs stay though they are not used; one answer for all, or one for each.

    Returns:
      The program, which of its constants it uses, and which of its inputs it has.
    """
    if isinstance(instantiate, bool):
        instantiate = [instantiate] * len(jaxpr.invars)
    count = len(jaxpr.constvars)
    opened = jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
    thin, used = dce_jaxpr(opened, used_outputs, [False] * count + list(instantiate))
    kept = sum(used[:count])
    return thin.replace(constvars=thin.invars[:kept], invars=thin.invars[kept:]), used[:count], used[count:]


def trace_to_jaxpr_dynamic(fun: Callable, in_avals: Sequence[ShapedArray], *, keep_inputs: Sequence[bool] | None = None,
                           lower: bool = False, auto_dce: bool = False) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """Traces a flat function to a program.

    Args:
      fun: a `linear_util.WrappedFun`, or a function; takes one value for each aval and returns a sequence of values.
      in_avals: the arguments' avals.
      keep_inputs: must be None.
      lower: must be False.
      auto_dce: whether equations that no result needs are dropped.

    Returns:
      The program, the avals of its results, and the values of its constvars.
    """
    if keep_inputs is not None or lower:
        raise NotImplementedError(f"trace_to_jaxpr_dynamic: keep_inputs must be None and lower False, got {keep_inputs!r} and {lower!r}")
    closed = stage(getattr(fun, "call_wrapped", fun), list(in_avals))
    jaxpr, consts = closed.jaxpr, list(closed.consts)
    if auto_dce:
        jaxpr, used, _ = dce_jaxpr_consts(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
        consts = [c for c, is_used in zip(consts, used) if is_used]
    return jaxpr, jaxpr.out_avals, consts
