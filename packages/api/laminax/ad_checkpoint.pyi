# Written by tools/stubs.py.
"""Checkpointing: which values are kept for differentiation, and which are computed again. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import ShapedArray
from laminax_transforms.rematerializing.rematerialization import Decision
from typing import Any
from laminax import checkpoint as checkpoint
from laminax import remat as remat
from laminax_transforms.rematerializing.checkpoint_policies import checkpoint_policies as checkpoint_policies
from laminax_transforms.rematerializing.rematerialization import Offloadable as Offloadable

__all__: list[str]

Recompute: Decision
Saveable: Decision
def checkpoint_name(x: Any, name: str) -> Any:
    """Names values, for the policies of `checkpoint` that go by names; otherwise the identity."""
name_p: Primitive
def print_saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints what `saved_residuals` finds, a line per value."""
def saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[ShapedArray, str]]:
    """The values that reverse-mode differentiation of a function keeps between the forward and the backward pass."""
