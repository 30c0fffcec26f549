"""Taylor series of placements: the coefficients go where the value goes."""

from laminax_ir.ops import sharding as op
from laminax_transforms.taylor.series import define_linear

define_linear(op.sharding_constraint_p)
define_linear(op.device_put_p)
define_linear(op.layout_constraint_p)
