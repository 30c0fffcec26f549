"""Meshes of `make_mesh`, whose axes are explicit as in JAX: what functions that take shardings and meshes make of them, and refuse."""

import pickle

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.errors import ShardingTypeError
from laminax.sharding import AxisType, NamedSharding, reshard, use_abstract_mesh
from laminax.sharding import PartitionSpec as P

MESH = laminax.make_mesh((4, 2), ("x", "y"))
A = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)


def on(*spec):
    return NamedSharding(MESH, P(*spec))


def put(*spec):
    return laminax.device_put(A, on(*spec))


def check(x, expected, *spec):
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-5, atol=1e-5)
    assert x.sharding.is_equivalent_to(on(*spec), x.ndim)
    assert laminax.typeof(x).sharding.spec == P(*spec, *[None] * (x.ndim - len(spec)))


def test_axes_are_explicit():
    assert MESH.are_all_axes_explicit and laminax.make_mesh((8,), "x", AxisType.Auto).are_all_axes_auto
    check(put("x"), A, "x")
    assert str(laminax.typeof(put("x", "y"))) == "float32[8@x,4@y]"


@pytest.mark.parametrize("place", [lambda: A, lambda: jnp.asarray(A), lambda: put(None, "y")], ids=["NumPy", "one device", "split"])
def test_results_have_the_types_of_out_shardings(place):
    check(laminax.jit(lambda x: x * 2, out_shardings=on("x"))(place()), A * 2, "x")
    twice = laminax.jit(lambda x: laminax.jit(lambda x: x * 2, out_shardings=on("x"))(x) + 1)
    check(twice(place()), A * 2 + 1, "x")
    with laminax.set_mesh(MESH):
        check(laminax.jit(lambda x: x * 2, out_shardings=P("y", "x"))(place()), A * 2, "y", "x")


def test_in_shardings_place_arguments_and_types_are_the_arguments():
    """As in JAX, where the type inside is that of what was passed."""
    seen = []

    def f(x):
        seen.append(laminax.typeof(x).str_short())
        return x * 2

    check(laminax.jit(f, in_shardings=on("x"))(A), A * 2, "x")
    with laminax.set_mesh(MESH):
        check(laminax.jit(f, in_shardings=P("x"))(A), A * 2)
        check(laminax.jit(f, in_shardings=P("x"))(put("x")), A * 2, "x")
        with pytest.raises(ValueError, match="does not match the sharding on the respective arg"):
            laminax.jit(f, in_shardings=P("x"))(put("y"))
    assert seen[:3] == ["f32[8,4]", "f32[8,4]", "f32[8@x,4]"]


def test_stages_say_how_arguments_are_split_when_they_are_placed():
    fun = laminax.jit(lambda x, y: x * 2 + y, in_shardings=(on("x"), None))
    lowered = fun.lower(A, put(None, "y"))
    for stage in (lowered, lowered.compile()):
        assert [aval.sharding.spec for aval in stage.in_avals[0]] == [P("x", None), P(None, "y")]
    check(lowered.compile()(A, put(None, "y")), 3 * A, None, "y")


def test_structs_whose_spec_is_of_the_mesh_that_is_set():
    struct = laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=P("x"))
    assert "P('x',)" in repr(struct) and struct.update(dtype=np.int32) == laminax.ShapeDtypeStruct((8, 4), np.int32, sharding=P("x"))
    with laminax.set_mesh(MESH):
        assert struct.sharding == struct.format.sharding == on("x")
        assert pickle.loads(pickle.dumps(struct)) == struct and laminax.typeof(struct).sharding.spec == P("x", None)
    with laminax.set_mesh(laminax.make_mesh((8,), "other")), pytest.raises(ValueError, match="Resource axis: x.*not found in mesh"):
        _ = struct.sharding
    with pytest.raises(TypeError, match="When specifying PartitionSpec to `ShapeDtypeStruct`, the context mesh cannot be empty"):
        _ = struct.sharding


def test_explicit_axes_of_one_device_stay_in_the_types_of_results():
    """Beside automatic axes the compiler chooses shardings, and its form of them leaves such axes out."""
    mesh = laminax.make_mesh((1, 2), ("one", "auto"), (AxisType.Explicit, AxisType.Auto))
    with laminax.set_mesh(mesh):
        made = laminax.jit(lambda: jnp.ones((2, 2), out_sharding=P("one", None)))()
        assert made.sharding == laminax.typeof(made).sharding.update(mesh=mesh) == NamedSharding(mesh, P("one", None))
        assert laminax.jit(lambda x: x + 1)(made).sharding == made.sharding


def test_shard_map_takes_arguments_that_are_split_as_it_says():
    def double(x):
        return x * 2

    mapped = laminax.shard_map(double, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    for call in (mapped, laminax.jit(mapped)):
        check(call(put("x")), A * 2, "x")
        for other in (A, put("y"), put("x", "y")):
            with pytest.raises(ValueError, match=r"in_specs passed to shard_map: P\('x', None\) does not match the specs of the "
                                                 r"input.*laminax.reshard"):
                call(other)
    inferred = laminax.shard_map(double, mesh=MESH, out_specs=P("x", "y"))
    check(inferred(put("x", "y")), A * 2, "x", "y")
    whole = laminax.shard_map(lambda x: x + lax.axis_index("x"), mesh=MESH, in_specs=P(), out_specs=P("x"))
    check(whole(A), np.concatenate([A + i for i in range(4)]), "x")  # runs on the devices of the mesh, though no argument is there
    part = laminax.shard_map(double, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    check(laminax.jit(part)(put("x")), A * 2, "x")


def test_smap_over_an_explicit_axis_knows_how_arguments_are_split():
    with laminax.set_mesh(laminax.make_mesh((8,), ("x",))):
        x = laminax.device_put(A, P("x"))
        total = laminax.smap(lambda x: lax.psum(x.sum(0), "x"), out_axes=None, axis_name="x")(x)
        np.testing.assert_allclose(np.asarray(total), A.sum(0), rtol=1e-5, atol=1e-5)


def test_constraints_are_over_the_compilers_axes():
    for call in (lambda x: lax.with_sharding_constraint(x, on("x")), laminax.jit(lambda x: lax.with_sharding_constraint(x, on("x")))):
        for x in (A, put("x")):
            with pytest.raises(ValueError, match="can only refer to Auto axes of the mesh.*'x'.*Use reshard"):
                call(x)
    auto = NamedSharding(laminax.make_mesh((4, 2), ("x", "y"), AxisType.Auto), P("x"))
    assert lax.with_sharding_constraint(A, auto).sharding == auto


def test_reshapes_deal_mesh_axes_to_the_axes_that_are_cut_or_merged():
    check(put("x", "y").reshape(-1), A.reshape(-1), ("x", "y"))
    check(put(("x", "y")).reshape(4, 2, 4), A.reshape(4, 2, 4), "x", "y")
    check(put(("x", "y")).reshape(8, 2, 2), A.reshape(8, 2, 2), ("x", "y"))
    check(put(("x", "y"), None).reshape(32), A.reshape(32), ("x", "y"))
    for x, shape in ((put("x"), (2, 4, 4)), (put(None, "y"), (32,)), (put("y", "x"), (2, 16))):
        with pytest.raises(ShardingTypeError, match="This reshape is not supported"):
            x.reshape(shape)


@pytest.mark.parametrize("run", [jnp.sort, lambda x: jnp.cumsum(x, -1), lambda x: jnp.argsort(x)])
def test_what_goes_along_an_axis_wants_it_whole(run):
    assert str(laminax.typeof(run(put("x"))).sharding.spec) == "P('x', None)"
    with pytest.raises(ShardingTypeError, match="(?i)unsharded over the"):
        run(put("x", "y"))


def test_iterating_over_a_split_axis_gives_whole_rows():
    rows = list(put("x", "y"))
    assert len(rows) == 8 and all(laminax.typeof(row).str_short() == "f32[4]" for row in rows)
    np.testing.assert_array_equal(np.stack(rows), A)
    assert [laminax.typeof(row).str_short() for row in put(None, "y")] == ["f32[4@y]"] * 8


def test_results_of_another_view_of_the_mesh_are_the_compilers_to_split():
    with laminax.set_mesh(MESH):
        @laminax.jit
        def f(x):
            with use_abstract_mesh(MESH.abstract_mesh.update_axis_types(dict.fromkeys("xy", AxisType.Auto))):
                return reshard(x, P())

        result = f(put("x"))
        np.testing.assert_array_equal(np.asarray(result), A)
        assert result.sharding.mesh.are_all_axes_auto and laminax.typeof(result).str_short() == "f32[8,4]"


# --- arrays of random keys ---

KEYS = laminax.random.split(laminax.random.key(0), 8)
WORDS = np.asarray(laminax.random.key_data(KEYS))


def put_keys(*spec, shape=(8,)):
    return laminax.device_put(KEYS.reshape(shape), on(*spec))


def check_keys(keys, words, *spec):
    np.testing.assert_array_equal(np.asarray(laminax.random.key_data(keys)), words)
    assert laminax.typeof(keys).sharding.spec == P(*spec, *[None] * (keys.ndim - len(spec)))
    assert keys.sharding.is_equivalent_to(on(*spec), keys.ndim)


def test_types_of_keys_say_how_they_are_split():
    for keys in (put_keys("x"), laminax.device_put(KEYS, on("x")),
                 laminax.jit(lambda: laminax.random.split(laminax.random.key(0), 8), out_shardings=on("x"))(),
                 laminax.make_array_from_callback((8,), on("x"), lambda index: KEYS[index])):
        check_keys(keys, WORDS, "x")
        assert laminax.typeof(keys).str_short() == "key<fry>[8@x]"
    grid = put_keys("x", "y", shape=(4, 2))
    assert laminax.typeof(grid).str_short(short_dtypes=False) == "key<fry>[4@x,2@y]"
    assert laminax.typeof(laminax.random.key_data(grid)).str_short() == "u32[4@x,2@y,2]"
    with laminax.set_mesh(MESH):
        check_keys(laminax.device_put(KEYS, P("x")), WORDS, "x")


@pytest.mark.parametrize("run", [lambda f: f, laminax.jit], ids=["eager", "jit"])
def test_functions_of_split_keys(run):
    keys, grid, words = put_keys("x"), put_keys("x", "y", shape=(4, 2)), WORDS.reshape(4, 2, 2)
    with laminax.set_mesh(MESH):
        check_keys(run(lambda k: k)(keys), WORDS, "x")
        check_keys(run(laminax.random.clone)(keys), WORDS, "x")
        check_keys(run(lambda k: laminax.random.wrap_key_data(laminax.random.key_data(k)))(keys), WORDS, "x")
        check_keys(run(laminax.random.wrap_key_data)(laminax.device_put(WORDS, on("x", None))), WORDS, "x")
        check_keys(run(lambda k: k.reshape(8))(grid), WORDS, ("x", "y"))
        check_keys(run(lambda k: k.ravel())(grid), WORDS, ("x", "y"))
        check_keys(run(lambda k: k.T)(grid), words.swapaxes(0, 1), "y", "x")
        check_keys(run(lambda k: k[None])(keys), WORDS[None], None, "x")
        check_keys(run(lambda k: k[:4])(keys), WORDS[:4], "x")
        check_keys(run(lambda k: k[3])(keys), WORDS[3])
        check_keys(run(lambda k: k[..., -1])(keys), WORDS[-1])
        check_keys(run(lambda k: k.copy())(keys), WORDS, "x")
        check_keys(run(lambda k: jnp.stack([k, k]))(keys), np.stack([WORDS, WORDS]), None, "x")
        check_keys(run(lambda k: jnp.broadcast_to(k, (3, 8)))(keys), np.broadcast_to(WORDS, (3, 8, 2)), None, "x")
        check_keys(run(lambda k: reshard(k, P("y")))(keys), WORDS, "y")
        check_keys(run(lambda k: jnp.full((4,), k))(KEYS[0]), np.broadcast_to(WORDS[0], (4, 2)))
        folded = laminax.random.key_data(laminax.vmap(lambda k: laminax.random.fold_in(k, 3))(KEYS))
        check_keys(run(laminax.vmap(lambda k: laminax.random.fold_in(k, 3)))(keys), folded, "x")
        check_keys(run(laminax.vmap(laminax.random.split))(keys), laminax.random.key_data(laminax.vmap(laminax.random.split)(KEYS)), "x")
        check(run(laminax.vmap(laminax.random.uniform))(keys), laminax.vmap(laminax.random.uniform)(KEYS), "x")
        check(run(lambda k: k == k)(keys), np.ones(8, bool), "x")


def test_programs_per_device_take_split_keys():
    with laminax.set_mesh(MESH):
        fold = laminax.vmap(lambda k: laminax.random.fold_in(k, 3))
        check_keys(laminax.shard_map(fold, in_specs=P("x"), out_specs=P("x"))(put_keys("x")), laminax.random.key_data(fold(KEYS)), "x")
        grid = laminax.shard_map(lambda k: k, in_specs=P("x", "y"), out_specs=P("x", "y"))(put_keys("x", "y", shape=(4, 2)))
        check_keys(grid, WORDS.reshape(4, 2, 2), "x", "y")
        with pytest.raises(ValueError, match="does not match the specs of the input"):
            laminax.shard_map(fold, in_specs=P("y"), out_specs=P("y"))(put_keys("x"))


def test_indexing_a_split_array_for_one_element():
    """Which cannot be split, so that it is whole."""
    for run in (lambda f: f, laminax.jit):
        check(run(lambda x: x[3, 2])(put("x", "y")), A[3, 2])
        check(run(lambda x, i: x[i, i])(put("x", "y"), 1), A[1, 1])
        check(run(lambda x: x[:1, :1])(put("x", "y")), A[:1, :1])
        with pytest.raises(ShardingTypeError, match="not divisible by mesh axes"):
            run(lambda x: x[:3])(put("x", "y"))


def test_cotangents_of_sums_are_split_as_what_was_summed():
    """Each device made the whole broadcast first."""
    grad = laminax.grad(lambda x: jnp.sum(x * x.sum(1, keepdims=True)))
    x = put("x", "y")
    program = laminax.jit(grad).trace(x).jaxpr
    made = [eqn.outvars[0].aval.sharding.spec for eqn in program.eqns if eqn.primitive.name == "broadcast_in_dim"]
    assert P("x", "y") in made and P(None, None) not in made
    expected = 2 * np.broadcast_to(A.sum(1, keepdims=True), A.shape)
    check(laminax.jit(grad)(x), expected, "x", "y")
    check(laminax.vmap(laminax.grad(lambda row: jnp.sum(row) ** 2))(x), expected, "x", "y")
