"""Composites: a program under a name, which a compiler may know a better way to compute.

Source: StableHLO specification, `composite`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops.calls import close_over_constants
from laminax_ir.options import ambient
from laminax_ir.programs.check_rules import call_faults, check_rule
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import CALL_TRAITS, Primitive, shape_rule
from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import Tracer, state
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef

composite_p = Primitive("composite", multiple_results=True, family="composite", traits=CALL_TRAITS)


@shape_rule(composite_p)
def _composite_shape(*avals: ShapedArray, jaxpr: ClosedJaxpr, name: str, attributes: tuple, version: int) -> list[ShapedArray]:
    return jaxpr.out_avals


@check_rule(composite_p)
def _composite_faults(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, name: str,
                      **_params: Any) -> Iterable[Any]:
    return call_faults(f"the composite {name}", jaxpr, in_avals)


def composite(decomposition: Callable, name: str, version: int = 0) -> Callable:
    """A function that computes what `decomposition` does, under a name that compilers may recognise.

    Args:
      decomposition: takes pytrees of arrays by position and attributes by keyword; returns a pytree of arrays. Arrays that it
        closes over become further operands.
      name: the name by which compilers know it, "library.operation".
      version: tells revisions of the operation apart.

    Returns:
      A function of the same arguments. Attributes are bools, ints, floats, strings, dtypes, NumPy scalars and arrays, and lists,
      tuples and dicts of these; those that are None are left out of the program. It has no derivative and no batching rule;
      `custom_jvp` and `custom_vmap` can give it some.

    Raises:
      TypeError: when called, if a leaf of an argument is no array, or an attribute is none of these.
      UnexpectedTracerError: when called, if an attribute is traced, or the decomposition closes over a traced value.
      NotImplementedError: when called, if the decomposition has effects.

    Example:
      >>> tangent = composite(lambda x: sin(x) / cos(x), name="my.tangent")
    """
    if not isinstance(name, str):
        raise TypeError(f"composite: the name must be a string, got {name!r} of type {type(name).__name__}")
    programs: dict[tuple, tuple[ClosedJaxpr, list[Any], Any]] = {}

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree_flatten(args)
        for leaf in leaves:
            if not is_array_like(leaf):
                raise TypeError(f"composite {name}: positional arguments are arrays, got {leaf!r} of type {type(leaf).__name__}. "
                                "Pass attributes by keyword.")
        attributes = tuple((key, attribute(name, key, value)) for key, value in sorted(kwargs.items()) if value is not None)
        avals = tuple(map(get_aval, leaves))
        # 1, 1.0 and True are equal, and different attributes: their texts are compared.
        key = (in_tree, avals, repr(attributes), tuple(kwargs), ambient.trace_key(), tuple(state.axis_sizes.items()))
        found = programs.get(key)
        if found is None:
            found = programs[key] = _traced(decomposition, name, in_tree, avals, kwargs)
        program, consts, out_tree = found
        out = composite_p.bind(*consts, *leaves, name=name, version=version, attributes=attributes, jaxpr=program)
        return tree_unflatten(out_tree, out)

    return update_wrapper(wrapped, decomposition)


def _traced(decomposition: Callable, name: str, in_tree: PyTreeDef, avals: Sequence[ShapedArray],
            kwargs: dict[str, Any]) -> tuple[ClosedJaxpr, list[Any], Any]:
    trees = []

    def flat(*leaves: Any) -> Any:
        out, tree = tree_flatten(decomposition(*tree_unflatten(in_tree, leaves), **kwargs))
        trees.append(tree)
        return out

    program, consts = close_over_constants(stage(flat, avals, name))
    for value in consts:
        if isinstance(value, Tracer):
            raise UnexpectedTracerError(f"Found a JAX Tracer as a constant in the decomposition for the composite op {name!r}: "
                                        f"it closes over a traced value, {value.aval.str_short()}. Pass it as an argument.")
    if program.effects:
        raise NotImplementedError(f"composite {name}: the decomposition has the effects {set(program.effects)}; a composite must "
                                  "have none")
    return program, list(consts), trees[0]


class ArrayAttribute(tuple):
    """An array as an attribute: (dtype, shape, bytes), which can be hashed and compared."""

    def array(self) -> np.ndarray:
        """The array itself."""
        dtype, shape, data = self
        return np.frombuffer(data, dtype).reshape(shape)


def attribute(name: str, key: str, value: Any) -> Any:
    """An attribute's value in a form that can be hashed: arrays as `ArrayAttribute`, lists as tuples, dicts as sorted items.

    Args:
      name, key: the composite and the attribute, for messages.
      value: the value.

    Returns:
      The value in that form.

    Raises:
      TypeError: if it is of another kind.
      UnexpectedTracerError: if it is traced.
    """
    if isinstance(value, Tracer):
        raise UnexpectedTracerError(f"composite {name}: the attribute {key} is a traced value, {value.aval.str_short()}; attributes "
                                    "are static. Pass it by position.")
    if isinstance(value, (bool, int, float, str, np.dtype)):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(attribute(name, key, item) for item in value)
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return frozenset((k, attribute(name, f"{key}[{k!r}]", item)) for k, item in value.items())
    if is_array_like(value):
        array = np.asarray(value)
        return ArrayAttribute((array.dtype, array.shape, array.tobytes()))
    raise TypeError(f"composite {name}: the attribute {key} must be a bool, an int, a float, a string, a dtype, an array, or a list, "
                    f"tuple or dict of these, got {value!r} of type {type(value).__name__}")
