"""Libraries written for JAX, on laminax."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

# JAX stands for the module's name: no file of the repository imports it.
_LIBRARY = """
import JAX
import JAX.numpy as jnp
import JAX.tree_util as jtu
from JAX import lax, random
from JAX.experimental import io_callback
from JAX.extend import core

assert JAX.__version_info__ >= (0, 5, 1) and tuple(map(int, JAX.__version__.split("."))) == JAX.__version_info__

def loss(params, x):
    return jnp.sum(jnp.tanh(x @ params["w"]) ** 2)

step = JAX.jit(JAX.grad(loss))
"""


@pytest.fixture
def run(tmp_path):
    tmp_path.joinpath("library.py").write_text(_LIBRARY.replace("JAX", "jax"))
    installed = tmp_path / "jax"  # the real one, which must not be met
    installed.mkdir()
    installed.joinpath("__init__.py").write_text("raise AssertionError('the installed jax was imported')")
    installed.joinpath("other.py").write_text("")

    def start(code: str) -> str:
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        done = subprocess.run([sys.executable, "-W", "error::ImportWarning", "-W", "error::DeprecationWarning", "-c",
                               textwrap.dedent(code).replace("JAX", "jax")], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start


def test_a_library_gets_laminax(run):
    out = run("""
        import laminax.experimental.as_jax
        import library, laminax, sys
        import numpy as np
        assert library.jnp is laminax.numpy and library.lax is laminax.lax and library.jax.jit is laminax.jit
        assert laminax.numpy.__spec__.name == "laminax.numpy" and laminax.__version__ != library.jax.__version__
        w, x = np.full((3, 2), 0.5, np.float32), np.ones((4, 3), np.float32)
        y = np.tanh(x @ w)
        np.testing.assert_allclose(library.step({"w": w}, x)["w"], x.T @ (2 * y * (1 - y**2)), rtol=1e-6)
        print("done")
    """)
    assert out == "done\n"


def test_what_laminax_lacks_is_not_taken_from_an_installed_jax(run):
    out = run("""
        import laminax.experimental.as_jax
        import JAX
        for name in ("jax.other", "jax.numpy.other"):
            try:
                __import__(name)
            except ModuleNotFoundError as error:
                print(error.name)
        print(hasattr(JAX, "other"))
    """)
    assert out == "jax.other\njax.numpy.other\nFalse\n"
