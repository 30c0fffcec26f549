"""The methods and properties that arrays, tracers and arrays of keys share; `install` gives them these.

Each is a function of `laminax.numpy` with the array as its first argument, imported on first use. What needs the
values or the place of an array (`item`, `sharding`, ...) is the runtime's; the operators are the ir's.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable

import numpy as np

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.tracing.trace import Tracer
from laminax_ir.tracing.tracebacks import shorten
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_runtime import install_array_methods

from laminax._src.numerics import key_places
from laminax._src.numerics.floor import device_put


def install() -> None:
    """Sets the members on the classes of arrays, tracers and arrays of keys, once per process."""
    install_array_methods(array_method_table())
    for name, member in tracer_method_table().items():
        setattr(Tracer, name, member)
    for name, member in key_method_table().items():
        setattr(PRNGKeyArray, name, member)


def array_method_table() -> dict[str, Any]:
    """The members of concrete arrays, but for the operators."""
    return _shared_members()


def tracer_method_table() -> dict[str, Any]:
    """The members of traced arrays, but for the operators."""
    table = _shared_members()
    table["nbytes"] = property(_nbytes)
    table["itemsize"] = property(_itemsize)
    table["item"] = _traced_item
    table["tolist"] = _traced_tolist
    table["tobytes"] = _traced_tobytes
    table["block_until_ready"] = lambda self: self
    table["copy_to_host_async"] = lambda self: None
    return table


def key_method_table() -> dict[str, Any]:
    """What arrays of random keys have beside the members that the ir gives them."""
    return {"at": property(_method("at", *_PROPERTIES["at"])), "__getitem__": _key_item, **key_places.member_table()}


_item_of_words = PRNGKeyArray.__getitem__


def _key_item(keys: PRNGKeyArray, index: Any) -> Any:
    """By the words, which is fast; keys that are split over explicit mesh axes as one array, since types say how keys are split, not words."""
    if keys.aval._split is None:
        return _item_of_words(keys, index)
    from laminax._src.numerics.numpy.indexing import getitem
    try:
        found = getitem(keys, index)
    except Exception as error:
        shorten(error)
        raise
    places = index if isinstance(index, tuple) else (index,)
    has_ellipsis = any(i is Ellipsis for i in places)
    return found if isinstance(found, Tracer) else keys._with_words(found.base, lambda used: used[places if has_ellipsis else (*places, ...)])


def _shared_members() -> dict[str, Any]:
    table: dict[str, Any] = {name: _method(name, module, function) for name, (module, function) in _METHODS.items()}
    table.update({name: property(_method(name, module, function)) for name, (module, function) in _PROPERTIES.items()})
    table.update({
        "__getitem__": _method("__getitem__", "indexing", "getitem"), "__iter__": _method("__iter__", "indexing", "iterate"),
        "__round__": _round_method, "__reversed__": _method("__reversed__", "reshaping", "flipud"),
        "__array_namespace__": _array_namespace, "to_device": _to_device, "byteswap": _byteswap,
        "reshape": _reshape, "transpose": _transpose, "view": _view, "flatten": _flatten, "dot": _dot, "sort": _sort})
    return table


_METHODS: dict[str, tuple[str, str]] = {
    "all": ("reductions", "all"), "any": ("reductions", "any"), "argmax": ("reductions", "argmax"),
    "argmin": ("reductions", "argmin"), "argpartition": ("sorting", "argpartition"), "argsort": ("sorting", "argsort"),
    "astype": ("conversion", "astype"), "choose": ("selection", "choose"), "clip": ("array_methods", "_clip"),
    "compress": ("array_methods", "_compress"), "conj": ("elementary", "conjugate"), "conjugate": ("elementary", "conjugate"),
    "copy": ("conversion", "copy"), "cumprod": ("cumulative", "cumprod"), "cumsum": ("cumulative", "cumsum"),
    "diagonal": ("diagonals", "diagonal"), "max": ("reductions", "max"), "mean": ("averages", "mean"),
    "min": ("reductions", "min"), "nonzero": ("sorting", "nonzero"), "prod": ("reductions", "prod"),
    "ptp": ("reductions", "ptp"), "ravel": ("reshaping", "ravel"), "repeat": ("repeating", "repeat"),
    "round": ("rounding", "round"), "searchsorted": ("sorting", "searchsorted"), "squeeze": ("reshaping", "squeeze"),
    "std": ("averages", "std"), "sum": ("reductions", "sum"), "swapaxes": ("reshaping", "swapaxes"),
    "take": ("taking", "take"), "trace": ("diagonals", "trace"), "var": ("averages", "var"),
}
_PROPERTIES: dict[str, tuple[str, str]] = {
    "T": ("reshaping", "transpose"), "mT": ("reshaping", "matrix_transpose"), "real": ("elementary", "real"),
    "imag": ("elementary", "imag"), "at": ("updates", "IndexUpdate"), "flat": ("array_methods", "_refuse_flat"),
}


def _method(name: str, module: str, function: str) -> Callable:
    found: list[Callable] = []

    def method(self, *args, **kwargs):
        if not found:
            found.append(getattr(importlib.import_module(f"laminax._src.numerics.numpy.{module}"), function))
        try:
            return found[0](self, *args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    method.__doc__ = f"See `laminax.numpy.{function.strip('_')}`."
    return method


def _reshape(self, *args, order: str = "C", copy: bool | None = None, out_sharding=None):
    """The same elements in another shape, given as one tuple or as separate sizes, none for a scalar; see `laminax.numpy.reshape`."""
    from laminax._src.numerics.numpy.reshaping import reshape
    shape = args[0] if len(args) == 1 else args
    return reshape(self, shape, order, copy=copy, out_sharding=out_sharding)


def _transpose(self, *axes):
    """The axes reordered, given as one tuple or separately; see `laminax.numpy.transpose`."""
    from laminax._src.numerics.numpy.reshaping import transpose
    if not axes or axes == (None,):
        return transpose(self)
    return transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


def _flatten(self, order: str = "C", *, out_sharding=None):
    """The elements in one axis; see `laminax.numpy.ravel`."""
    from laminax._src.numerics.numpy.reshaping import ravel
    return ravel(self, order, out_sharding=out_sharding)


def _sort(self, axis: int | None = -1, *, kind: None = None, order: None = None, stable: bool = True, descending: bool = False):
    """A sorted copy; see `laminax.numpy.sort`."""
    from laminax._src.numerics.numpy.sorting import sort
    return sort(self, axis, kind=kind, order=order, stable=stable, descending=descending)


def _dot(self, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The product with another array; see `laminax.numpy.dot`."""
    from laminax._src.numerics.numpy.matrix_products import dot
    return dot(self, b, precision=precision, preferred_element_type=preferred_element_type, out_sharding=out_sharding)


def _clip(self, min=None, max=None):
    from laminax._src.numerics.numpy.selection import clip
    return clip(self, min, max)


def _compress(self, condition, axis=None, *, out=None, size=None, fill_value=0):
    from laminax._src.numerics.numpy.sorting import compress
    return compress(condition, self, axis, out=out, size=size, fill_value=fill_value)


def _round_method(self, ndigits: int | None = None):
    from laminax._src.numerics.numpy.conversion import astype
    from laminax._src.numerics.numpy.rounding import round
    rounded = round(self, ndigits or 0)
    return astype(rounded, int) if ndigits is None else rounded  # as Python's floats: round(2.5) is an int


def _array_namespace(self, *, api_version: str | None = None):
    """The module with the functions of the Python array API standard for this array: `laminax.numpy`.

    Args:
      api_version: the version of the standard that is needed; None is the one there is, "2024.12".

    Raises:
      ValueError: if it is another version.
    """
    namespace = importlib.import_module("laminax.numpy")  # by the standard what users import, so that it is the same module
    available = namespace.__array_api_version__
    if api_version not in (None, available):
        raise ValueError(f"__array_namespace__: api_version={api_version!r} is not available; there is {available!r}. Leave it out to "
                         "take that.")
    return namespace


def _to_device(self, device, *, stream: int | Any | None = None):
    """The array on another device, as the array API standard names it; see `laminax.device_put`.

    Args:
      device: a device or a sharding.
      stream: must be None.

    Raises:
      NotImplementedError: if a stream is given.
    """
    if stream is not None:
        raise NotImplementedError(f"to_device: the parameter stream is not supported; pass None, not {stream!r}")
    return device_put(self, device)


def _byteswap(self):
    """The array with the bytes of each element in reverse order; the parts of a complex number are elements of their own.

    Raises:
      TypeError: if an element is not a whole number of bytes.
    """
    from laminax_ir.ops import shape as shape_ops

    from laminax._src.numerics.numpy.reshaping import flip
    aval = get_aval(self)
    if _stored_bits(aval.dtype) % 8:
        raise TypeError(f"byteswap: elements of {aval.dtype} are no whole bytes. Convert to an 8-bit type first.")
    is_complex = dtypes.issubdtype(aval.dtype, dtypes.complexfloating)
    width = aval.dtype.itemsize // (2 if is_complex else 1)
    octets = _view(shape_ops.reshape(self, (aval.size,)), np.uint8)
    swapped = flip(shape_ops.reshape(octets, (octets.size // width, width)), 1)
    return shape_ops.reshape(_view(shape_ops.reshape(swapped, (octets.size,)), aval.dtype), aval.shape)


def _refuse_flat(self):
    raise NotImplementedError("ndarray.flat is not supported, because arrays do not change; use .ravel() or .flatten()")


def _view(self, dtype=None, type=None):
    """The same bytes with another dtype; a change of width changes the size of the last axis.

    Args:
      dtype: the dtype; None leaves it.
      type: must be None.

    Raises:
      NotImplementedError: if type is given.
      ValueError: if the last axis does not divide into elements of the dtype.
    """
    from laminax_ir.ops import elementwise as op
    from laminax_ir.ops import shape as shape_ops
    if type is not None:
        raise NotImplementedError("ndarray.view: the parameter type is not supported; pass None")
    if dtype is None:
        return self
    aval = get_aval(self)
    new = dtypes.check_user_dtype_supported(dtype, "view")
    old_bits, new_bits = _stored_bits(aval.dtype), _stored_bits(new)
    if np.dtype(bool) in (aval.dtype, new):  # as bytes 0 and 1
        if aval.dtype == new:
            return self
        if aval.dtype == np.dtype(bool):
            return _view(op.convert_element_type(self, np.uint8), new)
        return op.ne(_view(self, np.uint8), np.uint8(0))
    if not aval.shape and old_bits != new_bits:
        raise ValueError(f"view: a scalar cannot be viewed with a dtype of another width, got {aval.str_short()} and {new}")
    source_complex = dtypes.issubdtype(aval.dtype, dtypes.complexfloating)
    target_complex = dtypes.issubdtype(new, dtypes.complexfloating)
    if source_complex and target_complex and old_bits == new_bits:
        return self
    if source_complex:
        parts = shape_ops.concatenate([shape_ops.expand_dims(op.real(self), (aval.ndim,)),
                                       shape_ops.expand_dims(op.imag(self), (aval.ndim,))], aval.ndim)
        return _view(shape_ops.reshape(parts, (*aval.shape[:-1], 2 * aval.shape[-1])), new)
    if target_complex:
        component = dtypes.to_floating_dtype(new)
        parts = _view(self, component)
        if parts.shape[-1] % 2:
            raise ValueError(f"view: the last axis of {aval.str_short()} cannot be divided into elements of {new}")
        from laminax._src.numerics.numpy.indexing import getitem
        return op.complex(getitem(parts, (Ellipsis, slice(0, None, 2))), getitem(parts, (Ellipsis, slice(1, None, 2))))
    if old_bits == new_bits:
        return op.bitcast_convert_type(self, new)
    if old_bits > new_bits:
        wide = op.bitcast_convert_type(self, new)
        return shape_ops.reshape(wide, (*aval.shape[:-1], aval.shape[-1] * (old_bits // new_bits)))
    if aval.shape[-1] * old_bits % new_bits:
        raise ValueError(f"view: the last axis of {aval.str_short()} cannot be divided into elements of {new}")
    ratio = new_bits // old_bits
    return op.bitcast_convert_type(shape_ops.reshape(self, (*aval.shape[:-1], aval.shape[-1] // ratio, ratio)), new)


def _stored_bits(dtype: Any) -> int:
    return 8 if dtype == np.dtype(bool) else dtypes.bit_width(dtype)


def _nbytes(self) -> int:
    """The bytes of all elements in NumPy's representation."""
    return self.aval.size * self.aval.dtype.itemsize


def _itemsize(self) -> int:
    """The bytes of one element in NumPy's representation."""
    return self.aval.dtype.itemsize


def _traced_item(self, *args):
    """The only element, or the one at an index, as a Python scalar; only where the value is known."""
    from laminax_ir.types.errors import ConcretizationTypeError
    return self._concretize(ConcretizationTypeError, f"{_ABSTRACT} The item() method was called on", _KNOWN_HINT).item(*args)


def _traced_tolist(self):
    """The elements as nested lists of Python scalars; only where the values are known."""
    from laminax_ir.types.errors import ConcretizationTypeError
    return self._concretize(ConcretizationTypeError, f"{_ABSTRACT} The tolist() method was called on", _KNOWN_HINT).tolist()


def _traced_tobytes(self, order: str = "C"):
    """The elements as bytes; only where the values are known."""
    from laminax_ir.types.errors import ConcretizationTypeError
    return self._concretize(ConcretizationTypeError, f"{_ABSTRACT} The tobytes() method was called on", _KNOWN_HINT).tobytes(order)


_ABSTRACT = "Abstract tracer value encountered where concrete value is expected:"
_KNOWN_HINT = "Return the array, and convert it outside."
