"""The imports inside functions that there are, each with the reason why the module is not loaded at once.

None breaks a circle: `test_rooms.py` counts these imports among the others when it looks for one.
"""

from __future__ import annotations

_REFERENCES = "only programs with references are discharged"
_LOOPS = "loops load the tracing of control flow"
_REFERENCE = "NumPy's meanings of all operations; not needed where a runtime computes"
_MAPPED = "derivatives and batching are loaded when something is mapped"
_PRINTED = "programs are printed when somebody looks"
_LOWERED = "the lowering is loaded when something is compiled"
_RARE_METHODS = "`add` is used by everyone, its methods by few"
_COMPILED = "`jit` is loaded when a function is compiled; arrays are made without"
_SYMBOLIC = "for programs with symbolic sizes"
_FLOOR = "few of the numerics trace or move arrays, and all of them import the floor"
_SIZED = "for programs that are called at sizes that were names when they were traced"
_PROCESSES = "for programs of several processes only; it loads the standard library's sockets, JSON or hashes"
_PER_DEVICE = "for types inside of programs per device, when somebody asks what is said of mesh axes"
_CONTENTS = "a table of contents: loaded with the first name that needs it"

# (module, what it imports): why inside a function.
LAZY: dict[tuple[str, str], str] = {
    ("laminax_ir.functions.operators", "laminax_ir.functions.matmul"): "products of matrices are loaded with the first one",
    ("laminax_ir.ops.calls", "laminax_ir.recording.discharge"): _REFERENCES,
    ("laminax_ir.ops.collectives", "laminax_ir.ops.slicing"): "for one function; most programs need no slices",
    ("laminax_ir.options.config", "laminax_ir.options.absl_flags"): "for programs that use absl",
    ("laminax_ir.options.config_options", "laminax_ir.options.fixed_options"): "for options that cannot be chosen, when one is named",
    ("laminax_ir.programs.check", "laminax_ir.programs.layout"): "for messages",
    ("laminax_ir.programs.check", "laminax_ir.programs.printer"): "for messages",
    ("laminax_ir.recording.evaluation", "laminax_ir.recording.discharge"): _REFERENCES,
    ("laminax_ir.recording.staging", "laminax_ir.recording.discharge"): _REFERENCES,
    ("laminax_ir.recording.staging_trace", "laminax_ir.programs.check"): "with the option check only",
    ("laminax_ir.setup", "laminax_ir.reference.evaluate"): _REFERENCE,
    ("laminax_ir.setup", "laminax_ir.functions.array_parts"): _REFERENCES,
    ("laminax_ir.setup", "laminax_ir.programs.printer"): _PRINTED,
    ("laminax_ir.types.avals", "laminax_ir.types.manual_axis_types"): _PER_DEVICE,
    ("laminax_ir.types.shape_dtype_structs", "laminax_ir.types.manual_axis_types"): _PER_DEVICE,
    ("laminax_lowering.lower", "laminax_ir.symbolic.symbolic_solving"): _SYMBOLIC,
    ("laminax_lowering.lower", "laminax_lowering.writing.dynamic_shapes"): _SYMBOLIC,
    ("laminax_runtime.base.errors", "laminax_runtime._jaxlib"): "loading jaxlib waits until something runs",
    ("laminax_runtime.base.options", "laminax_runtime.base.loggers"): "with the standard library's logging, which takes 5 ms",
    ("laminax_runtime.backends.processes", "laminax_runtime.backends.coordinator"): _PROCESSES,
    ("laminax_runtime.backends.processes", "laminax_runtime.backends.process_watch"): _PROCESSES,
    ("laminax._src.parallel.transfers", "laminax._src.parallel.process_values"): _PROCESSES,
    ("laminax_runtime.compiling.compile", "laminax_runtime.compiling.program_agreement"): "for programs of several processes only",
    ("laminax_runtime.compiling.compile", "laminax_runtime.compiling.transformations"): "passes of the user's own are rare",
    ("laminax_runtime.compiling.compile", "laminax_runtime.compiling.compilation_cache"):
        "with hashlib and zlib, when something is compiled",
    ("laminax._src.compiling.checking.checked_results", "laminax._src.compiling.checking.fault_search"):
        "when a trap has caught a NaN or an infinity",
    ("laminax._src.compiling.abstract_calls", "laminax._src.compiling.abstracted_axes"): _SYMBOLIC,
    ("laminax._src.compiling.eager", "laminax_ir.reference.evaluate"): _REFERENCE,
    ("laminax._src.compiling.eager", "laminax._src.compiling.sized_functions"): _SIZED,
    ("laminax._src.compiling.eager", "laminax._src.compiling.tracing"): _SIZED,
    ("laminax._src.compiling.eager", "laminax_runtime.base.errors"): "for an error that a callback raises",
    ("laminax._src.compiling.executables", "laminax_lowering.lower"): _LOWERED,
    ("laminax._src.compiling.executables", "laminax._src.inspecting.memory"): "when a program finds too little memory",
    ("laminax._src.setup", "laminax._src.explaining.notebooks"): "notebooks ask for it",
    ("laminax._src.setup", "laminax._src.explaining.treescope_adapter"): "treescope asks for it",
    ("laminax._src.compiling.fusion", "laminax._src.compiling.jit"): _COMPILED,
    ("laminax._src.compiling.jit", "laminax._src.compiling.stages"): "when a function is traced or lowered ahead of time",
    ("laminax._src.compiling.jit_options", "laminax._src.compiling.abstracted_axes"): _SYMBOLIC,
    ("laminax._src.compiling.jit", "laminax._src.compiling.cache_misses"): "with the option explain_cache_misses only",
    ("laminax._src.compiling.jit", "laminax_ir.ops.control_tracing"): "loads control flow; clear_caches needs it only if it is there",
    ("laminax._src.compiling.key_uses", "laminax_ir.random.key_reuse"): "with the option debug_key_reuse only",
    ("laminax._src.compiling.ref_calls", "laminax_ir.recording.discharge"): _REFERENCES,
    ("laminax._src.compiling.regions", "laminax_lowering.regions"): _LOWERED,
    ("laminax._src.compiling.stages", "laminax_ir.symbolic.symbolic_solving"): _SYMBOLIC,
    ("laminax._src.compiling.tracing", "laminax._src.compiling.cache_misses"): "with the option explain_cache_misses only",
    ("laminax._src.numerics.floor", "laminax._src.compiling.abstract_calls"): _FLOOR,
    ("laminax._src.numerics.floor", "laminax._src.compiling.jit"): _FLOOR,
    ("laminax._src.numerics.floor", "laminax._src.parallel.transfers"): _FLOOR,
    ("laminax._src.numerics.numpy.apply", "laminax_transforms"): _MAPPED,
    ("laminax._src.numerics.numpy.arithmetic", "laminax_ir.ops.loops"): _LOOPS,
    ("laminax._src.numerics.numpy.conversion", "laminax._src.numerics.floor"): "an array that is put on a device loads the transfers",
    ("laminax._src.numerics.numpy.polynomials", "laminax_ir.ops.loops"): _LOOPS,
    ("laminax._src.numerics.numpy.polynomials", "laminax_ir.ops.linalg"): "factorizations, for roots",
    ("laminax._src.numerics.numpy.ranges", "laminax_transforms"): _MAPPED,
    ("laminax._src.numerics.numpy.selection", "laminax._src.numerics.numpy.finding"): "for where with one argument, which loads indexing",
    ("laminax._src.numerics.numpy.searching", "laminax_ir.ops.loops"): _LOOPS,
    ("laminax._src.numerics.numpy.ufunc", "laminax_ir.ops.loops"): _LOOPS,
    ("laminax._src.numerics.numpy.ufunc_methods", "laminax._src.numerics.numpy.reductions"): _RARE_METHODS,
    ("laminax._src.numerics.numpy.ufunc_methods", "laminax._src.numerics.numpy.cumulative"): _RARE_METHODS,
    ("laminax._src.numerics.scipy.special", "laminax._src.numerics.nn.normalization"): "for two of many functions",
    ("laminax._src.parallel.out_shardings", "laminax._src.parallel.sharding_constraints"): "when a traced value is split",
    ("laminax._src.parallel.sharding_constraints", "laminax._src.compiling.jit"): _COMPILED,
    ("laminax._src.setup", "laminax_ir.options.fixed_options"): "where variables of JAX are in the environment",
    ("laminax._src.setup", "laminax._src.parallel.sharding_constraints"): "when a value is placed anew",
    ("laminax._src.setup", "laminax._src.parallel.device_orders"): "when a value of several processes is placed anew",
    ("laminax._src.setup", "laminax._src.compiling.resharding"): "when a value is placed or laid out anew",
    ("laminax.lib", "laminax_runtime"): _CONTENTS,
    ("laminax.numpy", "laminax_runtime"): _CONTENTS,
}
