"""Prints every operation with the rules it has in each layer, and the reason of each rule it has not.

    PYTHONPATH=packages/ir:packages/transforms:packages/lowering python tools/rule_table.py > docs/rule_table.md

`tests/test_rule_table.py` compares the committed table with the output of this script, so that an operation without a rule is a decision
somebody wrote down. The layers are asked, not their files: a rule counts when it is registered.
"""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
import re
from collections.abc import Iterator

from laminax_ir import ops
from laminax_ir.programs.primitive import Primitive
from laminax_ir.reference.evaluate import reference_rule
from laminax_lowering.lower import PLATFORMS
from laminax_lowering.writing.registry import lowering_rules, platform_rules, unsupported
from laminax_transforms.base.registry import batching_rules, jvp_rules, linearize_rules, transpose_rules, zero_derivatives

PACKAGES = pathlib.Path(__file__).absolute().parents[1] / "packages"
TESTED_LAYERS = ("ir", "transforms", "lowering", "api")
COLUMNS = ("shape", "reference", "jvp", "transpose", "batching", "lowering", "tests")

_NO_OPERANDS = "it has no operands"
_ITS_PROGRAM = "it is differentiated, batched and transposed as the program it holds before it is made"
_FACTORS = "the factors are an intermediate form; qr is what is differentiated"

# (column, primitive): why there is no rule. Other gaps are those that `default_reason` explains.
REASONS: dict[tuple[str, str], str] = {
    ("jvp", "iota"): _NO_OPERANDS,
    ("batching", "iota"): _NO_OPERANDS,
    ("batching", "iota_2x32_shape"): _NO_OPERANDS,
    ("batching", "platform_index"): _NO_OPERANDS,
    ("jvp", "dim_as_value"): _NO_OPERANDS,
    ("batching", "dim_as_value"): _NO_OPERANDS,
    ("reference", "dim_as_value"): "sizes are not known before a program is compiled for some",
    ("jvp", "geqrf"): _FACTORS,
    ("jvp", "householder_product"): _FACTORS,
    ("jvp", "hessenberg"): "not defined by JAX either",
    **{("jvp", name): "not defined by JAX either" for name in ("rng_uniform", "ormqr", "tridiagonal", "cholesky_update", "scaled_dot",
                                                                   "select_and_scatter")},
    **{("batching", name): "not defined by JAX either" for name in ("rng_uniform", "composite", "custom_partitioning")},
    ("jvp", "schur"): "not defined by JAX either",
    ("jvp", "custom_partitioning"): "not defined by JAX either",
    ("jvp", "custom_vjp_tangent"): "known by its transpose only: forward mode through custom_vjp is refused",
    ("reference", "call_exported"): "it holds StableHLO, which the reference cannot run",
    ("reference", "buffer_callback"): "its function gets the memory of a compiled program",
    ("reference", "ffi_call"): "it names a native function, which the reference cannot run",
    ("jvp", "call_exported"): "an exported program holds its own derivatives, if any",
    ("batching", "call_exported"): "an exported program has fixed shapes",
}

# Operations that tests know by the function that makes them.
TESTED_AS = {"approx_top_k": "approx_max_k", "reduce_scatter": "psum_scatter", "platform_index": "platform_dependent",
             "psum_shared": "reduce_axes", "call_exported": "export", "custom_vjp_tangent": "custom_vjp",
             "inspect_sharding": "inspect_array_sharding"}


def default_reason(column: str, primitive: Primitive) -> str | None:
    """Why most operations have no transpose, and those on references no rules."""
    if primitive.family == "state":
        return "discharged before"
    if column != "transpose":
        return None
    if primitive in zero_derivatives:
        return "no tangent"
    if jvp_rules.find(primitive) is None and linearize_rules.find(primitive) is None:
        return "no derivative"
    return None if _is_linear(primitive) else "not linear"


def _is_linear(primitive: Primitive) -> bool:
    """Whether the tangent goes through the operation itself, which then occurs in linear programs."""
    return "define_linear" in getattr(jvp_rules.find(primitive), "__qualname__", "")


def primitives() -> dict[str, list[Primitive]]:
    """The operations by family."""
    families: dict[str, set[Primitive]] = {}
    for info in pkgutil.iter_modules(ops.__path__):
        module = importlib.import_module(f"{ops.__name__}.{info.name}")
        for value in vars(module).values():
            if isinstance(value, Primitive):
                families.setdefault(str(value.family), set()).add(value)
    return {family: sorted(found, key=str) for family, found in sorted(families.items())}


def row(primitive: Primitive, tested: set[str]) -> dict[str, str]:
    """The cells of one operation: what there is, or the reason why there is nothing, in parentheses."""
    jvp = _flag(jvp_rules.find(primitive) or linearize_rules.find(primitive))  # imports the family's rules
    cells = {
        "shape": _flag(primitive.shape_rule),
        "reference": _flag(reference_rule.find(primitive)),
        "jvp": "zero" if primitive in zero_derivatives else jvp,
        "transpose": _flag(transpose_rules.find(primitive)),
        "batching": _flag(batching_rules.find(primitive)),
        "lowering": _lowering_cell(primitive),
        "tests": "yes" if _is_tested(primitive, tested) else "",
    }
    for column, cell in cells.items():
        if not cell:
            reason = REASONS.get((column, str(primitive))) or default_reason(column, primitive)
            cells[column] = f"({reason})" if reason else "**missing**"
    return cells


def _lowering_cell(primitive: Primitive) -> str:
    """`yes`, or the platforms, with the reason why there are no others."""
    general = lowering_rules.find(primitive)
    reasons = {unsupported[primitive, platform] for platform in PLATFORMS if (primitive, platform) in unsupported}
    platforms = [platform for platform in PLATFORMS if (primitive, platform) not in unsupported
                 and (general is not None or (primitive, platform) in platform_rules)]
    cell = "yes" if len(platforms) == len(PLATFORMS) else ", ".join(platforms)
    return " ".join([cell, *(f"({reason})" for reason in sorted(reasons))]).strip()


def _flag(rule) -> str:
    return "" if rule is None else "yes"


def tested_words() -> set[str]:
    """Every name that occurs in the layers' tests."""
    files = [path for layer in TESTED_LAYERS for path in PACKAGES.joinpath(layer, "tests").rglob("*.py")]
    return {word for path in files for word in re.findall(r"\w+", path.read_text())}


def _is_tested(primitive: Primitive, words: set[str]) -> bool:
    name = TESTED_AS.get(str(primitive), str(primitive).replace("-", "_"))
    return name in words or f"{name}_p" in words


def lines() -> Iterator[str]:
    """The table, one section per family, in Markdown."""
    tested = tested_words()
    yield "# Operations and their rules"
    yield ""
    yield "Written by `tools/rule_table.py`, which says how to write it again; a test compares. A family is the module of the same"
    yield "name in `laminax_ir/ops`, `laminax_ir/reference`, `laminax_transforms/rules` and `laminax_lowering/rules`. In"
    yield "parentheses: why there is no rule. `zero`: the derivative is zero wherever it exists. Names of platforms: lowered"
    yield "for those only. `tests`: some layer's tests name it."
    for family, found in primitives().items():
        yield ""
        yield f"## {family}"
        yield ""
        yield "| operation | " + " | ".join(COLUMNS) + " |"
        yield "|---" * (len(COLUMNS) + 1) + "|"
        for primitive in found:
            cells = row(primitive, tested)
            yield f"| {primitive} | " + " | ".join(cells[column] for column in COLUMNS) + " |"


def main() -> None:
    print("\n".join(lines()))


if __name__ == "__main__":
    main()
