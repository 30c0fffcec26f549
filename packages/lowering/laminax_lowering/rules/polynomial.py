"""Polynomials: Horner's rule, written out if they are short, in a loop otherwise."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from laminax_ir.ops.elementwise import add, mul
from laminax_ir.ops.elementwise_avals import broadcast_avals
from laminax_ir.ops.loops import scan
from laminax_ir.ops.polynomial import UNROLLED, polynomial_p
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.ops.stacking import stack
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


@lowering_rule(polynomial_p)
def _lower_polynomial(ctx: FunctionWriter, *operands: Value, unroll: int | None = None) -> Value:
    return ctx.run(_program(tuple(x.aval.strip_weak_type() for x in operands), unroll or UNROLLED), operands)[0]


@functools.lru_cache(maxsize=1024)
def _program(avals: tuple[ShapedArray, ...], unroll: int) -> ClosedJaxpr:
    def program(x: Any, *coeffs: Any) -> list[Array]:
        return [_written_out(x, coeffs) if len(coeffs) <= unroll else _loop(x, coeffs, unroll)]
    return stage(program, avals, name="polynomial")


def _written_out(x: Any, coeffs: tuple) -> Any:
    result = coeffs[-1]
    for c in coeffs[-2::-1]:
        result = add(mul(result, x), c)
    return result


def _loop(x: Any, coeffs: tuple, unroll: int) -> Any:
    avals = [get_aval(c) for c in coeffs]
    inner, outer = broadcast_avals("polynomial", avals), broadcast_avals("polynomial", (get_aval(x), *avals))
    *terms, last = (c if c.shape == inner else _spread(c, inner) for c in coeffs)
    x = x if x.shape == outer else _spread(x, outer)
    first = last if last.shape == outer else _spread(last, outer)  # and not a 0 before it, whose product with an infinite x is NaN
    return scan(lambda result, c: (add(mul(result, x), c), None), first, stack(terms[::-1]), unroll=unroll)[0]


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    return broadcast_in_dim(x, shape, tuple(range(len(shape) - len(x.shape), len(shape))))
