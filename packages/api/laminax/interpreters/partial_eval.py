"""Programs made of functions, and thinned out. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.interpreters.partial_eval": """
    DynamicJaxprTrace DynamicJaxprTracer PartialVal Val close_jaxpr convert_constvars_jaxpr dce_jaxpr dce_jaxpr_consts dce_rules
    trace_to_jaxpr_dynamic trace_to_jaxpr_nounits"""})
