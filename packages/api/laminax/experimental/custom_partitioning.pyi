# Written by tools/stubs.py.
"""Functions with partitioning rules of their own: they can be declared, and refuse to be called."""

from laminax._src.parallel.custom_partitioning import ArrayMapping as ArrayMapping
from laminax._src.parallel.custom_partitioning import CompoundFactor as CompoundFactor
from laminax._src.parallel.custom_partitioning import SdyShardingRule as SdyShardingRule
from laminax._src.parallel.custom_partitioning import custom_partitioning as custom_partitioning

__all__: list[str]

BATCHING: str
