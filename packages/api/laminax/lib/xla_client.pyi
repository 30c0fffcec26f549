# Written by tools/stubs.py.
"""The classes of jaxlib that programs name. A table of contents: names load on first use."""

from laminax_runtime._jaxlib import Client as Client
from laminax_runtime._jaxlib import Device as Device
from laminax_runtime._jaxlib import XlaRuntimeError as XlaRuntimeError

__all__: list[str]

