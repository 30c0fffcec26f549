"""Passes of your own in XLA's compiler. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_runtime.compiling.transformations": "PipelineStage clear_hlo_module_transformation register_hlo_module_transformation"})
