"""Sums and other reductions over the segments of an array. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.segments": "segment_max segment_min segment_prod segment_sum"})
