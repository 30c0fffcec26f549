# Written by tools/stubs.py.
"""Estimates of what programs ask for, for roofline models. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.abstract_meshes import AbstractMesh
from laminax_lowering.costs.roofline_counts import RooflineResult as _RooflineResult
from laminax_runtime.backends.meshes import Mesh
from typing import Any
from laminax_lowering.costs.roofline_counts import RooflineResult as RooflineResult
from laminax_lowering.costs.roofline_counts import RooflineRuleContext as RooflineRuleContext
from laminax_lowering.costs.roofline_counts import RooflineShape as RooflineShape

__all__: list[str]

def register_roofline(prim: Primitive) -> Callable[[Callable[..., _RooflineResult]], Callable[..., _RooflineResult]]:
    """A decorator that registers what an operation asks for; it takes the place of an earlier rule."""
def register_standard_roofline(prim: Primitive) -> None:
    """Registers an operation that asks for nothing, because compilers make it a part of what reads its result."""
def roofline(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, _RooflineResult]]:
    """Makes a function that estimates what `f` asks for, and computes nothing."""
def roofline_and_grad(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh,
    in_specs: Any,
    out_specs: Any,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, _RooflineResult, _RooflineResult]]:
    """Makes a function that estimates what `f` asks for, and its derivative, which is computed in bfloat16."""
