"""`shard_map`: one program per device, on the parts that partition specs say."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import contextmanager
from typing import Any, Iterator

from laminax_ir import config
from laminax_ir.avals import ShapedArray
from laminax_ir.trace import extend_axis_env

from laminax._src import setup  # noqa: F401
from laminax._src.tracing import Call, TracedFunction, trace_call


def _check_axes(value: Any) -> tuple:
    if isinstance(value, tuple):
        return value
    raise ValueError


def _parse_axes(text: str) -> tuple:
    raise ValueError


# Traces inside of a program per device are of another meaning than the same outside of it.
manual_axes = config.define(
    "manual_axes", (), config.ValueType("a tuple of pairs of a name and a size, from within laminax", _check_axes, _parse_axes),
    "The axes of devices along which the function that is being traced runs; set by pmap and shard_map.", affects_tracing=True)


@contextmanager
def running_along(axes: Sequence[tuple[Hashable, int]]) -> Iterator[None]:
    """While it lasts, functions are traced as programs of one device of those along the named axes."""
    with manual_axes((*manual_axes.value, *axes)), extend_axis_env(*axes):
        yield


def trace_per_device(fun: Callable, call: Call, avals: Sequence[ShapedArray], axes: Sequence[tuple[Hashable, int]],
                     transform: str) -> TracedFunction:
    """Traces a function of one device's parts."""
    with running_along(axes):
        return trace_call(fun, call, avals, transform)
