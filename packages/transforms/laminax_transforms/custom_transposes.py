"""`linear_call`: linear functions with a transpose of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laminax_ir.arguments import check_callable
from laminax_ir.avals import get_aval
from laminax_ir.jaxpr import ClosedJaxpr
from laminax_ir.ops.linear_call import bind_linear_call
from laminax_ir.pytree import keystr, structure_errors, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.staging import stage
from laminax_ir.trace import eval_trace, state
from laminax_ir.tracebacks import api_boundary
from laminax_transforms.autodiff import _check_array_leaves, _name


@api_boundary
def linear_call(fun: Callable, fun_transpose: Callable, residual_args: Any, linear_args: Any) -> Any:
    """Calls a linear function whose transpose is another given function, and not derived from it.

    The two are each other's transposes: transposing the call gives a call of `fun_transpose`, and transposing that a call of
    `fun` again. Both are traced here.

    Args:
      fun: `fun(residuals, x) -> y`, linear in `x`: pytrees of arrays.
      fun_transpose: `fun_transpose(residuals, y_ct) -> x_ct`, linear in `y_ct`.
      residual_args: what both depend on in any way. Derivatives with respect to it are those of `fun` as it is written.
      linear_args: what `fun` is linear in.

    Returns:
      `fun(residual_args, linear_args)`.

    Raises:
      TypeError: if an argument is not an array, or `fun_transpose` returns another structure than that of `linear_args`.
      ValueError: if it returns other shapes or dtypes.

    Example:
      >>> def divided(x, by):
      ...   return linear_call(lambda r, x: x / r, lambda r, ct: ct / r, by, x)
      >>> linear_transpose(lambda x: divided(x, 3.0), 1.0)(18.0)
      (6.0,)
    """
    check_callable("linear_call", fun)
    check_callable("linear_call", fun_transpose)
    if state.trace is eval_trace:
        return fun(residual_args, linear_args)
    _check_array_leaves("linear_call: residual_args", residual_args)
    _check_array_leaves("linear_call: linear_args", linear_args)
    residuals, residual_tree = tree_flatten(residual_args)
    linear, linear_tree = tree_flatten(linear_args)
    residual_avals, linear_avals = [get_aval(x) for x in residuals], [get_aval(x) for x in linear]

    def traced(function: Callable, tree: Any, avals: list) -> tuple[ClosedJaxpr, Any]:
        trees: list[Any] = []

        def flat(*args):
            result = function(tree_unflatten(residual_tree, args[:len(residuals)]), tree_unflatten(tree, args[len(residuals):]))
            leaves, out_tree = tree_flatten(result)
            _check_array_leaves(f"linear_call: the result of {_name(function)}", result)
            trees.append(out_tree)
            return leaves

        return stage(flat, [*residual_avals, *avals], _name(function)), trees[0]

    call, out_tree = traced(fun, linear_tree, linear_avals)
    transpose, ct_tree = traced(fun_transpose, out_tree, call.out_avals)
    _check_transpose(fun_transpose, ct_tree, linear_tree, linear_args, transpose.out_avals)
    return tree_unflatten(out_tree, bind_linear_call(call, transpose, residuals, linear, _name(fun)))


def _check_transpose(fun_transpose: Callable, ct_tree: Any, linear_tree: Any, linear_args: Any, out_avals: list) -> None:
    what = f"linear_call: the transposed function {_name(fun_transpose)} must return what linear_args is"
    if ct_tree != linear_tree:
        found = next(iter(structure_errors(linear_tree, tree_unflatten(ct_tree, out_avals), exact=True)), None)
        difference = f"linear_args{keystr(found.path)} is {found.prefix}, the result there is {found.full}" if found else \
            f"linear_args is {linear_tree}, the result is {ct_tree}"
        raise TypeError(f"{what}; {difference}. Return one cotangent for each linear argument, in their structure.")
    for (path, x), out in zip(tree_flatten_with_path(linear_args)[0], out_avals):
        aval = get_aval(x)
        if (aval.shape, aval.dtype) != (out.shape, out.dtype):
            raise ValueError(f"{what}; linear_args{keystr(path)} is {aval.str_short()}, the result there is {out.str_short()}. Return "
                             "cotangents of the shapes and dtypes of the linear arguments.")
