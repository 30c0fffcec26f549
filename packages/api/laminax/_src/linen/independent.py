"""The results of a function that do not depend on its arguments, computed without them."""

from __future__ import annotations

from typing import Any, Callable

from laminax_ir.programs.dce import dce_closed_jaxpr
from laminax_ir.pytrees.pytree import tree_structure, tree_unflatten
from laminax_ir.recording.evaluation import jaxpr_as_fun

from laminax._src.compiling.scopes import ensure_compile_time_eval
from laminax._src.numerics.floor import jit, make_jaxpr


class Dependent(Exception):
    """The result depends on an argument."""

    def __init__(self, aval: Any) -> None:
        super().__init__(f"depends on an argument of type {aval}")
        self.aval = aval


def without_arguments(function: Callable[..., Any], *args: Any) -> Any:
    """The function's result, of which no part may depend on the arguments: of them only types are known.

    Args:
      function: the function. It is traced once; what it closes over has values.
      *args: arguments, or `ShapeDtypeStruct`s.

    Raises:
      Dependent: a part of the result depends on an argument.
    """
    def computing_at_once(*args: Any) -> Any:
        with ensure_compile_time_eval():  # where no tracer takes part: as whole functions compute it, in their last bits too
            return function(*args)

    closed, shapes = make_jaxpr(computing_at_once, return_shape=True)(*args)
    wanted, used = dce_closed_jaxpr(closed, [True] * len(closed.jaxpr.outvars))
    for var, is_used in zip(closed.jaxpr.invars, used):
        if is_used:
            raise Dependent(var.aval)
    compute = jaxpr_as_fun(wanted)
    # What is left over, that of tracers of an outer function, is one program: random numbers have the bits of a call of their own.
    results = jit(compute)() if wanted.jaxpr.eqns else compute()
    return tree_unflatten(tree_structure(shapes), results)
