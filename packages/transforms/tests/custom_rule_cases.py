"""What the tests of functions with rules of their own share: a point, wrappings, and two functions whose rules are wrong by 10."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import control_flow, loops, reduction
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.options.config import check, enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms import checkpoint, custom_jvp, custom_vjp

X = np.array([0.3, -1.2, 2.0])


@pytest.fixture(autouse=True)
def x64_and_checked():
    with enable_x64(), check():
        yield


def total(x):
    return reduction.reduce_sum(x, tuple(range(len(x.shape))))


def jit(fun):
    cache = {}

    def called(*args):
        avals = tuple(get_aval(x) for x in args)
        if avals not in cache:
            cache[avals] = stage(lambda *xs: [fun(*xs)], avals, "f")
        return call_jaxpr(cache[avals], *args, name="f")[0]

    return called


def scaled_product():
    """sin(x) y, whose derivative in x is ten times too large."""
    @custom_jvp
    def f(x, y):
        return op.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), 10.0 * op.cos(x) * y * x_dot + op.sin(x) * y_dot

    return f


WRAPPINGS = {
    "": lambda f: f, "jit": jit, "checkpoint": checkpoint, "jit jit": lambda f: jit(jit(f)), "jit checkpoint": lambda f: jit(checkpoint(f)),
    "cond": lambda f: lambda x, y: control_flow.cond(y > -1e9, f, lambda a, b: a * b, x, y),
    "scan": lambda f: lambda x, y: loops.scan(lambda c, _: (f(x, y), None), x * 0.0, None, length=2)[0],
}


def scaled_vjp():
    @custom_vjp
    def f(x, y):
        return op.sin(x) * y

    f.defvjp(lambda x, y: (op.sin(x) * y, (x, y)), lambda res, ct: (10.0 * op.cos(res[0]) * res[1] * ct, op.sin(res[0]) * ct))
    return f
