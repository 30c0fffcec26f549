"""What `cpu.py` measures: a program of the table of operations (`cpu_operations.py`) or of loops (`cpu_loops.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class CpuProgram:
    """A program in three sizes, written once against `lib`: the module `laminax` or the module `jax`.

    make: (lib, size) -> (function, arguments): what is jitted, and NumPy arrays in pytrees.
    sizes: from small to large.
    by: the numbers of the arguments that its gradient is by; none has no gradient.
    peer: (size, *arguments) -> a function without arguments that computes the same with NumPy or SciPy, or with `torch` where it says so.
    """

    make: Callable[[Any, int], tuple[Callable, tuple]]
    sizes: tuple[int, int, int]
    by: tuple[int, ...] = ()
    peer: Callable[..., Callable[[], Any]] | None = None

    def step(self, lib: Any, size: int, is_gradient: bool) -> tuple[Callable, tuple]:
        """The function to jit and its arguments; the gradient is that of half the sum of the squares of the results."""
        fun, args = self.make(lib, size)
        if not is_gradient:
            return fun, args

        def loss(*args: Any) -> Any:
            results = [leaf for leaf in lib.tree.leaves(fun(*args)) if lib.numpy.issubdtype(leaf.dtype, lib.numpy.floating)]
            return sum((leaf * leaf).sum() for leaf in results) / 2

        return lib.grad(loss, self.by), args


def table(register: dict[str, CpuProgram], sizes: tuple[int, int, int], by: tuple[int, ...] = (),
          peer: Callable[..., Callable[[], Any]] | None = None, name: str | None = None) -> Callable[[Callable], Callable]:
    """Decorator: enters a function (lib, size) -> (function, arguments) into a table, by default under its own name, less a leading `_`."""
    def enter(make: Callable) -> Callable:
        register[name or make.__name__.lstrip("_")] = CpuProgram(make, sizes, by, peer)
        return make
    return enter
