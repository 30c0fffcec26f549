"""Operations that move numbers."""

from __future__ import annotations

from laminax_ir.ops import shape as op
from laminax_ir.ops.elementwise import mul, sin, square
from laminax_ir.ops.slicing import index_in_dim

from .case import Case, axes, flat, of_one, typed


def at(x, i: int):
    return index_in_dim(x, i, keepdims=False)


CASES = {
    "broadcast_in_dim": of_one(lambda x: square(op.broadcast_in_dim(x, (2, *x.shape), tuple(a + 1 for a in axes(x))))),
    "transpose": Case(lambda x, y: mul(op.transpose(sin(x), axes(x)[::-1]), op.transpose(y, axes(x)[::-1]))),
    "reshape": Case(lambda x, y: mul(flat(x), flat(y))),
    "squeeze": of_one(lambda x: sin(op.squeeze(op.expand_dims(x, (0,)), (0,)))),
    "rev": Case(lambda x, y: mul(op.rev(x, axes(x)[:1]), y)),
    "concatenate": Case(lambda x, y: sin(op.concatenate([flat(x), flat(y), flat(x)], 0))),
    "pad": Case(lambda x, y: square(op.pad(flat(x), at(flat(y), 0), ((1, 2, 1),)))),
    "negative pad": of_one(lambda x: square(op.pad(flat(x), typed(0.5, x), ((-1, 2, 0),)))),
    "split": Case(lambda x, y: mul(*op.split(sin(op.concatenate([flat(x), flat(y)], 0)), (flat(x).shape[0],) * 2))),
    "tile": of_one(lambda x: square(op.tile(x, (2, 1, 3)[:len(x.shape)]))),
}
