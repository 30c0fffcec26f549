"""Taylor series of collectives, those of them that are linear."""

from laminax_ir.ops import collectives as op
from laminax_transforms.taylor.series import define_linear

for _primitive in (op.psum_p, op.all_gather_p, op.reduce_scatter_p, op.all_to_all_p, op.ppermute_p, op.pvary_p):
    define_linear(_primitive)
