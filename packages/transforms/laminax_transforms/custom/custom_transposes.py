"""`linear_call` and `custom_transpose`: linear functions with a transpose of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops.calls import close_over_constants
from laminax_ir.ops.linear_call import bind_linear_call
from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import ClosedJaxpr, Var
from laminax_ir.pytrees.pytree import keystr, structure_errors, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import eval_trace, state
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import check_callable, function_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms.base.flat_functions import check_array_leaves
from laminax_transforms.custom.decorated import DecoratedFunction

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef


@api_boundary
def linear_call(fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any) -> Any:
    """Calls a linear function whose transpose is a second given function, and is not derived from the first.

    The two functions are each other's transposes: the transpose of the call is a call of `fun_transpose`, whose transpose is a call of
    `fun`. `fun` is traced here, `fun_transpose` when the call is transposed.

    Args:
      fun: `fun(residuals, x) -> y`, linear in `x`: pytrees of arrays.
      fun_transpose: `fun_transpose(residuals, y_ct) -> x_ct`, linear in `y_ct`.
      residual_args: the arguments on which both functions may depend in any way. Derivatives with respect to them are those of `fun`
        as it is written.
      linear_args: the arguments in which `fun` is linear.

    Returns:
      `fun(residual_args, linear_args)`.

    Raises:
      TypeError: if an argument is not an array. When the call is transposed: if `fun_transpose` returns another structure than
        that of `linear_args`.
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
    signature, residuals, linear = _signature("linear_call", residual_args, linear_args)
    call, out_tree = signature.traced(fun, signature.linear_tree, signature.linear_avals)
    program, consts = close_over_constants(call)
    count = len(consts)

    def transpose(residuals: Sequence[Any], cts: Sequence[Any]) -> Any:
        adjoint, ct_tree = signature.traced(fun_transpose, out_tree, program.out_avals)
        signature.check_transpose(fun_transpose, ct_tree, adjoint.out_avals)

        def back(residuals: Sequence[Any], xs: Any) -> Any:
            return bind_linear_call(program, transpose, residuals, xs, function_name(fun))

        back.__name__ = function_name(fun)
        return bind_linear_call(_with_unused(adjoint, program.in_avals[:count]), back, residuals, cts, function_name(fun_transpose))

    transpose.__name__ = function_name(fun_transpose)
    return tree_unflatten(out_tree, bind_linear_call(program, transpose, [*consts, *residuals], linear, function_name(fun)))


def _with_unused(closed: ClosedJaxpr, avals: list[ShapedArray]) -> ClosedJaxpr:
    """The program with leading parameters that it does not use."""
    jaxpr = closed.jaxpr
    unused = [Var(aval) for aval in avals]
    return closed.replace(jaxpr=jaxpr.replace(invars=[*unused, *jaxpr.invars]))


class custom_transpose(DecoratedFunction):  # noqa: N801  (a decorator)
    """Decorator: gives a linear function a transpose of its own.

    The function and its transpose take residuals, on which they may depend in any way, and arguments in which they are linear. The
    transpose is differentiated and transposed like any function; it may be decorated too, or call the function.

    Args:
      fun: `fun(residuals, x) -> y`, linear in `x`: pytrees of arrays.

    Example:
      >>> @custom_transpose
      ... def divided(by, x):
      ...   return x / by
      >>> divided.def_transpose(lambda by, ct: ct / by)
      >>> f = lambda x: divided(ShapeDtypeStruct((), np.float32), 3.0, x)
      >>> linear_transpose(f, np.float32(1))(np.float32(18))
      (6.0,)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        check_callable("custom_transpose", fun)
        super().__init__(fun)
        self.transpose: Callable[..., Any] | None = None

    def def_transpose(self, transpose: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the transpose, `transpose(residuals, y_ct) -> x_ct`, and returns it."""
        check_callable("def_transpose", transpose)
        self.transpose = transpose
        return transpose

    @api_boundary
    def __call__(self, out_types: Any, res_arg: Any, lin_arg: Any) -> Any:
        """Calls the function.

        Args:
          out_types: a pytree of objects with the shape and dtype of each result.
          res_arg: the residuals.
          lin_arg: the arguments in which the function is linear.

        Raises:
          AttributeError: if it has no transpose.
          TypeError: if an argument is not an array, or the result is not of the given types. When the call is transposed: if the
            transpose returns another structure than that of `lin_arg`.
          ValueError: if the transpose returns other shapes or dtypes.
        """
        fun, transpose_of = self.fun, self.transpose
        if transpose_of is None:
            raise AttributeError(f"No transpose defined for custom_transpose function {function_name(fun)} using def_transpose.")
        signature, residuals, linear = _signature("custom_transpose", res_arg, lin_arg)
        call, out_tree = signature.traced(fun, signature.linear_tree, signature.linear_avals)
        _check_out_types(fun, out_types, out_tree, call.out_avals)

        def transpose(residuals: Sequence[Any], cts: Sequence[Any]) -> Any:
            args: tuple[Any, ...] = tree_unflatten(signature.residual_tree, residuals), tree_unflatten(out_tree, cts)
            if isinstance(transpose_of, custom_transpose):
                args = (tree_unflatten(signature.linear_tree, signature.linear_avals), *args)
            result = transpose_of(*args)
            check_array_leaves(f"custom_transpose: the result of {function_name(transpose_of)}", result)
            leaves, ct_tree = tree_flatten(result)
            signature.check_transpose(transpose_of, ct_tree, [get_aval(x) for x in leaves])
            return leaves

        transpose.__name__ = function_name(transpose_of)
        return tree_unflatten(out_tree, bind_linear_call(call, transpose, residuals, linear, function_name(fun)))


def _check_out_types(fun: Callable[..., Any], out_types: Any, out_tree: PyTreeDef, avals: list[ShapedArray]) -> None:
    types, type_tree = tree_flatten(out_types)
    if type_tree != out_tree or any((t.shape, t.dtype) != (aval.shape, aval.dtype) for t, aval in zip(types, avals)):
        said, found = (tree_unflatten(tree, [ShapedArray(t.shape, t.dtype).str_short() for t in some])
                       for tree, some in ((type_tree, types), (out_tree, avals)))
        raise TypeError(f"custom_transpose function {function_name(fun)}: out_types says that the result is {said}, but it is {found}. "
                        "Give the types of the result.")


def _signature(caller: str, residual_args: Any, linear_args: Any) -> tuple[_Signature, list[Any], list[Any]]:
    """The types and structures of the arguments, for the transpose, which does not keep the arguments; and the arguments as lists."""
    check_array_leaves(f"{caller}: residual_args", residual_args)
    check_array_leaves(f"{caller}: linear_args", linear_args)
    residuals, residual_tree = tree_flatten(residual_args)
    linear, linear_tree = tree_flatten(linear_args)
    signature = _Signature(caller, residual_tree, linear_tree, [get_aval(x) for x in residuals], [get_aval(x) for x in linear],
                           [path for path, _ in tree_flatten_with_path(linear_args)[0]])
    return signature, residuals, linear


class _Signature(Record):
    """The structures and types of a call's arguments.

    caller: the function that the user called, for messages.
    residual_tree, linear_tree: the structures of the residuals and of the linear arguments.
    residual_avals, linear_avals: the types of their leaves.
    paths: the path of each leaf of the linear arguments.
    """
    caller: str
    residual_tree: Any
    linear_tree: Any
    residual_avals: list[ShapedArray]
    linear_avals: list[ShapedArray]
    paths: list[Any]

    def traced(self, function: Callable[..., Any], tree: Any, avals: list[ShapedArray]) -> tuple[ClosedJaxpr, Any]:
        """The program `(*residuals, *others) -> results` for a function of the residuals and a pytree of others."""
        trees: list[Any] = []

        def flat(*args: Any) -> Any:
            count = len(self.residual_avals)
            result = function(tree_unflatten(self.residual_tree, args[:count]), tree_unflatten(tree, args[count:]))
            leaves, out_tree = tree_flatten(result)
            check_array_leaves(f"{self.caller}: the result of {function_name(function)}", result)
            trees.append(out_tree)
            return leaves

        return stage(flat, [*self.residual_avals, *avals], function_name(function)), trees[0]

    def check_transpose(self, fun_transpose: Callable[..., Any], ct_tree: Any, out_avals: list[ShapedArray]) -> None:
        what = (f"{self.caller}: the transpose output pytree must be that of the linear arguments; the transposed function "
                f"{function_name(fun_transpose)}")
        if ct_tree != self.linear_tree:
            example = tree_unflatten(ct_tree, out_avals)
            found = next(iter(structure_errors(self.linear_tree, example, exact=True)), None)
            where, result, wanted = (keystr(found.path), found.full, found.prefix) if found else ("", ct_tree, self.linear_tree)
            raise TypeError(f"{what} returns a result that{where and f' at {where}'} is {result}, linear_args{where} is {wanted}. Return "
                            "one cotangent for each linear argument, in their structure.")
        for path, aval, out in zip(self.paths, self.linear_avals, out_avals):
            if (aval.shape, aval.dtype) != (out.shape, out.dtype):
                raise ValueError(f"{what} returns {out.str_short()} for linear_args{keystr(path)}, which is {aval.str_short()}. Return "
                                 "cotangents of the shapes and dtypes of the linear arguments.")
