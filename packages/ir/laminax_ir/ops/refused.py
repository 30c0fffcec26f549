"""Names of JAX's `lax` that are not supported, with the functions to use in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


def create_token(_: Any = None) -> NoReturn:
    """Not supported: programs hold no tokens.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError("create_token is not supported: programs hold no tokens as values. Ordered callbacks keep their order "
                              "by themselves; optimization_barrier keeps the compiler from moving computations.")


def after_all(*operands: Any) -> NoReturn:
    """Not supported: programs hold no tokens.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError("after_all is not supported: programs hold no tokens as values. Ordered callbacks keep their order by "
                              f"themselves; optimization_barrier ties values together. Got {len(operands)} operands")


def psend(x: Any, axis_name: Any, perm: Any) -> NoReturn:
    """Not supported: `ppermute` sends and receives in one operation.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"psend is not supported; ppermute(x, {axis_name!r}, {perm!r}) sends and receives in one operation")


def precv(token: Any, out_shape: Any, axis_name: Any, perm: Any) -> NoReturn:
    """Not supported: `ppermute` sends and receives in one operation.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"precv is not supported; ppermute(x, {axis_name!r}, {perm!r}) sends and receives in one operation")


def ragged_all_to_all(operand: ArrayLike, output: Any, input_offsets: Any, send_sizes: Any, output_offsets: Any, recv_sizes: Any, *,
                      axis_name: Any, axis_index_groups: Any = None) -> NoReturn:
    """Not supported: `all_to_all` sends pieces of one size.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError("ragged_all_to_all is not supported; pad the pieces to one size and send them with "
                              f"all_to_all(..., {axis_name!r})")
