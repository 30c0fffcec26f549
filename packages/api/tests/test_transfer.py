"""Servers of arrays, from which other processes pull them."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental import transfer
from laminax.sharding import SingleDeviceSharding

PULLER = """
import sys
import numpy as np
import laminax
from laminax.experimental import transfer
device = laminax.devices()[0]
where = laminax.sharding.SingleDeviceSharding(device)
server = transfer.start_transfer_server(device.client, transport_addresses=["127.0.0.1:0"])
types = {"w": laminax.ShapeDtypeStruct((300, 200), np.float32, sharding=where),
         "n": [laminax.ShapeDtypeStruct((5,), np.int8, sharding=where)]}
found = server.connect(sys.argv[1]).pull(12, types)
print(float(laminax.numpy.sum(found["w"] * 2)), found["n"][0].tolist(), found["w"].sharding == where)
"""


@pytest.fixture(scope="module")
def server():
    return transfer.start_transfer_server(laminax.devices()[0].client, transport_addresses=["127.0.0.1:0"])


def address(server):
    return server.address().replace("[::]", "127.0.0.1")


def type_of(x):
    return laminax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)


def test_another_process_pulls_a_tree(server):
    w = np.arange(60_000, dtype=np.float32).reshape(300, 200) % 7
    server.await_pull(12, {"w": laminax.device_put(w), "n": [jnp.arange(5, dtype=np.int8)]})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    out = subprocess.run([sys.executable, "-c", PULLER, address(server)], env=environment, capture_output=True, text=True, timeout=300)
    assert out.stdout.split("\n")[0] == f"{float(2 * w.sum())} [0, 1, 2, 3, 4] True", out.stderr


@pytest.mark.parametrize("dtype", [np.bool_, np.uint16, np.complex64, "bfloat16", np.float16])
def test_what_is_pulled_is_what_was_offered(server, dtype):
    x = laminax.device_put(np.arange(12).reshape(3, 4).astype(laminax.numpy.dtype(dtype)))
    soon = datetime.datetime.now() + datetime.timedelta(seconds=60)
    server.await_pull(1, (x, None), timeout=soon)
    found, nothing = server.connect(address(server)).pull(1, (type_of(x), None), timeout=soon)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(x))
    assert nothing is None and found.dtype == x.dtype and laminax.jit(lambda y: y)(found).shape == (3, 4)
    assert server.connect(address(server)).pull(2, {"none": []}) == {"none": []}


def test_offers_and_requests_are_checked(server):
    with pytest.raises(TypeError, match=r"await_pull: arrays\['x'\] must be an array on a device, got one of type ndarray.*device_put"):
        server.await_pull(3, {"x": np.ones(2)})
    with pytest.raises(TypeError, match=r"arrays must be an array on a device.*key_data of random keys"):
        server.await_pull(3, laminax.random.key(0))
    with pytest.raises(ValueError, match=r"pull: xs\[0\] must say where the array is to be.*sharding=\.\.\."):
        server.connect(address(server)).pull(3, [laminax.ShapeDtypeStruct((2,), np.float32)])


def test_an_array_may_stand_for_an_error():
    where = SingleDeviceSharding(laminax.devices()[0])
    failed = transfer.make_error_array(laminax.ShapeDtypeStruct((3,), np.float32, sharding=where), ValueError("the other side went away"))
    assert failed.shape == (3,) and failed.sharding == where
    for use in (lambda x: x.block_until_ready(), np.asarray, lambda x: np.asarray(x + 1)):
        with pytest.raises(laminax.errors.JaxRuntimeError, match="the other side went away"):
            use(failed)
