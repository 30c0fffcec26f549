"""Checks and canonical forms of the arguments that several layers share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def as_tuple(value: int | Iterable[int]) -> tuple[int, ...]:
    """One number as a tuple of one, several as a tuple."""
    return tuple(value) if isinstance(value, Iterable) else (value,)


def canonical_axes(layer: str, name: str, axes: int | Iterable[int], ndim: int) -> tuple[int, ...]:
    """Axes counted from the front, each once, in increasing order.

    Raises:
      ValueError: if an axis is out of range; names the layer and its parameter.
    """
    given = as_tuple(axes)
    for axis in given:
        if not -ndim <= axis < ndim:
            raise ValueError(f"{layer}: {name} has axis {axis}, which is out of range for an input of {ndim} axes. "
                             f"Give axes from {-ndim} to {ndim - 1}")
    return tuple(sorted({axis % ndim for axis in given}))


def per_axis(layer: str, name: str, value: int | Sequence[int] | None, count: int) -> tuple[int, ...]:
    """One number for each of `count` spatial axes: a number stands for all, None for 1.

    Raises:
      ValueError: if a sequence of another length is given.
    """
    if value is None:
        value = 1
    numbers = tuple(value) if isinstance(value, Iterable) else (value,) * count
    if len(numbers) != count:
        raise ValueError(f"{layer}: {name}={value!r} has {len(numbers)} entries, kernel_size has {count}. "
                         f"Give one integer, or one for each spatial axis")
    return numbers


def expect_ndim(layer: str, inputs: Any, least: int, axes: str) -> None:
    """Raises a ValueError if an input has fewer axes than the layer needs."""
    if inputs.ndim < least:
        raise ValueError(f"{layer}: the input has shape {inputs.shape}, expected at least {least} axes, {axes}")
