"""Options with JAX's names that change what is computed, compiled, logged or warned of."""

import logging
import os
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import nn, random


@contextmanager
def option(name, value):
    before = laminax.config.read(name)
    laminax.config.update(name, value)
    try:
        yield
    finally:
        laminax.config.update(name, before)


def test_random_seed_offset():
    expected = random.key_data(random.key(12))
    with option("jax_random_seed_offset", 5):
        np.testing.assert_array_equal(random.key_data(random.key(7)), expected)
        np.testing.assert_array_equal(random.PRNGKey(7), expected)
        np.testing.assert_array_equal(laminax.jit(random.PRNGKey)(7), expected)
        np.testing.assert_array_equal(laminax.jit(random.PRNGKey)(jnp.int32(7)), expected)


def test_high_dynamic_range_gumbel():
    key = random.key(3)
    for draw in (lambda **mode: random.gumbel(key, (50,), **mode),
                 lambda **mode: random.categorical(key, jnp.zeros(1000), shape=(20,), **mode)):
        low, high = draw(mode="low"), draw(mode="high")
        assert (low != high).any()
        np.testing.assert_array_equal(draw(), low)
        with option("jax_high_dynamic_range_gumbel", True):
            np.testing.assert_array_equal(draw(), high)


@pytest.mark.parametrize("where", [None, [True, False, True, True]])
def test_softmax_by_its_rule(where):
    rng = np.random.default_rng(0)
    x, v = jnp.asarray(rng.normal(size=(3, 4)), np.float32), jnp.asarray(rng.normal(size=(3, 4)), np.float32)
    where = where if where is None else jnp.asarray(where)
    y, y_dot = laminax.jvp(lambda x: nn.softmax(x, where=where), (x,), (v,))
    with option("jax_softmax_custom_jvp", True):
        y_rule, y_dot_rule = laminax.jvp(lambda x: nn.softmax(x, where=where), (x,), (v,))
        assert "custom_jvp_call" in str(laminax.make_jaxpr(nn.softmax)(x))
    np.testing.assert_array_equal(y_rule, y)
    np.testing.assert_allclose(y_dot_rule, y_dot, atol=1e-6)


def test_levels_of_optimization_compile_anew_and_compute_the_same():
    compiled = laminax.jit(lambda x: jnp.sin(x) @ x)
    x, count = jnp.eye(3) * 2, 1
    expected = np.sin(np.eye(3) * 2) @ (np.eye(3) * 2)
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-6)
    for name, value in (("jax_disable_most_optimizations", True), ("jax_optimization_level", "O1"), ("jax_memory_fitting_level", "O3"),
                        ("jax_compiler_enable_remat_pass", False)):
        with option(name, value):
            np.testing.assert_allclose(compiled(x), expected, rtol=1e-6)
            count += 1
            assert compiled._cache_size() == count


def test_disable_most_optimizations_reaches_the_compiler():
    from laminax_runtime.compiling import compile_options
    (device,) = laminax.devices()[:1]
    build = compile_options.options_for((device,), 1, 1, None, (), ()).executable_build_options
    assert build.debug_options.xla_backend_optimization_level != 0
    with option("jax_disable_most_optimizations", True), option("jax_optimization_level", "O2"):
        build = compile_options.options_for((device,), 1, 1, None, (), ()).executable_build_options
    assert build.debug_options.xla_backend_optimization_level == 0 and build.optimization_level == 29


def test_captured_constants_are_warned_of():
    table = np.zeros(1000, np.float32)
    with option("jax_captured_constants_warn_bytes", 4000), pytest.warns(UserWarning, match="large amount of constants.*0.00GB") as caught:
        laminax.jit(lambda x: x + table)(1.0)
    assert caught[0].filename == __file__


def test_what_checkpoint_keeps_is_logged(caplog):
    fun = laminax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=lambda prim, *_, **__: str(prim) == "cos")
    with option("jax_log_checkpoint_residuals", True):
        laminax.grad(fun)(2.0)
    assert "remat-decorated function saving these intermediates:\n  f32[] from cos" in caplog.text
    caplog.clear()
    laminax.grad(fun)(3.0)
    assert caplog.text == ""
    with caplog.at_level(logging.DEBUG, "laminax"):
        laminax.grad(fun)(3.0)
    (record,) = [r for r in caplog.records if "remat-decorated" in r.message]
    assert record.levelno == logging.DEBUG and "saving these intermediates:\n  f32[] from cos" in record.message


def test_logs_on_stderr(capsys):
    from laminax_runtime.base import loggers
    loggers._handler.setStream(sys.stderr)
    for name, value in (("jax_logging_level", "INFO"), ("jax_debug_log_modules", "laminax, other"),
                        ("jax_debug_log_modules", "other,jax")):
        with option(name, value):
            logging.getLogger("laminax").info("told of %s=%s", name, value)
        logging.getLogger("laminax").info("after %s", name)
    text = capsys.readouterr().err
    assert "told of jax_logging_level=INFO" in text and "after" not in text
    assert "told of jax_debug_log_modules=laminax, other" in text and "told of jax_debug_log_modules=other,jax" in text


def test_logs_of_a_process_follow_the_level():
    """In JAX's words for the environment; None is no level."""
    program = """if True:
        import sys, laminax
        laminax.jit(lambda x: x)(1)
        laminax.config.update("jax_logging_level", None)
        sys.stderr.write("---")
        laminax.jit(lambda x: x)(1)
    """
    logged = {level: subprocess.run([sys.executable, "-c", program], env={**os.environ, "JAX_LOGGING_LEVEL": level}, capture_output=True,
                                    text=True, check=True).stderr for level in ("INFO", "DEBUG", "WARNING")}
    assert "INFO:" in logged["INFO"] and "Started the platform cpu" in logged["INFO"] and "DEBUG" not in logged["INFO"]
    assert "Finished tracing" in logged["DEBUG"].partition("---")[0] and "Started the platform" in logged["DEBUG"]
    assert all(text.endswith("---") for text in logged.values()) and logged["WARNING"] == "---"


def test_platform_name_chooses_the_default():
    with option("jax_platform_name", "cpu"):
        assert laminax.default_backend() == "cpu" and jnp.ones(2).devices() == {laminax.devices("cpu")[0]}
    with option("jax_platform_name", "nothing"), pytest.raises(RuntimeError, match="'nothing' is not available"):
        laminax.default_backend()
    assert laminax.default_backend()


def test_meshes_as_contexts_can_be_disallowed():
    mesh = laminax.make_mesh((1,), ("x",))
    with option("jax_disallow_mesh_context_manager", True), pytest.raises(RuntimeError, match="Mesh context manager is disabled"):
        with mesh:
            pass


def test_context_managers_of_options():
    with laminax.debug_key_reuse(False), laminax.allow_f16_reductions(True), laminax.auto_pcast(True), laminax.softmax_custom_jvp(True):
        assert laminax.config.jax_softmax_custom_jvp and not laminax.config.jax_debug_key_reuse
    with laminax.auto_pcast(False), laminax.remove_size_one_mesh_axis_from_type(True):
        assert not laminax.config.jax_auto_pcast and laminax.config.jax_remove_size_one_mesh_axis_from_type
    assert laminax.config.jax_auto_pcast and not laminax.config.jax_remove_size_one_mesh_axis_from_type


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_sums_in_16_bits_can_be_disallowed(dtype):
    x = jnp.ones((1, 3), dtype)
    with laminax.allow_f16_reductions(False):
        for run in (lambda x: laminax.lax.reduce_sum(x, [1]), laminax.jit(lambda x: laminax.lax.reduce_sum(x, [1]))):
            with pytest.raises(ValueError, match=r"reduce_sum on operand .*16\[1,3\] is not allowed when"):
                run(x)
        assert laminax.lax.reduce_sum(x, [0]).shape == (3,)  # nothing is added
        assert laminax.lax.reduce_sum(x.astype(np.float32), [0, 1]) == 3
    assert laminax.lax.reduce_sum(x, [1]) == 3


def test_nn_functions_do_not_rely_on_rank_promotion():
    with laminax.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(nn.one_hot(jnp.array([[2, 0]]), 3, axis=1), np.eye(3)[[[2, 0]]].swapaxes(1, 2))
        query = random.normal(random.key(0), (2, 4, 2, 8))
        nn.initializers.orthogonal()(random.key(0), (2, 3))
        lengths = jnp.array([1, 4])
        short = nn.dot_product_attention(query, query, query, is_causal=True, key_value_seq_lengths=lengths)
    np.testing.assert_allclose(short[0], np.broadcast_to(query[0, :1], (4, 2, 8)), rtol=1e-6)  # only the first key is there
    np.testing.assert_allclose(short[1], nn.dot_product_attention(query, query, query, is_causal=True)[1], rtol=1e-5)
