"""Taylor series of sums over windows, which are linear."""

from laminax_ir.ops import windows as op
from laminax_transforms.taylor.series import define_linear

define_linear(op.reduce_window_sum_p)
