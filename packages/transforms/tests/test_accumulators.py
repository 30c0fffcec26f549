"""Backward rules that take accumulators: of `custom_vjp`, and pullbacks of `custom_gradient`."""

import numpy as np
import pytest

from laminax_ir.ops.elementwise import cos, mul, sin
from laminax_transforms import custom_gradient, custom_vjp, grad, vjp, vmap
from laminax_transforms.custom.accumulators import GradAccum, NullAccum, RefAccum, ValAccum


def product_of_sines(kinds):
    @custom_vjp
    def f(args, scale):
        return mul(mul(sin(args["x"]), sin(args["y"])), scale)

    def fwd(args, scale):
        return f(args, scale), (args, scale)

    def bwd(res, ct, accums, scale_accum):
        args, scale = res
        kinds.append([type(accums["x"]), type(accums["y"]), type(scale_accum)])
        ct = mul(ct, scale)
        accums["x"].accum(mul(mul(ct, cos(args["x"])), sin(args["y"])))
        accums["y"].accum(mul(mul(ct, sin(args["x"])), cos(args["y"])))
        return {"ct": ct}

    f.defvjp_with_accums(fwd, bwd)
    return f


def test_cotangents_are_what_is_accumulated():
    kinds = []
    f, args = product_of_sines(kinds), {"x": 0.3, "y": 0.7}
    cts = grad(f)(args, 2.0)
    np.testing.assert_allclose([cts["x"], cts["y"]], [2 * np.cos(0.3) * np.sin(0.7), 2 * np.sin(0.3) * np.cos(0.7)], rtol=1e-6)
    assert kinds == [[ValAccum, ValAccum, NullAccum]]
    np.testing.assert_allclose(grad(lambda x: f({"x": x, "y": 0.7}, 2.0))(0.3), cts["x"])
    assert kinds[-1] == [ValAccum, NullAccum, NullAccum]
    assert vjp(lambda x: f({"x": x, "y": 0.7}, 2.0), 0.3)[1].with_logs(3.0)[1] == {"ct": 6.0}
    xs = np.linspace(0, 1, 3, dtype=np.float32)
    np.testing.assert_allclose(vmap(grad(lambda x: f({"x": x, "y": x}, 2.0)))(xs), 2 * np.sin(2 * xs), rtol=1e-5, atol=1e-6)


def test_a_cotangent_of_another_shape_or_a_result_is_refused():
    f = custom_vjp(lambda x: x)
    f.defvjp_with_accums(lambda x: (x, None), lambda _, ct, accum: accum.accum(np.ones(2, np.float32)))
    with pytest.raises(ValueError, match=r"Expected cotangent type float32\[\] but got float32\[2\]"):
        grad(f)(1.0)
    f.defvjp_with_accums(lambda x: (x, None), lambda _, ct, accum: (ct,))
    with pytest.raises(TypeError, match="registered with defvjp_with_accums, and so must return None or a dict"):
        grad(f)(1.0)


@pytest.mark.parametrize("spec", [ValAccum, RefAccum, (RefAccum, ValAccum)])
def test_pullbacks_of_custom_gradient(spec):
    kinds = []

    @custom_gradient(with_accums=spec)
    def f(x, y):
        def pull_back(ct, x_accum, y_accum):
            kinds.append((type(x_accum), type(y_accum)))
            for _ in range(2):  # what is added twice counts twice
                x_accum.accum(mul(ct, y))
            y_accum.accum(mul(ct, x))
            return {"ct": ct}
        return mul(x, y), pull_back

    assert grad(f, (0, 1))(2.0, 3.0) == (6.0, 2.0)
    assert kinds == [spec if isinstance(spec, tuple) else (spec, spec)]
    assert grad(f, 1)(2.0, 3.0) == 2.0 and kinds[-1][0] is NullAccum
    assert vjp(f, 2.0, 3.0)[1].with_logs(1.0)[1] == {"ct": 1.0}


def test_custom_gradient_says_which_kinds_there_are():
    with pytest.raises(TypeError, match="ValAccum or RefAccum leaves, but got a leaf"):
        grad(custom_gradient(lambda x: (x, None), with_accums=GradAccum))(1.0)
