"""Arrays from one process to another: a server offers arrays under numbers, and whoever is connected to it pulls them.

The processes need not know of each other otherwise, as those of a cluster do: an address is enough. jaxlib's servers move
lists of arrays; here they are pytrees, whose structure both sides know.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_runtime import _jaxlib
from laminax_runtime.arrays.arrays import ArrayImpl


class TransferConnection:
    """A connection to one server, made by `TransferServer.connect`."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def pull(self, uuid: int, xs: Any, timeout: datetime | None = None) -> Any:
        """Fetches arrays that the server offers.

        Args:
          uuid: the number under which it offers them.
          xs: pytree of `ShapeDtypeStruct`s: the types of the arrays, and the shardings that they are to have here.
          timeout: when to give up.

        Returns:
          The pytree of arrays.
        """
        leaves, tree = tree_flatten(xs)
        for path, x in tree_flatten_with_path(xs)[0]:
            if getattr(x, "sharding", None) is None:
                raise ValueError(f"TransferConnection.pull: xs{keystr(path)} must say where the array is to be, got {x!r}. Give "
                                 "ShapeDtypeStruct(shape, dtype, sharding=...)")
        if not leaves:
            return xs
        limit = {} if timeout is None else {"timeout": timeout}
        return tree_unflatten(tree, self._connection._pull_flat(uuid, _client_of(leaves[0]), leaves, **limit))


class TransferServer:
    """A server of this process's arrays, made by `start_transfer_server`."""

    def __init__(self, server: Any) -> None:
        self._server = server

    def address(self) -> str:
        """The address that others connect to; `[::]` in it stands for every address of this host."""
        return self._server.address()

    def connect(self, address: str) -> TransferConnection:
        """A connection from this server to another one, or to itself.

        Args:
          address: of the other server.
        """
        return TransferConnection(self._server.connect(address))

    def await_pull(self, uuid: int, arrays: Any, timeout: datetime | None = None) -> None:
        """Offers arrays until they have been pulled, once.

        Args:
          uuid: a number that no other offer has.
          arrays: pytree of arrays.
          timeout: when to give up.
        """
        for path, x in tree_flatten_with_path(arrays)[0]:
            if not isinstance(x, ArrayImpl):
                raise TypeError(f"TransferServer.await_pull: arrays{keystr(path)} must be an array on a device, got one of type "
                                f"{type(x).__name__}. Use device_put, and key_data of random keys.")
        limit = {} if timeout is None else {"timeout": timeout}
        self._server._await_pull_flat(uuid, tree_flatten(arrays)[0], **limit)


def start_transfer_server(client: Any, address: str = "[::]:0", transport_addresses: Sequence[str] = (), max_num_parallel_copies: int = 8,
                          transfer_size: int = 256 << 20, supports_pinned_allocator: bool = False,
                          use_raw_buffers: bool = False) -> TransferServer:
    """Starts a server of arrays of this process.

    Args:
      client: of the devices, `devices()[0].client`.
      address: where it listens for connections, with port 0 for any that is free.
      transport_addresses: where it listens for the bytes of arrays, one address per socket; without any, it serves its own process only.
      max_num_parallel_copies: how many parts of an array are copied at once.
      transfer_size: bytes of a part.
      supports_pinned_allocator: whether buffers on the host are pinned.
      use_raw_buffers: whether parts are copied to their places in the arrays at once.

    Example:
      >>> server = start_transfer_server(devices()[0].client, transport_addresses=["127.0.0.1:0"])
      >>> x = device_put(np.arange(3))
      >>> server.await_pull(1, {"x": x})
      >>> connection = server.connect(server.address().replace("[::]", "127.0.0.1"))
      >>> connection.pull(1, {"x": ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)})
      {'x': Array([0, 1, 2], dtype=int32)}
    """
    return TransferServer(_jaxlib.start_transfer_server(
        client, address, list(transport_addresses), max_num_parallel_copies, transfer_size, supports_pinned_allocator, use_raw_buffers))


def make_error_array(aval: ShapeDtypeStruct, message: Any) -> ArrayImpl:
    """An array whose computation has failed: whoever waits for it, or computes with it, gets the error.

    Args:
      aval: its shape, dtype and sharding.
      message: of the error.
    """
    return _jaxlib.make_error_array(_client_of(aval), aval, str(message))


def _client_of(x: Any) -> Any:
    return next(iter(x.sharding.device_set)).client
