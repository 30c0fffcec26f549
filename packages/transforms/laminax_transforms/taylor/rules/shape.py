"""Taylor series of shape operations, which are linear."""

from laminax_ir.ops import shape as op
from laminax_transforms.taylor.series import define_linear

for _primitive in (op.broadcast_in_dim_p, op.reshape_p, op.transpose_p, op.squeeze_p, op.concatenate_p, op.pad_p, op.rev_p, op.split_p,
                   op.tile_p):
    define_linear(_primitive)
