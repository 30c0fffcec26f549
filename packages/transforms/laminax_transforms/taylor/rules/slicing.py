"""Taylor series of slices, which are linear in the arrays; where they start does not vary."""

from laminax_ir.ops import slicing as op
from laminax_transforms.taylor.series import define_linear

define_linear(op.slice_p)
define_linear(op.dynamic_slice_p, (0,))
define_linear(op.dynamic_update_slice_p, (0, 1))
