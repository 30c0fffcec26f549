"""Names that libraries import from here; they are defined in `laminax.core` and `laminax.extend.core`."""

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.refs.refs import Ref, freeze, new_ref
from laminax_ir.tracing.trace import is_tracing
from laminax_ir.types.memory_spaces import MemorySpace
from laminax_ir.types.ref_types import AbstractRef

from laminax._src.names.extend.core import Effects
from laminax._src.names.util import safe_map, safe_zip
from laminax.core import *  # noqa: F403
from laminax.extend.core import *  # noqa: F403
from laminax.extend.core.primitives import call_p, closed_call_p


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return not is_tracing()


__all__ = ["AbstractRef", "Effects", "MemorySpace", "Ref", "call_p", "closed_call_p", "freeze", "new_ref", "physical_aval", "safe_map",
           "safe_zip", "trace_state_clean"]
