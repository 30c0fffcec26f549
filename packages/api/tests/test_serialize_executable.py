"""Compiled functions as bytes, in this process and in another one."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import random
from laminax.experimental import serialize_executable

X = np.arange(3, dtype=np.float32)


def model(params, x, *, scale):
    """Constants, a linear algebra kernel, containers and an unused argument."""
    return {"y": (params["w"] @ x + np.arange(3)) * scale, "inverse": jnp.linalg.inv(params["w"])}


PARAMS = {"unused": np.ones(7, np.float32), "w": np.float32([[2, 1, 0], [0, 3, 1], [1, 0, 4]])}


def compiled_model():
    return laminax.jit(model, donate_argnames="x").lower(PARAMS, X, scale=2.0).compile()


@pytest.mark.parametrize("copy", [lambda c: pickle.loads(pickle.dumps(c)),
                                  lambda c: serialize_executable.deserialize_and_load(*serialize_executable.serialize(c))])
def test_a_loaded_function_is_the_same(copy):
    compiled = compiled_model()
    loaded = copy(compiled)
    result = loaded(PARAMS, X, scale=2.0)
    np.testing.assert_allclose(result["y"], (PARAMS["w"] @ X + [0, 1, 2]) * 2)
    np.testing.assert_allclose(result["inverse"], np.linalg.inv(PARAMS["w"]), rtol=1e-5)
    assert loaded.in_tree == compiled.in_tree and loaded.out_info["y"].shape == (3,)
    assert loaded.in_avals == compiled.in_avals and loaded.donate_argnums == compiled.donate_argnums == (2,)
    with pytest.raises(TypeError, match=r"Argument 'params\['w'\]' compiled with float32\[3,3\] and called with float32\[2,3\]"):
        loaded({**PARAMS, "w": np.ones((2, 3), np.float32)}, X, scale=2.0)


def test_keys_and_effects():
    split = pickle.loads(pickle.dumps(laminax.jit(random.split).lower(random.key(0)).compile()))
    np.testing.assert_array_equal(random.key_data(split(random.key(3))), random.key_data(random.split(random.key(3))))
    printing = laminax.jit(lambda x: laminax.debug.print("{}", x)).lower(X).compile()
    with pytest.raises(TypeError, match="cannot be pickled: it calls functions of this process"):
        serialize_executable.serialize(printing)


def test_another_process(tmp_path):
    (tmp_path / "compiled").write_bytes(pickle.dumps(compiled_model()))
    code = ("import pickle, numpy as np; loaded = pickle.load(open('compiled', 'rb'));"
            "params = {'unused': np.ones(7, np.float32), 'w': np.eye(3, dtype=np.float32)};"
            "result = loaded(params, np.ones(3, np.float32), scale=3.0);"
            "print(np.asarray(result['y']).tolist(), np.asarray(result['inverse']).tolist() == np.eye(3).tolist())")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
    assert done.stdout.strip() == "[3.0, 6.0, 9.0] True", done.stderr


def test_refusals():
    with pytest.raises(TypeError, match="expected a compiled function"):
        serialize_executable.serialize(laminax.jit(model))
    stored = serialize_executable.serialize(laminax.jit(jnp.sin).lower(X).compile())
    with pytest.raises(ValueError, match="compiled for cpu, not for backend='gpu'"):
        serialize_executable.deserialize_and_load(*stored, backend="gpu")
    with pytest.raises(NotImplementedError, match="execution_devices"):
        serialize_executable.deserialize_and_load(*stored, execution_devices=[])


def test_references_are_of_this_process():
    box = laminax.new_ref(jnp.float32(1))

    def add(x):
        box[...] += x

    closing_over = laminax.jit(add).lower(2.0).compile()
    with pytest.raises(ValueError, match="cannot serialize with a closed-over reference"):
        serialize_executable.serialize(closing_over)
    with pytest.raises(TypeError, match="cannot pickle the compiled add"):
        pickle.dumps(closing_over)
    taking = laminax.jit(lambda ref: ref[...] * 2).lower(box).compile()
    with pytest.raises(ValueError, match="references .*among the arguments"):
        serialize_executable.serialize(taking)
