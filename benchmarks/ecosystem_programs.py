"""Programs of JAX's ecosystem, for `ecosystem.py`: each function builds and initialises one, and gives its state and a step of it.

They are written as the libraries' guides write them, against `jax`; a process decides before it imports this module which library that is.
A step takes a state and gives the next one, with a number that tells how it went.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Program = tuple[Any, Callable[[Any], tuple[Any, Any]]]


def _tokens(batch: int, length: int, vocabulary: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, vocabulary, size=(batch, length + 1)).astype(np.int32)


def _trained_by_optax(params: Any, loss: Callable, *data: Any) -> Program:
    """A step of AdamW on a loss of parameters and data."""
    import optax

    optimizer = optax.adamw(1e-3)

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, *data):
        value, gradient = jax.value_and_grad(loss)(params, *data)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    def run(state):
        *state, value = step(*state, *data)
        return state, value

    return [params, optimizer.init(params)], run


def linen_transformer() -> Program:
    from flax import linen as nn

    class Block(nn.Module):
        @nn.compact
        def __call__(self, x, mask):
            y = nn.LayerNorm()(x)
            x = x + nn.MultiHeadDotProductAttention(num_heads=4)(y, y, mask=mask)
            y = nn.Dense(512)(nn.LayerNorm()(x))
            return x + nn.Dense(128)(nn.gelu(y))

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(256, 128)(tokens) + self.param("positions", nn.initializers.normal(0.02), (tokens.shape[1], 128))
            mask = nn.make_causal_mask(tokens)
            for _ in range(6):
                x = Block()(x, mask)
            return nn.Dense(256)(nn.LayerNorm()(x))

    import optax

    tokens = _tokens(8, 64, 256)
    model = Transformer()
    params = model.init(jax.random.key(0), tokens[:, :-1])

    def loss(params, tokens):
        logits = model.apply(params, tokens[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    return _trained_by_optax(params, loss, tokens)


def nnx_transformer() -> Program:
    import optax
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, rngs):
            self.norms = nnx.List([nnx.LayerNorm(128, rngs=rngs) for _ in range(2)])
            self.attention = nnx.MultiHeadAttention(4, 128, decode=False, rngs=rngs)
            self.up, self.down = nnx.Linear(128, 512, rngs=rngs), nnx.Linear(512, 128, rngs=rngs)

        def __call__(self, x, mask):
            x = x + self.attention(self.norms[0](x), mask=mask)
            return x + self.down(nnx.gelu(self.up(self.norms[1](x))))

    class Transformer(nnx.Module):
        def __init__(self, rngs):
            self.embedding = nnx.Embed(256, 128, rngs=rngs)
            self.blocks = nnx.List([Block(rngs) for _ in range(6)])
            self.head = nnx.Linear(128, 256, rngs=rngs)

        def __call__(self, tokens):
            x, mask = self.embedding(tokens), nnx.make_causal_mask(tokens)
            for block in self.blocks:
                x = block(x, mask)
            return self.head(x)

    tokens = _tokens(8, 64, 256)
    model = Transformer(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, tokens):
        def loss(model):
            return optax.softmax_cross_entropy_with_integer_labels(model(tokens[:, :-1]), tokens[:, 1:]).mean()

        value, gradient = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradient)
        return value

    return None, lambda state: (state, step(model, optimizer, tokens))


def _haiku_resnet(make: str) -> Program:
    import haiku as hk
    import optax

    model = hk.transform_with_state(lambda x: getattr(hk.nets, make)(10)(x, is_training=True))
    rng = np.random.default_rng(0)
    images, labels = rng.normal(size=(8, 64, 64, 3)).astype(np.float32), rng.integers(0, 10, size=8)
    params, state = jax.jit(model.init)(jax.random.PRNGKey(0), images)
    optimizer = optax.adamw(1e-3)

    @jax.jit
    def step(params, state, optimizer_state):
        def loss(params):
            logits, new = model.apply(params, state, None, images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), new

        (value, new), gradient = jax.value_and_grad(loss, has_aux=True)(params)
        updates, optimizer_state = optimizer.update(gradient, optimizer_state, params)
        return optax.apply_updates(params, updates), new, optimizer_state, value

    def run(states):
        *states, value = step(*states)
        return states, value

    return [params, state, optimizer.init(params)], run


def haiku_resnet18() -> Program:
    return _haiku_resnet("ResNet18")


def haiku_resnet50() -> Program:
    return _haiku_resnet("ResNet50")


def equinox_mlp() -> Program:
    import equinox as eqx
    import optax

    model = eqx.nn.MLP(64, 10, 256, 4, key=jax.random.PRNGKey(0))
    rng = np.random.default_rng(0)
    x, y = jnp.asarray(rng.normal(size=(128, 64)), jnp.float32), jnp.asarray(rng.integers(0, 10, size=128))
    optimizer = optax.adamw(1e-3)

    @eqx.filter_jit
    def step(model, state):
        def loss(model):
            return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), y).mean()

        value, gradient = eqx.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(gradient, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, value

    def run(states):
        *states, value = step(*states)
        return states, value

    return [model, optimizer.init(eqx.filter(model, eqx.is_array))], run


def diffrax_neural_ode() -> Program:
    import diffrax
    import equinox as eqx
    import optax

    class Field(eqx.Module):
        mlp: eqx.nn.MLP

        def __call__(self, t, y, args):
            return self.mlp(y)

    field = Field(eqx.nn.MLP(2, 2, 64, 2, activation=jax.nn.softplus, key=jax.random.PRNGKey(0)))
    times = jnp.linspace(0.0, 1.0, 20)
    starts = jnp.asarray(np.random.default_rng(0).normal(size=(32, 2)), jnp.float32)
    targets = jnp.stack([starts * jnp.exp(-t) for t in times], 1)
    optimizer = optax.adamw(1e-3)

    def solve(field, y0):
        return diffrax.diffeqsolve(diffrax.ODETerm(field), diffrax.Tsit5(), 0.0, 1.0, 0.05, y0,
                                   stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6), saveat=diffrax.SaveAt(ts=times)).ys

    @eqx.filter_jit
    def step(field, state):
        value, gradient = eqx.filter_value_and_grad(lambda f: ((jax.vmap(partial(solve, f))(starts) - targets) ** 2).mean())(field)
        updates, state = optimizer.update(gradient, state, eqx.filter(field, eqx.is_inexact_array))
        return eqx.apply_updates(field, updates), state, value

    def run(states):
        *states, value = step(*states)
        return states, value

    return [field, optimizer.init(eqx.filter(field, eqx.is_inexact_array))], run


def numpyro_nuts() -> Program:
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 5)).astype(np.float32)
    y = (x @ np.arange(5) + rng.normal(size=200) > 0).astype(np.int32)

    def model(x, y):
        w = numpyro.sample("w", dist.Normal(0, 1).expand([5]).to_event(1))
        b = numpyro.sample("b", dist.Normal(0, 1))
        numpyro.sample("y", dist.Bernoulli(logits=x @ w + b), obs=y)

    mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=100, progress_bar=False)

    def run(number):
        mcmc.run(jax.random.PRNGKey(number), x, y)
        return number + 1, mcmc.get_samples()["w"].mean()

    return 0, run


def blackjax_hmc() -> Program:
    import blackjax

    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(200, 5)), jnp.float32)
    y = jnp.asarray(np.asarray(x) @ np.arange(5) + rng.normal(size=200) > 0, jnp.float32)

    def logdensity(w):
        logits = x @ w
        return jnp.sum(y * logits - jax.nn.softplus(logits)) - 0.5 * jnp.sum(w**2)

    kernel = blackjax.hmc(logdensity, step_size=0.05, inverse_mass_matrix=jnp.ones(5), num_integration_steps=20)

    @jax.jit
    def chain(key, state):
        def one(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        state, positions = jax.lax.scan(one, state, jax.random.split(key, 200))
        return state, positions.mean()

    def run(states):
        number, state = states
        state, value = chain(jax.random.key(number), state)
        return (number + 1, state), value

    return (0, kernel.init(jnp.zeros(5))), run


def unet() -> Program:
    from flax import linen as nn

    class Double(nn.Module):
        features: int

        @nn.compact
        def __call__(self, x):
            for _ in range(2):
                x = nn.relu(nn.GroupNorm(num_groups=8)(nn.Conv(self.features, (3, 3))(x)))
            return x

    class UNet(nn.Module):
        @nn.compact
        def __call__(self, x):
            kept = []
            for features in (16, 32, 64):
                x = Double(features)(x)
                kept.append(x)
                x = nn.max_pool(x, (2, 2), (2, 2))
            x = Double(128)(x)
            for features, across in zip((64, 32, 16), reversed(kept)):
                x = nn.ConvTranspose(features, (2, 2), (2, 2))(x)
                x = Double(features)(jnp.concatenate([x, across], -1))
            return nn.Conv(3, (1, 1))(x)

    images = np.random.default_rng(0).normal(size=(4, 64, 64, 3)).astype(np.float32)
    model = UNet()
    params = model.init(jax.random.key(0), images)
    return _trained_by_optax(params, lambda params, x: ((model.apply(params, x) - x) ** 2).mean(), images)


def lstm_language_model() -> Program:
    import optax
    from flax import linen as nn

    class Language(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            x = nn.Embed(256, 128)(tokens)
            for _ in range(2):
                x = nn.RNN(nn.OptimizedLSTMCell(256))(x)
            return nn.Dense(256)(x)

    tokens = _tokens(16, 64, 256)
    model = Language()
    params = model.init(jax.random.key(0), tokens[:, :-1])

    def loss(params, tokens):
        return optax.softmax_cross_entropy_with_integer_labels(model.apply(params, tokens[:, :-1]), tokens[:, 1:]).mean()

    return _trained_by_optax(params, loss, tokens)


def graph_network() -> Program:
    rng = np.random.default_rng(0)
    nodes, edges, width = 1000, 8000, 64
    senders, receivers = (rng.integers(0, nodes, size=edges) for _ in range(2))
    features, targets = rng.normal(size=(nodes, width)).astype(np.float32), rng.normal(size=nodes).astype(np.float32)
    keys = jax.random.split(jax.random.key(0), 9)
    dense = jax.nn.initializers.lecun_normal()
    params = {"layers": [{"message": dense(keys[2 * i], (2 * width, width)), "update": dense(keys[2 * i + 1], (2 * width, width))}
                         for i in range(4)], "head": dense(keys[8], (width, 1))}

    def loss(params, x, targets):
        for layer in params["layers"]:
            messages = jax.nn.relu(jnp.concatenate([x[senders], x[receivers]], -1) @ layer["message"])
            gathered = jax.ops.segment_sum(messages, receivers, num_segments=nodes)
            x = x + jax.nn.relu(jnp.concatenate([x, gathered], -1) @ layer["update"])
        return (((x @ params["head"])[:, 0] - targets) ** 2).mean()

    return _trained_by_optax(params, loss, features, targets)


PROGRAMS: dict[str, Callable[[], Program]] = {f.__name__: f for f in (
    linen_transformer, nnx_transformer, haiku_resnet18, haiku_resnet50, equinox_mlp, diffrax_neural_ode, numpyro_nuts, blackjax_hmc, unet,
    lstm_language_model, graph_network)}
