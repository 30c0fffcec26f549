"""Taylor series of stacks, which are linear."""

from laminax_ir.ops import stacking as op
from laminax_transforms.taylor.series import define_linear

define_linear(op.stack_p)
define_linear(op.unstack_p)
