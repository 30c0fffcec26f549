"""Waiting for side effects, by the name under which libraries import it."""

from laminax._src.compiling.effects import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]
