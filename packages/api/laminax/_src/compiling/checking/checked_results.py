"""NaN and infinity traps: what `debug_nans` and `debug_infs` do.

While one of them is on, every result passes through here on its way out of a compiled program, be it one operation or
a jitted function. For a jitted function the program is then run again operation by operation, to name the operation at fault.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

import laminax_runtime as runtime
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr, Literal

from laminax._src.compiling.checking.result_faults import fault, message


def is_checking() -> bool:
    """Whether results are to be checked."""
    return config.debug_nans.value or config.debug_infs.value


def check_results(outs: Sequence[Any], name: str, closed: ClosedJaxpr | None = None, args: Sequence[Any] = ()) -> None:
    """Raises if a result holds a NaN or an infinity that the settings trap.

    Args:
      outs: the results.
      name: what computed them: an operation's name, or `jit(f)`.
      closed: the program, to be run again; None for a single operation.
      args: its arguments.

    Raises:
      FloatingPointError: naming the operation and its line in the user's program.
    """
    found = fault(outs)
    if found is None:
        return
    if closed is None:
        raise FloatingPointError(message(found, name))
    if any(isinstance(x, runtime.ArrayImpl) and x.is_deleted() for x in args):
        raise FloatingPointError(f"{message(found, name)} The operation cannot be found, since arguments were donated; "
                                 "leave donate_argnums out to have it named.")
    if fault([np.asarray(x) if isinstance(x, float) else x for x in args]) == found:
        raise FloatingPointError(f"{message(found, name)} The arguments hold it already: the de-optimized function did not produce it, but "
                                 "got it in an input.")
    from laminax._src.compiling.checking.fault_search import run_checked
    run_checked(closed.jaxpr, closed.consts, args, name)
    origin = "has it as a literal or a constant" if fault([*_literals(closed), *closed.consts]) == found else "gives other numbers"
    raise FloatingPointError(f"{message(found, name)} Run operation by operation, the program does not produce it: the de-optimized "
                             f"function did not compute it, but {origin}.")


def _literals(closed: ClosedJaxpr) -> list[Any]:
    return [np.asarray(atom.val) for atom in closed.jaxpr.outvars if isinstance(atom, Literal)]
