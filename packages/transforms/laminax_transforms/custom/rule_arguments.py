"""The arguments of rules that users give to functions: the split arguments of a call, and symbolic zeros."""

from __future__ import annotations

import inspect
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterable, Sequence

from laminax_ir.ops.elementwise import stop_gradient_p
from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_map, tree_map_with_path, tree_unflatten
from laminax_ir.refs.refs import Ref
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.arguments import by_position, function_name
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.errors import UnexpectedTracerError
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.symbolic_zeros import SymbolicZero
from laminax_transforms.base.zeros import has_tangents, zeros_of

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef


class CustomVJPException(Exception):
    """A function with a backward rule is differentiated with respect to a value it closes over, for which the rule gives no cotangent."""


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Zero tangents for a pytree of values: arrays, or `SymbolicZero`s."""
    make = SymbolicZero if symbolic_zeros else zeros_of
    return tree_map(lambda x: make(get_aval(x).to_tangent_aval()), val)


@dataclass
class CustomVJPPrimal:
    """The forward rule's argument for each leaf, with symbolic_zeros: the value, and whether it is differentiated."""
    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of the arguments of a forward rule with `symbolic_zeros`, without the marks that say which of them are differentiated.

    Args:
      tree: a pytree whose leaves are `CustomVJPPrimal`.

    Returns:
      The same pytree with their values as leaves.

    Raises:
      TypeError: if a leaf is anything else.
    """
    def value(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError("custom_vjp_primal_tree_values: the leaves must be CustomVJPPrimal, as a forward rule with symbolic_zeros gets "
                            f"them; {keystr(path) or 'the argument'} is of type {type(leaf).__name__}.")
        return leaf.value

    return tree_map_with_path(value, tree)


class RuleArguments:
    """The non-differentiable arguments of a call, and the places of its differentiable leaves.

    The leaves themselves are not kept: rules live as long as the program that the call is recorded in, and would hold
    on to the values of a finished trace.
    """

    __slots__ = ("args", "nondiff", "in_avals", "in_tree")

    def __init__(self, args: tuple[Any, ...], nondiff: tuple[int, ...], in_avals: list[ShapedArray], in_tree: PyTreeDef) -> None:
        self.args = tuple(x if i in nondiff else None for i, x in enumerate(args))
        self.nondiff = nondiff
        self.in_avals = in_avals
        self.in_tree = in_tree

    def stop_gradients(self) -> None:
        """Makes constants of those non-differentiable arguments that are traced: a rule gives them no derivative."""
        self.args = tuple(tree_map(lambda leaf: stop_gradient(leaf) if isinstance(leaf, Tracer) else leaf, x)
                          for x in self.args)

    def refuse_traced(self, name: str) -> None:
        """Raises if a non-differentiable argument is traced: a backward rule gets it after its trace has ended.

        Raises:
          UnexpectedTracerError: naming the argument.
        """
        for i in self.nondiff:
            for at, leaf in enumerate(tree_flatten(self.args[i])[0]):
                if isinstance(leaf, Tracer):
                    path = tree_flatten_with_path(self.args[i])[0][at][0]
                    raise UnexpectedTracerError(
                        f"custom_vjp function {name}: argument {i}{keystr(path)}, which nondiff_argnums says is not differentiated, "
                        f"is traced: {leaf.aval.str_short()}. nondiff_argnums is for what is no array, such as functions. Take the "
                        "argument out of it, hand it to the backward rule as a residual, and return None as its cotangent.")

    def nondiff_values(self) -> list[Any]:
        return [self.args[i] for i in self.nondiff]

    def full(self, leaves: Sequence[Any]) -> list[Any]:
        """The argument list with the given differentiable leaves."""
        found = iter(tree_unflatten(self.in_tree, leaves))
        return [x if i in self.nondiff else next(found) for i, x in enumerate(self.args)]

    def split(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The differentiable arguments as a tuple."""
        return tuple(tree_unflatten(self.in_tree, leaves))


def split_arguments(what: str, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any],
                    nondiff_argnums: Sequence[int]) -> tuple[RuleArguments, list[Any]]:
    """A call's arguments, split into what rules need and the differentiable leaves."""
    args = by_position(what, fun, args, kwargs)
    nondiff = tuple(sorted({i % len(args) for i in nondiff_argnums if -len(args) <= i < len(args)}))
    chosen = tuple(x for i, x in enumerate(args) if i not in nondiff)
    leaves, in_tree = tree_flatten(chosen)
    for path, leaf in tree_flatten_with_path(chosen)[0] if not all(map(is_array_like, leaves)) else ():
        if not is_array_like(leaf) and not isinstance(leaf, Ref):
            raise TypeError(f"{what} {function_name(fun)}: the argument{keystr(path)} is not an array: {leaf!r} of type "
                            f"{type(leaf).__name__}. List its position in nondiff_argnums.")
    return RuleArguments(args, nondiff, [get_aval(x) for x in leaves], in_tree), leaves


def nondiff_positions(fun: Callable[..., Any], argnums: int | Sequence[int], argnames: str | Sequence[str]) -> tuple[int, ...]:
    """The positions of all arguments that are named either way; ValueError for a name that the function has not."""
    argnums = tuple(argnums) if isinstance(argnums, Iterable) and not isinstance(argnums, str) else (argnums,)
    try:
        argnums = tuple(map(operator.index, argnums))
    except TypeError:
        raise TypeError(f"nondiff_argnums of {function_name(fun)} must be an int or a sequence of ints, the positions of arguments; "
                        f"got {argnums if len(argnums) > 1 else argnums[0]!r}") from None
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if not names:
        return argnums
    positions = list(inspect.signature(fun).parameters)
    unknown = [n for n in names if n not in positions]
    if unknown:
        raise ValueError(f"nondiff_argnames {unknown} are not parameters of {function_name(fun)}, which takes {positions}")
    return (*argnums, *(positions.index(n) for n in names))


def stop_gradient(x: Any) -> Any:
    """The identity with derivative zero.

    Args:
      x: a pytree of arrays.

    Returns:
      The same pytree. Arrays that are not floating or complex have no derivative and stay as they are.

    Raises:
      TypeError: if a leaf is not an array.

    Example:
      >>> stop_gradient(np.float32([1, 2]))
      array([1., 2.], dtype=float32)
    """
    leaves, tree = tree_flatten(x)
    for i, leaf in enumerate(leaves):
        if not is_array_like(leaf):
            path = keystr(tree_flatten_with_path(x)[0][i][0])
            raise TypeError(f"stop_gradient: x{path} is not a valid type of array: {leaf!r} of type {type(leaf).__name__}. Leave what is "
                            "no array out of the tree.")
        aval = get_aval(leaf)
        if isinstance(aval, HiType):
            raise NotImplementedError(f"stop_gradient: a value of the type {aval.str_short()} is not supported. Apply it to arrays that "
                                      "the value is made of, or that are made of it.")
        if has_tangents(aval):
            leaves[i] = stop_gradient_p.bind(leaf)
    return tree_unflatten(tree, leaves)
