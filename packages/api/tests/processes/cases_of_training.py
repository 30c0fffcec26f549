"""Training over several processes, with the batch split, and with weights split too, is that of one process. Run by each process."""

import numpy as np
import together

import laminax
import laminax.numpy as jnp
from laminax import distributed
from laminax.sharding import Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

index, count = together.begin()
rng = np.random.default_rng(0)
WEIGHTS = [(rng.normal(size=shape) * 0.3).astype(np.float32) for shape in ((8, 16), (16, 4))]
X, Y = (rng.normal(size=(16, size)).astype(np.float32) for size in (8, 4))
mesh = Mesh(np.array(laminax.devices()).reshape(2, -1), ("data", "model"))


def loss(weights, x, y):
    return jnp.mean((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2)


def step(weights, x, y):
    value, slopes = laminax.value_and_grad(loss)(weights, x, y)
    return [w - 0.1 * slope for w, slope in zip(weights, slopes)], value


def train(step, weights, x, y):
    values = []
    for _ in range(5):
        weights, value = step(weights, x, y)
        values.append(float(value))
    return values


expected = train(laminax.jit(step), WEIGHTS, X, Y)  # on one device of this process
assert expected[-1] < expected[0]


def check(weight_specs, batch_spec):
    weight_shardings, batch = [NamedSharding(mesh, spec) for spec in weight_specs], NamedSharding(mesh, batch_spec)
    weights = laminax.device_put(WEIGHTS, weight_shardings)
    x, y = laminax.device_put((X, Y), batch)
    found = train(laminax.jit(step, out_shardings=(weight_shardings, NamedSharding(mesh, P()))), weights, x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-6)  # sums in another order, of float32


def test_the_batch_is_split():
    check((P(), P()), P(("data", "model")))


def test_the_weights_are_split_too():
    check((P(None, "model"), P("model")), P("data"))


together.run_tests(globals())
distributed.shutdown()
