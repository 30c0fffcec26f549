"""Explicit mesh axes: types say how values are split, operations what follows for their results, and arrays are where types say.

The values are NumPy's; how a result must be split is worked out by hand from which axes of the operands it has.
"""

import numpy as np
import pytest
from meshes import DEVICES, blocks, value

import laminax
import laminax.numpy as jnp
from laminax import lax, random
from laminax.errors import ShardingTypeError
from laminax.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    auto_axes,
    explicit_axes,
    get_abstract_mesh,
    reshard,
    use_abstract_mesh,
)
from laminax.sharding import PartitionSpec as P

MESH = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"), axis_types=AxisType.Explicit)
AUTO = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"))
A = value(8, 4)


def put(array, *spec, mesh=MESH):
    return laminax.device_put(array, NamedSharding(mesh, P(*spec)))


def check(x, expected, *spec, rtol=1e-5):
    """The array's value, its type and where its parts are."""
    assert laminax.typeof(x).sharding == NamedSharding(MESH.abstract_mesh, P(*spec))
    assert x.sharding == NamedSharding(MESH, P(*spec))
    np.testing.assert_allclose(np.asarray(x), expected, rtol=rtol, atol=rtol)
    for shard, block in zip(x.addressable_shards, blocks(np.asarray(x), spec), strict=True):
        np.testing.assert_array_equal(np.asarray(shard.data), block)


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("index", [np.s_[0], np.s_[1:3], np.s_[:, 1], np.s_[:]], ids=str)
def test_writes_at_known_places_of_split_arrays(wrap, index):
    """On one device these are updates of slices, which take no parts that are split otherwise than the whole."""
    expected = A.copy()
    expected[index] = 7
    check(wrap(lambda x: x.at[index].set(7))(put(A, "x", "y")), expected, "x", "y")


# Types


def test_types_print_how_values_are_split():
    assert str(laminax.typeof(put(A, "x", "y"))) == "float32[8@x,4@y]"
    assert str(laminax.typeof(put(A, ("x", "y")))) == "float32[8@(x,y),4]"
    assert str(laminax.typeof(put(A))) == "float32[8,4]"
    assert "a:f32[8@x,4]" in str(laminax.make_jaxpr(jnp.sin)(put(A, "x")))


def test_the_type_of_an_array_on_no_mesh_has_a_spec_of_nones():
    found = laminax.typeof(jnp.ones((2, 3))).sharding
    assert isinstance(found, NamedSharding) and found.mesh.empty and found.spec == P(None, None)


def test_the_compilers_axes_are_no_part_of_types():
    mesh = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
    assert laminax.typeof(put(A, "x", "y", mesh=mesh)).sharding.spec == P("x", None)
    assert laminax.typeof(put(A, "x", "y", mesh=AUTO)).sharding.spec == P(None, None)


def test_parts_are_equal():
    with pytest.raises(ValueError, match="axis 0 is partitioned 4 times, which does not evenly divide the dimension size 6"):
        laminax.typeof(jnp.ones((6, 2))).update(sharding=NamedSharding(MESH.abstract_mesh, P("x")))


def test_arrays_moved_off_the_mesh_lose_the_sharding_of_their_type():
    assert str(laminax.typeof(laminax.device_put(put(A, "x"), DEVICES[3]))) == "float32[8,4]"


def test_meshes_that_differ_in_axis_types_are_different():
    assert MESH != AUTO and MESH.abstract_mesh != AUTO.abstract_mesh and MESH.update(axis_types=AxisType.Auto) is AUTO


# Operations


OPERATIONS = [
    (lambda x: x * 2 + 1, lambda x: x * 2 + 1, ("x", "y")),
    (lambda x: jnp.where(x > 0, x, 0), lambda x: np.where(x > 0, x, 0), ("x", "y")),
    (lambda x: x.sum(0), lambda x: x.sum(0), ("y",)),
    (lambda x: x.max(1, keepdims=True), lambda x: x.max(1, keepdims=True), ("x", None)),
    (lambda x: x.T, lambda x: x.T, ("y", "x")),
    (lambda x: x[:, None], lambda x: x[:, None], ("x", None, "y")),
    (lambda x: x[:, ::-1], lambda x: x[:, ::-1], ("x", "y")),
    (lambda x: jnp.reshape(x, (4, 2, 4)), lambda x: x.reshape(4, 2, 4), ("x", None, "y")),
    (lambda x: jnp.concatenate([x, x], 1), lambda x: np.concatenate([x, x], 1), ("x", "y")),
    (lambda x: jnp.stack([x, x], 1), lambda x: np.stack([x, x], 1), ("x", None, "y")),
    (lambda x: jnp.pad(x, ((0, 8), (0, 0))), lambda x: np.pad(x, ((0, 8), (0, 0))), ("x", "y")),
    (lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 1), (2, 1), "VALID"), lambda x: x.reshape(4, 2, 4).max(1), ("x", "y")),
    (lambda x: jnp.argmin(x, 1), lambda x: np.argmin(x, 1), ("x",)),
    (lambda x: jnp.zeros_like(x) + jnp.ones(4), lambda x: np.ones((8, 4)), ("x", "y")),
]


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("fun, expected, spec", OPERATIONS, ids=range(len(OPERATIONS)))
def test_results_are_split_as_their_operands(wrap, fun, expected, spec):
    check(wrap(fun)(put(A, "x", "y")), expected(A), *spec)


@pytest.mark.parametrize("fun, expected, spec", [op for op in OPERATIONS if op[1](A).dtype.kind == "f"])
def test_gradients_are_split_as_the_values(fun, expected, spec):
    x = put(A, "x", "y")
    weights = value(*expected(A).shape)
    whole = laminax.grad(lambda x: (fun(x) * weights).sum())(jnp.asarray(A))
    for gradient in (laminax.grad, lambda f: laminax.jit(laminax.grad(f))):
        check(gradient(lambda x: (fun(x) * put(weights, *spec)).sum())(x), np.asarray(whole), "x", "y")


@pytest.mark.parametrize("left, right, spec", [(("x", None), (None, "y"), ("x", "y")), (("x", "y"), (None, None), ("x", None)),
                                               ((None, None), (None, ("x", "y")), (None, ("x", "y")))])
def test_products(left, right, spec):
    B = value(4, 16)
    x, y = put(A, *left), put(B, *right)
    check(laminax.jit(jnp.matmul)(x, y), A @ B, *spec)
    x_ct, y_ct = laminax.jit(laminax.grad(lambda x, y: (x @ y).sum(), (0, 1)))(x, y)
    check(x_ct, np.ones((8, 16)) @ B.T, *left)
    check(y_ct, A.T @ np.ones((8, 16)), *right)


def test_a_sum_over_a_split_axis_needs_to_be_told_how_the_result_is_split():
    x, y = put(A, "x", "y"), put(A.T, "y", None)
    with pytest.raises(ShardingTypeError, match="ambiguous how the output should be sharded.*out_sharding"):
        x @ y
    with laminax.set_mesh(MESH):
        check(jnp.matmul(x, y, out_sharding=P("x", None)), A @ A.T, "x", None)
        check(laminax.jit(lambda x, y: jnp.einsum("ij,jk->ik", x, y, out_sharding=P(None, "y")))(x, y), A @ A.T, None, "y")
        check(laminax.jit(laminax.grad(lambda x: lax.dot_general(x, y, (((1,), (0,)), ((), ())), out_sharding=P("x", None)).sum()))(x),
              np.ones((8, 8)) @ A, "x", "y")


def test_products_told_how_they_are_split_are_transposed():
    """The cotangents have other shapes than the result, and are split as the operands."""
    B = value(2, 4, 6)
    numbers = (((1,), (1,)), ((), ()))

    def product(x, y):
        return lax.dot_general(x, y, numbers, out_sharding=NamedSharding(MESH.abstract_mesh, P("x", None, "y"))).sum()

    x, y = put(A, None, "x"), put(B, None, "x", "y")
    for gradient in (laminax.grad(product, (0, 1)), laminax.jit(laminax.grad(product, (0, 1)))):
        with laminax.set_mesh(MESH):
            x_ct, y_ct = gradient(x, y)
        check(x_ct, np.broadcast_to(B.sum((0, 2)), (8, 4)), None, "x")
        check(y_ct, np.broadcast_to(A.sum(0)[None, :, None], (2, 4, 6)), None, "x", "y")


@pytest.mark.parametrize("call, message", [
    (lambda: put(A, "x") + put(A, "y"), "add got incompatible shardings for broadcasting"),
    (lambda: put(A, "x") @ put(A.T, None, "x"), "dot_general operation.*illegally sharded result"),
    (lambda: lax.slice(put(A, "x"), (0, 0), (6, 4)), r"slicing on sharded dims where out dim \(6\)"),
    (lambda: jnp.reshape(put(A, None, "x"), (4, 8)), "This reshape is not supported.*out_sharding"),
    (lambda: jnp.concatenate([put(A, "x"), put(A, "y")]), "All operands should have the same sharding"),
    (lambda: put(A, "x")[jnp.arange(3)], "provide output PartitionSpec for the gather"),
    (lambda: lax.linalg.lu(put(A[:4], "x")), "must not be split along their last 2 axes"),
])
def test_what_operands_leave_open_is_refused(call, message):
    with pytest.raises(ShardingTypeError, match=message):
        call()


def test_ragged_products_are_told_how_they_are_split():
    """Each row meets the matrix of its group; as NumPy's products of the groups."""
    B, sizes = value(3, 4, 6), np.array([3, 0, 5])
    expected = np.concatenate([A[:3] @ B[0], A[3:] @ B[2]])
    with laminax.set_mesh(MESH):
        for left, right, spec in ((("x",), (), ("x", None)), ((None, "x"), (None, "x", "y"), (None, "y")),
                                  ((), (None, None, "y"), ("x", "y"))):
            x, y = put(A, *left), put(B, *right)
            for call in (lax.ragged_dot, laminax.jit(lax.ragged_dot, static_argnames="out_sharding")):
                check(call(x, y, sizes, out_sharding=P(*spec)), expected, *spec)
            gradient = laminax.jit(laminax.grad(lambda x, y: lax.ragged_dot(x, y, sizes, out_sharding=P(*spec)).sum(), (0, 1)))  # noqa: B023
            x_ct, y_ct = gradient(x, y)
            check(x_ct, np.concatenate([np.ones((3, 6)) @ B[0].T, np.ones((5, 6)) @ B[2].T]), *left, *[None] * (2 - len(left)))
            check(y_ct, np.stack([A[:3].T @ np.ones((3, 6)), np.zeros((4, 6)), A[3:].T @ np.ones((5, 6))]), *right,
                  *[None] * (3 - len(right)))
    with pytest.raises(NotImplementedError, match="Explicit sharding inference for ragged_dot_general.*Please specify out_sharding"):
        lax.ragged_dot(put(A, "x"), put(B), sizes)


def test_foreign_functions_and_callbacks_get_whole_values():
    x = put(A, "x", "y")

    def doubled(x):
        assert x.shape == A.shape
        return np.asarray(x) * 2

    for callback in (laminax.pure_callback, laminax.experimental.io_callback):
        check(laminax.jit(lambda x: callback(doubled, laminax.ShapeDtypeStruct(A.shape, A.dtype), x))(x), A * 2, None, None)  # noqa: B023
    matrices = np.eye(4, dtype=np.float32) * np.arange(1, 9, dtype=np.float32)[:, None, None]
    factor = laminax.ffi.ffi_call("lapack_spotrf_ffi",
                                  (laminax.ShapeDtypeStruct((8, 4, 4), np.float32), laminax.ShapeDtypeStruct((8,), np.int32)))
    roots, info = laminax.jit(lambda x: factor(x, uplo=np.uint8(ord("L"))))(put(matrices, "x"))
    check(roots, np.sqrt(matrices), None, None, None)
    check(info, np.zeros(8), None)


def test_an_operation_without_a_rule_says_so():
    same = laminax.extend.core.Primitive("same")
    same.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="Sharding rule for 'same' not implemented.*auto_axes"):
        laminax.make_jaxpr(same.bind)(put(A, "x"))



def test_programs_are_annotated():
    text = laminax.jit(lambda x: jnp.sin(x) * 2).lower(put(A, "x", "y")).as_text()
    assert text.count('sdy.sharding_constraint %') == 3 and '<@mesh, [{"x"}, {"y"}]>' in text


def test_convolutions_keep_batch_and_spatial_axes_split():
    x, kernel = value(8, 4, 3), value(2, 3, 5)
    found = laminax.jit(lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")))(
        put(x, "x", "y"), kernel)
    padded = np.pad(x, ((0, 0), (0, 1), (0, 0)))
    check(found, sum(padded[:, i:i + 4] @ kernel[i] for i in range(2)), "x", "y", None)
    with pytest.raises(ShardingTypeError, match="the input features of lhs, .* must not be sharded"):
        lax.conv_general_dilated(put(value(8, 3, 4), "x", None, "y"), value(2, 4, 5), (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


def test_eval_shape_says_how_results_are_split():
    for fun in (jnp.sin, laminax.jit(jnp.sin)):
        assert laminax.eval_shape(fun, put(A, "x")).sharding == NamedSharding(MESH.abstract_mesh, P("x", None))


# Results that are to be split in a given way


CREATED = [
    (lambda s: jnp.zeros((8, 4), out_sharding=s), np.zeros((8, 4))),
    (lambda s: jnp.full((8, 4), 3.0, out_sharding=s), np.full((8, 4), 3.0)),
    (lambda s: jnp.arange(32.0).reshape((8, 4), out_sharding=s), np.arange(32.0).reshape(8, 4)),
    (lambda s: jnp.broadcast_to(jnp.arange(4.0), (8, 4), out_sharding=s), np.broadcast_to(np.arange(4.0), (8, 4))),
    (lambda s: lax.broadcasted_iota("float32", (8, 4), 0, out_sharding=s), np.broadcast_to(np.arange(8.0)[:, None], (8, 4))),
    (lambda s: jnp.asarray(A).at[np.arange(8)].get(out_sharding=s), A),
    (lambda s: jnp.array(A, out_sharding=s), A),
]


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("fun, expected", CREATED, ids=range(len(CREATED)))
def test_out_sharding_decides(wrap, fun, expected):
    with laminax.set_mesh(MESH):
        check(wrap(lambda: fun(P("x", "y")))(), expected, "x", "y")


def test_random_numbers_do_not_depend_on_how_they_are_split():
    key = random.key(0)
    with laminax.set_mesh(MESH):
        check(random.normal(key, (8, 4), out_sharding=P("x", "y")), np.asarray(random.normal(key, (8, 4))), "x", "y")


@pytest.mark.parametrize("sharding, error, message", [
    ("x", TypeError, "out_sharding must be a PartitionSpec or a NamedSharding, got 'x'"),
    (P("z"), ValueError, "'z' of P.* is not an axis of the mesh"),
    (P(None, None, "x"), ValueError, "3 entries"),
    (NamedSharding(AUTO, P("x")), ValueError, "Context mesh .* should match the mesh of sharding"),
    (NamedSharding(MESH.abstract_mesh, P("x"), memory_kind="pinned_host"), ValueError,
     "reshape: a sharding with memory_kind is not allowed as out_sharding.*device_put"),
])
def test_out_shardings_that_do_not_fit(sharding, error, message):
    with laminax.set_mesh(MESH), pytest.raises(error, match=message):
        laminax.jit(lambda x: lax.reshape(x, (4, 8), out_sharding=sharding))(A)


@pytest.mark.parametrize("mesh", [MESH, MESH.abstract_mesh])
def test_results_are_not_made_in_the_memory_of_the_host(mesh):
    """The memory was ignored."""
    where = NamedSharding(mesh, P("x"), memory_kind="pinned_host")
    with laminax.set_mesh(MESH):
        for create in (lambda: jnp.full((8,), 0, out_sharding=where), lambda: random.normal(random.key(0), (8,), out_sharding=where),
                       lambda: jnp.einsum("ij,jk->ik", A, A.T, out_sharding=where)):
            for call in (create, laminax.jit(create)):
                with pytest.raises(ValueError, match="sharding with memory_kind is not allowed as out_sharding"):
                    call()


def test_partition_specs_need_a_mesh_with_explicit_axes():
    with pytest.raises(ValueError, match="set a mesh via"):
        lax.reshape(A, (4, 8), out_sharding=P("x"))
    with laminax.set_mesh(AUTO), pytest.raises(ValueError, match="einsum cannot contain axis names that are of type Auto or Manual"):
        jnp.einsum("ij->ij", A, out_sharding=P("x"))


# Transformations and control flow


def test_vmap_over_a_split_axis():
    x = put(A, "x", "y")
    seen = []

    def row_sum(row):
        seen.append(str(laminax.typeof(row)))
        return row.sum(), jnp.zeros(3)

    with laminax.set_mesh(MESH):
        sums, zeros = laminax.jit(laminax.vmap(row_sum))(x)
    check(sums, A.sum(1), "x")
    check(zeros, np.zeros((8, 3)), "x", None)
    assert seen == ["float32[4@y]"]
    with pytest.raises(ValueError, match="should be sharded the same"):
        laminax.vmap(jnp.add)(x, put(A, "y"))
    with pytest.raises(ValueError, match="Only one of spmd_axis_name or arrays sharded on `Explicit`"):
        laminax.vmap(jnp.sin, spmd_axis_name="y")(x)


def test_scans_carry_and_stack_split_values():
    x = put(value(3, 8, 4), None, "x", "y")

    def step(carry, row):
        return carry + row, carry * row

    total, products = laminax.jit(lambda x: lax.scan(step, jnp.zeros_like(x[0]), x))(x)
    found = np.zeros((8, 4)), []
    for row in np.asarray(x):
        found = found[0] + row, [*found[1], found[0] * row]
    check(total, found[0], "x", "y")
    check(products, np.stack(found[1]), None, "x", "y")
    with pytest.raises(ValueError, match="0th dimension of all xs should be replicated"):
        lax.scan(step, jnp.zeros(4), put(A, "x"))
    with pytest.raises(TypeError, match="(?s)must have equal types.*not split alike"):
        laminax.jit(lambda x: lax.scan(lambda c, _: (reshard(c, NamedSharding(MESH, P())), None), x, None, length=2))(put(A, "x"))


def test_branches_must_be_split_alike():
    x = put(A, "x")
    check(laminax.jit(lambda x: lax.cond(True, jnp.sin, jnp.cos, x))(x), np.sin(A), "x", None)
    with pytest.raises(TypeError, match="branches must have equal output types"):
        laminax.jit(lambda x: lax.cond(True, jnp.sin, lambda x: reshard(x, NamedSharding(MESH, P("y"))), x))(x)


def test_jitted_functions_inside_are_traced_once_per_sharding():
    traces = []
    inner = laminax.jit(lambda x: (traces.append(str(laminax.typeof(x))), x * 2)[1])
    laminax.jit(lambda x, y: (inner(x), inner(x), inner(y)))(put(A, "x"), put(A, "y"))
    assert traces == ["float32[8@x,4]", "float32[8@y,4]"]


# Changing the mesh's axes


def test_reshard_changes_the_type_and_is_transposed_to_its_inverse():
    x = put(A, "x", "y")
    with laminax.set_mesh(MESH):
        for wrap in (lambda f: f, laminax.jit):
            check(wrap(lambda x: reshard(x, P(None, "x")))(x), A, None, "x")
            check(wrap(laminax.grad(lambda x: (reshard(x, P(None, "x")) ** 2).sum()))(x), 2 * A, "x", "y")


def test_auto_axes_leaves_it_to_the_compiler():
    x = put(A, "x", "y")
    seen = []

    @auto_axes(out_sharding=P("x", None))
    def product(x):
        seen.append((str(laminax.typeof(x)), get_abstract_mesh().axis_types))
        return x @ x.T

    with laminax.set_mesh(MESH):
        check(laminax.jit(product)(x), A @ A.T, "x", None)
        check(product(x), A @ A.T, "x", None)
        check(auto_axes(jnp.matmul, axes="y")(x, reshard(x.T, P("y", None)), out_sharding=P("x", None)), A @ A.T, "x", None)
    assert set(seen) == {("float32[8,4]", (AxisType.Auto, AxisType.Auto))}
    with pytest.raises(TypeError, match="Missing required keyword argument: 'out_sharding'"):
        auto_axes(jnp.sin)(x)
    with pytest.raises(TypeError, match="Missing required keyword argument: 'in_sharding'.*says how the arguments are split"):
        explicit_axes(jnp.sin)(x)
    with pytest.raises(ValueError, match="Context mesh cannot be empty"):
        auto_axes(jnp.sin, out_sharding=P("x"))(A)


def test_explicit_axes_inside_of_the_compilers():
    seen = []

    @explicit_axes(in_sharding=P("x", "y"))
    def double(x):
        seen.append(str(laminax.typeof(x)))
        return x * 2

    with laminax.set_mesh(AUTO):
        result = laminax.jit(lambda x: double(jnp.sin(x)))(put(A, "x", mesh=AUTO))
    np.testing.assert_allclose(np.asarray(result), np.sin(A) * 2, rtol=1e-6)
    assert seen == ["float32[8@x,4@y]"] and str(laminax.typeof(result)) == "float32[8,4]"


def test_constraints_say_what_must_hold():
    constrained = laminax.jit(lambda x: lax.with_sharding_constraint(x, P("x")))
    with laminax.set_mesh(MESH):
        assert "sharding_constraint" not in str(constrained.trace(put(A, "x")).jaxpr)
        with pytest.raises(AssertionError, match="acts as an assert when all axes of mesh are of type `Explicit`.*reshard"):
            constrained(put(A, "y"))
        with pytest.raises(ValueError, match="cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`"):
            put(A, P.UNCONSTRAINED)


def test_constraints_over_the_compilers_axes_beside_explicit_ones():
    mesh = Mesh(np.array(DEVICES).reshape(4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
    with laminax.set_mesh(mesh):
        found = laminax.jit(lambda x: lax.with_sharding_constraint(x, P("y")))(put(A, "x", mesh=mesh))
    assert found.sharding.spec == P(("x", "y")) and laminax.typeof(found).sharding.spec == P("x", None)
    np.testing.assert_array_equal(np.asarray(found), A)


def test_use_abstract_mesh():
    with laminax.set_mesh(MESH):
        with pytest.raises(ValueError, match="cannot change the size of the mesh"):
            with use_abstract_mesh(AbstractMesh((4,), ("x",), AxisType.Auto)):
                pass
        with use_abstract_mesh(AbstractMesh((8,), ("z",), AxisType.Auto)):
            assert get_abstract_mesh().axis_names == ("z",)
        assert get_abstract_mesh() == MESH.abstract_mesh
        with use_abstract_mesh(MESH.abstract_mesh.update_axis_types({"x": AxisType.Auto})), \
                pytest.raises(ValueError, match="For primitive sin, context mesh .* should match the aval mesh"):
            jnp.sin(put(A, "x"))
    with pytest.raises(TypeError, match="expected an AbstractMesh"):
        with use_abstract_mesh(MESH):
            pass


def test_programs_per_device_take_their_specs_from_the_types():
    x = put(A, "x", "y")
    with laminax.set_mesh(MESH):
        check(laminax.jit(laminax.shard_map(lambda x: lax.psum(x.sum(0), "x"), out_specs=P("y")))(x), A.sum(0), "y")
        part = laminax.shard_map(lambda x: x * 2, out_specs=P("x"), axis_names={"x"})
        check(laminax.jit(part)(x), A * 2, "x", "y")


def test_arrays_like_structs_without_devices_are_split_as_these_say():
    with laminax.set_mesh(MESH):
        for sharding in (NamedSharding(MESH.abstract_mesh, P("x", "y")), P("x", "y")):
            struct = laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=sharding)
            for made in (jnp.full_like(struct, 3), laminax.jit(lambda: jnp.full_like(struct, 3))()):  # noqa: B023
                assert made.sharding == NamedSharding(MESH, P("x", "y")) and made.dtype == np.float32
                np.testing.assert_array_equal(made, np.full((8, 4), 3))
            assert jnp.zeros_like(struct, shape=(3,)).shape == (3,)


def test_booleans_are_written_into_integers_under_strict_promotion():
    x = np.arange(16, dtype=np.int32).reshape(8, 2)
    expected = x.copy()
    expected[:, -1] = False
    with laminax.numpy_dtype_promotion("strict"), laminax.set_mesh(MESH):
        found = laminax.device_put(x, P("x", "y")).at[:, -1].set(False, out_sharding=P("x", "y"))
    np.testing.assert_array_equal(found, expected)


def test_reshapes_keep_the_mesh_axes_of_size_one():
    mesh = Mesh(np.array(DEVICES[:2]).reshape(1, 2), ("a", "b"), axis_types=AxisType.Explicit)
    x = np.arange(512, dtype=np.float32).reshape(1, 512)
    with laminax.set_mesh(mesh):
        cut = laminax.jit(lambda x: x.reshape(1, 4, 128))(laminax.device_put(x, P("a", "b")))
        assert cut.sharding == NamedSharding(mesh, P("a", "b", None))
        np.testing.assert_array_equal(cut, x.reshape(1, 4, 128))
        again = laminax.jit(lambda x: x.reshape(1, 512))(cut)
        assert again.sharding == NamedSharding(mesh, P("a", "b"))
        between = laminax.jit(lambda x: x.reshape(4, 1, 128))(laminax.device_put(x.reshape(4, 1, 128), P("b", "a")))
        assert between.sharding == NamedSharding(mesh, P("b", "a", None))
        with pytest.raises(ShardingTypeError, match="This reshape is not supported"):
            laminax.jit(lambda x: x.reshape(512))(laminax.device_put(x, P("a", "b")))


def test_gradients_of_examples_that_look_up_are_split_as_the_batch():
    tokens, ids = np.arange(8 * 16, dtype=np.float32).reshape(8, 16), np.arange(8 * 4, dtype=np.int32).reshape(8, 4) % 16
    weights = np.arange(4, dtype=np.float32)
    expected = np.zeros((8, 16), np.float32)
    for row, places in zip(expected, ids):
        np.add.at(row, places, weights)
    with laminax.set_mesh(MESH):
        weighted = lambda t, i: (t.at[i].get(out_sharding=P("y")) * laminax.device_put(weights, P("y"))).sum()  # noqa: E731
        for fun in (laminax.vmap(laminax.grad(weighted)), laminax.jit(laminax.vmap(laminax.grad(weighted)))):
            found = fun(laminax.device_put(tokens, P("x", None)), laminax.device_put(ids, P("x", None)))
            assert found.sharding == NamedSharding(MESH, P("x", None))
            np.testing.assert_array_equal(found, expected)


def test_functions_in_which_axes_are_the_compilers_close_over_whole_values():
    def f(factor, x):
        @auto_axes(out_sharding=P())
        def model(x):
            return factor * x

        return lax.scan(lambda c, _: (model(c), ()), x, None, length=3)[0]

    with laminax.set_mesh(MESH):
        assert laminax.jit(f)(3.0, 2.0) == 27 * 2
        assert laminax.grad(f)(3.0, 2.0) == laminax.jit(laminax.grad(f))(3.0, 2.0) == 3 * 9 * 2
        with pytest.raises(ValueError, match="context mesh .* should match the aval mesh"):
            split = laminax.device_put(A, P("x"))
            laminax.jit(auto_axes(lambda x: x * split, out_sharding=P()))(laminax.device_put(A, P()))


def test_without_a_mesh_there_are_no_axes_to_leave_to_the_compiler():
    double = auto_axes(lambda x: x * 2, out_sharding=P())
    np.testing.assert_array_equal(laminax.jit(double)(np.arange(8)), np.arange(8) * 2)
    with pytest.raises(ValueError, match="auto_axes: Context mesh cannot be empty"):
        auto_axes(lambda x: x, out_sharding=P("x"))(np.arange(8))


def test_shardings_of_results_have_an_entry_for_each_axis_beside_the_compilers_mesh_axes():
    mesh = Mesh(np.array(DEVICES).reshape(2, 2, 2), ("x", "y", "z"), axis_types=(AxisType.Auto, AxisType.Explicit, AxisType.Explicit))
    with laminax.set_mesh(mesh):
        made = laminax.jit(lambda: lax.broadcasted_iota(np.int32, (16, 24), 1, out_sharding=P(("y", "z"), None)))()
        assert made.sharding == NamedSharding(mesh, P(("y", "z"), None))
        np.testing.assert_array_equal(made, np.broadcast_to(np.arange(24), (16, 24)))
