"""Programs of many equal blocks over eight devices, by regions: the results, shardings and collectives of the program compiled whole."""

import pickle
import re

import numpy as np
import pytest
from block_programs import always_cut
from meshes import DEVICES, on_mesh, put

from laminax_runtime import ExecutableSequence
from laminax_runtime.base import options

import laminax
import laminax.numpy as jnp
from laminax import random
from laminax.experimental.serialize_executable import deserialize_and_load, serialize
from laminax.sharding import AxisType, Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

LAYERS, WIDTH, ROWS = 8, 128, 32
SPECS = {"up": (None, "y"), "down": ("y",), "scale": ()}


@pytest.fixture(autouse=True)
def cutting_always_wins(monkeypatch):
    always_cut(monkeypatch)


@laminax.jit
def block(w, x):
    """About 25 million operations, on 32 rows."""
    y = x
    for _ in range(6):
        y = jnp.tanh(y @ w["up"]) @ w["down"] * w["scale"] + y
    return y


def loss(params, x):
    for w in params:
        x = block(w, x)
    return (x**2).mean()


def numpy_loss(params, x):
    for w in params:
        y = x
        for _ in range(6):
            y = np.tanh(y @ w["up"]) @ w["down"] * w["scale"] + y
        x = y
    return (x**2).mean()


def step_of(params, x):
    value, grads = laminax.value_and_grad(loss)(params, x)
    return laminax.tree.map(lambda w, g: w - 0.1 * g, params, grads), value


def parameters(dtype=np.float32):
    rng = np.random.default_rng(0)
    normal = lambda *shape: (rng.normal(size=shape) * WIDTH**-0.5 / 8).astype(dtype)  # noqa: E731
    params = [{"up": normal(WIDTH, 2 * WIDTH), "scale": normal(WIDTH), "down": normal(2 * WIDTH, WIDTH)} for _ in range(LAYERS)]
    return params, rng.normal(size=(ROWS, WIDTH)).astype(dtype)


def by_data(params, x):
    """The weights whole on each device, the rows over all of them."""
    return laminax.tree.map(put, params), put(x, ("x", "y"))


def by_data_and_model(params, x):
    return [{name: put(w, *SPECS[name]) for name, w in one.items()} for one in params], put(x, "x")


def of_arguments_of_each_kind(params, x):
    """Arguments that are on no device yet are split as the compiler likes."""
    return [{name: put(w, *SPECS[name]) if name == "up" else w for name, w in one.items()} for one in params], put(x, "x")


def compiled(fun, *args, **kwargs):
    return laminax.jit(fun, **kwargs).lower(*args).compile()


def compiled_whole(fun, *args, **kwargs):
    with options.compile_regions(False):
        return laminax.jit(lambda *xs: fun(*xs), **kwargs).lower(*args).compile()


def is_by_regions(stage):
    return isinstance(stage._program.executable, ExecutableSequence)


def moved_bytes(stage):
    """The bytes that the collective operations of one run give on each device, from the optimised HLO."""
    executable = stage._program.executable
    if not isinstance(executable, ExecutableSequence):
        return bytes_of_collectives(executable.as_text())
    return sum(bytes_of_collectives(step.executable.as_text()) for step in executable.steps)


def bytes_of_collectives(text):
    total = 0
    for types in re.findall(r" = (.*?) (?:all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\(", text):
        total += sum(4 * int(np.prod([int(size) for size in shape.split(",") if size])) for shape in re.findall(r"f32\[([\d,]*)\]", types))
    return total


def assert_close(found, expected):
    def check(a, b):
        b = np.asarray(b)
        np.testing.assert_allclose(np.asarray(a), b, rtol=0, atol=1e-6 + 2e-6 * np.abs(b).max())  # sums in another order

    laminax.tree.map(check, found, expected)


@pytest.mark.parametrize("place", [by_data, by_data_and_model, of_arguments_of_each_kind])
def test_a_step_equals_that_of_the_program_compiled_whole(place):
    args = place(*parameters())
    ours, whole = compiled(step_of, *args), compiled_whole(step_of, *args)
    assert is_by_regions(ours) and len(ours._program.executable.executables) < 8
    assert_close(ours(*args), whole(*args))
    for found, expected, x in zip(*map(laminax.tree.leaves, (ours.output_shardings, whole.output_shardings, args[0]))):
        assert found == expected and found.is_equivalent_to(expected, x.ndim)
    used = lambda stage: stage.input_shardings[0]  # noqa: E731
    assert laminax.tree.leaves(used(ours)) == laminax.tree.leaves(used(whole))
    assert moved_bytes(ours) <= moved_bytes(whole)


def test_values_are_those_of_numpy_and_come_from_the_jitted_call():
    step = laminax.jit(step_of)
    args = by_data_and_model(*parameters())
    for _ in range(2):
        new, value = step(*args)
    np.testing.assert_allclose(value, numpy_loss(*parameters(np.float64)), rtol=1e-5)
    assert new[3]["up"].sharding == on_mesh(None, "y") and new[3]["up"].committed and value.sharding.is_fully_replicated
    new, value = step(new, args[1])
    assert value < numpy_loss(*parameters())


def test_donated_arguments_are_overwritten():
    params, x = by_data_and_model(*parameters())
    kept = laminax.tree.map(np.array, params)
    places = [shard.data.unsafe_buffer_pointer() for shard in params[4]["up"].addressable_shards]
    step = laminax.jit(step_of, donate_argnums=0)
    new, value = step(params, x)
    assert all(leaf.is_deleted() for leaf in laminax.tree.leaves(params)) and not x.is_deleted()
    assert_close((new, value), compiled_whole(step_of, kept, x)(kept, x))
    with pytest.raises(RuntimeError, match="the argument params"):
        step(params, x)
    everywhere = {shard.data.unsafe_buffer_pointer() for leaf in laminax.tree.leaves(new) for shard in leaf.addressable_shards}
    assert everywhere.intersection(places)
    analysis = step.lower(new, x).compile().memory_analysis()
    on_device = sum(leaf.addressable_shards[0].data.nbytes for leaf in laminax.tree.leaves(new))
    assert analysis.alias_size_in_bytes == on_device and analysis.argument_size_in_bytes == on_device + x.nbytes // 4


def test_shardings_that_the_caller_gives_hold():
    params, x = parameters()
    given = [{name: on_mesh(*SPECS[name]) for name in one} for one in params], on_mesh("x")
    results = [{name: on_mesh("x") for name in one} for one in params], on_mesh()
    fun = laminax.jit(step_of, in_shardings=given, out_shardings=results)
    stage = fun.lower(params, x).compile()
    assert is_by_regions(stage) and stage.output_shardings == results and stage.input_shardings[0] == given
    new, value = fun(params, x)
    assert new[2]["up"].sharding == on_mesh("x") and [len(s.data) for s in new[2]["up"].addressable_shards] == [WIDTH // 4] * 8
    assert_close((new, value), compiled_whole(step_of, params, x)(params, x))


def test_constraints_inside_of_blocks():
    @laminax.jit
    def narrow(w, x):
        y = laminax.lax.with_sharding_constraint(block(w, x), on_mesh("x", "y"))
        return laminax.lax.with_sharding_constraint(y * 2, on_mesh("x"))

    def narrow_loss(params, x):
        for w in params:
            x = narrow(w, x) / 2
        return (x**2).mean()

    args = by_data_and_model(*parameters())
    ours, whole = (make(laminax.value_and_grad(narrow_loss), *args) for make in (compiled, compiled_whole))
    assert is_by_regions(ours)
    assert_close(ours(*args), whole(*args))


def test_a_mesh_of_explicit_axes():
    mesh = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    params, x = parameters()
    put_there = lambda value, *spec: laminax.device_put(value, NamedSharding(mesh, P(*spec)))  # noqa: E731

    @laminax.jit
    def typed(w, x):
        y = x
        for _ in range(6):
            y = jnp.matmul(jnp.tanh(y @ w["up"]), w["down"], out_sharding=P("x")) * w["scale"] + y
        return y

    def typed_loss(params, x):
        for w in params:
            x = typed(w, x)
        return (x**2).mean()

    args = [{name: put_there(w, *SPECS[name]) for name, w in one.items()} for one in params], put_there(x, "x")
    with laminax.set_mesh(mesh):
        ours, whole = (make(laminax.value_and_grad(typed_loss), *args) for make in (compiled, compiled_whole))
        assert is_by_regions(ours)
        found, expected = ours(*args), whole(*args)
    assert_close(found, expected)
    np.testing.assert_allclose(found[0], numpy_loss(*parameters(np.float64)), rtol=1e-5)
    for a, b in zip(laminax.tree.leaves(found), laminax.tree.leaves(expected)):
        assert a.sharding == b.sharding and laminax.typeof(a) == laminax.typeof(b)


def test_constants_and_keys():
    table = np.random.default_rng(3).normal(size=(ROWS, WIDTH)).astype(np.float32)

    def noisy(params, key, x):
        x = x + table
        for w, one in zip(params, random.split(key, LAYERS)):
            x = block(w, x) * random.bernoulli(one, 0.9, x.shape)
        return (x**2).mean(), one

    params, x = by_data_and_model(*parameters())
    key = random.key(0)
    ours, whole = (make(noisy, params, key, x) for make in (compiled, compiled_whole))
    assert is_by_regions(ours)
    (found, found_key), (expected, expected_key) = ours(params, key, x), whole(params, key, x)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_array_equal(random.key_data(found_key), random.key_data(expected_key))
    assert found_key.sharding == expected_key.sharding


def test_a_mesh_of_one_device():
    mesh = Mesh(np.array(DEVICES[2:3]), ("x",))
    params, x = laminax.device_put(parameters(), NamedSharding(mesh, P()))
    ours, whole = compiled(step_of, params, x), compiled_whole(step_of, params, x)
    assert is_by_regions(ours) and ours.output_shardings == whole.output_shardings
    assert_close(ours(params, x), whole(params, x))


def test_pickled_and_serialized():
    args = by_data_and_model(*parameters())
    stage = compiled(step_of, *args)
    expected = stage(*args)
    again = pickle.loads(pickle.dumps(stage))
    assert is_by_regions(again) and again.output_shardings == stage.output_shardings
    assert_close(again(*args), expected)
    loaded = deserialize_and_load(*serialize(stage))
    assert_close(loaded(*args), expected)
    with pytest.raises(ValueError, match="shardings of arguments"):
        loaded(args[0], put(np.asarray(args[1]), None, "x"))


def test_formats_of_what_is_compiled_by_regions():
    args = by_data_and_model(*parameters())
    ours, whole = compiled(step_of, *args), compiled_whole(step_of, *args)
    assert laminax.tree.leaves(ours.input_formats) == laminax.tree.leaves(whole.input_formats)
    assert laminax.tree.leaves(ours.output_formats) == laminax.tree.leaves(whole.output_formats)


def test_the_cache_on_disk_keeps_the_parts(tmp_path, caplog):
    args = by_data_and_model(*parameters())
    with options.enable_compilation_cache(True), options.compilation_cache_dir(str(tmp_path)):
        first = compiled(step_of, *args)(*args)
        laminax.clear_caches()
        with laminax.log_compiles(True):
            second = compiled(lambda *xs: step_of(*xs), *args)(*args)
    assert_close(first, second)


def test_the_decision_is_told():
    args = by_data_and_model(*parameters())
    assert "regions of" in compiled(step_of, *args).memory_analysis().decision
