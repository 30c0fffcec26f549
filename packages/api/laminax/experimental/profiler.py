"""What recorded profiles say of single instructions. A table of contents: names load on first use."""

from laminax_runtime.running.profiler import get_profiled_instructions_proto

import laminax._src  # noqa: F401  (puts the layers together)

__all__ = ["get_profiled_instructions_proto"]
