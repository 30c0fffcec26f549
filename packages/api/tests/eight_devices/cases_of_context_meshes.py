"""What a function under shard_map sees of the mesh it runs on, and smap, on eight devices."""

import numpy as np
import pytest
from meshes import MESH, check_layout, on_mesh, put, value

import laminax
from laminax import lax, shard_map, smap
from laminax.sharding import AxisType, NamedSharding, get_abstract_mesh
from laminax.sharding import PartitionSpec as P

A = value(8, 4)


def test_the_axes_that_the_function_runs_along_are_manual():
    seen = []

    def inner(x):
        seen.append((get_abstract_mesh(), laminax.typeof(x).vma))
        return x * 2

    def outer(x):
        seen.append((get_abstract_mesh(), laminax.typeof(x).vma))
        return shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})(x)  # no mesh: that of the one around

    out = laminax.jit(shard_map(outer, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))(A)
    np.testing.assert_array_equal(np.asarray(out), 2 * A)
    (first, along_x), (second, along_both) = seen
    assert (first.axis_names, first.axis_sizes, first.axis_types) == (("x", "y"), (4, 2), (AxisType.Manual, AxisType.Auto))
    assert second.manual_axes == ("x", "y") and (along_x, along_both) == ({"x"}, {"x", "y"})
    assert get_abstract_mesh().empty and laminax.typeof(A).vma == laminax.typeof(A).mat.varying == frozenset()


def test_one_trace_is_not_that_of_another_mesh():
    seen = []

    @laminax.jit
    def f(x):
        seen.append(get_abstract_mesh().axis_names)
        return x

    other = laminax.make_mesh((4, 2), ("x", "z"), AxisType.Auto)
    for mesh in (MESH, other):
        shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(A)
    assert seen == [("x", "y"), ("x", "z")]


@pytest.mark.parametrize("sharding",
                         [lambda: P(None, "y"), lambda: NamedSharding(get_abstract_mesh(), P(None, "y")), lambda: on_mesh(None, "y")])
def test_constraints_along_the_other_axes(sharding):
    f = laminax.jit(shard_map(lambda x: lax.with_sharding_constraint(x * 2, sharding()), mesh=MESH, in_specs=P("x"), out_specs=P("x"),
                              axis_names={"x"}))
    check_layout(f(put(A, "x")), 2 * A, ("x", "y"))


def test_a_constraint_along_an_axis_that_the_function_runs_along_is_refused():
    for axis_names in ({"x"}, {"x", "y"}):
        f = shard_map(lambda x: lax.with_sharding_constraint(x, on_mesh("x", "y")), mesh=MESH, in_specs=P(), out_specs=P(),
                      axis_names=axis_names)
        with pytest.raises(ValueError, match=r"with_sharding_constraint: the sharding of x, P\('x', 'y'\), contains a manual axes entry, "
                                             r"'x', .*of mesh AbstractMesh\('x': 4, 'y': 2, axis_types=\(Manual, "
                                             r"(Auto|Manual)\)\).*axis_names"):
            f(A)


def test_sums_over_automatic_axes_are_not_left_open():
    """Types say nothing of them."""
    with pytest.raises(ValueError, match="unreduced .* can only be used when the mesh .* contains axis names all of type `Explicit`"):
        shard_map(lambda x: x, mesh=MESH, in_specs=P(unreduced={"x"}), out_specs=P())(A)
    with pytest.raises(NotImplementedError, match="unreduced .* can only be passed to in_specs when shard_map is in full manual mode"):
        shard_map(lambda x: x, mesh=MESH, in_specs=P(unreduced={"x"}), out_specs=P(), axis_names={"x"})(A)


def test_a_mesh_without_axes_is_refused():
    with pytest.raises(ValueError, match="shard_map applied to the function 'abs': shard_map requires a non-empty mesh"):
        shard_map(abs, mesh=laminax.sharding.Mesh(np.empty((), dtype=object), ()), in_specs=P("x"), out_specs=P("x"))(A)


# smap


@pytest.mark.parametrize("jit", [lambda f: f, laminax.jit])
def test_smap_splits_along_one_axis_of_the_mesh(jit):
    with laminax.set_mesh(MESH):
        doubled, total, rest = jit(smap(lambda x, y: (2 * x, lax.psum(x, "x"), y["a"]), in_axes=(0, None), out_axes=(0, None, None),
                                        axis_name="x"))(A, {"a": A})
        nested = jit(smap(lambda x: smap(lambda x: 2 * x, in_axes=1, out_axes=1, axis_name="y")(x), in_axes=0, out_axes=0,
                          axis_name="x"))(A)
    check_layout(doubled, 2 * A, ("x",))
    check_layout(nested, 2 * A, ("x", "y"))
    np.testing.assert_allclose(np.asarray(total), A.reshape(4, 2, 4).sum(0), rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(rest), A)


@pytest.mark.parametrize("error, match, make", [
    (TypeError, "smap: in_axes was not specified, and the mesh axis 'x' is of type Auto", lambda: smap(abs, out_axes=0, axis_name="x")),
    (TypeError, "smap: in_axes must be an int, None, or a pytree of these, got 'x'",
     lambda: smap(abs, in_axes="x", out_axes=0, axis_name="x")),
    (ValueError, "smap: out_axes must not be negative, got -1", lambda: smap(abs, in_axes=0, out_axes=-1, axis_name="x")),
    (TypeError, "smap: Expected a callable value, got 3", lambda: smap(3, in_axes=0, out_axes=0, axis_name="x")),
    (ValueError, "The context mesh cannot be empty", lambda: smap(abs, in_axes=0, out_axes=0, axis_name="x")(A)),
])
def test_smap_refuses(error, match, make):
    with pytest.raises(error, match=match):
        make()
