"""Einstein summation: any product of arrays summed over named axes, as a sequence of products of two.

Each step contracts two operands with one `dot_general`: names in both and needed later are batch axes, names in both and
not needed later are contracted. The order of steps is greedy, the pair whose product is smallest against its operands
first, as in Daniel Smith and Johnnie Gray's "opt_einsum" (JOSS, 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.functions import operators
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.contraction import dot_general
from laminax_ir.ops.reduction import reduce_or, reduce_sum
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, split_result
from laminax._src.numerics.numpy.arguments import (
    convert,
    dtype_of,
    ensure_array,
    ensure_arrays,
    promote_dtypes,
    refuse_out,
    shape_of,
    user_dtype,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike, DTypeLike

Path = tuple[tuple[int, ...], ...]


def einsum(subscripts: Any, /, *operands: Any, out: None = None, optimize: Any = "auto", precision: str | None = None,
           preferred_element_type: DTypeLike | None = None, _dot_general: Any = dot_general, out_sharding: Any = None) -> Array:
    """Sums products of arrays over named axes.

    Args:
      subscripts: a name (a letter) for each axis of each operand, "ij,jk->ik": an axis whose name is missing after the
        arrow is summed over. "..." stands for further axes, which are broadcast. Without an arrow the result has the
        names that occur once, in alphabetical order. Instead of a string, operands may alternate with lists of integers.
      *operands: the arrays.
      out: must be None.
      optimize: the order of the products: "auto", "greedy" or True for the greedy one, "optimal" for the cheapest, which takes
        long to find for more than about 8 operands, False for left to right, or a list of which operands (by number, results
        going to the end) to multiply at each step.
      precision: see `lax.Precision`.
      preferred_element_type: the dtype to sum in and return.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Raises:
      ValueError: if the subscripts are malformed or do not fit the operands.

    Example:
      >>> einsum("ij,jk->ik", ones((2, 3)), ones((3, 4))).shape
      (2, 4)
    """
    refuse_out("einsum", out)
    if out_sharding is not None:
        return split_result("einsum", out_sharding, lambda: einsum(subscripts, *operands, optimize=optimize, precision=precision,
                                                               preferred_element_type=preferred_element_type, _dot_general=_dot_general),
                            leaves_sums=_has_one_product((subscripts, *operands)))
    text, arrays = _as_text(subscripts, operands)
    arrays = list(ensure_arrays("einsum", *arrays))
    inputs, output, sizes = _parse(text, [shape_of(x) for x in arrays])
    path = _path(optimize, inputs, output, sizes)
    if isinstance(precision, list):
        precision = tuple(precision)
    return _einsum(arrays, inputs=inputs, output=output, path=path, precision=precision,
                   preferred=user_dtype("einsum", preferred_element_type), multiply=_dot_general)


def _has_one_product(operands: Sequence) -> bool:
    """Whether at most two arrays are multiplied, so that nothing is summed that is a sum already."""
    return sum(not isinstance(x, (str, list, tuple)) for x in operands) <= 2


@fused(static_argnames=("inputs", "output", "path", "precision", "preferred", "multiply"))
def _einsum(arrays: Sequence[Any], inputs: tuple[str, ...], output: str, path: tuple[tuple[int, ...], ...], precision: str | None,
            preferred: np.dtype | None, multiply: Callable) -> Array:
    if preferred is None:
        preferred, weak = dtypes.result_type(*arrays, return_weak_type_flag=True)
    else:
        weak = False
    arrays = promote_dtypes("einsum", *arrays)
    terms = [_with_own_names(x, names) for x, names in zip(arrays, inputs)]
    for step in path:
        chosen = [terms[i] for i in step]
        terms = [term for i, term in enumerate(terms) if i not in step]
        needed = set(output).union(*[names for _, names in terms])
        if len(chosen) == 1:
            terms.append(_summed(*chosen[0], needed))
            continue
        product = chosen[0]
        for i, other in enumerate(chosen[1:], 2):
            later = needed.union(*[names for _, names in chosen[i:]])
            product = _product(product, other, later, precision, preferred, multiply)
        terms.append(product)
    x, names = _summed(*terms[0], set(output))
    if names != output:
        x = shape_ops.transpose(x, tuple(names.index(name) for name in output))
    return op.convert_element_type(x, preferred, weak_type=weak) if dtype_of(x) != preferred or get_aval(x).weak_type != weak else x


def _with_own_names(x: Any, names: str) -> tuple[Any, str]:
    """The operand with the diagonal taken where a name occurs twice."""
    x = ensure_array("einsum", x)
    while len(set(names)) != len(names):
        name = next(n for n in names if names.count(n) > 1)
        first = names.index(name)
        second = names.index(name, first + 1)
        shape = shape_of(x)
        if shape[first] != shape[second]:  # one of them is 1
            x = shape_ops.broadcast_to_shape(x, tuple(max(shape[first], shape[second]) if i in (first, second) else n
                                                      for i, n in enumerate(shape)))
        x = _diagonal(x, first, second)
        names = names[:second] + names[second + 1:]
    return x, names


def _diagonal(x: Any, first: int, second: int) -> Any:
    """The diagonal along two axes, in the place of the first: a mask and a sum, which differentiate well."""
    shape = shape_of(x)
    mask = op.eq(shape_ops.broadcasted_iota(np.int32, shape, first), shape_ops.broadcasted_iota(np.int32, shape, second))
    x = op.select(mask, x, shape_ops.full(shape, 0, dtype_of(x)))
    return (reduce_or if dtype_of(x) == np.bool_ else reduce_sum)(x, (second,))


def _summed(x: Any, names: str, needed: set[str]) -> tuple[Any, str]:
    """The term summed over the names nobody needs."""
    axes = tuple(i for i, name in enumerate(names) if name not in needed)
    if not axes:
        return x, names
    reduce = reduce_or if dtype_of(x) == np.bool_ else reduce_sum
    return reduce(x, axes), "".join(name for name in names if name in needed)


def _product(left: tuple[Any, str], right: tuple[Any, str], needed: set[str], precision: str | None, preferred: np.dtype,
             multiply: Callable) -> tuple[Any, str]:
    (x, x_names), (y, y_names) = left, right
    x, x_names = _summed(x, x_names, needed | set(y_names))
    y, y_names = _summed(y, y_names, needed | set(x_names))
    # A name of size 1 on one side is broadcast: the side without its axis does the same.
    for name in [n for n in x_names if n in y_names]:
        m, n = shape_of(x)[x_names.index(name)], shape_of(y)[y_names.index(name)]
        if m != n and m == 1:
            x, x_names = shape_ops.squeeze(x, (x_names.index(name),)), x_names.replace(name, "")
        elif m != n:
            y, y_names = shape_ops.squeeze(y, (y_names.index(name),)), y_names.replace(name, "")
    x, x_names = _summed(x, x_names, needed | set(y_names))
    y, y_names = _summed(y, y_names, needed | set(x_names))
    shared = [n for n in x_names if n in y_names]
    batch = [n for n in shared if n in needed]
    contracted = [n for n in shared if n not in needed]
    names = "".join(batch) + "".join(n for n in x_names if n not in shared) + "".join(n for n in y_names if n not in shared)
    if not contracted:  # a plain product of elements, without a sum
        return _elementwise(x, x_names, y, y_names, names, preferred), names
    numbers = ((tuple(map(x_names.index, contracted)), tuple(map(y_names.index, contracted))),
               (tuple(map(x_names.index, batch)), tuple(map(y_names.index, batch))))
    return multiply(x, y, numbers, precision, preferred), names


def _elementwise(x: Any, x_names: str, y: Any, y_names: str, names: str, preferred: np.dtype) -> Any:
    aligned = []
    for value, own in ((x, x_names), (y, y_names)):
        order = sorted(range(len(own)), key=lambda i: names.index(own[i]))
        value = shape_ops.transpose(value, tuple(order)) if order != list(range(len(own))) else value
        missing = tuple(i for i, name in enumerate(names) if name not in own)
        value = shape_ops.expand_dims(value, missing) if missing and own else value
        aligned.append(convert(value, preferred) if preferred is not None and dtype_of(value) != preferred else value)
    return operators.multiply(*aligned)


# --- subscripts ---


def _as_text(subscripts: Any, operands: tuple) -> tuple[str, list]:
    """The subscripts as a string and the operands, from either way of giving them."""
    if isinstance(subscripts, str):
        return subscripts.replace(" ", ""), list(operands)
    given = [subscripts, *operands]
    arrays, lists = given[0:len(given) - len(given) % 2:2], given[1::2]
    output = [given[-1]] if len(given) % 2 else []
    letters = _letters([*lists, *output])
    parts = ["".join(letters[name] for name in names) for names in [*lists, *output]]
    return "->".join([",".join(parts[:len(lists)]), *parts[len(lists):]]), arrays


def _letters(lists: Sequence[Sequence]) -> dict[Any, str]:
    """A letter for each name of an axis, in the order of the names.

    Raises:
      TypeError: if the names have no order.
    """
    try:
        ordered = sorted({name for names in lists for name in names if name is not Ellipsis})
    except TypeError as error:
        raise TypeError("einsum: an axis is named by Ellipsis, or by a hashable value that compares with the other names, such as ints "
                        f"or strings; got {', '.join(str(list(names)) for names in lists)}. Number the axes.") from error
    return {Ellipsis: "...", **{name: _letter(number) for number, name in enumerate(ordered)}}


def _letter(number: int) -> str:
    return chr(ord("a") + number) if number < 26 else chr(ord("A") + number - 26) if number < 52 else chr(192 + number)


def _parse(text: str, shapes: list[tuple[int, ...]]) -> tuple[tuple[str, ...], str, dict[str, int]]:
    """The names of each operand's axes, those of the result's, and the sizes; ellipses are replaced by names.

    Raises:
      ValueError: if the subscripts are malformed or do not fit the shapes.
    """
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(shapes):
        raise ValueError(f"einsum: the subscripts {text!r} are for {len(inputs)} operands, got {len(shapes)}")
    used = set(left) | set(right)
    spare = [c for c in map(_letter, range(200)) if c not in used]
    widest = 0
    for names, shape in zip(inputs, shapes):
        if "..." in names:
            widest = max(widest, len(shape) - len(names.replace("...", "", 1)))
    ellipsis = "".join(spare[:widest])
    expanded = []
    for names, shape in zip(inputs, shapes):
        if "..." in names:
            count = len(shape) - (len(names) - 3)
            if count < 0:
                raise ValueError(f"einsum: {names!r} in {text!r} names more axes than an operand of shape {shape} has")
            names = names.replace("...", ellipsis[widest - count:], 1)
        if len(names) != len(shape):
            raise ValueError(f"einsum: {names!r} in {text!r} names {len(names)} axes of an operand of shape {shape}")
        expanded.append(names)
    everything = "".join(expanded)
    if bad := [c for c in everything + right.replace("...", "") if c in ".->"]:
        raise ValueError(f"einsum: {bad[0]!r} in {text!r} names no axis; write `...` once per operand, `->` once")
    if not arrow:
        output = ellipsis + "".join(sorted(c for c in set(everything) if everything.count(c) == 1 and c not in ellipsis))
    else:
        output = right.replace("...", ellipsis, 1)
    if len(set(output)) != len(output):
        raise ValueError(f"einsum: a name occurs twice in the result of {text!r}")
    if unknown := set(output) - set(everything):
        raise ValueError(f"einsum: the name {unknown.pop()!r} of the result of {text!r} is not in any operand")
    sizes: dict[str, int] = {}
    for names, shape in zip(expanded, shapes):
        for name, size in zip(names, shape):
            if sizes.setdefault(name, size) != size and 1 not in (sizes[name], size):
                raise ValueError(f"einsum: the name {name!r} in {text!r} has sizes {sizes[name]} and {size}; operand shapes are "
                                 f"{', '.join(map(str, shapes))}")
            if sizes[name] == 1:
                sizes[name] = size
    return tuple(expanded), output, sizes


def _path(optimize: Any, inputs: Sequence[str], output: str, sizes: dict[str, int]) -> Path:
    """Which terms are multiplied at each step, by number; results go to the end."""
    if isinstance(optimize, (list, tuple)):
        return tuple(tuple(step) for step in optimize if not isinstance(step, str))
    count = len(inputs)
    if count == 1:
        return ((0,),)
    if count == 2:
        return ((0, 1),)
    if optimize is False:
        return tuple((0, count - 1 - i) if i else (0, 1) for i in range(count - 1))
    if optimize is not True and optimize not in ("auto", "greedy", "optimal"):
        raise ValueError(f"einsum: optimize must be 'auto', 'greedy', 'optimal', a bool or a path, got {optimize!r}")
    if optimize == "optimal":
        return tuple(_numpys_path(inputs, output, sizes, optimize)[0])
    return _greedy_path(list(inputs), output, sizes)


def _greedy_path(terms: list[str], output: str, sizes: dict[str, int]) -> Path:
    steps = []
    while len(terms) > 1:
        best = None
        for i in range(len(terms)):
            for j in range(i + 1, len(terms)):
                others = set(output).union(*[t for k, t in enumerate(terms) if k not in (i, j)])
                kept = (set(terms[i]) | set(terms[j])) & others
                cost = _count(kept, sizes) - _count(terms[i], sizes) - _count(terms[j], sizes)
                is_apart = not set(terms[i]) & set(terms[j])  # outer products last
                if best is None or (is_apart, cost) < best[0]:
                    best = (is_apart, cost), (i, j), "".join(sorted(kept))
        assert best is not None
        _, step, kept_names = best
        steps.append(step)
        terms = [t for k, t in enumerate(terms) if k not in step] + [kept_names]
    return tuple(steps)


def _count(names: Any, sizes: dict[str, int]) -> int:
    return math.prod(sizes[name] for name in set(names))


def einsum_path(subscripts: str, /, *operands: ArrayLike, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """The order in which `einsum` would multiply, and a description of it.

    Args:
      subscripts, *operands: as for `einsum`.
      optimize: as for `einsum`.

    Returns:
      A list of which operands are multiplied at each step, as `einsum` takes for `optimize`, and a text: NumPy's, with the number of
      operations of each step.

    Example:
      >>> jnp.einsum_path("ij,jk,kl", *(jnp.ones((2, 2)),) * 3)[0]
      [(0, 1), (0, 1)]
    """
    text, arrays = _as_text(subscripts, operands)
    inputs, output, sizes = _parse(text, [shape_of(x) for x in arrays])
    path = _path(optimize, inputs, output, sizes)
    return list(path), _numpys_path(inputs, output, sizes, ["einsum_path", *path])[1]


def _numpys_path(inputs: Sequence[str], output: str, sizes: dict[str, int], optimize: Any) -> tuple[list[tuple[int, ...]], str]:
    """The steps and the text of `numpy.einsum_path`, which needs shapes only."""
    operands = [np.broadcast_to(np.float32(0), [sizes[name] for name in term]) for term in inputs]
    (_, *path), text = np.einsum_path(f"{','.join(inputs)}->{output}", *operands, optimize=optimize)
    return path, text
