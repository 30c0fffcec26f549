"""Words of errors that programs and their tests match on: they stand in JAX's messages, and in ours beside what these say better."""

import re

import numpy as np
import pytest

import laminax
import laminax.experimental
from laminax import lax
from laminax import numpy as jnp


class NoSignature:
    @property
    def __signature__(self):
        raise TypeError("no signature")

    def __call__(self, *args):
        return None


def two(x, y):
    return x * y


@pytest.mark.parametrize("call, error, words", [
    (lambda: laminax.vmap(lambda x: x, in_axes=([0],))(jnp.ones(3)), ValueError,
     r"(?s)vmap in_axes specification must be a tree prefix of the corresponding value;.*Mismatch details \(1 found\).*different types"),
    (lambda: laminax.vmap(lambda x: x, out_axes=(0, 1))(jnp.ones(3)), ValueError,
     r"(?s)vmap out_axes specification must be a tree prefix of the corresponding value;.*Mismatch details \(1 found\).*different types"),
    (lambda: laminax.device_put({"a": 1, "b": 2}, {"a": [None, None], "b": (None, None)}), ValueError,
     r"(?s)device_put device specification must be a tree prefix of the corresponding value;.*Mismatch details \(2 found\)"),
    (lambda: laminax.vmap(two, in_axes=(0, 0))(x=jnp.ones(2), y=jnp.ones(2)), ValueError,
     re.escape("but got len(in_axes)=2, len(args)=0. Note that the function was called with keyword arguments ['x', 'y'], which the "
               "entries of a tuple in_axes never correspond to: keyword arguments are always mapped along their leading axis (axis 0)")),
    (lambda: laminax.vmap(lambda x: x)({}), ValueError,
     r"at least one argument containing an array or axis_size must be specified, got empty \*args=\(\{\},\) and \*\*kwargs=\{\}"),
    (lambda: laminax.vmap(lambda x: x, out_axes=None, axis_name="foo")(jnp.ones(2)), ValueError,
     "vmap has mapped output.*axis_name=foo.*but out_axes is None"),
    (lambda: laminax.pmap(lambda x: x)({}), ValueError, "pmap requires at least one argument with a mapped axis."),
    (lambda: laminax.grad(lambda x: x)(jnp.ones(1)), TypeError, r"Output had shape: \(1,\)\."),
    (lambda: laminax.vjp(lambda x: (x, x), 1.0)[1](1.0, 1.0), TypeError, "was called with 2 arguments"),
    (lambda: laminax.vjp(two, 1.0, 2.0)[1].with_refs(laminax.new_ref(0.0)), ValueError, "tree structures differ"),
    (lambda: laminax.vjp(jnp.sum, jnp.zeros(3))[1].with_refs(laminax.new_ref(jnp.zeros(4))), ValueError, "requires a ref of type"),
    (lambda: laminax.vjp(lambda r: r[...] ** 2, laminax.new_ref(2.0))[1].with_refs(laminax.ad.GradValue()), ValueError,
     "can't be returned as a value"),
    (lambda: laminax.eval_shape(lambda x: (2.0, two), 1), TypeError,
     r"function <lambda> at .*test_words_of_errors.py:\d+ returned a value.*at output component \[1\], which is not a valid JAX type"),
    (lambda: laminax.jit(lambda: np.dtype)(), TypeError, "returned a value of type"),
    (lambda: laminax.jit(lambda x: x.sharding)(1.0), AttributeError, "typeof"),
    (lambda: laminax.ShapeDtypeStruct((None, 2), np.int32), ValueError, "`shape`.*cannot have None."),
    (lambda: laminax.jit(NoSignature(), donate_argnames="a"), ValueError,
     "Getting the signature of function.*failed. Pass donate_argnums instead of donate_argnames."),
    (lambda: laminax.grad(lambda x: jnp.stack([x]))(1.0), TypeError, r"output\.reshape\(\(\)\) or output\[0\].*output\.sum\(\).*jacobian"),
    (lambda: laminax.grad(lambda r: r[...] ** 2)(laminax.new_ref(2.0)), TypeError, "grad cannot differentiate with respect to a Ref"),
    (lambda: laminax.vjp(two, 1.0, 2.0)[1].with_refs(laminax.new_ref(0.0), None), ValueError, "NoneType"),
], ids=range(20))
def test_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_words_of_leaks():
    """The kind of the trace, and who keeps the value that outlived it."""
    kept = {}

    def keep(x):
        def use():
            return x
        kept["there"] = [use]
        return x

    with laminax.checking_leaks():
        for transformed, kind, tracer in ((laminax.jit(keep), "DynamicJaxprTrace", "StagedTracer"), (laminax.vmap(keep), "BatchTrace",
                                                                                                     "BatchTracer")):
            with pytest.raises(laminax.errors.LeakedTracerError, match=f"^Leaked trace {kind}") as caught:
                transformed(jnp.ones(3))
            lines = str(caught.value).splitlines()
            first = next(i for i, line in enumerate(lines) if re.fullmatch(rf"This {tracer} with object id \d+ was created on line:", line))
            assert re.fullmatch(rf"<{tracer} \d+> is referred to by <function \d+> \(use\) closed-over variable x", lines[first + 2])
            assert re.fullmatch(r"<function \d+> \(use\) is referred to by <list \d+>\[0\]", lines[first + 3])
            assert re.fullmatch(r"<list \d+> is referred to by <dict \d+>\['there'\]", lines[first + 4])
            kept.clear()


MESH = laminax.sharding.Mesh(np.array(laminax.devices()[:1]), "x")
ON_MESH = laminax.sharding.NamedSharding(MESH, laminax.sharding.PartitionSpec())


@pytest.mark.parametrize("call, error, words", [
    (lambda: laminax.make_array_from_single_device_arrays((2,), ON_MESH, [jnp.ones(2)], dtype=np.int32), ValueError,
     "it must match the dtype of the addressable shards"),
    (lambda: laminax.make_array_from_single_device_arrays((2,), ON_MESH, jnp.ones(2)), TypeError,
     "make_array_from_single_device_arrays `arrays` argument"),
    (lambda: laminax.sharding.Mesh(np.array(laminax.devices()[:1]), (None,)), ValueError, "Mesh axis names cannot be None."),
    (lambda: laminax.sharding.AbstractMesh((2, 1), ("x", "y"), (laminax.sharding.AxisType.Auto,)), ValueError,
     "Number of axis names should match the number of axis_types"),
    (lambda: laminax.sharding.NamedSharding(MESH, laminax.sharding.PartitionSpec(unreduced={"a"})), ValueError,
     "Unreduced axes.*not found in mesh"),
    (lambda: laminax.pmap(lambda x: x, devices=[]), ValueError, "'devices' argument to pmap must be non-empty, or None."),
    (lambda: laminax.tree_util.register_dataclass(type("Both", (), {}), data_fields=["x"], meta_fields=["x"]), ValueError,
     r"data_fields and meta_fields must not overlap.*Overlapping fields: {'x'}"),
    (lambda: jnp.fft.fft(jnp.ones((2, 3)), axis=[1, 1]), ValueError, r"does not support multiple axes.*Got axis = \[1, 1\]\."),
], ids=range(8))
def test_words_about_placement_and_structure(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_data_of_this_process_by_device_and_partition_spec():
    data = {"a": np.arange(10).reshape(2, 5)}
    array = laminax.make_array_from_process_local_data(laminax.devices()[0], data, (2, 5))["a"]
    np.testing.assert_array_equal(array, data["a"])
    with laminax.set_mesh(MESH):
        split = laminax.make_array_from_process_local_data(laminax.sharding.PartitionSpec("x"), data)["a"]
    assert split.sharding.spec == laminax.sharding.PartitionSpec("x")
    with pytest.raises(ValueError, match="is a partition spec, and no mesh is set"):
        laminax.make_array_from_process_local_data(laminax.sharding.PartitionSpec("x"), data)


@pytest.mark.parametrize("call, error, words", [
    (lambda: laminax.sharding.PartitionSpec("x", ("y", ("z",))), ValueError, "A tuple inside PartitionSpec cannot contain a nested tuple"),
    (lambda: jnp.fft.fftfreq(10, d=[0, 1]), ValueError, r"The d argument of .*fftfreq only takes a single value\. Got d = \[0, 1\]\."),
    (lambda: laminax.lax.fft(jnp.ones((2, 3), np.complex64), "fft", (4,)), ValueError,
     r"FFT input shape \(2, 3\) minor dimensions must be equal to fft_lengths \(4,\)"),
    (lambda: laminax.vmap(lambda x: laminax.lax.cond(x > 0, lambda x: laminax.experimental.io_callback(lambda x: x, x, x), lambda x: x, x))(
        jnp.ones(2)), NotImplementedError, "IO effect not supported in vmap-of-cond."),
], ids=range(4))
def test_words_about_operations(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_the_result_type_of_none_is_the_default_of_floats():
    assert jnp.result_type(None) == jnp.ones(()).dtype == jnp.result_type(None, np.int8)


def test_an_argument_of_a_dtype_that_arrays_cannot_have_is_named_without_jit_too():
    for call in (lambda x: lax.add(x, np.array("hello")), laminax.jit(lambda x: lax.add(x, np.array("hello")))):
        with pytest.raises(TypeError, match=r"^add: y: Arrays cannot have the dtype <U5. They hold booleans, numbers or random keys"):
            call(jnp.float32(7))
