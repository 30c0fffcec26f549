"""Resharding of arrays on the same devices, by a program that returns its argument: XLA plans the transfers."""

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
    """The array in another sharding over the same devices; None if no program can express the sharding."""
    try:
        program = _program(x.aval, x.sharding, sharding)
    except NotImplementedError:  # an XLA sharding that no mesh and spec express
        return None
    return program.run([x])[0]


def relayout_by_program(x: runtime.ArrayImpl, layout: Layout) -> runtime.ArrayImpl:
    """The array in another layout, with the same sharding."""
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
    """The value in the program; newer releases of Shardy need a constraint on it where either sharding leaves a sum open."""
    if not runtime.has_terms(source) and not runtime.has_terms(target):
        return x
    return sharding_constraint_p.bind(x, sharding=target)
