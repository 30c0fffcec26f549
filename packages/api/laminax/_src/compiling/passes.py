"""`fwd_and_bwd`: the two passes, compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from laminax_transforms.programs import passes

from laminax._src.compiling.jit import jit


def fwd_and_bwd(fun: Callable, argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True) -> tuple[Callable, Callable]:
    """Makes the functions of a forward and a backward pass, each compiled once however often they are called.

    Args:
      fun: function of arrays and pytrees of them.
      argnums: which positional arguments to differentiate with respect to, one index or a sequence of them.
      has_aux: whether `fun` returns a pair (result, auxiliary data).
      jitted: whether to return both under `jit`. The backward pass is traced once only if the forward pass is.

    Returns:
      `(fwd, bwd)`. `fwd(*args)` returns `(result, residuals)`, and the auxiliary data as a third item with `has_aux`. `bwd(residuals,
      cotangent)` returns a tuple with one cotangent for each of the chosen arguments, or one cotangent if `argnums` is an integer.

    Raises:
      TypeError: if `fun` is not callable, or argnums is not an integer or a sequence of integers.
      ValueError: by `fwd`, if it is called with too few arguments; by `bwd`, if the cotangent does not match the result.

    Example:
      >>> fwd, bwd = fwd_and_bwd(lambda x, w: x @ w, argnums=(0, 1))
      >>> result, residuals = fwd(x, w)
      >>> x_ct, w_ct = bwd(residuals, result_ct)
    """
    fwd, bwd = passes.fwd_and_bwd(fun, argnums, has_aux)
    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
