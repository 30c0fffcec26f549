# Written by tools/stubs.py.
"""The interface of JAX's writers of arrays, which libraries ask for. Its own writer, to TensorStore, is not supported and says so."""

from laminax._src.names.refused import _Unsupported
from typing import Any

__all__: list[str]

AsyncManager: _Unsupported
GlobalAsyncCheckpointManager: _Unsupported
GlobalAsyncCheckpointManagerBase: type[Any]
async_deserialize: _Unsupported
async_serialize: _Unsupported
get_tensorstore_spec: _Unsupported
run_deserialization: _Unsupported
run_serialization: _Unsupported
