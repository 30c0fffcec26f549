"""Random keys that have been used, while the option `debug_key_reuse` is on: each program says which of its keys it uses.

Arrays of keys carry the marks (`PRNGKeyArray.used`). The analysis of a program is `laminax_ir.random.key_reuse`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.types.errors import KeyReuseError

if TYPE_CHECKING:
    from laminax_ir.random.key_reuse import KeyUses

_QUESTION = ("key uses",)


def use_keys(closed: ClosedJaxpr, args: Sequence[Any], name: str) -> list[np.ndarray | None]:
    """Marks the keys that a program is about to use.

    Args:
      closed: the program.
      args: its arguments.
      name: what it is called, `jit(f)` or an operation.

    Returns:
      For each result the marks of its keys; None for what is no array of keys.

    Raises:
      KeyReuseError: if a key has been used before, or the program uses one twice.
    """
    uses: KeyUses | None = closed.derived.get(_QUESTION)
    if uses is None:
        from laminax_ir.random.key_reuse import key_uses
        uses = closed.remember(_QUESTION, key_uses(closed))
    known = set(uses.used)
    keys = [(i, x, numbers, _among(numbers, uses.used)) for i, (x, numbers) in enumerate(zip((*closed.consts, *args), uses.operands))
            if numbers is not None and isinstance(x, PRNGKeyArray)]
    what = name if len(closed.eqns) == 1 and not name.startswith("jit(") else "jit-compiled function"
    for i, key, numbers, mask in keys:
        if (mask & key.used()).any():
            raise KeyReuseError(f"Previously-consumed key passed to {what} at index {i}: {name} was given a random key that has been used "
                                "before, and would get the same numbers. Make a new key for each use with random.split, or pass "
                                "random.clone(key) where the same numbers are meant.")
        known.update(numbers[key.used()].flat)
    for _, key, _, mask in keys:
        np.logical_or(key.used(), mask, out=key.used())
    return [None if numbers is None else _among(numbers, known) for numbers in uses.results]


def mark_results(outs: Sequence[Any], marks: Sequence[np.ndarray | None]) -> None:
    """Gives arrays of keys that a program returned the marks that `use_keys` found for them."""
    for out, mask in zip(outs, marks):
        if mask is not None:
            np.copyto(out.used(), mask)


def _among(numbers: np.ndarray, known: set[int]) -> np.ndarray:
    return np.isin(numbers, list(known))
