"""Sizes as names: functions that are traced once for all sizes of the axes that `abstracted_axes` names."""

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from laminax_ir.options import config
from laminax_ir.symbolic.symbolic_dims import InconclusiveDimensionOperation

import laminax
import laminax.numpy as jnp
from laminax import ShapeDtypeStruct, export, grad, jit, lax, make_jaxpr, nn, value_and_grad, vmap


def array(*shape, dtype=np.float32):
    return np.random.default_rng(shape).uniform(0.2, 2, shape).astype(dtype)


class Traced:
    """A function that counts how often it is traced."""

    def __init__(self, fun):
        self.fun = fun
        self.count = 0
        self.shapes = []

    def __call__(self, *args, **kwargs):
        self.count += 1
        self.shapes.append([str(x.shape) for x in laminax.tree.leaves((args, kwargs))])
        return self.fun(*args, **kwargs)


def loss(params, x, y):
    (w, b), (v,) = params
    return jnp.mean((jnp.tanh(x @ w + b) @ v - y) ** 2)


def loss_in_numpy(params, x, y):
    """The loss, and its gradient by the last matrix."""
    (w, b), (v,) = params
    hidden = np.tanh(x @ w + b)
    error = hidden @ v - y
    return np.mean(error ** 2), 2 * hidden.T @ error / error.size


PARAMS = ((array(4, 8), array(8)), (array(8, 2),))


# --- one trace, one lowering ---


def test_one_trace_for_all_sizes():
    traced = Traced(lambda x, scale: (x * scale, x.sum(0), x.sum() / x.shape[0]))
    f = jit(traced, abstracted_axes=({0: "n"}, None))
    for n in (1, 2, 5, 64, 5):
        x = array(n, 3)
        scaled, total, mean = f(x, 2.0)
        np.testing.assert_allclose(scaled, 2 * x, rtol=1e-6)
        np.testing.assert_allclose(total, x.sum(0), rtol=1e-5)
        np.testing.assert_allclose(mean, x.sum() / n, rtol=1e-5)
    assert traced.count == 1 and traced.shapes == [["(n, 3)", "()"]]
    assert f._cache_size() == 4  # one executable for each size


def test_one_trace_derivative_and_lowering(monkeypatch):
    from laminax_lowering import lower as real_lower
    lowered = []
    monkeypatch.setattr("laminax_lowering.lower", lambda closed, **kwargs: lowered.append(closed) or real_lower(closed, **kwargs))
    traced = Traced(loss)
    step = jit(value_and_grad(traced), abstracted_axes=(None, {0: "n"}, {0: "n"}))
    for n in (3, 7, 20):
        x, y = array(n, 4), array(n, 2)
        value, (_, (by_v,)) = step(PARAMS, x, y)
        expected, expected_by_v = loss_in_numpy(PARAMS, x, y)
        np.testing.assert_allclose(value, expected, rtol=1e-4)
        np.testing.assert_allclose(by_v, expected_by_v, rtol=1e-4, atol=1e-5)
    assert traced.count == 1
    assert [name.aval.str_short() for name in lowered[0].jaxpr.invars[-2:]] == ["f32[n,4]", "f32[n,2]"] and len(lowered) == 1


def test_the_forms_of_a_specification():
    x, y = array(3, 4), array(4)

    def shown(axes, *args):
        return [aval.str_short() for aval in make_jaxpr(lambda *args: args, abstracted_axes=axes)(*args).in_avals]

    assert shown({0: "n"}, x, x) == ["f32[n,4]", "f32[n,4]"]  # for all arguments
    assert shown(("n",), x, array(3)) == ["f32[n,4]", "f32[n]"]
    assert shown(("n", None), x) == shown(("n",), x) == shown({-2: "n"}, x) == ["f32[n,4]"]
    assert shown(({0: "n"}, None), x, y) == shown(({0: "n"}, {}), x, y) == shown((("n", None), ()), x, y) == ["f32[n,4]", "f32[4]"]
    assert shown((None, ("d",)), x, y) == ["f32[3,4]", "f32[d]"]
    tree = ({"a": {0: "n"}, "b": ({1: "d"}, None)},)
    assert shown(tree, {"a": x, "b": (x, y)}) == ["f32[n,4]", "f32[3,d]", "f32[4]"]
    assert shown(({0: "n"},), {"a": x, "b": [x, x]}) == ["f32[n,4]"] * 3  # a prefix
    assert shown(({0: 7},), x) == ["f32[int_7,4]"] and shown(({0: "batch size"},), x) == ["f32[batch_size,4]"]
    assert shown(({0: "a b", 1: "a-b"},), x) == ["f32[a_b,a_b_2]"]  # different names are different sizes
    (n,) = export.symbolic_shape("n")
    assert shown(({0: 3 * n},), x) == ["f32[3*n,4]"]


def test_make_jaxpr_shows_the_names():
    closed, shape = make_jaxpr(lambda x: (x * 2, x.shape[0] * 3), abstracted_axes={0: "n"}, return_shape=True)(array(5, 4))
    assert str(closed.in_avals) == "[ShapedArray(float32[n,4])]"
    assert "a:f32[n,4]" in str(closed) and "dim_as_value[dim=3*n]" in str(closed)
    assert str(shape[0].shape) == "(n, 4)"


def test_names_belong_to_arguments_by_keyword_too():
    traced = Traced(lambda x, y: x.sum() + y.sum())

    def f(x, y):
        return traced(x, y)

    g = jit(f, abstracted_axes=({0: "n"}, {0: "m"}))
    for n in (2, 3):
        assert float(g(np.ones(n), y=np.ones(2 * n))) == float(g(y=np.ones(2 * n), x=np.ones(n))) == 3 * n
    assert traced.count == 2  # the structure of the arguments differs


# --- what a call may be ---


def test_two_sizes_of_one_name():
    f = jit(lambda x, y: x.sum() + y["w"].sum(), abstracted_axes=({0: "n"}, {"w": {1: "n"}}))
    f(array(3), {"w": array(2, 3)})
    with pytest.raises(ValueError, match=r"(?s)jit\(<lambda>\): abstracted_axes gives the name 'n' to axes of different sizes, 5 and 6.*"
                                         r"x, f32\[5\], axis 0: size 5.*y\['w'\], f32\[2,6\], axis 1: size 6.*different names"):
        f(array(5), {"w": array(2, 6)})
    with pytest.raises(ValueError, match="axes of different sizes, 0 and 3"):
        f(array(0), {"w": array(2, 3)})


@pytest.mark.parametrize("axes, args, error, message", [
    ("n", (), TypeError, "abstracted_axes must be a dict"),
    ({"x": {0: "n"}}, (), TypeError, "abstracted_axes must be a dict"),
    (({0: "n"}, "m"), (), TypeError, r"abstracted_axes\[1\] must be a dict .axis: name., a tuple of names.*got 'm'"),
    (({0: {1, 2}},), (), TypeError, r"abstracted_axes\[0\]"),
    (({2: "n"}, None), (array(3, 4), 1.0), ValueError, r"abstracted_axes names axis 2 of x 'n', and x is f32\[3,4\], with 2 axes"),
    (({0: "n"},), (array(3, 4), 1.0), ValueError, "has 1 entries, and the function was called with 2 positional arguments"),
    (({"a": {0: "n"}}, None), ({"b": array(3)}, 1.0), ValueError, r"abstracted_axes\[0\] is no prefix of that argument"),
    ({0: "n"}, (array(3), 1.0), ValueError, r"abstracted_axes names axis 0 of y 'n', and y is f32\[\].*give None for the other"),
])
def test_specifications_that_do_not_fit(axes, args, error, message):
    with pytest.raises(error, match=message):
        jit(lambda x, y: x, abstracted_axes=axes)(*args)


def test_names_of_two_scopes_are_refused():
    (n,), (m,) = export.symbolic_shape("n"), export.symbolic_shape("m")
    with pytest.raises(ValueError, match="mixing of symbolic scopes in abstracted_axes"):
        jit(lambda x: x, abstracted_axes={0: n, 1: m})


def test_a_size_of_zero_is_traced_by_itself():
    traced = Traced(lambda x: x.sum() + (1.0 if x.shape[0] >= 1 else 5.0))
    f = jit(traced, abstracted_axes={0: "n"})
    assert [float(f(np.ones(n, np.float32))) for n in (0, 2, 0, 3)] == [5, 3, 5, 4]
    assert traced.shapes == [["(0,)"], ["(n,)"]]


def test_python_decides_by_bounds_or_says_why_not():
    f = jit(lambda x: x * 2 if x.shape[0] > 3 else x, abstracted_axes={0: "n"})
    with pytest.raises(InconclusiveDimensionOperation, match=r"(?s)comparison 'n' > '3' is inconclusive.*leave the axis out of "
                                                             "abstracted_axes"):
        f(array(5))
    (n,) = export.symbolic_shape("n", constraints=["n >= 4"])
    g = jit(lambda x: x * 2 if x.shape[0] > 3 else x, abstracted_axes={0: n})
    np.testing.assert_array_equal(g(array(5)), 2 * array(5))
    with pytest.raises(ValueError, match="(?s)the arguments do not have the sizes that abstracted_axes says.*n >= 4"):
        g(array(3))
    assert float(jit(lambda x: x.sum() if x.shape[0] >= 1 else 0.0, abstracted_axes={0: "n"})(np.ones(2))) == 2


def test_sizes_that_are_expressions():
    (n,) = export.symbolic_shape("n")
    pairs = jit(lambda x: x.reshape(-1, 2).sum(1), abstracted_axes={0: 2 * n})
    for size in (2, 6):
        np.testing.assert_allclose(pairs(array(size)), array(size).reshape(-1, 2).sum(1), rtol=1e-6)
    with pytest.raises(ValueError, match="Division had remainder 1"):
        pairs(array(5))


# --- with the options of jit ---


def test_static_and_donated_arguments():
    f = jit(lambda x, k, y: x * k + y, abstracted_axes=({0: "n"}, None, {0: "n"}), static_argnums=1, donate_argnums=0)
    for n in (2, 5):
        x = jnp.asarray(array(n))
        np.testing.assert_allclose(f(x, 3, array(n)), 4 * array(n), rtol=1e-6)
        assert x.is_deleted()
    assert "tf.aliasing_output = 0" in f.lower(array(2), 3, array(2))._module.text


def test_clear_cache_and_explanations(caplog):
    traced = Traced(lambda x: x * 2)

    def f(x):
        return traced(x)

    g = jit(f, abstracted_axes={0: "n"})
    with config.explain_cache_misses(True), caplog.at_level(logging.WARNING, "laminax"):
        g(array(3))
        g(array(4))
        g(array(4))
        g(array(4, 2))
    texts = [record.getMessage() for record in caplog.records]
    assert sum("TRACING CACHE MISS" in text for text in texts) == 2 and traced.count == 2
    (compiled,) = [text for text in texts if "COMPILATION CACHE MISS" in text]
    assert "the sizes of named axes, now n=4 and before n=3" in compiled
    g.clear_cache()
    assert g._cache_size() == 0
    g(array(3))
    assert traced.count == 3


def test_jit_of_the_same_function_again_shares_the_trace():
    traced = Traced(lambda x: x + 1)
    for n in (2, 3):
        jit(traced, abstracted_axes={0: "n"})(array(n))
    assert traced.count == 1


# --- ahead of time ---


def test_stages():
    traced = Traced(lambda x: {"y": x * 2})
    f = jit(traced, abstracted_axes={0: "n"})
    stage = f.trace(ShapeDtypeStruct((5, 4), np.float32))
    assert "f32[n,4]" in str(stage.jaxpr) and stage.out_info["y"].shape == (5, 4) and stage.in_avals[0][0].shape == (5, 4)
    lowered = stage.lower()
    assert "tensor<5x4xf32>" in lowered.as_text() and "tensor<?x4xf32>" in lowered.as_text()
    assert "f32[5,4]" in lowered.as_text("hlo") and lowered.cost_analysis()["flops"] >= 0
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(array(5, 4))["y"], 2 * array(5, 4))
    with pytest.raises(TypeError, match="float32.5,4. and called with float32.6,4."):
        compiled(array(6, 4))
    f(array(5, 4)), f(array(6, 4))
    assert traced.count == 1 and f.eval_shape(array(7, 4))["y"].shape == (7, 4)


def test_compiled_for_all_sizes():
    traced = Traced(lambda x, k: x * k)
    f = jit(traced, abstracted_axes=({0: "n"}, None))
    (m,) = export.symbolic_shape("m")
    lowered = f.lower(ShapeDtypeStruct((m, 4), np.float32), 2.0)
    assert "tensor<?x4xf32>" in lowered.as_text() and str(lowered.out_info.shape) == "(m, 4)"
    compiled = lowered.compile()
    for size in (2, 5, 2):
        np.testing.assert_array_equal(compiled(array(size, 4), 3.0), 3 * array(size, 4))
    assert traced.count == 1
    with pytest.raises((TypeError, ValueError), match="compiled with float32"):
        compiled(array(2, 5), 3.0)
    for what in (compiled.cost_analysis, compiled.memory_analysis, compiled.as_text):
        with pytest.raises(NotImplementedError, match="lowered for symbolic sizes.*at_shapes"):
            what()
    assert compiled.at_shapes([(3, 4), ()]).cost_analysis()["flops"] >= 0


def test_export_keeps_the_names():
    e = export.deserialize(export.export(jit(lambda x: x.sum(0), abstracted_axes={0: "n"}))(array(3, 4)).serialize())
    assert str(e.in_avals[0].shape) == "(n, 4)"
    for size in (1, 6):
        np.testing.assert_allclose(e.call(array(size, 4)), array(size, 4).sum(0), rtol=1e-6)


# --- under transformations ---


def test_grad_of_the_jitted_function_differentiates_once(monkeypatch):
    """A rule of the user tells how often the function is differentiated; forward and backward pass are each lowered once."""
    from laminax_lowering import lower as real_lower
    rules, lowered = [], []

    @laminax.custom_vjp
    def square(x):
        return x * x

    def backward(x, ct):
        rules.append(x.shape)
        return (2 * x * ct,)

    square.defvjp(lambda x: (x * x, x), backward)
    traced = Traced(lambda x: square(x).sum() / x.shape[0])
    f = jit(traced, abstracted_axes={0: "n"})
    for n in (2, 3, 4):
        np.testing.assert_allclose(grad(f)(array(n)), 2 * array(n) / n, rtol=1e-6)
        if not lowered:  # operations besides the two calls are compiled by now
            monkeypatch.setattr("laminax_lowering.lower", lambda closed, **kwargs: lowered.append(closed) or real_lower(closed, **kwargs))
    assert traced.count == 1 and len(rules) == 1 and not lowered


def test_transformations():
    traced = Traced(lambda x: (jnp.sin(x) * x.shape[0]).sum())
    f = jit(traced, abstracted_axes={0: "n"})
    for n in (2, 5):
        x = array(n)
        value, by_x = value_and_grad(f)(x)
        np.testing.assert_allclose(value, np.sin(x).sum() * n, rtol=1e-5)
        np.testing.assert_allclose(by_x, np.cos(x) * n, rtol=1e-5)
        np.testing.assert_allclose(laminax.hessian(f)(x), np.diag(-np.sin(x) * n), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(vmap(f)(np.stack([x, 2 * x, x])), [np.sin(x).sum() * n, np.sin(2 * x).sum() * n,
                                                                      np.sin(x).sum() * n], rtol=1e-5)
        np.testing.assert_allclose(laminax.jvp(f, (x,), (x,))[1], (np.cos(x) * x).sum() * n, rtol=1e-5)
        total, values = lax.scan(lambda c, row: (c + f(row), f(row)), 0.0, np.stack([x, x]))
        np.testing.assert_allclose(total, 2 * np.sin(x).sum() * n, rtol=1e-5)
        np.testing.assert_allclose(grad(lambda x: lax.cond(x[0] > 0, f, lambda x: x.sum(), x))(x), np.cos(x) * n, rtol=1e-5)
    assert traced.count == 1


def test_nested_jit():
    traced = Traced(lambda x: jnp.tanh(x) / x.shape[0])
    inner = jit(traced, abstracted_axes={0: "n"})
    plain = jit(lambda x: inner(x) + inner(jnp.concatenate([x, x]))[: x.shape[0]])
    outer = jit(lambda x: inner(jnp.concatenate([x, x])).sum(), abstracted_axes={0: "k"})
    for n in (2, 3):
        x = array(n)
        np.testing.assert_allclose(plain(x), np.tanh(x) / n + np.tanh(x) / (2 * n), rtol=1e-5)
        np.testing.assert_allclose(outer(x), np.tanh(x).sum() / n, rtol=1e-5)
        np.testing.assert_allclose(grad(outer)(x), (1 - np.tanh(x) ** 2) / n, rtol=1e-4)
    assert traced.count == 1
    assert "f32[2*k]" in str(make_jaxpr(outer, abstracted_axes={0: "k"})(array(3)))


def test_rules_of_the_user_in_calls_that_are_kept_and_in_those_that_are_not():
    @laminax.custom_vjp
    def square(x):
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))

    @laminax.custom_jvp
    def cube(x):
        return x ** 3

    cube.defjvp(lambda primals, tangents: (primals[0] ** 3, 3 * primals[0] ** 2 * tangents[0]))
    for inline in (laminax.Inline.JAX_EARLY, True, False):
        f = jit(lambda x: (square(x) + cube(x)).sum(), abstracted_axes={0: "n"}, inline=inline)
        looped = grad(lambda x, f=f: lax.scan(lambda c, _: (c + f(x), None), 0.0, None, length=3)[0])
        for n in (2, 3):
            x = array(n)
            slope = 2 * x + 3 * x * x
            for derivative in (grad(f), jit(grad(f)), jit(grad(f), abstracted_axes={0: "m"}), grad(laminax.checkpoint(f))):
                np.testing.assert_allclose(derivative(x), slope, rtol=1e-5)
            np.testing.assert_allclose(looped(x), 3 * slope, rtol=1e-5)
            np.testing.assert_allclose(vmap(grad(f))(np.stack([x, x]))[1], slope, rtol=1e-5)


def test_closed_over_arrays_and_keys():
    table, key = jnp.asarray(array(4)), laminax.random.key(3)
    f = jit(lambda x: (x * table, laminax.random.normal(key, x.shape[:1])), abstracted_axes={0: "n"})
    for n in (1, 3):
        scaled, noise = f(array(n, 4))
        np.testing.assert_allclose(scaled, array(n, 4) * np.asarray(table), rtol=1e-6)
        np.testing.assert_allclose(noise, laminax.random.normal(key, (n,)), rtol=1e-6)
    g = jit(lambda keys: vmap(laminax.random.uniform)(keys), abstracted_axes={0: "n"})
    for n in (2, 5):
        keys = laminax.random.split(key, n)
        np.testing.assert_array_equal(g(keys), vmap(laminax.random.uniform)(keys))


def test_scan_over_a_named_axis_and_loops():
    def rnn(w, xs):
        return lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h.sum()), jnp.zeros(3), xs, unroll=2)

    f = jit(lambda w, xs: rnn(w, xs)[0].sum(), abstracted_axes=(None, {0: "t"}))
    w = array(3, 3) / 4
    for t in (1, 2, 5):
        xs, h = array(t, 3), np.zeros(3)
        for x in xs:
            h = np.tanh(h @ w + x)
        np.testing.assert_allclose(f(w, xs), h.sum(), rtol=1e-5)
        np.testing.assert_allclose(grad(f)(w, xs), grad(lambda w: rnn(w, xs)[0].sum())(w), rtol=1e-4, atol=1e-6)
    total = jit(lambda x: lax.fori_loop(0, x.shape[0], lambda i, a: a + i * x[i], 0.0), abstracted_axes={0: "n"})
    for n in (1, 4):
        np.testing.assert_allclose(total(array(n)), (np.arange(n) * array(n)).sum(), rtol=1e-5)


def test_what_has_no_form_for_all_sizes_is_lowered_for_each(caplog):
    """Neither calls the function again: an FFT, whose length is an attribute, and a callback into Python."""
    traced = Traced(jnp.fft.fft)
    f = jit(traced, abstracted_axes={0: "n"})
    seen = []

    def noted(x):
        seen.append(x.shape)
        return x + 1

    called = Traced(lambda x: laminax.pure_callback(noted, ShapeDtypeStruct(x.shape, x.dtype), x) * 2)
    g = jit(called, abstracted_axes={0: "n"})
    for n in (3, 8):
        np.testing.assert_allclose(f(array(n)), np.fft.fft(array(n)), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(g(array(n)), 2 * (array(n) + 1), rtol=1e-6)
    assert traced.count == called.count == 1 and seen == [(3,), (8,)]
    with config.log_compiles(True), caplog.at_level(logging.WARNING, "laminax"):
        jit(jnp.fft.ifft, abstracted_axes={0: "n"})(array(3))
    assert any("for each size by itself" in record.getMessage() and "fft" in record.getMessage() for record in caplog.records)


def test_attention_with_two_names():
    def attend(q, k, v, mask):
        scores = jnp.where(mask, jnp.einsum("bqd,bkd->bqk", q, k) / 2, -jnp.inf)
        return jnp.einsum("bqk,bkd->bqd", nn.softmax(scores), v)

    traced = Traced(attend)
    f = jit(traced, abstracted_axes=({0: "b", 1: "q"}, {0: "b", 1: "k"}, {0: "b", 1: "k"}, {1: "k"}))
    for b, q, k in ((1, 2, 3), (2, 5, 4), (3, 1, 1)):
        x, y, z, mask = array(b, q, 4), array(b, k, 4), array(b, k, 4), np.ones((1, k), bool)
        scores = np.einsum("bqd,bkd->bqk", x, y) / 2
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        np.testing.assert_allclose(f(x, y, z, mask), np.einsum("bqk,bkd->bqd", weights, z), rtol=1e-4)
    assert traced.count == 1


# --- the cache on disk ---

_PROGRAM = """
import sys
import numpy as np
import laminax, laminax.numpy as jnp
from laminax_runtime.compiling import compilation_cache
laminax.config.update("enable_compilation_cache", True)
laminax.config.update("compilation_cache_dir", sys.argv[1])
laminax.config.update("persistent_cache_min_compile_time_secs", 0)
traces = []
f = laminax.jit(lambda x: traces.append(1) or jnp.tanh(x).sum(0), abstracted_axes={0: "n"})
for n in (2, 3, 4):
    f(np.ones((n, 5), np.float32))
found = compilation_cache.statistics
print(len(traces), found.hits, found.misses)
"""


def test_another_process_finds_each_size_on_disk(tmp_path):
    def run():
        done = subprocess.run([sys.executable, "-c", _PROGRAM, str(tmp_path / "cache")], env=os.environ | {"PYTHONPATH": os.pathsep.join(
            sys.path)}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert run() == ["1", "0", "3"]
    assert run() == ["1", "3", "0"]
