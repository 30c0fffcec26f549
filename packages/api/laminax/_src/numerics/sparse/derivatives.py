"""Derivatives with respect to the stored values of sparse arrays: the result is sparse as the argument is."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Sequence

import laminax_transforms as transforms
from laminax_ir.pytrees import pytree

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import is_sparse, with_data
from laminax._src.numerics.sparse.bcoo import BCOO

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef
    from laminax_ir.types.annotations import Array


def value_and_grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """`laminax.value_and_grad` of a function of sparse arrays.

    Args:
      fun: function of arrays, sparse arrays and pytrees of them that returns a scalar.
      argnums: with respect to which arguments.
      has_aux: whether `fun` returns a pair (result, auxiliary data).
      **kwargs: as for `laminax.value_and_grad`.

    Returns:
      A function of the same arguments. The gradient with respect to a sparse array is a sparse array with the same indices: it is
      computed for the stored entries only.
    """
    return _of_values(transforms.value_and_grad, fun, argnums, has_aux, kwargs,
                      lambda result, parts, _tree: (result[0], _as_sparse(parts, result[1])))


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """`laminax.grad` of a function of sparse arrays; see `value_and_grad`.

    Example:
      >>> grad(lambda m: (m @ jnp.ones(3)).sum())(BCOO.fromdense(jnp.eye(3)))
      BCOO(float32[3, 3], nse=3)
    """
    if has_aux:
        return _of_values(transforms.grad, fun, argnums, True, kwargs,
                          lambda result, parts, _tree: (_as_sparse(parts, result[0]), result[1]))
    return _of_values(transforms.grad, fun, argnums, False, kwargs, lambda result, parts, _tree: _as_sparse(parts, result))


def jacfwd(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """`laminax.jacfwd` of a function of sparse arrays; see `jacrev`."""
    return _jacobian(transforms.jacfwd, fun, argnums, has_aux, kwargs)


def jacrev(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Callable:
    """`laminax.jacrev` of a function of sparse arrays.

    Args:
      fun: function of arrays, sparse arrays and pytrees of them.
      argnums: with respect to which arguments.
      has_aux: whether `fun` returns a pair (result, auxiliary data).
      **kwargs: as for `laminax.jacrev`.

    Returns:
      A function of the same arguments. The Jacobian with respect to a sparse array is one whose first batch axes are those of the result.
    """
    return _jacobian(transforms.jacrev, fun, argnums, has_aux, kwargs)


jacobian = jacrev


def _jacobian(transform: Callable, fun: Callable, argnums: Any, has_aux: bool, kwargs: dict[str, Any]) -> Callable:
    def rebuilt(jac: dict[str, Array], parts: BCOO, out_tree: PyTreeDef) -> dict[str, BCOO]:
        return pytree.tree_unflatten(out_tree, [_as_sparse(parts, of_one) for of_one in out_tree.flatten_up_to(jac)])

    if has_aux:
        return _of_values(transform, fun, argnums, True, kwargs, lambda result, parts, tree: (rebuilt(result[0], parts, tree), result[1]))
    return _of_values(transform, fun, argnums, False, kwargs, rebuilt)


def _of_values(transform: Callable, fun: Callable, argnums: int | Sequence[int], has_aux: bool, kwargs: dict[str, Any],
               finish: Callable) -> Callable:
    """The transformation of `fun` as a function of the values of its sparse arguments; `finish` gives its result their indices."""
    @wraps(fun)
    def transformed(*args: Any, **fun_kwargs: Any) -> Any:
        picked = tuple(argnums) if isinstance(argnums, (tuple, list)) else (argnums,)
        if any(not -len(args) <= n < len(args) for n in picked):
            raise TypeError(f"argnums={argnums} must be positions of the {len(args)} positional arguments")
        picked = tuple(n % len(args) for n in picked)
        parts = tuple(args[n] for n in picked)
        parts = parts if isinstance(argnums, (tuple, list)) else parts[0]
        out_tree = None

        def of_values(values: Any) -> Any:
            nonlocal out_tree
            given = pytree.tree_map(lambda x, data: with_data(x, data) if is_sparse(x) else data, parts, values, is_leaf=is_sparse)
            whole = list(args)
            for n, x in zip(picked, given if isinstance(argnums, (tuple, list)) else (given,)):
                whole[n] = x
            result = fun(*whole, **fun_kwargs)
            out_tree = pytree.tree_structure(result[0] if has_aux else result)
            return result

        of_values.__name__ = getattr(fun, "__name__", "fun")
        values = pytree.tree_map(lambda x: x.data if is_sparse(x) else x, parts, is_leaf=is_sparse)
        return finish(transform(of_values, has_aux=has_aux, **kwargs)(values), parts, out_tree)

    return transformed


def _as_sparse(parts: Any, derivatives: Any) -> Any:
    """Derivatives with respect to values, as those with respect to the sparse arrays."""
    return pytree.tree_map(lambda x, d: _with_leading_batch(x, d) if is_sparse(x) else d, parts, derivatives, is_leaf=is_sparse)


def _with_leading_batch(x: Any, data: Any) -> BCOO:
    batch = data.shape[:data.ndim - x.data.ndim]
    if not batch:
        return with_data(x, data)
    if not isinstance(x, BCOO):
        raise NotImplementedError(f"Jacobians with respect to sparse arrays are those of BCOO arrays, got {x!r}. Use to_bcoo.")
    indices = jnp.broadcast_to(x.indices, (*batch, *x.indices.shape))
    return BCOO((data, indices), **x._info._replace(shape=(*batch, *x.shape))._asdict())
