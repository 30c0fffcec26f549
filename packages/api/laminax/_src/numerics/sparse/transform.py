"""`sparsify`: a function of arrays as one of sparse arrays.

The function is traced for arrays with all elements; then its program is interpreted, operation by operation: those of which no operand
is sparse as they are, the others by the rules of `rules.py`. What would make a sparse array dense is refused.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.elementwise import eq_p, ge_p, gt_p, le_p, lt_p, ne_p
from laminax_ir.ops.hints import todense as mark_dense
from laminax_ir.programs.jaxpr import ClosedJaxpr, Literal
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.pytrees import pytree
from laminax_ir.tracing.trace import Tracer, state
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

from laminax._src.numerics.floor import make_jaxpr
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import is_sparse, with_data

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

    from laminax._src.numerics.sparse.bcoo import BCOO
    from laminax._src.numerics.sparse.bcsr import BCSR

sparse_rules: dict[Primitive, Callable] = {}
"""`rule(*operands, **params)` of operations for operands of which one, or several, are BCOO or BCSR arrays. `rules.py` fills it.
Elementwise operations of one operand need no rule: their traits say what becomes of entries."""


def sparsify(f: Callable, use_tracer: bool = False) -> Callable:
    """Makes a function that takes sparse arrays of one that is written for arrays.

    Args:
      f: function of arrays, and pytrees of them.
      use_tracer: has no effect: what JAX can do in two ways is done in one, and gives the same results.

    Returns:
      A function of the same arguments, of which arrays may be BCOO or BCSR arrays. A result is sparse where the operations that lead to it
      keep it sparse.

    Raises:
      NotImplementedError: when it is called, for operations that have no rule for sparse operands, or whose result would be dense.
        `todense` in the function makes a sparse array dense.

    Example:
      >>> sparsify(lambda x, v: (2 * x) @ v)(BCOO.fromdense(jnp.eye(3)), jnp.ones(3))
      Array([2., 2., 2.], dtype=float32)
    """
    check_callable("sparsify", f)
    @api_boundary
    @wraps(f)
    def sparse_fun(*args: Any, **kwargs: Any) -> Any:
        flat, in_tree = pytree.tree_flatten((args, kwargs), is_leaf=is_sparse)
        for x in flat:
            if is_sparse(x) and not x._has_rules:
                raise NotImplementedError(f"sparsify: sparse arguments must be BCOO or BCSR arrays, got {x!r}")
        out_tree: Any = None

        def flat_fun(*values: ArrayLike) -> list[Array]:
            nonlocal out_tree
            inner_args, inner_kwargs = pytree.tree_unflatten(in_tree, values)
            results, out_tree = pytree.tree_flatten(f(*inner_args, **inner_kwargs))
            return results

        flat_fun.__name__ = getattr(f, "__name__", "f")
        program = make_jaxpr(flat_fun)(*[ShapeDtypeStruct(x.shape, x.dtype) if is_sparse(x) else x for x in flat])
        return pytree.tree_unflatten(out_tree, interpret(program, flat))

    return sparse_fun


class SparseTracer:
    """The name of JAX's tracer of sparse arrays, which `sparsify` with use_tracer=True makes there; here it makes none.

    Raises:
      NotImplementedError: if one is made.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("SparseTracer is not supported: `sparsify` stages a function and interprets its program, so that no "
                                  "value is one. Do not make one.")


def interpret(program: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """The results of a program for arguments of which some are BCOO or BCSR arrays."""
    env = dict(zip(program.jaxpr.constvars, program.consts))
    env.update(zip(program.jaxpr.invars, args))
    for eqn in program.jaxpr.eqns:
        operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        if any(map(is_sparse, operands)):
            result = _rule(eqn.primitive, len(operands))(*operands, **eqn.params)
        else:
            result = state.trace.process(eqn.primitive, operands, eqn.params)
        env.update(zip(eqn.outvars, result if eqn.primitive.multiple_results else (result,)))
    return [v.val if type(v) is Literal else env[v] for v in program.jaxpr.outvars]


def _rule(primitive: Primitive, num_operands: int) -> Callable:
    rule = sparse_rules.get(primitive)
    if rule is not None:
        return rule
    if Trait.ADDITIVE in primitive.traits:  # entries at the same place may stay apart
        return lambda x, **params: with_data(x, primitive.bind(x.data, **params))
    if Trait.ZERO_AT_ZERO in primitive.traits:
        return lambda x, **params: of_elements(primitive, x, **params)
    if primitive in _COMPARISONS or num_operands == 1 and Trait.ELEMENTWISE in primitive.traits:
        raise NotImplementedError(f"sparse rule for {primitive} is not implemented because it would result in dense output. If this is "
                                  "your intent, use sparse.todense() to convert your arguments to dense matrices.")
    raise NotImplementedError(f"sparse rule for {primitive} is not implemented.")


_COMPARISONS = (eq_p, ne_p, lt_p, le_p, gt_p, ge_p)


def of_elements(primitive: Primitive, x: BCOO | BCSR, **params: Any) -> BCOO | BCSR:
    """An operation of one operand that is 0 at 0, applied to the sum of the entries at each place."""
    x = x if x.unique_indices else x.sum_duplicates(nse=x.nse, remove_zeros=False)
    return with_data(x, primitive.bind(x.data, **params))


# --- todense: the operation that says that dense is what is wanted ---

def todense(arr: Any) -> Any:
    """The array with all its elements; in a function for `sparsify`, whether its argument is sparse or not.

    Args:
      arr: a sparse array of any format, or an array, which is returned as it is.
    """
    if is_sparse(arr):
        return arr.todense()
    return mark_dense(arr) if isinstance(arr, Tracer) else jnp.asarray(arr)
