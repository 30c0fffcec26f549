"""Things that libraries written for JAX do, each of which once did not work."""

from __future__ import annotations

import enum
import logging
import typing
from unittest import mock

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp


def test_a_result_of_eval_shape_may_be_a_struct_already():
    struct = laminax.ShapeDtypeStruct((2, 3), jnp.int32)
    assert laminax.eval_shape(lambda x: (struct, x), 1.0) == (struct, laminax.ShapeDtypeStruct((), jnp.float32, weak_type=True))


def test_iscomplexobj_of_a_struct():
    assert jnp.iscomplexobj(laminax.ShapeDtypeStruct((2,), jnp.complex64))
    assert not jnp.iscomplexobj(laminax.ShapeDtypeStruct((2,), jnp.float32))


def test_iscomplexobj_of_numbers_moves_nothing_to_a_device():
    with laminax.transfer_guard("disallow"):
        assert [jnp.iscomplexobj(x) for x in (True, 1, 1.0, 1j, None)] == [np.iscomplexobj(x) for x in (True, 1, 1.0, 1j, None)]


def test_the_cotangent_through_a_copy_is_a_copy():
    x, ct = jnp.ones(3), jnp.ones(3)
    _, pullback = laminax.vjp(lambda x: jnp.array(x, copy=True), x)
    [x_ct] = pullback(ct)
    ct.delete()  # as donating it would: the result lives on
    np.testing.assert_array_equal(x_ct, [1, 1, 1])


def test_what_vmap_does_not_map_may_be_anything():
    np.testing.assert_array_equal(laminax.vmap(lambda f, x: f(x), in_axes=(None, 0))(jnp.sum, jnp.ones((2, 3))), [3, 3])
    with pytest.raises(TypeError, match="is not an array"):
        laminax.vmap(lambda f, x: f(x))(jnp.sum, jnp.ones((2, 3)))


def test_the_derivative_of_relu_is_batched_at_rank_zero():
    x = jnp.array([-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(laminax.grad(lambda x: jnp.sum(laminax.vmap(laminax.nn.relu)(x) * 3))(x), [0, 0, 3])
    np.testing.assert_array_equal(laminax.vmap(laminax.grad(laminax.nn.relu))(x), [0, 0, 1])


def test_zero_from_primal_takes_trees():
    zeros = laminax.custom_derivatives.zero_from_primal({"x": jnp.ones(2), "n": jnp.arange(3)})
    np.testing.assert_array_equal(zeros["x"], np.zeros(2, np.float32))
    assert zeros["n"].dtype == laminax.dtypes.float0 and zeros["n"].shape == (3,)


def test_rules_of_axis_primitive_batchers_get_size_and_name():
    from laminax.interpreters import batching
    seen = []
    primitive = laminax.extend.core.Primitive("doubled")
    primitive.def_impl(lambda x: 2 * x)
    primitive.def_abstract_eval(lambda x: x)

    def rule(size, name, trace_type, operands, batch_axes):
        seen.append((size, name, trace_type))
        return primitive.bind(*operands), batch_axes[0]

    batching.axis_primitive_batchers[primitive] = rule
    np.testing.assert_array_equal(laminax.vmap(primitive.bind, axis_name="i")(jnp.arange(3.0)), [0, 2, 4])
    assert seen == [(3, "i", None)]


def test_the_innermost_trace_of_values():
    from laminax.extend.core import find_top_trace
    traces = []
    laminax.jvp(lambda x: traces.append((find_top_trace([1.0, x]), x._trace)) or x, (1.0,), (1.0,))
    ((top, own),) = traces
    assert top is own and top.main is own.main


def test_private_names_that_libraries_import():
    from laminax._src.names import ad_util, core, dispatch, dtypes, traceback_util, tree_util
    assert (dtypes.to_complex_dtype("float32") == np.complex64
            and dtypes.to_inexact_dtype("int32") == dtypes.to_floating_dtype("complex64") == np.float32)
    assert issubclass(dtypes.TypePromotionError, ValueError) and core.trace_state_clean()
    assert dict in tree_util._registry and int not in tree_util._registry
    dispatch.wait_for_tokens()
    assert str(ad_util.stop_gradient_p) == "stop_gradient"
    traceback_util.register_exclusion("/nowhere/library/module.py")
    assert traceback_util.api_boundary(len)([1]) == traceback_util.api_boundary(repro_api_name="f")(len)([1]) == 1


class Layer:
    """Has what functions have, without values, as modules of equinox do after a transformation."""

    def __init__(self):
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__type_params__"):
            self.__dict__[name] = ()

    def __call__(self, x):
        return jnp.sin(x) * 2


@pytest.mark.parametrize("transform, value", [
    (laminax.jit, 0.0), (laminax.grad, 2.0), (laminax.value_and_grad, (0.0, 2.0)), (laminax.jacfwd, 2.0), (laminax.jacrev, 2.0),
    (laminax.hessian, 0.0), (laminax.checkpoint, 0.0), (lambda f: lambda x: laminax.vmap(f)(x[None])[0], 0.0),
    (lambda f: lambda x: laminax.pmap(f)(x[None])[0], 0.0), (lambda f: lambda x: laminax.eval_shape(f, x).shape, ()),
    (lambda f: lambda x: len(laminax.make_jaxpr(f)(x).eqns), 2), (lambda f: lambda x: laminax.jvp(f, (x,), (x + 1,)), (0.0, 2.0)),
    (lambda f: lambda x: laminax.lax.map(f, x[None])[0], 0.0),
])
def test_what_is_transformed_need_not_have_a_name(transform, value):
    assert transform(Layer())(jnp.zeros(())) == value


def test_positions_and_names_of_the_same_arguments():
    import inspect
    infer = laminax._src.api_util.infer_argnums_and_argnames
    signature = inspect.signature(lambda x, /, y, *, z: x)
    assert infer(signature, (0, -1), None) == ((0, -1), ("y",))
    assert infer(signature, None, ["y", "z"]) == ((1,), ("y", "z"))
    assert infer(signature, 1, "z") == ((1,), ("z",)) and infer(signature, None, None) == ((), ())
    with pytest.raises(TypeError, match="argnums must be an int"):
        infer(signature, "y", None)


def test_comparison_with_tolerances_by_dtype():
    check_close = laminax._src.public_test_util.check_close
    x = {"a": np.ones(2, np.float32), "n": np.arange(3)}
    check_close(x, {"a": x["a"] * np.float32(1 + 5e-7), "n": x["n"]})
    check_close(x, {"a": x["a"] * np.float32(1 + 5e-4), "n": x["n"]}, rtol={"float32": 1e-3})
    for other in ({"a": x["a"] * np.float32(1 + 5e-6), "n": x["n"]}, {"a": x["a"], "n": x["n"] + 1}, {"a": x["a"]}):
        with pytest.raises(AssertionError, match="mine"):
            check_close(x, other, rtol={"float64": 1e-3}, err_msg="mine")


def test_private_modules_need_no_import_of_their_own():
    assert laminax._src.xla_bridge._backends.keys() <= laminax._src.xla_bridge.backends().keys()
    with pytest.raises(AttributeError, match="no attribute 'no_such_module'"):
        laminax._src.no_such_module  # noqa: B018


def test_the_true_branch_of_cond_is_traced_first():
    # flax draws the keys of new parameters while it is traced, so that the order decides which it gets.
    order = []
    laminax.make_jaxpr(lambda x: laminax.lax.cond(x > 0, lambda: order.append(True) or x, lambda: order.append(False) or x))(1.0)
    assert order == [True, False]


def test_partial_evaluation_of_a_flat_function():
    # what flax does to find variables that do not depend on the body of a scan
    from laminax import api_util
    from laminax.extend import linear_util
    from laminax.interpreters import partial_eval as pe

    def fun(x, *, y):
        return {"known": jnp.sin(y) * 2, "unknown": x + jnp.cos(y)}

    args, tree = laminax.tree.flatten(((1.0,), {"y": jnp.float32(0.5)}))
    flat, out_tree = api_util.flatten_fun(linear_util.wrap_init(fun, debug_info=api_util.debug_info("test", fun, args, {})), tree)
    unknown = pe.PartialVal.unknown(laminax.core.ShapedArray((3,), np.dtype(np.float32)))
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(flat, [unknown, pe.PartialVal.known(args[1])])
    outs = laminax.tree.unflatten(out_tree(), outs)
    assert outs["known"].is_known() and not outs["unknown"].is_known()
    np.testing.assert_allclose(outs["known"].get_known(), 2 * np.sin(0.5), rtol=1e-6)
    assert outs["unknown"].get_aval().str_short() == "f32[3]"
    (result,) = laminax.core.eval_jaxpr(jaxpr, consts, jnp.arange(3.0))
    np.testing.assert_allclose(result, np.arange(3) + np.cos(0.5), rtol=1e-6)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["add"]


def test_an_interpreter_asks_which_equations_are_calls():
    from laminax.api_util import safe_map
    from laminax.extend.core import Primitive, primitives
    eqns = laminax.make_jaxpr(lambda x: laminax.jit(jnp.sin)(x) + 1)(1.0).eqns
    assert [eqn.primitive.call_primitive for eqn in eqns] == [False, False]  # a program is the parameter of a jitted call, not a function
    assert primitives.call_p.call_primitive and primitives.closed_call_p.call_primitive and not Primitive("mine").call_primitive
    values = {}
    safe_map(values.__setitem__, ["x", "y"], [1, 2])
    assert values == {"x": 1, "y": 2}
    with pytest.raises(ValueError, match="shorter"):
        safe_map(values.__setitem__, ["x", "y"], [1])


def test_axes_are_spread_over_the_leaves():
    from laminax.api_util import flatten_axes
    tree = laminax.tree_util.tree_structure(({"b": 0, "w": 0}, 0))
    assert flatten_axes("in_axes", tree, ({"b": None, "w": 1}, 2)) == [None, 1, 2]
    assert flatten_axes("in_axes", tree, (1, None)) == [1, 1, None]


def test_methods_are_taken_from_the_type_of_arrays():
    assert laminax.Array.all.__name__ == "all" and "reshape" in dir(laminax.Array)
    assert not laminax.Array.all(jnp.array([True, False])) and laminax.jit(laminax.Array.sum)(jnp.arange(4)) == 6
    assert not hasattr(laminax.Array, "no_such_method")


def test_avals_have_tangent_types_by_their_older_name():
    assert laminax.typeof(jnp.ones(2)).at_least_vspace() == laminax.typeof(jnp.ones(2))
    assert laminax.typeof(jnp.arange(2)).at_least_vspace().dtype == laminax.dtypes.float0


def test_none_for_the_shardings_says_nothing(caplog):
    """Results committed to a device would have the function compiled again for them."""
    step = laminax.jit(lambda state, n: ({"x": state["x"] + n}, n), in_shardings=(None, None), out_shardings=({"x": None}, None))
    state, _ = step({"x": jnp.ones(3)}, 1.0)
    assert not state["x"].committed
    with laminax.log_compiles(), caplog.at_level(logging.WARNING):
        step(state, 1.0)
    assert not caplog.messages
    device = laminax.devices()[0]
    assert step({"x": laminax.device_put(jnp.ones(3), device)}, 1.0)[0]["x"].committed


def test_reshape_without_sizes_is_to_a_scalar():
    assert jnp.ones((1, 1)).reshape().shape == ()
    with pytest.raises(TypeError, match="reshape"):
        jnp.ones(2).reshape()


def test_axes_in_einsum_are_named_by_anything_sortable():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_allclose(jnp.einsum(x, ["in", "mid"], y, ["mid", "out"], ["out", "in"]), (x @ y).T, rtol=1e-5)
    np.testing.assert_array_equal(jnp.einsum(x, [10**9, -5]), x.T)  # without a result, axes are in the order of their names
    np.testing.assert_array_equal(jnp.einsum(x, [("b", 1), ...], [..., ("b", 1)]), x.T)
    with pytest.raises(TypeError, match=r"einsum: an axis is named .* got \['in', 0\]"):
        jnp.einsum(x, ["in", 0])


def test_the_upper_bound_of_uniform_may_have_axes_of_size_one_in_front():
    key, high = laminax.random.key(0), jnp.array([[3.0]])
    np.testing.assert_array_equal(laminax.random.uniform(key, (), maxval=high), laminax.random.uniform(key, (), maxval=3.0))
    assert laminax.random.uniform(key, (2,), maxval=jnp.ones((1, 2))).shape == (2,)
    np.testing.assert_array_equal(laminax.random.uniform(key, (), minval=high, maxval=4.0),
                                  [[laminax.random.uniform(key, (), minval=3.0, maxval=4.0)]])
    with pytest.raises(ValueError, match="broadcast-compatible"):
        laminax.random.uniform(key, (2,), maxval=jnp.ones((2, 1)))


def test_arrays_made_from_data_are_traced_where_a_program_is():
    """Libraries find out so whether they are called inside of jit; outside, such an array has its number."""
    def is_number(x):
        try:
            bool(jnp.asarray(False))
        except laminax.errors.TracerBoolConversionError:
            return 0 * x
        return 0 * x + 1

    x = jnp.ones(2)
    assert [float(f(x)[0]) for f in (laminax.jit(is_number), laminax.jit(laminax.vmap(is_number)))] == [0, 0]
    assert [float(f(x)[0]) for f in (is_number, laminax.vmap(is_number))] == [1, 1]
    assert float(laminax.grad(lambda x: is_number(x) * x)(1.0)) == 1
    with laminax.ensure_compile_time_eval():
        assert not bool(jnp.asarray(False))
    program = laminax.make_jaxpr(lambda x: x + jnp.asarray(2.0))(1.0)
    assert str(program) == "{ lambda ; a:f32[]. let b:f32[] = add a 2.0:f32[] in (b,) }"


def test_a_composite_function_copies_its_equations_for_each_constant():
    """A constant among the operands is no part of what is copied."""
    x = np.array([5, 6, 7])
    found = laminax.jit(lambda x: [jnp.mod(x, jnp.asarray(k)) for k in (2, 3, 4)])(x)
    np.testing.assert_array_equal(found, [x % 2, x % 3, x % 4])
    found = laminax.jit(lambda x: [jnp.where(jnp.asarray(k), x, jnp.asarray(0)) for k in (True, False, True)])(x)
    np.testing.assert_array_equal(found, [x, 0 * x, x])


def test_types_for_annotations_can_be_checked_at_run_time():
    """Checkers such as beartype take NumPy's class, and read type parameters of it as a dtype; protocols must know instances."""
    assert {np.ndarray, np.number} <= {*typing.get_args(laminax.typing.ArrayLike)}
    assert np.dtype in typing.get_args(laminax.typing.DTypeLike)
    assert isinstance(jnp.ones(2), typing.get_args(laminax.typing.DTypeLike)[-1])


@pytest.mark.parametrize("aux_of", [
    lambda f: laminax.jvp(f, (1.0,), (1.0,), has_aux=True)[-1], lambda f: laminax.vjp(f, 1.0, has_aux=True)[-1],
    lambda f: laminax.linearize(f, 1.0, has_aux=True)[-1], lambda f: laminax.grad(f, has_aux=True)(1.0)[-1],
], ids=["jvp", "vjp", "linearize", "grad"])
def test_containers_of_auxiliary_data_are_made_after_the_trace(aux_of):
    """Flax's variables remember the trace that they were made in, and may be changed in no other."""
    class Variable:
        def __init__(self, value):
            self.value, self.trace_state = value, laminax.extend.core.get_opaque_trace_state(convention="nnx")

    laminax.tree_util.register_pytree_node(Variable, lambda v: ((v.value,), None), lambda _, values: Variable(*values))

    def value_of_aux():
        return _same_trace(aux_of(lambda x: (x * x, Variable(3 * x))))

    assert value_of_aux() == 3 and laminax.jit(value_of_aux)() == 3


def _same_trace(variable):
    assert variable.trace_state == laminax.extend.core.get_opaque_trace_state(convention="nnx")
    return variable.value


def test_arrays_without_elements_and_triangles_have_the_default_dtype():
    for x64 in (False, True):
        with laminax.enable_x64(x64):
            default = jnp.array(1.0).dtype
            for made in (jnp.array([]), jnp.asarray(((), ())), jnp.tri(3)):
                assert made.dtype == default == (np.float64 if x64 else np.float32)
            assert jnp.array([], jnp.int8).dtype == np.int8


def test_a_platform_that_is_not_there_is_an_unknown_backend():
    with pytest.raises(RuntimeError, match="Unknown backend|failed to initialize"):
        laminax.devices("tpu")


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit], ids=["eager", "jit"])
def test_the_method_astype_takes_its_arguments_as_numpys_does(wrap):
    x = jnp.array([1.7, -1.7])
    for cast in (lambda x: x.astype(dtype=jnp.int32), lambda x: x.astype(jnp.int32, True), lambda x: x.astype(dtype="int32", copy=False)):
        np.testing.assert_array_equal(wrap(cast)(x), np.array([1, -1], np.int32), strict=True)


@pytest.mark.parametrize("transform", [
    laminax.vmap, laminax.grad, laminax.value_and_grad, laminax.jacfwd, laminax.jacrev, laminax.hessian, laminax.checkpoint, laminax.jit,
    laminax.make_jaxpr, laminax.named_call, jnp.vectorize])
def test_what_is_transformed_keeps_the_attributes_of_the_object(transform):
    """Equinox's layers, which are objects that can be called, have their fields read after `vmap`."""
    class Layer:
        def __init__(self):
            self.scale = 3.0

        def __call__(self, x):
            return self.scale * x

    layer = Layer()
    twice = transform(transform(layer)) if transform is laminax.vmap else transform(layer)
    assert twice.scale == 3.0 and twice.__wrapped__ is not None


@pytest.mark.parametrize("text, letters, shapes", [
    ("...qhgd,...kh1d->...hgqk", "...qhgd,...khod->...hgqk", [(5, 2, 3, 4, 6), (5, 7, 3, 1, 6)]),
    ("b!_a,a?", "dxcb,by", [(2, 3, 4, 5), (5, 6)])])
def test_axes_in_einsum_are_named_by_any_character(text, letters, shapes):
    rng = np.random.default_rng(0)
    operands = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    expected = np.einsum(letters, *operands)
    if "->" not in text:  # the axes of the result are sorted by the characters
        expected = np.einsum("dxcb,by->xycd", *operands)
    np.testing.assert_allclose(jnp.einsum(text, *operands), expected, rtol=1e-4)
    with pytest.raises(ValueError, match="'.' in 'a.,b' names no axis"):
        jnp.einsum("a.,b", np.ones((2, 2)), np.ones(2))


def test_none_for_the_shardings_of_the_arguments_holds_for_keywords_too():
    """`flax.nnx.jit` gives it."""
    assert laminax.jit(lambda x, *, scale=1.0: scale * x, in_shardings=None)(2.0, scale=3.0) == 6.0
    with pytest.raises(ValueError, match="does not support kwargs when in_shardings is specified.*; got scale"):
        laminax.jit(lambda x, *, scale=1.0: scale * x, in_shardings=(None,))(2.0, scale=3.0)


def test_heads_of_keys_divide_those_of_queries():
    with pytest.raises(ValueError, match="query heads must be a multiple of key/value heads, but got 5 vs 2"):
        laminax.nn.dot_product_attention(jnp.ones((1, 4, 5, 8)), jnp.ones((1, 4, 2, 8)), jnp.ones((1, 4, 2, 8)))


class Status(enum.IntEnum):
    """As quadax has it, whose loops carry a member of it."""
    GOOD = 0
    BAD = 3


class Fraction(float):
    """A number of Python's with a class of its own."""


def test_members_of_an_enumeration_are_numbers_in_programs():
    def worst(x):
        return jnp.where(x > 1, Status.BAD, jnp.maximum(Status.GOOD, jnp.int32(0)))

    for run in (laminax.jit, laminax.checkpoint, lambda f: f):
        np.testing.assert_array_equal(run(laminax.vmap(lambda x: worst(x)))(jnp.arange(4.0)), [0, 0, 3, 3])
        assert run(lambda x: Status.BAD + x)(2) == run(lambda x: x + Status.BAD)(2) == 5
        assert run(lambda x: jnp.multiply(x, Fraction(0.5)))(np.float32(3)) == 1.5
        assert run(lambda x: Status.BAD * x)(jnp.float32(2)).dtype == np.float32  # weak, as 3 is
    assert laminax.lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, worst(s[0])), (0, Status.GOOD))[1] == 0
    assert laminax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, worst(s[0])), (0, Status.GOOD))[1] == 3


def test_mocks_of_arrays_are_arrays():
    """As tests of libraries make them, those of orbax among them."""
    assert isinstance(mock.Mock(spec=laminax.Array, shape=(2,)), laminax.Array)
    assert isinstance(mock.Mock(spec=type(jnp.ones(2))), laminax.Array)
    assert not isinstance(mock.MagicMock(), laminax.Array) and not isinstance(np.ones(2), laminax.Array)
