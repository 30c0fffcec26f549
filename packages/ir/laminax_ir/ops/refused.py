"""Names of JAX's `lax` that are not supported, with the functions to use in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


def psend(x: Any, axis_name: Any, perm: Any) -> NoReturn:
    """Not supported: `ppermute` sends and receives in one operation.

    Raises:
      NotImplementedError: always.

    Example:
      >>> vmap(lambda x: laminax.lax.ppermute(x, "i", [(0, 1), (1, 0)]), axis_name="i")(np.float32([5, 6]))
      array([6., 5.], dtype=float32)
    """
    raise NotImplementedError(f"psend is not supported; ppermute(x, {axis_name!r}, {perm!r}) sends and receives in one operation")


def precv(token: Any, out_shape: Any, axis_name: Any, perm: Any) -> NoReturn:
    """Not supported: `ppermute` sends and receives in one operation.

    Raises:
      NotImplementedError: always.

    Example:
      >>> vmap(lambda x: laminax.lax.ppermute(x, "i", [(0, 1), (1, 0)]), axis_name="i")(np.float32([5, 6]))
      array([6., 5.], dtype=float32)
    """
    raise NotImplementedError(f"precv is not supported; ppermute(x, {axis_name!r}, {perm!r}) sends and receives in one operation")


def ragged_all_to_all(operand: ArrayLike, output: Any, input_offsets: Any, send_sizes: Any, output_offsets: Any, recv_sizes: Any, *,
                      axis_name: Any, axis_index_groups: Any = None) -> NoReturn:
    """Not supported: `all_to_all` sends pieces of one size.

    Raises:
      NotImplementedError: always.

    Example:
      >>> vmap(lambda x: laminax.lax.all_to_all(x, "i", 0, 0), axis_name="i")(np.float32([[1, 2], [3, 0]]))  # padded with 0
      array([[1., 3.],
             [2., 0.]], dtype=float32)
    """
    raise NotImplementedError("ragged_all_to_all is not supported; pad the pieces to one size and send them with "
                              f"all_to_all(..., {axis_name!r})")
