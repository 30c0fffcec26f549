"""Gradients of functions on pytrees with a scalar result: `grad` and `value_and_grad`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.functions.weak_scalars import shaped, weak_scalar
from laminax_ir.ops.scalar_operands import constant_of
from laminax_ir.ops.shape import full
from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_structure, tree_unflatten
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.refs.refs import Ref
from laminax_ir.tracing.trace import is_tracing
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_callable, function_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import HiType
from laminax_transforms.base.flat_functions import FlatFunction
from laminax_transforms.base.zeros import has_tangents, spread
from laminax_transforms.batching.named_axes import checked_reduce_axes
from laminax_transforms.differentiation.autodiff import cotangent_of_type, summed_over_axes
from laminax_transforms.differentiation.differentiation import linearize_flat

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False,
         allow_int: bool = False, reduce_axes: Sequence = ()) -> Callable:
    """Makes a function that computes the gradient of a scalar function.

    Args:
      fun: function of arrays and pytrees of them whose result is a scalar.
      argnums: which positional arguments to differentiate, one index or a sequence of them.
      has_aux: whether `fun` returns a pair (scalar, auxiliary data).
      holomorphic: whether `fun` is holomorphic; arguments and result must then be complex.
      allow_int: whether integer arguments are allowed; their gradients are zeros of dtype `float0`.
      reduce_axes: names of mapped axes; the gradient of an argument that is shared along one is summed over it, and
        the others stay per example.

    Returns:
      A function of the same arguments that returns the gradient with respect to the argument(s): a pytree
      like the argument, a tuple of them if `argnums` is a sequence; and `(gradient, aux)` with `has_aux`.

    Raises:
      TypeError: if the result is not a scalar, or arguments or result are not of a differentiable dtype.

    Example:
      >>> grad(lambda x: x ** 2)(3.0)
      6.0
    """
    value_and_grad_fun = _value_and_grad("grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @api_boundary
    @wraps(fun)
    def grad_fun(*args: Any, **kwargs: Any) -> Any:
        value, gradient = value_and_grad_fun(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_fun


def value_and_grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False,
                   allow_int: bool = False, reduce_axes: Sequence = ()) -> Callable:
    """Makes a function that computes both a scalar function and its gradient.

    Arguments are those of `grad`.

    Returns:
      A function of the same arguments that returns `(value, gradient)`, and `((value, aux), gradient)` with
      `has_aux`.

    Example:
      >>> value_and_grad(lambda x: x ** 2)(3.0)
      (9.0, 6.0)
    """
    return _value_and_grad("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)


def _value_and_grad(transform: str, fun: Callable, argnums: int | Sequence[int], has_aux: bool, holomorphic: bool, allow_int: bool,
                    reduce_axes: Sequence) -> Callable:
    check_callable(transform, fun)
    argnums = checked_argnums(transform, argnums)
    reduce_axes = checked_reduce_axes(transform, reduce_axes)

    @api_boundary
    @wraps(fun)
    def value_and_grad_fun(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        positions = chosen_positions(transform, fun, argnums, len(args))
        chosen, fun_of_chosen = of_chosen_arguments(fun, positions, args, kwargs)
        flat, in_tree = tree_flatten(chosen)
        in_avals = [_checked_input(transform, chosen, positions, i, x, holomorphic, allow_int)
                    for i, x in enumerate(flat)]

        flat_fun = FlatFunction(fun_of_chosen, in_tree, has_aux)
        mask = [has_tangents(aval) for aval in in_avals]
        results, program = linearize_flat(flat_fun, [shaped(x) for x in flat], mask, f"{transform}({function_name(fun)})",
                                          lambda i: _input_name(chosen, positions, i).removeprefix("argument "))
        _check_scalar_output(transform, fun, results, flat_fun.out_tree, holomorphic)
        seed = _one(get_aval(results[0]))
        cts = summed_over_axes(spread(program.transpose([seed], used_up=True), mask), flat, reduce_axes)
        gradient = tree_unflatten(in_tree, [cotangent_of_type(ct, aval) for ct, aval in zip(cts, in_avals)])
        if isinstance(argnums, int):
            gradient = gradient[0]
        value = results[0]
        return ((value, flat_fun.aux), gradient) if has_aux else (value, gradient)

    return value_and_grad_fun


def _one(aval: ShapedArray) -> Array:
    """The cotangent of the scalar itself; while tracing a literal, which costs no equation."""
    if aval.weak_type:
        return weak_scalar(1, aval.dtype)
    if dtypes.is_kept_wide(aval.dtype):
        return constant_of(np.ones((), aval.dtype))
    return np.dtype(aval.dtype).type(1) if is_tracing() else full((), 1, aval.dtype)


def checked_argnums(transform: str, argnums: Any) -> int | tuple[int, ...]:
    if isinstance(argnums, (list, tuple)) and all(hasattr(i, "__index__") for i in argnums):
        return tuple(i.__index__() for i in argnums)
    if hasattr(argnums, "__index__") and not isinstance(argnums, bool):
        return argnums.__index__()
    raise TypeError(f"{transform}: argnums must be an integer or a tuple or list of integers, got {argnums!r} of type "
                    f"{type(argnums).__name__}")


def chosen_positions(transform: str, fun: Callable, argnums: int | tuple[int, ...], count: int,
                     error: type[Exception] = TypeError) -> tuple[int, ...]:
    """The positions of the differentiated arguments, not negative.

    Args:
      transform: the caller, for messages.
      fun: the function that is differentiated.
      argnums: the positions as the user gave them; negative ones count from the end.
      count: how many positional arguments the call has.
      error: the type of the error for a position that the call does not have.

    Raises:
      TypeError: if a position comes twice.
    """
    positions = (argnums,) if isinstance(argnums, int) else argnums
    for i in positions:
        if not -count <= i < count:
            raise error(f"{transform}({function_name(fun)}): differentiating with respect to argnums={argnums} requires at least "
                        f"{max(i + 1, -i)} positional arguments to be passed by the caller, but got only {count} positional arguments. "
                        "Give the arguments that are differentiated by position.")
    chosen = tuple(i % count for i in positions)
    if len(set(chosen)) < len(chosen):
        raise TypeError(f"{transform}({function_name(fun)}): argnums={argnums} names an argument of {count} twice. Give each position "
                        "once.")
    return chosen


def of_chosen_arguments(fun: Callable, positions: Sequence[int], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple, Callable]:
    """The arguments of a call at some positions, and the function of these alone, which has the other arguments as they are."""
    def fun_of_chosen(*values: Any) -> Any:
        full = list(args)
        for i, value in zip(positions, values):
            full[i] = value
        return fun(*full, **kwargs)

    fun_of_chosen.__name__ = function_name(fun)
    return tuple([args[i] for i in positions]), fun_of_chosen


def _checked_input(transform: str, chosen: tuple[Any, ...], positions: tuple[int, ...], index: int, x: ArrayLike, holomorphic: bool,
                   allow_int: bool) -> ShapedArray:
    if isinstance(x, Ref):
        raise TypeError(f"{transform} cannot differentiate with respect to a Ref, and {_input_name(chosen, positions, index)} is one, "
                        f"{x.aval}. Differentiate with respect to the array in it, or use vjp(...)[1].with_refs(ref).")
    try:
        aval = get_aval(x)
    except TypeError:
        raise TypeError(f"{transform}: {_input_name(chosen, positions, index)}, {x!r} of type {type(x)} is not a valid JAX type. Only "
                        "arrays and pytrees of arrays can be differentiated; choose others with argnums, or convert it.") from None
    if isinstance(aval, HiType):
        return aval
    dtype = aval.dtype
    if dtypes.is_extended(dtype) and not allow_int:
        raise TypeError(f"{transform} requires real- or complex-valued inputs: cannot differentiate with respect to "
                        f"{_input_name(chosen, positions, index)} of dtype {aval.str_short()}")
    if holomorphic:
        if not dtypes.issubdtype(dtype, dtypes.complexfloating):
            raise TypeError(f"{transform} with holomorphic=True requires inputs with complex dtype, but got {dtype.name}: "
                            f"{_input_name(chosen, positions, index)} is {aval.str_short()}")
    elif dtypes.issubdtype(dtype, dtypes.integer) or dtypes.issubdtype(dtype, np.bool_):
        if not allow_int:
            raise TypeError(f"{transform} requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
                            f"np.inexact), but got {dtype.name}: {_input_name(chosen, positions, index)} is {aval.str_short()}. If you "
                            "want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True; or convert it to a float.")
    return aval


def _input_name(chosen: tuple[Any, ...], positions: tuple[int, ...], index: int) -> str:
    path, _ = tree_flatten_with_path(chosen)[0][index]
    return f"argument {positions[path[0].idx]}{keystr(path[1:])}"


def _advice(aval: ShapedArray) -> str:
    one = "Its one element is output.reshape(()) or output[0]. " if aval.size == 1 else ""
    return f"{one}Differentiate a sum, output.sum(), or use jacrev, laminax.jacobian or vmap(grad(...))."


def _check_scalar_output(transform: str, fun: Callable, results: Sequence[ArrayLike], out_tree: Any, holomorphic: bool) -> None:
    if len(results) != 1 or out_tree != tree_structure(0):
        raise TypeError(f"Gradient only defined for scalar-output functions. {transform}({function_name(fun)}): the function "
                        f"returned a {out_tree} instead of one scalar. Use has_aux=True to return more beside the scalar, "
                        "or vjp or jacrev.")
    aval = get_aval(results[0])
    if isinstance(aval, HiType):
        raise TypeError(f"Gradient only defined for scalar-output functions. {transform}({function_name(fun)}): the result is of the type "
                        f"{aval.str_short()}. Make a scalar of it.")
    if aval.shape != ():
        raise TypeError(f"Gradient only defined for scalar-output functions. Output had shape: {aval.shape}. "
                        f"{transform}({function_name(fun)}): the result is {aval.str_short()}. {_advice(aval)}")
    if holomorphic:
        if not dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
            raise TypeError(f"{transform} with holomorphic=True requires outputs with complex dtype, but got {aval.dtype.name}.")
    elif dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
        raise TypeError(f"{transform} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}. For holomorphic differentiation, pass holomorphic=True. For differentiation of "
                        "non-holomorphic functions involving complex outputs, use vjp directly.")
    elif not dtypes.issubdtype(aval.dtype, dtypes.floating):
        raise TypeError(f"{transform} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}. If you want to use integer outputs, use vjp directly.")
