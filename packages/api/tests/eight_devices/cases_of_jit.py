"""jit over eight devices: computation follows the arguments' layout, or what in_shardings and out_shardings say."""

import re

import jaxlib.version
import numpy as np
import pytest
from meshes import DEVICES, MESH, blocks, check_layout, on_mesh, put, value

import laminax
import laminax.numpy as jnp
from laminax import random
from laminax.experimental.pjit import pjit
from laminax.sharding import AbstractMesh, AxisType, GSPMDSharding, Mesh, NamedSharding, SingleDeviceSharding
from laminax.sharding import PartitionSpec as P

A = value(8, 4)


def misses_of(jitted):
    """The calls of a jitted function that come to Python, counted from now on."""
    counted = []
    jit_function = jitted._laminax_jit
    program = jit_function.program
    jit_function.program = lambda *args: counted.append(1) or program(*args)
    return counted


# computation follows the arguments


@pytest.mark.parametrize("fun, spec, out_spec", [
    (lambda x: x * 2 + 1, ("x", "y"), ("x", "y")),
    (lambda x: x.T, ("x", "y"), ("y", "x")),
    (lambda x: x.sum(1), ("x",), ("x",)),
    (lambda x: x.sum(), ("x", "y"), ()),
    (lambda x: x @ np.ones((4, 8), np.float32), ("x",), ("x",)),
    (lambda x: (x * x)[:, None], (("x", "y"),), (("x", "y"),)),
])
def test_results_are_split_like_the_arguments(fun, spec, out_spec):
    x = put(A, *spec)
    result = laminax.jit(fun)(x)
    check_layout(result, fun(A), out_spec, rtol=1e-5)  # sums in another order
    assert result.committed and isinstance(result.sharding, NamedSharding) and result.sharding.mesh == MESH
    assert tuple(result.sharding.spec)[:len(out_spec)] == out_spec


def test_calls_stay_in_cpp():
    f = laminax.jit(lambda x, y: x * y)
    x, y = put(A, "x"), put(A, "x", "y")
    f(x, y)
    counted = misses_of(f)
    for _ in range(5):
        np.testing.assert_array_equal(np.asarray(f(x, y)), A * A)
    assert not counted and f._cache_size() == 1
    f(y, y)  # another layout is another program
    assert len(counted) == 1 and f._cache_size() == 2
    f(put(A, "x"), put(A, "x", "y"))  # equal layouts are the same
    assert len(counted) == 1


def test_calls_with_uncommitted_and_numpy_arguments_stay_in_cpp():
    f = laminax.jit(lambda x, y, z: x * y + z, in_shardings=(on_mesh("x"), on_mesh(None, "y"), None))
    local = jnp.asarray(A)
    for args in ((A, A, 1.0), (local, local, np.float32(1))):
        np.testing.assert_allclose(np.asarray(f(*args)), A * A + 1, rtol=1e-6)
        counted = misses_of(f)
        for _ in range(3):
            f(*args)
        assert not counted


def test_numpy_arguments_may_change_after_the_call():
    f = laminax.jit(lambda x: x * 2, in_shardings=on_mesh("x"))
    buffer = np.zeros((8, 4096), np.float32)
    for i in range(4):
        buffer[:] = i
        result = f(buffer)
        buffer[:] = -1
        np.testing.assert_array_equal(np.asarray(result), np.full(buffer.shape, 2.0 * i))


def test_uncommitted_arguments_go_along():
    f = laminax.jit(lambda x, y, z: (x + y) * z)
    check_layout(f(put(A, "x"), A, 2.0), (A + A) * 2, ("x",))
    check_layout(f(jnp.ones((8, 4)), put(A, "x"), 2.0), (1 + A) * 2, ("x",))


def test_two_meshes_over_the_same_devices():
    other = NamedSharding(Mesh(np.array(DEVICES), ("all",)), P("all"))
    result = laminax.jit(lambda x, y: x + y)(put(A, "x"), laminax.device_put(A, other))
    np.testing.assert_array_equal(np.asarray(result), A + A)
    assert result.sharding.device_set == set(DEVICES)


def test_a_mesh_of_one_device():
    one = NamedSharding(Mesh(np.array(DEVICES[3:4]), ("a",)), P("a"))
    x = laminax.device_put(A, one)
    for result in (laminax.jit(lambda x: x * 2)(x), x * 2, laminax.jit(lambda x: laminax.lax.with_sharding_constraint(x * 2, one))(A)):
        np.testing.assert_array_equal(np.asarray(result), A * 2)
        assert result.sharding.is_equivalent_to(one, 2) and result.sharding.mesh == one.mesh and result.committed


def test_constants_of_a_program():
    table, weights = jnp.asarray(A), put(A, "x")
    f = laminax.jit(lambda x: x * table + weights)
    x = put(A, "x")
    for _ in range(2):
        check_layout(f(x), A * A + A, ("x",), rtol=1e-6)
    counted = misses_of(f)
    f(x)
    assert not counted


def test_constants_do_not_decide_where_a_program_runs():
    for constant in (laminax.device_put(A, DEVICES[3]), put(A, "x")):
        f = laminax.jit(lambda x: x + constant)
        result = f(A)
        np.testing.assert_array_equal(np.asarray(result), A + A)
        assert result.devices() == {DEVICES[0]} and not result.committed
        assert f(laminax.device_put(A, DEVICES[2])).devices() == {DEVICES[2]}
        check_layout(f(put(A, None, "y")), A + A, (None, "y"))


# in_shardings and out_shardings


def test_shardings_of_arguments_and_results():
    f = laminax.jit(lambda x, y: (x + y, {"double": 2 * x}), in_shardings=(on_mesh("x"), on_mesh(None, "y")),
                    out_shardings=(on_mesh("y", "x"), on_mesh()))
    total, rest = f(A, A)
    check_layout(total, A + A, ("y", "x"))
    check_layout(rest["double"], 2 * A, ())
    assert total.sharding == on_mesh("y", "x") and rest["double"].sharding == on_mesh()


@pytest.mark.parametrize("in_shardings", [
    on_mesh("x"), (on_mesh("x"),), [on_mesh("x")], ({"a": on_mesh("x"), "b": (on_mesh("x"), None)},), ({"a": None, "b": on_mesh("x")},)])
def test_shardings_of_arguments_are_a_prefix(in_shardings):
    f = laminax.jit(lambda tree: tree["a"] + tree["b"][0] * tree["b"][1], in_shardings=in_shardings)
    scale = value(8)[:, None]
    check_layout(f({"a": A, "b": (A, scale)}), A + A * scale, ("x",), rtol=1e-6)


def test_results_alone():
    check_layout(laminax.jit(lambda: jnp.arange(8.0), out_shardings=on_mesh("x"))(), np.arange(8.0), ("x",))
    f = laminax.jit(lambda n, x: x + n, static_argnums=0, in_shardings=on_mesh("x"), out_shardings=on_mesh("y"))
    check_layout(f(3, A), A + 3, ("y",))
    single = SingleDeviceSharding(DEVICES[5])
    placed = laminax.jit(lambda x: x * 2, in_shardings=single, out_shardings=single)(A)
    assert placed.devices() == {DEVICES[5]} and placed.committed and placed.sharding == single


def test_partition_specs_need_a_mesh():
    f = laminax.jit(lambda x: x * 2, in_shardings=P("x"), out_shardings=P(None, "y"))
    with pytest.raises(RuntimeError, match=r"in_shardings holds the partition spec P\('x',\), which needs a mesh.*set_mesh"):
        f(A)
    other = Mesh(np.array(DEVICES[:4]).reshape(2, 2), ("x", "y"))
    for _ in range(2):
        with laminax.set_mesh(MESH):
            check_layout(f(A), A * 2, (None, "y"))
        with laminax.set_mesh(other):  # the mesh is part of the key
            assert f(A).sharding == NamedSharding(other, P(None, "y"))


def test_gspmd_shardings():
    tiled = GSPMDSharding(DEVICES, on_mesh("x")._to_xla_hlo_sharding(2))
    result = laminax.jit(lambda x: x * 2, in_shardings=tiled)(A)
    check_layout(result, A * 2, ("x",))
    check_layout(laminax.device_put(A, tiled) + 1, A + 1, ("x",))


def test_donated_arguments():
    for out in (None, on_mesh("x")):
        f = laminax.jit(lambda x: x * 2, donate_argnums=0, out_shardings=out)
        for _ in range(2):
            x = put(A.copy(), "x")
            check_layout(f(x), A * 2, ("x",))
            assert x.is_deleted()
            with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[8,4\]"):
                laminax.jit(lambda x: x * 2)(x)
            if jaxlib.version.__version__ != "0.10.2":  # whose C++ dispatch crashes on a deleted array of many parts
                with pytest.raises(RuntimeError, match="Array has been deleted"):
                    f(x)


def test_keys():
    keys = random.split(random.key(7), 8)
    spread = laminax.device_put(keys, on_mesh("x"))
    draw = laminax.jit(laminax.vmap(lambda key: random.normal(key, (3,))))
    result = draw(spread)
    assert result.sharding.is_equivalent_to(on_mesh("x"), 2)
    np.testing.assert_array_equal(np.asarray(result), np.stack([np.asarray(random.normal(key, (3,))) for key in keys]))
    again = laminax.jit(lambda k: k, out_shardings=on_mesh("y"))(keys)
    np.testing.assert_array_equal(random.key_data(again), random.key_data(keys))


# ahead of time


def test_lowered_text():
    text = laminax.jit(lambda x, y: x + y, out_shardings=on_mesh(None, "y")).lower(put(A, "x"), A).as_text()
    assert 'sdy.mesh @mesh = <["x"=4, "y"=2]>' in text and "mhlo.num_partitions = 8 : i32" in text
    first, second = re.search(r"@main\((%arg0.*), (%arg1.*)\) -> ", text).groups()
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>' in first and "sharding" not in second
    assert 'sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>' in re.search(r"\) -> \((.*)\) {", text).group(1)


def test_compiled_for_shapes_with_shardings():
    shape = laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=on_mesh("x", None))
    compiled = laminax.jit(lambda x, y, unused: {"sum": x + y["z"]}).lower(shape, {"z": shape}, 1.0).compile()
    assert compiled.input_shardings == ((on_mesh("x", None), {"z": on_mesh("x", None)}, None), {})
    assert compiled.output_shardings == {"sum": on_mesh("x", None)}
    check_layout(compiled(A, {"z": put(A, "x")}, 1.0)["sum"], A + A, ("x",))
    with pytest.raises(ValueError, match=r"input shardings that disagree.*\n  x, f32\[8,4\], is NamedSharding\(.*P\('y',\).*must be"):
        compiled(put(A, "y"), {"z": A}, 1.0)


def test_types_of_results_say_what_was_asked_for():
    f = laminax.jit(lambda x: (x, x + 1), out_shardings=(on_mesh("x"), None))
    first, second = f.eval_shape(A)
    assert first.sharding == on_mesh("x") and second.sharding is None and laminax.eval_shape(f, A)[0] == first
    assert f.lower(A).out_info[0].sharding == on_mesh("x") and laminax.jit(lambda x: x).eval_shape(A).sharding is None
    compiled = laminax.jit(lambda x: x * 2).lower(put(A, "x")).compile()
    assert (compiled.out_info.shape, compiled.out_info.dtype, compiled.out_info.sharding) == ((8, 4), np.float32, on_mesh("x"))


def test_none_leaves_it_to_the_compiler_also_where_a_mesh_is_set():
    f = laminax.jit(lambda x, y: (x * 2, y * 2), in_shardings=(None, P("y")), out_shardings=(None, P("y")))
    with laminax.set_mesh(MESH):
        doubled, other = f(put(A, "x", "y"), A)
    check_layout(doubled, 2 * A, ("x", "y"))
    check_layout(other, 2 * A, ("y",))
    with MESH:  # as for pjit it means a copy on each device
        check_layout(pjit(lambda x: x * 2, out_shardings=None)(put(A, "x")), 2 * A, ())


def test_structs_with_partition_specs():
    f, struct = laminax.jit(lambda x: x * 2), laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=P("x"))
    with laminax.set_mesh(MESH):
        check_layout(f.lower(struct).compile()(put(A, "x")), 2 * A, ("x",))
    with pytest.raises(TypeError, match="When specifying PartitionSpec to `ShapeDtypeStruct`, the context mesh cannot be empty"):
        f.lower(struct)


def test_constants_that_a_program_places():
    for f in (lambda: jnp.array(A, device=on_mesh("x", "y")), lambda: laminax.device_put(A, on_mesh("x", "y"))):
        check_layout(laminax.jit(f)(), A, ("x", "y"))


@pytest.mark.parametrize("where", ["in_shardings", "out_shardings"])
@pytest.mark.parametrize("spec", [P(P.UNCONSTRAINED, "x"), on_mesh("x", P.UNCONSTRAINED)])
def test_arguments_and_results_have_no_unconstrained_axes(where, spec):
    with pytest.raises(ValueError, match=f"jit: Unconstrained dims are not allowed when passed to {where}"):
        laminax.jit(lambda x: x, **{where: spec})


def test_what_the_compiler_chose():
    compiled = laminax.jit(lambda x, w: x @ w).lower(put(A, "x"), np.ones((4, 2), np.float32)).compile()
    (_, weights), _ = compiled.input_shardings
    assert weights.is_equivalent_to(on_mesh(), 2) and compiled.output_shardings.is_equivalent_to(on_mesh("x"), 2)


# inside of programs and transformations


def test_jit_with_shardings_inside_of_jit():
    inner = laminax.jit(lambda x: x + 1, in_shardings=on_mesh("y"), out_shardings=on_mesh(None, "x"))
    outer = laminax.jit(lambda x: inner(x) * 2)
    check_layout(outer(A), (A + 1) * 2, (None, "x"))
    assert outer.lower(A).as_text().count("sdy.sharding_constraint") == 2
    np.testing.assert_allclose(np.asarray(laminax.grad(lambda x: outer(x).sum())(put(A, "x"))), np.full((8, 4), 2.0))
    stacked = laminax.vmap(inner)(value(2, 8, 4))
    np.testing.assert_allclose(np.asarray(stacked), value(2, 8, 4) + 1, rtol=1e-6)


def test_transformations_of_spread_values():
    def loss(w, x):
        return jnp.tanh(x @ w).sum()

    w, x = value(4, 4), value(8, 4)
    expected = x.T @ (1 - np.tanh(x @ w) ** 2)  # by hand
    for x_ in (put(x, "x"), put(x, "x", "y")):
        np.testing.assert_allclose(np.asarray(laminax.grad(loss)(w, x_)), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.asarray(laminax.jit(laminax.grad(loss))(w, x_)), expected, rtol=1e-4, atol=1e-5)
    doubled = laminax.vmap(lambda row: row * 2)(put(x, "x"))
    check_layout(doubled, x * 2, ("x",))


def test_loops_and_branches():
    def fun(x):
        x = laminax.lax.fori_loop(0, 3, lambda i, x: x * 2, x)
        return laminax.lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)

    expected = A * 8 if (A * 8).sum() > 0 else -A * 8
    check_layout(laminax.jit(fun)(put(A, "x")), expected, ("x",))


# what is switched on


def test_explained_recompilations(caplog):
    f = laminax.jit(lambda x: x * 2)
    f(put(A, "x"))
    with laminax.explain_cache_misses(True), caplog.at_level("WARNING", "laminax"):
        f(put(A, None, "y"))
    assert re.search(r"compiled again because of:\n  \* the sharding of x, now .*P\(None, 'y'\).* and before .*P\('x',\)",
                     caplog.text)


def test_nan_traps():
    with laminax.debug_nans(True):
        with pytest.raises(FloatingPointError, match="nan"):
            laminax.jit(lambda x: jnp.log(x - 100))(put(A, "x"))
        check_layout(laminax.jit(lambda x: x * 2)(put(A, "x")), A * 2, ("x",))


# errors


def refuses(error, match, call):
    with pytest.raises(error, match=match):
        call()


def test_arguments_on_different_devices():
    x, other = put(A, "x"), laminax.device_put(np.float32(1), DEVICES[1])
    refuses(ValueError, r"incompatible devices for jitted computation. Got argument a of add with shape float32\[8,4\] and with device ids "
            r"\[0, 1, 2, 3, 4, 5, 6, 7\] on platform CPU and argument b of add with shape float32\[\] and with device ids \[1\] on "
            r"platform CPU.\njit\(add\) runs on one list of devices: move", lambda: _add(x, other))
    reversed_mesh = NamedSharding(Mesh(MESH.devices[::-1], ("x", "y")), P("x"))
    refuses(ValueError, r"incompatible devices.*\[0, 1, 2, 3, 4, 5, 6, 7\] .*\[6, 7, 4, 5, 2, 3, 0, 1\] ",
            lambda: _add(x, laminax.device_put(A, reversed_mesh)))
    four = NamedSharding(Mesh(np.array(DEVICES[:4]), ("a",)), P("a"))
    refuses(ValueError, r"argument x of <lambda> .* and sharding_constraint inside jit with device ids \[0, 1, 2, 3\] on platform CPU at "
                        r"cases_of_jit.py:\d+",
            lambda: laminax.jit(lambda x: laminax.lax.with_sharding_constraint(x, four))(x))
    refuses(ValueError, "the device given to jit with device ids .* and sharding_constraint",
            lambda: laminax.jit(lambda x: laminax.lax.with_sharding_constraint(x, four), device=DEVICES[2])(A))
    refuses(ValueError, "and explicit output sharding with device ids", lambda: laminax.jit(lambda x: x, out_shardings=four)(x))


@laminax.jit
def add(a, b):
    return a + b


_add = add


def test_shardings_that_do_not_fit():
    f = laminax.jit(lambda x: x["a"], in_shardings=on_mesh("x", None))
    refuses(ValueError, r"jit\(<lambda>\): x\['a'\], f32\[6,4\], cannot be split as P\('x', None\): axis 0 has size 6, mesh axis 'x' "
            r"has 4 devices; mesh \{'x': 4, 'y': 2\}.\nSharding .* array axis 0 is partitioned 4 times, but the dimension size is 6 "
            r"\(full shape: \(6, 4\), per-dimension tiling factors: \[4, 1\] .*\nPad axis 0 to 8, or shard an axis whose size is a "
            r"multiple of 4.",
            lambda: f({"a": A[:6]}))
    refuses(ValueError, r"x\['a'\], f32\[8\], cannot be split.*the spec has 2 entries, and the array 1 axes", lambda: f({"a": A[:, 0]}))
    refuses(ValueError, r"does not match the sharding on the respective arg x\['a'\].*arg shape f32\[8,4\].*\n.*P\('x', "
                        r"None\).*\n.*P\('y',\)",
            lambda: f({"a": put(A, "y")}))
    refuses(ValueError, "the result, f32.8,3., cannot be split",
            lambda: laminax.jit(lambda x: x[:, :3], out_shardings=on_mesh(None, "y"))(A))
    refuses(ValueError, "must be a tree prefix .* got a tuple or list of length 2 for an args tuple of length 1",
            lambda: laminax.jit(lambda x: x, in_shardings=(None, on_mesh()))(A))
    refuses(ValueError, "in_shardings is not a tuple, and might need to be wrapped", lambda: laminax.jit(
        lambda x: x, in_shardings={"a": on_mesh()})({"a": A}))
    refuses(ValueError, "in_shardings must be one sharding, or a pytree of them that is a prefix of the tuple of positional arguments",
            lambda: laminax.jit(lambda x: x, in_shardings=({"b": on_mesh()},))({"a": A}))
    refuses(ValueError, r"Mismatch details \(2 found\):\n(?s:.*)at key path\n    pjit out_shardings\['a'\]\n(?s:.*)out_shardings\['b'\]\n",
            lambda: laminax.jit(lambda x: x, out_shardings={"a": [None, None], "b": (None, None)})({"a": A, "b": A}))
    with laminax.set_mesh(MESH):
        for side in ("in_shardings", "out_shardings"):
            refuses(ValueError, f"{side}: A single {side} specification can map every mesh axis to at most one .*duplicate entries for `x`",
                    lambda: laminax.jit(lambda x: x, **{side: P("x", "x")})(A))  # noqa: B023
    refuses(ValueError, "does not support kwargs when in_shardings is specified.*; got x",
            lambda: laminax.jit(lambda x: x, in_shardings=on_mesh())(x=A))
    refuses(TypeError, "expected to be PartitionSpec instances or None, but got x of type str",
            lambda: laminax.jit(lambda x: x, in_shardings="x"))
    for given in ({"in_shardings": on_mesh()}, {"out_shardings": on_mesh()}):
        refuses(ValueError, f"{next(iter(given))} should not be specified.*device=cpu:0; leave one out",
                lambda: laminax.jit(lambda x: x, device=DEVICES[0], **given))


def test_what_meshes_refuse():
    refuses(ValueError, "contains manual axes", lambda: laminax.set_mesh(laminax.make_mesh((8,), ("x",), AxisType.Manual)))
    refuses(ValueError, r"Number of devices 8 must be >= the product of mesh_shape \(4, 4\)", lambda: laminax.make_mesh((4, 4), ("x", "y")))
    refuses(TypeError, "expected a PartitionSpec for spec, got .'x',. of type tuple", lambda: NamedSharding(MESH, ("x",)))
    refuses(TypeError, "set_mesh: expected a Mesh or None, got 'x'", lambda: laminax.set_mesh("x"))
    refuses(ValueError, "set_mesh can only be used outside of jit", lambda: laminax.jit(lambda: laminax.set_mesh(MESH))())


def test_the_mesh_that_is_set():
    assert laminax.sharding.get_mesh().empty and laminax.sharding.get_abstract_mesh().empty
    with laminax.set_mesh(MESH):
        assert laminax.sharding.get_mesh() == MESH
        assert laminax.sharding.get_abstract_mesh() == AbstractMesh((4, 2), ("x", "y"), AxisType.Auto)
        check_layout(jnp.ones(3), np.ones(3), ())
        check_layout(laminax.jit(lambda x: x * 2)(A), A * 2, ())
        assert laminax.device_put(A, P("x")).sharding == on_mesh("x")
        with laminax.set_mesh(None):
            assert jnp.ones(3).devices() == {DEVICES[0]}
        assert laminax.sharding.get_mesh() == MESH
    assert laminax.sharding.get_mesh().empty and jnp.ones(3).devices() == {DEVICES[0]}
    assert laminax.make_mesh((4, 2), ("x", "y"), AxisType.Auto) == MESH and len(blocks(A, ("x",))) == 8


def test_computations_run_on_the_mesh_that_is_set():
    f = laminax.jit(lambda x: x * 2)
    on_one, on_four = laminax.device_put(A, DEVICES[1]), laminax.device_put(A, NamedSharding(Mesh(np.array(DEVICES[:4]), "a"), P("a")))
    with laminax.set_mesh(MESH):
        for x in (f(A), jnp.sin(A), jnp.arange(3), jnp.array([1, 2]), jnp.float32(3), laminax.random.key_data(laminax.random.key(0))):
            assert x.sharding == on_mesh() and x.committed
        assert jnp.asarray(on_one) is on_one and laminax.device_put(A).devices() == {DEVICES[0]}
        for x in (on_one, on_four):
            refuses(ValueError, r"argument x of <lambda> with shape .* jit's context mesh with device ids \[0, 1, 2, 3, 4, 5, 6, 7\]",
                    lambda: f(x))
            refuses(ValueError, "argument 0 of .* jit's context mesh", lambda: x + 1)
    assert f(on_one).devices() == {DEVICES[1]} and f(A).devices() == {DEVICES[0]}


def test_pjit_runs_on_the_mesh_that_is_entered():
    from laminax.experimental.pjit import pjit
    f, g, h = pjit(lambda x: x * 2), pjit(lambda x: x * 2, in_shardings=P("x"), out_shardings=P("y")), laminax.jit(lambda x: x * 2)
    on_one = laminax.device_put(A, DEVICES[1])
    for _ in range(2):  # traced and compiled, and found
        assert f(A).devices() == {DEVICES[0]} and f(on_one).devices() == {DEVICES[1]}
        with MESH:
            check_layout(f(A), A * 2, ())
            check_layout(g(A), A * 2, ("y",))
            assert h(A).devices() == {DEVICES[0]} == jnp.sin(A).devices() and h(on_one).devices() == {DEVICES[1]}
            refuses(ValueError, "argument x of <lambda> .* and jit's context mesh", lambda: f(on_one))
            refuses(RuntimeError, r"jit\(<lambda>\): in_shardings holds .* jit requires a non-empty mesh in context", lambda: laminax.jit(
                lambda x: x, in_shardings=P("x"))(A))
    refuses(RuntimeError, r"pjit\(<lambda>\): in_shardings holds .*: pjit requires a non-empty mesh in context", lambda: g(A))
    with laminax.set_mesh(MESH):
        refuses(RuntimeError, "pjit requires a non-empty mesh in context", lambda: g(A))

    with MESH:
        refuses(ValueError, r"pjit\(<lambda>\): Mesh context manager should not be used with jit when .* device=cpu:1 out",
                lambda: pjit(lambda x: x, device=DEVICES[1])(A))

    @MESH
    def decorated():
        return g(A)

    check_layout(decorated(), A * 2, ("y",))


@pytest.mark.parametrize("start, place", [((9, 9), (7, 1)), ((-30, 0), (0, 0)), ((3, 5), (3, 1))])
def test_updates_outside_of_a_split_axis_are_moved_inside(start, place):
    """The compiler lost an update of one row that began behind the last one; the fuzzer of programs found it."""
    x = np.arange(16, dtype=np.float32).reshape(8, 2)
    split = NamedSharding(Mesh(np.array(DEVICES), ("all",)), P("all"))
    expected = x.copy()
    expected[place] = -1
    starts = [laminax.device_put(np.int32(i), NamedSharding(split.mesh, P())) for i in start]
    run = laminax.jit(lambda x, i, j: laminax.lax.dynamic_update_slice(x, -jnp.ones((1, 1)), (i, j)))
    found = run(laminax.device_put(x, split), *starts)
    np.testing.assert_array_equal(found, expected)
