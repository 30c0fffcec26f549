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
                               textwrap.dedent(code).replace("JAX", "jax")],
                              env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return start


def test_a_library_gets_laminax(run):
    out = run("""
        import laminax.experimental.as_jax
        import library, laminax, sys
        import numpy as np
        assert library.jnp is laminax.numpy and library.lax is laminax.lax and library.jax.jit is laminax.jit
        assert laminax.numpy.__name__ == "JAX.numpy"  # array-api-compat knows it by that
        assert laminax.numpy.__spec__.name == "laminax.numpy" and laminax.__version__ != library.jax.__version__
        w, x = np.full((3, 2), 0.5, np.float32), np.ones((4, 3), np.float32)
        y = np.tanh(x @ w)
        np.testing.assert_allclose(library.step({"w": w}, x)["w"], x.T @ (2 * y * (1 - y**2)), rtol=1e-6)
        print("done")
    """)
    assert out == "done\n"


def test_whether_jax_is_there_can_be_asked(run):
    """As transformers asks, without an import."""
    out = run("""
        import laminax.experimental.as_jax
        import importlib.util
        import laminax
        for name in ("jax", "jax.numpy", "jax.other"):
            print(importlib.util.find_spec(name) is not None)
        assert importlib.util.find_spec("jax").origin == laminax.__file__
    """)
    assert out == "True\nTrue\nFalse\n"


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


def test_helpers_that_guides_import_from_the_private_modules():
    """Guides that write interpreters of programs, and optree, take them from there."""
    import laminax
    from laminax._src.names import util, xla_bridge

    assert util.safe_zip([1, 2], "ab") == [(1, "a"), (2, "b")] and util.safe_map(max, [1, 5], [4, 2]) == [4, 5]
    with pytest.raises(ValueError, match="zip"):
        util.safe_zip([1], [2, 3])
    assert util.split_list([1, 2, 3, 4], [1, 2]) == [[1], [2, 3], [4]] and util.unzip2(iter([(1, "a"), (2, "b")])) == ((1, 2), ("a", "b"))
    assert util.unzip2([]) == ((), ())
    first, second = (util.HashablePartial(max, 2, key=abs) for _ in range(2))
    assert first == second and hash(first) == hash(second) and first(-3) == -3 and first != util.HashablePartial(min, 2, key=abs)
    laminax.devices()
    assert xla_bridge.backends_are_initialized() is True


def test_modules_that_come_with_jax_are_among_those_loaded(run):
    """Where treescope, which penzai prints with, looks for them."""
    out = run("""
        import laminax.experimental.as_jax
        import sys
        import laminax
        for name in ("tree_util", "lax", "numpy", "random"):
            assert sys.modules[f"JAX.{name}"] is getattr(laminax, name)
        print("done")
    """)
    assert out == "done\n"


def test_private_modules_are_views_of_public_ones(run):
    out = run("""
        import laminax.experimental.as_jax
        import JAX, laminax
        import numpy as np
        import JAX._src.lax.control_flow.loops as loops, JAX._src.nn.initializers as initializers
        from JAX._src import array, config, core, dtypes, effects, mesh, pjit, sharding_impls, typing
        from JAX._src.interpreters import ad, pxla
        from JAX._src.lax import control_flow, fft, lax, linalg, parallel, slicing
        from JAX._src.lax.control_flow import cond_p, scan_p, while_p
        from JAX._src.numpy import lax_numpy, linalg as numpy_linalg, util
        from JAX._src.numpy.util import promote_dtypes_complex
        from JAX._src.scipy.special import gammaln
        primitives = laminax.extend.core.primitives
        assert loops.scan is control_flow.scan is laminax.lax.scan and scan_p is primitives.scan_p and linalg.svd_p is primitives.svd_p
        assert lax.add is laminax.lax.add and parallel.psum is laminax.lax.psum and slicing.gather is laminax.lax.gather
        assert fft.fft_p is primitives.fft_p and lax_numpy.einsum is laminax.numpy.einsum and numpy_linalg.norm is laminax.numpy.linalg.norm
        assert gammaln is laminax.scipy.special.gammaln and initializers is laminax.nn.initializers
        assert initializers.__spec__.name == "laminax.nn.initializers"
        assert mesh.Mesh is sharding_impls.Mesh is laminax.sharding.Mesh and pjit.jit_p is primitives.jit_p and pjit.jit is laminax.jit
        assert isinstance(JAX.numpy.ones(2), array.ArrayImpl) and ad.JVPTracer and JAX._src.lax.lax is lax
        assert not config.enable_x64.value
        with config.enable_x64(True):
            assert config.enable_x64.value
        assert core.safe_zip([1], [2]) == [(1, 2)] and core.call_p is primitives.call_p and effects.no_effects is core.no_effects
        assert isinstance(np.ones(2), typing.SupportsDType) and not isinstance(1.0, typing.DuckTypedArray)
        assert all(map(dtypes.supports_inf, ("float16", "bfloat16", "float8_e5m2")))
        assert not any(map(dtypes.supports_inf, ("float8_e4m3fn", "int32")))
        print(*[x.dtype for x in promote_dtypes_complex(np.float32(1), np.ones(2, np.int32))],
              *[x.dtype for x in util.promote_dtypes_inexact(np.int8(1), np.ones(2, np.int8))],
              *[x.dtype for x in util.promote_args_numeric("f", np.True_, np.ones(2, bool))],
              *[x.shape for x in util.promote_shapes("f", np.ones(2), np.ones((3, 2)))])
    """)
    assert out == "complex64 complex64 float32 float32 int32 int32 (1, 2) (3, 2)\n"


def test_private_names_without_a_counterpart_say_so(run):
    out = run("""
        import laminax.experimental.as_jax
        import importlib.util
        from JAX._src.lax import control_flow
        def told(code):
            try:
                exec(code.replace("PRIVATE", "JAX" + "._src"))
            except (ImportError, AttributeError) as error:
                print(type(error).__name__, error)
        told("import PRIVATE.cudnn.fused")
        told("from PRIVATE.cudnn import fused")
        told("from PRIVATE.lax.control_flow import _private")
        told("control_flow._private")
        assert not hasattr(control_flow, "_private")
    """).splitlines()
    nothing = "ModuleNotFoundError No module named 'jax._src.cudnn': it is private to JAX, and laminax has nothing in its place."
    no_name = "module 'jax._src.lax.control_flow' has no '_private': it is private to JAX, and laminax offers in its place the names of"
    assert out[0].startswith(nothing) and out[1].startswith(nothing) and len(out) == 4
    assert out[2].startswith(f"ModuleNotFoundError {no_name} laminax.lax, laminax.extend.core.primitives")
    assert out[3].startswith(f"AttributeError {no_name} laminax.lax, laminax.extend.core.primitives")


def test_every_view_can_be_imported(run):
    out = run("""
        import laminax.experimental.as_jax
        import importlib
        from laminax._src.names import private_views
        for name, sources in private_views._SOURCES.items():
            module = importlib.import_module(f"JAX._src.{name}")
            for source in sources.split():
                where, _, given = source.partition(":")
                for one in given.split(",") if given else getattr(importlib.import_module(where), "__all__", ()):
                    assert one.startswith("__") or hasattr(module, one), (name, one)
        print("done")
    """)
    assert out == "done\n"
