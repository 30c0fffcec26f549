"""Programs per device, evaluated: on a mesh of one device there is one, and it has everything."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from laminax_ir.ops import shard_map as op
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.tracing.manual_axes import running_along

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.programs.jaxpr import ClosedJaxpr
    from laminax_ir.types.abstract_meshes import AbstractMesh


@reference_rule(op.shard_map_p)
def _shard_map(*operands: np.ndarray, jaxpr: ClosedJaxpr, mesh: AbstractMesh, manual_axes: tuple[str, ...], check_vma: bool,
               unchecked_axes: Any = (), **_specs: Any) -> list[np.ndarray]:
    sizes = {name: mesh.shape[name] for name in manual_axes}
    if math.prod(sizes.values()) != 1:
        raise NotImplementedError(f"shard_map over the axes {sizes} cannot be evaluated by the reference, which has one device. "
                                  "Compile it for as many devices.")
    with running_along(list(sizes.items()), False, mesh):  # values, of which types say nothing
        return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *operands)
