"""The rooms of each package, from the lowest to the highest, and the imports inside functions that are allowed.

A module may import modules of its own room and of rooms before it. Rooms in one line stand at one height. Modules that lie
in no room have a place of their own in the list. docs/architecture.md says what each room holds.
"""

from __future__ import annotations

ROOMS: dict[str, list[str]] = {
    "laminax_ir": [
        "options",
        "types",
        "pytrees",
        "tracing",
        "programs",
        "symbolic",
        "key_arrays",
        "refs",
        "recording",
        "ops reference sharding_rules discharge_rules type_lowering_rules",
        "random",
        "functions",
    ],
    "laminax_transforms": ["base", "batching", "differentiation", "programs", "custom", "checking", "rematerializing", "rules", "taylor"],
    "laminax_lowering": ["planning", "costs writing", "rules", "lower regions"],
    "laminax_runtime": ["_jaxlib _one_process", "base", "backends", "arrays", "compiling", "running"],
    "laminax._src": [
        "base", "placement", "inspecting", "compiling", "autojit parallel", "exporting", "debugging", "explaining", "numerics",
        "linen pallas", "names",
    ],
}
