"""What reverse-mode differentiation of a function keeps between the forward and the backward pass, for users to look at."""

from __future__ import annotations

from typing import Any, Callable

from laminax_ir.ops.calls import close_over_constants, name_p
from laminax_ir.programs.jaxpr import JaxprEqn, Literal
from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten
from laminax_ir.recording.staging import stage
from laminax_ir.tracing import source
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms.base.flat_functions import argument_paths, check_array_leaves
from laminax_transforms.base.zeros import has_tangents
from laminax_transforms.programs.inlining import ALL_CALLS, inline_calls
from laminax_transforms.programs.jaxpr_transforms import linearize_jaxpr


def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[ShapedArray, str]]:
    """The values that reverse-mode differentiation of a function keeps between the forward and the backward pass.

    Args:
      fun: the function.
      *args, **kwargs: its arguments.

    Returns:
      For each value its aval, and where it comes from: `from the argument x['w']`, `from a constant`, `named 'y' from
      model.py:7 in step`, `output of cos from model.py:8 in step`. Constants come first, then arguments, then what
      is computed, in the order of the program.
    """
    leaves, in_tree = tree_flatten((args, kwargs))
    check_array_leaves("saved_residuals: argument ", args)

    def flat_fun(*flat: Any) -> Any:
        a, k = tree_unflatten(in_tree, flat)
        return tree_flatten(fun(*a, **k))[0]

    closed, consts = close_over_constants(stage(flat_fun, [get_aval(x) for x in leaves], function_name(fun)))
    nonzero = (*(False,) * len(consts), *(has_tangents(get_aval(x)) for x in leaves))
    split = linearize_jaxpr(closed, nonzero)
    program = inline_calls(split.primal, ALL_CALLS).jaxpr
    residuals = [program.invars[i] if where == "in" else program.outvars[i] for where, i in split.residual_sources]
    distinct = {v for v in residuals if type(v) is not Literal}
    sources = {v: "from a constant" for v in [*program.constvars, *program.invars[:len(consts)]]}
    sources.update((v, f"from the argument {path}") for v, path in zip(program.invars[len(consts):], argument_paths(fun, args, kwargs)))
    kept = [(v.aval, "from a constant") for v in split.linear.jaxpr.constvars]
    kept += [(v.aval, where) for v, where in sources.items() if v in distinct]
    return kept + [(v.aval, describe_value(eqn)) for eqn in program.eqns for v in eqn.outvars if v in distinct]


def describe_value(eqn: JaxprEqn) -> str:
    """Where the result of an equation comes from: `output of sin from train.py:12 in step`."""
    where = source.summarize(eqn.source_info)
    what = f"named '{eqn.params['name']}'" if eqn.primitive is name_p else f"output of {eqn.primitive}"
    return what + (f" from {where}" if where else "")


def print_saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints what `saved_residuals` finds, a line per value."""
    for aval, where in saved_residuals(fun, *args, **kwargs):
        print(f"{aval.str_short()} {where}")
