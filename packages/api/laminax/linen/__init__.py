"""Modules of neural networks, as Flax's `linen` has them. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    # modules
    "linen.module": "Module",
    "linen.calls": """
        compact compact_name_scope disable_named_call enable_named_call intercept_methods named_call nowrap override_named_call""",
    "linen.functional": "apply init init_with_output merge_param",
    "linen.lifted_calls": "add_metadata_axis checkpoint fold_rngs jit map_variables remat vmap",
    "linen.lifted_loops": "broadcast cond remat_scan scan switch while_loop",
    "linen.lifted_derivatives": "custom_vjp grad jvp value_and_grad vjp",
    "linen.lifting": "In Out",
    "linen.scope": "Variable",
    "linen.filters": "DenyList",
    "linen.frozen_dict": "FrozenDict",
    "linen.metadata": "unbox",
})
