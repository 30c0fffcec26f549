"""Operations of users: with rules of forward mode from which the others are derived, and with rules of both modes."""

from __future__ import annotations

from laminax_ir.ops.elementwise import add, cos, mul, sin
from laminax_ir.types.avals import get_aval
from laminax_transforms.custom.derived_rules import linearize_from_jvp, vjp_from_jvp
from laminax_transforms.custom.user_operations import HiPrim

from .case import Case, of_one


class Sine(HiPrim):
    def __init__(self, aval):
        self.in_avals, self.out_aval, self.params = (aval,), aval, {}
        super().__init__()

    def expand(self, x):
        return sin(x)

    def jvp(self, primals, tangents):
        (x,), (dot,) = primals, tangents
        return self(x), mul(cos(x), dot)

    lin, linearized = linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = vjp_from_jvp

    def batch(self, axis, args, axes):
        (x,) = args
        return Sine(get_aval(x))(x), axes[0]


class Product(HiPrim):
    def __init__(self, x, y):
        self.in_avals, self.out_aval, self.params = (x, y), x, {}
        super().__init__()

    def expand(self, x, y):
        return mul(x, y)

    def jvp(self, primals, tangents):
        (x, y), (x_dot, y_dot) = primals, [t.instantiate() if hasattr(t, "instantiate") else t for t in tangents]
        return self(x, y), add(mul(x_dot, y), mul(x, y_dot))

    lin, linearized = linearize_from_jvp

    def vjp_fwd(self, nzs_in, x, y):
        return self(x, y), (x, y)

    def vjp_bwd(self, res, ct, x_accum, y_accum):
        x, y = res
        x_accum.accum(mul(ct, y))
        y_accum.accum(mul(x, ct))

    def batch_dim_rule(self, axis, axes):
        return axes[0]


CASES = {
    "derived from jvp": of_one(lambda x: Sine(get_aval(x))(x)),
    "rules of both modes": Case(lambda x, y: Product(get_aval(x), get_aval(y))(sin(x), y)),
}
