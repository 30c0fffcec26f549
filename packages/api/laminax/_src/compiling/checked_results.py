"""NaN and infinity traps: what `debug_nans` and `debug_infs` do.

While one of them is on, every result passes through here on its way out of a compiled program, be it one operation or
a jitted function. For a jitted function the program is then run again operation by operation, to name the operation at fault.
"""

from __future__ import annotations

from typing import Any, Sequence

import laminax_runtime as runtime
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr

from laminax._src.compiling.result_faults import fault, message


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
    from laminax._src.compiling.fault_search import run_checked
    run_checked(closed.jaxpr, closed.consts, args, name)
    raise FloatingPointError(f"{message(found, name)} Run operation by operation, the program does not produce it.")
