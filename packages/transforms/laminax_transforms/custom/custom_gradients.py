"""`custom_gradient` and `closure_convert`: functions that return their own pullback, and functions without closed-over values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, Callable

from laminax_ir.programs.jaxpr import Jaxpr
from laminax_ir.pytrees.pytree import register_pytree_node, tree_flatten, tree_unflatten
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import get_aval
from laminax_transforms.custom.custom_derivatives import custom_vjp, split_logs


def custom_gradient(fun: Callable | None = None, *, with_logs: bool = False, remat: bool = False, with_accums: Any = None) -> Callable:
    """Decorator: the function returns its result and its own pullback.

    Args:
      fun: `fun(*args) -> (result, vjp_fun)`, where `vjp_fun(cotangent)` returns the arguments' cotangents: one, or a
        tuple of as many as there are arguments. May be left out, to give options in a decorator.
      with_logs: whether `vjp_fun` returns a pair of the cotangents and a dictionary of values that it logs, or None; see
        `custom_vjp.defvjp_with_logs`.
      remat, with_accums: not supported: pullbacks that recompute, or take accumulators.

    Returns:
      A function that returns only the result, with that derivative.

    Raises:
      NotImplementedError: for remat or with_accums.

    Example:
      >>> f = custom_gradient(lambda x: (x ** 2, lambda ct: ct * x))
      >>> grad(f)(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    for name, given, instead in (("remat", remat, "Wrap what is to be recomputed in checkpoint"),
                                 ("with_accums", with_accums, "Add gradients to references with vjp(...)[1].with_refs")):
        if given:
            raise NotImplementedError(f"custom_gradient: {name}={given!r} is not supported. {instead}.")
    if fun is None:
        return partial(custom_gradient, with_logs=with_logs)

    paired: Callable = fun

    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return paired(*args)[0]

    def fwd(*args: Any) -> tuple[Any, Any]:
        result, rule = paired(*args)
        leaves, out_tree = tree_flatten(result)
        trees: list[Any] = []

        def flat_rule(*cts: Any) -> Any:
            in_cts = rule(tree_unflatten(out_tree, cts))
            if with_logs:
                in_cts = split_logs("the function that", function_name(paired), "custom_gradient(with_logs=True)", in_cts)
            out, tree = tree_flatten(in_cts)
            trees.append(tree)
            return out

        closed = stage(flat_rule, [get_aval(x).to_tangent_aval() for x in leaves], "custom_gradient")
        return result, _Pullback(closed.jaxpr, closed.consts, trees[0], len(args))

    def bwd(pullback: Any, ct: Any) -> Any:
        out = tree_unflatten(pullback.out_tree, eval_jaxpr(pullback.jaxpr, pullback.consts, *tree_flatten(ct)[0]))
        if with_logs:
            return as_tuple(pullback, out[0]), out[1]
        return as_tuple(pullback, out)

    def as_tuple(pullback: Any, out: Any) -> tuple[Any, ...]:
        return (out,) if pullback.num_args == 1 and not (isinstance(out, tuple) and len(out) == 1) else tuple(out)

    (wrapped.defvjp_with_logs if with_logs else wrapped.defvjp)(fwd, bwd)
    update_wrapper(wrapped, fun, updated=())
    return wrapped


@dataclass
class _Pullback:
    """A staged pullback as a pytree of its constants, so that it can be a residual."""
    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: Any
    num_args: int


register_pytree_node(_Pullback, lambda p: (p.consts, (p.jaxpr, p.out_tree, p.num_args)),
                     lambda static, consts: _Pullback(static[0], list(consts), *static[1:]))


def closure_convert(fun: Callable, *example_args: Any) -> tuple[Callable, list[Any]]:
    """Turns the traced values that a function closes over into explicit arguments.

    Args:
      fun: the function; it is traced here, once.
      *example_args: arrays like its arguments.

    Returns:
      `(converted, consts)`: `converted(*args, *consts)` computes what `fun(*args)` does; `consts` lists the differentiable
      values that were closed over.

    Example:
      >>> scale = jnp.float32(2)
      >>> g, consts = closure_convert(lambda x: x * scale, 3.0)
      >>> g(3.0, *consts)
      Array(6., dtype=float32)
    """
    leaves, in_tree = tree_flatten(example_args)
    trees: list[Any] = []

    def flat_fun(*args: Any) -> Any:
        out, tree = tree_flatten(fun(*tree_unflatten(in_tree, args)))
        trees.append(tree)
        return out

    closed = stage(flat_fun, [get_aval(x) for x in leaves], function_name(fun))
    hoisted = [isinstance(c, Tracer) and dtypes.issubdtype(c.dtype, dtypes.inexact) for c in closed.consts]
    consts = [c for c, h in zip(closed.consts, hoisted) if h]

    def converted(*args: Any) -> Any:
        split = len(args) - len(consts)
        given, hoisted_values = args[:split], iter(args[split:])
        flat, tree = tree_flatten(tuple(given))
        if not tree == in_tree:
            raise TypeError("The inputs to the closure produced by closure_convert must have the structure of the example arguments, "
                            f"{in_tree}, and be followed by the {len(consts)} values that it closed over; got {tree}")
        values = [next(hoisted_values) if h else c for c, h in zip(closed.consts, hoisted)]
        return tree_unflatten(trees[0], eval_jaxpr(closed.jaxpr, values, *flat))

    return converted, consts
