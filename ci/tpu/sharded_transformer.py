"""A transformer that trains, for compiling over devices that are not there: its sizes, its shardings, and what a step should move.

Sizes are multiples of a TPU's tiles (8 by 128), so that no array is padded and bytes can be counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import laminax
import laminax.numpy as jnp
from laminax import lax, nn
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

LAYERS, WIDTH, HEADS, LENGTH, BATCH, VOCABULARY = 2, 512, 8, 256, 16, 1024
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Layout:
    """Which mesh axes split what: the batch, the features inside of each block (Megatron), the positions between blocks."""

    data: str | None = None
    model: str | None = None
    is_sequence_split: bool = False

    def of_params(self) -> dict[str, Any]:
        """A spec per parameter: the first product of each pair by columns, the second by rows."""
        model = self.model
        block = {"attention_scale": P(), "mlp_scale": P(), "qkv": P(None, None, model),
                 "out": P(model), "up": P(None, model), "down": P(model)}
        return {"embedding": P(), "blocks": [block] * LAYERS, "head": P()}

    @property
    def between_blocks(self) -> P:
        return P(self.data, self.model if self.is_sequence_split else None, None)


def parameters() -> dict[str, Any]:
    """The shapes of the parameters, all of f32."""
    block = {"attention_scale": (WIDTH,), "mlp_scale": (WIDTH,), "qkv": (WIDTH, 3, WIDTH), "out": (WIDTH, WIDTH),
             "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    return {"embedding": (VOCABULARY, WIDTH), "blocks": [block] * LAYERS, "head": (WIDTH, VOCABULARY)}


def count(tree: Any) -> int:
    """How many numbers parameters of these shapes have."""
    return sum(int(np.prod(shape)) for shape in laminax.tree.leaves(tree, is_leaf=lambda x: isinstance(x, tuple)))


def training_step(mesh: Mesh, layout: Layout) -> Any:
    """One jitted step of gradient descent: (params, tokens) -> (params, loss)."""

    def split(x: Any, *spec: Any) -> Any:
        return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))

    def norm(x: Any, scale: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered * lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale

    def block(weights: dict[str, Any], x: Any) -> Any:
        qkv = jnp.einsum("blw,wkv->klbv", norm(x, weights["attention_scale"]), weights["qkv"])
        q, k, v = (a.reshape(LENGTH, -1, HEADS, WIDTH // HEADS) for a in split(qkv, None, None, layout.data, layout.model))
        scores = jnp.einsum("lbhd,mbhd->bhlm", q, k) / np.float32((WIDTH // HEADS) ** 0.5)
        scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
        heads = jnp.einsum("bhlm,mbhd->blhd", nn.softmax(scores, axis=-1), v).reshape(-1, LENGTH, WIDTH)
        x = x + split(split(heads, layout.data, None, layout.model) @ weights["out"], *layout.between_blocks)
        hidden = split(norm(x, weights["mlp_scale"]) @ weights["up"], layout.data, None, layout.model)
        return x + split(nn.relu(hidden) @ weights["down"], *layout.between_blocks)

    def loss(params: dict[str, Any], tokens: Any) -> Any:
        x = split(params["embedding"][tokens[:, :-1]], *layout.between_blocks)
        for weights in params["blocks"]:
            x = block(weights, x)
        predicted = nn.log_softmax(split(x @ params["head"], *layout.between_blocks), axis=-1)
        return -(predicted * nn.one_hot(tokens[:, 1:], VOCABULARY)).mean()

    def step(params: dict[str, Any], tokens: Any) -> tuple[dict[str, Any], Any]:
        value, gradient = laminax.value_and_grad(loss)(params, tokens)
        return laminax.tree.map(lambda p, g: p - 0.01 * g, params, gradient), value

    shardings = on_mesh(mesh, layout.of_params())
    return laminax.jit(step, in_shardings=(shardings, NamedSharding(mesh, P(layout.data))),
                       out_shardings=(shardings, NamedSharding(mesh, P())), donate_argnums=0)


def on_mesh(mesh: Mesh, specs: Any) -> Any:
    return laminax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: isinstance(x, P))


def arguments() -> tuple[Any, Any]:
    """The types of the arguments of a step."""
    structs = laminax.tree.map(lambda shape: laminax.ShapeDtypeStruct(shape, np.float32), parameters(),
                               is_leaf=lambda x: isinstance(x, tuple))
    return structs, laminax.ShapeDtypeStruct((BATCH, LENGTH + 1), np.int32)
