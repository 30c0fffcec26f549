"""Pullbacks that give the logs of backward rules beside cotangents: `vjp(...)[1].with_logs`."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.functions.weak_scalars import shaped
from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms.differentiation.gradient_refs import PullbackWithRefs
from laminax_transforms.differentiation.logging_programs import Log, logging_program


class PullbackWithLogs:
    """A function of the cotangent that returns the cotangents of the arguments and the logs of the backward pass.

    Args:
      name: the differentiated function's, for messages.
      pull_back: the function of the cotangent without logs.
    """

    def __init__(self, name: str, pull_back: Callable[..., Any]) -> None:
        self.name = name
        self.pull_back = pull_back

    def __call__(self, *cotangents: Any) -> tuple[Any, dict[Any, Any]]:
        leaves, in_tree = tree_flatten(cotangents)
        trees: list[Any] = []
        towards_refs = self.pull_back if isinstance(self.pull_back, PullbackWithRefs) else None
        compute = self.pull_back if towards_refs is None else towards_refs.values

        def flat(*values: Any) -> list[Any]:
            results, tree = tree_flatten(compute(*tree_unflatten(in_tree, values)))
            trees.append(tree)
            return results

        recorded = stage(flat, [get_aval(x) for x in leaves], self.name)
        program, logs = logging_program(recorded)
        outs = eval_jaxpr(program.jaxpr, program.consts, *map(shaped, leaves))
        count = len(recorded.out_avals)
        results = tree_unflatten(trees[0], outs[:count])
        return results if towards_refs is None else towards_refs.placed(results), _by_name(logs, outs[count:])

    def with_refs(self, *maybe_ct_refs: Any) -> PullbackWithLogs:
        """The pullback that adds cotangents to references, as `with_refs` of the pullback without logs, and gives logs.

        Args:
          *maybe_ct_refs: for each leaf of the arguments a reference, `ad.GradValue()` or `ad.DontWant()`.
        """
        return PullbackWithLogs(self.name, self.pull_back.with_refs(*maybe_ct_refs))  # type: ignore[attr-defined]


def _by_name(logs: Sequence[Log], values: Sequence[Any]) -> dict[Any, Any]:
    """One dictionary of everything that was logged.

    Raises:
      ValueError: if two operations log the same name.
    """
    found: dict[Any, Any] = {}
    start = 0
    for log in logs:
        own = tree_unflatten(log.tree, values[start:start + log.tree.num_leaves])
        start += log.tree.num_leaves
        if twice := found.keys() & own.keys():
            raise ValueError(f"with_logs: the log keys {sorted(map(str, twice))} of {log.name} were logged before in this backward pass; "
                             "keys must be unique. Name them by the place of the call, or log them from a loop, which stacks them.")
        found.update(own)
    return found
