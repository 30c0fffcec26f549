"""Linear solves given by functions: how to multiply by a matrix, and how to solve with it.

One equation holds four programs over the same right-hand side: the matrix times a vector, its transpose times a vector,
and how to solve with each of the two. Evaluation needs one of them; the others say how the solve is differentiated
and transposed, without looking into how it is done. The function users call is
`laminax_transforms.custom.custom_solve.custom_linear_solve`.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, NamedTuple, Sequence

from laminax_ir.programs.check_rules import call_faults, check_rule
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import CALL_TRAITS, Primitive, effects_rule, shape_rule
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ShapeError

custom_linear_solve_p = Primitive("custom_linear_solve", multiple_results=True, family="linear_solve", traits=CALL_TRAITS)
linear_solve_p = custom_linear_solve_p  # the name it has in laminax.lax


class SolveParts(NamedTuple):
    """One thing for each of the programs of a solve; None for both transposed ones where there are none.

    As the parameter `jaxprs`, programs `(*constants, *vector) -> vector`; `solve` and `transpose_solve` may return
    auxiliary results after it. As `const_lengths`, how many constants each takes.
    """
    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> SolveParts:
        """The parts of the solve with the transposed matrix."""
        return SolveParts(self.vecmat, self.matvec, self.transpose_solve, self.solve)

    def map(self, fun: Callable, *others: SolveParts) -> SolveParts:
        """`fun` of each part; of several, part by part."""
        return SolveParts(*map(fun, self, *others))


def split_operands(operands: Sequence[Any], const_lengths: SolveParts) -> tuple[SolveParts, list[Any]]:
    """The constants of each program, and the right-hand side."""
    rest = iter(operands)
    consts = const_lengths.map(lambda count: [next(rest) for _ in range(count)])
    return consts, list(rest)


def bind_solve(jaxprs: SolveParts, consts: SolveParts, b: Sequence[Any]) -> list[Any]:
    """Binds a solve with right-hand side `b`; the programs have their constants as leading parameters."""
    return custom_linear_solve_p.bind(*[c for part in consts for c in part], *b, jaxprs=jaxprs,
                                      const_lengths=consts.map(len))


@shape_rule(custom_linear_solve_p)
def _linear_solve_shape(*avals: ShapedArray, const_lengths: SolveParts, jaxprs: SolveParts) -> list[ShapedArray]:
    consts, b = split_operands(avals, const_lengths)
    for name, jaxpr, given in zip(SolveParts._fields, jaxprs, consts):
        fault = next(_faults(name, jaxpr, [*given, *b], b), None)
        if fault is not None:
            raise ShapeError(f"custom_linear_solve: {fault}")
    return jaxprs.solve.out_avals


def _faults(name: str, jaxpr: ClosedJaxpr | None, in_avals: Sequence[ShapedArray], b: Sequence[ShapedArray]) -> Iterator[str]:
    if jaxpr is None:
        if name in ("matvec", "solve"):
            yield f"{name} is missing"
        return
    yield from call_faults(name, jaxpr, in_avals)
    results = jaxpr.out_avals if name in ("matvec", "vecmat") else jaxpr.out_avals[:len(b)]
    if [(x.shape, x.dtype) for x in results] != [(x.shape, x.dtype) for x in b]:
        yield (f"{name} returns ({', '.join(x.str_short() for x in results)}), the right-hand side is "
               f"({', '.join(x.str_short() for x in b)})")


@effects_rule(custom_linear_solve_p)
def _linear_solve_effects(*_avals: ShapedArray, jaxprs: SolveParts, **_params: Any) -> frozenset[Any]:
    return jaxprs.solve.effects


@check_rule(custom_linear_solve_p)
def _linear_solve_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, const_lengths: SolveParts,
                         jaxprs: SolveParts) -> Iterator[Any]:
    consts, b = split_operands(in_avals, const_lengths)
    for name, jaxpr, given in zip(SolveParts._fields, jaxprs, consts):
        yield from _faults(name, jaxpr, [*given, *b], b)
