# Written by tools/stubs.py.
"""Functions with partitioning rules of their own."""

from laminax_ir.programs.primitive import Primitive
from laminax._src.parallel.custom_partitioning import custom_partitioning as custom_partitioning
from laminax._src.parallel.sharding_rules import ArrayMapping as ArrayMapping
from laminax._src.parallel.sharding_rules import CompoundFactor as CompoundFactor
from laminax._src.parallel.sharding_rules import SdyShardingRule as SdyShardingRule

__all__: list[str]

BATCHING: str
custom_partitioning_p: Primitive
