"""Monoids that users give as functions: the computation of a reduction or of its windows, as a jaxpr on scalars.

A computation that closes over no tracer is traced once per structure and dtypes of its arguments, so that an eager reduction finds the
program again that was compiled for it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Sequence
from weakref import WeakKeyDictionary

from laminax_ir.options import ambient
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees import pytree
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.explicit_axes import without_mesh
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.avals import ShapedArray

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

_jaxprs: WeakKeyDictionary[Callable, dict[tuple, ClosedJaxpr]] = WeakKeyDictionary()


def is_leaf(x: Any) -> bool:
    """Whether x is one array rather than a container of them (or None)."""
    return not isinstance(x, (tuple, list, dict)) and x is not None


def flatten_monoid(name: str, operands: Any, init_values: Any, computation: Callable) -> tuple[list[Any], list[Any], Any]:
    """Operands and initial values as flat lists, and their structure: None for one array each.

    Raises:
      TypeError: if the computation is not callable.
      ValueError: if operands and initial values have different structures.
    """
    if not callable(computation):
        raise TypeError(f"{name}: the computation must be callable, got {computation!r}")
    if is_leaf(operands) and is_leaf(init_values):
        return [operands], [init_values], None
    flat, treedef = pytree.tree_flatten(operands)
    inits, init_treedef = pytree.tree_flatten(init_values)
    if treedef != init_treedef:
        raise ValueError(f"{name}: Operands must have the same tree structure as init_values, got {treedef} and "
                         f"{init_treedef}")
    if not flat:
        raise ValueError(f"{name}: at least one operand is needed, got {operands!r}")
    return flat, inits, treedef


def unflatten_results(results: Sequence[Any], treedef: Any) -> Any:
    """The results in the structure of the operands."""
    return results[0] if treedef is None else pytree.tree_unflatten(treedef, results)


def stage_monoid(name: str, computation: Callable, scalar_dtypes: Sequence, treedef: Any = None) -> ClosedJaxpr:
    """The computation as a jaxpr on two scalars of each dtype.

    Args:
      name: the operation, for messages.
      computation: takes two pytrees of n scalars and returns one.
      scalar_dtypes: the n dtypes.
      treedef: the structure of the pytrees, None for one scalar each.

    Returns:
      The jaxpr, of 2 n scalars.

    Raises:
      ValueError: if the computation returns another structure than it takes.
      NotImplementedError: if it closes over a traced value.
    """
    key = (name, treedef, tuple(scalar_dtypes), ambient.trace_key())
    try:
        known = _jaxprs.setdefault(computation, {})
    except TypeError:  # not hashable, or not weakly referenceable
        known = {}
    if key not in known:
        flat_computation = functools.partial(_one_result if treedef is None else _results, name, computation, treedef)
        with without_mesh():  # a constraint among its operations would hide from the compiler what it computes
            jaxpr = stage(flat_computation, 2 * [ShapedArray((), dtype) for dtype in scalar_dtypes], name=f"{name}_computation")
        if any(isinstance(c, Tracer) for c in jaxpr.consts):
            raise NotImplementedError(f"{name}: the computation closes over a traced value, which a compiled reduction cannot "
                                      "read. Use only its two arguments and constants in it.")
        known[key] = jaxpr
    return known[key]


def _one_result(name: str, computation: Callable, _: None, left: ArrayLike, right: ArrayLike) -> list[Any]:
    result = computation(left, right)
    if not is_leaf(result):
        raise ValueError(f"{name} output must have the same tree structure as the operands, one array; the computation returns "
                         f"{result!r}")
    return [result]


def _results(name: str, computation: Callable, treedef: Any, *values: ArrayLike) -> list[Any]:
    half = len(values) // 2
    result = computation(pytree.tree_unflatten(treedef, values[:half]), pytree.tree_unflatten(treedef, values[half:]))
    leaves, result_treedef = pytree.tree_flatten(result)
    if result_treedef != treedef:
        raise ValueError(f"{name} output must have the same tree structure as the operands, {treedef}; the computation "
                         f"returns {result_treedef}")
    return leaves


def forget_monoids() -> None:
    """Empties the cache of traced computations."""
    _jaxprs.clear()
