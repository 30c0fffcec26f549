"""That every operation with a lowering for CPU is compared, and that the documentation lists the tolerances in use."""

from __future__ import annotations

import importlib
import pathlib
import pkgutil

from compiled import tolerances
from compiled.comparison import FAMILIES
from compiled.drawing import DTYPES, Draw

import laminax_ir.ops
from laminax_ir.programs.jaxpr import subjaxprs
from laminax_ir.programs.primitive import Primitive
from laminax_lowering.writing.registry import lowering_rules, platform_rules, unsupported

import laminax

# Operations that are not compared on drawn operands, and why.
_COMMUNICATION = "it needs several devices: the lowering's tests run it on eight"
_ITS_PROGRAM = "it runs the program it holds, whose operations are compared; its own tests run it"
_NO_VALUE = "it hands its operand on, or nothing; its own tests run it"
EXCEPTIONS = {
    **dict.fromkeys(("all_gather", "all_to_all", "axis_index", "pmax", "pmin", "ppermute", "psum", "psum_shared", "pvary",
                     "reduce_scatter", "reshard", "shard_map", "sharding_constraint"), _COMMUNICATION),
    **dict.fromkeys(("all_gather_reduced", "preduced", "reduced_vary_cast", "unreduced_psum", "unreduced_reduce_scatter",
                     "vary_unreduced_cast"), "of terms of sums over devices: eight_devices/cases_of_open_sums_per_device"),
    **dict.fromkeys(("composite", "custom_partitioning", "linear_call", "call_exported", "call_hi_primitive"), _ITS_PROGRAM),
    **dict.fromkeys(("device_put", "layout_constraint", "dce_sink", "stage", "xla_metadata_value"), _NO_VALUE),
    **dict.fromkeys(("debug_callback", "io_callback"), "an effect: test_callbacks runs it"),
    "inspect_sharding": "an effect: eight_devices/cases_of_pictures runs it",
    "backward_log": "has no results, and is not written: test_backward_logs of transforms asks for its operands",
    "check": "an effect: test_checkify runs it",
    "dim_as_value": "its value is known in exported programs only: test_export_symbolic runs it",
    "custom_vjp_tangent": "it is transposed before anything is compiled",
    "ffi_call": "it calls what a library registers: test_ffi runs it",
    "buffer_callback": "it has no reference, since Python writes into buffers of the compiled program: test_buffer_callback runs it",
    "rng_uniform": "its numbers are the compiler's own",
    "scaled_dot": "its operands have dtypes of four and eight bits: test_scaled_dot compares it",
    "select_and_scatter": "JAX's general form of select_and_scatter_add: test_windows compares it",
    "stack": "test_stacking compares it", "unstack": "test_stacking compares it",
}


def lowered_on_cpu() -> set[str]:
    found = set()
    for info in pkgutil.iter_modules(laminax_ir.ops.__path__):
        for value in vars(importlib.import_module(f"laminax_ir.ops.{info.name}")).values():
            if isinstance(value, Primitive):
                general = lowering_rules.find(value)  # imports the rules for some platforms, too
                if ((value, "cpu") in platform_rules or general is not None) and (value, "cpu") not in unsupported:
                    found.add(str(value))
    return found


def operations_in(jaxpr) -> set[str]:
    inner = [operations_in(sub) for eqn in jaxpr.eqns for sub in subjaxprs(eqn)]
    return {str(eqn.primitive) for eqn in jaxpr.eqns}.union(*inner)


def test_every_operation_is_compared():
    compared = set()
    with laminax.enable_x64(True):
        for family in FAMILIES:
            for dtype in DTYPES:
                for comparison in importlib.import_module(f"compiled.{family}").comparisons(Draw(0, (2,)), dtype):
                    found = operations_in(comparison.program().jaxpr)
                    assert comparison.name in found, f"{family}: a comparison of {comparison.name} is one of {sorted(found)}"
                    compared |= found
    missing = lowered_on_cpu() - compared - set(EXCEPTIONS)
    assert not missing, f"write comparisons of {sorted(missing)} in packages/api/tests/compiled, or say in EXCEPTIONS why there is none"
    assert not compared & set(EXCEPTIONS), "these are compared, and are no exceptions"


def test_the_documentation_lists_the_tolerances():
    document = pathlib.Path(__file__).absolute().parents[4] / "docs" / "tolerances.md"
    assert document.read_text() == tolerances.document(), "write it again: see packages/api/tests/compiled/tolerances.py"
