"""Composition: what the layers, which do not know each other, must be told once per process.

`compose` installs the runtime as the evaluator of eager operations, keeps its C++ dispatch informed of tracing, and gives
arrays their operators. The package's `__init__` calls it; nobody else imports this module.
"""

from __future__ import annotations

import os
from operator import attrgetter
from typing import Any, Sequence

import laminax_ir.setup  # noqa: F401  (puts that layer's own rooms together)
import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.ops.sharding import device_put_p, layout_constraint_p, reshard_p, sharding_constraint_p
from laminax_ir.programs.effects import set_call_context
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording import staging_trace
from laminax_ir.tracing import trace
from laminax_ir.tracing.source import register_internal_folder
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.array_layouts import Layout
from laminax_ir.types.avals import register_value_type

from laminax._src.compiling import eager, effects


def compose() -> None:
    """Tells the layers of each other."""
    if any(variable.startswith("JAX_") for variable in os.environ):
        from laminax_ir.options.fixed_options import warn_of_environment
        warn_of_environment()
    register_internal_folder(os.path.dirname(__file__))  # the whole package
    register_internal_folder(runtime.__file__)
    register_value_type(runtime.ArrayImpl, attrgetter("aval"))
    staging_trace.literal_types.add(runtime.ArrayImpl)
    eager.evaluators.update(dict.fromkeys((device_put_p, layout_constraint_p, reshard_p, sharding_constraint_p), _evaluate_placement))
    trace.set_evaluator(eager.evaluate)
    set_call_context(effects.call_context)
    trace.set_tracing_hook(runtime.set_tracing)
    runtime.set_resharder(_reshard)
    runtime.set_relayouter(_relayout)
    runtime.register_array_type(Tracer)
    runtime.register_array_type(ExtendedArray)
    runtime.install_array_methods(eager.operator_table())
    runtime.install_array_methods({"_repr_html_": _array_html, "__treescope_ndarray_adapter__": _treescope_adapter})
    setattr(ExtendedArray, "_repr_html_", _array_html)


def _evaluate_placement(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    from laminax._src.parallel.sharding_constraints import evaluate
    return evaluate(primitive, operands, params)


def _array_html(self: Any) -> str:
    """The array as notebooks show it."""
    from laminax._src.explaining.notebooks import array_html
    return array_html(self)


def _treescope_adapter(self: Any) -> Any:
    """What treescope draws the array with."""
    from laminax._src.explaining.treescope_adapter import ArrayAdapter
    return ArrayAdapter()


def _reshard(x: runtime.ArrayImpl, sharding: runtime.Sharding) -> runtime.ArrayImpl | None:
    if not runtime.have_same_devices(x.sharding, sharding):
        from laminax._src.parallel.device_orders import reorder
        return reorder(x, sharding)
    from laminax._src.compiling.resharding import reshard_by_program
    return reshard_by_program(x, sharding)


def _relayout(x: runtime.ArrayImpl, layout: Layout) -> runtime.ArrayImpl:
    from laminax._src.compiling.resharding import relayout_by_program
    return relayout_by_program(x, layout)
