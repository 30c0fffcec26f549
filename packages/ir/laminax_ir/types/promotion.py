"""Promotion: the dtype of an operation on operands of different dtypes.

The dtypes form a lattice, and operands promote to their least upper bound in it. Python scalars, and arrays made from
them ("weak" ones), sit at the nodes `int`, `float` and `complex`, below the sized types of their kind, so that they
take on the dtype of what they meet. Source: JAX's "Type promotion semantics".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from laminax_ir.options import config
from laminax_ir.types.canonical_dtypes import (
    bool_dtype,
    canonicalize_dtype,
    float0,
    float_dtypes,
    is_kept_wide,
    is_weakly_typed,
    narrow_float_dtypes,
    python_scalar_types,
    scalar_dtype,
    signed_dtypes,
    supported_dtype,
    unsigned_dtypes,
)
from laminax_ir.types.canonical_dtypes import dtype as dtype_of
from laminax_ir.types.errors import DTypeError
from laminax_ir.types.extended_dtypes import ExtendedDType

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike
    from laminax_ir.types.extended_dtypes import KeyDType

Node = np.dtype | type  # a dtype, or the Python type of weakly typed values


class TypePromotionError(ValueError):
    """The operands' dtypes have no common dtype that they promote to implicitly."""


class Float0PromotionError(DTypeError, TypePromotionError):
    """A derivative that does not exist, beside other operands: nothing can be done to it, and no dtype is common to it and others."""


# --- the lattice ---

# Nothing stands above these and `narrow_float_dtypes`. Their members combine with Python scalars and booleans, the
# floats also with larger integers, but not with each other: they hold too little for a silent choice.
_sub_byte_integers = tuple(d for d in signed_dtypes + unsigned_dtypes if ml_dtypes.iinfo(d).bits < 8)


def _edges(**above: str) -> dict[Node, tuple[Node, ...]]:
    weak = {"int": int, "float": float, "complex": complex}

    def node(name: str) -> Node:
        return weak.get(name) or np.dtype(name)

    return {node(name): tuple(map(node, names.split())) for name, names in above.items()}


_standard_edges = _edges(
    bool="int",
    int="uint8 int8",
    uint8="int16 uint16",
    uint16="int32 uint32",
    uint32="int64 uint64",
    uint64="float",
    int8="int16",
    int16="int32",
    int32="int64",
    int64="float",
    float="complex float16",
    float16="float32",
    float32="float64 complex64",
    float64="complex128",
    complex="complex64",
    complex64="complex128",
)
_standard_edges[int] += _sub_byte_integers
_standard_edges[float] += tuple(d for d in float_dtypes if d in narrow_float_dtypes or d.name == "bfloat16")
_standard_edges[np.dtype("bfloat16")] = (np.dtype("float32"),)

# In strict mode only Python scalars give way.
_strict_edges: dict[Node, tuple[Node, ...]] = {
    int: (float, *signed_dtypes, *unsigned_dtypes),
    float: (complex, *float_dtypes),
    complex: (np.dtype("complex64"), np.dtype("complex128")),
}


def _upper_bounds(edges: Mapping[Node, tuple[Node, ...]]) -> dict[Node, frozenset[Node]]:
    """For each node, itself and all that can be reached from it upwards."""
    bounds: dict[Node, frozenset[Node]] = {}

    def visit(node: Node) -> frozenset[Node]:
        if node not in bounds:
            bounds[node] = frozenset([node]).union(*map(visit, edges.get(node, ())))
        return bounds[node]

    for node in (bool_dtype, *edges):
        visit(node)
    return bounds


_bounds = {"standard": _upper_bounds(_standard_edges), "strict": _upper_bounds(_strict_edges)}


def _join(a: Node, b: Node, mode: str) -> Node:
    """The least upper bound of two nodes."""
    return _join_all((a, b), mode)


def _join_all(nodes: Collection[Node], mode: str) -> Node:
    """The least upper bound of nodes: of all at once, since what two of them join to may be weak, and lie elsewhere than its dtype."""
    bounds = _bounds[mode]
    common = frozenset.intersection(*[bounds[node] for node in nodes])
    for node in common:
        if bounds[node] == common:  # everything above all of them is above this one
            return node
    raise TypePromotionError(_no_path_message(nodes, mode))


def _no_path_message(nodes: Collection[Node], mode: str) -> str:
    *first, last = [f"Python {node.__name__}" if isinstance(node, type) else node.name for node in dict.fromkeys(nodes)]
    message = f"Input dtypes {', '.join(first) or last} and {last} have no available implicit dtype promotion path"
    if mode == "strict":
        return (
            f"{message} when jax_numpy_dtype_promotion=strict. Convert one explicitly, as in x.astype('float32'), "
            "or use numpy_dtype_promotion='standard'."
        )
    for members, info, what, example in ((narrow_float_dtypes, ml_dtypes.finfo, "floats", "float32"),
                                         (_sub_byte_integers, ml_dtypes.iinfo, "integers", "int32")):
        for node in nodes:
            if node in members:
                return (f"{message}: {info(node).bits}-bit {what} do not support implicit promotion, to avoid accidents. Convert one "
                        f"explicitly, as in x.astype('{example}').")
    return f"{message}. Convert one explicitly, as in x.astype('float32')."


# --- promotion of dtypes ---

# The results of promote_pair, by the operands, enable_x64, the promotion mode and explicit_x64_dtypes.
_promoted: dict[tuple[Any, bool, Any, bool, bool, str, str], tuple[Any, bool]] = {}


def promote_pair(dtype1: Any, weak1: bool, dtype2: Any, weak2: bool) -> tuple[Any, bool]:
    """The dtype of an operation on two operands, and whether it is weak. Every `x + y` asks, hence the dict.

    Args:
        dtype1, dtype2: the operands' dtypes, NumPy's or extended ones.
        weak1, weak2: whether they yield to others: they came from Python scalars.

    Raises:
        TypePromotionError: the operands have no common dtype.
    """
    key = (dtype1, weak1, dtype2, weak2, config.enable_x64.value, config.numpy_dtype_promotion.value, config.explicit_x64_dtypes.value)
    try:
        return _promoted[key]
    except KeyError:
        promoted = _promoted[key] = _promote_pair(dtype1, weak1, dtype2, weak2)
        return promoted


def _promote_pair(dtype1: Any, weak1: bool, dtype2: Any, weak2: bool) -> tuple[Any, bool]:
    return _promote_all((dtype1, dtype2), (weak1, weak2))


def _promote_all(dtypes: Sequence[Any], are_weak: Sequence[bool]) -> tuple[Any, bool]:
    """The dtype of an operation on several operands, and whether it is weak."""
    if any(isinstance(dtype, ExtendedDType) or dtype == float0 for dtype in dtypes):
        return _promote_without_lattice(dtypes), False
    # Canonical before the join as well as after: without 64-bit types, float64 and float32 are the same dtype. Where 64-bit types may be
    # asked for, they are not, and only a join of narrower ones is narrowed.
    is_wide = config.explicit_x64_dtypes.value != "warn" and any(map(is_kept_wide, dtypes))
    narrowed = supported_dtype if is_wide else canonicalize_dtype
    dtypes = [narrowed(dtype) for dtype in dtypes]
    if len(set(dtypes)) == 1 and (not all(are_weak) or dtypes[0] == bool_dtype):
        return dtypes[0], False
    mode = config.numpy_dtype_promotion.value
    if all(are_weak) and mode == "standard":
        # The kind of the result comes from the dtypes themselves, so that two weak uint8 stay unsigned.
        return _default_of_kind(_join_all(dtypes, mode)), True
    nodes = [_weak_node(dtype) if is_weak and dtype != bool_dtype else dtype for dtype, is_weak in zip(dtypes, are_weak)]
    joined = _join_all(nodes, mode)
    return (scalar_dtype(joined), True) if isinstance(joined, type) else (narrowed(joined), False)


def float0_error(where: str, operand_dtypes: Sequence[Any]) -> Float0PromotionError:
    """The error for an operation on derivatives of integers, beside other operands."""
    names = ", ".join("float0" if dtype == float0 else str(dtype) for dtype in operand_dtypes)
    return Float0PromotionError(f"{where}float0s do not support any operations by design: they stand for derivatives that do not exist. "
                                f"Got operands of the dtypes {names}. Leave out the derivative of the integer or boolean argument.")


def _promote_without_lattice(dtypes: Sequence[KeyDType | np.dtype]) -> KeyDType | np.dtype:
    first, *others = dtypes
    if all(dtype == first for dtype in others):
        return first
    if float0 in dtypes:
        raise float0_error("", dtypes)
    raise TypePromotionError(
        f"The dtypes {' and '.join(map(str, dict.fromkeys(dtypes)))} have no common dtype: random keys combine only with their own kind."
    )


def _weak_node(dtype: np.dtype) -> type:
    if dtype in signed_dtypes or dtype in unsigned_dtypes:
        return int
    return float if dtype in float_dtypes else complex


def _default_of_kind(node: Node) -> np.dtype:
    if node in unsigned_dtypes:
        return canonicalize_dtype(np.uint64)
    return scalar_dtype(node if isinstance(node, type) else _weak_node(node))


def promote_types(a: Any, b: Any) -> Any:
    """The join of two dtypes in the lattice; `int`, `float` and `complex` stand for its nodes of weak types.

    A question about dtypes rather than values: 64-bit operands stay so, and a join at a weak node is that node's
    64-bit dtype, whatever `enable_x64` says. `result_type` answers for values.

    Raises:
        TypePromotionError: they have no common dtype.

    Example:
        >>> promote_types("int32", "float16")
        dtype('float16')
    """
    a, b = _node(a), _node(b)
    for node in (a, b):
        if isinstance(node, ExtendedDType):
            return _promote_without_lattice((a, b))
        if node == float0:
            raise float0_error("", (a, b))
    joined = _join(a, b, config.numpy_dtype_promotion.value)
    if isinstance(joined, type):
        return python_scalar_types[joined]
    has_wide = any(not isinstance(node, type) and canonicalize_dtype(node) != node for node in (a, b))
    return joined if has_wide else canonicalize_dtype(joined)


def _node(x: np.dtype | type) -> np.dtype | type:
    if isinstance(x, ExtendedDType):
        return x
    return x if _is_weak_type(x) else supported_dtype(x)


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype of an operation on these operands.

    Args:
        *args: arrays, scalars, dtypes, or Python scalar types; None is the default float, as it is for NumPy.
        return_weak_type_flag: whether to return (dtype, weak_type) instead of the dtype.

    Raises:
        TypePromotionError: the operands have no common dtype.
        TypeError: an operand has no dtype.

    Example:
        >>> result_type(np.float16(1), 2.5)
        dtype('float16')
    """
    if not args:
        raise ValueError("result_type needs at least one operand.")
    args = tuple([scalar_dtype(float) if x is None else x for x in args])
    dtypes, are_weak = [dtype_of(x) for x in args], [_is_weak(x) for x in args]
    if len(args) == 2:
        dtype, weak_type = promote_pair(dtypes[0], are_weak[0], dtypes[1], are_weak[1])
    elif len(args) == 1 and are_weak[0] and dtypes[0] != bool_dtype:  # a weak int8 is the default int, as in any operation on it
        dtype, weak_type = _default_of_kind(dtypes[0]), True
    else:
        dtype, weak_type = _promote_all(dtypes, are_weak)
    return (dtype, weak_type) if return_weak_type_flag else dtype


def _is_weak(x: ArrayLike) -> bool:
    return _is_weak_type(x) or is_weakly_typed(x)


def _is_weak_type(x: ArrayLike) -> bool:
    return x is int or x is float or x is complex
