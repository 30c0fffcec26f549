"""Names that libraries import from here; they are defined in `laminax.core` and `laminax.extend.core`."""

from laminax_ir.key_arrays.keys import physical_aval
from laminax_ir.refs.refs import Ref, freeze, new_ref
from laminax_ir.tracing.trace import eval_trace, state
from laminax_ir.types.memory_spaces import MemorySpace
from laminax_ir.types.ref_types import AbstractRef

from laminax.core import *  # noqa: F403
from laminax.extend.core import *  # noqa: F403


def trace_state_clean() -> bool:
    """Whether nothing is being traced in this thread."""
    return state.trace is eval_trace


__all__ = ["AbstractRef", "MemorySpace", "Ref", "freeze", "new_ref", "physical_aval", "trace_state_clean"]
