"""Minimum cuts: which edges to take out of a network so that nothing flows from its source to its sink, at the least capacity.

Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970: paths are filled
that are as short as any is, all of one length at a time. What is then cut off from the source, or from the sink, is a minimum
cut (Ford and Fulkerson, "Maximal flow through a network", 1956).
"""

from __future__ import annotations

import math

UNLIMITED = math.inf


class Network:
    """A directed graph whose edges have capacities. Nodes are numbers; there are two at first, `source` and `sink`."""

    source, sink = 0, 1

    def __init__(self) -> None:
        self._leaving: list[list[int]] = [[], []]  # edges by the node that they leave
        self._target: list[int] = []  # of each edge; edge `e ^ 1` is the way back along edge `e`
        self._left: list[float] = []  # how much more can flow

    def add_node(self) -> int:
        """A new node."""
        self._leaving.append([])
        return len(self._leaving) - 1

    def add_edge(self, start: int, end: int, capacity: float) -> None:
        """An edge from one node to another; `UNLIMITED` ones are never cut."""
        for node, target, left in ((start, end, capacity), (end, start, 0)):
            self._leaving[node].append(len(self._target))
            self._target.append(target)
            self._left.append(left)

    def sink_side(self) -> set[int]:
        """The nodes on the sink's side of a minimum cut: of several such cuts, the one with the fewest nodes on this side.

        Raises:
          ValueError: if the source is joined to the sink by edges of unlimited capacity, which nothing cuts.
        """
        while (levels := self._levels())[self.sink] >= 0:
            self._fill(levels)
        side, todo = {self.sink}, [self.sink]
        while todo:  # against the direction of flow
            for edge in self._leaving[todo.pop()]:
                node = self._target[edge]
                if node not in side and self._left[edge ^ 1] > 0:
                    side.add(node)
                    todo.append(node)
        return side

    def _levels(self) -> list[int]:
        """How many edges each node is away from the source, of those along which more can flow; -1 where it is cut off."""
        levels = [-1] * len(self._leaving)
        levels[self.source] = 0
        reached = [self.source]
        for node in reached:
            for edge in self._leaving[node]:
                target = self._target[edge]
                if levels[target] < 0 and self._left[edge] > 0:
                    levels[target] = levels[node] + 1
                    reached.append(target)
        return levels

    def _fill(self, levels: list[int]) -> None:
        """Fills paths whose every edge goes one level up until there is none; each node forgets edges that lead nowhere."""
        next_edge = [0] * len(self._leaving)
        path: list[int] = []
        while True:
            node = self._target[path[-1]] if path else self.source
            if node == self.sink:
                flow = min(self._left[edge] for edge in path)
                if flow == UNLIMITED:
                    raise ValueError("there is no cut of limited capacity between the source and the sink")
                for edge in path:
                    self._left[edge] -= flow
                    self._left[edge ^ 1] += flow
                path.clear()
                continue
            edges = self._leaving[node]
            while next_edge[node] < len(edges):
                edge = edges[next_edge[node]]
                if self._left[edge] > 0 and levels[self._target[edge]] == levels[node] + 1:
                    path.append(edge)
                    break
                next_edge[node] += 1
            else:
                if not path:
                    return
                next_edge[self._target[path.pop() ^ 1]] += 1
