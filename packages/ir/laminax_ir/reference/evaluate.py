"""The reference evaluator: runs jaxprs with NumPy alone.

A reference implementation takes NumPy arrays of the avals' dtypes and returns arrays; the evaluator brings
its results to the dtypes and shapes that the shape rule promises, so that an implementation may compute in
whatever precision NumPy likes (bfloat16 through float32, say) and 32-bit canonicalisation stays in one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import from_records, to_records
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, Literal
from laminax_ir.programs.primitive import Primitive, RuleTable
from laminax_ir.recording.type_lowering import bind_lowered, has_hi_types, lowered, needs_lowering
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import lowered_values, raised_values, types_in_use

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import Var
    from laminax_ir.types.annotations import ArrayLike

reference_rule = RuleTable("reference", "laminax_ir.reference",
                           "Register one with laminax_ir.reference.evaluate.reference_rule.")


def evaluate(jaxpr: ClosedJaxpr | Jaxpr, *args: ArrayLike) -> list[np.ndarray]:
    """Runs a jaxpr on NumPy values.

    Args:
      jaxpr: the program; a `Jaxpr` must have no constvars.
      *args: one array or scalar per parameter.

    Returns:
      The results as NumPy arrays.
    """
    closed = jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr)
    program = closed.jaxpr
    if len(args) != len(program.invars):
        raise TypeError(f"evaluate: the jaxpr takes {len(program.invars)} arguments, got {len(args)}")
    if has_hi_types(closed):
        return raised_values(closed.out_avals, evaluate(lowered(closed), *lowered_values(args)))
    env = {v: to_numpy(c, v.aval) for v, c in zip(program.constvars, closed.consts)}
    env.update((v, to_numpy(a, v.aval)) for v, a in zip(program.invars, args))

    def read(atom: Literal | Var) -> Any:
        return to_numpy(atom.val, atom.aval) if type(atom) is Literal else env[atom]

    for eqn in program.eqns:
        results = apply(eqn.primitive, [read(v) for v in eqn.invars], eqn.params, [v.aval for v in eqn.outvars])
        env.update(zip(eqn.outvars, results))
    return [_to_user(read(v), v.aval) for v in program.outvars]


def evaluate_primitive(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Computes one operation on concrete operands: what `bind` does outside every transformation."""
    if types_in_use() and needs_lowering(operands, params):
        return bind_lowered(primitive, operands, params)
    avals = [get_aval(x) for x in operands]
    if params.get("out_sharding") is not None:  # derivatives of products of split values ask for it; values here are whole
        params = {**params, "out_sharding": None}
    out_avals = primitive.shape_rule(*avals, **params)
    values = [to_numpy(x, aval) for x, aval in zip(operands, avals)]
    if primitive.multiple_results:
        return [_to_user(r, aval) for r, aval in zip(apply(primitive, values, params, out_avals), out_avals)]
    return _to_user(apply(primitive, values, params, [out_avals])[0], out_avals)


def apply(primitive: Primitive, values: Sequence[np.ndarray], params: dict[str, Any],
           out_avals: Sequence[ShapedArray]) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        result = reference_rule[primitive](*values, **params)
        results = result if primitive.multiple_results else [result]
        if len(results) != len(out_avals):
            raise AssertionError(f"reference of {primitive}: {len(results)} results, the shape rule says {len(out_avals)}")
        return [_conform(primitive, r, aval) for r, aval in zip(results, out_avals)]


def _conform(primitive: Primitive, value: ArrayLike, aval: ShapedArray) -> np.ndarray:
    is_extended = dtypes.is_extended(aval.dtype)
    value = to_numpy(value, aval) if is_extended else np.asarray(value)
    if value.shape != aval.shape:
        raise AssertionError(f"reference of {primitive}: shape {value.shape}, the shape rule says {aval.shape}")
    return value if is_extended or value.dtype == aval.dtype else value.astype(aval.dtype)


def to_numpy(value: ArrayLike, aval: ShapedArray) -> Any:
    """The value as a NumPy array of the aval's dtype; an array of an extended dtype as one record per element."""
    if dtypes.is_extended(aval.dtype):
        return to_records(value)
    return np.asarray(value, dtype=aval.dtype)


def _to_user(value: np.ndarray, aval: ShapedArray) -> ArrayLike:
    """The inverse of `to_numpy`, for results that leave the evaluator."""
    return from_records(aval.dtype, value) if dtypes.is_extended(aval.dtype) else value
