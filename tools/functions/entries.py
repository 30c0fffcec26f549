"""The table of functions: how the arguments of each are drawn, and what its results are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from functions.drawing import Call, Draw

Arguments = Callable[[Draw], Call]


@dataclass(frozen=True)
class Entry:
    """One function.

    Attributes:
      draw: draws a call.
      oracle: function of NumPy arguments; floating-point ones come in float64. None: each operation of the traced program is
        evaluated by its NumPy reference.
      units: how far results may be off, in units of their precision.
      scale: the size that `units` refers to: "elements" of the result, or "largest" of results and arguments for sums
        and the like, "square" of the largest for variances, "any" where NumPy's kind of number is another as well.
      raw: whether the oracle gets the arguments in their own dtypes.
      flips: whether arrays may be reversed to make a second call for `vmap`; otherwise both are alike.
      traceable: whether the function may be compiled and mapped.
      reason: why the numbers are not compared here, if they are not.
      tested_in: the files, or folders, where they are tested then.
    """

    draw: Arguments
    oracle: Callable[..., Any] | None = None
    units: float = 32
    scale: str = "elements"
    raw: bool = False
    flips: bool = True
    traceable: bool = True
    reason: str = ""
    tested_in: tuple[str, ...] = ()


TABLE: dict[tuple[str, str], Entry] = {}


def entry(module: str, names: str, draw: Arguments, oracle: Callable[..., Any] | None = None, **options: Any) -> None:
    """Adds functions of one module that are drawn alike; without an oracle, each is compared with NumPy's or SciPy's of its name."""
    for name in names.split():
        if (module, name) in TABLE:
            raise ValueError(f"{module}.{name} has two entries")
        TABLE[module, name] = Entry(draw, oracle, **options)


def untested(module: str, names: str, why: str, *files: str) -> None:
    """Adds functions whose numbers are not compared in this table: why, and the files or folders of tests that name each of them."""
    for name in names.split():
        if (module, name) in TABLE:
            raise ValueError(f"{module}.{name} has two entries")
        TABLE[module, name] = Entry(lambda draw: Call(()), reason=why, tested_in=files)
