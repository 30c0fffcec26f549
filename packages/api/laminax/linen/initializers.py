"""Initializers of parameters: functions `init(key, shape, dtype)` that return arrays, and functions that make them."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "numerics.nn.initializers": """
        Initializer constant delta_orthogonal glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal
        lecun_uniform normal ones orthogonal truncated_normal uniform variance_scaling xavier_normal xavier_uniform zeros""",
    "linen.layers.initializers": "ones_init zeros_init",
})
