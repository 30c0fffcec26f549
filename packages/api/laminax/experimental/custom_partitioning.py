"""Functions with partitioning rules of their own.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.ops.custom_partitioning": "custom_partitioning_p",
    "parallel.sharding_rules": "ArrayMapping BATCHING CompoundFactor SdyShardingRule",
    "parallel.custom_partitioning": "custom_partitioning"})
