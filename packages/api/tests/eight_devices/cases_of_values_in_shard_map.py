"""A function that shard_map maps outside of jit and that asks for values: against NumPy on the parts, and what cannot be asked."""

from functools import partial

import numpy as np
import pytest
from meshes import MESH, blocks, put, value

import laminax
import laminax.numpy as jnp
from laminax import lax, random, shard_map
from laminax.errors import TracerBoolConversionError
from laminax.sharding import AxisType, NamedSharding
from laminax.sharding import PartitionSpec as P

A = value(8, 4)
over_mesh = partial(shard_map, mesh=MESH)
SIZES = dict(MESH.shape)
per_axis = pytest.mark.parametrize("check_vma", [True, False])


def collatz(x):
    """The sum of all elements until a power of it reaches 1, by steps that depend on values."""
    total = lax.psum(jnp.sum(x), ("x", "y"))
    steps = 0
    while total != 1:
        total = total // 2 if total % 2 == 0 else 3 * total + 1
        steps += 1
    return x + steps


def collatz_steps(total):
    steps = 0
    while total != 1:
        total, steps = (total // 2 if total % 2 == 0 else 3 * total + 1), steps + 1
    return steps


@per_axis
def test_control_flow_depends_on_the_values_of_each_call(check_vma):
    mapped = over_mesh(collatz, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=check_vma)
    for start in (0, 3):
        whole = np.arange(start, start + 32, dtype=np.int32).reshape(8, 4)
        for x in (whole, put(whole, "x"), jnp.asarray(whole)):
            result = mapped(x)
            np.testing.assert_array_equal(np.asarray(result), whole + collatz_steps(int(whole.sum())))
            assert result.sharding.spec == P("x", "y")


@pytest.mark.parametrize("spec", [("x", "y"), ("y", "x"), (None, "y"), (("x", "y"),), ()])
def test_what_is_printed_is_each_device_s_part(spec):
    texts = []

    def f(x):
        texts.append(str(x * 2))
        return x

    mapped = over_mesh(f, in_specs=P(*spec), out_specs=P(*spec))
    mapped(A)
    mapped(A + 1)  # it is called again, since it has asked for values
    places = list(np.ndindex(SIZES["x"], SIZES["y"]))
    for whole, text in zip((A, A + 1), texts, strict=True):
        expected = []
        for (i, j), device in zip(places, MESH.devices.flat):
            part = whole
            for axis, entry in enumerate(spec):
                names = entry if isinstance(entry, tuple) else () if entry is None else (entry,)
                number = np.ravel_multi_index([{"x": i, "y": j}[n] for n in names], [SIZES[n] for n in names]) if names else 0
                count = int(np.prod([SIZES[n] for n in names]))
                part = np.split(part, count, axis)[number]
            expected.append(f"On {device} at mesh coordinates (x, y) = {(i, j)}:\n{part * 2}")
        assert text == "\n".join(expected)


def test_a_function_that_asks_for_nothing_is_one_program():
    calls = []

    def f(x):
        calls.append(type(x).__name__)
        return lax.psum(x, "x")

    mapped = over_mesh(f, in_specs=P("x", "y"), out_specs=P(None, "y"))
    mapped(A), mapped(A)
    assert len(calls) == 1


def test_ranges_sizes_and_slices_of_values():
    def f(x):
        n = lax.psum(1, "y") * lax.pmax(x[0, 0], ("x", "y"))
        n = n.astype(int)
        assert list(range(n)) == list(range(6))
        return jnp.arange(n)[:n - 1] + 0 * jnp.zeros(n - 1, int), float(n), jnp.ones(4).reshape(int(n) - 4, 2)

    a, b, c = over_mesh(f, in_specs=P("x", "y"), out_specs=P())(np.full((8, 4), 3.0, np.float32))
    np.testing.assert_array_equal(np.asarray(a), np.arange(5))
    assert float(b) == 6.0 and c.shape == (2, 2)


@per_axis
def test_the_gradient_is_of_the_branch_that_is_taken(check_vma):
    def f(x):
        total = lax.psum(jnp.sum(x), ("x", "y"))
        return x ** 3 if total > 0 else jnp.sin(x)

    mapped = over_mesh(f, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=check_vma)
    for x in (np.abs(A), -np.abs(A)):
        gradient = laminax.grad(lambda x: mapped(x).sum())(x)
        np.testing.assert_allclose(gradient, 3 * x ** 2 if x.sum() > 0 else np.cos(x), rtol=1e-5, atol=1e-6)
        primal, tangent = laminax.jvp(mapped, (x,), (np.ones_like(x),))
        np.testing.assert_allclose(primal, x ** 3 if x.sum() > 0 else np.sin(x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(tangent, 3 * x ** 2 if x.sum() > 0 else np.cos(x), rtol=1e-5, atol=1e-6)


def test_a_gradient_inside_asks_for_values():
    def f(x):
        def loss(x):
            total = lax.psum(jnp.sum(x * x), ("x", "y"))
            return total if total > 10 else -total
        return laminax.grad(loss)(x)

    mapped = over_mesh(f, in_specs=P("x", "y"), out_specs=P("x", "y"))
    big, small = np.full((8, 4), 2.0, np.float32), np.full((8, 4), 0.1, np.float32)
    np.testing.assert_allclose(mapped(big), 2 * big)
    np.testing.assert_allclose(mapped(small), -2 * small, rtol=1e-6)


def test_values_that_differ_cannot_decide():
    def f(x):
        return x if jnp.sum(x) > 0 else -x

    with pytest.raises(TracerBoolConversionError, match=r"it may vary along the mesh axes \('x', 'y'\)"):
        over_mesh(f, in_specs=P("x", "y"), out_specs=P("x", "y"))(np.abs(A))
    unchecked = over_mesh(f, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False)
    np.testing.assert_array_equal(unchecked(-np.abs(A)), np.abs(A))  # without types that say it, the values are compared
    signs = np.where(np.arange(8)[:, None] < 4, 1, -1) * np.ones((8, 4), np.float32)
    with pytest.raises(TracerBoolConversionError, match="lax.psum"):
        unchecked(signs)


def test_under_jit_and_vmap_there_are_no_values():
    mapped = over_mesh(collatz, in_specs=P("x", "y"), out_specs=P("x", "y"))
    for transformed, x in ((laminax.jit(mapped), A), (laminax.vmap(mapped), A[None])):
        with pytest.raises(TracerBoolConversionError):
            transformed(x)
    texts = []
    laminax.jit(over_mesh(lambda x: texts.append(str(x)) or x, in_specs=P("x"), out_specs=P("x")))(A)
    assert texts[0].startswith("JitTracer(float32[2,4]")


def test_closed_over_arrays_programs_and_containers():
    table = jnp.arange(4.0)
    key = random.key(3)

    @laminax.jit
    def program(x, scale):
        return {"sum": lax.psum(jnp.sum(x), "x") * scale, "part": x * scale}

    def f(given):
        out = program(given["a"], table[1:3].sum())
        if lax.psum(out["sum"], "y") < 0:
            return None
        noise = random.normal(random.fold_in(key, 7), (2,))
        plus = lax.cond(out["sum"] > -1e9, lambda x: x + 1, lambda x: x, given["a"])
        return {"sum": out["sum"][None], "part": out["part"]}, noise, plus

    x = np.abs(A)
    specs = ({"sum": P("y"), "part": P("x", "y")}, P(), P("x", "y"))
    out, noise, plus = over_mesh(f, in_specs=P("x", "y"), out_specs=specs)({"a": x})
    np.testing.assert_allclose(np.asarray(out["sum"]), 3 * x.reshape(8, SIZES["y"], -1).sum((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(out["part"]), 3 * x, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(noise), np.asarray(random.normal(random.fold_in(key, 7), (2,))))
    np.testing.assert_allclose(np.asarray(plus), x + 1, rtol=1e-6)


def test_without_arguments_and_along_one_axis():
    def f():
        total = lax.psum(lax.axis_index("x"), "x")
        return jnp.where(lax.axis_index("x") == 0, 1.0, 2.0)[None] if total == SIZES["x"] * (SIZES["x"] - 1) // 2 else jnp.zeros(1)

    np.testing.assert_array_equal(over_mesh(f, in_specs=(), out_specs=P("x"))(), [1.0] + [2.0] * (SIZES["x"] - 1))
    texts = []

    def g(x):
        texts.append(f"{x}")
        return x + 1 if lax.pmax(x.max(), "x") > -np.inf else x

    result = over_mesh(g, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})(A)
    np.testing.assert_allclose(np.asarray(result), A + 1, rtol=1e-6)
    assert texts[0].count("at mesh coordinates (x,) = ") == SIZES["x"]
    for part in blocks(A, ("x",)):
        assert str(np.asarray(part)) in texts[0]


def test_explicit_axes():
    mesh = laminax.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit,) * 2)
    with laminax.set_mesh(mesh):
        x = laminax.device_put(A, P("x", "y"))
        result = shard_map(lambda x: x * 2 if lax.psum(x * x, ("x", "y")).sum() > 0 else x, out_specs=P("x", "y"))(x)
        np.testing.assert_allclose(np.asarray(result), A * 2)
        assert laminax.typeof(result).sharding.spec == P("x", "y")


@pytest.mark.parametrize("kind", [AxisType.Explicit, AxisType.Auto])
@pytest.mark.parametrize("spec", [P("x"), P("x", None), P(("x", "y")), P(None, "x"), P(), P("x", "y")])
def test_results_have_shardings_of_the_specs_that_were_written(spec, kind):
    """Over explicit axes they had an entry for each axis, and were not equal to the sharding that the user had named."""
    mesh = laminax.make_mesh((4, 2), ("x", "y"), (kind,) * 2)
    with laminax.set_mesh(mesh):
        x = laminax.device_put(A, P())
        for f in (lambda x: x + 1, jnp.sin):
            result = shard_map(f, in_specs=P(), out_specs=spec, check_vma=False)(x)
            assert result.sharding == NamedSharding(mesh, spec) and result.committed
            parts = [mesh.shape[name] for name in spec.names()]
            expected = np.tile(f(A), [int(np.prod([mesh.shape[n] for n in ((e,) if isinstance(e, str) else e or ())]))
                                      for e in (*spec, *[None] * (2 - len(spec)))])
            assert expected.size == A.size * np.prod(parts, dtype=int)
            np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-6)
            assert (laminax.typeof(result).sharding.spec == P(*spec, *[None] * (2 - len(spec)))) == (kind == AxisType.Explicit or not parts)


def test_a_sum_that_is_left_open_has_the_sharding_that_was_written():
    mesh = laminax.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit,) * 2)
    with laminax.set_mesh(mesh):
        x = laminax.device_put(A, P("x"))
        total = shard_map(lambda x: lax.pcast(x, "x", to="unreduced"), out_specs=P(unreduced={"x"}))(x)
        assert total.sharding == NamedSharding(mesh, P(unreduced={"x"}))
        np.testing.assert_allclose(np.asarray(laminax.reshard(total, P())), A.reshape(4, -1, *A.shape[1:]).sum(0), rtol=1e-6)
        whole = shard_map(lambda x: lax.all_gather(x, "x", tiled=True, to="reduced"), out_specs=P(reduced={"x"}))(x)
        assert whole.sharding == NamedSharding(mesh, P(reduced={"x"}))
        np.testing.assert_array_equal(np.asarray(whole), A)


def test_effects_happen_once_and_in_order():
    seen = []

    def f(x):
        laminax.debug.callback(lambda v: seen.append(("first", int(v))), lax.psum(jnp.sum(x), ("x", "y")))
        total = lax.psum(jnp.sum(x), ("x", "y"))
        laminax.effects_barrier()
        seen.append("asked" if total > 0 else "no")
        laminax.debug.callback(lambda v: seen.append(("last", int(v))), total)
        return x

    over_mesh(f, in_specs=P("x", "y"), out_specs=P("x", "y"))(np.ones((8, 4), np.int32))
    laminax.effects_barrier()
    at = seen.index("asked")
    assert set(seen[:at]) | set(seen[at + 1:]) == {("first", 32), ("last", 32)}
    assert ("last", 32) not in seen[:at] and len(seen) == 1 + 2 * MESH.devices.size


def test_a_reference_of_the_function_has_no_value_yet():
    def f(x):
        ref = laminax.new_ref(x)
        ref[...] = ref[...] + 1
        return ref[...] if lax.psum(jnp.sum(ref[...]), ("x", "y")) > 0 else x

    with pytest.raises(TracerBoolConversionError):
        over_mesh(f, in_specs=P("x", "y"), out_specs=P("x", "y"))(A)


def test_what_is_kept_afterwards_is_a_leak():
    kept = []

    def f(x):
        kept.append(x * 2)
        assert "mesh coordinates" in repr(kept[0])
        return x

    over_mesh(f, in_specs=P("x", "y"), out_specs=P("x", "y"))(A)
    assert repr(kept[0]).startswith("JitTracer")
    with pytest.raises(laminax.errors.UnexpectedTracerError):
        kept[0] + 1
