"""Types that `vmap` maps over by functions of their own: arrays whose axes have names, and wrappers that count."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.pytrees.pytree import register_pytree_node
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types import abstract_meshes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.type_shardings import in_use
from laminax_transforms import grad, vmap
from laminax_transforms.batching import mapped_types
from laminax_transforms.batching.mapped_types import register_vmappable, unregister_vmappable


class Named:
    def __init__(self, names, data):
        self.names, self.data = list(names), data


class NamedAxis:
    """Which axis is mapped, by name; in a result the place where it goes."""

    def __init__(self, name, place=0):
        self.name, self.place = name, place


def one_example(cont, index, x, spec):
    place = x.names.index(spec.name)
    return Named([n for n in x.names if n != spec.name], cont(x.data, place))


def all_examples(cont, size, x, spec):
    names = list(x.names)
    names.insert(spec.place, spec.name)
    return Named(names, cont(size, x.data, spec.place))


@pytest.fixture(autouse=True)
def named():
    register_vmappable(Named, NamedAxis, int, one_example, all_examples, None)
    yield
    unregister_vmappable(Named)


X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("name, place", [("i", 0), ("i", 1), ("j", 0), ("j", -1)])
def test_values_are_mapped_over_a_named_axis(name, place):
    size = X.shape["ij".index(name)]
    out = vmap(lambda x: Named(x.names, op.sin(x.data)), NamedAxis(name), NamedAxis(name, place), axis_size=size)(Named("ij", X))
    rows = np.moveaxis(np.sin(X), "ij".index(name), place)
    np.testing.assert_allclose(out.data, rows, rtol=1e-6)
    assert sorted(out.names) == ["i", "j"]


def test_values_are_mapped_where_types_say_how_arrays_are_split():
    """The entry of the mapped axis in the specs was asked of values that have no type, once a mesh with explicit axes had been made."""
    abstract_meshes.AbstractMesh((2,), ("x",), (abstract_meshes.AxisType.Explicit,))
    assert in_use
    out = vmap(lambda x: Named(x.names, op.sin(x.data)), NamedAxis("i"), NamedAxis("i"), axis_size=3)(Named("ij", X))
    np.testing.assert_allclose(out.data, np.sin(X), rtol=1e-6)


def test_beside_arrays_and_inside_of_other_transformations():
    def f(data, scale):
        out = vmap(lambda x, s: (Named(x.names, x.data * s), s + 1), (NamedAxis("i"), 0), (NamedAxis("i", 1), 0))(Named("ij", data), scale)
        return out[0].data, out[1]

    scale = np.array([1, 2, 3], np.float32)
    program = stage(lambda *args: list(f(*args)), [get_aval(X), get_aval(scale)])
    for data, added in (f(X, scale), evaluate(program, X, scale)):
        np.testing.assert_allclose(data, (X * scale[:, None]).T)
        np.testing.assert_allclose(added, scale + 1)
    gradient = grad(lambda data: reduce_sum(f(data, scale)[0], (0, 1)))(X)
    np.testing.assert_allclose(gradient, np.broadcast_to(scale[:, None], X.shape))


def test_the_functions_may_compute_and_ask_for_the_index():
    class Shifted:
        def __init__(self, data):
            self.data = data

    def to_elt(cont, index, x, spec):
        return cont(x.data + 1.0, spec) * op.convert_element_type(index(), np.float32)

    register_vmappable(Shifted, int, int, to_elt, lambda cont, size, x, spec: Shifted(cont(size, x.data - 1.0, spec)), None)
    try:
        out = vmap(lambda x: (x, Shifted(x)), axis_size=3)(Shifted(np.array([0.0, 1.0, 2.0], np.float32)))
    finally:
        unregister_vmappable(Shifted)
    np.testing.assert_allclose(out[0], [0, 2, 6])
    np.testing.assert_allclose(out[1].data, [-1, 1, 5])


def test_a_result_that_all_examples_share_is_repeated():
    out = vmap(lambda x: Named(["k"], np.float32([7, 8])), 0, NamedAxis("i", 1))(X)
    assert out.names == ["k", "i"] and out.data.tolist() == [[7, 7, 7], [8, 8, 8]]


@pytest.mark.parametrize("call, error, message", [
    (lambda: vmap(lambda x: x, NamedAxis("i"), NamedAxis("i"))(Named("ij", X)), ValueError, "axis_size must be given"),
    (lambda: vmap(lambda x: x, NamedAxis("i"), axis_size=3)(X), TypeError, "in_axes has .*NamedAxis.* for an array"),
    (lambda: vmap(lambda x: x, 0, NamedAxis("i"))(X), TypeError, "out_axes has .*NamedAxis.* for an array"),
    (lambda: vmap(lambda x: "text")(X), TypeError, "Output from batched function <lambda> is not an array: got 'text'"),
    (lambda: register_vmappable("Named", int, int, one_example, all_examples, None), TypeError, "must be a type, got 'Named'"),
    (lambda: register_vmappable(Named, int, float, one_example, all_examples, None), TypeError, "axis_size_type must be int"),
    (lambda: register_vmappable(Named, int, int, 3, all_examples, None), TypeError, "to_elt"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_what_is_not_registered_is_refused():
    unregister_vmappable(Named)
    with pytest.raises(TypeError, match="vmap in_axes must be an int, None, or a tuple"):
        vmap(lambda x: x, NamedAxis("i"), axis_size=3)
    with pytest.raises(TypeError, match=r"argument \[0\] is not an array"):
        vmap(lambda x: x)(Named("ij", X))


class Late:
    """A pytree container with static data that the batch changes."""

    def __init__(self, num_batch, data):
        self.num_batch, self.data = num_batch, data


def test_a_type_registered_while_the_mapped_function_runs_is_mapped(monkeypatch):
    """As by an import in it of the module that defines the type: the result was taken apart as a pytree, and kept its static data."""
    monkeypatch.setattr(mapped_types, "_types", {})  # no other type is registered

    def wrap(x):
        register_pytree_node(Late, lambda late: ([late.data], late.num_batch), lambda static, data: Late(static, *data))
        register_vmappable(Late, int, int, lambda cont, index, late, axis: Late(late.num_batch - 1, cont(late.data, axis)),
                           lambda cont, size, late, axis: Late(late.num_batch + 1, cont(size, late.data, axis)), None)
        return Late(0, op.mul(x, x))

    x = np.arange(6.0).reshape(2, 3)
    result = vmap(wrap)(x)
    assert type(result) is Late and result.num_batch == 1
    np.testing.assert_array_equal(result.data, x * x)
