"""Passes of the user's own in XLA's pipeline: functions from one HLO module to another, in serialized form."""

from __future__ import annotations

import enum
from typing import Callable, Sequence

from laminax_runtime import _jaxlib
from laminax_runtime.backends import backends


class PipelineStage(enum.Enum):
    """Where in the compiler's pipeline a pass runs: before or after the order of operations is chosen."""
    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


_registered: set[tuple[str, PipelineStage, str]] = set()


def any_registered() -> bool:
    """Whether there are such passes: then the key of a program does not say what it is compiled to."""
    return bool(_registered)


def register_hlo_module_transformation(callback: Callable[[bytes], bytes | None], *, name: str,
                                       stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
                                       platforms: Sequence[str] | str | None = None) -> None:
    """Adds a pass to the compiler, which runs whenever a program is compiled; programs that are compiled already stay as they are.

    The compilation cache on disk is not used while there is such a pass.

    Args:
      callback: gets a serialized `HloModuleProto`, and returns a changed one, or None where nothing changes. Passes of one stage run in
        the order in which they were added.
      name: the pass's name.
      stage: where in the pipeline it runs.
      platforms: "cpu", "cuda", ... or several; by default, all that have devices here.

    Raises:
      TypeError: callback is not a function, or stage no PipelineStage.
      PlatformError: a platform is unknown, not installed, or does not start.

    Example:
      >>> from laminax.extend import xla
      >>> sizes = []
      >>> xla.register_hlo_module_transformation(lambda module: sizes.append(len(module)), name="measure", platforms="cpu")
      >>> _ = laminax.jit(lambda x: x * 7)(2.0)
      >>> len(sizes)
      1
      >>> xla.clear_hlo_module_transformation("measure", platforms="cpu")
      True
    """
    if not callable(callback):
        raise TypeError(f"register_hlo_module_transformation: callback must be a function of bytes, got {callback!r}")
    for platform in _platforms("register_hlo_module_transformation", stage, platforms):
        _jaxlib.register_transformation(name, stage.value, callback, platform)
        _registered.add((name, stage, platform))


def clear_hlo_module_transformation(name: str, stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
                                    platforms: Sequence[str] | str | None = None) -> bool:
    """Takes a pass out of the compiler again.

    Args:
      name, stage: those with which it was added.
      platforms: for which it is taken out; by default, all that have devices here.

    Returns:
      Whether there was such a pass.

    Raises:
      TypeError: stage is no PipelineStage.
      PlatformError: a platform is unknown, not installed, or does not start.
    """
    was_there = False
    for platform in _platforms("clear_hlo_module_transformation", stage, platforms):
        was_there |= _jaxlib.clear_transformation(name, stage.value, platform)
        _registered.discard((name, stage, platform))
    return was_there


def _platforms(function: str, stage: PipelineStage, platforms: Sequence[str] | str | None) -> list[str]:
    """The platforms that are meant, whose clients have started, and so have loaded their plugins."""
    if not isinstance(stage, PipelineStage):
        raise TypeError(f"{function}: stage must be a PipelineStage, got {stage!r}")
    if platforms is None:
        backends.client()
        return sorted(backends.started_clients())
    names = sorted({platforms} if isinstance(platforms, str) else set(platforms))
    for name in names:
        backends.client(name)
    return names
