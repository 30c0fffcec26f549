# Written by tools/stubs.py.
"""Derivatives of high order by Taylor mode, and its rules for users' own operations. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax._src.names.interpreters.tables import RuleMapping
from laminax._src.names.jet import ZeroSeries as _ZeroSeries, ZeroTerm as _ZeroTerm
from laminax_ir.programs.primitive import Primitive
from typing import Any
from laminax._src.names.jet import ZeroSeries as ZeroSeries
from laminax._src.names.jet import ZeroTerm as ZeroTerm

__all__: list[str]

def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Defines the rule of an operation by a function of its operands that computes the same with other operations."""
def def_deriv(prim: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Defines the rule of an operation on one operand by its first derivative, a function of the operand."""
def deflinear(prim: Primitive) -> None:
    """Declares that an operation is linear in all its operands jointly."""
def defzero(prim: Primitive) -> None:
    """Declares that the results of an operation do not vary: its derivative is zero where there is one."""
def deriv_prop(prim: Primitive, deriv: Callable[[Any], Any], primals_in: Sequence[Any], series_in: Sequence[Any]) -> tuple[Any, Any]:
    """The rule of y = f(x) with y' = f'(x) x': k y_k is the sum of j x_j c_(k-j), for the coefficients c of f'(x)."""
def fact(n: Any) -> Any:
    """The factorial of an integer, as a float."""
def jet(fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]], factorial_scaled: bool = True) -> tuple[Any, Any]:
    """Derivatives of high order along a curve, by Taylor mode."""
jet_rules: RuleMapping
def linear_prop(prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The rule of a linear operation: each coefficient goes through it."""
def zero_prop(prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The rule of an operation whose results do not vary."""
zero_series: _ZeroSeries
zero_term: _ZeroTerm
