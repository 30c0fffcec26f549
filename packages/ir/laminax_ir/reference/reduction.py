"""NumPy meaning of the reductions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import reduction as ops
from laminax_ir.programs.jaxpr import ClosedJaxpr, Literal
from laminax_ir.programs.primitive import Trait
from laminax_ir.reference.evaluate import evaluate, reference_rule, to_numpy
from laminax_ir.reference.widening import widened

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import Var
    from laminax_ir.types.annotations import ArrayLike


@reference_rule(ops.reduce_sum_p)
def _reduce_sum(x: np.ndarray, *, axes: tuple[int, ...], out_sharding: Any) -> ArrayLike:
    x = widened(x)
    return np.sum(x, axis=axes, dtype=x.dtype)


@reference_rule(ops.reduce_prod_p)
def _reduce_prod(x: np.ndarray, *, axes: tuple[int, ...]) -> ArrayLike:
    x = widened(x)
    return np.prod(x, axis=axes, dtype=x.dtype)


@reference_rule(ops.reduce_max_p)
def _reduce_max(x: np.ndarray, *, axes: tuple[int, ...]) -> ArrayLike:
    return np.max(widened(x), axis=axes, initial=ops.least(x.dtype))


@reference_rule(ops.reduce_min_p)
def _reduce_min(x: np.ndarray, *, axes: tuple[int, ...]) -> ArrayLike:
    return np.min(widened(x), axis=axes, initial=ops.greatest(x.dtype))


def _logical(ufunc: Any) -> Callable:
    def rule(x: Any, *, axes: Any) -> Any:
        return ufunc.reduce(widened(x), axis=axes)
    return rule


reference_rule(ops.reduce_and_p)(_logical(np.bitwise_and))
reference_rule(ops.reduce_or_p)(_logical(np.bitwise_or))
reference_rule(ops.reduce_xor_p)(_logical(np.bitwise_xor))


@reference_rule(ops.argmax_p)
def _argmax(x: np.ndarray, *, axes: tuple[int, ...], index_dtype: np.dtype) -> ArrayLike:
    return np.argmax(widened(x), axis=axes[0])


@reference_rule(ops.argmin_p)
def _argmin(x: np.ndarray, *, axes: tuple[int, ...], index_dtype: np.dtype) -> ArrayLike:
    return np.argmin(widened(x), axis=axes[0])


@reference_rule(ops.reduce_p)
def _reduce(*values: np.ndarray, dimensions: tuple[int, ...], jaxpr: ClosedJaxpr) -> list[np.ndarray]:
    operands, inits = ops.split_operands("reduce", values)
    kept = tuple(axis for axis in range(operands[0].ndim) if axis not in dimensions)
    shape = tuple(operands[0].shape[axis] for axis in kept)
    # The reduced axes first, as one: then each step combines arrays of the result's shape.
    columns = [x.transpose(*dimensions, *kept).reshape(-1, *shape) if x.size else np.empty((0, *shape), x.dtype)
               for x in operands]
    results = [np.broadcast_to(init, shape) for init in inits]
    for row in zip(*columns):
        results = apply_elementwise(jaxpr, [*results, *row])
    return results


def apply_elementwise(jaxpr: ClosedJaxpr, arrays: Sequence[ArrayLike]) -> Any:
    """A computation on scalars, applied to arrays of one shape element by element."""
    shape = arrays[0].shape
    if any(Trait.ELEMENTWISE not in eqn.primitive.traits for eqn in jaxpr.eqns):
        results = [evaluate(jaxpr, *scalars) for scalars in zip(*(np.ravel(x) for x in arrays))]
        columns = list(zip(*results)) or [()] * len(jaxpr.out_avals)
        return [np.array(c, aval.dtype).reshape(shape) for c, aval in zip(columns, jaxpr.out_avals)]
    # NumPy implementations of elementwise operations broadcast: no loop over the elements is needed.
    env = dict(zip(jaxpr.jaxpr.invars, arrays))
    env.update((v, to_numpy(c, v.aval)) for v, c in zip(jaxpr.jaxpr.constvars, jaxpr.consts))

    def read(atom: Literal | Var) -> Any:
        return to_numpy(atom.val, atom.aval) if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        result = reference_rule[eqn.primitive](*map(read, eqn.invars), **eqn.params)
        env[eqn.outvars[0]] = np.asarray(result).astype(eqn.outvars[0].aval.dtype, copy=False)
    return [np.broadcast_to(read(v), shape) for v in jaxpr.jaxpr.outvars]
