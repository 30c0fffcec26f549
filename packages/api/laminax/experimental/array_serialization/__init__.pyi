# Written by tools/stubs.py.
"""Arrays in files. Libraries such as orbax write and read them; here is only the interface of JAX's own, which libraries ask for."""

from laminax.experimental.array_serialization import serialization as serialization

__all__: list[str]

