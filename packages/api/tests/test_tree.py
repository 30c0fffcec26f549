"""The short names of `laminax.tree`: each does what its name says, and none is missing or new."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import NamedSharding, P, tree, tree_util

PARAMS = {"w": [1, 2], "b": (3, None)}


def test_every_short_name_is_the_long_one():
    """The same function, that says which of its names it was taken by."""
    for name in tree.__all__:
        short, long = getattr(tree, name), getattr(tree_util, name if name == "static" else f"tree_{name}")
        assert short is long or short.__name__ == name and short.__code__ is long.__code__


def test_laminax_has_both_modules():
    assert laminax.tree is tree and laminax.tree_util is tree_util


def test_apart_and_together():
    leaves, structure = tree.flatten(PARAMS)
    assert leaves == tree.leaves(PARAMS) == [3, 1, 2]  # dicts go by their sorted keys
    assert structure == tree.structure(PARAMS)
    assert tree.unflatten(structure, leaves) == PARAMS


def test_over_the_leaves():
    assert tree.map(lambda x, y: x + y, PARAMS, PARAMS) == {"w": [2, 4], "b": (6, None)}
    assert tree.reduce(lambda total, x: total + x, PARAMS, 10) == 16
    assert tree.reduce_associative(lambda x, y: f"({x}{y})", list("abcd")) == "((ab)(cd))"
    assert tree.all({"a": 1, "b": [True]}) and not tree.all([1, 0])


def test_paths_name_the_leaves():
    names = tree.map_with_path(lambda path, x: tree_util.keystr(path), PARAMS)
    assert names == {"w": ["['w'][0]", "['w'][1]"], "b": ("['b'][0]", None)}
    pairs, structure = tree.flatten_with_path(PARAMS)
    assert pairs == tree.leaves_with_path(PARAMS) and structure == tree.structure(PARAMS)
    assert [tree_util.keystr(path) for path, _ in pairs] == tree.leaves({"w": names["w"], "b": names["b"]})


def test_structures():
    assert tree.broadcast({"w": 0, "b": 1}, PARAMS) == {"w": [0, 0], "b": (1, None)}
    pairs = [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
    assert tree.transpose(tree.structure([0, 0]), tree.structure(pairs[0]), pairs) == {"x": [1, 3], "y": [2, 4]}


def test_static_fields_are_part_of_the_structure():
    @tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        weight: int
        name: str = tree.static(default="dense")

    assert tree.leaves(Layer(1)) == [1]
    assert tree.structure(Layer(1)) != tree.structure(Layer(1, "other"))


def test_trees_that_do_not_fit_name_the_place():
    with pytest.raises(ValueError, match=r"\['w'\]"):
        tree.map(lambda x, y: x, PARAMS, {"w": [1], "b": (3, None)})


class Checked:
    """A user's class whose constructor refuses everything but arrays, of which there are many."""

    def __init__(self, x, y):
        if not hasattr(x, "shape"):
            raise TypeError(f"x must be an array, got {x!r}")
        self.x, self.y = x, y


tree_util.register_pytree_node(Checked, lambda c: ((c.x, c.y), None), lambda _, children: Checked(*children))


def add_one(c):
    return Checked(c.x + 1, c.y)


MESH = laminax.make_mesh((1,), ("i",))
EVERYWHERE = NamedSharding(MESH, P())


@pytest.mark.parametrize("transform", [
    laminax.jit,
    lambda f: laminax.jit(f, donate_argnums=0),
    lambda f: laminax.jit(f, in_shardings=EVERYWHERE, out_shardings=EVERYWHERE),
    lambda f: laminax.jit(f, in_shardings=(EVERYWHERE,)),
    lambda f: lambda c: laminax.jit(f).lower(c).compile()(c),
    laminax.vmap,
    lambda f: laminax.vmap(f, in_axes=(0,), out_axes=0),
    laminax.pmap,
    lambda f: laminax.shard_map(f, mesh=MESH, in_specs=P(), out_specs=P()),
    lambda f: lambda c: laminax.lax.fori_loop(0, 1, lambda _, c: f(c), c),
    lambda f: lambda c: laminax.lax.cond(True, f, f, c),
    laminax.checkpoint,
])
def test_classes_that_take_nothing_but_arrays(transform):
    """Where only the structure of arguments or results matters, no instance is made of something else."""
    out = transform(add_one)(Checked(jnp.ones((1, 2)), jnp.zeros((1, 2))))
    np.testing.assert_array_equal(out.x, np.full((1, 2), 2))
    np.testing.assert_array_equal(out.y, np.zeros((1, 2)))


def test_such_a_class_is_mapped_where_other_types_have_mappings_of_their_own():
    from laminax.experimental import sparse
    out = laminax.vmap(add_one)(Checked(jnp.ones((1, 2)), jnp.zeros((1, 2))))
    np.testing.assert_array_equal(out.x, np.full((1, 2), 2))
    from_dense = sparse.BCOO.fromdense  # loads the type, which registers how it is mapped
    rows = laminax.vmap(lambda x: from_dense(x, nse=2))(jnp.eye(2))
    np.testing.assert_array_equal(rows.todense(), np.eye(2))


def test_messages_about_classes_that_take_nothing_but_arrays():
    c = Checked(jnp.ones(2), jnp.zeros(2))
    with pytest.raises(laminax.errors.TracerBoolConversionError, match=r"argument c\[<flat index 0>\] of jit"):
        laminax.jit(lambda c: 1 if c.x.sum() > 0 else 2)(c)
    with pytest.raises(ValueError, match=r"vmap has mapped output but out_axes is None: .* at vmap out_axes\[<flat index 0>\]"):
        laminax.vmap(add_one, out_axes=None)(c)
    with pytest.raises(TypeError, match=r"compiled\[0\]\[0\] is a Checked with 2 children"):
        laminax.jit(add_one).lower(c).compile()((c,))
