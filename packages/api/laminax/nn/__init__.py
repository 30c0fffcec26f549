"""Common functions of neural networks. A table of contents: names load on first use."""

from __future__ import annotations

import importlib
from typing import Any

_MODULE_OF = {
    **dict.fromkeys((
        "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu",
        "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus",
        "sparse_sigmoid", "squareplus", "swish", "tanh"), "laminax._src.numerics.nn.activations"),
    **dict.fromkeys(("log_softmax", "logmeanexp", "one_hot", "softmax", "standardize"),
                    "laminax._src.numerics.nn.normalization"),
    "logsumexp": "laminax._src.numerics.numpy.logarithmic_sums",
    "dot_product_attention": "laminax._src.numerics.nn.attention",
    **dict.fromkeys(("get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"),
                    "laminax._src.numerics.nn.scaled_products"),
}

__all__ = ["initializers", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name == "initializers":
        return importlib.import_module(f"{__name__}.initializers")
    if (module := _MODULE_OF.get(name)) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
