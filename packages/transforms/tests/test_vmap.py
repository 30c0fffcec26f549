"""`vmap` on pytrees: axes, structures, nesting, and what it refuses. The oracle is a Python loop."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.contraction import dot
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.options.config import check_leaks
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.tracing.trace import axis_size
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import LeakedTracerError, TracerBoolConversionError
from laminax_transforms import grad, jvp, vjp, vmap


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def f32(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


# Axes


@pytest.mark.parametrize("in_axes, out_axes", [(0, 0), (1, 0), (-1, 0), (2, -1), ((0,), 1), ([1], 2), (np.int64(1), 0)], ids=str)
def test_in_and_out_axes(rng, in_axes, out_axes):
    x = f32(rng, 2, 3, 4)
    axis = in_axes if isinstance(in_axes, (int, np.integer)) else in_axes[0]
    want = np.stack([np.sin(row) for row in np.moveaxis(x, axis, 0)], axis=out_axes)
    np.testing.assert_allclose(vmap(op.sin, in_axes, out_axes)(x), want, rtol=1e-6)


def test_axes_follow_the_structure_of_arguments_and_results(rng):
    tree = {"a": f32(rng, 3, 5), "b": (f32(rng, 5), f32(rng, 2))}

    def f(t, c):
        return {"sum": t["a"] + t["b"][0] * c, "shared": t["b"][1], "scaled": t["b"][1] * c}

    got = vmap(f, in_axes=({"a": 1, "b": (0, None)}, None), out_axes={"sum": 1, "shared": None, "scaled": None})(tree, np.float32(2))
    loop = [f({"a": tree["a"][:, i], "b": (tree["b"][0][i], tree["b"][1])}, np.float32(2)) for i in range(5)]
    np.testing.assert_allclose(got["sum"], np.stack([r["sum"] for r in loop], 1), rtol=1e-6)
    np.testing.assert_array_equal(got["shared"], tree["b"][1])
    np.testing.assert_allclose(got["scaled"], 2 * tree["b"][1])


def test_prefixes_stand_for_whole_arguments(rng):
    tree = {"a": f32(rng, 5, 2), "b": [f32(rng, 5), f32(rng, 5, 1)]}
    got = vmap(lambda t, u: (t["a"] + u, t["b"][1]), in_axes=(0, None), out_axes=(0, 1))(tree, f32(rng, 2) * 0)
    np.testing.assert_array_equal(got[0], tree["a"])
    np.testing.assert_array_equal(got[1], tree["b"][1].T)


def test_keyword_arguments_are_mapped_over_axis_0(rng):
    x, y = f32(rng, 4, 3), f32(rng, 4)
    np.testing.assert_allclose(vmap(lambda a, *, b: a * b)(x, b=y), x * y[:, None], rtol=1e-6)


def test_results_that_do_not_depend_on_the_axis_are_repeated_or_shared():
    x = np.arange(3.0, dtype=np.float32)
    got = vmap(lambda a: (7, np.float32([1, 2]), a))(x)
    assert got[0].tolist() == [7, 7, 7] and got[1].tolist() == [[1, 2]] * 3
    assert vmap(lambda a: np.float32([1, 2]), out_axes=1)(x).shape == (2, 3)
    assert vmap(lambda a: (a, 5.0), out_axes=(0, None))(x)[1] == 5.0


def test_axis_size_without_mapped_arguments():
    assert vmap(lambda: np.float32(1), axis_size=4)().tolist() == [1] * 4
    assert vmap(lambda x: x, in_axes=None, axis_size=2)(np.float32(3)).tolist() == [3, 3]
    assert vmap(lambda x: x * 2, axis_size=3)(np.ones(3, np.float32)).tolist() == [2] * 3


def test_the_named_axis_is_bound_inside_only():
    from laminax_ir.types.errors import UnboundAxisNameError
    sizes = []
    vmap(lambda x: (sizes.append(axis_size("i")),
                    vmap(lambda y: (sizes.append((axis_size("i"), axis_size("j"))), y)[1], axis_name="j")(x))[1],
         axis_name="i")(np.ones((3, 2), np.float32))
    assert sizes == [3, (3, 2)]
    with pytest.raises(UnboundAxisNameError, match="unbound axis name: i"):
        axis_size("i")


@pytest.mark.parametrize("size", [0, 1])
def test_empty_and_single_batches(size):
    x = np.ones((size, 3), np.float32)
    assert vmap(lambda a: reduce_sum(op.sin(a), (0,)))(x).shape == (size,)
    assert vmap(grad(lambda a: reduce_sum(op.sin(a), (0,))))(x).shape == (size, 3)


# Nesting


def test_nested_vmap_is_a_double_loop(rng):
    x, y = f32(rng, 4, 3), f32(rng, 5, 3)
    outer = vmap(vmap(lambda a, b: reduce_sum(a * b, (0,)), in_axes=(None, 0)), in_axes=(0, None))(x, y)
    np.testing.assert_allclose(outer, x @ y.T, rtol=1e-5)
    table = vmap(vmap(lambda a, b: a - b, (None, 0)), (0, None))(x[:, 0], y[:, 0])
    np.testing.assert_array_equal(table, x[:, :1] - y[:, 0])


def test_inner_vmap_of_an_outer_value(rng):
    x, y = f32(rng, 4), f32(rng, 3)
    got = vmap(lambda a: vmap(lambda b: a * b)(y))(x)
    np.testing.assert_allclose(got, np.outer(x, y), rtol=1e-6)
    assert vmap(lambda a: vmap(lambda b: a)(y))(x).shape == (4, 3)


def test_vmap_commutes_with_differentiation(rng):
    x, t = f32(rng, 4, 3), f32(rng, 4, 3)

    def f(a):
        return op.tanh(a) * reduce_sum(a, (0,))

    value, tangent = jvp(vmap(f), (x,), (t,))
    rows = [jvp(f, (a,), (b,)) for a, b in zip(x, t)]
    np.testing.assert_allclose(value, np.stack([r[0] for r in rows]), rtol=1e-5)
    np.testing.assert_allclose(tangent, np.stack([r[1] for r in rows]), rtol=1e-5)
    np.testing.assert_allclose(vmap(lambda a, b: jvp(f, (a,), (b,))[1])(x, t), tangent, rtol=1e-6)
    (ct,) = vjp(vmap(f), x)[1](t)
    np.testing.assert_allclose(ct, vmap(lambda a, b: vjp(f, a)[1](b)[0])(x, t), rtol=1e-5)


def test_staged_vmap_adds_one_axis_and_no_equations(rng):
    row, batch = ShapedArray((3,), np.dtype(np.float32)), ShapedArray((5, 3), np.dtype(np.float32))
    f = lambda x: op.sin(x) * 2.0 + x  # noqa: E731
    one, many = stage(lambda x: [f(x)], [row]), stage(lambda x: [vmap(f)(x)], [batch])
    assert [e.primitive.name for e in many.eqns] == [e.primitive.name for e in one.eqns]
    x = f32(rng, 5, 3)
    np.testing.assert_allclose(evaluate(many, x)[0], np.stack([evaluate(one, row)[0] for row in x]), rtol=1e-6)


def test_matrix_products(rng):
    a, b = f32(rng, 4, 2, 3), f32(rng, 3, 5, 4)
    got = vmap(dot, in_axes=(0, 2), out_axes=1)(a, b)
    np.testing.assert_allclose(got, np.stack([a[i] @ b[..., i] for i in range(4)], 1), rtol=1e-5)


# Errors


@pytest.mark.parametrize("in_axes", ["0", 0.0, {"a": 0}, (0, "x"), True], ids=repr)
def test_in_axes_of_another_type(in_axes):
    with pytest.raises(TypeError, match="vmap in_axes must be an int, None, or"):
        vmap(lambda x: x, in_axes)(np.ones(2))


def test_out_axes_of_another_type():
    with pytest.raises(TypeError, match="vmap out_axes must be an int, None, or"):
        vmap(lambda x: x, out_axes="0")(np.ones(2))


def test_sizes_that_differ_are_listed_by_argument():
    def loss(x, mask, *, scale):
        return x["tokens"]

    with pytest.raises(ValueError, match=r"(?s)vmap\(loss\).*inconsistent sizes.*:\n"
                                         r"  \* most axes \(2 of them\) had size 8, e.g. axis 0 of argument x\['tokens'\] of type "
                                         r"float32\[8,2\];\n  \* one axis had size 6: axis 1 of argument mask of type "
                                         r"float32\[2,6\]\n.*in_axes=None"):
        vmap(loss, in_axes=(0, 1))({"tokens": np.ones((8, 2), np.float32)}, np.ones((2, 6), np.float32), scale=np.ones(8, np.float32))
    with pytest.raises(ValueError, match=r"argument was 3;\n  \* one axis had size 2: axis 0 of argument x of type .*\[2\]\nMake .* "
                                         r"axis_size, or"):
        vmap(lambda x: x, axis_size=3)(np.ones(2))
    with pytest.raises(ValueError, match=r"some axes \(2 of them\) had size 2, .*;\n  \* some axes \(2 of them\) had size 3, e.g. axis 0 "
                                         r"of kwargs\['y'\]"):
        vmap(lambda *xs, y, z: y)(np.ones(2), np.ones(2), y=np.ones(3), z=np.ones(3))


def test_documentation_of_a_mapped_function():
    def loss(x):
        """Squares x."""
    assert vmap(loss).__name__ == "loss"
    assert vmap(loss).__doc__.splitlines()[0].startswith("Vectorized version of loss") and vmap(loss).__doc__.endswith("\n\nSquares x.")
    assert "Original" not in vmap(lambda x: x).__doc__


@pytest.mark.parametrize("call, error, message", [
    (lambda: vmap(lambda x: x)(np.float32(1)), ValueError, r"map its argument along axis 0.*rank should be at least 1, but is only 0 \(its "
                                                           r"shape is \(\)\): argument x of <lambda> is f32\[\]"),
    (lambda: vmap(lambda x: x, in_axes=-2)(np.ones(3, np.float32)), ValueError, r"along axis -2.*at least 2, but is only 1"),
    (lambda: vmap(lambda x, y: x, in_axes=(0,))(np.ones(2), np.ones(2)), ValueError, r"len\(in_axes\)=1, len\(args\)=2"),
    (lambda: vmap(lambda x: x, in_axes=None)(np.ones(2)), ValueError, "at least one non-None value in in_axes"),
    (lambda: vmap(lambda x: x, in_axes=({"a": 0},))({"b": np.ones(2)}), ValueError,
     r"in_axes specification must be a tree prefix.*; got specification \(\{'a': 0\},\) for value tree PyTreeDef\(\(\{'b': \*\},\)\)"),
    (lambda: vmap(lambda x: x, in_axes=(np.ones(1),))(np.ones(2)), TypeError, "in_axes must be an int, None, or"),
    (lambda: vmap(lambda x: x)({}), ValueError, r"at least one argument containing an array or axis_size must be specified, got empty "
                                                r"\*args=\(\{\},\) and "
                                                r"\*\*kwargs=\{\}"),
    (lambda: vmap(lambda x: (x, x), out_axes=(0, 0, 0))(np.ones(2)), ValueError,
     r"out_axes specification must be a tree prefix.*\(0, 0, 0\) for value tree PyTreeDef\(\(\*, \*\)\)"),
    (lambda: vmap(lambda x: {"y": x}, out_axes=None, axis_name="i")(np.ones(2)), ValueError,
     r"mapped output \(axis_name=i\) but out_axes is None.*at vmap out_axes\['y'\]"),
    (lambda: vmap(lambda x: x, out_axes=None)(np.ones(2, np.float32)), ValueError,
     r"vmap has mapped output but out_axes is None.*<lambda>"),
    (lambda: vmap(lambda x: x, out_axes=2)(np.ones(2)), ValueError, "out_axes=2: axis 2 is out of bounds for array of dimension 1"),
    (lambda: vmap(lambda x: x)("text"), TypeError, r"vmap\(<lambda>\): argument \[0\] is not an array: got 'text'"),
    (lambda: vmap(lambda x: "text")(np.ones(2)), TypeError,
     "Output from batched function <lambda> is not an array: got 'text' of type str, which is not a valid JAX type"),
    (lambda: vmap(3), TypeError, "vmap: Expected a callable value, got 3"),
], ids=range(14))
def test_misuse(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_python_control_flow_on_a_mapped_value_is_refused():
    with pytest.raises(TracerBoolConversionError, match=r"(?s)boolean conversion of traced array.*bool\[\].*where"):
        vmap(lambda x: 1.0 if x > 0 else 2.0)(np.ones(3, np.float32))


def test_leaks():
    kept = []

    def leaky(x):
        kept.append(x * 2)
        return x

    vmap(leaky)(np.ones(3, np.float32))
    with pytest.raises(LeakedTracerError, match=r"value traced by vmap\(leaky\) was used after that trace had ended"):
        kept.pop() + 1.0
    with check_leaks(), pytest.raises(LeakedTracerError, match=r"vmap\(leaky\) is still alive"):
        vmap(leaky)(np.ones(3, np.float32))
