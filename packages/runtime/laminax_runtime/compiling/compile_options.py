"""What the compiler is told beside the program: devices, partitions, passes, efforts, and the options that the user gives by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from laminax_ir.options import config
from laminax_runtime import _jaxlib
from laminax_runtime.arrays.shardings import Sharding
from laminax_runtime.backends import placement
from laminax_runtime.base import options
from laminax_runtime.base.options import CompilerEffortLevel
from laminax_runtime.compiling import watched
from laminax_runtime.compiling.small_loops import with_small_loops_as_kernels


def options_for(assignment: Sequence[placement.Device], num_replicas: int, num_partitions: int, compiler_options: Mapping[str, Any] | None,
                in_shardings: Sequence[Sharding | None], out_shardings: Sequence[Sharding | None]) -> _jaxlib.CompileOptions:
    """The options of one compilation.

    Args:
        assignment: the devices, a replica's partitions beside each other.
        num_replicas, num_partitions: whose product is their number.
        compiler_options: the user's, by XLA's names.
        in_shardings, out_shardings: of parameters and results; the compiler chooses where they are None.
    """
    result = _jaxlib.CompileOptions()
    if len(assignment) == 1 and assignment[0].platform == "cpu" and config.cpu_kernels.value:
        result = with_small_loops_as_kernels(result)
    build = result.executable_build_options
    result.num_replicas = build.num_replicas = num_replicas
    result.num_partitions = build.num_partitions = num_partitions
    ids = np.array([device.id for device in assignment], dtype=np.int32).reshape(num_replicas, num_partitions)
    result.device_assignment = build.device_assignment = _jaxlib.DeviceAssignment.create(ids)
    build.use_spmd_partitioning = build.use_shardy_partitioner = num_partitions > 1
    if num_partitions > 1:
        if None in in_shardings:
            build.allow_spmd_sharding_propagation_to_parameters = [s is None for s in in_shardings]
        if None in out_shardings:
            build.allow_spmd_sharding_propagation_to_output = [s is None for s in out_shardings]
    _set_efforts(build)
    if watched.may_be_trapped(assignment):
        _leave_out_pass(build, watched.PASS_TO_LEAVE_OUT)
    if compiler_options:
        own = {option for option in _BUILD_OPTIONS if option in compiler_options and hasattr(build, option)}
        for option in own:
            setattr(build, option, _effort(compiler_options[option]) if option.endswith("_level") else compiler_options[option])
        result.env_option_overrides = [item for item in compiler_options.items() if item[0] not in own]
    return result


def _set_efforts(build: Any) -> None:
    """Sets the build options that follow from laminax's options about optimizations."""
    if (level := options.optimization_level.value) != "UNKNOWN":
        build.optimization_level = _EFFORTS[level]
    if (level := options.memory_fitting_level.value) != options.memory_fitting_level.default:
        build.memory_fitting_level = _EFFORTS[level]
    if options.disable_most_optimizations.value:
        build.debug_options.xla_backend_optimization_level = 0
        build.debug_options.xla_llvm_disable_expensive_passes = True
        build.debug_options.xla_test_all_input_layouts = False
    if not options.compiler_enable_remat_pass.value:
        _leave_out_pass(build, "rematerialization")


def _leave_out_pass(build: Any, name: str) -> None:
    """Adds a pass of XLA to those that are not run."""
    options_of_xla = build.debug_options
    options_of_xla.xla_disable_hlo_passes = ",".join(filter(None, [options_of_xla.xla_disable_hlo_passes, name]))


def _effort(level: Any) -> Any:
    """The number of a level that is given by name; a number stays."""
    return level.value if isinstance(level, CompilerEffortLevel) else _EFFORTS.get(level, level) if isinstance(level, str) else level


_EFFORTS = {level.name: level.value for level in CompilerEffortLevel}

# Compiler options that are no debug options of XLA: what effort the compiler makes for run time and memory. jaxlib 0.12 has only levels.
_BUILD_OPTIONS = {"exec_time_optimization_effort", "memory_fitting_effort", "optimization_level", "memory_fitting_level"}
