"""Evaluation: running a program by binding its equations, one after the other, under the current trace."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, Literal
from laminax_ir.programs.result_types import is_explicit
from laminax_ir.recording.staging_trace import record_explicitly
from laminax_ir.tracing.explicit_axes import is_resolving
from laminax_ir.tracing.name_stacks import NameStack, Transform, no_names
from laminax_ir.tracing.trace import state


def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True) -> list[Any]:
    """Runs a jaxpr by binding its equations one by one under the current trace; values are let go after their last use.

    Args:
      jaxpr: the program.
      consts: values of its constvars.
      *args: values of its invars.
      propagate_source_info: whether new equations point at the lines that made the old ones.

    Returns:
      The list of results.
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"eval_jaxpr: the jaxpr takes {len(jaxpr.invars)} arguments, got {len(args)}")
    if len(consts) != len(jaxpr.constvars):
        raise TypeError(f"eval_jaxpr: the jaxpr has {len(jaxpr.constvars)} constants, got the values of {len(consts)}; those of a "
                        "closed jaxpr are its .consts")
    if jaxpr.effects and has_refs(jaxpr.effects):
        from laminax_ir.recording.discharge import eval_with_refs  # for programs with references only
        return eval_with_refs(jaxpr, consts, *args)
    if is_explicit(jaxpr):
        record_explicitly()
        if not is_resolving.value:  # its types have been checked, in the context that it was traced in
            with is_resolving(True):
                return eval_jaxpr(jaxpr, consts, *args, propagate_source_info=propagate_source_info)
    env: dict[Any, Any] = dict(zip(jaxpr.constvars, consts))
    env.update(zip(jaxpr.invars, args))
    last_use: dict[Any, Any] = {v: eqn for eqn in jaxpr.eqns for v in eqn.invars if type(v) is not Literal}
    last_use.update((v, None) for v in jaxpr.outvars if type(v) is not Literal)
    previous_source = state.source
    names = state.name_stack if any(type(name) is not Transform for name in state.name_stack) else no_names  # scopes that the caller is in
    try:
        for eqn in jaxpr.eqns:
            operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
            if propagate_source_info and previous_source is None:
                origin = eqn.source_info
                state.source = None if origin.code is None else origin if not names else \
                    origin._replace(name_stack=NameStack((*names, *origin.name_stack)))
            result = state.trace.process(eqn.primitive, operands, eqn.params)
            env.update((v, x) for v, x in zip(eqn.outvars, result if eqn.primitive.multiple_results else (result,)) if v in last_use)
            for v in eqn.invars:
                if type(v) is not Literal and last_use[v] is eqn:
                    env.pop(v, None)  # an operand may be there twice
    finally:
        state.source = previous_source
    return [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> Callable[..., list[Any]]:
    """The closed jaxpr as a Python function of its flat arguments, or of those after `args`, returning the list of results."""
    def fun(*rest: Any) -> Any:
        return eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *args, *rest)
    return fun
