"""How the elements of arrays lie in memory: formats of arrays, of arguments and results of programs, and constraints inside of them."""

import copy
import pickle

import numpy as np
import pytest
from meshes import DEVICES, check_layout, on_mesh, put, value

import laminax
import laminax.export
import laminax.numpy as jnp
from laminax.experimental.layout import Format, Layout, with_layout_constraint
from laminax.sharding import SingleDeviceSharding

A = value(8, 4)
ONE = SingleDeviceSharding(DEVICES[0])
ROWS, COLUMNS = Layout((0, 1)), Layout((1, 0))  # the last axis is the one along which neighbours are side by side


def order(x):
    """The order of the axes of an array, or of a format's layout."""
    return (x.format if isinstance(x, laminax.Array) else x).layout.major_to_minor


def strides_order(x):
    """The same of one part, from the strides of the memory itself."""
    strides = np.asarray(x.addressable_shards[0].data).strides
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


@pytest.mark.parametrize("where", [ONE, on_mesh("x", "y"), on_mesh("x")])
@pytest.mark.parametrize("given", [A, put(A), jnp.asarray(A)], ids=["numpy", "mesh", "device"])
def test_arrays_are_put_in_formats(where, given):
    for layout in (COLUMNS, ROWS):
        x = laminax.device_put(given, Format(layout, where))
        assert order(x) == strides_order(x) == layout.major_to_minor and x.sharding == where and x.committed
        assert (x.format == Format(x.format.layout, where)
                and {order(shard.data) for shard in x.addressable_shards} == {layout.major_to_minor})
        np.testing.assert_array_equal(x, A)
    plain = laminax.device_put(given, Format(None, where))
    assert order(plain) == (0, 1) and plain.sharding == where and laminax.device_put(A, Format()).sharding == ONE


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, jnp.copy, lambda x: x.copy()])
def test_copies_of_an_array_of_another_layout(copied):
    """Programs read them as they are: jaxlib 0.10's own copy gave numbers of other places."""
    x = copied(laminax.device_put(A, Format(COLUMNS, ONE)))
    np.testing.assert_array_equal(x, A)
    np.testing.assert_array_equal(x + 0, A)
    np.testing.assert_array_equal(laminax.jit(lambda y: x - y)(A), np.zeros_like(A))


def test_arrays_of_any_layout_are_operands():
    """Programs that were compiled before, in C++ too, and operations outside of programs."""
    x, y = laminax.device_put(A, Format(COLUMNS, ONE)), laminax.device_put(A, ONE)
    calls = []
    double, product = laminax.jit(lambda x: calls.append(x) or x * 2), laminax.jit(lambda x, y: x @ y.T)
    for operand in (y, y, x, A, y, x, x):
        np.testing.assert_array_equal(double(operand), A * 2)
        np.testing.assert_allclose(product(operand, y), A @ A.T, rtol=1e-5, atol=1e-5)  # another order of summation
        np.testing.assert_array_equal(operand + y, A + A)
        np.testing.assert_array_equal(jnp.asarray(operand).at[0].set(0), np.where(np.arange(8)[:, None] == 0, 0, A))
    assert len(calls) == 1
    np.testing.assert_array_equal(laminax.grad(lambda x: (x * x).sum())(x), 2 * A)
    closed = laminax.jit(lambda y: x - y)
    for _ in range(3):
        np.testing.assert_array_equal(closed(A), np.zeros_like(A))
    assert order(copy.deepcopy(x)) == (1, 0) and np.array_equal(pickle.loads(pickle.dumps(x)), A)
    assert np.array_equal(laminax.device_put(x, DEVICES[1]), A)
    x.delete()
    assert x.format == Format(None, ONE)


def test_programs_have_formats():
    x = laminax.device_put(A, Format(COLUMNS, on_mesh("x", "y")))
    f = laminax.jit(lambda x: x * 2, in_shardings=Format(COLUMNS, on_mesh("x", "y")), out_shardings=Format(COLUMNS, on_mesh("x")))
    assert f.lower(x).as_text().count('mhlo.layout_mode = "{0,1}"') == 2
    for given in (x, A, jnp.asarray(A), x, A, jnp.asarray(A)):  # what is not committed is brought there
        found = f(given)
        check_layout(found, 2 * A, ("x",))
        assert order(found) == strides_order(found) == (1, 0)
    compiled = f.lower(x).compile()
    (taken,), keywords = compiled.input_formats
    assert keywords == {} and order(taken) == order(compiled.output_formats) == (1, 0) and taken.sharding == on_mesh("x", "y")
    np.testing.assert_array_equal(compiled(x), 2 * A)
    with pytest.raises(ValueError, match="(?s)compiled for input layouts that disagree.*Argument x.*Passed layout: "
                                         "Layout.major_to_minor=.0, 1.*Required"):
        compiled(put(A, "x", "y"))
    unused = laminax.jit(lambda x, y: y, keep_unused=False).lower(A, A).compile().input_formats[0]
    assert unused[0].layout is None and order(unused[1]) == (0, 1)


def test_the_compiler_chooses_layouts():
    struct = laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=on_mesh("x"))
    compiled = laminax.jit(lambda x: x.T, in_shardings=Format(Layout.AUTO), out_shardings=Format(Layout.AUTO)).lower(struct).compile()
    (taken,), _ = compiled.input_formats
    assert order(taken) == order(compiled.output_formats)[::-1]  # so that nothing moves
    found = compiled(laminax.device_put(A, taken))
    assert found.format == compiled.output_formats and np.array_equal(found, A.T)


def test_types_have_formats():
    struct = laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=Format(COLUMNS, on_mesh("x")))
    assert (struct.sharding == on_mesh("x") and struct.format == Format(COLUMNS, on_mesh("x"))
            and struct.update(shape=(4, 8)).format == struct.format)
    assert (struct != laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=on_mesh("x"))
            and "format=Layout(major_to_minor=(1, 0)" in repr(struct))
    (taken,), _ = laminax.jit(lambda x: x + 1).lower(struct).compile().input_formats
    assert order(taken) == (1, 0) and taken.sharding == on_mesh("x")


def test_constraints_inside_of_programs():
    turn = laminax.jit(lambda x: with_layout_constraint(x.T, COLUMNS))
    for _ in range(2):
        found = turn(A)
        assert order(found) == strides_order(found) == (1, 0) and np.array_equal(found, A.T)
    both = laminax.jit(lambda x: laminax.lax.with_sharding_constraint(x, Format(COLUMNS, on_mesh("x"))))(put(A))
    assert order(both) == (1, 0) and both.sharding == on_mesh("x")
    outside = with_layout_constraint({"a": jnp.asarray(A), "b": A}, COLUMNS)
    assert {order(x) for x in outside.values()} == {(1, 0)} and np.array_equal(outside["a"], A)
    put_inside = laminax.jit(lambda x: laminax.device_put(x + 1, Format(COLUMNS, ONE)))(A)
    assert order(put_inside) == (1, 0)
    nested = laminax.jit(lambda x: laminax.jit(lambda x: x * 2, out_shardings=Format(COLUMNS, ONE))(x) + 1)(A)
    np.testing.assert_array_equal(nested, 2 * A + 1)


def test_transformations_of_constraints():
    f = lambda x: with_layout_constraint(x, COLUMNS) * x  # noqa: E731
    np.testing.assert_array_equal(laminax.grad(lambda x: f(x).sum())(A), 2 * A)
    many = np.stack([A, -A], axis=1)
    mapped = laminax.make_jaxpr(laminax.vmap(f, in_axes=1, out_axes=1))(many)
    assert mapped.eqns[0].params["layout"] == Layout((1, 2, 0))  # the examples one behind the other
    np.testing.assert_array_equal(laminax.vmap(f, in_axes=1, out_axes=1)(many), many ** 2)
    _, dots = laminax.jvp(f, (A,), (np.ones_like(A),))
    np.testing.assert_array_equal(dots, 2 * A)


def test_donated_arrays():
    for out in (Format(COLUMNS, ONE), None):
        x = laminax.device_put(A, Format(COLUMNS, ONE))
        found = laminax.jit(lambda x: x * 2, in_shardings=Format(COLUMNS, ONE), out_shardings=out, donate_argnums=0)(x)
        assert x.is_deleted() and np.array_equal(found, 2 * A)


@pytest.mark.parametrize("given, side", [({"in_shardings": Format(Layout.AUTO)}, "output"),
                                         ({"out_shardings": Format(Layout.AUTO)}, "input"),
                                         ({"in_shardings": Format(Layout.AUTO), "out_shardings": Format(ROWS, ONE)}, "output")])
def test_a_donated_buffer_keeps_its_layout(given, side):
    """The donation was dropped without a word: the compiler chose a layout for one of the two."""
    fun = laminax.jit(lambda x: x * 2, donate_argnums=0, **given)
    with pytest.raises(ValueError, match=rf"Did you mean to set the \*\*{side} layout\*\* to \*\*Layout.AUTO\*\*"):
        fun.lower(laminax.ShapeDtypeStruct(A.shape, A.dtype))
    both = laminax.jit(lambda x: x * 2, donate_argnums=0, in_shardings=Format(Layout.AUTO), out_shardings=Format(Layout.AUTO))
    compiled = both.lower(laminax.ShapeDtypeStruct(A.shape, A.dtype)).compile()
    x = laminax.device_put(A, compiled.input_formats[0][0])
    np.testing.assert_array_equal(compiled(x), 2 * A)
    assert x.is_deleted()


def test_structs_of_results_have_the_formats_that_were_asked_for():
    format = Format(COLUMNS, on_mesh("x"))
    struct = laminax.eval_shape(laminax.jit(lambda x: x * 2, in_shardings=format, out_shardings=format), laminax.device_put(A, format))
    assert struct.format == format and struct.sharding == format.sharding and struct.shape == A.shape
    chosen = laminax.eval_shape(laminax.jit(lambda x: x * 2, out_shardings=Format(Layout.AUTO)), A)
    assert chosen.format == Format(None, None)
    assert laminax.jit(lambda x: x, out_shardings=Format(COLUMNS, ONE)).lower(A).out_info.format == Format(COLUMNS, ONE)


def test_arrays_from_parts():
    found = laminax.make_array_from_callback((8, 4), Format(COLUMNS, on_mesh("x", "y")), lambda index: A[index])
    assert order(found) == (1, 0) and found.sharding == on_mesh("x", "y") and np.array_equal(found, A)


def test_layouts_are_values():
    assert (Layout([1, 0]) == COLUMNS != ROWS and hash(Layout([1, 0])) == hash(COLUMNS)
            and pickle.loads(pickle.dumps(Layout.AUTO)) is Layout.AUTO)
    assert COLUMNS.update(tiling=((8, 128),)) == Layout((1, 0), [[8, 128]]) and repr(Layout.AUTO) == "AUTO"
    assert {Format(COLUMNS, ONE): 1}[Format(Layout((1, 0)), ONE)] == 1 and Format() == Format(None, None)


@pytest.mark.parametrize("call, error, message", [
    (lambda: Format(COLUMNS), ValueError, "Sharding has to be concrete when layout is of type"),
    (lambda: Format(3), TypeError, "Invalid value received for the layout argument.*Got 3"),
    (lambda: Format(None, 3), TypeError, "Invalid value received for the sharding argument.*Got 3"),
    (lambda: Layout((0, 2)), ValueError, "major_to_minor must have each axis once, 0 to 1, got .0, 2."),
    (lambda: laminax.device_put(A, COLUMNS), ValueError, "device must be a device, a sharding, a format"),
    (lambda: laminax.device_put(A, Format(Layout.AUTO, ONE)), ValueError, "sharding and layout in `Layout` instance should be concrete"),
    (lambda: laminax.device_put(A, Format(Layout((0, 1, 2)), ONE)), ValueError,
     "Length of major_to_minor and the rank of the value should match"),
    (lambda: laminax.device_put(laminax.random.key(0), Format(Layout(()), ONE)), NotImplementedError,
     "cannot have: its elements are no numbers"),
    (lambda: laminax.jit(lambda x: x, in_shardings=COLUMNS), ValueError, "does not accept device-local layouts directly.*in_shardings"),
    (lambda: laminax.jit(lambda x: x, out_shardings=Layout.AUTO), ValueError,
     "does not accept device-local layouts directly.*AUTO in out_shardings"),
    (lambda: laminax.jit(lambda x: x, in_shardings=Format(Layout((0, 1, 2)), ONE))(A), ValueError,
     "One of jit arguments with pytree key path x is incompatible"),
    (lambda: laminax.jit(lambda x: x, out_shardings=Format(Layout((0,)), ONE))(A), ValueError,
     "One of jit outputs, result 0, is incompatible"),
    (lambda: laminax.jit(lambda x: x, in_shardings=Format(COLUMNS, on_mesh("x")))(put(A, "x")), ValueError,
     "(?s)Layout passed to jit does not match the layout on the respective arg. Got jit layout: .*argument x. Bring it there with "
     "device_put"),
    (lambda: laminax.jit(lambda x: x, in_shardings=Format(Layout.AUTO))(put(A, "x")), ValueError,
     "(?s)Layout passed to jit does not match the layout on the respective arg. Got jit layout: AUTO,.*argument x. The layout given to "
     "jit is `Layout.AUTO`.*Pass a `laminax.ShapeDtypeStruct` in its place"),
    (lambda: laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=Format(Layout.AUTO, ONE)), TypeError,
     "cannot be used in place of a device-local layout"),
    (lambda: laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=Format(COLUMNS, ONE)).update(sharding=ONE), ValueError,
     "updating ShapeDtypeStruct: it has a layout.*Give sharding a Format"),
    (lambda: laminax.make_array_from_callback((8, 4), Format(Layout.AUTO, ONE), lambda i: A[i]), TypeError,
     "cannot be used in place of a device-local layout"),
    (lambda: laminax.make_array_from_callback((8, 4), None, lambda i: A[i]), TypeError, "sharding should be an instance of `jax.sharding`"),
    (lambda: with_layout_constraint(A, Format(COLUMNS, ONE)), ValueError, "must be of type `Layout`. Got .*Format"),
    (lambda: with_layout_constraint(A, None), ValueError, "must be of type `Layout`"),
    (lambda: laminax.export.export(laminax.jit(lambda x: x, in_shardings=Format(COLUMNS, ONE)))(A), NotImplementedError,
     "layouts are not part of exported functions"),
    (lambda: with_layout_constraint(A, Layout((0,))), ValueError, "One of with_layout_constraint arguments is incompatible"),
])
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
