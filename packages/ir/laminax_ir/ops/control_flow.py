"""Branches: `cond`, `switch` and `platform_dependent` apply one of several functions on pytrees. Loops are in `loops`.

The functions of both modules trace the given functions to jaxprs (`control_tracing`), check that the types fit, and bind one of the
primitives of `control_primitives`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.agreement import check_branches
from laminax_ir.ops.calls import bind_program
from laminax_ir.ops.control_primitives import (  # noqa: F401  (all of the family are found here)
    bind_scan,
    common_constants,
    cond_p,
    platform_index_p,
    scan_p,
    while_p,
    without_leading_axis,
)
from laminax_ir.ops.control_tracing import TracedFunction, check_refs, concrete_value, flat_arguments, joined_effects, trace_function
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import tree_unflatten
from laminax_ir.refs.refs import is_traced
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

_missing = object()


@api_boundary
def cond(pred: ArrayLike, true_fun: Callable, false_fun: Callable, *operands: Any, operand: Any = _missing) -> Any:
    """Applies one of two functions, chosen by a scalar that may be traced.

    Args:
      pred: bool or number scalar; true if not 0.
      true_fun: function of the operands, applied if `pred` is true.
      false_fun: function of the operands, applied if it is false; must return the same structure and types.
      *operands: pytrees of arrays.
      operand: the one operand as a keyword, instead of `operands`.

    Returns:
      The result of the chosen function. Both functions are traced; under `vmap` with a batched predicate both are also run, and the results
      selected.

    Raises:
      TypeError: if `pred` is not a scalar, a function is not callable, or the results of the two differ in structure,
        shape or dtype.

    Example:
      >>> cond(True, lambda x: x + 1, lambda x: x - 1, 3.0)
    """
    if len(operands) == 2 and not callable(true_fun) and callable(false_fun) and callable(operands[1]):
        # The older form: cond(pred, true_operand, true_fun, false_operand, false_fun)
        both = (true_fun, operands[0])
        chosen = (false_fun, operands[1])
        return cond(pred, lambda pair: chosen[0](pair[0]), lambda pair: chosen[1](pair[1]), both)
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    operands = _with_keyword_operand("cond", operands, operand)
    if pred is None:
        raise TypeError("cond predicate is None")
    if callable(pred):
        raise TypeError(f"Pred type must be either boolean or number, got {pred!r:.80}.")
    if not is_array_like(pred):
        raise TypeError(f"Pred must be a scalar, got {str(pred):.80} of type {type(pred)}")
    aval = get_aval(pred)
    if aval.shape:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}.")
    if not (aval.dtype == np.bool_ or dtypes.issubdtype(aval.dtype, np.integer)
            or dtypes.issubdtype(aval.dtype, np.floating)):
        raise TypeError(f"Pred type must be either boolean or number, got {dtypes.dtype_name(aval.dtype)}.")
    if config.disable_jit.value and concrete_value(pred) is not None:
        return (true_fun if concrete_value(pred) else false_fun)(*operands)
    if aval.dtype != np.bool_:
        pred = op.ne(pred, scalar_like(0, aval.dtype))
    index = op.convert_element_type(pred, np.int32)
    return _branch("cond", index, [true_fun, false_fun], operands, ["true_fun", "false_fun"])


@api_boundary
def switch(index: ArrayLike, branches: Sequence[Callable], *operands: Any, operand: ArrayLike = _missing) -> Any:
    """Applies one of several functions, chosen by an integer that may be traced.

    Args:
      index: integer scalar; clamped to the range of `branches`.
      branches: functions of the operands that return the same structure and types.
      *operands: pytrees of arrays.
      operand: the one operand as a keyword, instead of `operands`.

    Returns:
      The result of `branches[index]`.

    Raises:
      TypeError: if the index is not an integer scalar, a branch is not callable, or results of branches differ.
      ValueError: if there are no branches.

    Example:
      >>> switch(1, [lambda x: x + 1, lambda x: x * 10], np.float32(3))
      array(30., dtype=float32)
    """
    given, branches = branches, list(branches) if isinstance(branches, Iterable) else [None]
    if not all(callable(branch) for branch in branches):
        raise TypeError(f"lax.switch: branches argument should be a sequence of callables, got {given!r}.")
    operands = _with_keyword_operand("switch", operands, operand)
    if not is_array_like(index):
        shape = np.shape(index)
        raise TypeError(f"Branch index must be scalar, got {index} of shape {shape}." if shape else
                        f"Index type must be an integer, got {str(index):.80}.")
    aval = get_aval(index)
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"Index type must be an integer, got {index} as {dtypes.dtype_name(aval.dtype)}")
    if not branches:
        raise ValueError("Empty branch sequence: lax.switch needs at least one branch.")
    if len(branches) == 1:
        return branches[0](*operands)
    if config.disable_jit.value and (known := concrete_value(index)) is not None:
        return branches[min(max(int(known), 0), len(branches) - 1)](*operands)
    index = op.convert_element_type(index, np.int32)
    index = op.clamp(np.int32(0), index, np.int32(len(branches) - 1))
    return _branch("switch", index, branches, operands, [f"branch {i}" for i in range(len(branches))])


def _with_keyword_operand(name: str, operands: tuple, operand: Any) -> tuple:
    if operand is _missing:
        return operands
    if operands:
        raise TypeError(f"lax.{name}: if the 'operand' keyword is passed then no positional operands can be passed, got "
                        f"operand={operand!r} and positional operands {operands!r}")
    return (operand,)


def _branch(name: str, index: ArrayLike, branches: Sequence[Callable], operands: tuple, labels: Sequence[str], **params: Any) -> Any:
    """Traces the branches in the order given, and binds `cond_p`, whose branches are by index.

    `cond` gives its branches with the one for True first; they are reversed for the primitive, where False is 0.
    """
    flat, in_tree = flat_arguments(f"{name}: an operand", operands)
    in_avals = [get_aval(x) for x in flat]
    programs = [trace_function(name, label, branch, in_tree, in_avals) for branch, label in zip(branches, labels)]
    for program, branch in zip(programs, branches):
        if program.jaxpr.effects:
            check_refs(name, branch, program, in_tree, flat)
    first = programs[0]
    for program, branch, label in zip(programs[1:], branches[1:], labels[1:]):
        check_branches(name, first.out_tree, first.out_avals, program.out_tree, program.out_avals, (labels[0], label),
                       (branches[0], branch))
    consts, jaxprs = _joined_branches(programs[::-1] if name == "cond" else programs)  # False is 0
    out = bind_program(cond_p, joined_effects(jaxprs), (index, *consts, *flat), {"branches": jaxprs, **params})
    return tree_unflatten(first.out_tree, out)


def _joined_branches(programs: Sequence[TracedFunction]) -> tuple[list[Any], tuple[ClosedJaxpr, ...]]:
    """The constants of all branches, and the branches as jaxprs that take all of them; the same ones for the same programs."""
    if not any(program.consts for program in programs):
        return [], tuple([program.jaxpr for program in programs])
    first, *others = [program.jaxpr for program in programs]
    question = (_joined_branches, *others)
    found = first.derived.get(question)
    if found is None:
        found = common_constants([_with_constvars(program) for program in programs])
        if not any(map(is_traced, found[0])):
            first.remember(question, found)
    return found


def _with_constvars(program: TracedFunction) -> ClosedJaxpr:
    """The program with its constants as such again."""
    if not program.consts:
        return program.jaxpr
    jaxpr, count = program.jaxpr.jaxpr, len(program.consts)
    return ClosedJaxpr(jaxpr.replace(constvars=jaxpr.invars[:count], invars=jaxpr.invars[count:]), program.consts)


@api_boundary
def platform_dependent(*args: Any, default: Callable | None = None, **per_platform: Callable) -> Any:
    """Applies a function that depends on the platform the program is compiled for.

    Args:
      *args: pytrees of arrays.
      default: the function for platforms that are not named.
      **per_platform: functions by platform: cpu, cuda, rocm, tpu.

    Returns:
      The result of the chosen function; all functions must return the same structure, shapes and dtypes. Only the chosen one is compiled.

    Raises:
      ValueError: if no function is given; when compiled, NotImplementedError if none fits the platform.

    Example:
      >>> platform_dependent(x, cpu=slow_but_exact, default=fast)
    """
    if not per_platform and default is None:
        raise ValueError("platform_dependent: give a function for at least one platform, or default=")
    if default is not None and not per_platform:
        return default(*args)
    platforms = (*[(name,) for name in per_platform], *([] if default is None else [None]))
    branches = [*per_platform.values(), *([] if default is None else [default])]
    if not all(callable(branch) for branch in branches):
        raise TypeError("platform_dependent: the per-platform arguments and default must be callable, got "
                        f"{[branch for branch in branches if not callable(branch)]}")

    index = platform_index_p.bind(platforms=platforms)
    if len(branches) == 1:
        return branches[0](*args)
    return platform_switch(index, branches, args, platforms, [*per_platform, "default"])


def platform_switch(index: Any, branches: Sequence[Callable], operands: tuple, platforms: Sequence[tuple[str, ...] | None],
                    labels: Sequence[str] | None = None) -> Any:
    """Applies the function of the platform; only that one is lowered, whatever becomes of the index on the way.

    Args:
      index: the result of `platform_index_p` for the platforms.
      branches: the functions.
      operands: pytrees of arrays.
      platforms: those that each function is for; None is all others.
      labels: the names of the functions in messages.
    """
    return _branch("platform_dependent", index, branches, operands, labels or [f"branch {i}" for i in range(len(branches))],
                   branches_platforms=tuple(platforms))
