"""Images, and arrays of any rank, at another size: each axis is multiplied by a matrix of interpolation weights.

The weights are a kernel's values at the distances of the input's pixels; where the image shrinks, the kernel is stretched,
so that all pixels count (antialiasing). Pixel i covers the interval from i to i + 1.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.ops.contraction import Precision
from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import canonical_axes, ensure_array, inexact, shape_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class ResizeMethod(enum.Enum):
    """How pixels between those of an image are interpolated."""
    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of a name: "nearest", "linear", "bilinear", "trilinear", "triangle", "cubic", "bicubic", "tricubic",
        "cubic-pytorch", "bicubic-pytorch", "lanczos3", "lanczos5" or "area".

        Raises:
          ValueError: for another one.
        """
        try:
            return _METHODS[s]
        except KeyError:
            raise ValueError(f'Unknown resize method "{s}". The names are {", ".join(_METHODS)}.') from None


_METHODS = {
    "nearest": ResizeMethod.NEAREST, **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH), "area": ResizeMethod.AREA}


# --- kernels, of the distance in pixels ---


def _triangle(x: ArrayLike) -> Array:
    return jnp.maximum(0, 1 - x)


def _lanczos(radius: float) -> Callable:
    def kernel(x: ArrayLike) -> Array:
        return jnp.where(x < radius, jnp.sinc(x) * jnp.sinc(x / radius), 0)
    return kernel


def _keys_cubic(x: Any) -> Any:
    """R. Keys, "Cubic Convolution Interpolation for Digital Image Processing", IEEE Trans. ASSP 29 (1981), with a = -1/2."""
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return jnp.where(x < 1, near, jnp.where(x < 2, far, 0))


def _steep_cubic(x: Any) -> Any:
    """The cubic kernel of PyTorch and OpenCV without antialiasing: Keys' with a = -3/4."""
    near = (1.25 * x - 2.25) * x * x + 1
    far = ((-0.75 * x + 3.75) * x - 6) * x + 3
    return jnp.where(x < 1, near, jnp.where(x < 2, far, 0))


_KERNELS = {ResizeMethod.LINEAR: _triangle, ResizeMethod.LANCZOS3: _lanczos(3.0), ResizeMethod.LANCZOS5: _lanczos(5.0),
            ResizeMethod.CUBIC: _keys_cubic, ResizeMethod.CUBIC_PYTORCH: _steep_cubic}


def _weights(size: int, new_size: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool, dtype: Any) -> Any:
    """[size, new_size]: how much each pixel counts in each new one. What lies outside of the image is 0."""
    scale, translation = jnp.asarray(scale, dtype=dtype), jnp.asarray(translation, dtype=dtype)
    inverse = 1 / scale
    stretch = jnp.maximum(inverse, 1) if antialias else jnp.ones((), dtype)
    place = (jnp.arange(new_size, dtype=dtype) + 0.5) * inverse - translation * inverse - 0.5
    if method is ResizeMethod.CUBIC_PYTORCH:
        return _normalized(_padded_weights(size, place, _KERNELS[method], dtype))
    if method is ResizeMethod.AREA:
        weights = _overlaps(size, place, inverse, dtype)
    else:
        weights = _KERNELS[method](jnp.abs(place[None, :] - jnp.arange(size, dtype=dtype)[:, None]) / stretch).astype(dtype)
    weights = _normalized(weights)
    return jnp.where((place >= -0.5) & (place <= size - 0.5), weights, 0)


def _normalized(weights: Array) -> Array:
    """Weights whose sum is 1 for each new pixel, or 0 where there are none."""
    total = jnp.sum(weights, axis=0, keepdims=True)
    is_enough = jnp.abs(total) > 1000 * float(np.finfo(np.float32).eps)
    return jnp.where(is_enough, weights / jnp.where(total != 0, total, 1), 0)


def _padded_weights(size: int, place: Any, kernel: Callable, dtype: Any) -> Array:
    """The weights for an image that its edges continue: what pixels beyond an edge would weigh is added to the pixel at the edge."""
    around = np.arange(-2, size + 2)
    weights = kernel(jnp.abs(place[None, :] - jnp.asarray(around, dtype=dtype)[:, None])).astype(dtype)
    before, inside, behind = weights[:2], weights[2:-2], weights[-2:]
    edges = jnp.zeros_like(inside).at[0].add(before.sum(0)).at[-1].add(behind.sum(0))
    return inside + edges


def _overlaps(size: int, place: Any, width: Any, dtype: Any) -> Array:
    """How much of each pixel lies within the interval of each new one, which has the given width."""
    left, pixels = (place + 0.5 - width / 2)[None, :], jnp.arange(size, dtype=dtype)[:, None]
    return jnp.maximum(0, jnp.minimum(left + width, pixels + 1) - jnp.maximum(left, pixels)).astype(dtype)


def scale_and_translate(image: ArrayLike, shape: Sequence[int], spatial_dims: Sequence[int], scale: ArrayLike, translation: Any,
                        method: str | ResizeMethod, antialias: bool = True, precision: Any = Precision.HIGHEST) -> Array:
    """An image scaled and shifted along some axes: what is at x goes to x * scale + translation.

    Args:
      image: an array.
      shape: the result's shape.
      spatial_dims: the axes; along the others, the sizes stay.
      scale: [len(spatial_dims)].
      translation: [len(spatial_dims)].
      method: a `ResizeMethod` or its name, not "nearest".
      antialias: whether all pixels count where the image shrinks.
      precision: of the products.

    Returns:
      An array of the shape, floating; 0 where nothing of the image is.

    Raises:
      ValueError: if the method is unknown or "nearest", or the shapes do not fit.
    """
    method = _method(method)
    if method is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate: the method must not be 'nearest'; use resize")
    image = ensure_array("scale_and_translate", image)
    rank = len(shape_of(image))
    shape = canonical_shape("scale_and_translate", shape)
    if len(shape) != rank:
        raise ValueError(f"scale_and_translate: shape must have length equal to the number of dimensions of the image, got {shape} for "
                         f"{get_aval(image).str_short()}")
    axes = canonical_axes("scale_and_translate", spatial_dims, rank)
    for name, given in (("scale", scale), ("translation", translation)):
        if np.shape(given) != (len(axes),):
            raise ValueError(f"scale_and_translate: {name} must have one element for each of the axes {axes}, got shape {np.shape(given)}")
    for i, (old, new) in enumerate(zip(shape_of(image), shape)):
        if old != new and i not in axes:
            raise ValueError(f"scale_and_translate: axis {i} is not in spatial_dims, and its size is to change from {old} to {new}")
    return _scaled(image, jnp.asarray(scale), jnp.asarray(translation), shape=shape, axes=axes, method=method, antialias=bool(antialias),
                   precision=precision)


def _method(method: str | ResizeMethod) -> ResizeMethod:
    if isinstance(method, str):
        return ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise TypeError(f"the method must be a ResizeMethod or its name, got {method!r}")
    return method


@fused(static_argnames=("shape", "axes", "method", "antialias", "precision"))
def _scaled(image: ArrayLike, scale: Any, translation: ArrayLike, shape: tuple[int, ...], axes: tuple[int, ...], method: ResizeMethod,
            antialias: bool, precision: Precision) -> Array:
    image = jnp.asarray(inexact("resize", image))
    if method is ResizeMethod.CUBIC_PYTORCH and antialias:
        method = ResizeMethod.CUBIC  # as PyTorch has it
    real = dtypes.to_floating_dtype(image.dtype)
    for position, axis in enumerate(axes):
        weights = _weights(image.shape[axis], shape[axis], scale[position], translation[position], method, antialias, real)
        moved = jnp.tensordot(image, weights.astype(image.dtype), ((axis,), (0,)), precision=precision)
        image = jnp.moveaxis(moved, -1, axis)
    return image


def resize(image: ArrayLike, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True,
           precision: Any = Precision.HIGHEST) -> Array:
    """An image at another size.

    Args:
      image: an array.
      shape: the result's shape, of as many axes.
      method: a `ResizeMethod` or its name: "nearest", "linear", "cubic", "cubic-pytorch" (another kernel and padded edges without
        antialiasing), "lanczos3", "lanczos5", "area" (the average of what a new pixel covers) and their synonyms.
      antialias: whether all pixels count where the image shrinks; not with "nearest".
      precision: of the products.

    Returns:
      An array of the shape, floating; with "nearest", of the image's dtype.

    Raises:
      ValueError: if the method is unknown, or the ranks differ.

    Example:
      >>> resize(numpy.arange(4.), (2,), "linear")
      Array([0.7142857, 2.2857144], dtype=float32)
    """
    method = _method(method)
    image = ensure_array("resize", image)
    old, shape = shape_of(image), canonical_shape("resize", shape)
    if len(shape) != len(old):
        raise ValueError(f"resize: shape must have length equal to the number of dimensions of the image, got {shape} for "
                         f"{get_aval(image).str_short()}")
    axes = tuple(i for i, (n, m) in enumerate(zip(old, shape)) if n != m)
    if method is ResizeMethod.NEAREST:
        return _nearest(image, shape=shape)
    ratios: list[Any] = [shape[i] / old[i] for i in axes]
    if is_constant_shape((*shape, *old)):
        scale = jnp.asarray(np.array(ratios, np.float64), dtype=dtypes.scalar_dtype(float))
    else:
        scale = jnp.stack([jnp.asarray(ratio, dtype=dtypes.scalar_dtype(float)) for ratio in ratios])
    return _scaled(image, scale, jnp.zeros(len(axes)), shape=shape, axes=axes,
                   method=method, antialias=bool(antialias), precision=precision)


@fused(static_argnames=("shape",))
def _nearest(image: ArrayLike, shape: tuple[int, ...]) -> Array:
    """The pixel in whose area the middle of each new one lies: repeated, where an axis grows by a whole factor, which needs no gather."""
    image = jnp.asarray(image)
    for axis, (old, new) in enumerate(zip(image.shape, shape)):
        if not is_constant_shape((old, new)):
            image = jnp.take(image, (2 * jnp.arange(new) + 1) * old // (2 * new), axis=axis)
        elif old != new and not _is_multiple(new, old):
            places = np.floor((np.arange(new) + 0.5) * old / new).astype(np.int32)
            image = jnp.take(image, places, axis=axis, mode="promise_in_bounds")
    return image if image.shape == shape else _repeated(image, shape)


def _is_multiple(new: int, old: int) -> bool:
    return old > 0 and new % old == 0


def _repeated(image: Array, shape: tuple[int, ...]) -> Array:
    """Each pixel as often as fits, of a shape that is a multiple of the image's, along all axes at once: the gradient is one sum."""
    apart = [size for old, new in zip(image.shape, shape) for size in ((old, new // old) if old != new else (old,))]
    kept = [size for old, new in zip(image.shape, shape) for size in ((old, 1) if old != new else (old,))]
    return jnp.broadcast_to(image.reshape(kept), apart).reshape(shape)
