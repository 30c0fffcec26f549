"""Nodes and containers of the tests of pytrees, and how these show paths, expect errors and start processes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import OrderedDict, defaultdict, namedtuple

import pytest

Pair = namedtuple("Pair", ["x", "y"])


class Point:
    """Registered without keys; the label is static."""

    def __init__(self, x, y, label="p"):
        self.x, self.y, self.label = x, y, label

    def __eq__(self, other):
        return isinstance(other, Point) and vars(self) == vars(other)

    def __repr__(self):
        return f"Point({self.x!r}, {self.y!r}, {self.label!r})"


class Keyed(Point):
    """Registered with keys."""


CONTAINERS = [
    # tree, leaves, structure
    (1, [1], "PyTreeDef(*)"),
    ("text", ["text"], "PyTreeDef(*)"),
    (None, [], "PyTreeDef(None)"),
    ((), [], "PyTreeDef(())"),
    ((1,), [1], "PyTreeDef((*,))"),
    ((1, 2), [1, 2], "PyTreeDef((*, *))"),
    ([], [], "PyTreeDef([])"),
    ([1, (2, None)], [1, 2], "PyTreeDef([*, (*, None)])"),
    ({}, [], "PyTreeDef({})"),
    ({"b": (1, 2), "a": 0}, [0, 1, 2], "PyTreeDef({'a': *, 'b': (*, *)})"),
    ({2: "two", 1: "one"}, ["one", "two"], "PyTreeDef({1: *, 2: *})"),
    (Pair(1, [2]), [1, 2], "PyTreeDef(CustomNode(namedtuple[Pair], [*, [*]]))"),
    # an OrderedDict keeps its order, a defaultdict sorts like a dict
    (OrderedDict([("b", 1), ("a", 2)]), [1, 2], "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))"),
    (
        defaultdict(int, {"b": 1, "a": 2}),
        [2, 1],
        "PyTreeDef(CustomNode(defaultdict[(<class 'int'>, ('a', 'b'))], [*, *]))",
    ),
    (Point(1, 2, "q"), [1, 2], "PyTreeDef(CustomNode(Point[q], [*, *]))"),
]


@pytest.fixture(name="types")
def types_fixture(pytree):
    """Registers these types with the backend, once."""
    if not pytree.is_tree_node(Point):
        pytree.register_pytree_node(
            Point, lambda p: ((p.x, p.y), p.label), lambda label, children: Point(*children, label)
        )
        pytree.register_pytree_with_keys(
            Keyed,
            lambda p: (((pytree.GetAttrKey("x"), p.x), (pytree.GetAttrKey("y"), p.y)), p.label),
            lambda label, children: Keyed(*children, label),
        )
    return pytree


def show(pytree, pairs):
    return [(pytree.keystr(path), leaf) for path, leaf in pairs]


def raises_naming(error: type[Exception], *parts: str):
    """Expects an error whose text has all these parts."""
    return pytest.raises(error, match="(?s)" + "".join(f"(?=.*{re.escape(part)})" for part in parts))


def run_with_backend(backend: str | None, program: str) -> str:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    env.pop("LAMINAX_PYTREE_BACKEND", None)
    if backend is not None:
        env["LAMINAX_PYTREE_BACKEND"] = backend
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout.strip()
