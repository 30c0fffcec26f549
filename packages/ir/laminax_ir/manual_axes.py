"""The axes of devices that a program per device runs along, while it is traced or transformed.

They are named axes, and more: a trace inside is of another meaning than the same outside, so they are an option that traces
depend on. Along a *checked* axis the types of values say along which axes they vary (`ShapedArray.named_shape`). A value that
does not vary is one value, which all devices have: its cotangent is the sum of what each makes of it.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Hashable, Iterator, Sequence

from laminax_ir import config
from laminax_ir.trace import extend_axis_env


def _check(value: Any) -> tuple:
    if isinstance(value, tuple):
        return value
    raise ValueError


def _parse(text: str) -> tuple:
    raise ValueError


manual_axes = config.define(
    "manual_axes", (), config.ValueType("triples of a name, a size and whether it is checked, set by laminax itself", _check, _parse),
    "The axes of devices along which the function that is being traced runs; set by pmap and shard_map.", affects_tracing=True)


@contextmanager
def running_along(axes: Sequence[tuple[Hashable, int]], is_checked: bool) -> Iterator[None]:
    """While it lasts, functions are traced as programs of one of the devices along these axes."""
    with manual_axes((*manual_axes.value, *((name, size, is_checked) for name, size in axes))), extend_axis_env(*axes):
        yield


def checked_axes() -> tuple[Hashable, ...]:
    """The names of the axes along which types say whether values vary."""
    value = manual_axes.value
    return tuple(name for name, _, is_checked in value if is_checked) if value else ()
