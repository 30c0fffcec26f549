# Written by tools/stubs.py.
"""jaxlib's names as older programs look for them; `__version__` is jaxlib's. A table of contents: names load on first use."""

from laminax.lib import xla_bridge as xla_bridge
from laminax.lib import xla_client as xla_client

__all__: list[str]

