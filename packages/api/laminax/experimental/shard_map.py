"""`shard_map` under its older name and with its older parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laminax._src.parallel.shard_map import shard_map as _shard_map


def shard_map(f: Callable, mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True) -> Callable:
    """`laminax.shard_map`, which has the documentation.

    Args:
      f: the function of one device's parts.
      mesh: the mesh.
      in_specs, out_specs: as there.
      check_rep: its `check_vma`.
    """
    return _shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)


__all__ = ["shard_map"]
