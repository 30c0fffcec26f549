"""The methods and properties that arrays, tracers and arrays of keys share; `install` gives them these.

Each is a function of `laminax.numpy` with the array as its first argument, imported on first use. What needs the
values or the place of an array (`item`, `sharding`, ...) is the runtime's; the operators are the ir's.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.tracing.trace import Tracer
from laminax_ir.tracing.tracebacks import shorten
from laminax_ir.tracing.user_warnings import warn_at_user
from laminax_ir.types.errors import ConcretizationTypeError
from laminax_runtime import install_array_methods

from laminax._src.numerics import key_places, traced_places

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


def install() -> None:
    """Sets the members on the classes of arrays, tracers and arrays of keys, once per process."""
    install_array_methods(array_method_table())
    for name, member in tracer_method_table().items():
        setattr(Tracer, name, member)
    for name, member in extended_method_table().items():
        setattr(ExtendedArray, name, member)


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
    table.update(traced_places.member_table())
    return table


def extended_method_table() -> dict[str, Any]:
    """The members of arrays of extended dtypes, such as random keys, besides those that the ir gives them."""
    return {"at": property(_method("at", *_PROPERTIES["at"])), "astype": _method("astype", *_METHODS["astype"]), "__getitem__": _key_item,
            **key_places.member_table()}


_item_of_words = ExtendedArray.__getitem__


def _key_item(keys: ExtendedArray, index: Any) -> Any:
    """Some of the keys: indexes their words, which is fast, or the key array itself where it is split over explicit mesh axes.

    The type of a key array says how the keys are split, not how their words are.
    """
    if keys.aval._split is None:
        return _item_of_words(keys, index)
    found = _general_item(keys, index)
    places = index if isinstance(index, tuple) else (index,)
    has_ellipsis = any(i is Ellipsis for i in places)
    return (found if isinstance(found, Tracer)
            else keys._with_words(found.base, lambda used: used[places if has_ellipsis else (*places, ...)]))


def _shared_members() -> dict[str, Any]:
    table: dict[str, Any] = {name: _method(name, module, function) for name, (module, function) in _METHODS.items()}
    table.update({name: property(_method(name, module, function)) for name, (module, function) in _PROPERTIES.items()})
    table.update({
        "__getitem__": _method("__getitem__", "indexing", "getitem"), "__iter__": _method("__iter__", "indexing", "iterate"),
        "__contains__": _method("__contains__", "set_ops", "contains"),
        "__round__": _method("__round__", "rounding", "round_method"), "__reversed__": _method("__reversed__", "reshaping", "flipud"),
        "__array_namespace__": _array_namespace, "__numpy_dtype__": property(_dtype_for_numpy), "to_device": _to_device,
    })
    return table


_METHODS: dict[str, tuple[str, str]] = {
    "all": ("reductions", "all"), "any": ("reductions", "any"), "argmax": ("reductions", "argmax"),
    "argmin": ("reductions", "argmin"), "argpartition": ("sorting", "argpartition"), "argsort": ("sorting", "argsort"),
    "astype": ("conversion", "astype_method"), "byteswap": ("byte_views", "byteswap"), "choose": ("selection", "choose"),
    "clip": ("selection", "clip"),
    "compress": ("finding", "compress_method"), "conj": ("elementary", "conjugate"), "conjugate": ("elementary", "conjugate"),
    "copy": ("conversion", "copy"), "cumprod": ("cumulative", "cumprod"), "cumsum": ("cumulative", "cumsum"),
    "diagonal": ("diagonals", "diagonal"), "dot": ("matrix_products", "dot"), "flatten": ("reshaping", "flatten"),
    "max": ("reductions", "max"), "mean": ("averages", "mean"),
    "min": ("reductions", "min"), "nonzero": ("finding", "nonzero"), "prod": ("reductions", "prod"),
    "ptp": ("reductions", "ptp"), "ravel": ("reshaping", "ravel"), "repeat": ("repeating", "repeat"),
    "reshape": ("reshaping", "reshape_method"),
    "round": ("rounding", "round"), "searchsorted": ("searching", "searchsorted"), "sort": ("sorting", "sort"),
    "squeeze": ("reshaping", "squeeze"), "std": ("averages", "std"), "sum": ("reductions", "sum"), "swapaxes": ("reshaping", "swapaxes"),
    "take": ("taking", "take"), "trace": ("diagonals", "trace"),
    "transpose": ("reshaping", "transpose_method"), "var": ("averages", "var"), "view": ("byte_views", "view"),
}
_METHODS_ONLY = {"byteswap", "flatten", "view"}  # of which there is no function
_PROPERTIES: dict[str, tuple[str, str]] = {
    "T": ("reshaping", "transpose"), "mT": ("reshaping", "matrix_transpose"), "real": ("elementary", "real"),
    "imag": ("elementary", "imag"), "at": ("updates", "IndexUpdate"), "flat": ("array_methods", "_refuse_flat"),
}


def _method(name: str, module: str, function: str) -> Callable:
    found: list[Callable] = []

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not found:
            found.append(getattr(importlib.import_module(f"laminax._src.numerics.numpy.{module}"), function))
        try:
            return found[0](self, *args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    method.__doc__ = f"See `{'numpy.ndarray' if name in _METHODS_ONLY else 'laminax.numpy'}.{name}`."
    return method


_general_item = _method("__getitem__", "indexing", "getitem")


_moved_to_device = _method("to_device", "conversion", "to_device")


def _to_device(self: Any, device: Any, *, stream: int | Any | None = None) -> Any:
    """The array on another device. The array API standard has this method, and its libraries read the signature.

    Args:
      device: a device or a sharding.
      stream: must be None.

    Raises:
      NotImplementedError: if a stream is given.
    """
    return _moved_to_device(self, device, stream=stream)


def _array_namespace(self: Any, *, api_version: str | None = None) -> Any:
    """The module with the functions of the Python array API standard for this array: `laminax.numpy`.

    Args:
      api_version: the version of the standard that is needed; None is the one there is, "2025.12".

    Raises:
      ValueError: if it is another version.
    """
    namespace = importlib.import_module("laminax.numpy")  # by the standard what users import, so that it is the same module
    available = namespace.__array_api_version__
    if api_version not in (None, available):
        raise ValueError(f"__array_namespace__: api_version={api_version!r} is not available; there is {available!r}. Leave it out to "
                         "take that.")
    return namespace


def _dtype_for_numpy(self: Any) -> Any:
    """What NumPy, from 2.4 on, takes for the dtype where it is given an array in its place."""
    warn_at_user(f"Implicit conversion of an array to a dtype is deprecated, and will be an error: NumPy was given an array, of type "
                 f"{self.aval.str_short()}, for a dtype. Give its dtype, x.dtype.", DeprecationWarning)
    return self.dtype


def _refuse_flat(self: Any) -> None:
    raise NotImplementedError("ndarray.flat is not supported, because arrays do not change; use .ravel() or .flatten()")


def _nbytes(self: Any) -> int:
    """The bytes of all elements in NumPy's representation."""
    return self.aval.size * self.aval.dtype.itemsize


def _itemsize(self: Any) -> int:
    """The bytes of one element in NumPy's representation."""
    return self.aval.dtype.itemsize


def _traced_item(self: ArrayLike, *args: Any) -> Any:
    """The only element, or the one at an index, as a Python scalar; only where the value is known."""
    return self._concretize(ConcretizationTypeError, f"{_ABSTRACT} The item() method was called on", _KNOWN_HINT).item(*args)


def _traced_tolist(self: ArrayLike) -> Any:
    """The elements as nested lists of Python scalars; only where the values are known."""
    return self._concretize(ConcretizationTypeError, f"{_ABSTRACT} The tolist() method was called on", _KNOWN_HINT).tolist()


def _traced_tobytes(self: ArrayLike, order: str = "C") -> Any:
    """The elements as bytes; only where the values are known."""
    return self._concretize(ConcretizationTypeError, f"{_ABSTRACT} The tobytes() method was called on", _KNOWN_HINT).tobytes(order)


_ABSTRACT = "Abstract tracer value encountered where concrete value is expected:"
_KNOWN_HINT = "Return the array, and convert it outside."
