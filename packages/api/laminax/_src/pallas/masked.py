"""Reading and writing parts of references under a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import state as refs
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.numpy.reshaping import broadcast_to

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def selected(mask: Any, chosen: Any, other: Any) -> Any:
    shape = get_aval(chosen).shape
    return op.select(broadcast_to(mask, shape), chosen, broadcast_to(op.convert_element_type(other, get_aval(chosen).dtype), shape))


def load(ref: Any, *, mask: Array | None = None, other: ArrayLike | None = None) -> Array:
    """What is in a reference, or in a part of it, `ref.at[...]`.

    Args:
      ref: the reference or part.
      mask: booleans that broadcast to its shape; where they are False the result is `other`.
      other: a scalar or an array that broadcasts; without it, elements that are masked out may be anything.

    Returns:
      An array of the reference's dtype.

    Raises:
      ValueError: for other without a mask.

    Example:
      >>> def kernel(x_ref, o_ref):
      ...     o_ref[...] = load(x_ref, mask=x_ref[...] > 0, other=0)
    """
    if mask is None and other is not None:
        raise ValueError("load: other is for the elements that a mask leaves out; give a mask")
    value = refs.get(ref)
    return value if mask is None or other is None else selected(mask, value, other)


def store(ref: Any, val: ArrayLike, *, mask: Array | None = None) -> None:
    """Writes to a reference, or to a part of it, `ref.at[...]`.

    Args:
      ref: the reference or part.
      val: an array of its shape and dtype.
      mask: booleans that broadcast to its shape; where they are False nothing is written.
    """
    refs.set(ref, ..., val if mask is None else selected(mask, val, refs.get(ref)))
