"""XLA computations: the examples of the documentation, the replicas that communicate, the shapes of the program."""

import re
import types

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax, xla_computation


def parameters(text):
    entry = text[text.index("ENTRY"):]
    found = re.findall(r"= (\S+) parameter\((\d+)\)", entry)
    return [shape for shape, _ in sorted(found, key=lambda pair: int(pair[1]))]


@pytest.mark.parametrize("argument", [3.0, types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))])
def test_the_documented_example(argument):
    def f(x):
        return jnp.sin(jnp.cos(x))

    text = xla_computation(f)(argument).as_hlo_text()
    assert text.startswith("HloModule xla_computation_f")
    operations = re.findall(r"= \S+ ([\w-]+)\(", text)
    assert operations == ["parameter", "cosine", "sine", "tuple"]
    assert re.search(r"ROOT \S+ = \(f32\[\]\) tuple\(", text)


def test_the_result_object():
    computation = xla_computation(lambda x: x + 1)(np.ones((2, 3), np.float32))
    assert computation.as_hlo_dot_graph().startswith("digraph")
    assert b"xla_computation" in computation.as_serialized_hlo_module_proto()
    shape = computation.program_shape()
    assert [p.dimensions() for p in shape.parameter_shapes()] == [(2, 3)]
    assert shape.result_shape().tuple_shapes()[0].dimensions() == (2, 3)


def groups(text):
    return re.findall(r"all-reduce\(.*replica_groups=(\{\{[\d,{}]*\}\})", text)


def test_replica_groups_of_one_axis():
    def f(x):
        return x - lax.psum(x, "i")

    text = xla_computation(f, axis_env=[("i", 4)])(2).as_hlo_text()
    assert groups(text) == ["{{0,1,2,3}}"] and parameters(text) == ["s32[]"]


def test_replica_groups_of_two_axes():
    def g(x):
        return lax.psum(x, "i"), lax.psum(x, "j"), lax.psum(x, ("i", "j"))

    text = xla_computation(g, axis_env=[("i", 4), ("j", 2)])(5.0).as_hlo_text()
    assert groups(text) == ["{{0,2,4,6},{1,3,5,7}}", "{{0,1},{2,3},{4,5},{6,7}}", "{{0,1,2,3,4,5,6,7}}"]


def test_unbound_axes():
    with pytest.raises(NameError, match="unbound axis name: i"):
        xla_computation(lambda x: lax.psum(x, "i"))(1.0)


def test_static_arguments_and_keywords():
    def f(n, x, *, scale):
        return x * n * scale

    text = xla_computation(f, static_argnums=0)(3, np.ones(4, np.float32), scale=2.0).as_hlo_text()
    assert sorted(parameters(text)) == ["f32[4]{0}", "f32[]"]


def test_unused_arguments_stay_and_constants_are_inside():
    table = jnp.arange(20.0)
    text = xla_computation(lambda x, unused: x + table)(np.ones(20, np.float32), np.ones(3, np.int32)).as_hlo_text()
    assert parameters(text) == ["f32[20]{0}", "s32[3]{0}"]
    assert "constant({" in text or "constant({...})" in text


@pytest.mark.parametrize("tuple_args, count, expected", [(False, 2, 2), (True, 2, 1), (None, 2, 2), (None, 101, 1)])
def test_tuple_args(tuple_args, count, expected):
    args = [np.float32(i) for i in range(count)]
    text = xla_computation(lambda *xs: sum(xs), tuple_args=tuple_args)(*args).as_hlo_text()
    assert len(re.findall(r" parameter\(", text[text.index("ENTRY"):])) == expected


def test_return_shape():
    def f(x):
        return {"a": x[0], "b": [jnp.sum(x)]}

    _, shapes = xla_computation(f, return_shape=True)(np.ones((2, 3), np.float32))
    assert shapes["a"].shape == (3,) and shapes["b"][0].shape == () and shapes["a"].dtype == np.float32
    assert shapes["a"].named_shape == {}


def test_named_shapes_of_the_result():
    def f(x):
        return x, lax.axis_index("i")

    _, shapes = xla_computation(f, axis_env=[("i", 3)], return_shape=True)(1.0)
    assert shapes[0].shape == shapes[1].shape == ()
    assert shapes[1].named_shape in ({}, {"i": 3})


def test_donated_arguments():
    text = xla_computation(lambda x, y: x + y, donate_argnums=1)(np.ones(3, np.float32), np.ones(3, np.float32)).as_hlo_text()
    assert re.search(r"input_output_alias=\{ \{0\}: \(1, \{\}", text)


def test_parts():
    f = xla_computation(lambda x, y: (x @ y, x), in_parts=((2, 1), None), out_parts=((2, 1), (2, 1)))
    text = f(np.ones((4, 3), np.float32), np.ones((3, 5), np.float32)).as_hlo_text()
    entry = text[text.index("ENTRY"):]
    assert re.search(r"f32\[4,3\]\S* parameter\(0\), sharding=\{devices=\[2,1\]", entry)
    assert re.search(r"f32\[3,5\]\S* parameter\(1\), sharding=\{replicated\}", entry)
    assert "sharding={{devices=[2,1]<=[2]}, {devices=[2,1]<=[2]}}" in entry


def test_gpu_programs_are_written_without_a_gpu():
    text = xla_computation(jnp.sin, backend="gpu")(1.0).as_hlo_text()
    assert "sine" in text


def test_jitted_functions():
    text = xla_computation(laminax.jit(jnp.tanh))(1.0).as_hlo_text()
    assert "tanh" in text


@pytest.mark.parametrize("given, error, message", [
    ({"axis_env": [("i", 0)]}, TypeError, r"pairs of an axis name and a positive size.*\('i', 0\)"),
    ({"axis_env": [("i", 2), ("i", 3)]}, ValueError, "names the axis 'i' twice"),
    ({"axis_env": [3]}, TypeError, "got 3 in it"),
    ({"in_parts": ((2, 2),)}, ValueError, r"in_parts gives \(2, 2\) for f32\[4\]: 2 numbers for 1 axes"),
    ({"in_parts": ("data",)}, TypeError, "one positive number per array axis, or None; got 'data'"),
    ({"in_parts": ((2,),), "out_parts": (4,)}, ValueError, "the same number of parts.*make 2, 4"),
    ({"static_argnums": 3}, ValueError, "only accepts 1 positional"),
])
def test_errors(given, error, message):
    with pytest.raises(error, match=message):
        xla_computation(lambda x: x * 2, **given)(np.ones(4, np.float32))


def test_not_a_function():
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        xla_computation(3)
