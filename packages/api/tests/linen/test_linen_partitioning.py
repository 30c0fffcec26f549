"""Boxes around variables: names of mesh axes, logical names, and what lifted transformations tell them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import laminax as lx
from laminax import linen as nn
from laminax.sharding import Mesh, NamedSharding, PartitionSpec

KEY = lx.random.key(0)
X = np.ones((2, 3), np.float32)
init = nn.with_partitioning(nn.initializers.lecun_normal(), ("in", "out"))


def mesh():
    return Mesh(np.array(lx.devices()[:1]).reshape(1, 1), ("in", "out"))


def test_a_boxed_parameter_is_stored_in_its_box_and_seen_without():
    variables = nn.Dense(4, kernel_init=init).init(KEY, X)
    kernel = variables["params"]["kernel"]
    assert isinstance(kernel, nn.Partitioned) and kernel.names == ("in", "out") and kernel.value.shape == (3, 4)
    plain = nn.Dense(4).init(KEY, X)
    np.testing.assert_array_equal(nn.unbox(variables)["params"]["kernel"], plain["params"]["kernel"])
    np.testing.assert_array_equal(nn.Dense(4, kernel_init=init).apply(variables, X), nn.Dense(4).apply(plain, X))


def test_specs_and_shardings():
    variables = lx.eval_shape(nn.Dense(4, kernel_init=init).init, KEY, X)
    assert nn.get_partition_spec(variables) == {"params": {"kernel": PartitionSpec("in", "out"), "bias": PartitionSpec()}}
    assert nn.get_sharding(variables, mesh())["params"]["kernel"] == NamedSharding(mesh(), PartitionSpec("in", "out"))


def test_values_are_split_where_there_is_a_mesh():
    boxed = nn.Partitioned(np.ones((2, 2), np.float32), ("in", None), mesh())
    text = str(lx.make_jaxpr(lambda value: dataclasses.replace(boxed, value=value).unbox())(boxed.value))
    assert "sharding_constraint" in text
    assert "sharding_constraint" not in str(lx.make_jaxpr(lambda value: nn.Partitioned(value, ("in", None)).unbox())(boxed.value))


@pytest.mark.parametrize("axis, names", [(0, ("layers", "in", "out")), (1, ("in", "layers", "out")), (-1, ("in", "out", "layers"))])
def test_transformations_tell_boxes_of_their_axis(axis, names):
    Layers = nn.vmap(nn.Dense, variable_axes={"params": axis}, split_rngs={"params": True}, axis_size=5, in_axes=None,
                     metadata_params={nn.PARTITION_NAME: "layers"})
    model = Layers(4, kernel_init=init, use_bias=False)
    variables = model.init(KEY, X)
    kernel = variables["params"]["kernel"]
    assert kernel.names == names and kernel.value.shape == tuple({"in": 3, "out": 4, "layers": 5}[name] for name in names)
    assert model.apply(variables, X).shape == (5, 2, 4)


def test_transformations_must_say_the_name_of_their_axis():
    with pytest.raises(nn.errors.PartitioningUnspecifiedError, match="partition_name"):
        nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})(4, kernel_init=init).init(KEY, X)


def test_metadata_axes_of_their_own():
    model = nn.add_metadata_axis(nn.Dense, variable_axes={"params": 0}, metadata_params={nn.PARTITION_NAME: "stage"})(
        4, kernel_init=init, use_bias=False)
    variables = model.init(KEY, X)
    assert variables["params"]["kernel"].names == ("stage", "in", "out")
    assert model.apply(variables, X).shape == (2, 4)


def test_a_variable_keeps_its_box_when_it_is_set():
    class Model(nn.Module):
        @nn.compact
        def __call__(self):
            state = self.variable("state", "x", init, KEY, (2, 2))
            state.value = state.value * 0
            whole = self.variable("state", "y", init, KEY, (2, 2), unbox=False)
            return whole.value
    boxed, variables = Model().init_with_output(KEY)
    assert isinstance(boxed, nn.Partitioned)
    assert variables["state"]["x"].names == ("in", "out") and not np.any(variables["state"]["x"].value)


def test_boxes_of_users():
    @dataclasses.dataclass
    class Named(nn.AxisMetadata):
        value: object
        name: str

        def unbox(self):
            return self.value

        def replace_boxed(self, val):
            return Named(val, self.name)

        def add_axis(self, index, params):
            return Named(self.value, f"{self.name}+{index}")

        def remove_axis(self, index, params):
            return Named(self.value, self.name.removesuffix(f"+{index}"))

    lx.tree_util.register_pytree_node(Named, lambda box: ((box.value,), box.name), lambda name, children: Named(*children, name))
    model = nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})(
        4, kernel_init=lambda *args: Named(nn.initializers.ones(*args), "w"))
    variables = model.init(KEY, X)
    assert variables["params"]["kernel"].name == "w+0"
    np.testing.assert_allclose(model.apply(variables, X), np.full((2, 4), 3.0))


# Logical names.


RULES = (("a", "x"), ("b", "y"), ("c", ("x", "y")), ("d", None), ("a", "y"))


@pytest.mark.parametrize("names, spec", [
    (("a", "b"), ("x", "y")), (("a", "c"), ("x", None)), (("c", "a"), (None, "x")), (("b", "c", "a"), ("y", None, "x")),
    (("d", "a", None), (None, "x", None)), (("unknown",), (None,)), ((None, "a"), (None, "x"))])
def test_rules_are_used_in_their_order_and_mesh_axes_once(names, spec):
    """Recorded with flax 0.12.12."""
    assert nn.logical_to_mesh_axes(names, RULES) == PartitionSpec(*spec)
    with nn.logical_axis_rules(RULES):
        assert nn.get_logical_axis_rules() == RULES and nn.logical_to_mesh_axes(names) == PartitionSpec(*spec)
    assert nn.get_logical_axis_rules() == ()


def test_logical_names_of_trees():
    tree = {"k": PartitionSpec("a", "b"), "z": PartitionSpec("unknown", None)}
    assert nn.logical_to_mesh(tree, RULES) == {"k": PartitionSpec("x", "y"), "z": PartitionSpec(None, None)}
    with pytest.raises(ValueError, match=r"\['a'\] occur more than once"):
        nn.logical_to_mesh_axes(("a", "a"), RULES)


def test_logical_boxes():
    rules = (("embed", "in"), ("hidden", "out"))
    boxed = nn.with_logical_partitioning(nn.initializers.ones, ("embed", "hidden"), mesh=mesh(), rules=rules)
    variables = nn.Dense(4, kernel_init=boxed).init(KEY, X)
    assert variables["params"]["kernel"].names == ("embed", "hidden")
    spec = nn.get_partition_spec(variables)["params"]["kernel"]
    assert nn.logical_to_mesh_sharding(spec, mesh(), rules) == NamedSharding(mesh(), PartitionSpec("in", "out"))
    np.testing.assert_allclose(nn.Dense(4, kernel_init=boxed).apply(variables, X), np.full((2, 4), 3.0))


def test_logical_constraints():
    rules = (("embed", "in"),)
    assert nn.with_logical_constraint(X, ("embed", None)) is X  # no rules: as it is
    split = nn.with_logical_constraint(X, ("embed", None), rules=rules, mesh=mesh())
    assert split.sharding.spec == PartitionSpec("in", None)
    with pytest.raises(ValueError, match="'other'.*has no rule"):
        nn.with_logical_constraint(X, ("embed", "other"), rules=rules, mesh=mesh(), fallback=nn.RulesFallback.RAISE_ERROR)
    assert nn.with_logical_constraint(X, ("embed", "other"), rules=rules, mesh=mesh(), fallback=nn.RulesFallback.NO_CONSTRAINT) is X
