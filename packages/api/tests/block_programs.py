"""Programs of equal blocks, and what else several tests of compiling by regions and of reports use."""

import numpy as np

from laminax_lowering import regions

import laminax
import laminax.numpy as jnp


def always_cut(monkeypatch):
    """Programs are cut into regions wherever they can be, also if they are too small for it to be worth it; each block is a region."""
    monkeypatch.setattr(regions, "USUAL_WORK", {})
    for limit in ("MOST_MEMORY", "MOST_TIME", "MOST_COMPILING", "WORTHWHILE"):
        monkeypatch.setattr(regions, limit, float("inf"))


@laminax.jit
def block(w, x):
    """About 14 million operations, on 32 rows of 128."""
    y = x
    for _ in range(12):
        y = jnp.tanh(y @ w["inner"]) * w["scale"] + y
    return x + y @ w["out"]


def loss(params, x):
    for w in params:
        x = block(w, x)
    return (x**2).mean()


def numpy_blocks(params, x):
    for w in params:
        y = x
        for _ in range(12):
            y = np.tanh(y @ w["inner"]) * w["scale"] + y
        x = x + y @ w["out"]
    return x


def looped(w, x):
    """A loop between two products."""
    def body(c, _):
        c = jnp.sin(c @ w)
        return c, c.sum()

    y, s = laminax.lax.scan(body, jnp.tanh(x @ w), None, length=5)
    return y.sum() + s.mean()
