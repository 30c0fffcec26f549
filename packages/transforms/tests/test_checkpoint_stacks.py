"""Checkpointing in stacks with the other transformations: every pair, and triples, against derivatives in closed form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.elementwise import exp
from laminax_ir.ops.loops import scan
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms import checkpoint, checkpoint_name, checkpoint_policies, jvp, linearize, vjp, vmap

ONE = np.float64(1)


def function(x):
    return checkpoint_name(x * exp(2.0 * x), "product")


def derivative(x, order):
    """Of x exp(2x), by Leibniz' rule."""
    return (2.0 ** order * x + order * 2.0 ** (order - 1)) * np.exp(2 * x)


def jit(f):
    return lambda *xs: call_jaxpr(stage(lambda *ys: [f(*ys)], [get_aval(x) for x in xs]), *xs, name="f")[0]


TRANSFORMATIONS = {
    "checkpoint": checkpoint,
    "saving": lambda f: checkpoint(f, policy=checkpoint_policies.everything_saveable),
    "saving names": lambda f: checkpoint(f, policy=checkpoint_policies.save_only_these_names("product")),
    "jit": jit,
    "jvp": lambda f: lambda x: jvp(f, (x,), (ONE,))[1],
    "vjp": lambda f: lambda x: vjp(f, x)[1](ONE)[0],
    "linearize": lambda f: lambda x: linearize(f, x)[1](ONE),
    "scan": lambda f: lambda x: scan(lambda c, _: (f(c), None), x, None, length=1)[0],
}


@pytest.mark.parametrize("first", TRANSFORMATIONS)
def test_stacks(first):
    points = np.array([0.3, -0.4])
    with config.enable_x64(True):
        for rest in [(), *itertools.product(TRANSFORMATIONS, repeat=1), *itertools.product(TRANSFORMATIONS, repeat=2)]:
            names = (first, *rest)
            f = function
            for name in names:
                f = TRANSFORMATIONS[name](f)
            order = sum(name in ("jvp", "vjp", "linearize") for name in names)
            np.testing.assert_allclose(f(points[0]), derivative(points[0], order), rtol=1e-9, err_msg=str(names))
            if len(names) < 3:
                np.testing.assert_allclose(vmap(f)(points), derivative(points, order), rtol=1e-9, err_msg=str(names))
