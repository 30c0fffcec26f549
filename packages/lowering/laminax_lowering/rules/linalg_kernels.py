"""Common parts of the platforms' kernels for linear algebra: arrays without elements, permutations, programs written in place."""

from __future__ import annotations

import enum
from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import linalg as op
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.rules.linalg_programs import eye_like
from laminax_lowering.writing.comparisons import compare, select
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_array

_INT32 = np.dtype(np.int32)


def kernel_rule(primitive: Primitive, *platforms: str) -> Callable[[Callable], Callable]:
    """Decorator: the function lowers the primitive on the platforms, for operands that have elements."""
    def register(kernel: Callable) -> Any:
        def rule(ctx: FunctionWriter, *operands: Any, **params: Any) -> Any:
            if any(0 in x.aval.shape for x in operands):
                return _EMPTY[primitive](ctx, *operands, **params)
            return kernel(ctx, *operands, **params)
        rule.__module__ = kernel.__module__
        lowering_rule(primitive, platforms=platforms)(rule)
        return kernel
    return register


def check_choice(ctx: FunctionWriter, name: str, chosen: enum.Enum | None, *accepted: enum.Enum) -> None:
    """Refuses a way of computing that the platform does not have.

    Args:
      name: the operation, for the message.
      chosen: the way that the user asked for, None for the platform's own way.
      *accepted: the ways that the platform has.

    Raises:
      NotImplementedError: if it is none of these.
    """
    if chosen is not None and chosen not in accepted:
        raise NotImplementedError(f"{name}: {chosen} is not available on {ctx.platform}; expected None or one of "
                                  f"{', '.join(map(str, accepted))}")


def run_program(ctx: FunctionWriter, function: Callable[..., Sequence[Any]], operands: Sequence[Value]) -> list[Value]:
    """Writes operations of the IR in place."""
    return ctx.run(stage(lambda *xs: list(function(*xs)), [v.aval for v in operands]), operands)


def zeros(ctx: FunctionWriter, avals: Sequence[ShapedArray]) -> list[Value]:
    """Constants of zeros."""
    return [ctx.constant(0, aval.dtype, aval.shape) for aval in avals]


# Results for operands without elements: unitary factors are identities, the rest has no elements either, or is zero


def _first(ctx: FunctionWriter, x: Value, *_others: Value, **_params: Any) -> Value:
    return x


def _last(ctx: FunctionWriter, *operands: Value, **_params: Any) -> Any:
    return operands[-1]


def _factor_and_zeros(ctx: FunctionWriter, x: Value, **_params: Any) -> list[Any]:
    return [x, *zeros(ctx, ctx.avals_out[1:])]


def _all_zeros(ctx: FunctionWriter, *_operands: Value, **_params: Any) -> Any:
    return zeros(ctx, ctx.avals_out)


def _lu(ctx: FunctionWriter, x: Value) -> list[Any]:
    _, pivots, permutation = ctx.avals_out
    return [x, *zeros(ctx, [pivots]), _row_numbers(ctx, permutation)]


def _householder_product(ctx: FunctionWriter, a: Value, _taus: Value) -> Value:
    return a if 0 in a.aval.shape else run_program(ctx, lambda x: [eye_like(x)], [a])[0]


def _svd(ctx: FunctionWriter, _x: Value, *, compute_uv: bool, **_params: Any) -> list[Value]:
    out = zeros(ctx, ctx.avals_out)
    return [out[0], *run_program(ctx, lambda *xs: [eye_like(v) for v in xs], out[1:])] if compute_uv else out


def _schur(ctx: FunctionWriter, x: Value, **_params: Any) -> Any:
    return [x] * len(ctx.avals_out)


_EMPTY: dict[Primitive, Callable] = {op.cholesky_p: _first, op.triangular_solve_p: _last, op.lu_p: _lu, op.geqrf_p: _factor_and_zeros,
          op.householder_product_p: _householder_product, op.eigh_p: _factor_and_zeros, op.svd_p: _svd, op.eig_p: _all_zeros,
          op.schur_p: _schur, op.hessenberg_p: _factor_and_zeros, op.tridiagonal_solve_p: _last,
          op.lu_pivots_to_permutation_p: lambda ctx, pivots, *, permutation_size: _row_numbers(ctx, ctx.avals_out[0])}


def _row_numbers(ctx: FunctionWriter, aval: ShapedArray) -> Value:
    return ctx.emit("stablehlo.iota", [], results=[aval], attributes={"iota_dimension": f"{aval.ndim - 1} : i64"})


def permutation_of(ctx: FunctionWriter, pivots: Value, aval: ShapedArray) -> Value:
    """Applies the exchanges one by one to the row numbers, in a loop; each is a select by the two positions."""
    batch = aval.shape[:-1]
    last = len(batch)
    rows = _row_numbers(ctx, aval)
    count = pivots.shape[-1]
    if count == 0 or 0 in batch:
        return rows
    step, single = ShapedArray((), _INT32), ShapedArray((*batch, 1), _INT32)
    zero, one, limit = ctx.constant(0, _INT32), ctx.constant(1, _INT32), ctx.size_number(count, _INT32)

    def spread(x: Value) -> Any:
        return ctx.emit("stablehlo.broadcast_in_dim", [x], results=[aval],
                        attributes={"broadcast_dimensions": i64_array(range(aval.ndim if x.aval.ndim else 0))})

    def read(x: Value, is_there: Value) -> Any:
        """The value at the one position where the mask holds, everywhere."""
        chosen = select(ctx, is_there, x, ctx.constant(0, _INT32, aval.shape), aval)
        region = ctx.region([step, step], lambda a, b: ctx.emit("stablehlo.add", [a, b], results=[step]))
        total = ctx.emit("stablehlo.reduce", [chosen, zero], attributes={"dimensions": i64_array([last])}, regions=[region],
                         results=[ShapedArray(batch, _INT32)])
        return ctx.emit("stablehlo.broadcast_in_dim", [total], results=[aval],
                        attributes={"broadcast_dimensions": i64_array(range(last))})

    def body(i: Value, permutation: Value) -> list[Any]:
        starts = [zero] * last + [i]
        pivot = ctx.emit("stablehlo.dynamic_slice", [pivots, *starts], results=[single],
                         attributes={"slice_sizes": i64_array(single.shape)})
        here, there = compare(ctx, rows, spread(i), "EQ"), compare(ctx, rows, spread(pivot), "EQ")
        at_here, at_there = read(permutation, here), read(permutation, there)
        moved = select(ctx, here, at_there, select(ctx, there, at_here, permutation, aval), aval)
        return [ctx.emit("stablehlo.add", [i, one], results=[step]), moved]

    def is_running(i: Value, _permutation: Value) -> Any:
        return compare(ctx, i, limit, "LT")

    regions = [ctx.region([step, aval], is_running), ctx.region([step, aval], body)]
    return ctx.emit("stablehlo.while", [zero, rows], regions=regions, results=[step, aval])[1]
