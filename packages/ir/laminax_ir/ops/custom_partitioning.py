"""Functions that say themselves how they are split over devices: a program, and what makes the program of each device.

The program says what the function computes. Where the compiler splits values over devices it asks the partitioner for the program of one
device, on parts that are split as the compiler proposes or as the partitioner wants them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, Sequence

from laminax_ir.ops.calls import close_over_constants
from laminax_ir.programs.check_rules import call_faults, check_rule
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import CALL_TRAITS, Primitive, shape_rule
from laminax_ir.types.avals import ShapedArray

# `partitioner(in_shardings, out_shardings)` gives the text of the program of one device, and the shardings of operands and results.
Partitioner = Callable[[Sequence[Any], Sequence[Any]], tuple[str, Sequence[Any], Sequence[Any]]]

custom_partitioning_p = Primitive("custom_partitioning", multiple_results=True, family="custom_partitioning", traits=CALL_TRAITS)


@shape_rule(custom_partitioning_p)
def _custom_partitioning_shape(*avals: ShapedArray, jaxpr: ClosedJaxpr, partitioner: Partitioner, sharding_rule: str,
                               name: str) -> list[ShapedArray]:
    return jaxpr.out_avals


@check_rule(custom_partitioning_p)
def _custom_partitioning_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, name: str,
                                **_params: Any) -> Iterable[Any]:
    return call_faults(f"the partitioned function {name}", jaxpr, in_avals)


def bind_custom_partitioning(closed: ClosedJaxpr, *operands: Any, partitioner: Partitioner, sharding_rule: str, name: str) -> list[Any]:
    """Binds the call of a function with its own partitioner.

    Args:
      closed: what the function computes.
      *operands: its operands.
      partitioner: makes the program of one device.
      sharding_rule: how factors of the sizes of operands and results belong together, as Shardy writes it.
      name: the function's name.

    Raises:
      NotImplementedError: if the program has effects, or closes over arrays: the partitioner gets neither.
    """
    program, consts = close_over_constants(closed)
    if program.effects or consts:
        what = "has effects" if program.effects else "closes over arrays"
        raise NotImplementedError(f"custom_partitioning: {name} {what}, which the partition rule would not get. Pass arrays as arguments, "
                                  "and call back outside of it.")
    return custom_partitioning_p.bind(*operands, jaxpr=program, partitioner=partitioner, sharding_rule=sharding_rule, name=name)
