"""transformer24: a language model of 24 blocks, pre-norm attention and MLP with a causal mask, the block under `jit`.

What compilers find long: 24 equal blocks and their derivatives. The batch is mapped with `vmap` inside the loss. Layer norm,
softmax and gelu are those of the library, as users write them.
"""

from __future__ import annotations

LAYERS, WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = 24, 64, 4, 32, 4, 100
BATCH_AXES = (None, 0)


def arguments() -> tuple:
    """Parameters in f32, weights scaled so that values stay of one size through the blocks; and tokens, i32[batch, length + 1]."""
    import numpy as np

    rng = np.random.default_rng(0)

    def normal(*shape: int, scale: float = 1.0):
        return (scale * rng.normal(size=shape)).astype(np.float32)

    def block():
        into, out_of = WIDTH**-0.5, (4 * WIDTH * LAYERS) ** -0.5
        return {"attention_scale": np.ones(WIDTH, np.float32), "mlp_scale": np.ones(WIDTH, np.float32),
                "qkv": normal(WIDTH, 3 * WIDTH, scale=into), "out": normal(WIDTH, WIDTH, scale=2 * out_of),
                "up": normal(WIDTH, 4 * WIDTH, scale=into), "down": normal(4 * WIDTH, WIDTH, scale=out_of)}

    params = {"embedding": normal(VOCABULARY, WIDTH), "positions": normal(LENGTH, WIDTH, scale=0.1),
              "blocks": [block() for _ in range(LAYERS)], "head": normal(WIDTH, VOCABULARY, scale=WIDTH**-0.5)}
    return params, rng.integers(0, VOCABULARY, size=(BATCH, LENGTH + 1)).astype(np.int32)


def fresh(lib, is_block_jitted: bool = True):
    import numpy as np

    jnp, nn = lib.numpy, lib.nn

    def norm(x, scale):
        centered = x - x.mean(-1, keepdims=True)
        return centered * lib.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale

    def block(weights, x):
        q, k, v = jnp.split(norm(x, weights["attention_scale"]) @ weights["qkv"], 3, axis=-1)
        q, k, v = (a.reshape(LENGTH, HEADS, WIDTH // HEADS).swapaxes(0, 1) for a in (q, k, v))
        scores = q @ k.swapaxes(-1, -2) / np.float32((WIDTH // HEADS) ** 0.5)
        scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
        heads = nn.softmax(scores, axis=-1) @ v
        x = x + heads.swapaxes(0, 1).reshape(LENGTH, WIDTH) @ weights["out"]
        return x + nn.gelu(norm(x, weights["mlp_scale"]) @ weights["up"]) @ weights["down"]

    if is_block_jitted:
        block = lib.jit(block)

    def logits(params, tokens):
        x = params["embedding"][tokens] + params["positions"]
        for weights in params["blocks"]:
            x = block(weights, x)
        return x @ params["head"]

    def transformer24(params, tokens):
        predicted = nn.log_softmax(lib.vmap(logits, (None, 0))(params, tokens[:, :-1]), axis=-1)
        return -jnp.take_along_axis(predicted, tokens[:, 1:, None], axis=-1).mean()

    return transformer24
