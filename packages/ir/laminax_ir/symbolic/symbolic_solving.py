"""Variables of symbolic dimensions from the sizes of arguments: each from an axis whose expression is linear in it.

`(a + 2*b, a)` gives `a` from the second axis, and then `b` from the first. What follows twice, and what is a number in the
specification, is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple, Sequence

from laminax_ir.symbolic.symbolic_dims import (
    DimSize,
    InconclusiveDimensionOperation,
    Product,
    SymbolicDim,
    evaluated,
    sum_of_terms,
    variable,
)
from laminax_ir.symbolic.symbolic_scope import SymbolicScope
from laminax_ir.types.avals import ShapedArray


class Axis(NamedTuple):
    """An axis of an argument with the expression that its size is specified by."""
    argument: int
    axis: int
    dim: DimSize


class Step(NamedTuple):
    """How a variable follows: `factor * variable + rest` is the size of an axis; `rest` has variables of former steps only."""
    variable: str
    factor: int
    rest: DimSize
    source: Axis


class ShapeSpecification:
    """The shapes that arguments may have.

    Args:
      avals: the arguments' types.
      names: what the arguments are called.

    steps: how each variable follows from the sizes, in order.
    checks: the axes whose sizes must agree with the variables' values.

    Raises:
      ValueError: if the shapes are of several scopes, or a variable does not follow from the sizes.
    """

    def __init__(self, avals: Sequence[ShapedArray], names: Sequence[str]) -> None:
        self.avals = tuple(avals)
        self.names = tuple(names)
        axes = [Axis(i, axis, dim) for i, aval in enumerate(self.avals) for axis, dim in enumerate(aval.shape)]
        self.steps: list[Step] = []
        self.checks = [axis for axis in axes if type(axis.dim) is not SymbolicDim]
        unsolved = [(axis, axis.dim) for axis in axes if type(axis.dim) is SymbolicDim]
        known: set[str] = set()
        is_new = True
        while is_new:
            is_new = False
            for axis, dim in list(unsolved):
                missing = dim.variables() - known
                step = _step(axis, dim, *missing) if len(missing) == 1 else None
                if step is not None:
                    self.steps.append(step)
                    known.add(step.variable)
                if step is not None or not missing:
                    unsolved.remove((axis, dim))
                    self.checks += [] if step is not None else [axis]
                    is_new = True
        if unsolved:
            missing = {name for _, dim in unsolved for name in dim.variables()} - known
            listed = ", ".join(f"'{dim}' for dimension size {self.place(axis)}" for axis, dim in unsolved)
            raise ValueError(f"Cannot solve for values of dimension variables {missing}. We can only solve linear uni-variate constraints. "
                             f"{self.describe()}Unprocessed specifications: {listed}. Give an axis of some argument the size of each "
                             "variable.")

        self.constraints: list[SymbolicDim] = []  # each is 0 or more
        for constraint in () if self.scope is None else self.scope.constraints:
            written: DimSize = constraint
            if constraint.variables() - known:  # an equality may have put others in the place of a variable
                written = evaluated(constraint, {name: variable(name, constraint.scope) for name in constraint.variables()})
            if type(written) is SymbolicDim:
                self.constraints.append(written)
            if type(written) is SymbolicDim and (unknown := sorted(written.variables() - known)):
                raise ValueError(f"Encountered dimension variable '{unknown[0]}' in the constraint '{constraint}' >= 0 that is not "
                                 f"appearing in the shapes of the function arguments. {self.describe()}Give an axis of some argument its "
                                 "size, or leave the constraint out.")

    @cached_property
    def scope(self) -> SymbolicScope | None:
        """The scope of the variables, if there are any."""
        sizes: list[DimSize] = [dim for aval in self.avals for dim in aval.shape]
        return next((dim.scope for dim in sizes if type(dim) is SymbolicDim), None)

    @property
    def variables(self) -> list[str]:
        """The names of the variables, sorted."""
        return sorted(step.variable for step in self.steps)

    def solve(self, shapes: Sequence[Sequence[DimSize]]) -> dict[str, DimSize]:
        """The values of the variables for arguments of these shapes, which may have symbolic dimensions of their own.

        Raises:
          ValueError: if the shapes are not as specified, or not for all sizes.
        """
        values: dict[str, DimSize] = {}
        found: list[tuple[Step, DimSize]] = []
        fixed = [axis for axis in self.checks if type(axis.dim) is int]
        for axis in fixed:
            if not _holds(lambda axis=axis: shapes[axis.argument][axis.axis] == axis.dim):
                raise ValueError(f"Shape mismatch for {self.place(axis)} (expected same constant): it is "
                                 f"{shapes[axis.argument][axis.axis]}, and was specified as {axis.dim}")
        for step in self.steps:
            size = shapes[step.source.argument][step.source.axis]
            rest = size - evaluated(step.rest, values)
            value, remainder = divmod(rest, step.factor) if step.factor != 1 else (rest, 0)
            if not _holds(lambda remainder=remainder: remainder == 0):
                raise self._error(f"Division had remainder {remainder} when computing the value of '{step.variable}'.", found, shapes)
            values[step.variable] = value
            found.append((step, value))
            if not _holds(lambda value=value: value >= 1):
                raise self._error(f"Expected value >= 1 for dimension variable '{step.variable}'.", found, shapes)
        for axis in self.checks:
            size = shapes[axis.argument][axis.axis]
            if type(axis.dim) is SymbolicDim and not _holds(lambda axis=axis, size=size: size == evaluated(axis.dim, values)):
                raise self._error(f"Found inconsistency between dimension size {self.place(axis)} (= {size}) and the specification "
                                  f"'{axis.dim}' (= {evaluated(axis.dim, values)}).", found, shapes)
        for constraint in self.constraints:
            if not _holds(lambda constraint=constraint: evaluated(constraint, values) >= 0):
                raise self._error(f"Input shapes do not fulfil the constraint '{constraint}' >= 0, "
                                  f"of{constraint.scope.describe_constraints()}\n", found,
                                  shapes)
        return values

    def _error(self, what: str, found: Sequence[tuple[Step, DimSize]], shapes: Sequence[Sequence[DimSize]]) -> ValueError:
        listed = "".join(f"'{step.variable}' = {value} from specification '{step.source.dim}' for dimension {self.place(step.source)} "
                         f"(= {shapes[step.source.argument][step.source.axis]}), " for step, value in found)
        return ValueError(f"Input shapes do not match the polymorphic shapes specification. {what} {self.describe()}Obtained dimension "
                          f"variables: {listed}. Call it with shapes that fit, or export it for others.")

    def describe(self) -> str:
        """The specifications, as a sentence for messages."""
        listed = ",\n".join(f"{name}.shape = {shape_text(aval.shape)}" for name, aval in zip(self.names, self.avals)
                            if any(type(dim) is SymbolicDim for dim in aval.shape))
        return f"Using the following polymorphic shapes specifications: {listed}. "

    def place(self, axis: Axis) -> str:
        """The name of an axis in messages: `x.shape[1]`."""
        return f"{self.names[axis.argument]}.shape[{axis.axis}]"


def shape_text(shape: Sequence[DimSize]) -> str:
    """A shape as Python prints tuples."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _step(axis: Axis, dim: SymbolicDim, name: str) -> Step | None:
    """How a variable follows from an axis; None where the expression is not linear in it."""
    product: Product = ((name, 1),)
    counts = dict(dim.terms)
    if product not in counts:
        return None
    rest = sum_of_terms([term for term in dim.terms if term[0] != product], dim.scope)
    if type(rest) is SymbolicDim and name in rest.variables():
        return None
    return Step(name, counts[product], rest, axis)


def _holds(question: Callable) -> bool:
    """Whether something holds for all sizes."""
    try:
        return bool(question())
    except InconclusiveDimensionOperation:
        return False
