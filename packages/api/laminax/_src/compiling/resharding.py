"""Arrays laid out anew over the devices they are on, by a program that returns its argument: XLA knows the shortest ways."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import laminax_runtime as runtime
from laminax_ir.ops.sharding import sharding_constraint_p
from laminax_ir.recording.staging import stage
from laminax_ir.types.array_layouts import Layout
from laminax_ir.types.avals import ShapedArray

from laminax._src.compiling.executables import Program
from laminax._src.compiling.regions import compile_program
from laminax._src.placement.partitioning import Partitioning


def reshard_by_program(x: runtime.ArrayImpl, sharding: runtime.Sharding) -> runtime.ArrayImpl | None:
    """The array laid out as the sharding, over the same devices, says; None if no program can be told how."""
    try:
        program = _program(x.aval, x.sharding, sharding)
    except NotImplementedError:  # an XLA sharding that no mesh and spec express
        return None
    return program.run([x])[0]


def relayout_by_program(x: runtime.ArrayImpl, layout: Layout) -> runtime.ArrayImpl:
    """The array where it is, in a layout."""
    moved = _relayout_program(x.aval, x.sharding, runtime.layout_of(x), layout).run([x])[0]
    return moved if x.committed else runtime.as_uncommitted(moved)


@lru_cache(maxsize=1024)
def _relayout_program(aval: ShapedArray, sharding: runtime.Sharding, source: Layout | None, target: Layout) -> Program:
    where = Partitioning(runtime.devices_of(sharding), (sharding,), (sharding,), in_layouts=(source,), out_layouts=(target,))
    return compile_program(stage(lambda x: [x], [aval], "relayout"), where, name="relayout")


@lru_cache(maxsize=1024)
def _program(aval: ShapedArray, source: runtime.Sharding, target: runtime.Sharding) -> Program:
    if reason := runtime.misfit(target, aval.shape):
        raise ValueError(f"an array of type {aval.str_short()} {reason}")
    where = Partitioning(runtime.devices_of(target), (source,), (target,))
    return compile_program(stage(lambda x: [_moved(x, source, target)], [aval], "reshard"), where, name="reshard")


def _moved(x: Any, source: runtime.Sharding, target: runtime.Sharding) -> Any:
    """The value; where a sum is made or unmade, newer releases of Shardy want to be told in the program."""
    if not runtime.has_terms(source) and not runtime.has_terms(target):
        return x
    return sharding_constraint_p.bind(x, sharding=target)
