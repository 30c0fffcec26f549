"""Symbolic dimensions as values: `dim_as_value` is the number that an expression has where the program runs."""

from __future__ import annotations

from laminax_ir import dtypes
from laminax_ir.avals import ShapedArray, register_value_type
from laminax_ir.primitive import Primitive, shape_rule
from laminax_ir.symbolic_dims import SymbolicDim
from laminax_ir.trace import is_tracing

dim_as_value_p = Primitive("dim_as_value", family="symbolic")


def _aval() -> ShapedArray:
    """A weak integer, as a Python int is."""
    return ShapedArray((), dtypes.scalar_dtype(int), True)


register_value_type(SymbolicDim, lambda _: _aval())


@shape_rule(dim_as_value_p)
def _dim_as_value_shape(*, dim: SymbolicDim) -> ShapedArray:
    return _aval()


def dim_as_value(dim: SymbolicDim):
    """The size that a symbolic dimension stands for, a weakly typed integer, in the program that is traced.

    Raises:
      TypeError: outside of programs.
    """
    if not is_tracing():
        raise TypeError(f"the symbolic dimension '{dim}' is a number only in a program that is traced for symbolic shapes, by export")
    return dim_as_value_p.bind(dim=dim)
