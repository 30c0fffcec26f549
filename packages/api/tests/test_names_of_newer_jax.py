"""Parameters and names that JAX has since 0.11, as its documentation describes them."""

from __future__ import annotations

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.sharding import ManualAxisType, UnreducedKind
from laminax.sharding import PartitionSpec as P


def test_partition_specs_name_what_is_open():
    assert P("a", unreduced={"b"}).unreduced_kind is UnreducedKind.sum and P("a").unreduced_kind is None
    assert P(unreduced={"b"}, unreduced_kind=UnreducedKind.sum) == P(unreduced={"b"})
    spec = P("a", unreduced={"b"}, reduced={"c"})
    assert spec.to_ct_spec() == P("a", unreduced={"c"}, reduced={"b"}) and spec.to_tangent_spec() is spec and spec.to_lo() == [spec]
    maximum = P(unreduced={"b"}, unreduced_kind=UnreducedKind.max)
    assert maximum.unreduced_kind is UnreducedKind.max and maximum != P(unreduced={"b"})  # a spec may say so, no program can
    mesh = laminax.make_mesh((1,), ("b",))
    with pytest.raises(NotImplementedError, match="only sums can be left open"):
        laminax.NamedSharding(mesh, maximum)
    with laminax.set_mesh(mesh):
        for ask in (lambda: laminax.reshard(jnp.ones(2), maximum), lambda: jnp.dot(jnp.ones(2), jnp.ones(2), out_sharding=maximum)):
            with pytest.raises(ValueError, match="out_sharding.*cannot be more unreduced than the input: only sums can be left open"):
                ask()
    with pytest.raises(ValueError, match="no mesh axis is in unreduced"):
        P("a", unreduced_kind=UnreducedKind.sum)
    with pytest.raises(TypeError, match="Expected unreduced_kind to be of type"):
        P(unreduced={"b"}, unreduced_kind="sum")
    assert P.__name__ == "P" and laminax.P is P


def test_manual_axis_types():
    mat = ManualAxisType(varying={"x"}, reduced={"y"})
    assert mat.vur == {"x", "y"} and not mat.empty and ManualAxisType().empty and mat.unreduced_kind is None
    assert mat.to_ct_mat() == ManualAxisType(varying={"x"}, unreduced={"y"}) and mat.to_ct_mat().unreduced_kind is UnreducedKind.sum
    assert mat.update(varying=frozenset()) == ManualAxisType(reduced={"y"})
    with pytest.raises(NotImplementedError, match="only sums"):
        ManualAxisType(unreduced={"x"}, unreduced_kind=UnreducedKind.min)


def test_structs_of_values():
    x = jnp.ones((2, 3), jnp.bfloat16)
    assert laminax.ShapeDtypeStruct.like(x) == laminax.ShapeDtypeStruct((2, 3), jnp.bfloat16)
    assert laminax.ShapeDtypeStruct.like(2.0).weak_type and laminax.ShapeDtypeStruct.like(np.int8(3)).dtype == np.int8
    placed = laminax.device_put(x, laminax.devices()[0])
    struct = laminax.ShapeDtypeStruct.like(placed)
    assert struct.sharding == placed.sharding and laminax.ShapeDtypeStruct.like(struct) == struct
    assert laminax.jit(lambda x: x + 1).lower(struct).compile()(placed).dtype == jnp.bfloat16
    with pytest.raises(TypeError, match="must be a `sharding.ManualAxisType`"):
        laminax.ShapeDtypeStruct((), "int32", manual_axis_type="x")


def test_a_struct_of_a_reference():
    struct = laminax.ShapeDtypeStruct((3,), "float32", is_ref=True)
    ref = laminax.new_ref(jnp.ones(3))
    assert laminax.ShapeDtypeStruct.like(ref) == struct and "is_ref=True" in repr(struct)

    def double(ref):
        ref[...] = ref[...] * 2

    assert "Ref" in str(laminax.make_jaxpr(double)(struct)) and "mul" in str(laminax.make_jaxpr(double)(struct))


def test_a_struct_that_varies():
    mesh = laminax.make_mesh((1,), ("x",), axis_types=(laminax.sharding.AxisType.Auto,))

    def f(x):
        struct = laminax.ShapeDtypeStruct(x.shape, x.dtype, manual_axis_type=ManualAxisType(varying={"x"}))
        seen.append(laminax.eval_shape(lambda x: x + 1, struct))
        return x

    seen = []
    laminax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(jnp.ones(2))
    assert seen[0].named_shape == {"x": 1}


def test_references_are_not_pinned():
    assert laminax.new_ref(1, pin=False)[...] == 1
    for make in (lambda: laminax.new_ref(1, pin=True), lambda: laminax.empty_ref(laminax.ShapeDtypeStruct((), "int32"), pin=True)):
        with pytest.raises(NotImplementedError, match="pin=True is not supported"):
            make()


def test_extrema_are_split_as_asked():
    mesh = laminax.make_mesh((1, 1), ("x", "y"), axis_types=(laminax.sharding.AxisType.Explicit,) * 2)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    with laminax.set_mesh(mesh):
        for reduce, expected in ((lax.reduce_max, x.max(0)), (lax.reduce_min, x.min(0))):
            for call in (reduce, laminax.jit(reduce, static_argnums=1)):
                np.testing.assert_array_equal(call(x, (0,)), expected)
            result = laminax.jit(lambda x: reduce(x, (0,), out_sharding=P("y")))(laminax.device_put(x, P("x", None)))
            np.testing.assert_array_equal(result, expected)
            assert laminax.typeof(result).sharding.spec == P("y")
            with pytest.raises(NotImplementedError, match="cannot be left open"):
                reduce(x, (0,), out_sharding=P(None, unreduced={"x"}))


def test_which_tangents_may_be_nonzero():
    def f(x, y):
        return {"product": x * y, "double": y["y"] * 2.0 if isinstance(y, dict) else y * 2.0}

    out, pull = laminax.vjp(f, 2.0, 3.0, in_nzs=(True, False))
    cotangents = {"product": jnp.float32(1), "double": jnp.float32(1)}
    assert [float(ct) for ct in pull(cotangents)] == [3, 0] and pull.out_nzs == {"product": True, "double": False}
    assert [float(ct) for ct in laminax.vjp(f, 2.0, 3.0, in_nzs=False)[1](cotangents)] == [0, 0]
    _, push = laminax.linearize(f, 2.0, 3.0, in_nzs=(False, True))
    assert push.out_nzs == {"product": True, "double": True}
    tangents = push(5.0, 1.0)
    assert float(tangents["product"]) == 2 and float(tangents["double"]) == 2
    _, push = laminax.linearize(lambda x: x["a"] * x["b"], {"a": 2.0, "b": 3.0}, in_nzs=((True, False),))
    assert float(push({"a": 1.0, "b": 1.0})) == 3
    for bad, message in (((True,), "in_nzs has 1 children while the values have 2"), (3, "must be a tree of bools.*in_nzs is 3"),
                         (((True, True), True), r"in_nzs\[0\] has 2 children while the values have a leaf")):
        with pytest.raises(ValueError, match=message):
            laminax.vjp(f, 2.0, 3.0, in_nzs=bad)


def test_results_summed_over_the_mapped_axis():
    total, kept, same = laminax.vmap(lambda x: (2.0 * x, x, 3.0), out_axes=(None, 0, None), sum_match=True)(jnp.arange(3.0))
    assert total == 6 and kept.tolist() == [0, 1, 2] and same == 3
    with pytest.raises(ValueError, match="out_axes is None"):
        laminax.vmap(lambda x: x, out_axes=None)(jnp.arange(3.0))


@pytest.mark.parametrize("call, message", [
    (lambda: laminax.custom_gradient(lambda x: x, remat=True), "remat=True is not supported"),
    (lambda: laminax.custom_vjp(lambda x: x).defvjp(None, None, generic_batching=True), "generic_batching=True"),
    (lambda: laminax.custom_vjp(lambda x: x).defremat(None, None, None), "defremat is not supported"),
    (lambda: laminax.custom_vjp(lambda x: x).defremat_with_logs(None, None, None), "defremat_with_logs is not supported"),
    (lambda: lax.erfc(1.0, accuracy=lax.AccuracyMode.HIGHEST), "accuracy=.*HIGHEST.* is not supported"),
])
def test_what_says_that_it_is_not_supported(call, message):
    with pytest.raises(NotImplementedError, match=message):
        call()


def test_custom_gradient_as_a_decorator_with_options():
    @laminax.custom_gradient(with_logs=False)
    def square(x):
        return x * x, lambda ct: (ct * 7,)

    assert laminax.grad(square)(3.0) == 7


def test_meshes_tell_their_kind():
    mesh = laminax.make_mesh(axis_sizes=(1,), axis_names=("x",))
    assert mesh.are_all_axes_explicit_or_manual and not mesh.is_scalar and mesh.local_mesh is mesh
    assert laminax.make_mesh(axis_shapes=(1,), axis_names=("x",)) == mesh
    with pytest.raises(TypeError, match="give axis_sizes"):
        laminax.make_mesh()
    device = laminax.sharding.AbstractDevice("H100", None, "gpu")
    abstract = laminax.sharding.AbstractMesh((2,), ("x",), abstract_device=device)
    assert abstract.abstract_device is device and "H100" in repr(abstract) and abstract != laminax.sharding.AbstractMesh((2,), ("x",))
    assert abstract.update(axis_names=("y",)).abstract_device is device and abstract.update(abstract_device=None).abstract_device is None
    assert not hasattr(abstract, "devices") and abstract.axis_types == (laminax.sharding.AxisType.Explicit,)
    with pytest.raises(ValueError, match="AbstractMesh does not implement local_mesh"):
        abstract.local_mesh


def test_keys_have_a_name_for_annotations():
    key = laminax.random.key(0)
    assert laminax.random.Key(key) is key and laminax.random.Key.__name__ == "Key"


def test_counts_of_histograms_are_split_as_asked():
    mesh = laminax.make_mesh((1,), ("x",))
    with laminax.set_mesh(mesh):
        counts, _ = jnp.histogram(np.arange(10.0), bins=2, out_sharding=P("x"))
        assert laminax.typeof(counts).sharding.spec == P("x") and counts.tolist() == [5, 5]


def test_shardings_in_the_forms_of_xla():
    from laminax.extend import sharding
    mesh = laminax.make_mesh((1,), ("x",), axis_types=(laminax.sharding.AxisType.Auto,))
    split = laminax.sharding.NamedSharding(mesh, P("x"))
    exported = laminax.export.export(laminax.jit(lambda x: x * 2, in_shardings=split))(np.arange(4.0, dtype=np.float32))
    (hlo,) = exported.in_shardings_hlo
    data = sharding.get_serialized_proto_from_hlo_sharding(hlo)
    assert isinstance(data, bytes) and sharding.get_hlo_sharding_from_serialized_proto(data) == hlo
    assert sharding.get_op_sharding_from_serialized_proto(data).SerializeToString() == data
    assert exported.in_shardings_jax()[0].spec == exported.in_shardings_jax(mesh)[0].spec == P("x")
    assert "stablehlo" in exported.mlir_module(serialized=True)
    with pytest.raises(NotImplementedError, match="serialized=False"):
        exported.mlir_module(serialized=False)


def test_names_around_an_operation():
    from laminax.extend import source_info_util
    with source_info_util.extend_name_stack("outer"), laminax.named_scope("inner"):
        assert str(source_info_util.current_name_stack()) == "outer/inner"
    assert str(source_info_util.new_name_stack("one")) == "one" and not source_info_util.new_name_stack()


def test_programs_with_their_constants_as_arguments():
    from laminax.interpreters import partial_eval
    closed = laminax.make_jaxpr(lambda x: x + np.arange(3.0, dtype=np.float32))(jnp.ones(3))
    opened = partial_eval.convert_constvars_jaxpr(closed.jaxpr)
    assert not opened.constvars and len(opened.invars) == len(closed.jaxpr.constvars) + 1
    results = laminax.core.jaxpr_as_fun(partial_eval.close_jaxpr(opened))(*closed.consts, jnp.ones(3))
    np.testing.assert_array_equal(results[0], [1, 2, 3])


def test_modules_of_sparse_functions():
    from laminax.experimental import sparse
    assert sparse.ad.grad is sparse.grad and sparse.api.eye is sparse.eye and sparse.random.random_bcoo is sparse.random_bcoo


def test_donated_leaves():
    from laminax import api_util
    tree = laminax.tree.structure(((1, (2, 3)), {"y": 4, "z": 5}))
    assert api_util.donation_vector((1,), ("y",), tree) == (False, True, True, True, False)
    assert api_util.donation_vector((0,), (), laminax.tree.structure((1, (2, 3))), kws=False) == (True, False, False)
    assert api_util.rebase_donate_argnums((3, 4), (0, 1)) == (1, 2) and api_util.rebase_donate_argnums((), ()) == ()
    with pytest.raises(ValueError, match="cannot intersect"):
        api_util.rebase_donate_argnums((0,), (0,))


def test_rows_without_zeros():
    from laminax.experimental import sparse
    dense = np.array([[0, 2.0, 0], [3, 0, 0]], np.float32)
    padded = sparse.BCSR.fromdense(dense, nse=4)
    thin = sparse.bcsr.bcsr_eliminate_zeros(padded)
    assert padded.nse == 4 and thin.nse == 2
    np.testing.assert_array_equal(thin.todense(), dense)


def test_layouts_of_jaxlib():
    from laminax.experimental.layout import Layout
    x = jnp.ones((2, 3))
    compiled = laminax.jit(lambda x: x.T).lower(x).compile()
    (found,) = compiled.runtime_executable().get_output_layouts()
    assert Layout.from_pjrt_layout(found).major_to_minor == (0, 1)


def test_initializers_are_of_one_kind():
    assert laminax.nn.initializers.Initializer.__name__ == "Initializer"


def test_layouts_effects_and_primitives_by_name():
    from laminax.ad_checkpoint import name_p
    from laminax.experimental.layout import Layout
    from laminax.experimental.xla_metadata import fuse_limit
    from laminax.extend.core import primitives

    assert Layout.for_array(laminax.numpy.ones((2, 3))).major_to_minor == (0, 1)
    traced = laminax.jit(lambda x: laminax.debug.print("{}", x)).trace(1.0)
    assert traced.effects == traced.jaxpr.effects and len(traced.effects) == 1
    named = laminax.make_jaxpr(lambda x: laminax.ad_checkpoint.checkpoint_name(x, "x"))(1.0)
    assert [eqn.primitive for eqn in named.eqns] == [name_p]
    reads = laminax.make_jaxpr(lambda ref: ref[...])(laminax.new_ref(1.0))
    assert primitives.get_p in {eqn.primitive for eqn in reads.eqns}
    assert {str(primitives.swap_p), str(primitives.polynomial_p)} == {"swap", "polynomial"}

    def f(x):
        with fuse_limit():
            y = x * x
        return y + 1

    text = laminax.jit(f).lower(2.0).as_text()
    (marked,) = [line for line in text.splitlines() if "FUSE_LIMIT" in line]
    assert "multiply" in marked
