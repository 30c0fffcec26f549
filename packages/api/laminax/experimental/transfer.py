"""Arrays from one process to another, by servers. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_runtime.arrays.transfer_servers": "TransferConnection TransferServer make_error_array start_transfer_server"})
