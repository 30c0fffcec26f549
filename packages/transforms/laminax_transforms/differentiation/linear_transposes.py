"""Transposition of functions on pytrees that are linear: `linear_transpose`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Hashable, Sequence

import numpy as np

from laminax_ir.programs.primitive import Trait
from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.tracing import source
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_callable, function_name
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_transforms.base.flat_functions import FlatFunction
from laminax_transforms.base.zeros import ZERO, zero_cotangent
from laminax_transforms.batching.named_axes import checked_reduce_axes
from laminax_transforms.differentiation.autodiff import like_result, summed_over_axes, where_trees_part
from laminax_transforms.differentiation.differentiation import linear_program_of
from laminax_transforms.differentiation.linear import LinearProgram
from laminax_transforms.differentiation.linear_functions import LinearFunction, register_linear_function

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef
    from laminax_ir.types.annotations import Array


@api_boundary
def linear_transpose(fun: Callable, *primals: Any, reduce_axes: Sequence = ()) -> Callable:
    """Transposes a function that is linear in all its arguments.

    Args:
      fun: the linear function.
      *primals: examples of its arguments: arrays or anything with shape and dtype.
      reduce_axes: names of mapped axes; the cotangent of an argument that is shared along one is summed over it.

    Returns:
      A function from a cotangent (a pytree like `fun`'s result) to a tuple of cotangents, one per primal. It is a pytree and
      may be returned from a jitted function.

    Raises:
      TypeError: if the function is not linear in its arguments, if arguments and results are not all floating or complex, or
        all integer; and, by the returned function, if the cotangent does not match the result.

    Example:
      >>> linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
      (6.0,)
    """
    check_callable("linear_transpose", fun)
    reduce_axes = checked_reduce_axes("linear_transpose", reduce_axes)
    flat, in_tree = tree_flatten(primals)
    avals = [_shape_dtype_aval(x) for x in flat]
    flat_fun = FlatFunction(fun, in_tree)
    program = linear_program_of(flat_fun, avals)
    _check_linear_dtypes(fun, [aval.dtype for aval in avals], [aval.dtype for aval in program.out_avals if aval is not None])
    _check_jointly_linear(fun, program)
    likes = [x if is_array_like(x) else np.zeros((), np.float32) for x in flat]  # a bare shape is shared by all examples
    return _TransposedFunction(program, in_tree, flat_fun.out_tree, avals, reduce_axes, likes if reduce_axes else ())


@register_linear_function
class _TransposedFunction(LinearFunction):
    """The transpose that `linear_transpose` returns: a function of the cotangent."""

    __slots__ = ("in_tree", "out_tree", "in_avals", "reduce_axes")

    def __init__(self, program: LinearProgram, in_tree: PyTreeDef, out_tree: PyTreeDef, in_avals: Sequence[ShapedArray],
                 reduce_axes: tuple[Hashable, ...], primals: Sequence[Any]) -> None:
        super().__init__(program, primals)
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.in_avals = in_avals
        self.reduce_axes = reduce_axes

    def __call__(self, cotangent: Any) -> tuple[Array, ...]:
        paths = [keystr(path) for path, _ in tree_flatten_with_path(cotangent)[0]]
        cts, ct_tree = tree_flatten(cotangent)
        if ct_tree != self.out_tree:
            raise TypeError("linear_transpose: cotangent tree does not match: the cotangent must have the structure of the function's "
                            "result; " +
                            where_trees_part(self.out_tree, cotangent, "result", "cotangent"))
        cts = [ct if aval is None else like_result("linear_transpose: cotangent type does not match", path, ct, aval, TypeError)
               for path, ct, aval in zip(paths, cts, self.program.out_avals)]
        in_cts = summed_over_axes(self.program.transpose(cts), self.primals, self.reduce_axes)
        return tree_unflatten(self.in_tree, [zero_cotangent(aval) if ct is ZERO else ct for ct, aval in zip(in_cts, self.in_avals)])


def _check_linear_dtypes(fun: Callable, ins: list, outs: list) -> None:
    """A linear function stays within the floating and complex numbers, or within the integers."""
    if not any(all(dtypes.issubdtype(dtype, kind) for dtype in [*ins, *outs]) for kind in (dtypes.inexact, dtypes.integer)):
        raise TypeError("linear_transpose only supports [float or complex] -> [float or complex], and integer -> integer functions, but "
                        f"{function_name(fun)} is {[str(dtype) for dtype in ins]} -> {[str(dtype) for dtype in outs]}. Convert its "
                        "arguments before, or its results after it.")


def _check_jointly_linear(fun: Callable, program: LinearProgram) -> None:
    """Refuses products of two values that both depend on the arguments: a product is linear in each operand alone, not in both."""
    for eqn in program.eqns:
        if Trait.PRODUCT in eqn.primitive.traits and len(eqn.inputs) > 1:
            where = source.summarize(eqn.source)
            raise TypeError(f"linear_transpose: {function_name(fun)} is not linear: {eqn.primitive}{' at ' + where if where else ''} "
                            "has two operands that depend on the arguments. Use vjp for functions that are not linear.")


def _shape_dtype_aval(x: Any) -> ShapedArray:
    if is_array_like(x):
        return get_aval(x)
    if not (hasattr(x, "shape") and hasattr(x, "dtype")):
        raise TypeError(f"linear_transpose: the examples of arguments must be arrays, or have a shape and a dtype; got {x!r} of type "
                        f"{type(x).__name__}")
    return ShapedArray(x.shape, x.dtype)
