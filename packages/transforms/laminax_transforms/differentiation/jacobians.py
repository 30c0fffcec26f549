"""Jacobians and Hessians: derivatives along the standard basis, all at once by `vmap`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import broadcasted_iota, reshape
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.pytrees.pytree import tree_flatten, tree_map, tree_unflatten
from laminax_ir.pytrees.wrapping import alias, wraps
from laminax_ir.refs.refs import Ref
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_transforms.batching.vectorize import vmap
from laminax_transforms.differentiation.autodiff import jvp, vjp
from laminax_transforms.differentiation.gradients import checked_argnums, chosen_positions, of_chosen_arguments

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef
    from laminax_ir.types.annotations import Array, ArrayLike


def jacfwd(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """Makes a function that computes the Jacobian column by column, in forward mode: best for few inputs.

    Args:
      fun: function of arrays and pytrees of them.
      argnums: which positional arguments to differentiate.
      has_aux: whether `fun` returns a pair (result, auxiliary data).
      holomorphic: whether `fun` is holomorphic; inputs must then be complex.

    Returns:
      A function of the same arguments. For each result of shape `s` and argument of shape `t` it returns an array of shape
      `(*s, *t)`, in a pytree of the result's structure whose leaves have the structure of the argument(s).

    Raises:
      TypeError: for inputs that are not real (or complex, if holomorphic).

    Example:
      >>> jacfwd(lambda x: jnp.array([x[0] * x[1], x[0]]))(jnp.array([2.0, 3.0]))
      Array([[3., 2.],
             [1., 0.]], dtype=float32)
    """
    argnums = checked_argnums("jacfwd", argnums)

    @api_boundary
    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, partial_fun = _split(fun, "jacfwd", argnums, args, kwargs)
        tree_map(lambda x: _check_input("jacfwd", x, holomorphic, complex_message="For non-holomorphic differentiation of "
                                        "complex inputs, use jvp directly."), chosen)
        leaves, tree = tree_flatten(chosen)

        def pushforward(*direction: Any) -> Any:
            tangents = tree_unflatten(tree, direction)
            if has_aux:
                return jvp(partial_fun, chosen, tangents, has_aux=True)
            return jvp(partial_fun, chosen, tangents)

        basis = _standard_basis(leaves)
        out_axes = (None, -1, None) if has_aux else (None, -1)
        outputs = vmap(pushforward, out_axes=out_axes)(*basis)
        result = outputs[0]
        if holomorphic:
            tree_map(lambda y: _check_holomorphic_output("jacfwd", y), result)
        jac = tree_map(lambda y, j: _columns(y, j, leaves, tree, argnums), result, outputs[1])
        return (jac, outputs[2]) if has_aux else jac

    return jacobian


def jacrev(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False,
           allow_int: bool = False) -> Callable:
    """Makes a function that computes the Jacobian row by row, in reverse mode: best for few outputs.

    Arguments and result are those of `jacfwd`; `allow_int` allows integer inputs, with `float0` derivatives.

    Example:
      >>> jacrev(lambda x: jnp.array([x[0] * x[1], x[0]]))(jnp.array([2.0, 3.0]))
      Array([[3., 2.],
             [1., 0.]], dtype=float32)
    """
    argnums = checked_argnums("jacrev", argnums)

    @api_boundary
    @wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, partial_fun = _split(fun, "jacrev", argnums, args, kwargs)
        tree_map(lambda x: _check_input("jacrev", x, holomorphic, allow_int, "For non-holomorphic differentiation of "
                                        "functions with complex inputs, use vjp directly."), chosen)
        if has_aux:
            result, pullback, aux = vjp(partial_fun, *chosen, has_aux=True)
        else:
            result, pullback = vjp(partial_fun, *chosen)
        tree_map(lambda y: _check_rev_output(y, holomorphic), result)
        leaves, out_tree = tree_flatten(result)
        rows = vmap(lambda *ct: pullback(tree_unflatten(out_tree, ct)))(*_standard_basis(leaves))
        if isinstance(argnums, int):
            rows = rows[0]
        row_leaves, row_tree = tree_flatten(rows)
        blocks = []
        start = 0
        for y in leaves:
            size = get_aval(y).size
            blocks.append(tree_unflatten(row_tree, [_rows(r, start, get_aval(y)) for r in row_leaves]))
            start += size
        jac = tree_unflatten(out_tree, blocks)
        return (jac, aux) if has_aux else jac

    return jacobian


jacobian = alias(jacrev, "jacobian")


def hessian(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False) -> Callable:
    """Makes a function that computes the Hessian, forward over reverse. Arguments as for `jacfwd`.

    Returns:
      A function of the same arguments; for a result of shape `s` and arguments of shapes `t` and `u` the block has shape
      `(*s, *t, *u)`.

    Example:
      >>> hessian(lambda x: jnp.sum(x ** 3))(jnp.array([1.0, 2.0]))
      Array([[ 6.,  0.],
             [ 0., 12.]], dtype=float32)
    """
    return jacfwd(jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic), argnums, has_aux=has_aux,
                  holomorphic=holomorphic)


def _split(fun: Callable, transform: str, argnums: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple, Callable]:
    return of_chosen_arguments(fun, chosen_positions(transform, fun, argnums, len(args)), args, kwargs)


def _standard_basis(leaves: list[Any]) -> list[Any]:
    """For each leaf the directions along every coordinate of all leaves, stacked in front."""
    sizes = [get_aval(x).size for x in leaves]
    total = sum(sizes)
    basis, start = [], 0
    for x, size in zip(leaves, sizes):
        aval = get_aval(x)
        if not dtypes.issubdtype(aval.dtype, dtypes.inexact):
            basis.append(np.zeros((total, *aval.shape), dtypes.float0))
        else:
            basis.append(_unit_vectors(total, size, start, aval))
        start += size
    return basis


def _unit_vectors(total: Any, size: Any, start: Any, aval: ShapedArray) -> Array:
    """Zeros of shape [total, *shape] with a one in row `start + i` at the i-th coordinate."""
    if is_constant_shape((total, size, start)) and not dtypes.is_kept_wide(aval.dtype):
        return np.eye(total, size, k=-start, dtype=aval.dtype).reshape(total, *aval.shape)
    rows, columns = (broadcasted_iota(np.int32, (total, size), axis) for axis in (0, 1))
    if type(start) is not int or start:
        rows = elementwise.sub(rows, scalar_like(start, np.dtype(np.int32)))
    ones = convert_element_type_p.bind(elementwise.eq(rows, columns), new_dtype=aval.dtype, weak_type=False)
    return reshape(ones, (total, *aval.shape))


def _rows(stacked: ArrayLike, start: int, aval: ShapedArray) -> Array:
    """The rows (first axis) that belong to one result, in its shape."""
    if stacked.dtype == dtypes.float0:
        return np.zeros((*aval.shape, *stacked.shape[1:]), dtypes.float0)
    part = stacked if stacked.shape[0] == aval.size else slice_in_dim(stacked, start, start + aval.size)
    return part if aval.ndim == 1 else reshape(part, (*aval.shape, *part.shape[1:]))


def _columns(result: ArrayLike, stacked: ArrayLike, leaves: Sequence[ArrayLike], tree: PyTreeDef, argnums: Any) -> Array:
    """Cuts the stacked columns of one result (the last axis) into blocks shaped like the arguments."""
    shape = get_aval(result).shape
    blocks, start = [], 0
    for x in leaves:
        aval = get_aval(x)
        block = stacked if len(leaves) == 1 else slice_in_dim(stacked, start, start + aval.size, axis=-1)
        blocks.append(reshape(block, (*shape, *aval.shape)) if aval.ndim != 1 else block)
        start += aval.size
    blocks = tree_unflatten(tree, blocks)
    return blocks[0] if isinstance(argnums, int) else blocks


def _check_input(transform: str, x: ArrayLike, holomorphic: bool, allow_int: bool = False, complex_message: str = "") -> None:
    if isinstance(x, Ref):
        raise TypeError(f"{transform} cannot differentiate with respect to a Ref, and an argument is one, {x.aval}. Differentiate with "
                        "respect to the array in it, ref[...].")
    if not is_array_like(x):
        raise TypeError(f"{transform}: expected arrays, got {x!r} of type {type(x).__name__}")
    aval = get_aval(x)
    if holomorphic:
        if not dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
            raise TypeError(f"{transform} with holomorphic=True requires inputs with complex dtype, but got {aval.dtype.name}: "
                            f"{aval.str_short()}.")
    elif dtypes.issubdtype(aval.dtype, dtypes.complexfloating) and transform == "jacfwd":
        raise TypeError(f"{transform} requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}: {aval.str_short()}. For holomorphic differentiation, pass holomorphic=True. {complex_message}")
    elif not dtypes.issubdtype(aval.dtype, dtypes.inexact) and not allow_int:
        raise TypeError(f"{transform} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), "
                        f"but got {aval.dtype.name}: {aval.str_short()}. If you want to use Boolean- or integer-valued inputs, use vjp or "
                        "set allow_int to True.")


def _check_rev_output(y: ArrayLike, holomorphic: bool) -> None:
    aval = get_aval(y)
    if holomorphic:
        _check_holomorphic_output("jacrev", y)
    elif not dtypes.issubdtype(aval.dtype, dtypes.floating):
        raise TypeError(f"jacrev requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}: {aval.str_short()}. For holomorphic differentiation, pass holomorphic=True. For "
                        "differentiation of functions with complex or integer outputs, use vjp directly.")


def _check_holomorphic_output(transform: str, y: Any) -> None:
    aval = get_aval(y)
    if not dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
        raise TypeError(f"{transform} with holomorphic=True requires outputs with complex dtype, but got {aval.dtype.name}: "
                        f"{aval.str_short()}.")


__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]
