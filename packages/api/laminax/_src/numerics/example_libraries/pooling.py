"""Pooling layers: one value for each window of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops import convolution, shape_tuples, windows
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.reduction import identity
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.example_libraries.layers import Layer
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def MaxPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID",
            spec: str | None = None) -> Layer:
    """The largest element of each window.

    Args:
      window_shape: n sizes.
      strides: n steps between windows; 1 by default.
      padding: "VALID", "SAME", "SAME_LOWER", or a pair (low, high) for each of the n + 2 axes.
      spec: the n + 2 axes, of which "N" is the batch's and "C" the channels'; by default these are the first and the last.

    Returns:
      A layer without parameters.

    Raises:
      ValueError: if window_shape, strides and spec do not fit each other.

    Example:
      >>> init_fun, apply_fun = MaxPool((2, 2), strides=(2, 2))
      >>> init_fun(random.key(0), (8, 28, 28, 3))
      ((8, 14, 14, 3), ())
    """
    init_fun, reduce_windows = _pooling("MaxPool", "max", window_shape, strides, padding, spec)
    return init_fun, lambda params, inputs, **kwargs: reduce_windows(inputs)


def SumPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID",
            spec: str | None = None) -> Layer:
    """The sum of each window. Args, Returns and Raises as of `MaxPool`."""
    init_fun, reduce_windows = _pooling("SumPool", "sum", window_shape, strides, padding, spec)
    return init_fun, lambda params, inputs, **kwargs: reduce_windows(inputs)


def AvgPool(window_shape: Sequence[int], strides: Sequence[int] | None = None, padding: Any = "VALID",
            spec: str | None = None) -> Layer:
    """The mean of each window, without its padding. Args, Returns and Raises as of `MaxPool`."""
    init_fun, reduce_windows = _pooling("AvgPool", "sum", window_shape, strides, padding, spec)
    others = _batch_and_channels(len(window_shape), spec)

    def apply_fun(params: tuple[Any, ...], inputs: ArrayLike, **kwargs: Any) -> Array:
        aval = get_aval(inputs)
        image = jnp.ones([1 if axis in others else size for axis, size in enumerate(aval.shape)], aval.dtype)
        return reduce_windows(inputs) / reduce_windows(image)

    return init_fun, apply_fun


def _pooling(name: str, monoid: str, window_shape: Sequence[int], strides: Sequence[int] | None, padding: Any,
             spec: str | None) -> tuple[Callable, Callable]:
    """A pooling layer's init_fun, and the function that reduces the windows of its inputs."""
    rank = len(window_shape)
    if strides and len(strides) != rank:
        raise ValueError(f"{name}: strides must have one step for each of the {rank} axes of window_shape, got {strides}")
    if spec is not None and not (len(spec) == rank + 2 and "N" in spec and "C" in spec):
        raise ValueError(f"{name}: spec must have {rank + 2} letters, among them 'N' and 'C', for a window of {rank} axes, got {spec!r}")
    others = _batch_and_channels(rank, spec)
    window, steps = _with_ones(window_shape, others), _with_ones(strides or (1,) * rank, others)

    def init_fun(rng: ArrayLike, input_shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        if len(input_shape) != rank + 2:
            raise ValueError(f"{name}: the input's shape must have {rank + 2} sizes for a window of {rank} axes, got {tuple(input_shape)}")
        unknown = [axis for axis in others if input_shape[axis] < 0]  # a batch of -1, which the window leaves as it is
        shape = [1 if axis in unknown else size for axis, size in enumerate(input_shape)]
        pads = convolution.padtype_to_pads(shape, window, steps, padding) if isinstance(padding, str) else padding
        result = shape_tuples.reduce_window_shape_tuple(shape, window, steps, pads)
        return tuple([input_shape[axis] if axis in unknown else size for axis, size in enumerate(result)]), ()

    def reduce_windows(inputs: ArrayLike) -> Array:
        return windows.reduce_window(inputs, identity(monoid, get_aval(inputs).dtype), _REDUCERS[monoid], window, steps, padding)

    return init_fun, reduce_windows


_REDUCERS = {"max": op.max, "sum": op.add}


def _batch_and_channels(rank: int, spec: str | None) -> tuple[int, int]:
    return (0, rank + 1) if spec is None else (spec.index("N"), spec.index("C"))


def _with_ones(sizes: Sequence[int], axes: tuple[int, int]) -> tuple[int, ...]:
    """The sizes of all axes: 1 for the given ones, and in turn the given sizes for the others."""
    rest = iter(sizes)
    return tuple([1 if axis in axes else next(rest) for axis in range(len(sizes) + 2)])
