"""Laws of pytrees on random nested containers, on both registries.

The oracle is `children_of`, a plain description of what each container holds; every law follows from it or
from algebra (inverse, composition, prefix).
"""

from __future__ import annotations

import pickle
from collections import OrderedDict, defaultdict, namedtuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytree_backends import load_backend, pytree_fixture  # noqa: F401  (used by name)

Pair = namedtuple("Pair", ["first", "second"])


class Box:
    """Registered with one key and a static label."""

    def __init__(self, content, label):
        self.content, self.label = content, label

    def __eq__(self, other):
        return isinstance(other, Box) and vars(self) == vars(other)

    def __repr__(self):
        return f"Box({self.content!r}, {self.label!r})"


def register_box(pytree):
    if not pytree.is_tree_node(Box):
        pytree.register_pytree_with_keys(
            Box,
            lambda box: (((pytree.GetAttrKey("content"), box.content),), box.label),
            lambda label, children: Box(*children, label),
        )
    return pytree


@pytest.fixture
def trees_of(pytree):
    return register_box(pytree)


def children_of(tree):
    """The children, each with the Python expression for it; None for a leaf."""
    if tree is None:
        return []
    if type(tree) is Pair:
        return [(".first", tree.first), (".second", tree.second)]
    if type(tree) is Box:
        return [(".content", tree.content)]
    if type(tree) in (tuple, list):
        return [(f"[{i}]", child) for i, child in enumerate(tree)]
    if type(tree) is OrderedDict:
        return [(f"[{key!r}]", child) for key, child in tree.items()]
    if type(tree) in (dict, defaultdict):
        return [(f"[{key!r}]", tree[key]) for key in sorted(tree)]
    return None


def leaves_of(tree, path=""):
    children = children_of(tree)
    if children is None:
        return [(path, tree)]
    return [pair for step, child in children for pair in leaves_of(child, path + step)]


def count_nodes(tree):
    return 1 + sum(count_nodes(child) for _, child in children_of(tree) or [])


names = st.text("abc", max_size=2)
small = dict(max_size=3)


def nodes(children):
    return st.one_of(
        st.lists(children, **small),
        st.lists(children, **small).map(tuple),
        st.dictionaries(names, children, **small),
        st.dictionaries(st.integers(-3, 3), children, **small),
        st.dictionaries(names, children, **small).map(lambda d: OrderedDict(reversed(d.items()))),
        st.dictionaries(names, children, **small).map(lambda d: defaultdict(list, d)),
        st.builds(Pair, children, children),
        st.builds(Box, children, names),
    )


trees = st.recursive(st.integers() | names | st.none(), nodes, max_leaves=12)

law = settings(
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # the fixture has no state
)


@law
@given(tree=trees)
def test_flatten_lists_the_leaves_and_unflatten_inverts_it(trees_of, tree):
    leaves, treedef = trees_of.tree_flatten(tree)
    assert leaves == [leaf for _, leaf in leaves_of(tree)]
    back = trees_of.tree_unflatten(treedef, leaves)
    assert back == tree and repr(trees_of.tree_structure(back)) == repr(treedef)
    assert (treedef.num_leaves, treedef.num_nodes) == (len(leaves), count_nodes(tree))


@law
@given(tree=trees)
def test_paths_are_the_expressions_that_reach_the_leaves(trees_of, tree):
    pairs, treedef = trees_of.tree_flatten_with_path(tree)
    assert [(trees_of.keystr(path), leaf) for path, leaf in pairs] == leaves_of(tree)
    assert treedef == trees_of.tree_structure(tree)
    for path, leaf in pairs:
        assert eval("tree" + trees_of.keystr(path), {"tree": tree}) == leaf


@law
@given(tree=trees)
def test_treedefs_are_values(trees_of, tree):
    treedef = trees_of.tree_structure(tree)
    again = trees_of.tree_structure(trees_of.tree_map(lambda _: object(), tree))
    loaded = pickle.loads(pickle.dumps(treedef))
    for other in (again, loaded):
        assert other == treedef and hash(other) == hash(treedef) and repr(other) == repr(treedef)


@law
@given(a=trees, b=trees)
def test_equal_structure_means_that_each_is_a_prefix_of_the_other(trees_of, a, b):
    s = trees_of.tree_structure
    both = not trees_of.prefix_errors(a, b) and not trees_of.prefix_errors(b, a)
    assert (s(a) == s(b)) is both
    if both:
        assert hash(s(a)) == hash(s(b))


@law
@given(tree=trees)
def test_node_data_and_children_make_the_treedef_again(trees_of, tree):
    def rebuild(treedef):
        children = [rebuild(child) for child in treedef.children()]
        return trees_of.make_from_node_data_and_children(treedef.node_data(), children)

    treedef = trees_of.tree_structure(tree)
    assert rebuild(treedef) == treedef


@law
@given(tree=trees)
def test_map_of_the_identity_and_of_a_composition(trees_of, tree):
    f, g = (lambda x: (x,)), (lambda x: [x])
    assert trees_of.tree_map(lambda x: x, tree) == tree
    is_leaf = lambda x: type(x) is tuple and len(x) == 1 and children_of(x[0]) is None  # noqa: E731
    mapped = trees_of.tree_map(lambda x: g(f(x)), tree)
    assert [g(f(leaf)) for leaf in trees_of.tree_leaves(tree)] == trees_of.tree_structure(tree).flatten_up_to(mapped)
    assert trees_of.tree_map(str, tree, is_leaf=is_leaf) == trees_of.tree_map(lambda x: str(x), tree, is_leaf=is_leaf)


@law
@given(outer=trees, inner=trees)
def test_composition_puts_the_inner_structure_at_every_leaf(trees_of, outer, inner):
    s = trees_of.tree_structure
    whole = trees_of.tree_map(lambda _: inner, outer)
    assert s(outer).compose(s(inner)) == s(whole)
    assert s(outer).flatten_up_to(whole) == [inner] * s(outer).num_leaves


@law
@given(outer=trees, inner=trees)
def test_transposing_twice_gives_the_tree_back(trees_of, outer, inner):
    s = trees_of.tree_structure
    numbers = iter(range(10**6))
    tree = trees_of.tree_map(lambda _: trees_of.tree_map(lambda _: next(numbers), inner), outer)
    turned = trees_of.tree_transpose(s(outer), s(inner), tree)
    assert s(turned) == s(inner).compose(s(outer))
    assert trees_of.tree_transpose(s(inner), s(outer), turned) == tree


@law
@given(prefix=trees, data=st.data())
def test_a_prefix_broadcasts_each_leaf_over_its_subtree(trees_of, prefix, data):
    subtrees = []

    def grow(_):
        subtrees.append(data.draw(trees))
        return subtrees[-1]

    full = trees_of.tree_map(grow, prefix)
    assert trees_of.prefix_errors(prefix, full) == []
    leaves = [leaf for _, leaf in leaves_of(prefix)]
    expected = [leaf for leaf, subtree in zip(leaves, subtrees) for _ in leaves_of(subtree)]
    assert trees_of.broadcast_prefix(prefix, full) == expected
    assert trees_of.flatten_axes("axes", trees_of.tree_structure(full), prefix) == expected
    assert trees_of.tree_structure(trees_of.tree_broadcast(prefix, full)) == trees_of.tree_structure(full)


@law
@given(prefix=trees, full=trees)
def test_an_error_is_found_exactly_when_it_is_not_a_prefix(trees_of, prefix, full):
    def is_prefix(a, b):  # from the definition
        if children_of(a) is None:
            return True
        if type(a) is not type(b) or [k for k, _ in children_of(a)] != [k for k, _ in children_of(b)]:
            return False
        if type(a) is Box and a.label != b.label:
            return False
        return all(is_prefix(x, y) for (_, x), (_, y) in zip(children_of(a), children_of(b)))

    errors = trees_of.prefix_errors(prefix, full)
    assert bool(errors) is not is_prefix(prefix, full)
    if errors:
        where = trees_of.keystr(errors[0].path)
        with pytest.raises(ValueError) as raised:
            trees_of.tree_map(lambda x, y: None, prefix, full)
        assert f" at key path\n    tree{where}\n" in str(raised.value)
        for error in errors:
            at = eval("tree" + trees_of.keystr(error.path), {"tree": prefix})
            assert not is_prefix(at, eval("tree" + trees_of.keystr(error.path), {"tree": full}))


@law
@given(tree=trees)
def test_the_backends_agree(tree):
    python = register_box(load_backend("python")["laminax_ir.pytrees.pytree"])
    jaxlib = register_box(load_backend("jaxlib")["laminax_ir.pytrees.pytree"])
    (p_leaves, p_def), (j_leaves, j_def) = python.tree_flatten(tree), jaxlib.tree_flatten(tree)
    assert p_leaves == j_leaves and repr(p_def) == repr(j_def)
    assert (p_def.num_leaves, p_def.num_nodes) == (j_def.num_leaves, j_def.num_nodes)
    assert p_def.node_data() == j_def.node_data()
    assert [repr(path) for path, _ in python.tree_leaves_with_path(tree)] == [
        repr(path) for path, _ in jaxlib.tree_leaves_with_path(tree)
    ]
    fold = lambda children, data: (children, list(data) if type(data) is tuple else data)  # noqa: E731
    assert p_def.walk(fold, str, p_leaves) == j_def.walk(fold, str, j_leaves)
