"""`custom_vmap`: functions with a batching rule of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.calls import close_over_constants, custom_vmap_call_p
from laminax_ir.ops.loops import as_array
from laminax_ir.pytrees.pytree import tree_flatten, tree_map, tree_unflatten
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import eval_trace, state
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import by_position, check_callable, function_name
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.flat_functions import FlatFunction, check_array_leaves
from laminax_transforms.batching.mapping import map as sequential_map
from laminax_transforms.custom.decorated import DecoratedFunction

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef


class custom_vmap(DecoratedFunction):
    """Gives a function a rule for `vmap`, instead of batching its operations.

    The rule is `rule(axis_size, in_batched, *args) -> (out, out_batched)`. `in_batched` is like the arguments, with a bool for
    each array that says whether it has the mapped axis, as its axis 0; `out_batched` is like the result.
    The function and its rule are differentiated, in forward and in reverse mode, by differentiating either.

    Args:
      fun: the function of one example.

    Example:
      >>> @custom_vmap
      ... def f(x, y):
      ...     return x + y
      >>> @f.def_vmap
      ... def f_vmap_rule(axis_size, in_batched, xs, ys):
      ...     return xs + ys, in_batched[0] or in_batched[1]
    """

    def __init__(self, fun: Callable) -> None:
        check_callable("custom_vmap", fun)
        super().__init__(fun)
        self.vmap_rule: Callable | None = None

    def def_vmap(self, vmap_rule: Callable) -> Callable:
        """Sets the rule, and returns it."""
        check_callable("def_vmap", vmap_rule)
        self.vmap_rule = vmap_rule
        return vmap_rule

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(f"No batching rule defined for custom_vmap function {name} using def_vmap.")
        args = by_position("custom_vmap", self.fun, args, kwargs)
        leaves, in_tree = tree_flatten(args)
        check_array_leaves(f"custom_vmap function {name}: argument ", args)
        flat_fun = FlatFunction(self.fun, in_tree)
        if state.trace is eval_trace:  # the function gets arrays, as it does when it is recorded, and its results are arrays
            results = flat_fun(*map(as_array, leaves))
            return tree_unflatten(flat_fun.out_tree, list(map(as_array, results)))
        program, consts = close_over_constants(stage(flat_fun, [get_aval(x) for x in leaves], name))
        rule = _FlatRule(self.vmap_rule, name, len(consts), in_tree, flat_fun.out_tree)
        return tree_unflatten(flat_fun.out_tree, custom_vmap_call_p.bind(*consts, *leaves, call=program, rule=rule, name=name))


class _FlatRule:
    """A user's rule on flat values: `(axis_size, flags, values) -> (values, flags)`."""

    def __init__(self, rule: Callable, name: str, num_consts: int, in_tree: PyTreeDef, out_tree: PyTreeDef) -> None:
        self.rule = rule
        self.__name__ = function_name(rule)  # programs show it
        self.name = name
        self.num_consts = num_consts
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, size: int, mapped: Sequence[bool], values: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        if any(mapped[:self.num_consts]):
            raise ValueError(f"custom_vmap function {self.name}: it closes over a value that is mapped, which its rule does not get. Pass "
                             "the value as an argument.")
        args = tree_unflatten(self.in_tree, values[self.num_consts:])
        flags = list(tree_unflatten(self.in_tree, mapped[self.num_consts:]))
        answer = self.rule(size, flags, *args)
        if not isinstance(answer, (tuple, list)) or len(answer) != 2:
            raise TypeError(f"the vmap rule of {self.name} must return a pair (out, out_batched), got {answer!r:.80}")
        out, out_mapped = answer
        results, tree = tree_flatten(out)
        which, flag_tree = tree_flatten(out_mapped)
        if flag_tree != tree:
            raise ValueError(f"structure of output value and output batching specification returned by custom vmap rule "
                             f"({function_name(self.rule)}) do not match.\nOutput values: {tree}\nBatching spec: {flag_tree}")
        if tree != self.out_tree:
            raise ValueError(f"structure of output returned by custom vmap rule ({function_name(self.rule)}) does not match that of "
                             f"original custom-vmapped function.\nOriginal output: {self.out_tree}\nRule output: {tree}")
        for x, is_mapped in zip(results, which):
            shape = get_aval(x).shape
            if is_mapped and (not shape or shape[0] != size):
                raise ValueError(f"the vmap rule of {self.name} returned a value of shape {shape} and said that it is batched; its "
                                 f"leading axis must have the size of the mapped axis, {size}")
        return results, [bool(is_mapped) for is_mapped in which]


def sequential_vmap(f: Callable) -> custom_vmap:
    """Makes a function that `vmap` calls once per example, in a loop.

    Args:
      f: the function of one example.
    """
    mapped_fun = custom_vmap(f)

    @mapped_fun.def_vmap
    def rule(axis_size: Any, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        leaves, tree = tree_flatten(args)
        flags = tree_flatten(in_batched)[0]

        def one(chosen: Any) -> Any:
            found = iter(chosen)
            return mapped_fun(*tree_unflatten(tree, [next(found) if f else x for x, f in zip(leaves, flags)]))

        out = sequential_map(one, [x for x, f in zip(leaves, flags) if f])
        return out, tree_map(lambda _: True, out)

    return mapped_fun
