"""Symbolic shapes for `export`: shapes with variables as sizes, parsed from text."""

from __future__ import annotations

import operator
from typing import Any, Sequence

from laminax_ir.pytrees.pytree import broadcast_prefix, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.symbolic.symbolic_bounds import bounds
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim, is_symbolic_dim
from laminax_ir.symbolic.symbolic_parsing import parse_shape
from laminax_ir.symbolic.symbolic_scope import SymbolicScope
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

__all__ = ["SymbolicScope", "is_symbolic_dim", "symbolic_args_specs", "symbolic_dim_bounds", "symbolic_shape"]


def symbolic_shape(shape_spec: str | None, *, constraints: Sequence[str] = (), scope: SymbolicScope | None = None,
                   like: Sequence[int | None] | None = None) -> tuple[DimSize, ...]:
    """The shape that a text describes, with symbolic dimensions for its variables.

    Args:
      shape_spec: sizes with commas between, in parentheses or not: numbers, variables, and sums, differences and products of them,
        `floordiv(a, b)`, `mod(a, b)`, `max(a, b)` and `min(a, b)`. "_" stands for the size of `like` at that place, and "..." for
        all remaining sizes of `like`; None means "...".
      constraints: facts about the variables, besides that each is 1 or more: "a >= b", "mod(b, 8) == 0".
      scope: the scope of the variables; by default a new scope with these constraints. All shapes of one program share one scope.
      like: sizes, with None where they are not known.

    Returns:
      A tuple of ints and symbolic dimensions.

    Raises:
      ValueError: if the text cannot be parsed or does not fit `like`, or both constraints and scope are given.

    Example:
      >>> batch, features = symbolic_shape("b, 2*f + 1")
      >>> export(jit(jnp.sin))(ShapeDtypeStruct((batch, features), np.float32))
    """
    if shape_spec is not None and not isinstance(shape_spec, str):
        raise ValueError(f"symbolic_shape: the polymorphic shape spec should be None or a string. Found {shape_spec!r} of type "
                         f"{type(shape_spec).__name__}.")
    return parse_shape("..." if shape_spec is None else shape_spec, _scope("symbolic_shape", constraints, scope), like)


def _scope(name: str, constraints: Sequence[str], scope: SymbolicScope | None) -> SymbolicScope:
    if scope is None:
        return SymbolicScope(constraints)
    if constraints:
        raise ValueError(f"{name}: Cannot use both `scope` and `constraints`, got {constraints!r}. Give the constraints to the scope: "
                         "SymbolicScope(constraints).")
    return scope


def symbolic_args_specs(args: Any, shapes_specs: Any, constraints: Sequence[str] = (), scope: SymbolicScope | None = None) -> Any:
    """The types of arguments with symbolic shapes.

    Args:
      args: a pytree of arrays, or anything with shape and dtype.
      shapes_specs: a text for each, as for `symbolic_shape` with the shape of that argument for `like`; a pytree that is a prefix of
        args, in which None stands for the argument's own shape. For a tuple of arguments it may be a list.
      constraints, scope: as for `symbolic_shape`; all shapes share the scope.

    Returns:
      A pytree like args of `ShapeDtypeStruct`.

    Raises:
      ValueError: if shapes_specs is no prefix, or a text does not fit.

    Example:
      >>> export(jit(f))(*symbolic_args_specs((x, y), ("b, _", "b")))
    """
    leaves, tree = tree_flatten(args)
    if type(args) is tuple and type(shapes_specs) is list:
        shapes_specs = tuple(shapes_specs)
    specs = broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    shared = _scope("symbolic_args_specs", constraints, scope)
    return tree_unflatten(tree, [_spec(leaf, spec, shared) for leaf, spec in zip(leaves, specs)])


def _spec(leaf: Any, spec: str | None, scope: SymbolicScope) -> ShapeDtypeStruct:
    if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
        leaf = get_aval(leaf)
    dtype = leaf.dtype if dtypes.is_extended(leaf.dtype) else dtypes.requested_dtype(leaf.dtype)
    return ShapeDtypeStruct(symbolic_shape(spec, like=leaf.shape, scope=scope), dtype, weak_type=getattr(leaf, "weak_type", False))


def check_one_scope(title: str, args: tuple, kwargs: dict) -> None:
    """Checks that all symbolic dimensions of a function's arguments are of one scope.

    Raises:
      ValueError: if they are of several scopes.
    """
    first: tuple[str, SymbolicScope] | None = None
    for path, leaf in tree_flatten_with_path((args, kwargs))[0]:
        name = argument_name(path)
        for dim in getattr(leaf, "shape", ()):
            if type(dim) is SymbolicDim:
                first = first or (name, dim.scope)
                first[1].check_same(dim.scope, f"when exporting {title}", str(dim), f"current (from {first[0]}) ", f" ({name})")


def argument_name(path: tuple[Any, ...]) -> str:
    """The name in messages of the argument at a path of (args, kwargs)."""
    return f"{'kwargs' if path[0].idx else 'args'}{keystr(path[1:])}"


def symbolic_dim_bounds(dimension: Any) -> tuple[float, float]:
    """Bounds on the values that a size may have.

    Args:
      dimension: an integer, or a size of a symbolic shape.

    Returns:
      (lower, upper): no value is outside of these bounds, which need not be reached; infinite where no bound is known.

    Raises:
      TypeError: if dimension is neither.
      InconclusiveDimensionOperation: if the expression divides by what may be 0.

    Example:
      >>> (a,) = symbolic_shape("a", constraints=["a <= 10"])
      >>> symbolic_dim_bounds(2 * a + 1)
      (3, 21)
    """
    if isinstance(dimension, SymbolicDim):
        return bounds(dimension, dimension.scope)
    try:
        return (operator.index(dimension),) * 2
    except TypeError:
        raise TypeError(f"symbolic_dim_bounds: an integer or a size of a symbolic shape is expected, got {dimension!r} of type "
                        f"{type(dimension).__name__}") from None
