"""Optimizers of pytrees from optimizers of arrays.

There are two levels of trees: that of the parameters, and for each of its leaves that of the state which the array's optimizer
keeps. A state of all is a list of lists of arrays, with both levels' structures beside it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple

from laminax_ir.pytrees.pytree import register_pytree_node, tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

Array = Any
Params = Any  # a pytree of arrays
State = Any  # a pytree of arrays, what is kept for one array of parameters
Updates = Params
Step = int

OptimizerState = NamedTuple("OptimizerState", [("packed_state", Any), ("tree_def", Any), ("subtree_defs", Any)])
OptimizerState.__doc__ = """The state of an optimizer of a pytree of parameters; a pytree itself, whose leaves are the arrays.

Args:
  packed_state: a tuple with a list of arrays for each leaf of the parameters.
  tree_def: the structure of the parameters.
  subtree_defs: a tuple with the structure that each of the lists was before.
"""
register_pytree_node(
    OptimizerState, lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structures, children: OptimizerState(*children, *structures))

InitFn = Callable[[Params], OptimizerState]
UpdateFn = Callable[[Step, Updates, OptimizerState], OptimizerState]
ParamsFn = Callable[[OptimizerState], Params]


class Optimizer(NamedTuple):
    """An optimizer of pytrees.

    Args:
      init_fn: takes parameters, returns a state.
      update_fn: takes the number of the step, from 0, gradients in the structure of the parameters, and a state; returns the
        next state.
      params_fn: takes a state, returns the parameters in it.
    """

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


def optimizer(
    opt_maker: Callable[..., tuple[Callable[[Array], State], Callable[[Step, Array, State], State], Callable[[State], Array]]],
) -> Callable[..., Optimizer]:
    """A decorator that makes an optimizer of pytrees of one of arrays.

    Args:
      opt_maker: returns a triple (init, update, get_params) of functions of one array: init(x0) returns a state, any pytree;
        update(step, gradient, state) returns the next one; get_params(state) the array.

    Returns:
      A function that takes the arguments of opt_maker and returns an `Optimizer`, whose update_fn raises a TypeError if the
      gradients are of another structure than the parameters, or update changes a state's structure.

    Example:
      >>> @optimizer
      ... def signs(step_size):
      ...     return lambda x0: x0, lambda i, g, x: x - step_size * jnp.sign(g), lambda x: x
    """
    @functools.wraps(opt_maker)
    def make(*args: Callable[..., Any] | float, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)
        name = getattr(opt_maker, "__name__", "optimizer")

        @functools.wraps(init)
        def tree_init(x0_tree: Any) -> Any:
            leaves, tree_def = tree_flatten(x0_tree)
            return _packed([init(leaf) for leaf in leaves], tree_def)

        @functools.wraps(update)
        def tree_update(i: ArrayLike, grad_tree: Any, opt_state: Any) -> Any:
            grads, grad_def = tree_flatten(grad_tree)
            if grad_def != opt_state.tree_def:
                raise TypeError(f"{name}: the gradients must have the structure of the parameters that the optimizer was initialized "
                                f"with, {opt_state.tree_def}, got {grad_def}")
            new_state = _packed([update(i, *pair) for pair in zip(grads, _unpacked(opt_state))], opt_state.tree_def)
            for old, new in zip(opt_state.subtree_defs, new_state.subtree_defs):
                if new != old:
                    raise TypeError(f"{name}: update must return a state of the structure that it was given, {old}, got {new}")
            return new_state

        @functools.wraps(get_params)
        def tree_get_params(opt_state: Any) -> Any:
            return tree_unflatten(opt_state.tree_def, [get_params(state) for state in _unpacked(opt_state)])

        return Optimizer(tree_init, tree_update, tree_get_params)

    return make


def _packed(states: list[State], tree_def: Any) -> OptimizerState:
    flat = [tree_flatten(state) for state in states]
    return OptimizerState(tuple([leaves for leaves, _ in flat]), tree_def, tuple([subtree_def for _, subtree_def in flat]))


def _unpacked(opt_state: OptimizerState) -> list[State]:
    return [tree_unflatten(subtree_def, leaves) for subtree_def, leaves in zip(opt_state.subtree_defs, opt_state.packed_state)]


# States for files


class JoinPoint:
    """A leaf of one pytree that holds another one, its `subtree`, which it also yields when it is iterated."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The parameters' pytree, with a `JoinPoint` that holds the state's pytree for each leaf: a form to save.

    Args:
      opt_state: a state of any of these optimizers.

    Returns:
      A pytree that keeps everything; see `pack_optimizer_state`.
    """
    return tree_unflatten(opt_state.tree_def, [JoinPoint(state) for state in _unpacked(opt_state)])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """The inverse of `unpack_optimizer_state`.

    Args:
      marked_pytree: a pytree whose leaves are `JoinPoint`s that hold pytrees.

    Returns:
      The state.

    Raises:
      TypeError: if a leaf is something else.
    """
    leaves, tree_def = tree_flatten(marked_pytree)
    for leaf in leaves:
        if not isinstance(leaf, JoinPoint):
            raise TypeError(f"pack_optimizer_state: the leaves of marked_pytree must be JoinPoints, as unpack_optimizer_state makes "
                            f"them, got {leaf!r}")
    return _packed([leaf.subtree for leaf in leaves], tree_def)
