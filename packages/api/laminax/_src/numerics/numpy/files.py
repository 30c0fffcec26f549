"""Files and printing: what NumPy does for host arrays, on the values of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.types import dtypes

from laminax._src.numerics.numpy.conversion import asarray

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

get_printoptions, set_printoptions, printoptions, iterable = (
    np.get_printoptions, np.set_printoptions, np.printoptions, np.iterable)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """An array from a file that `save` wrote.

    Args:
      file: a path, or a file object that is open for reading bytes.
      args, kwargs: as of `numpy.load`.

    Returns:
      An array; archives of several arrays are returned as `numpy.load` does.

    Raises:
      TypeError: if the file holds elements of a dtype that NumPy does not know, and which is not bfloat16.

    Example:
      >>> jnp.save("numbers.npy", jnp.array([1., 2.]))
      >>> jnp.load("numbers.npy")
      Array([1., 2.], dtype=float32)
    """
    loaded = np.load(file, *args, **kwargs)
    if not isinstance(loaded, np.ndarray):
        return loaded
    if loaded.dtype.kind == "V":  # NumPy writes the dtypes it does not know as raw bytes
        candidates = {1: None, 2: "bfloat16"}
        name = candidates.get(loaded.dtype.itemsize)
        if name is None:
            raise TypeError(f"load: the file holds raw bytes of {loaded.dtype.itemsize} bytes each, whose dtype NumPy did not write "
                            "down; load it with numpy.load and use .view(dtype)")
        loaded = loaded.view(dtypes.supported_dtype(name))
    return asarray(loaded)


def save(file: Any, arr: ArrayLike, allow_pickle: bool = True) -> None:
    """Writes an array to a file in NumPy's format.

    Args:
      file: a path, to which ".npy" is appended if it does not end so, or a file object that is open for writing bytes.
      arr: an array.
      allow_pickle: has no effect on arrays of numbers.

    Example:
      >>> jnp.save("numbers.npy", jnp.array([1., 2.]))
      >>> np.load("numbers.npy").tolist()
      [1.0, 2.0]
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Writes arrays to an archive in NumPy's format.

    Args:
      file: a path, to which ".npz" is appended if it does not end so, or a file object that is open for writing bytes.
      args: arrays, whose names in the archive are arr_0, arr_1 and so on.
      allow_pickle: has no effect on arrays of numbers.
      kwds: arrays by name.

    Example:
      >>> jnp.savez("parameters.npz", w=jnp.array([1., 2.]), b=jnp.array(0.5))
      >>> with jnp.load("parameters.npz") as parameters:
      ...     print(parameters["w"], parameters["b"])
      [1. 2.] 0.5
    """
    np.savez(file, *map(np.asarray, args), allow_pickle=allow_pickle, **{k: np.asarray(v) for k, v in kwds.items()})


def array_repr(arr: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None) -> str:
    """The text of an array with its type; parameters as for `numpy.array_repr`.

    Example:
      >>> jnp.array_repr(jnp.array([1, 2]))
      'Array([1, 2], dtype=int32)'
    """
    return "Array" + np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small).removeprefix("array")


def array_str(a: Any, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None) -> str:
    """The text of an array's values; parameters as for `numpy.array_str`.

    Example:
      >>> jnp.array_str(jnp.array([1, 2]))
      '[1 2]'
    """
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)
