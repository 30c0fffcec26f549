# Written by tools/stubs.py.
"""Generators of random numbers that advance by themselves. A table of contents: names load on first use."""

from laminax._src.numerics.random.stateful import StatefulPRNG as _StatefulPRNG
from typing import Any
from laminax._src.numerics.random.stateful import StatefulPRNG as StatefulPRNG

__all__: list[str]

def stateful_rng(seed: Any = None, *, impl: Any = None) -> _StatefulPRNG:
    """A generator of random numbers that advances with every draw."""
