"""Programs that train, for `regions.py`: of many blocks, nested calls or plain loops, heavy in products or in elementwise operations.

Each is written once, against `lib`: the module `laminax` or the module `jax`. A step is the value and gradient of a loss and gradient
descent. Sizes are such that a step takes about a tenth of a second to two, and that memory is mostly what steps keep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from programs import transformer24

MESH = {"data": 4, "model": 2}


@dataclass(frozen=True)
class Training:
    """A program that trains.

    arguments: gives parameters, and what else the loss takes: NumPy arrays in pytrees.
    loss: gives, for a library, the function of them.
    is_donating: whether a step overwrites the parameters.
    model_axes: for programs over a mesh of devices, 4 along "data" by 2 along "model": the axis of each parameter, by its name, that is
      split along "model". The data is split along "data".
    """

    arguments: Callable[[], tuple]
    loss: Callable[[Any], Callable]
    is_donating: bool = True
    model_axes: Mapping[str, int] | None = None

    @property
    def num_devices(self) -> int:
        return 1 if self.model_axes is None else math.prod(MESH.values())

    def placed(self, lib: Any) -> list[Any]:
        """The arguments on the device, or split over the devices."""
        arguments = self.arguments()
        if self.model_axes is None:
            return lib.device_put(arguments)
        mesh = lib.sharding.Mesh(np.array(lib.devices()).reshape([*MESH.values()]), tuple(MESH))

        def put(value: np.ndarray, *spec: str | None) -> Any:
            return lib.device_put(value, lib.sharding.NamedSharding(mesh, lib.sharding.PartitionSpec(*spec)))

        def put_parameter(path: tuple, value: np.ndarray) -> Any:
            axis = self.model_axes.get(getattr(path[-1], "key", None))
            return put(value) if axis is None else put(value, *[None] * axis, "model")

        params, *data = arguments
        return [lib.tree_util.tree_map_with_path(put_parameter, params), *[put(value, "data") for value in data]]

    def step(self, lib: Any) -> Callable:
        """A jitted step: (params, *data) -> (params, loss)."""
        loss = self.loss(lib)

        def step(params, *data):
            value, gradient = lib.value_and_grad(loss)(params, *data)
            return lib.tree.map(lambda p, g: p - 0.01 * g, params, gradient), value

        return lib.jit(step, donate_argnums=(0,) if self.is_donating else ())


def _normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * rng.normal(size=shape)).astype(np.float32)


# Blocks of one product and about twenty elementwise operations


def _elementwise_arguments() -> tuple:
    rng = np.random.default_rng(0)
    params = [{"w": _normal(rng, 512, 512, scale=512**-0.5), "b": np.zeros(512, np.float32)} for _ in range(24)]
    return params, _normal(rng, 2048, 512)


def _elementwise(lib: Any) -> Callable:
    jnp = lib.numpy

    def block(w, x):
        h = x @ w["w"] + w["b"]
        a, b = jnp.tanh(h), jnp.exp(-h * h)
        c = jnp.sin(a) * jnp.cos(b)
        d, e = a / (1 + b), jnp.log1p(c * c)
        f = jnp.sqrt(1 + d * d)
        g = jnp.maximum(e, a) + jnp.minimum(f, b)
        return x + 0.1 * jnp.tanh(g * c + d / f)

    def loss(params, x):
        for w in params:
            x = block(w, x)
        return (x * x).mean()

    return loss


# Transformers with dropout


def _dropout_arguments() -> tuple:
    rng = np.random.default_rng(0)
    width = 128
    block = lambda: {"scale1": np.ones(width, np.float32), "scale2": np.ones(width, np.float32),  # noqa: E731
                     "qkv": _normal(rng, width, 3 * width, scale=width**-0.5), "out": _normal(rng, width, width, scale=0.05),
                     "up": _normal(rng, width, 4 * width, scale=width**-0.5), "down": _normal(rng, 4 * width, width, scale=0.02)}
    params = {"embedding": _normal(rng, 100, width), "blocks": [block() for _ in range(12)]}
    return params, rng.integers(0, 100, size=(8, 65)).astype(np.int32), np.array([0, 1], np.uint32)


def _transformer_with_dropout(lib: Any, is_block_jitted: bool) -> Callable:
    jnp, nn, random = lib.numpy, lib.nn, lib.random
    heads = 4

    def norm(x, scale):
        centered = x - x.mean(-1, keepdims=True)
        return centered * lib.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale

    def dropout(x, key):
        return jnp.where(random.bernoulli(key, 0.9, x.shape), x / 0.9, 0.0)

    def block(w, x, key):
        batch, length, width = x.shape
        first, second = random.split(key)
        parts = jnp.split(norm(x, w["scale1"]) @ w["qkv"], 3, axis=-1)
        q, k, v = (a.reshape(batch, length, heads, width // heads).swapaxes(1, 2) for a in parts)
        scores = q @ k.swapaxes(-1, -2) / np.float32((width // heads) ** 0.5)
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        mixed = (nn.softmax(scores, axis=-1) @ v).swapaxes(1, 2).reshape(batch, length, width)
        x = x + dropout(mixed @ w["out"], first)
        return x + dropout(nn.gelu(norm(x, w["scale2"]) @ w["up"]) @ w["down"], second)

    if is_block_jitted:
        block = lib.jit(block)

    def loss(params, tokens, key):
        x = params["embedding"][tokens[:, :-1]]
        for w, one in zip(params["blocks"], random.split(key, len(params["blocks"]))):
            x = block(w, x, one)
        predicted = nn.log_softmax(x @ params["embedding"].T, axis=-1)
        return -jnp.take_along_axis(predicted, tokens[:, 1:, None], axis=-1).mean()

    return loss


# A residual network of convolutions


def _resnet_arguments() -> tuple:
    rng = np.random.default_rng(0)
    channels = 32
    block = lambda: {"first": _normal(rng, 3, 3, channels, channels, scale=0.06), "scale": np.ones(channels, np.float32),  # noqa: E731
                     "second": _normal(rng, 3, 3, channels, channels, scale=0.02), "shift": np.zeros(channels, np.float32)}
    params = {"stem": _normal(rng, 3, 3, 3, channels, scale=0.2), "blocks": [block() for _ in range(12)],
              "head": _normal(rng, channels, 10, scale=0.1)}
    return params, _normal(rng, 16, 32, 32, 3), rng.integers(0, 10, size=16).astype(np.int32)


def _resnet(lib: Any) -> Callable:
    jnp, nn = lib.numpy, lib.nn

    def conv(x, kernel):
        return lib.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def block(w, x):
        y = conv(x, w["first"])
        mean = y.mean((0, 1, 2))
        y = (y - mean) * lib.lax.rsqrt(((y - mean) ** 2).mean((0, 1, 2)) + 1e-5) * w["scale"] + w["shift"]
        return nn.relu(x + conv(nn.relu(y), w["second"]))

    def loss(params, images, labels):
        x = conv(images, params["stem"])
        for w in params["blocks"]:
            x = block(w, x)
        predicted = nn.log_softmax(x.mean((1, 2)) @ params["head"])
        return -jnp.take_along_axis(predicted, labels[:, None], axis=-1).mean()

    return loss


# An MLP-mixer


def _mixer_arguments() -> tuple:
    rng = np.random.default_rng(0)
    patches, channels = 64, 128
    block = lambda: {"tokens_in": _normal(rng, patches, 2 * patches, scale=0.1),  # noqa: E731
                     "tokens_out": _normal(rng, 2 * patches, patches, scale=0.05),
                     "channels_in": _normal(rng, channels, 4 * channels, scale=0.08),
                     "channels_out": _normal(rng, 4 * channels, channels, scale=0.02)}
    return [block() for _ in range(12)], _normal(rng, 16, patches, channels)


def _mixer(lib: Any) -> Callable:
    nn = lib.nn

    def norm(x):
        centered = x - x.mean(-1, keepdims=True)
        return centered * lib.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5)

    def block(w, x):
        mixed = nn.gelu(norm(x).swapaxes(-1, -2) @ w["tokens_in"]) @ w["tokens_out"]
        x = x + mixed.swapaxes(-1, -2)
        return x + nn.gelu(norm(x) @ w["channels_in"]) @ w["channels_out"]

    def loss(params, x):
        for w in params:
            x = block(w, x)
        return (x**2).mean()

    return loss


# A deep recurrent network


def _gru_arguments() -> tuple:
    rng = np.random.default_rng(0)
    width = 128
    layer = lambda: {"input": _normal(rng, width, 3 * width, scale=0.08), "state": _normal(rng, width, 3 * width, scale=0.08)}  # noqa: E731
    return [layer() for _ in range(8)], _normal(rng, 64, 32, width)


def _gru(lib: Any) -> Callable:
    jnp, nn = lib.numpy, lib.nn

    def layer(w, xs):
        def cell(h, x):
            reset_x, update_x, new_x = jnp.split(x, 3, axis=-1)
            reset_h, update_h, new_h = jnp.split(h @ w["state"], 3, axis=-1)
            update = nn.sigmoid(update_x + update_h)
            h = (1 - update) * jnp.tanh(new_x + nn.sigmoid(reset_x + reset_h) * new_h) + update * h
            return h, h

        return lib.lax.scan(cell, jnp.zeros(xs.shape[1:], xs.dtype), xs @ w["input"])[1]

    def loss(params, xs):
        for w in params:
            xs = xs + layer(w, xs)
        return (xs**2).mean()

    return loss


# A chain of two hundred blocks


def _chain_arguments() -> tuple:
    rng = np.random.default_rng(0)
    return [(_normal(rng, 128, 128, scale=128**-0.5), np.zeros(128, np.float32)) for _ in range(200)], _normal(rng, 256, 128)


def _chain(lib: Any) -> Callable:
    def loss(params, x):
        for w, b in params:
            x = lib.numpy.tanh(x @ w + b)
        return (x**2).sum()

    return loss


PROGRAMS: dict[str, Training] = {
    "elementwise24": Training(_elementwise_arguments, _elementwise),
    "elementwise24_kept": Training(_elementwise_arguments, _elementwise, is_donating=False),
    "transformer24": Training(transformer24.arguments, transformer24.fresh, is_donating=False),
    "transformer24_plain": Training(transformer24.arguments, lambda lib: transformer24.fresh(lib, is_block_jitted=False)),
    "dropout12": Training(_dropout_arguments, lambda lib: _transformer_with_dropout(lib, True)),
    "dropout12_plain": Training(_dropout_arguments, lambda lib: _transformer_with_dropout(lib, False), is_donating=False),
    "resnet12": Training(_resnet_arguments, _resnet),
    "mixer12": Training(_mixer_arguments, _mixer),
    "gru8": Training(_gru_arguments, _gru),
    "chain200": Training(_chain_arguments, _chain),
    "transformer24_8_devices": Training(transformer24.arguments, transformer24.fresh,
                                        model_axes={"qkv": 1, "out": 0, "up": 1, "down": 0}),
    "transformer24_8_devices_by_data": Training(transformer24.arguments, transformer24.fresh, model_axes={}),
}
