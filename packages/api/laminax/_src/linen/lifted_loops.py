"""Lifted control flow: `scan`, `while_loop`, `cond`, `switch` and `remat_scan` of functions of modules."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from laminax_ir.ops.control_flow import cond as plain_cond
from laminax_ir.ops.control_flow import switch as plain_switch
from laminax_ir.ops.loops import scan as plain_scan
from laminax_ir.ops.loops import while_loop as plain_while_loop
from laminax_ir.pytrees.pytree import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

from laminax._src.linen import metadata
from laminax._src.linen.filters import Filter
from laminax._src.linen.independent import Dependent, without_arguments
from laminax._src.linen.lifted_calls import remat
from laminax._src.linen.lifting import Border, Groups, axes_in_and_out, keys_of_step, split_keys
from laminax._src.linen.module_calls import ModuleCall, lift
from laminax._src.numerics.numpy import namespace as jnp


class Broadcast:
    """The type of `broadcast`."""

    def __repr__(self) -> str:
        return "broadcast"

    def __reduce__(self) -> str:
        return "broadcast"


broadcast = Broadcast()  # the axis of an argument that all steps share


def scan(
    target: Any, variable_axes: Mapping[Filter, Any] = {}, variable_broadcast: Filter = False, variable_carry: Filter = False,
    split_rngs: Mapping[Filter, bool] = {}, in_axes: Any = 0, out_axes: Any = 0, length: int | None = None, reverse: bool = False,
    unroll: int = 1, data_transform: Callable[..., Any] | None = None, metadata_params: Mapping[Any, Any] = {}, methods: Any = None,
    _split_transpose: bool = False, check_constancy_invariants: bool = True,
) -> Any:
    """Lifted version of `laminax.lax.scan`: a method `(carry, *xs) -> (carry, ys)`, applied along an axis of xs.

    Args:
      target: a class of modules, or a function whose first argument is a module.
      variable_axes: for each filter of collections the axis along which its variables are stacked, one for each step; `In(axis)` and
        `Out(axis)` where they only go in or come out.
      variable_broadcast: the collections that all steps share. They may be initialized within, by what does not depend on the step.
      variable_carry: the collections that each step hands to the next. They must be there before.
      split_rngs: for each filter of streams whether each step has keys of its own.
      in_axes: the axes of xs, a tree prefix of them; `broadcast` for what all steps share.
      out_axes: those of ys; `broadcast` for what is the same after each step.
      length: the number of steps; by default the size of the axes.
      reverse: whether to go backwards.
      unroll: how many steps make one of the loop's.
      data_transform: a function of the variables and keys of a step, which returns them, for annotations.
      metadata_params: what boxes of variables are told of the axis.
      methods: of a class, the methods that are transformed: a name or several, or a dict of names and options for each.
      check_constancy_invariants: whether shared variables may be initialized; if not, the function is traced once less.

    Returns:
      A class or function like the target, which returns the last carry and ys.

    Example:
      >>> Cells = nn.scan(nn.LSTMCell, variable_broadcast="params", split_rngs={"params": False}, in_axes=1, out_axes=1)  # doctest: +SKIP
    """
    axes_in, axes_out = axes_in_and_out(variable_axes)
    splits = tuple(split_rngs.values())

    def transform(call: ModuleCall) -> Any:
        border = Border(call.scopes, (variable_broadcast, variable_carry, *axes_in), (variable_broadcast, variable_carry, *axes_out),
                        tuple(split_rngs), "scan")
        (shared, carried, *stacked), keys = border.take()
        if not call.args:
            raise TypeError("scan: the function takes a carry, which was not given.")
        if call.kwargs:
            raise TypeError(f"scan: takes arguments by position, got {sorted(call.kwargs)} by name.")
        init, *xs = call.args
        stacked = list(metadata.without_axes(stacked, axes_in.values(), metadata_params))
        axes = (_argument_axes(in_axes, len(xs)), tuple(axes_in.values()))
        steps = length if length is not None else _steps(axes, (tuple(xs), tuple(stacked)))
        moving, rest = _separate(axes, (tuple(xs), tuple(stacked)))
        own_keys = tuple(group if split else () for group, split in zip(split_keys(keys, splits, steps), splits))

        def one(shared: Any, carry: Any, here: Any) -> tuple[Any, Any, Any]:
            """One step: the shared variables as they are after it, the carry, and what it leaves behind."""
            parts, drawn = here
            args, slices = rest(parts)
            step_keys = tuple(mine if split else group for group, mine, split in zip(keys, drawn, splits))
            groups: Groups = (shared, carry[0], *slices)
            if data_transform is not None:
                groups, step_keys = data_transform(groups, step_keys)
            inner = border.open(groups, step_keys)
            result = call(inner, carry[1], *args)
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"scan: the function returns a pair of the carry and the outputs of a step, got {type(result).__name__}.")
            shared_out, carried_out, *left = border.close(inner)
            carried_out = tuple({**old, **new} for old, new in zip(carry[0], carried_out))
            return shared_out, (carried_out, result[0]), (result[1], tuple(left))

        if check_constancy_invariants:
            shared_out = _shared_by_all_steps(lambda carry, here: one(shared, carry, here)[0], (carried, init), (moving, own_keys))
            shared = tuple({**old, **new} for old, new in zip(shared, shared_out))
        else:
            shared_out = ()
        results_of_steps = _Results((out_axes, tuple(axes_out.values())))

        def body(carry: Any, here: Any) -> tuple[Any, Any]:
            _, carry, results = one(shared, carry, here)
            return carry, results_of_steps.flat(results)

        (carried_out, carry), results = plain_scan(
            body, (carried, init), (moving, own_keys), length=steps, reverse=reverse, unroll=unroll, _split_transpose=_split_transpose)
        ys, left = results_of_steps.whole(results)
        border.put((shared_out, carried_out, *metadata.with_axes(left, axes_out.values(), metadata_params)))
        return carry, ys

    return lift(target, lambda _: transform, "Scan", methods, scan)


def _argument_axes(in_axes: Any, count: int) -> tuple[Any, ...]:
    return tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * count


def _flat_axes(axes: Any, tree: Any) -> list[Any]:
    """The axis of each leaf; `broadcast` where it has none."""
    return [broadcast if axis is None else axis for axis in broadcast_prefix(axes, tree, is_leaf=lambda x: x is None)]


def _steps(axes: Any, trees: Any) -> int:
    """The number of steps.

    Raises:
      ValueError: nothing is scanned, or the sizes are not equal.
    """
    sizes = {np.shape(leaf)[axis] for axis, leaf in zip(_flat_axes(axes, trees), tree_leaves(trees)) if axis is not broadcast}
    if len(sizes) != 1:
        raise ValueError("scan: length should be specified manually, since nothing is scanned over." if not sizes else
                         f"scan: the scanned axes have different sizes, {sorted(sizes)}. Give all arguments and variables as many steps.")
    return sizes.pop()


def _separate(axes: Any, trees: Any) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """The leaves that are scanned, with their axes in front, and what puts a step's slices of them together with all others."""
    leaves, treedef = tree_flatten(trees)
    flat = _flat_axes(axes, trees)
    for leaf, axis in zip(leaves, flat):
        if axis is not broadcast and not -np.ndim(leaf) <= axis < np.ndim(leaf):
            raise ValueError(f"scan: a value of shape {np.shape(leaf)} has no axis {axis} to scan over. It is an argument (in_axes), or a "
                             "variable (variable_axes) that the module had before: scan a submodule, whose variables are all stacked.")
    moving = [jnp.moveaxis(leaf, axis, 0) for leaf, axis in zip(leaves, flat) if axis is not broadcast]

    def whole(slices: Sequence[Any]) -> Any:
        following = iter(slices)
        return tree_unflatten(treedef, [leaf if axis is broadcast else next(following) for leaf, axis in zip(leaves, flat)])

    return moving, whole


class _Results:
    """The results of the steps: what they are, and where their new axes belong, is known once a step was traced."""

    def __init__(self, axes: Any) -> None:
        self.axes = axes
        self.axis_of_leaf: list[Any] = []
        self.treedef: Any = None

    def flat(self, results: Any) -> list[Any]:
        """The leaves of what a step returns, for the loop to stack."""
        leaves, self.treedef = tree_flatten(results)
        self.axis_of_leaf = _flat_axes(self.axes, results)
        return leaves

    def whole(self, stacked: Sequence[Any]) -> Any:
        """All results, with the axes where they belong; of those that are the same after each step the last one."""
        return tree_unflatten(self.treedef, [
            leaf[-1] if axis is broadcast else jnp.moveaxis(leaf, 0, axis) for leaf, axis in zip(stacked, self.axis_of_leaf)])


def _shared_by_all_steps(function: Callable[..., Any], carry: Any, here: Any) -> Any:
    """The shared variables after a step, which may depend on none.

    Args:
      function: the shared variables after a step, of the carry and of what the step gets.
      carry: the first carry.
      here: what all steps get, stacked.

    Raises:
      ValueError: they do.
    """
    step = tree_map(lambda x: ShapeDtypeStruct(x.shape[1:], x.dtype), here)
    try:
        return without_arguments(function, carry, step)
    except Dependent as error:
        raise ValueError(f"scan: a broadcasted variable has a data dependency on the scan body: it {error}. Shared variables may be "
                         "initialized within, with keys that are not split, and not be changed.") from None


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], mdl: Any, init: Any, carry_variables: Filter = False,
    broadcast_variables: Filter = True, split_rngs: Mapping[Filter, bool] = {},
) -> Any:
    """Lifted version of `laminax.lax.while_loop`, of functions of a module and of the carry.

    Args:
      cond_fn: `cond_fn(mdl, carry)`, whether to go on; it cannot change variables.
      body_fn: `body_fn(mdl, carry)`, the next carry.
      mdl: the module.
      init: the first carry.
      carry_variables: the collections that the body may change; they must be there before.
      broadcast_variables: the collections that both only read.
      split_rngs: for each filter of streams whether each step has keys of its own.

    Returns:
      The last carry.
    """
    splits = tuple(split_rngs.values())
    condition, body = ModuleCall.of(cond_fn, mdl, (init,)), ModuleCall.of(body_fn, mdl, (init,))
    border = Border(body.scopes, (carry_variables, broadcast_variables), (carry_variables, False), tuple(split_rngs), "while_loop")
    (carried, shared), keys = border.take()

    def goes_on(state: Any) -> Any:
        step, carried, carry = state
        inner = border.open((carried, shared), keys_of_step(keys, splits, step), mutable=False)
        result = condition(inner, carry)
        border.close(inner)
        return result

    def following(state: Any) -> Any:
        step, carried, carry = state
        inner = border.open((carried, shared), keys_of_step(keys, splits, step))
        carry = body(inner, carry)
        changed, _ = border.close(inner)
        return step + 1, tuple({**old, **new} for old, new in zip(carried, changed)), carry

    _, carried, carry = plain_while_loop(goes_on, following, (jnp.zeros((), jnp.uint32), carried, init))
    border.put((carried,))
    return carry


def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], mdl: Any, *operands: Any, variables: Filter = True,
    rngs: Filter = True,
) -> Any:
    """Lifted version of `laminax.lax.cond`: one of two functions of a module, chosen by a scalar that may be traced.

    Both must leave the same variables behind; initialize those that only one of them uses before.

    Args:
      pred: a bool.
      true_fun: `true_fun(mdl, *operands)`.
      false_fun: likewise.
      mdl: the module.
      *operands: arguments.
      variables: the collections that are lifted.
      rngs: the streams of random keys that are lifted.
    """
    branches = (true_fun, false_fun)
    return _chosen(lambda branches, *args: plain_cond(pred, *branches, *args), "cond", branches, mdl, operands, variables, rngs)


def switch(
    index: Any, branches: Sequence[Callable[..., Any]], mdl: Any, *operands: Any, variables: Filter = True, rngs: Filter = True
) -> Any:
    """Lifted version of `laminax.lax.switch`: one of several functions of a module, chosen by an integer that may be traced.

    All must leave the same variables behind; initialize those that only some of them use before.

    Args:
      index: an integer.
      branches: `branch(mdl, *operands)`.
      mdl: the module.
      *operands: arguments.
      variables: the collections that are lifted.
      rngs: the streams of random keys that are lifted.
    """
    return _chosen(lambda branches, *args: plain_switch(index, branches, *args), "switch", branches, mdl, operands, variables, rngs)


def _chosen(choose: Callable[..., Any], name: str, branches: Sequence[Callable[..., Any]], mdl: Any, operands: Sequence[Any],
            variables: Filter, rngs: Filter) -> Any:
    calls = [ModuleCall.of(branch, mdl, operands) for branch in branches]
    border = Border(calls[0].scopes, (variables,), (variables,), (rngs,), name)
    groups, keys = border.take()

    def pure(call: ModuleCall) -> Callable[..., Any]:
        def branch(groups: Groups, *args: Any) -> Any:
            inner = border.open(groups, keys)
            return call(inner, *args), border.close(inner)
        return branch

    result, written = choose([pure(call) for call in calls], groups, *calls[0].args)
    border.put(written)
    return result


def remat_scan(
    target: Any, lengths: Sequence[int] | None = (), policy: Callable[..., bool] | None = None, variable_broadcast: Filter = False,
    variable_carry: Filter = False, variable_axes: Mapping[Filter, Any] = {True: 0}, split_rngs: Mapping[Filter, bool] = {True: True},
) -> Any:
    """A module applied many times in nested loops, of which only the borders of steps are kept for derivatives.

    For n steps in d nested loops of equal lengths that takes memory for the d-th root of n steps.

    Args:
      target: a class of modules, or a function of a module, from a carry to the next.
      lengths: the lengths of the loops, the outermost first.
      policy: which values are kept after all, see `laminax.checkpoint_policies`.
      variable_broadcast: as for `scan`.
      variable_carry: likewise.
      variable_axes: likewise.
      split_rngs: likewise.

    Returns:
      A class or function like the target.
    """
    lengths = tuple(lengths or ())
    if not lengths:
        raise ValueError("remat_scan: lengths must have at least one length, got none.")

    def loops(step: Callable[..., Any], lengths: Sequence[int]) -> Callable[..., Any]:
        inner = step if len(lengths) == 1 else remat(loops(step, lengths[1:]), policy=policy, prevent_cse=False)
        outer = scan(lambda module, carry: (inner(module, carry), None), variable_axes, variable_broadcast, variable_carry, split_rngs,
                     length=lengths[0])
        return lambda module, carry: outer(module, carry)[0]

    if not isinstance(target, type):
        return loops(target, lengths)
    run = loops(target.__call__, lengths)
    run.is_wrapped_method = True  # type: ignore[attr-defined]  # as for other lifted methods
    return type("Remat_scan" + target.__name__, (target,), {"__call__": run, "__module__": target.__module__, "__doc__": target.__doc__})
