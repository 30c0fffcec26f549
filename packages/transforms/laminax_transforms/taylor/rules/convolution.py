"""Taylor series of convolutions, which are linear in each operand."""

from laminax_ir.ops.convolution import conv_general_dilated_p
from laminax_transforms.taylor.series import define_bilinear

define_bilinear(conv_general_dilated_p)
