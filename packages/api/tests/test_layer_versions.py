"""Layers of other releases than the api's are refused when they are put together."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import laminax_ir  # noqa: F401  (is in sys.modules)
import laminax_runtime  # noqa: F401

import laminax
from laminax._layer_versions import check_layers

SERIES = laminax.__version__.rpartition(".")[0]
MAJOR, MINOR = map(int, SERIES.split("."))


@pytest.mark.parametrize("version", [f"{SERIES}.0", f"{SERIES}.17", f"{SERIES}.1.dev3"])
def test_layers_of_the_same_series_fit(version, monkeypatch):
    for layer in ("laminax_ir", "laminax_runtime"):
        monkeypatch.setattr(sys.modules[layer], "__version__", version)
    check_layers()


@pytest.mark.parametrize("version", [f"{MAJOR}.{MINOR - 1}.9", f"{MAJOR}.{MINOR + 1}.0", f"{MAJOR + 1}.{MINOR}.0", f"{SERIES}1.0"])
def test_a_layer_of_another_series_is_named(version, monkeypatch):
    monkeypatch.setattr(sys.modules["laminax_ir"], "__version__", version)
    with pytest.raises(ImportError) as caught:
        check_layers()
    message = str(caught.value)
    assert f"laminax {laminax.__version__} and laminax-ir {version} do not go together" in message
    assert f"found in {sys.modules['laminax_ir'].__path__[0]}" in message
    assert f"'laminax-ir>={SERIES}.0,<{MAJOR}.{MINOR + 1}'" in message
    assert caught.value.name == "laminax_ir"


def test_a_layer_that_is_not_loaded_is_asked_by_its_file(tmp_path):
    (tmp_path / "laminax_lowering").mkdir()
    (tmp_path / "laminax_lowering" / "__init__.py").write_text('"""Old."""\n\n__version__ = "0.1.0"\nraise SystemExit("was loaded")\n')
    path = [str(tmp_path), *filter(None, sys.path)]
    done = subprocess.run([sys.executable, "-c", "import laminax.numpy as jnp\njnp.ones(3)"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(path)})
    assert done.returncode == 1
    assert f"ImportError: laminax {laminax.__version__} and laminax-lowering 0.1.0 do not go together" in done.stderr
    assert f"found in {tmp_path}" in done.stderr
