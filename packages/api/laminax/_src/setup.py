"""Composition: what the layers, which do not know each other, must be told once per process.

Importing this module installs the runtime as the evaluator of eager operations, keeps its C++ dispatch informed of
tracing, and gives arrays and tracers their operators and methods. Every module of the api imports it.
"""

from __future__ import annotations

import os

import laminax_runtime as runtime
from laminax_ir import staging, trace
from laminax_ir.avals import register_value_type
from laminax_ir.effects import set_call_context
from laminax_ir.keys import PRNGKeyArray
from laminax_ir.source import register_internal_folder
from laminax_ir.trace import Tracer

from laminax._src import eager


def _compose() -> None:
    if any(variable.startswith("JAX_") for variable in os.environ):
        from laminax_ir.fixed_options import warn_of_environment
        warn_of_environment()
    register_internal_folder(os.path.dirname(__file__))  # the whole package
    register_internal_folder(trace.__file__)
    register_internal_folder(runtime.__file__)
    register_value_type(runtime.ArrayImpl, lambda array: array.aval)
    staging.literal_types.add(runtime.ArrayImpl)
    trace.set_evaluator(eager.evaluate)
    set_call_context(_callback_context)
    trace.set_tracing_hook(runtime.set_tracing)
    runtime.set_resharder(_reshard)
    runtime.set_relayouter(_relayout)
    runtime.register_array_type(Tracer)
    runtime.register_array_type(PRNGKeyArray)
    _install_methods()


def _reshard(x, sharding):
    from laminax._src.resharding import reshard_by_program
    return reshard_by_program(x, sharding)


def _relayout(x, layout):
    from laminax._src.resharding import relayout_by_program
    return relayout_by_program(x, layout)


def _callback_context(flat):
    from laminax._src.effects import call_context
    return call_context(flat)


def _install_methods() -> None:
    from laminax._src.numpy import array_methods
    runtime.install_array_methods({**eager.operator_table(), **array_methods.array_method_table()})
    for name, member in array_methods.tracer_method_table().items():
        setattr(Tracer, name, member)
    for name, member in array_methods.key_method_table().items():
        setattr(PRNGKeyArray, name, member)


_compose()
