"""What the library treescope asks of arrays: it draws the numbers of large arrays, and trees that hold them.

treescope finds it by the method `__treescope_ndarray_adapter__` of arrays, and is there when it asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from treescope.external.numpy_support import NumpyArrayAdapter
from treescope.ndarray_adapters import AxisInfo, PositionalAxisInfo, ShardingInfo


class ArrayAdapter(NumpyArrayAdapter):
    """Arrays of laminax: as those of NumPy, with their own name and sharding."""

    def get_axis_info_for_array_data(self, array: Any) -> tuple[AxisInfo, ...]:
        return tuple(PositionalAxisInfo(i, size) for i, size in enumerate(array.shape))

    def get_array_data_with_truncation(self, array: Any, mask: Any, edge_items_per_axis: tuple[int | None, ...]) \
            -> tuple[np.ndarray, np.ndarray]:
        return super().get_array_data_with_truncation(np.asarray(array), None if mask is None else np.asarray(mask), edge_items_per_axis)

    def get_array_summary(self, array: Any, fast: bool) -> str:
        return f"laminax.Array {array.dtype.name}[{','.join(map(str, array.shape))}]"

    def get_numpy_dtype(self, array: Any) -> np.dtype:
        return array.dtype

    def get_sharding_info_for_array_data(self, array: Any) -> ShardingInfo | None:
        if array.is_deleted():
            return None
        sharding = array.sharding
        slices = sharding.devices_indices_map(array.shape)
        whole = {device.id: tuple(slice(None) if part == slice(0, size) else part for part, size in zip(index, array.shape))
                 for device, index in slices.items()}
        return ShardingInfo(tuple(sharding.shard_shape(array.shape)), whole, next(iter(slices)).platform.upper(),
                            sharding.is_fully_replicated)

    def should_autovisualize(self, array: Any) -> bool:
        return not array.is_deleted() and array.is_fully_addressable
