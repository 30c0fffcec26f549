"""Ahead of time: tracing, lowering and compiling a jitted function, and calling what comes out."""

import re

import numpy as np
import pytest

from laminax_ir.options import config

import laminax
import laminax.numpy as jnp
from laminax import ShapeDtypeStruct, errors, monitoring


def matrix_product(x, y):
    return {"product": x @ y["right"]}


X_ROW = ShapeDtypeStruct((3,), np.float32)
X, Y = ShapeDtypeStruct((2, 3), np.float32), {"right": ShapeDtypeStruct((3, 4), "float32")}


def test_from_shapes_to_an_executable():
    lowered = laminax.jit(matrix_product).lower(X, Y)
    compiled = lowered.compile()
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_allclose(compiled(x, {"right": y})["product"], x @ y)
    for stage in (lowered, compiled):
        assert stage.out_info["product"].update(sharding=None) == ShapeDtypeStruct((2, 4), np.float32)
        structs = laminax.tree.map(lambda info: ShapeDtypeStruct(info.shape, info.dtype), stage.args_info)
        assert structs == ((X, Y), {}) and not stage.args_info[0][0].donated
        assert stage.in_tree == laminax.tree.structure(((0, {"right": 0}), {}))


def test_the_traced_stage():
    traced = laminax.jit(lambda x, n, *, scale: (x * n, scale), static_argnums=1).trace(1.0, 3, scale=np.ones(2, np.float32))
    assert str(traced.jaxpr) == "{ lambda ; a:f32[] b:f32[2]. let c:f32[] = mul a 3.0:f32[] in (c, b) }"
    assert traced.fun_name == "<lambda>"
    assert traced.out_info == (ShapeDtypeStruct((), np.float32, weak_type=True), ShapeDtypeStruct((2,), np.float32))


def test_arguments_that_are_donated_say_so():
    jitted = laminax.jit(lambda x, y: x + y, donate_argnums=1)
    assert [info.donated for info in jitted.trace(1.0, 2.0).args_info[0]] == [False, True]
    assert isinstance(jitted, laminax.stages.Wrapped) and not isinstance(len, laminax.stages.Wrapped)


def test_texts_and_estimates():
    lowered = laminax.jit(matrix_product).lower(X, Y)
    assert lowered.as_text().startswith("module @jit_matrix_product")
    assert "stablehlo.dot_general %arg0" in lowered.as_text("stablehlo")  # the dialect's short form, as MLIR prints it
    assert "HloModule" in lowered.as_text(dialect="hlo") and "metadata" not in lowered.as_text("hlo")
    assert 'metadata={op_name="jit(' in lowered.as_text("hlo", debug_info=True)
    assert "dot_general" in str(lowered.compiler_ir())
    assert "HloModule" in lowered.compiler_ir("hlo").as_hlo_text()
    assert lowered.cost_analysis()["flops"] == lowered.compile().cost_analysis()["flops"] == 2 * 2 * 3 * 4
    assert "HloModule" in lowered.compile().as_text()
    assert lowered.compile().memory_analysis().output_size_in_bytes >= 2 * 4 * 4
    with pytest.raises(ValueError, match="unknown dialect 'tosa'"):
        lowered.as_text("tosa")


def test_lowering_for_another_platform():
    lowered = laminax.jit(jnp.sin).trace(1.0).lower(lowering_platforms=("tpu",))
    assert "stablehlo.sine" in lowered.as_text()
    with pytest.raises(ValueError, match="lowered for tpu"):
        lowered.compile()


def test_lowering_for_several_platforms():
    lowered = laminax.jit(lambda x: laminax.lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos)).trace(1.0).lower(
        lowering_platforms=("tpu", "cpu"))
    assert "@main(%arg0: tensor<i32>" in lowered.as_text() and '"stablehlo.case"(%arg0)' in lowered.as_text()
    with pytest.raises(ValueError, match="the module was lowered for tpu, cpu, and the device is .*; lower for that platform alone"):
        lowered.compile()
    with pytest.raises(ValueError, match="unknown platform 'gpu'"):
        laminax.jit(jnp.sin).trace(1.0).lower(lowering_platforms=("gpu",))


def test_names_in_the_module():
    """Of arguments, results and operations: those that JAX's modules have."""
    @laminax.jit
    def layer(x, w):
        with laminax.named_scope("product"):
            return jnp.tanh(x @ w)

    def loss(params, x, *, scale):
        return jnp.sum(layer(x, params["w"]) * scale)

    arguments = {"w": np.ones((3, 3), np.float32)}, np.ones((2, 4, 3), np.float32)
    derivative = laminax.vmap(laminax.grad(lambda p, x: loss(p, x, scale=2.0)), in_axes=(None, 0))
    text = laminax.jit(derivative).lower(*arguments).as_text(debug_info=True)
    for name in ("jit(<lambda>)/vmap(jvp(jit(layer)))/product/tanh", "jit(<lambda>)/vmap(transpose(jvp(jit(layer))))/product/dot_general",
                 "jit(<lambda>)/vmap(transpose(jvp()))/mul"):
        assert f'loc("{name}"(' in text, name
    assert 'loc("test_names_in_the_module.<locals>.loss"(#loc' in text
    text = laminax.jit(loss).lower(arguments[0], arguments[1][0], scale=2.0).as_text(debug_info=True)
    assert [name in text for name in ("loc(\"params['w']\")", 'loc("x")', 'loc("scale")', 'jax.result_info = "result"')] == [True] * 4
    assert 'op_name="jit(loss)/jit(layer)/product/' in laminax.jit(loss).lower(arguments[0], arguments[1][0], scale=2.0).compile().as_text()


def test_static_arguments_are_left_out_of_the_call():
    compiled = laminax.jit(lambda x, n: x * n, static_argnums=1).lower(1.0, 3).compile()
    assert float(compiled(2.0)) == 6
    with pytest.raises(TypeError, match="takes 1 positional arguments.*2 positional.*Static arguments are left out"):
        compiled(2.0, 3)


def test_keywords_unused_arguments_constants_and_donation():
    table = jnp.arange(3.0)
    compiled = laminax.jit(lambda x, unused, y: (x + y, table), donate_argnames="x").lower(
        ShapeDtypeStruct((3,), np.float32), 1, y=2.0).compile()
    x = jnp.ones(3)
    total, same = compiled(x, 5, y=1.0)
    np.testing.assert_array_equal(total, [2, 2, 2])
    np.testing.assert_array_equal(same, [0, 1, 2])
    assert x.is_deleted()


@pytest.mark.parametrize("args, message", [
    ((np.ones((2, 3), np.float32), {"right": np.ones((3, 5), np.float32)}),
     r"Argument 'y\['right'\]' compiled with float32\[3,4\] and called with float32\[3,5\]"),
    ((np.ones((2, 3), np.int32), {"right": np.ones((3, 4), np.float32)}),
     r"mismatches are:\nArgument 'x' compiled with float32\[2,3\].*int32\[2,3\]"),
    ((np.ones((2, 3), np.float32), {"left": np.ones((3, 4), np.float32)}), "keys.*right.*left|left.*right"),
    ((np.ones((2, 3), np.float32),), "takes 2 positional arguments"),
    ((np.ones((2, 3), np.float32), {"right": "text"}), r"argument y\['right'\] is not an array: 'text'"),
])
def test_arguments_of_other_types(args, message):
    compiled = laminax.jit(matrix_product).lower(X, Y).compile()
    with pytest.raises(TypeError, match=f"(?s){message}"):
        compiled(*args)


def test_the_second_call_of_a_kind_stays_in_cpp(monkeypatch):
    x = np.arange(3, dtype=np.float32)
    compiled = laminax.jit(lambda x, *, scale: {"scaled": x * scale}).lower(x, scale=2.0).compile()
    for arg in (jnp.array(x), x):
        compiled(arg, scale=2.0)
    monkeypatch.setattr(type(compiled), "_run", None)  # what calls in Python come to
    for arg in (jnp.array(x), x):
        np.testing.assert_array_equal(compiled(arg, scale=3.0)["scaled"], x * 3)
    with laminax.disable_jit():
        np.testing.assert_array_equal(compiled(x, scale=4.0)["scaled"], x * 4)


def test_a_deleted_argument_is_named_in_later_calls_too():
    compiled = laminax.jit(lambda kept, given: (kept, given + 1), donate_argnums=1).lower(1.0, np.ones(3)).compile()
    for _ in range(3):
        given = jnp.zeros(3)
        compiled(1.0, given)
        with pytest.raises(errors.DeletedArrayError, match=r"It is the argument given, f32\[3\], of the compiled"):
            compiled(1.0, given)


def test_transformations_do_not_apply_to_executables():
    compiled = laminax.jit(jnp.sin).lower(1.0).compile()
    cases = [(laminax.jit(lambda x: compiled(x)), 1.0), (laminax.grad(compiled), 1.0), (laminax.vmap(compiled), np.ones(2))]
    for transformed, x in cases:
        with pytest.raises(TypeError, match="Cannot apply JAX transformations to a function lowered and compiled.*Tracer.*Transform "):
            transformed(x)


def test_compiler_options():
    lowered = laminax.jit(lambda x: x + 1).lower(1.0)
    assert float(lowered.compile(compiler_options={"xla_cpu_enable_fast_math": True})(1.0)) == 2
    with pytest.raises(errors.XlaRuntimeError, match="nonsense"):
        lowered.compile(compiler_options={"nonsense": 1})


def test_eval_shape_of_a_jitted_function_knows_its_static_arguments():
    f = laminax.jit(lambda x, n: jnp.zeros((n,)) + x, static_argnums=1)
    assert f.eval_shape(1.0, 3) == laminax.eval_shape(f, 1.0, 3) == ShapeDtypeStruct((3,), np.float32)


def test_64_bit_shapes_mean_what_64_bit_arrays_do():
    wide = ShapeDtypeStruct((2,), np.float64)
    assert laminax.jit(lambda x: x).lower(wide).out_info.dtype == np.float32
    with laminax.enable_x64(True):
        assert laminax.jit(lambda x: x).lower(wide).out_info.dtype == np.float64


@pytest.mark.parametrize("compile_ahead", [lambda f, *args: f.lower(*args).compile(),
                                           lambda f, *args: f.trace(*args).lower().compile()])
def test_what_was_compiled_ahead_of_time_serves_calls(compile_ahead):
    compiled = []

    def listen(event, seconds, fun_name):
        if "backend_compile" in event:
            compiled.append(fun_name)

    def scaled(x, y):
        return x * y + np.arange(3)

    f, x = laminax.jit(scaled, donate_argnums=1), np.ones(3, np.float32)
    monitoring.register_event_duration_secs_listener(listen)
    try:
        ahead = compile_ahead(f, X_ROW, X_ROW)
        np.testing.assert_array_equal(ahead(x, x), [1, 2, 3])
        np.testing.assert_array_equal(f(x, x), [1, 2, 3])
        assert compiled == ["jit(scaled)"]
        compile_ahead(f, X_ROW, X_ROW)
        assert compiled == ["jit(scaled)"]
        f.lower(X_ROW, X_ROW).compile({"xla_cpu_enable_fast_math": True})
        assert compiled == ["jit(scaled)", "jit(scaled)"]
    finally:
        monitoring.unregister_event_duration_listener(listen)


def test_what_stages_tell_of_arguments_and_results():
    traced = laminax.jit(lambda tree, y: tree["a"] + y, donate_argnums=0).trace({"a": X_ROW, "b": X_ROW}, 1)
    lowered = traced.lower()
    for stage in (traced, lowered, lowered.compile()):
        (tree, y), kwargs = stage.in_avals
        assert tree["a"].shape == tree["b"].shape == (3,) and y.weak_type and y.dtype == np.int32 and kwargs == {}
        assert stage.donate_argnums == (0, 1)
    assert traced.out_avals.shape == (3,) and traced.out_avals.dtype == np.float32


def test_debug_info_in_text():
    def f(x):
        with laminax.named_scope("inner"):
            return jnp.sin(x)

    lowered = laminax.jit(f).lower(X_ROW)
    assert "loc(" not in lowered.as_text() and lowered.as_text().rstrip().endswith("}")
    located = lowered.as_text(debug_info=True)
    assert "inner/sin" in located and "test_stages.py" in located


@pytest.mark.parametrize("make", [np.arange, jnp.arange])
def test_constants_of_64_bits_keep_the_dtype_that_they_were_lowered_with(make):
    """Lowering, compiling and calling may each be done with `enable_x64` or without."""
    with laminax.enable_x64(True):
        constant = make(8, dtype=np.int64)
    for lowers, compiles, runs in np.ndindex(2, 2, 2):
        f = laminax.jit(lambda x: x + laminax.lax.convert_element_type(constant, np.float32))
        with laminax.enable_x64(bool(lowers)):
            lowered = f.lower(X_ROW.update(shape=(8,)))
        with laminax.enable_x64(bool(compiles)):
            compiled = lowered.compile()
        with laminax.enable_x64(bool(runs)):
            np.testing.assert_array_equal(np.asarray(compiled(np.ones(8, np.float32))), 1 + np.arange(8, dtype=np.float32))


def test_locations_with_the_calls_around_a_line():
    """JAX's include_full_tracebacks_in_locations, which is off here: finding the calls takes time."""
    def inner(x):
        return jnp.sin(x)

    def outer(x):
        return laminax.lax.fori_loop(0, 3, lambda i, x: inner(x), x)

    def location(limit, wanted="sin"):
        with config.include_full_tracebacks_in_locations(True), config.traceback_in_locations_limit(limit):
            text = laminax.jit(outer).lower(1.0).as_text(debug_info=True)
        places = dict(re.findall(r"^(#loc\d+) = loc\((.*)\)$", text, re.MULTILINE))
        found = next(place for place in places.values() if place.startswith('"jit(outer)/while/body/sin"'))
        while (more := re.sub(r"#loc\d+", lambda match: places[match.group()], found)) != found:
            found = more
        return re.findall(r'"([^"]*)"\("([^"]*)":(\d+)', found.partition("(")[2].partition("(")[2])

    names = [name.rpartition("<locals>.")[2] for name, file, _ in location(-1) if file == __file__]
    assert names[:5] == ["inner", "<lambda>", "outer", "location", "test_locations_with_the_calls_around_a_line"]
    assert [name.rpartition(".")[2] for name, _, _ in location(2)] == ["inner", "<lambda>"]
    plain = laminax.jit(outer).lower(1.0).as_text(debug_info=True)
    assert "callsite" not in plain


def test_results_of_compiled_functions_are_checked():
    compiled = laminax.jit(jnp.log).lower(np.float32(1)).compile()
    assert np.isnan(compiled(np.float32(-1)))
    with laminax.debug_nans(True):
        assert compiled(np.float32(1)) == 0
        for _ in range(2):
            with pytest.raises(FloatingPointError, match=r"invalid value \(nan\) encountered in the compiled"):
                compiled(np.float32(-1))
    assert np.isnan(compiled(np.float32(-1)))
