"""`custom_gradient` and `closure_convert`: functions that return their own pullback, and functions without closed-over values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import Any, Callable

from laminax_ir.programs.jaxpr import Jaxpr
from laminax_ir.pytrees.pytree import broadcast_prefix, register_pytree_node, tree_flatten, tree_leaves, tree_unflatten
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import get_aval
from laminax_ir.types.symbolic_zeros import SymbolicZero
from laminax_transforms.base.zeros import has_tangents, zeros_of
from laminax_transforms.custom.accumulators import GradAccum, NullAccum, RefAccum, ValAccum, is_zero
from laminax_transforms.custom.custom_vjp import custom_vjp, split_logs
from laminax_transforms.custom.rule_arguments import custom_vjp_primal_tree_values


def custom_gradient(fun: Callable | None = None, *, with_logs: bool = False, remat: bool = False, with_accums: Any = None) -> Callable:
    """Decorator: the function returns its result and its own pullback.

    Args:
      fun: `fun(*args) -> (result, vjp_fun)`, where `vjp_fun(cotangent)` returns the arguments' cotangents: one, or a
        tuple of as many as there are arguments. May be left out, to give options in a decorator.
      with_logs: whether `vjp_fun` returns a pair of the cotangents and a dictionary of values that it logs, or None; see
        `custom_vjp.defvjp_with_logs`.
      with_accums: `ValAccum` or `RefAccum`, of `experimental.hijax`, or a prefix of the arguments with these as leaves: `vjp_fun(cotangent,
        *accumulators)` adds the cotangents to accumulators of these kinds, one for each leaf of the arguments, and returns None or what it
        logs. Arguments that are not differentiated have a `NullAccum`.
      remat: not supported: pullbacks that recompute.

    Returns:
      A function that returns only the result, with that derivative.

    Raises:
      NotImplementedError: for remat.
      TypeError: for a leaf of with_accums that is neither of these classes.

    Example:
      >>> f = custom_gradient(lambda x: (x ** 2, lambda ct: ct * x))
      >>> grad(f)(3.0)
      Array(3., dtype=float32, weak_type=True)
    """
    if remat:
        raise NotImplementedError(f"custom_gradient: {remat=} is not supported. Wrap what is to be recomputed in checkpoint.")
    if fun is None:
        return partial(custom_gradient, with_logs=with_logs, with_accums=with_accums)

    paired: Callable = fun

    @custom_vjp
    def wrapped(*args: Any) -> Any:
        return paired(*args)[0]

    if with_accums is not None:
        _define_with_accums(wrapped, paired, with_accums)
    else:
        _define_with_cotangents(wrapped, paired, with_logs)
    update_wrapper(wrapped, fun, updated=())
    return wrapped


def _define_with_cotangents(wrapped: custom_vjp, paired: Callable, with_logs: bool) -> None:
    """Gives the function its rules, when its pullback returns the cotangents, and with `with_logs` a pair of these and what it logs."""
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


def _define_with_accums(wrapped: custom_vjp, paired: Callable, with_accums: Any) -> None:
    """Gives the function its rules, when its pullback takes accumulators of the kinds that `with_accums` says."""
    def fwd(*marked: Any) -> tuple[Any, Any]:
        args = custom_vjp_primal_tree_values(marked)
        perturbed = [x.perturbed for x in tree_leaves(marked)]
        values, in_tree = tree_flatten(args)
        kinds = [kind if has else NullAccum for kind, has in zip(_kinds(with_accums, args), perturbed)]
        ct_avals = [get_aval(x).to_ct_aval() for x in values]
        result, rule = paired(*args)
        leaves, out_tree = tree_flatten(result)
        trees: list[Any] = []

        def flat_rule(*cts: Any) -> list[Any]:
            accums = [kind(aval) for kind, aval in zip(kinds, ct_avals)]
            logs = rule(tree_unflatten(out_tree, cts), *tree_unflatten(in_tree, accums))
            found = [None if kind is NullAccum or is_zero(ct := accum.freeze()) else ct for kind, accum in zip(kinds, accums)]
            out, tree = tree_flatten((found, logs))
            trees.append(tree)
            return out

        closed = stage(flat_rule, [get_aval(x).to_ct_aval() for x in leaves], "custom_gradient")
        return result, _Pullback(closed.jaxpr, closed.consts, trees[0], len(args))

    def bwd(pullback: Any, ct: Any, *accums: Any) -> Any:
        cts = [zeros_of(x.aval) if isinstance(x, SymbolicZero) else x for x in tree_leaves(ct)]
        found, logs = tree_unflatten(pullback.out_tree, eval_jaxpr(pullback.jaxpr, pullback.consts, *cts))
        for accum, value in zip(tree_leaves(accums), found):
            accum.accum(value)
        return logs

    wrapped.defvjp_with_accums(fwd, bwd, symbolic_zeros=True)


def _kinds(with_accums: Any, args: tuple) -> list[type[GradAccum]]:
    """The class of the accumulator of each leaf of the arguments.

    Raises:
      TypeError: for a leaf that is no class of accumulators.
    """
    kinds = broadcast_prefix(with_accums, args)
    for kind in kinds:
        if kind not in (ValAccum, RefAccum):
            raise TypeError("custom_gradient's with_accums must be a pytree prefix of the function's arguments with ValAccum or RefAccum "
                            f"leaves, but got a leaf {kind!r:.80}.")
    return kinds


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
    hoisted = [isinstance(c, Tracer) and has_tangents(c.aval) for c in closed.consts]
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
