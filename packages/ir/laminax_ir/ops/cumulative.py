"""Cumulative reductions: element i of the result combines elements 0 to i along one axis (or i to the last, in reverse)."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.dtype_kinds import check_dtype
from laminax_ir.ops.loops import scan
from laminax_ir.ops.shape import concatenate, expand_dims, reshape, rev, squeeze, transpose
from laminax_ir.ops.slicing import index_in_dim, slice_in_dim
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.pytrees import pytree
from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import as_int, with_name
from laminax_ir.types.avals import ShapedArray, get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def _cumulative(name: str, kinds: tuple) -> Primitive:
    primitive = Primitive(name, family="cumulative")

    @shape_rule(primitive)
    def rule(x: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        check_dtype(name, x.dtype, kinds)
        if not 0 <= axis < x.ndim:
            raise ValueError(f"{name}: axis {axis} is out of range for {x.str_short()}, which has {x.ndim} axes; "
                             "negative axes are not allowed")
        return x

    return primitive


cumsum_p = _cumulative("cumsum", (dtypes.number,))
cumprod_p = _cumulative("cumprod", (dtypes.number,))
cummax_p = _cumulative("cummax", (dtypes.number,))
cummin_p = _cumulative("cummin", (dtypes.number,))
cumlogsumexp_p = _cumulative("cumlogsumexp", (dtypes.inexact,))


def _cumulative_function(primitive: Primitive, name: str, text: str, accepted: str, at: str, shown: str) -> Callable:
    def fun(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
        return primitive.bind(operand, axis=as_int(name, "axis", axis), reverse=bool(reverse))

    fun.__doc__ = f"""Cumulative {text} along an axis.

    Args:
      operand: an array of {accepted}.
      axis: the axis, non-negative.
      reverse: whether to start at the end of the axis.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ValueError: if the axis is out of range.
      TypeError: if the operand is not of {accepted}.

    Example:
      >>> {name}(np.float32({at}))
      array({shown}, dtype=float32)
    """
    return with_name(fun, name)


cumsum = _cumulative_function(cumsum_p, "cumsum", "sum", "numbers",
                              "[1, 2, 3]", "[1., 3., 6.]")
cumprod = _cumulative_function(cumprod_p, "cumprod", "product", "numbers",
                               "[1, 2, 3]", "[1., 2., 6.]")
cummax = _cumulative_function(cummax_p, "cummax", "maximum, NaN from the first NaN on,", "numbers",
                              "[1, 3, 2]", "[1., 3., 3.]")
cummin = _cumulative_function(cummin_p, "cummin", "minimum, NaN from the first NaN on,", "numbers",
                              "[3, 1, 2]", "[3., 1., 1.]")
cumlogsumexp = _cumulative_function(cumlogsumexp_p, "cumlogsumexp", "log(sum(exp(x)))", "floating or complex numbers",
                                    "[0, 0, 0]", "[0.       , 0.6931472, 1.0986123]")


# Any associative operation


@api_boundary
def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Scan by an associative operation in logarithmic depth.

    Combines neighbours, scans the half as many pairs, and fills in the elements between (Blelloch, "Prefix sums and
    their applications", 1990).

    Args:
      fn: takes two pytrees like elems, slices of equal size along the axis, and returns one; must be associative and
        work on all elements of a slice at once.
      elems: an array or pytree of arrays with equal sizes along the axis.
      reverse: whether to start at the end.
      axis: the axis.

    Returns:
      A pytree like elems, of the same shapes and dtypes: element i combines elements 0 to i.

    Raises:
      TypeError: if fn is not callable.
      ValueError: if the sizes along the axis differ, or there is no array.

    Example:
      >>> associative_scan(elementwise.add, np.arange(5, dtype=np.int32))
      array([ 0,  1,  3,  6, 10], dtype=int32)
    """
    if not callable(fn):
        raise TypeError(f"lax.associative_scan: fn argument should be callable, got {fn!r}")
    flat, treedef = pytree.tree_flatten(elems)
    avals, axis = [get_aval(x) for x in flat], as_int("associative_scan", "axis", axis)
    if not avals:
        raise ValueError(f"associative_scan: elems has no array, got {elems!r}")
    axes = {axis + aval.ndim if axis < 0 else axis for aval in avals}
    for aval in avals:
        if not -aval.ndim <= axis < aval.ndim:
            raise ValueError(f"associative_scan: axis {axis} is out of bounds for array of dimension {aval.ndim}, {aval.str_short()}")
    if len(axes) != 1 or len({aval.shape[axis] for aval in avals}) != 1:
        raise ValueError(f"Array inputs to associative_scan must have the same first dimension, which is axis {axis}, got "
                         f"{', '.join(aval.str_short() for aval in avals)}")

    def combine(a: list, b: list) -> list:
        result = fn(pytree.tree_unflatten(treedef, a), pytree.tree_unflatten(treedef, b))
        return pytree.tree_flatten(result)[0]

    return pytree.tree_unflatten(treedef, scan_associatively(combine, flat, axes.pop(), reverse))


def scan_associatively(combine: Callable[[list, list], list], arrays: Sequence, axis: int, reverse: bool = False) -> list:
    """`associative_scan` on flat lists, unchecked.

    Args:
      combine: takes two lists of slices and returns one.
      arrays: a list of arrays of equal sizes along the axis.
      axis: the axis, not negative.
      reverse: whether to start at the end.

    Returns:
      A list of arrays of the same shapes.
    """
    if reverse:
        flipped = scan_associatively(combine, [rev(x, (axis,)) for x in arrays], axis)
        return [rev(x, (axis,)) for x in flipped]
    size = arrays[0].shape[axis]
    if type(size) is SymbolicDim:
        return _scan_in_order(combine, arrays, axis)
    if size < 2:
        return list(arrays)
    part = functools.partial(_part, axis=axis)
    pairs = combine([part(x, 0, size - 1, 2) for x in arrays], [part(x, 1, size, 2) for x in arrays])
    odd = scan_associatively(combine, pairs, axis)
    # Even places from the third on: what the odd place before has, and the element itself.
    before = odd if size % 2 else [part(x, 0, size // 2 - 1) for x in odd]
    rest = combine(before, [part(x, 2, size, 2) for x in arrays]) if size > 2 else [part(x, 0, 0) for x in arrays]
    even = [concatenate([part(x, 0, 1), y], axis) for x, y in zip(arrays, rest)]
    return [_interleaved(x, y, axis) for x, y in zip(even, odd)]


def _scan_in_order(combine: Callable[[list, list], list], arrays: Sequence, axis: int) -> list:
    """The scan as a loop over single elements, for a symbolic number of them: the tree of combinations depends on it."""
    def step(total: list, element: list) -> tuple[list, list]:
        kept = combine(total, element)
        return kept, kept

    elements = [expand_dims(transpose(x, _first(axis, get_aval(x).ndim)), (axis + 1,)) for x in arrays]  # of size 1, as `combine` takes
    first = [index_in_dim(x, 0, 0, keepdims=False) for x in elements]
    _, rest = scan(step, first, [slice_in_dim(x, 1, None, 1, 0) for x in elements])
    whole = [concatenate([expand_dims(x, (0,)), y], 0) for x, y in zip(first, rest)]
    squeezed = [squeeze(x, (axis + 1,)) for x in whole]
    return [transpose(x, sorted(range(x.ndim), key=_first(axis, x.ndim).__getitem__)) for x in squeezed]


def _first(axis: int, rank: int) -> tuple[int, ...]:
    """The order of axes with one of them first."""
    return axis, *(i for i in range(rank) if i != axis)


def _part(x: ArrayLike, start: int, limit: int, stride: int = 1, *, axis: int) -> Array:
    return slice_in_dim(x, start, limit, stride, axis)


def _interleaved(even: ArrayLike, odd: ArrayLike, axis: int) -> Array:
    """The array whose even and odd places along the axis are these."""
    size = even.shape[axis] + odd.shape[axis]
    if size % 2:
        odd = concatenate([odd, _part(even, 0, 1, axis=axis)], axis)  # a filler, cut off below
    pairs = concatenate([expand_dims(even, (axis + 1,)), expand_dims(odd, (axis + 1,))], axis + 1)
    joined = reshape(pairs, (*pairs.shape[:axis], 2 * pairs.shape[axis], *pairs.shape[axis + 2:]))
    return _part(joined, 0, size, axis=axis) if size % 2 else joined
