"""A program without mistakes."""
from functools import partial

import laminax
import laminax.numpy as jnp
from laminax import Array, lax, random
from laminax.typing import ArrayLike


def predict(params: dict[str, Array], x: ArrayLike) -> Array:
    hidden = jnp.tanh(jnp.dot(x, params["w"]) + params["b"])
    return jnp.sum(hidden**2, axis=-1)


def loss(params: dict[str, Array], x: Array, y: Array) -> Array:
    return jnp.mean((predict(params, x) - y) ** 2)


@laminax.jit
def step(params: dict[str, Array], x: Array, y: Array) -> tuple[dict[str, Array], Array]:
    value, gradient = laminax.value_and_grad(loss)(params, x, y)
    return laminax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value


@partial(laminax.jit, static_argnames="n")
def power(x: Array, n: int) -> Array:
    return lax.fori_loop(0, n, lambda i, y: y * x, jnp.ones_like(x))


@laminax.jit(static_argnums=1)
def scaled(x: Array, n: int) -> Array:
    return x * n


key = random.key(0)
first, second = random.split(key)
params = {"w": random.normal(first, (3, 4)), "b": jnp.zeros(4, dtype=jnp.float32)}
params, value = step(params, jnp.ones((5, 3)), jnp.zeros(5))
print(float(value), value.shape[0:1], params["w"].at[0, 1].set(2.0).sum(), scaled(params["b"], 2), power(params["b"], 3))
batched = laminax.vmap(lambda x: x @ x)(jnp.ones((2, 3)))
order: Array = jnp.argsort(batched, descending=True)
values, counts = jnp.unique(order, return_counts=True)
compiled = step.lower(params, jnp.ones((5, 3)), jnp.zeros(5)).compile()
print(isinstance(values, laminax.Array), counts, compiled.cost_analysis(), jnp.where(values > 1, values, 0).dtype)
