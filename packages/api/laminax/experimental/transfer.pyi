# Written by tools/stubs.py.
"""Arrays from one process to another, by servers. A table of contents: names load on first use."""

from collections.abc import Sequence
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_runtime.arrays.arrays import ArrayImpl
from laminax_runtime.arrays.transfer_servers import TransferServer as _TransferServer
from typing import Any
from laminax_runtime.arrays.transfer_servers import TransferConnection as TransferConnection
from laminax_runtime.arrays.transfer_servers import TransferServer as TransferServer

__all__: list[str]

def make_error_array(aval: ShapeDtypeStruct, message: Any) -> ArrayImpl:
    """An array whose computation has failed: whoever waits for it, or computes with it, gets the error."""
def start_transfer_server(
    client: Any,
    address: str = '[::]:0',
    transport_addresses: Sequence[str] = ...,
    max_num_parallel_copies: int = 8,
    transfer_size: int = 268435456,
    supports_pinned_allocator: bool = False,
    use_raw_buffers: bool = False,
) -> _TransferServer:
    """Starts a server of arrays of this process."""
