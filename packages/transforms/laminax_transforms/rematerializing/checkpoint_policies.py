"""The policies of `checkpoint`: which intermediate values of a checkpointed function are kept for its derivative, and where."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.ops.calls import name_p
from laminax_ir.ops.contraction import dot_general_p
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_transforms.rematerializing.rematerialization import Decision, Offloadable


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keeps every value, as without checkpoint."""
    return True


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Keeps the inputs only, as without a policy."""
    return False


def dots_saveable(prim: Primitive, *_: Any, **__: Any) -> bool:
    """Keeps the results of matrix products and convolutions, which are the expensive ones."""
    return Trait.CONTRACTION in prim.traits


def dots_with_no_batch_dims_saveable(prim: Any, *_: Any, **params: Any) -> bool:
    """Keeps the results of matrix products without batch dimensions, such as those with weights."""
    if prim is not dot_general_p:
        return False
    _, (lhs_batch, rhs_batch) = params["dimension_numbers"]
    return not lhs_batch and not rhs_batch


def save_anything_except_these_names(*names_not_to_save: str) -> Callable[..., bool]:
    """A policy that keeps every value except those with one of the given names (see `checkpoint_name`)."""
    refused = _checked_names("save_anything_except_these_names", names_not_to_save)

    def policy(prim: Any, *_: Any, **params: Any) -> bool:
        return prim is not name_p or params["name"] not in refused
    return policy


def save_any_names_but_these(*names_not_to_save: str) -> Callable[..., bool]:
    """A policy that keeps the values with names given by `checkpoint_name`, except those with one of the given names."""
    refused = _checked_names("save_any_names_but_these", names_not_to_save)

    def policy(prim: Any, *_: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] not in refused
    return policy


def save_only_these_names(*names_which_can_be_saved: str) -> Callable[..., bool]:
    """A policy that keeps the values with one of the names given by `checkpoint_name`."""
    accepted = _checked_names("save_only_these_names", names_which_can_be_saved)

    def policy(prim: Any, *_: Any, **params: Any) -> bool:
        return prim is name_p and params["name"] in accepted
    return policy


def _checked_names(function: str, names: Sequence[Any]) -> frozenset[str]:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{function}: names must be strings, each an argument of its own, got {name!r}")
    return frozenset(names)


def save_from_both_policies(policy_1: Callable[..., Any], policy_2: Callable[..., Any]) -> Callable[..., bool | Offloadable]:
    """A policy that keeps what either of two policies keeps."""
    def policy(prim: Any, *args: Any, **params: Any) -> bool | Offloadable:
        decisions = [p(prim, *args, **params) for p in (policy_1, policy_2)]
        offloaded = [d for d in decisions if isinstance(d, Offloadable)]
        return offloaded[0] if offloaded else any(d.value if isinstance(d, Decision) else d for d in decisions)
    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Callable[..., bool | Offloadable]:
    """A policy that keeps the results of matrix products without batch dimensions in other memory.

    Args:
      offload_src: the kind of memory that they are in, "device".
      offload_dst: the kind of memory that they are kept in, "pinned_host".
    """
    def policy(prim: Any, *avals: Any, **params: Any) -> bool | Offloadable:
        return dots_with_no_batch_dims_saveable(prim, *avals, **params) and Offloadable(offload_src, offload_dst)
    return policy


def save_and_offload_only_these_names(*, names_which_can_be_saved: Sequence[str], names_which_can_be_offloaded: Sequence[str],
                                      offload_src: str, offload_dst: str) -> Callable[..., bool | Offloadable]:
    """A policy that keeps the values with some names given by `checkpoint_name`, and moves those with other names to other memory.

    Args:
      names_which_can_be_saved: the names of the values to keep where they are.
      names_which_can_be_offloaded: the names of the values to move.
      offload_src: the kind of memory that these are in, "device".
      offload_dst: the kind of memory that these are kept in, "pinned_host".

    Raises:
      ValueError: if a name is among both.
    """
    function = "save_and_offload_only_these_names"
    accepted, moved = _checked_names(function, names_which_can_be_saved), _checked_names(function, names_which_can_be_offloaded)
    if both := accepted & moved:
        raise ValueError(f"{function}: The names should be exclusive and should not intersect in `names_which_can_be_saved` and "
                         f"`names_which_can_be_offloaded`, got {', '.join(map(repr, sorted(both)))} in both. Leave it out of one.")

    def policy(prim: Any, *_: Any, **params: Any) -> bool | Offloadable:
        if prim is not name_p or params["name"] not in moved:
            return prim is name_p and params["name"] in accepted
        return Offloadable(offload_src, offload_dst)
    return policy


class checkpoint_policies:
    """The policies for `checkpoint`; those that take names or policies are functions that return one.

    Example:
      >>> f = checkpoint(lambda x: jnp.sin(jnp.cos(x @ x)), policy=checkpoint_policies.dots_saveable)  # the product is kept
      >>> laminax.grad(lambda x: f(x).sum())(jnp.ones((2, 2))).shape
      (2, 2)
    """

    everything_saveable: staticmethod[..., bool] = staticmethod(everything_saveable)
    nothing_saveable: staticmethod[..., bool] = staticmethod(nothing_saveable)
    dots_saveable: staticmethod[..., bool] = staticmethod(dots_saveable)
    checkpoint_dots: staticmethod[..., bool] = staticmethod(dots_saveable)
    dots_with_no_batch_dims_saveable: staticmethod[..., bool] = staticmethod(dots_with_no_batch_dims_saveable)
    checkpoint_dots_with_no_batch_dims: staticmethod[..., bool] = staticmethod(dots_with_no_batch_dims_saveable)
    save_anything_except_these_names: staticmethod[..., Callable[..., Any]] = staticmethod(save_anything_except_these_names)
    save_any_names_but_these: staticmethod[..., Callable[..., Any]] = staticmethod(save_any_names_but_these)
    save_only_these_names: staticmethod[..., Callable[..., Any]] = staticmethod(save_only_these_names)
    save_from_both_policies: staticmethod[..., Callable[..., Any]] = staticmethod(save_from_both_policies)
    offload_dot_with_no_batch_dims: staticmethod[..., Callable[..., Any]] = staticmethod(offload_dot_with_no_batch_dims)
    save_and_offload_only_these_names: staticmethod[..., Callable[..., Any]] = staticmethod(save_and_offload_only_these_names)


Recompute, Saveable = Decision.RECOMPUTE, Decision.SAVE
