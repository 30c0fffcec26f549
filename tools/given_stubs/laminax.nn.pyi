# Functions that return one array or two, by what they are asked for.
from collections.abc import Sequence
from typing import Literal, overload

from laminax._array import Array
from laminax.typing import ArrayLike

@overload
def logsumexp(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array:
    """log(sum(b * exp(a))), without overflow."""
@overload
def logsumexp(
    a: ArrayLike,
    axis: int | Sequence[int] | None = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """log(abs(sum(b * exp(a)))), without overflow, and the sign of the sum."""
