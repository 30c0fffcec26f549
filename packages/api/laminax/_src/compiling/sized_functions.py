"""Functions traced for all sizes of some axes, at the sizes of one call.

The function is traced once, and lowered once. What each further size costs is a new `main` of a few lines, from which the compiler finds
all sizes, and its work. Where an operation has no form for all sizes, or the program is for several devices, the program is lowered for
each size, which does not call the function either.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.symbolic.sized_programs import at_sizes, value_at_sizes
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim

from laminax._src.base.phases import log_decision
from laminax._src.compiling.tracing import TracedFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from laminax_lowering import LoweredModule


class SizedFunction(TracedFunction):
    """A traced function at the sizes of a call.

    Args:
      template: the function, traced for all sizes.
      sizes: the size of each variable.
    """

    template: TracedFunction
    sizes: tuple[tuple[str, DimSize], ...]

    def __init__(self, template: TracedFunction, sizes: tuple[tuple[str, DimSize], ...]) -> None:
        self.__dict__.update(template=template, sizes=sizes, out_tree=template.out_tree, name=template.name, key=template.key, programs={},
                             on_host={}, sized={})

    @cached_property
    def closed(self) -> ClosedJaxpr:
        """The program at the sizes. Running the function does not need it."""
        return at_sizes(self.template.closed, dict(self.sizes))

    @property
    def general(self) -> ClosedJaxpr:
        return self.template.closed

    @property
    def sizes_text(self) -> str:
        """The sizes, for messages."""
        return ", ".join(f"{name}={size}" for name, size in self.sizes)

    @property
    def compiled_sizes(self) -> dict[tuple, SizedFunction]:
        """What the function has been compiled for, by the texts of the sizes, oldest first."""
        return {(other.sizes_text,): other for other in self.template.sized.values() if other.programs}

    @property
    def is_constant(self) -> bool:
        """Whether all sizes are numbers."""
        return not any(type(size) is SymbolicDim for _, size in self.sizes)

    def module(self, key: tuple[Any, ...], lower: Callable[[ClosedJaxpr], LoweredModule]) -> LoweredModule | None:
        """The module at the sizes, from the one for all sizes; None if there is none, and the program at the sizes is to be lowered.

        Args:
          key: all that lowering depends on.
          lower: lowers the program for all sizes, once.
        """
        known = self.template.programs
        if (question := ("module", *key)) not in known:
            try:
                known[question] = lower(self.template.closed)
            except NotImplementedError as error:
                log_decision(f"jit({self.name})", f"for each size by itself, since an operation has no form for all sizes ({error})")
                known[question] = None
        module = known[question]
        if module is None or module.convention.needs_this_process or not self.is_constant:
            return None
        return module.at(dict(self.sizes))


def at_call(template: TracedFunction, sizes: tuple[tuple[str, DimSize], ...]) -> SizedFunction:
    """The function at the sizes of a call, the same object for equal sizes; `template` may itself be at sizes that have variables."""
    if isinstance(template, SizedFunction):
        return at_call(template.template, value_at_sizes(template.sizes, dict(sizes)))
    found = template.sized.get(sizes)
    if found is None:
        found = template.sized[sizes] = SizedFunction(template, sizes)
    return found
