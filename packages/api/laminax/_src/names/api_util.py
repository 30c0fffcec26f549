"""Arguments by position and by name, for libraries that have parameters like `static_argnums` themselves."""

from __future__ import annotations

import inspect
from typing import Iterable

from laminax._src.base.argument_names import inferred, int_tuple, string_tuple
from laminax.api_util import *  # noqa: F403


def infer_argnums_and_argnames(signature: inspect.Signature, argnums: int | Iterable[int] | None, argnames: str | Iterable[str] | None
                               ) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The positions and the names of the same arguments: whichever is None is found from the other one and the signature.

    Args:
      signature: of the function.
      argnums: positions, which may be negative, or None.
      argnames: names, or None.

    Raises:
      TypeError: if they are of another type.

    Example:
      >>> infer_argnums_and_argnames(inspect.signature(lambda x, y: x), 1, None)
      ((1,), ('y',))
    """
    return inferred(list(signature.parameters.values()), None if argnums is None else int_tuple(argnums, "argnums"),
                    None if argnames is None else string_tuple(argnames, "argnames"))
