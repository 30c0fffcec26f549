"""Taylor series of operations that users define: their programs are expanded."""

from __future__ import annotations

from laminax_ir.ops.user_operations import call_hi_primitive_p
from laminax_transforms.taylor.rules.calls import define_inlined

define_inlined(call_hi_primitive_p, "call_jaxpr")
