"""Minimum cuts against the least of all cuts, tried one after the other."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laminax_lowering.planning.minimum_cut import UNLIMITED, Network


def network(num_nodes, edges):
    made = Network()
    for _ in range(num_nodes - 2):
        made.add_node()
    for start, end, capacity in edges:
        made.add_edge(start, end, capacity)
    return made


def capacity_of(edges, sink_side):
    return sum(capacity for start, end, capacity in edges if start not in sink_side and end in sink_side)


@given(st.integers(2, 7).flatmap(lambda n: st.tuples(st.just(n), st.lists(
    st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(0, 5)), max_size=14))))
def test_no_cut_is_smaller_and_no_smallest_one_has_fewer_nodes_at_the_sink(drawn):
    num_nodes, edges = drawn
    found = network(num_nodes, edges).sink_side()
    sides = [{1, *chosen} for k in range(num_nodes - 1) for chosen in itertools.combinations(range(2, num_nodes), k)]
    least = min(capacity_of(edges, side) for side in sides)
    assert 0 not in found and capacity_of(edges, found) == least
    assert found == min((side for side in sides if capacity_of(edges, side) == least), key=len)


def test_unlimited_edges_are_not_cut():
    edges = [(0, 2, 3), (2, 3, UNLIMITED), (3, 1, 4), (0, 3, 2)]
    assert network(4, edges).sink_side() == {1}
    with pytest.raises(ValueError, match="no cut of limited capacity"):
        network(3, [(0, 2, UNLIMITED), (2, 1, UNLIMITED)]).sink_side()


def test_long_chains():
    """As long as a program's block may be: no recursion."""
    count = 5000
    edges = [(0, 2, 7), *[(i, i + 1, 5 if i == 3000 else 9) for i in range(2, count - 1)], (count - 1, 1, 8)]
    assert network(count, edges).sink_side() == {1, *range(3001, count)}
