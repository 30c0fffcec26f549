"""mlp100: a hundred layers of `gelu(dot(x, w) + b)` on 8 by 8 matrices, then the sum of squares.

Many small operations: what it costs to trace, differentiate, lower and compile them, and little else. gelu is written
out by hand, so that both libraries trace the same operations.
"""

from __future__ import annotations

LAYERS, SIZE = 100, 8
BATCH_AXES = (None, 0)


def arguments() -> tuple:
    """Weights and biases per layer, scaled so that values neither vanish nor explode on the way; and the input."""
    import numpy as np

    rng = np.random.default_rng(0)
    layers = [
        ((rng.normal(size=(SIZE, SIZE)) * 1.7 / SIZE**0.5).astype(np.float32), np.zeros(SIZE, np.float32))
        for _ in range(LAYERS)
    ]
    return layers, rng.normal(size=(SIZE, SIZE)).astype(np.float32)


def fresh(lib):
    jnp = lib.numpy

    def gelu(x):
        return 0.5 * x * (1.0 + jnp.tanh(0.7978845608 * (x + 0.044715 * (x * x * x))))

    def mlp100(layers, x):
        for w, b in layers:
            x = gelu(jnp.dot(x, w) + b)
        return jnp.sum(x * x)

    return mlp100
