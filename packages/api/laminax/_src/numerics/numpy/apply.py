"""Functions applied along axes, and mapped over broadcast arguments."""

from __future__ import annotations

import functools
import re
import warnings
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops import shape as shape_ops
from laminax_ir.ops.shape_arguments import broadcast_shapes
from laminax_ir.options import config
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.numpy.arguments import as_array, ensure_array, ensure_arrays, one_axis, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def apply_along_axis(func1d: Callable, axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Array:
    """Applies a function of a vector to each vector along an axis.

    Args:
      func1d: takes a vector, and args and kwargs; what it returns takes the place of the axis.
      axis: the axis.
      arr: an array.
      *args, **kwargs: passed on to the function.

    Example:
      >>> jnp.apply_along_axis(jnp.cumsum, 0, jnp.array([[1, 2], [3, 4]]))
      Array([[1, 2],
             [4, 6]], dtype=int32)
    """
    from laminax_transforms import vmap  # loaded when something is mapped
    arr = as_array(ensure_array("apply_along_axis", arr))
    axis = one_axis("apply_along_axis", axis, len(arr.shape))
    mapped = lambda x: func1d(x, *args, **kwargs)  # noqa: E731
    for _ in range(1, len(arr.shape) - axis):
        mapped = vmap(mapped, in_axes=-1, out_axes=-1)
    for _ in range(axis):
        mapped = vmap(mapped, in_axes=0, out_axes=0)
    return mapped(arr)


def apply_over_axes(func: Callable, a: ArrayLike, axes: Sequence[int]) -> Array:
    """Applies a function of an array and an axis once for each axis, its result to the next.

    Args:
      func: takes an array and an axis; its result has as many axes, or lacks this one, which is put back.
      a: an array.
      axes: the axes.

    Returns:
      What func returned last, with as many axes as a.

    Raises:
      ValueError: if a result of func has another number of axes.

    Example:
      >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), (0, 2)).shape
      (1, 3, 1)
    """
    a = as_array(ensure_array("apply_over_axes", a))
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        result = func(a, axis)
        if len(shape_of(result)) == len(a.shape) - 1:
            result = shape_ops.expand_dims(result, (one_axis("apply_over_axes", axis, len(a.shape)),))
        elif len(shape_of(result)) != len(a.shape):
            raise ValueError(f"apply_over_axes: the function must return an array with the axes it takes, or one less; got "
                             f"{get_aval(result).str_short()} for {get_aval(a).str_short()}")
        a = result
    return a


# --- vectorize ---

_AXIS = r"\w+"
_ARGUMENT = rf"\((?:{_AXIS}(?:,{_AXIS})*)?\)"
_SIGNATURE = re.compile(rf"^{_ARGUMENT}(?:,{_ARGUMENT})*->{_ARGUMENT}(?:,{_ARGUMENT})*$")


def vectorize(pyfunc: Callable, *, excluded: Any = frozenset(), signature: str | None = None) -> Callable:
    """Makes a function of scalars, or of arrays of given ranks, one of arrays with any further leading axes, broadcast.

    Args:
      pyfunc: the function.
      excluded: numbers and names of the arguments that are passed on as they are; without a signature None is, too.
      signature: the axes of arguments and results, "(m,n),(n)->(m)"; by default all arguments are scalars, and results are what they are.

    Returns:
      The function; leading axes are mapped with `vmap`.

    Raises:
      ValueError: if the signature is malformed, or an argument that it names is None.
      TypeError: if excluded holds other things than numbers and names.

    Example:
      >>> vectorize(lambda a, b: a * b, signature="(n),()->(n)")(ones((2, 3)), 2.).shape
      (2, 3)
    """
    if any(not isinstance(e, (str, int)) for e in excluded):
        raise TypeError(f"vectorize: jax.numpy.vectorize can only exclude integer and string arguments, but excluded={excluded!r}")
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"vectorize: excluded={set(excluded)!r} contains negative numbers; count the arguments from the first")
    parsed = None if signature is None else _parse_signature(signature)

    @functools.wraps(pyfunc)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        left_out = {e for e in excluded if isinstance(e, int) and e < len(args)}
        names = [k for k in kwargs if k not in excluded]
        absent = [i for i, x in enumerate(args) if x is None and i not in left_out]
        if absent and parsed is not None:
            raise ValueError(f"vectorize: Cannot pass None at locations {set(absent)} with {signature=}. Give arrays there, or list the "
                             "positions in excluded.")
        places = [i for i in range(len(args)) if i not in left_out and i not in absent]
        arrays = [args[i] for i in places] + [kwargs[k] for k in names]
        arrays = [as_array(x) for x in ensure_arrays("vectorize", *arrays)]

        def core(*values: Any) -> Any:
            full = list(args)
            for i, v in zip(places, values):
                full[i] = v
            return pyfunc(*full, **{**kwargs, **dict(zip(names, values[len(places):]))})

        return _vectorized(core, arrays, parsed)

    return wrapped


def _parse_signature(signature: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    text = signature.replace(" ", "")
    if not _SIGNATURE.match(text):
        raise ValueError(f"not a valid gufunc signature: {signature!r}. Expected the axes of arguments and results, such as "
                         "'(m,n),(n)->(m)'.")
    return tuple([tuple(re.findall(_AXIS, group)) for group in re.findall(_ARGUMENT, side)]  # type: ignore[return-value]
                 for side in text.split("->"))


def _vectorized(core: Callable, arrays: list, parsed: tuple[list[Any], ...] | None) -> Any:
    from laminax_transforms import vmap  # loaded when something is mapped
    inputs, outputs = parsed if parsed is not None else ([()] * len(arrays), None)
    if len(inputs) != len(arrays):
        raise TypeError(f"vectorize: wrong number of positional arguments: expected {len(inputs)}, got {len(arrays)}")
    sizes: dict[str, int] = {}
    leading = []
    for x, axes in zip(arrays, inputs):
        if len(x.shape) < len(axes):
            raise ValueError(f"vectorize: {get_aval(x).str_short()} does not have enough axes for its core axes {axes}: "
                             f"input with shape {tuple(x.shape)} does not have enough dimensions")
        split = len(x.shape) - len(axes)
        leading.append(tuple(x.shape[:split]))
        for name, size in zip(axes, x.shape[split:]):
            if sizes.setdefault(name, size) != size:
                raise ValueError(f"vectorize: inconsistent size for core dimension {name!r}: {size} vs {sizes[name]}")
    if config.numpy_rank_promotion.value != "allow" and len({len(own) for x, own in zip(arrays, leading) if x.shape}) > 1:
        _report_rank_promotion([tuple(x.shape) for x in arrays])
    shape = broadcast_shapes(*leading) if leading else ()
    squeezed = []
    for x, own in zip(arrays, leading):  # axes of size 1 are not mapped, which broadcasts them
        stretched = tuple(i for i, n in enumerate(own) if n == 1 and shape[len(shape) - len(own) + i] != 1)
        squeezed.append(shape_ops.squeeze(x, stretched))
    mapped = _checked(core, outputs, sizes)
    for axis in reversed(range(len(shape))):
        has = [len(shape) - len(own) <= axis and (own[axis - len(shape) + len(own)] != 1 or shape[axis] == 1) for own in leading]
        if any(has):
            mapped = vmap(mapped, in_axes=tuple(0 if h else None for h in has))
    return mapped(*squeezed)


def _report_rank_promotion(shapes: list) -> None:
    text = (f"vectorize: operands with shapes {shapes} require rank promotion, with the config option numpy_rank_promotion="
            f"{config.numpy_rank_promotion.value!r}. Give them the same rank with reshape or None indexing.")
    if config.numpy_rank_promotion.value == "raise":
        raise ValueError(text)
    warnings.warn(text, stacklevel=4)


def _checked(core: Callable, outputs: Sequence[tuple[str, ...]] | None, sizes: dict[str, int]) -> Callable:
    """The function with its results compared with the signature."""
    def call(*values: Any) -> Any:
        result = core(*values)
        known = dict(sizes)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        wanted: Sequence[Any] = () if outputs is None else outputs  # without a signature results may have axes of their own
        if len(wanted) > 1 and not isinstance(result, (list, tuple)):
            raise TypeError(f"vectorize: output must be a tuple, because the signature names {len(wanted)} results; got a "
                            f"{type(result).__name__}")
        if outputs is not None and len(results) != len(wanted):
            raise TypeError(f"vectorize: wrong number of output arguments: expected {len(wanted)}, got {len(results)}")
        for x, axes in zip(results, wanted):
            shape = shape_of(x)
            if len(shape) != len(axes):
                raise ValueError(f"vectorize: output shape {shape} does not match core dimensions {axes}")
            for name, size in zip(axes, shape):
                if known.setdefault(name, size) != size:
                    raise ValueError(f"vectorize: inconsistent size for core dimension {name!r}: {size} vs {known[name]}")
        return result
    return call
