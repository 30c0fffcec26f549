"""Programs of many equal blocks, compiled by regions: the same results and the same rules as when compiled whole."""

import pickle

import numpy as np
import pytest
from block_programs import always_cut, block, loss, numpy_blocks

from laminax_lowering import regions
from laminax_runtime import ExecutableSequence
from laminax_runtime.base import options

import laminax
import laminax.numpy as jnp
from laminax import random
from laminax.experimental import io_callback

LAYERS, WIDTH = 10, 128


@pytest.fixture(autouse=True)
def cutting_always_wins(monkeypatch):
    always_cut(monkeypatch)


def numpy_loss(params, x):
    return (numpy_blocks(params, x)**2).mean()


def parameters(dtype=np.float32):
    rng = np.random.default_rng(0)
    normal = lambda *shape: (rng.normal(size=shape) * WIDTH**-0.5 / 4).astype(dtype)  # noqa: E731
    params = [{"inner": normal(WIDTH, WIDTH), "scale": normal(WIDTH), "out": normal(WIDTH, WIDTH)} for _ in range(LAYERS)]
    return params, rng.normal(size=(32, WIDTH)).astype(dtype)


def compiled(fun, *args, **options):
    return laminax.jit(fun, **options).lower(*args).compile()


def is_by_regions(stage):
    return isinstance(stage._program.executable, ExecutableSequence)


def whole(fun, *args):
    with options.compile_regions(False):
        return laminax.jit(lambda *xs: fun(*xs))(*args)


def assert_close(found, expected):
    laminax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6), found, expected)


def test_values_are_those_of_numpy():
    params, x = parameters()
    np.testing.assert_allclose(laminax.jit(loss)(params, x), numpy_loss(*parameters(np.float64)), rtol=1e-5)


def test_small_blocks_are_taken_together(monkeypatch):
    """Of ten blocks, 14 million operations each, two are a region; so are their derivatives but for the first and the last of them."""
    monkeypatch.undo()
    params, x = parameters()
    found = compiled(laminax.value_and_grad(loss), params, x)
    assert [step.executable.name for step in found._program.executable.steps].count("jit_loss_blocks") == 5 + 4
    assert "jit(loss_blocks)/jvp(jit(block))/tanh" in found.as_text()
    assert "jit(loss_blocks)/transpose(jvp(jit(block)))/mul" in found.as_text()
    assert_close(found(params, x), whole(laminax.value_and_grad(loss), params, x))


def test_derivatives_are_those_of_the_program_compiled_whole_and_of_differences():
    params, x = parameters()
    step = laminax.jit(laminax.value_and_grad(loss))
    assert is_by_regions(compiled(laminax.value_and_grad(loss), params, x))
    for _ in range(2):
        assert_close(step(params, x), whole(laminax.value_and_grad(loss), params, x))
    params64, x64 = parameters(np.float64)
    _, grads = step(params, x)
    bump = 1e-4 * np.random.default_rng(1).normal(size=(WIDTH, WIDTH))
    ends = []
    for sign in (1, -1):
        moved = [dict(w) for w in params64]
        moved[3]["inner"] = moved[3]["inner"] + sign * bump
        ends.append(numpy_loss(moved, x64))
    np.testing.assert_allclose(np.vdot(grads[3]["inner"], bump), (ends[0] - ends[1]) / 2, rtol=1e-3)


def test_derivatives_outside_of_jit_are_compiled_by_regions_once(caplog):
    params, x = parameters()
    jitted = laminax.jit(loss)
    first = laminax.grad(jitted)(params, x)
    with laminax.log_compiles(True):
        second = laminax.grad(jitted)(params, x)
    assert "Finished XLA compilation" not in caplog.text
    assert_close(first, second)
    assert_close(first, whole(laminax.grad(loss), params, x))


def test_vmap_and_checkpoint():
    params, x = parameters()
    xs = np.stack([x, x + 1])
    saving = laminax.checkpoint(lambda w, x: block(w, x))

    def saving_loss(params, x):
        for w in params:
            x = saving(w, x)
        return (x**2).mean()

    gradient = laminax.vmap(laminax.grad(saving_loss), (None, 0))
    assert is_by_regions(compiled(gradient, params, xs))
    assert_close(laminax.jit(gradient)(params, xs), whole(laminax.vmap(laminax.grad(loss), (None, 0)), params, xs))


def step_of(params, x):
    value, grads = laminax.value_and_grad(loss)(params, x)
    return laminax.tree.map(lambda w, g: w - 0.1 * g, params, grads), value


def test_donated_arguments_are_overwritten():
    params, x = laminax.device_put(parameters())
    kept = laminax.tree.map(np.array, params)
    step = laminax.jit(step_of, donate_argnums=0)
    new, value = step(params, x)
    assert all(leaf.is_deleted() for leaf in laminax.tree.leaves(params)) and not x.is_deleted()
    assert_close((new, value), whole(step_of, kept, x))
    with pytest.raises(RuntimeError, match="the argument params"):
        step(params, x)
    newer, _ = step(new, x)
    assert all(leaf.is_deleted() for leaf in laminax.tree.leaves(new)) and np.isfinite(newer[0]["out"]).all()


def test_donations_without_use_are_reported():
    params, x = laminax.device_put(parameters())
    with pytest.warns(UserWarning, match="donated buffers were not usable"):
        laminax.jit(loss, donate_argnums=1)(params, x)
    assert not x.is_deleted()


def test_results_that_are_arguments_are_arrays_of_their_own():
    params, x = laminax.device_put(parameters())
    def fun(params, x):
        y = loss(params, x)
        return y, x, y
    first, same, second = laminax.jit(fun)(params, x)
    np.testing.assert_array_equal(same, x)
    first.delete()
    same.delete()
    assert np.isfinite(second) and np.isfinite(np.asarray(x)).all()


def test_results_are_committed_when_an_argument_is():
    params, x = parameters()
    assert not laminax.jit(loss)(params, laminax.device_put(x)).committed
    assert laminax.jit(loss)(params, laminax.device_put(x, laminax.devices()[0])).committed


def test_keys_and_weak_types_go_through():
    @laminax.jit
    def noisy(w, x, key, rate):
        keep = random.bernoulli(key, 0.9, x.shape)
        return jnp.where(keep, block(w, x) * rate, 0.0)

    def fun(params, x, key, rate):
        for w, k in zip(params, random.split(key, len(params))):
            x = noisy(w, x, k, rate)
        return x, key, rate * 2

    params, x = parameters()
    args = params, x, random.key(3), 0.5
    assert is_by_regions(compiled(fun, *args))
    for _ in range(2):
        y, key, rate = laminax.jit(fun)(*args)
    expected, _, _ = whole(fun, *args)
    assert_close(y, expected)
    assert key == args[2] and rate.weak_type and rate == 1.0


def test_constants():
    params, x = parameters()
    table = np.linspace(0, 1, WIDTH).astype(np.float32)
    fun = lambda params, x: loss(params, x + jnp.asarray(table)) + table.sum()  # noqa: E731
    np.testing.assert_allclose(laminax.jit(fun)(params, x), numpy_loss(params, x + table) + table.sum(), rtol=1e-5)


def test_what_a_compiled_function_tells():
    params, x = parameters()
    by_regions = compiled(loss, params, x)
    with options.compile_regions(False):
        at_once = compiled(lambda params, x: loss(params, x), params, x)
    assert is_by_regions(by_regions) and not is_by_regions(at_once)
    one, other = by_regions.memory_analysis(), at_once.memory_analysis()
    assert one.argument_size_in_bytes == other.argument_size_in_bytes
    assert one.output_size_in_bytes == 4 and 0 < one.temp_size_in_bytes < 2**20
    assert by_regions.cost_analysis()["flops"] == pytest.approx(at_once.cost_analysis()["flops"], rel=0.02)
    assert by_regions.as_text().count("HloModule") == 2 and f"run {LAYERS} times" in by_regions.as_text()
    assert by_regions.input_shardings[0][1] == x_sharding() and by_regions.output_shardings == x_sharding()
    with pytest.raises(NotImplementedError, match="sequence of 2 executables.*compile_regions"):
        by_regions.runtime_executable()


def x_sharding():
    return laminax.sharding.SingleDeviceSharding(laminax.devices()[0])


def test_a_compiled_function_can_be_pickled():
    params, x = parameters()
    stage = compiled(loss, params, x)
    again = pickle.loads(pickle.dumps(stage))
    assert is_by_regions(again)
    np.testing.assert_array_equal(again(params, x), stage(params, x))


def test_nans_are_reported():
    params, x = parameters()
    with laminax.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        laminax.jit(loss)(params, np.full_like(x, np.nan))


@pytest.mark.parametrize("ordered", [False, True])
def test_callbacks_are_called_once_for_each_block_and_in_order_where_it_was_asked_for(ordered):
    seen = []

    @laminax.jit
    def telling(w, x):
        laminax.debug.callback(lambda x: seen.append(float(x)), x[0, 0], ordered=ordered)
        return block.__wrapped__(w, x)

    def fun(params, x):
        for w in params:
            x = telling(w, x)
        laminax.debug.callback(lambda x: seen.append(float(x)), (x**2).mean(), ordered=ordered)
        return (x**2).mean()

    params, x = parameters()
    assert is_by_regions(compiled(laminax.value_and_grad(fun), params, x))
    step = laminax.jit(laminax.value_and_grad(fun))
    for _ in range(2):
        seen.clear()
        value, _ = step(params, x)
        laminax.effects_barrier()
        expected = [x[0, 0]]
        for i in range(1, LAYERS + 1):
            expected.append(numpy_blocks(params[:i], x)[0, 0])
        expected[-1] = value
        np.testing.assert_allclose(seen if ordered else sorted(seen), expected if ordered else sorted(expected), rtol=1e-4)


def test_prints_of_a_plain_loop(capfd):
    def fun(params, x):
        for w in params:
            laminax.debug.print("row {}", x.shape[0])
            x = block.__wrapped__(w, x)
        return (x**2).mean()

    params, x = parameters()
    assert is_by_regions(compiled(fun, params, x))
    np.testing.assert_allclose(laminax.jit(fun)(params, x), numpy_loss(params, x), rtol=1e-5)
    laminax.effects_barrier()
    assert capfd.readouterr().out.count("row 32") == LAYERS


def test_results_of_callbacks():
    @laminax.jit
    def calling(w, x):
        more = laminax.pure_callback(lambda x: np.cos(x), laminax.ShapeDtypeStruct(x.shape, x.dtype), x)
        even = io_callback(lambda x: np.sin(x), laminax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True)
        return block.__wrapped__(w, x + 0.1 * more + 0.1 * even)

    def fun(params, x):
        for w in params:
            x = calling(w, x)
        return x

    params, x = parameters()
    assert is_by_regions(compiled(fun, params, x))
    assert_close(laminax.jit(fun)(params, x), whole(fun, params, x))
    with pytest.raises(TypeError, match="calls functions of this process"):
        pickle.dumps(compiled(fun, params, x))


def test_parts_are_kept_on_disk_however_fast_they_compile(tmp_path):
    params, x = parameters()
    with options.enable_compilation_cache(True), options.compilation_cache_dir(str(tmp_path)), \
            options.persistent_cache_min_compile_time_secs(1000.0):
        laminax.jit(lambda params, x: loss(params, x))(params, x)
    assert len([path for path in tmp_path.iterdir() if path.stat().st_size > 1000]) == 2


def plain_loss(params, x):
    """The same as `loss`, in a loop without calls."""
    for w in params:
        x = block.__wrapped__(w, x)
    return (x**2).mean()


def test_layers_of_a_plain_loop_and_their_derivatives_are_found():
    params, x = parameters()
    stage = compiled(laminax.value_and_grad(plain_loss), params, x)
    assert is_by_regions(stage) and len(stage._program.executable.executables) < LAYERS
    assert_close(stage(params, x), whole(laminax.value_and_grad(plain_loss), params, x))
    np.testing.assert_allclose(laminax.jit(plain_loss)(params, x), numpy_loss(*parameters(np.float64)), rtol=1e-5)


ROWS, SIDE = 256, 64


def elementwise_block(w, x):
    """One product, and far more bytes than work around it."""
    h = x @ w
    a, b = jnp.tanh(h), jnp.exp(-h * h)
    c = jnp.sin(a) * jnp.cos(b)
    d, e = a / (1 + b), jnp.log1p(c * c)
    f = jnp.sqrt(1 + d * d)
    return x + 0.1 * jnp.tanh((jnp.maximum(e, a) + jnp.minimum(f, b)) * c + d / f)


def elementwise_loss(ws, x):
    for w in ws:
        x = elementwise_block(w, x)
    return (x**2).mean()


@pytest.fixture
def elementwise_step(monkeypatch):
    """A step of gradient descent, and its arguments."""
    monkeypatch.setattr(regions, "REGION_MIN_WORK", {"cpu": 1000})
    rng = np.random.default_rng(0)
    ws = [(rng.normal(size=(SIDE, SIDE)) * SIDE**-0.5).astype(np.float32) for _ in range(LAYERS)]
    def fun(ws, x):
        value, grads = laminax.value_and_grad(elementwise_loss)(ws, x)
        return [w - 0.1 * g for w, g in zip(ws, grads)], value
    return fun, ws, rng.normal(size=(ROWS, SIDE)).astype(np.float32)


def test_what_is_cheap_to_compute_again_does_not_cross(elementwise_step):
    """Of each block, its input and its product are kept, and not the forty values that its derivative is written with."""
    fun, ws, x = elementwise_step
    stage = compiled(fun, ws, x, donate_argnums=0)
    assert is_by_regions(stage)
    executable = stage._program.executable
    large = [aval for step in executable.steps for aval in step.executable.out_avals if aval.shape == (ROWS, SIDE)]
    assert len(large) <= 5 * LAYERS  # with the cotangents of inputs and products
    with options.compile_regions(False):
        at_once = laminax.jit(lambda *args: fun(*args), donate_argnums=0).lower(ws, x).compile()
    assert stage.memory_analysis().temp_size_in_bytes < at_once.memory_analysis().temp_size_in_bytes
    assert_close(stage(ws, x), at_once(ws, x))


def test_it_is_said_how_a_program_is_compiled_and_why(elementwise_step, monkeypatch, caplog):
    fun, ws, x = elementwise_step
    with laminax.log_compiles(True):
        stage = compiled(fun, ws, x)
    said = next(record.getMessage() for record in caplog.records if " regions of " in record.getMessage())
    count = len(stage._program.executable.steps)
    assert said.startswith(f"jit(fun) is compiled in {count} regions of {len(stage._program.executable.executables)} programs")
    assert stage.memory_analysis().decision in said and "s to compile" in said
    for limit, reason in (("MOST_MEMORY", "need more memory"), ("MOST_TIME", "be slower"), ("MOST_COMPILING", "take longer to compile"),
                          ("WORTHWHILE", "gain little")):
        caplog.clear()
        with monkeypatch.context() as changed, laminax.log_compiles(True):
            changed.setattr(regions, limit, 0.01)
            assert not is_by_regions(compiled(lambda *args: fun(*args), ws, x))
        assert f"is compiled as a whole, since regions would {reason}" in caplog.text


def test_of_small_programs_nothing_is_said(caplog):
    with laminax.log_compiles(True):
        laminax.jit(lambda x: x + 1)(1.0)
    assert "Finished XLA compilation" in caplog.text and "is compiled as" not in caplog.text
