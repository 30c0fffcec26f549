"""Special functions."""

from __future__ import annotations

from laminax_ir.ops import special as op
from laminax_ir.ops.elementwise import mul

from .case import REAL, Case, of_one, typed

HALF = 0.5  # brings the points into (0.3, 0.95)

CASES = {
    **{f.__name__: of_one(f, dtypes=REAL, rtol=30) for f in (op.erf, op.erfc, op.lgamma, op.digamma, op.bessel_i0e, op.bessel_i1e)},
    "erf_inv": of_one(lambda x: op.erf_inv(mul(x, typed(HALF, x))), dtypes=REAL, rtol=30),
    "polygamma": of_one(lambda x: op.polygamma(typed(2, x), x), dtypes=REAL, rtol=60),
    "zeta": of_one(lambda q: op.zeta(typed(3, q), q), dtypes=REAL, rtol=60),
    "igamma": of_one(lambda x: op.igamma(typed(1.5, x), x), dtypes=REAL, rtol=30),
    "igammac": of_one(lambda x: op.igammac(typed(1.5, x), x), dtypes=REAL, rtol=30),
    "regularized_incomplete_beta": of_one(lambda x: op.betainc(typed(1.5, x), typed(2.5, x), mul(x, typed(HALF, x))), dtypes=REAL, rtol=60),
}
# The derivative with respect to the parameter is a primitive without further derivatives.
FIRST_ORDER = {
    "igamma of its parameter": Case(op.igamma, dtypes=REAL, rtol=60), "igammac of its parameter": Case(op.igammac, dtypes=REAL, rtol=60),
}
