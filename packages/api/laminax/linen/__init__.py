"""Modules of neural networks, as Flax's `linen` has them. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    # modules
    "linen.module": "Module",
    "linen.calls": """
        compact compact_name_scope disable_named_call enable_named_call intercept_methods nowrap override_named_call""",
    "linen.functional": "apply init init_with_output merge_param",
    "linen.scope": "Variable",
    "linen.filters": "DenyList",
    "linen.frozen_dict": "FrozenDict",
    "linen.metadata": "unbox",
})
