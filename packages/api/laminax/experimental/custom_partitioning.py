"""Functions with partitioning rules of their own: they can be declared, and refuse to be called.

A table of contents: names load on first use.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "parallel.custom_partitioning": "ArrayMapping BATCHING CompoundFactor SdyShardingRule custom_partitioning"})
