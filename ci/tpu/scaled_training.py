"""Training steps whose batch grows with the number of devices, in four ways of splitting them, and what each should move by the textbook.

Every device has the same number of examples, whatever their number is. Sizes are multiples of a TPU's tiles (8 by 128), so that no
array is padded and bytes can be counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hlo_collectives import Collective

import laminax
import laminax.numpy as jnp
from laminax import lax, nn
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

LAYERS, WIDTH, ROWS, GROUP = 2, 256, 128, 8  # rows of activations per device; devices in a group that splits more than the batch
MICROBATCHES = 16
FLOAT = 4  # bytes
RATE = np.float32(0.01)


def _mlp(up: Any, down: Any, x: Any) -> Any:
    return nn.relu(x @ up) @ down


class Data:
    """Data parallel: all parameters on all devices; their gradients and the loss are summed once."""

    group = 1
    params = {"up": (LAYERS, WIDTH, 4 * WIDTH), "down": (LAYERS, 4 * WIDTH, WIDTH)}
    specs = {"up": P(), "down": P()}

    @staticmethod
    def loss(params: dict[str, Any], x: Any) -> Any:
        for up, down in zip(params["up"], params["down"]):
            x = x + _mlp(up, down, x)
        return lax.pmean((x**2).mean(), ("data", "group"))

    @staticmethod
    def expected(data: int) -> Counter[Collective]:
        count = LAYERS * 2 * WIDTH * 4 * WIDTH
        return Counter([Collective("all-reduce", (count + 1) * FLOAT, data)])


class Tensor:
    """Tensor parallel in groups (Shoeybi et al., "Megatron-LM", 2019): the features inside of each block are split. Each block sums
    activations once, and once more for the gradient of its input, which the first block's input does not need."""

    group = GROUP
    params = Data.params
    specs = {"up": P(None, None, "group"), "down": P(None, "group")}

    @staticmethod
    def loss(params: dict[str, Any], x: Any) -> Any:
        for up, down in zip(params["up"], params["down"]):
            x = x + lax.psum(_mlp(up, down, x), "group")
        return lax.pmean((x**2).mean(), "data")

    @staticmethod
    def expected(data: int) -> Counter[Collective]:
        count = LAYERS * 2 * WIDTH * 4 * WIDTH // GROUP
        activations = GROUP * ROWS * WIDTH * FLOAT  # the group's rows are on each of its devices
        sums = {Collective("all-reduce", activations, GROUP): 2 * LAYERS - 1}
        return Counter({**sums, **({} if data == 1 else {Collective("all-reduce", (count + 1) * FLOAT, data): 1})})


class Pipeline:
    """Pipeline parallel in groups (Huang et al., "GPipe", 2019): each device has a stage, through which microbatches pass one after the
    other; what it has computed goes to the next one, and the gradient of that back."""

    group = GROUP
    params = {"up": (GROUP, WIDTH, 4 * WIDTH), "down": (GROUP, 4 * WIDTH, WIDTH)}
    specs = {"up": P("group"), "down": P("group")}

    @staticmethod
    def loss(params: dict[str, Any], x: Any) -> Any:
        stage, batches = lax.axis_index("group"), x.reshape(MICROBATCHES, -1, WIDTH)

        def tick(arriving: Any, at: Any) -> tuple[Any, Any]:
            entering = jnp.where(stage == 0, batches[jnp.minimum(at, MICROBATCHES - 1)], arriving)
            out = entering + _mlp(params["up"][0], params["down"][0], entering)
            return lax.ppermute(out, "group", [(i, i + 1) for i in range(GROUP - 1)]), out

        start = lax.pcast(jnp.zeros_like(batches[0]), ("data", "group"), to="varying")
        _, outs = lax.scan(tick, start, jnp.arange(MICROBATCHES + GROUP - 1))
        own = jnp.where(stage == GROUP - 1, (outs[GROUP - 1:]**2).mean(), 0)
        return lax.pmean(lax.psum(own, "group"), "data")

    @staticmethod
    def expected(data: int) -> Counter[Collective]:
        count = 2 * WIDTH * 4 * WIDTH
        microbatch = GROUP * ROWS // MICROBATCHES * WIDTH * FLOAT
        found = {Collective("collective-permute", microbatch, 0): 2,  # in the loop's body, and in that of its derivative
                 Collective("all-reduce", FLOAT, GROUP): 1}  # the loss, known to the last stage
        return Counter({**found, **({} if data == 1 else {Collective("all-reduce", (count + 1) * FLOAT, data): 1})})


class Experts:
    """Expert parallel in groups (Lepikhin et al., "GShard", 2020): each device has an expert per layer; rows go to theirs and come back,
    and so do their gradients. Here the rows are dealt out evenly, as a router that is balanced does."""

    group = GROUP
    params = {"up": (LAYERS, GROUP, WIDTH, 4 * WIDTH), "down": (LAYERS, GROUP, 4 * WIDTH, WIDTH)}
    specs = {"up": P(None, "group"), "down": P(None, "group")}

    @staticmethod
    def loss(params: dict[str, Any], x: Any) -> Any:
        for up, down in zip(params["up"], params["down"]):
            sent = lax.all_to_all(x, "group", 0, 0, tiled=True)
            x = x + lax.all_to_all(_mlp(up[0], down[0], sent), "group", 0, 0, tiled=True)
        return lax.pmean((x**2).mean(), ("data", "group"))

    @staticmethod
    def expected(data: int) -> Counter[Collective]:
        count = LAYERS * 2 * WIDTH * 4 * WIDTH
        rows = ROWS * WIDTH * FLOAT
        found = {Collective("all-to-all", rows // 2, GROUP): 2 * LAYERS,  # what goes into a product, which takes bfloat16
                 Collective("all-to-all", rows, GROUP): 2 * LAYERS - 1,  # the first block's input needs no gradient
                 Collective("all-reduce", FLOAT, data * GROUP): 1}
        return Counter({**found, **({} if data == 1 else {Collective("all-reduce", count * FLOAT, data): 1})})


TOPOLOGIES = {8: "v5p:2x2x2", 64: "v5p:4x4x4", 512: "v5p:8x8x8", 4096: "v5p:16x16x16"}
SCHEMES = {"data": Data, "tensor": Tensor, "pipeline": Pipeline, "experts": Experts}


def compiled(scheme: Any, devices: Any) -> Any:
    """A step of gradient descent over these devices, compiled."""
    mesh = Mesh(np.array(devices).reshape(-1, scheme.group), ("data", "group"))
    rows = P(("data", "group")) if scheme in (Data, Experts) else P("data")
    loss = laminax.shard_map(scheme.loss, mesh=mesh, in_specs=(scheme.specs, rows), out_specs=P())

    def step(params: Any, x: Any) -> tuple[Any, Any]:
        value, gradient = laminax.value_and_grad(loss)(params, x)
        return laminax.tree.map(lambda p, g: p - RATE * g, params, gradient), value

    def struct(shape: tuple[int, ...], spec: P) -> Any:
        return laminax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(mesh, spec))

    params = {name: struct(shape, scheme.specs[name]) for name, shape in scheme.params.items()}
    return laminax.jit(step, donate_argnums=0).lower(params, struct((ROWS * len(devices), WIDTH), rows)).compile()
