"""Conditionals and loops."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import control_flow as op
from laminax_ir.ops import loops
from laminax_ir.ops.elementwise import add, convert_element_type, cos, gt, lt, mul, real, sin, square, sub
from laminax_ir.ops.reduction import reduce_sum

from .case import ALL, Case, axes, typed


def magnitude(x):
    """One real number that decides."""
    total = reduce_sum(x, axes(x))
    return real(total) if np.dtype(total.dtype).kind == "c" else total


def chosen(x, y):
    return op.cond(gt(magnitude(x), magnitude(y)), lambda a, b: sin(mul(a, b)), lambda a, b: mul(a, cos(b)), x, y)


def switched(x, y):
    index = convert_element_type(gt(magnitude(x), magnitude(y)), np.int32)
    return op.switch(index, [lambda a: sin(a), lambda a: mul(mul(a, a), y), lambda a: a], x)


def scanned(reverse: bool):
    def fun(x, y):
        def body(carry, a):
            carry = square(add(mul(mul(carry, y), typed(0.25, y)), a))
            return carry, mul(carry, a)
        rows = np.array([0.5, -0.25, 1.0]).astype(np.asarray(typed(0, x)).dtype)
        carry, ys = loops.scan(body, x, rows, reverse=reverse)
        return add(carry, reduce_sum(ys, (0,)))
    return fun


def repeated(x, y):
    return loops.fori_loop(0, 3, lambda i, c: square(mul(add(c, y), typed(0.25, y))), x)


def until_small(x, y):
    """As many steps as the numbers say."""
    def body(carry):
        value, factor = carry
        return mul(sin(value), factor), factor
    # Sums are far enough from the bound in all dtypes: each step divides them by more than four.
    return loops.while_loop(lambda carry: gt(magnitude(mul(carry[0], carry[0])), magnitude(typed(0.0625, x))), body,
                            (x, mul(y, typed(0.125, y))))[0]


def counted(x, y):
    def body(carry):
        i, value = carry
        return i + 1, sub(mul(value, y), mul(value, value))
    return loops.while_loop(lambda carry: lt(carry[0], np.int32(3)), body, (np.int32(0), x))[1]


CASES = {
    "cond": Case(chosen), "switch": Case(switched), "scan": Case(scanned(False), rtol=30), "scan from behind": Case(scanned(True), rtol=30),
    "fori_loop": Case(repeated, rtol=30),
}
FORWARD_ONLY = {"while": Case(counted, reverse=False, dtypes=ALL, rtol=30),
                "while with a condition on the values": Case(until_small, reverse=False, rtol=30)}
