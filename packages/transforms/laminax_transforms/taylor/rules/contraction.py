"""Taylor series of contractions, which are linear in each operand."""

from laminax_ir.ops.contraction import dot_general_p
from laminax_transforms.taylor.series import define_bilinear

define_bilinear(dot_general_p)
