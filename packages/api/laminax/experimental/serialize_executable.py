"""Compiled functions as bytes, for another process with the same jaxlib on the same kind of machine.

`pickle` serves as well, where the containers of the arguments and results can be pickled. For other machines and versions
there is `laminax.export`, which keeps the program before it is compiled. Loading runs what was stored: load only your own.
"""

from __future__ import annotations

import pickle
from typing import Any, Sequence

from laminax._src.compiling.compiled import Compiled

__all__ = ["deserialize_and_load", "serialize"]


def serialize(compiled: Compiled) -> tuple[bytes, Any, Any]:
    """Stores a compiled function.

    Args:
      compiled: what `jit(f).lower(...).compile()` returned.

    Returns:
      The bytes, and the structures of the arguments and of the result, which are not part of them.

    Raises:
      TypeError: if it is no compiled function, or calls Python functions of this process.
      ValueError: if it has references, which are boxes of this process, or values of users' types.

    Example:
      >>> payload, in_tree, out_tree = serialize(jit(f).lower(x).compile())
      >>> deserialize_and_load(payload, in_tree, out_tree)(x)
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(f"serialize: expected a compiled function, jit(f).lower(...).compile(), got {compiled!r} of type "
                        f"{type(compiled).__name__}")
    if compiled.has_objects:
        raise ValueError("serialize: cannot serialize with a closed-over reference, nor with references or values of users' types among "
                         "the arguments and results: they are objects of this process. Compile a function of arrays instead.")
    _, (signature, program) = compiled.__reduce__()
    return pickle.dumps((signature.replace(in_tree=None, out_tree=None), program)), compiled.in_tree, compiled.out_tree


def deserialize_and_load(serialized: bytes, in_tree: Any, out_tree: Any, backend: str | None = None,
                         execution_devices: Sequence[Any] | None = None) -> Compiled:
    """Loads a compiled function that `serialize` stored, onto the devices of the same ids.

    Args:
      serialized, in_tree, out_tree: what `serialize` returned.
      backend: the platform it was compiled for, if given.
      execution_devices: not supported: other devices than those it was compiled for.

    Returns:
      The compiled function.

    Raises:
      ValueError: if it was compiled for another platform, or for devices that this process does not have.
      XlaRuntimeError: if another version of jaxlib or another kind of machine compiled it.
    """
    signature, program = pickle.loads(serialized)
    devices = program.executable.devices
    if execution_devices is not None and tuple(execution_devices) != devices:
        raise NotImplementedError(f"deserialize_and_load: execution_devices={execution_devices!r} is not supported; the function runs on "
                                  f"{list(devices)}, for which it was compiled")
    if backend is not None and backend != devices[0].platform:
        raise ValueError(f"deserialize_and_load: the function was compiled for {devices[0].platform}, not for backend={backend!r}")
    return Compiled(signature.replace(in_tree=in_tree, out_tree=out_tree), program)
