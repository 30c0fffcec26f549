"""Checkpoints: bytes as Flax writes them, and trees read back. The bytes were recorded with flax 0.12.12."""

from __future__ import annotations

import collections
import sys

import numpy as np
import pytest

import laminax as lx
from laminax import linen as nn
from laminax import numpy as jnp
from laminax._src.linen import serialization as implementation
from laminax.linen import serialization

Point = collections.namedtuple("Point", ["x", "y"])

CONTAINERS = {
    "list": [1, 2.5], "tuple": (np.arange(3, dtype=np.int16), None), "point": Point("a", [True]), "frozen": nn.FrozenDict({"b": -7}),
    "scalar": np.float32(0.5), "complex": 1 + 2j, "half": jnp.array([1.5, -2], jnp.bfloat16), "empty": np.zeros((0, 3), np.uint8)}
RECORDED = (  # serialization.to_bytes(CONTAINERS)
    "88a46c69737482a13001a131cb4004000000000000a57475706c6582a130c71101939103a5696e743136c406000001000200a131c0a5706f696e7482a178a161"
    "a17981a130c3a666726f7a656e81a162f9a67363616c6172d8039390a7666c6f61743332c4040000003fa7636f6d706c6578c7130292cb3ff0000000000000cb"
    "4000000000000000a468616c66c71201939102a862666c6f61743136c404c03f00c0a5656d707479c70c0193920003a575696e7438c400")

# to_bytes(variables) of Dense(2), whose kernel is [[0, 1], [2, 3], [4, 5]] / 4 and whose bias is [1, -1]
CHECKPOINT = (
    "81a6706172616d7382a66b65726e656cc7260193920302a7666c6f61743332c418000000000000803e0000003f0000403f0000803f0000a03fa462696173c715"
    "01939102a7666c6f61743332c4080000803f000080bf")


def same(a, b):
    assert lx.tree.structure(a) == lx.tree.structure(b)
    for x, y in zip(lx.tree.leaves(a), lx.tree.leaves(b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert x.tobytes() == y.tobytes()


def test_bytes_are_those_of_flax():
    assert serialization.to_bytes(CONTAINERS).hex() == RECORDED
    same(serialization.from_bytes(CONTAINERS, bytes.fromhex(RECORDED)), CONTAINERS)


def test_a_checkpoint_of_flax_predicts_the_same_numbers():
    layer, x = nn.Dense(2), np.array([[1.0, 2.0, 4.0]], np.float32)
    fresh = layer.init(lx.random.key(0), x)
    variables = serialization.from_bytes(fresh, bytes.fromhex(CHECKPOINT))
    np.testing.assert_array_equal(layer.apply(variables, x), [[1 * 0 + 2 * 0.5 + 4 * 1 + 1, 0.25 + 2 * 0.75 + 4 * 1.25 - 1]])
    assert serialization.to_bytes(variables).hex() == CHECKPOINT
    same(serialization.msgpack_restore(bytes.fromhex(CHECKPOINT)), lx.tree.map(np.asarray, variables))


def test_trained_variables_go_out_and_come_back():
    model = nn.Sequential([nn.Conv(3, (3, 3)), nn.BatchNorm(use_running_average=True), nn.Dense(2)])
    x = np.random.default_rng(0).normal(size=(2, 5, 5, 1)).astype(np.float32)
    variables = model.init(lx.random.key(3), x)
    other = model.init(lx.random.key(4), x)
    restored = serialization.from_bytes(other, serialization.to_bytes(variables))
    np.testing.assert_array_equal(model.apply(restored, x), model.apply(variables, x))


def test_large_arrays_are_cut_into_chunks(monkeypatch):
    monkeypatch.setattr(implementation, "_CHUNK_BYTES", 16)
    tree = {"a": np.arange(10, dtype=np.float32).reshape(2, 5), "b": [np.arange(3.0)], "c": np.float32(1)}
    data = serialization.msgpack_serialize(tree)
    assert data.count(b"__msgpack_chunked_array__") == 2
    same(serialization.msgpack_restore(data), tree)
    whole = serialization.msgpack_serialize(np.arange(9))
    np.testing.assert_array_equal(serialization.msgpack_restore(whole), np.arange(9))


def test_state_dicts():
    state = serialization.to_state_dict({"p": Point(1, [2, {"z": 3}]), 4: (5,)})
    assert state == {"p": {"x": 1, "y": {"0": 2, "1": {"z": 3}}}, "4": {"0": 5}}
    target = {"p": Point(0, [0, {"z": 0}]), 4: (0,)}
    assert serialization.from_state_dict(target, state) == {"p": Point(1, [2, {"z": 3}]), 4: (5,)}
    old = {"name": "Point", "fields": {"0": "x", "1": "y"}, "values": {"0": 1, "1": 2}}
    assert serialization.from_state_dict(Point(0, 0), old) == Point(1, 2)
    partial = lx.tree_util.Partial(pow, 2, mod=5)
    again = serialization.from_state_dict(lx.tree_util.Partial(pow, 0, mod=0), serialization.to_state_dict(partial))
    assert again(3) == 8 % 5


@pytest.mark.parametrize(("target", "state", "message"), [
    ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, r"contains keys \{'c'\} which are not present in state dict at path \./a"),
    ({"a": [1, 2]}, {"a": {"0": 1}}, r"got 2 and 1 at path \./a"),
    (Point(1, 2), {"x": 1, "z": 2}, r"named tuple do not match.*at path \."),
    ({"a": {"b": 1}}, {"a": 3}, r"target is a dict and the state dict has a int at path \./a"),
])
def test_structures_that_differ(target, state, message):
    with pytest.raises(ValueError, match=message):
        serialization.from_state_dict(target, state)


def test_types_of_ones_own():
    class Box:
        def __init__(self, value):
            self.value = value

    assert not serialization.is_serializable(Box)
    serialization.register_serialization_state(
        Box, lambda box: {"value": box.value}, lambda box, state: Box(state["value"]))
    assert serialization.is_serializable(Box(1))
    assert serialization.from_bytes([Box(0)], serialization.to_bytes([Box(np.float32(2))]))[0].value == 2
    with pytest.raises(ValueError, match='"Box" is already registered'):
        serialization.register_serialization_state(Box, dict, dict)
    serialization.register_serialization_state(Box, lambda box: {1: box.value}, dict, override=True)
    with pytest.raises(TypeError, match="must only have string keys.*has 1"):
        serialization.to_state_dict(Box(0))


def test_what_cannot_be_written():
    with pytest.raises(ValueError, match="Object and structured dtypes"):
        serialization.to_bytes({"a": np.array([None])})
    with pytest.raises(TypeError, match="can't be written as MessagePack.*set"):
        serialization.to_bytes({"a": {1}})
    with pytest.raises(ValueError, match="unique string representation"):
        serialization.to_bytes({1: 0, "1": 0})


@pytest.mark.parametrize("value", [
    None, True, 0, 255, 2**32, 2**64 - 1, -1, -33, -2**63, 1.5, "", "é" * 20, b"y" * 70000, [], list(range(20)), {"k": [1, {}]},
    {i: i for i in range(20)}])
def test_values_that_are_no_arrays(value):
    assert serialization.msgpack_restore(serialization.msgpack_serialize(value)) == value


@pytest.mark.parametrize(("data", "message"), [
    (b"", "0 bytes are cut off"), (b"\x92\x01", "2 bytes are cut off"), (b"\xc4\x05ab", "4 bytes are cut off"), (b"\x01\x02", "extra data"),
    (b"\xc1", "no MessagePack"), (b"\xa2\xff\xff", "no MessagePack")])
def test_broken_data(data, message):
    with pytest.raises(ValueError, match=message):
        serialization.msgpack_restore(data)


def test_integers_beyond_64_bits():
    with pytest.raises(ValueError, match="does not fit into 64 bits"):
        serialization.to_bytes({"a": 2**64})


def test_without_msgpack(monkeypatch):
    monkeypatch.setitem(sys.modules, "msgpack", None)
    with pytest.raises(ImportError, match="pip install msgpack"):
        serialization.to_bytes({"a": 1})
