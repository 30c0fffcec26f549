"""jax and laminax do not share a process, and nobody else notices that jaxlib was made for jax."""

import pytest


@pytest.fixture
def fake_jax(tmp_path):
    """An installed package of the name jax."""
    package = tmp_path / "jax"
    package.mkdir()
    (package / "__init__.py").write_text("imported = True\n")
    (package / "numpy.py").write_text("")


_TRY = """
def attempt(name):
    try:
        return repr(importlib.import_module(name))
    except ImportError as error:
        return f"{type(error).__name__}: {error}"
"""


def test_jax_first(run_python, fake_jax):
    out = run_python(
        "import importlib\n"
        + _TRY
        + """
assert importlib.import_module("jax").imported
print(attempt("laminax_runtime"))
print(attempt("laminax_runtime._jaxlib"))
"""
    )
    for line in out.splitlines():
        assert line.startswith(
            "ImportError: laminax cannot be imported: jax is already imported. jax and laminax cannot"
        )


@pytest.mark.parametrize("use", ["", "laminax_runtime.devices()", "print_array()"])
def test_laminax_first(run_python, fake_jax, use):
    out = run_python(
        "import importlib, importlib.util, sys\nimport numpy as np\nimport laminax_runtime\n"
        "from laminax_ir.types.partition_specs import PartitionSpec\n"
        + _TRY
        + f"""
def print_array():
    x = laminax_runtime.device_put(np.zeros(3, np.int8))
    repr(x), x._arrays, laminax_runtime.device_put(np.zeros(2, "bfloat16") if 0 else 1)._value
    laminax_runtime.NamedSharding(laminax_runtime.Mesh(laminax_runtime.devices(), "x"), PartitionSpec("x"))
{use}
print(attempt("jax"))
print(attempt("jax.numpy"))
print(importlib.util.find_spec("jax") is not None)
print([name for name in sys.modules if name.split(".")[0] == "jax"])
"""
    )
    first, second, is_found, modules = out.splitlines()
    for line in (first, second):
        assert line.startswith(
            "ImportError: jax cannot be imported: laminax is already imported. jax and laminax cannot"
        )
    assert is_found == "True" and modules == "[]"


def test_without_jax(run_python):
    """Where jax is not installed, its absence is reported as ever."""
    out = run_python(
        "import importlib, importlib.machinery\n"
        + _TRY
        + """
finder = importlib.machinery.PathFinder
find = finder.find_spec
finder.find_spec = lambda name, *rest: None if name == "jax" else find(name, *rest)
import laminax_runtime
print(attempt("jax"))
print(attempt("jax.numpy"))
laminax_runtime.devices()
print(attempt("jax"))
"""
    )
    assert out.splitlines() == ["ModuleNotFoundError: No module named 'jax'"] * 3


def test_a_stand_in_for_jax_is_not_jax(run_python):
    # Libraries that say `import jax` get laminax where somebody has entered it under that name.
    out = run_python(
        "import sys, types\nsys.modules['jax'] = types.ModuleType('standin')\n"
        "import laminax_runtime\nprint(laminax_runtime.device_put(1.5), sys.modules['jax'].__name__)"
    )
    assert out.split() == ["1.5", "standin"]
