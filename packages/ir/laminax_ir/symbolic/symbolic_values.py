"""Symbolic dimensions as values: `dim_as_value` is the number that an expression has where the program runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.tracing.trace import is_tracing
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray

if TYPE_CHECKING:
    from laminax_ir.symbolic.symbolic_dims import SymbolicDim

dim_as_value_p = Primitive("dim_as_value", family="symbolic", module=__name__)


def dim_aval() -> ShapedArray:
    """The type of a size as a value: a weak integer, as a Python int is."""
    return ShapedArray((), dtypes.scalar_dtype(int), True)


@shape_rule(dim_as_value_p)
def _dim_as_value_shape(*, dim: SymbolicDim) -> ShapedArray:
    return dim_aval()


def dim_as_value(dim: Any) -> Any:
    """The size that a symbolic dimension stands for, a weakly typed integer, in the program that is traced.

    Raises:
      TypeError: outside of programs.
    """
    if not is_tracing():
        raise TypeError(f"the symbolic dimension '{dim}' is a number only in a program that is traced for symbolic shapes, by export")
    return dim_as_value_p.bind(dim=dim)
