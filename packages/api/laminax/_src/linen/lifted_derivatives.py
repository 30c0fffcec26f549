"""Lifted derivatives: `grad`, `value_and_grad`, `vjp`, `jvp` and `custom_vjp` of functions of modules.

The variables of some collections are differentiated: they are an argument of the pure function that is transformed. All others are
values that it closes over, and what it writes is auxiliary data.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, Sequence

from laminax_ir.pytrees.pytree import Partial, tree_leaves
from laminax_transforms import custom_vjp as plain_custom_vjp
from laminax_transforms import jvp as plain_jvp
from laminax_transforms import vjp as plain_vjp

from laminax._src.linen.filters import Filter
from laminax._src.linen.lifting import Border, Keys
from laminax._src.linen.module_calls import ModuleCall
from laminax._src.numerics.numpy import namespace as jnp


def vjp(
    fn: Callable[..., Any], mdl: Any, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = (),
    vjp_variables: Filter = "params", variables: Filter = True, rngs: Filter = True, multi_scope: bool = False,
) -> Any:
    """Lifted version of `laminax.vjp`: the result of a function of a module, and a function from its cotangent to those of the arguments.

    Args:
      fn: `fn(mdl, *primals)`.
      mdl: the module.
      *primals: the other arguments.
      has_aux: whether fn returns a pair of its result and of something that is not differentiated.
      reduce_axes: as for `laminax.vjp`.
      vjp_variables: the collections that are differentiated.
      variables: the collections that are lifted.
      rngs: the streams of random keys that are lifted.
      multi_scope: whether there may be several modules, none of which is another's submodule: then the first cotangent is a tuple, with
        an item for each.

    Returns:
      A pair, or with `has_aux` a triple, of the result, a function that takes its cotangent and returns those of the variables,
      `{collection: tree}`, and of the primals, and the auxiliary data.

    Example:
      >>> y, backward = nn.vjp(lambda dense, x: dense(x), nn.Dense(3), x)    # doctest: +SKIP
      >>> variables_ct, x_ct = backward(y_ct)                                # doctest: +SKIP
    """
    call = ModuleCall.of(fn, mdl, primals)
    border = Border(call.scopes, (vjp_variables, variables), (vjp_variables, variables), (rngs,), "vjp")
    (chosen, rest), keys = border.take()

    def pure(chosen: Any, *args: Any) -> Any:
        inner = border.open((chosen, rest), keys)
        result = call(inner, *args)
        result, aux = result if has_aux else (result, None)
        return result, (aux, border.close(inner))

    result, backward, (aux, written) = plain_vjp(pure, chosen, *call.args, has_aux=True, reduce_axes=reduce_axes)
    border.put(written)
    if not multi_scope:
        if len(chosen) > 1:
            raise ValueError(f"vjp: there are {len(chosen)} modules none of which is a submodule of another. Pass multi_scope=True.")
        backward = Partial(_of_one_module, backward)
    return (result, backward, aux) if has_aux else (result, backward)


def _of_one_module(backward: Callable[[Any], Any], cotangent: Any) -> tuple[Any, ...]:
    (variables,), *primals = backward(cotangent)
    return (variables, *primals)


def value_and_grad(
    fn: Callable[..., Any], mdl: Any, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = (), variables: Filter = True,
    rngs: Filter = True,
) -> Any:
    """Lifted version of `laminax.value_and_grad`: the value of a function of a module, and its gradients by the other arguments.

    Variables are not differentiated; `vjp` does that.

    Args:
      fn: `fn(mdl, *primals)`, a scalar.
      mdl: the module.
      *primals: the other arguments.
      has_aux: whether fn returns a pair of its value and of something that is not differentiated.
      reduce_axes: as for `laminax.vjp`.
      variables: the collections that are lifted.
      rngs: the streams of random keys that are lifted.

    Returns:
      The value, or with `has_aux` a pair of it and the auxiliary data, and a tuple of the gradients.
    """
    result = vjp(fn, mdl, *primals, has_aux=has_aux, reduce_axes=reduce_axes, vjp_variables=False, variables=variables, rngs=rngs,
                 multi_scope=True)
    value, backward = result[:2]
    if jnp.shape(value) != ():
        raise TypeError(f"grad: the function returns a scalar, got the shape {jnp.shape(value)}. Sum it up, or use vjp.")
    _, *gradients = backward(jnp.ones_like(value))
    return (value, result[2]) if has_aux else value, tuple(gradients)


def grad(
    fn: Callable[..., Any], mdl: Any, *primals: Any, has_aux: bool = False, reduce_axes: Sequence[Any] = (), variables: Filter = True,
    rngs: Filter = True,
) -> Any:
    """Lifted version of `laminax.grad`: the gradients of a function of a module by the other arguments, a tuple of them.

    The arguments are those of `value_and_grad`.

    Returns:
      The gradients; with `has_aux` a pair of them and the auxiliary data.
    """
    value, gradients = value_and_grad(fn, mdl, *primals, has_aux=has_aux, reduce_axes=reduce_axes, variables=variables, rngs=rngs)
    return (gradients, value[1]) if has_aux else gradients


def jvp(
    fn: Callable[..., Any], mdl: Any, primals: Sequence[Any], tangents: Sequence[Any], variable_tangents: Mapping[str, Any],
    variables: Filter = True, rngs: Filter = True,
) -> tuple[Any, Any]:
    """Lifted version of `laminax.jvp`: the result of a function of a module, and its tangent.

    Args:
      fn: `fn(mdl, *primals)`.
      mdl: the module.
      primals: the other arguments.
      tangents: their tangents.
      variable_tangents: those of variables, `{"params": {...}}`; collections that are not there have none.
      variables: the collections that are lifted.
      rngs: the streams of random keys that are lifted.
    """
    directions = {name: tree for name, tree in variable_tangents.items() if tree_leaves(tree)}
    call = ModuleCall.of(fn, mdl, primals)
    border = Border(call.scopes, (tuple(directions), variables), (variables,), (rngs,), "jvp")
    (chosen, rest), keys = border.take()
    if len(chosen) > 1 and directions:
        raise ValueError(f"jvp: there are {len(chosen)} modules none of which is a submodule of another; variable_tangents are for one.")

    def pure(chosen: Any, *args: Any) -> Any:
        inner = border.open((chosen, rest), keys)
        return call(inner, *args), border.close(inner)

    direction = (directions,) if directions else chosen
    result, tangent, written = plain_jvp(pure, (chosen, *call.args), (direction, *tangents), has_aux=True)
    border.put(written)
    return result, tangent


def custom_vjp(
    fn: Callable[..., Any], forward_fn: Callable[..., Any], backward_fn: Callable[..., Any], grad_vars: Filter = "params",
    nondiff_argnums: Sequence[int] = (),
) -> Callable[..., Any]:
    """Lifted version of `laminax.custom_vjp`: a function of a module with a reverse rule of its own.

    Args:
      fn: `fn(mdl, *args)`.
      forward_fn: `forward_fn(mdl, *args)`, a pair of fn's result and of what the backward rule needs; often `nn.vjp(fn, mdl, *args)`.
      backward_fn: takes the arguments of `nondiff_argnums`, what `forward_fn` left, and the cotangent of the result; returns the
        cotangents of the variables of `grad_vars`, `{"params": {...}}`, and of the other arguments.
      grad_vars: the collections that are differentiated.
      nondiff_argnums: positions of arguments that are not; the module's is 0.

    Returns:
      A function like fn.
    """
    fixed = tuple(position + 2 for position in nondiff_argnums)

    @functools.wraps(fn)
    def differentiable(mdl: Any, *args: Any) -> Any:
        call, forward_call = ModuleCall.of(fn, mdl, args), ModuleCall.of(forward_fn, mdl, args)
        border = Border(call.scopes, (grad_vars, True), (grad_vars, True), (True,), "custom_vjp")
        (chosen, rest), keys = border.take()

        def pure(chosen: Any, rest: Any, keys: Keys, *args: Any) -> Any:
            inner = border.open((chosen, rest), keys)
            return call(inner, *args), border.close(inner)

        def forward(chosen: Any, rest: Any, keys: Keys, *args: Any) -> Any:
            inner = border.open((chosen, rest), keys)
            result, left = forward_call(inner, *args)
            return (result, border.close(inner)), left

        def backward(*given: Any) -> Any:
            *given_before, left, (cotangent, _written) = given
            variables, *others = backward_fn(*given_before, left, cotangent)
            return (variables if len(chosen) > 1 else (variables,), None, None, *others)

        rule = plain_custom_vjp(pure, nondiff_argnums=fixed)
        rule.defvjp(forward, backward)
        result, written = rule(chosen, rest, keys, *call.args)
        border.put(written)
        return result

    return differentiable


