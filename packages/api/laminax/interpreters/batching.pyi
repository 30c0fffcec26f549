# Written by tools/stubs.py.
"""Batching rules in JAX's form. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax._src.names.interpreters.tables import RuleMapping
from laminax_ir.programs.primitive import Primitive
from typing import Any
from laminax_transforms.batching.batching import BatchTrace as BatchTrace
from laminax_transforms.batching.batching import BatchTracer as BatchTracer

__all__: list[str]

axis_primitive_batchers: RuleMapping
def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """The array with its batch axis in front; one that is not mapped is repeated."""
def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """The array repeated `sz` times along a new axis."""
def defbroadcasting(prim: Primitive) -> None:
    """Declares an operation elementwise, of operands of one shape or scalars: mapped axes are moved to the front."""
def defreducer(prim: Primitive) -> None:
    """Declares an operation of one operand a reduction over the parameter `axes`."""
def defvectorized(prim: Primitive) -> None:
    """Declares an operation elementwise, of operands that are all mapped along one axis: it is done on the whole batch."""
fancy_primitive_batchers: RuleMapping
def moveaxis(x: Any, src: int, dst: int) -> Any:
    """The array with one axis moved to another place."""
not_mapped: Any
primitive_batchers: RuleMapping
def register_vmappable(
    data_type: type[Any],
    spec_type: type[Any],
    axis_size_type: type[Any],
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[..., Any] | None,
) -> None:
    """Tells `vmap` how to map over values of a type."""
def unregister_vmappable(data_type: type[Any]) -> None:
    """Takes back `register_vmappable`; does nothing for a type that is not registered."""
