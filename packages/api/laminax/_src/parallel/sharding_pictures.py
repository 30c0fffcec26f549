"""Inspection of shardings: passing them to a callback, and drawing which device holds which part."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import laminax_runtime as runtime
from laminax_ir.ops.callbacks import inspect_sharding


def inspect_array_sharding(value: Any, *, callback: Callable[[runtime.Sharding], None]) -> None:
    """Calls a function with the sharding of an array.

    Args:
      value: an array, or a traced value. The sharding of a traced value is known when the program is compiled: the function is called
        then, and not when the compiled program runs again.
      callback: a function of the sharding.

    Raises:
      TypeError: if callback is not callable.

    Example:
      >>> inspect_array_sharding(jnp.ones(3), callback=print)
      SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    if not callable(callback):
        raise TypeError(f"inspect_array_sharding: callback must be a function of the sharding, got {callback!r} of type "
                        f"{type(callback).__name__}")
    inspect_sharding(value, callback)


def visualize_array_sharding(arr: Any, **options: Any) -> None:
    """Prints which device holds which part of an array of one or two axes; options as for `visualize_sharding`."""
    inspect_array_sharding(arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding, **options))


def visualize_sharding(shape: Sequence[int], sharding: runtime.Sharding, *, use_color: bool = True, scale: float = 1.0,
                       min_width: int = 9, max_width: int = 80, color_map: Any = None) -> None:
    """Prints which device holds which part of arrays of one or two axes.

    Args:
      shape: the arrays' shape.
      sharding: how they are laid out.
      use_color: whether to colour the parts, where the output is a terminal.
      scale: the size of the picture: a matrix is about ten lines high at 1, and as wide as its shape asks for; a vector is one line.
      min_width: the least width of a part with its borders, in characters; parts become narrower where the picture would be wider than
        max_width.
      max_width: the greatest width of the picture, in characters.
      color_map: not supported.

    Raises:
      ValueError: if the shape has no or more than two axes.
      NotImplementedError: if a color_map is given.

    Example:
      >>> visualize_sharding((8, 4), NamedSharding(mesh, PartitionSpec("x", None)), use_color=False)
    """
    if color_map is not None:
        raise NotImplementedError("visualize_sharding: color_map is not supported; colours are the terminal's own")
    if len(shape) not in (1, 2):
        raise ValueError(f"visualize_sharding: arrays of one or two axes can be drawn, got the shape {tuple(shape)}")
    cells = _cells(tuple(shape), sharding)
    tall = _LINES * scale
    wide = int(tall * (shape[-1] / shape[0] if len(shape) == 2 else 1 / shape[0])) * _LINE_BY_CHARACTER if shape[0] else 0
    width = max(min(max(int(wide / len(cells[0])), min_width), max_width) - 2, *(len(label) for row in cells for label in row))
    width = max(3, min(width, max_width // len(cells[0]) - (1 if len(cells[0]) > 1 else 2)))
    height = 1 if len(shape) == 1 else 2 * max(0, (int(tall / len(cells)) - 2) // 2) + 1
    for line in _drawn(cells, width, height, use_color and sys.stdout.isatty()):
        print(line)


_LINES = 10  # of a matrix
_LINE_BY_CHARACTER = 2.5  # a line is so many times as high as a character is wide


def _cells(shape: tuple[int, ...], sharding: runtime.Sharding) -> list[list[str]]:
    """The parts as rows and columns, each with the devices that hold it, `CPU 0,1`. Inside of a program per device each has all it sees."""
    holders: dict[tuple, list[Any]] = {}
    is_per_device = runtime.is_manual(sharding)
    indices = dict.fromkeys(sharding.device_set, (slice(None),) * len(shape)) if is_per_device else sharding.devices_indices_map(shape)
    for device, index in indices.items():
        starts = tuple(0 if s.start is None else s.start for s in (index if len(shape) == 2 else (slice(None), *index)))
        holders.setdefault(starts, []).append(device)
    rows, columns = (sorted({starts[axis] for starts in holders}) for axis in (0, 1))

    def label(row: int, column: int) -> str:
        devices = holders[row, column]
        return f"{devices[0].platform.upper()} {','.join(str(d.id) for d in sorted(devices, key=lambda d: d.id))}"

    return [[label(row, column) for column in columns] for row in rows]


def _centred(text: str, width: int) -> str:
    left = (width - len(text)) // 2
    return " " * left + text.ljust(width - left)


def _drawn(cells: list[list[str]], width: int, height: int, is_coloured: bool) -> list[str]:
    count = len(cells[0])
    colours = {label: 41 + i % 6 for i, label in enumerate(dict.fromkeys(label for row in cells for label in row))}

    def line(row: list[str], is_middle: bool) -> str:
        texts = [_centred(label[:width] if is_middle else "", width) for label in row]
        if is_coloured:
            texts = [f"\033[30;{colours[label]}m{text}\033[0m" for label, text in zip(row, texts)]
        return "│" + "│".join(texts) + "│"

    def border(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * width] * count) + right

    lines = [border("┌", "┬", "┐")]
    for i, row in enumerate(cells):
        lines += [border("├", "┼", "┤")] if i else []
        lines += [line(row, at == (height - 1) // 2) for at in range(height)]
    return [*lines, border("└", "┴", "┘")]
