"""Which of the two registries is chosen, and that each is complete."""

from __future__ import annotations

import subprocess

import pytest
from pytree_backends import BACKENDS, load_backend, pytree_fixture  # noqa: F401  (used by name)
from pytree_types import run_with_backend


def test_each_backend_says_its_name():
    assert load_backend("python")["laminax_ir.pytrees.pytree"].backend_name == "python"
    assert load_backend("jaxlib")["laminax_ir.pytrees.pytree"].backend_name == "jaxlib"


def test_jaxlib_is_the_default_and_its_calls_are_direct():
    modules = load_backend("jaxlib")
    from jaxlib import _jax

    pytree = modules["laminax_ir.pytrees.pytree"]
    assert run_with_backend(None, "from laminax_ir.pytrees import pytree; print(pytree.backend_name)") == "jaxlib"
    assert pytree.PyTreeDef is _jax.pytree.PyTreeDef
    assert isinstance(pytree.registry, _jax.pytree.PyTreeRegistry)
    assert type(pytree.flatten) is type(_jax.pytree.default_registry().flatten)  # no Python function between
    assert pytree.registry is not _jax.pytree.default_registry()


def test_the_python_backend_does_not_import_jaxlib():
    program = "import sys; from laminax_ir.pytrees import pytree; print(pytree.backend_name, 'jaxlib' in sys.modules)"
    assert run_with_backend("python", program) == "python False"


def test_without_jaxlib_the_python_backend_is_chosen():
    program = "import sys; sys.modules['jaxlib'] = None; from laminax_ir.pytrees import pytree; print(pytree.backend_name)"
    assert run_with_backend(None, program) == "python"


def test_asking_for_a_backend_that_is_not_there_is_an_error():
    program = "import sys; sys.modules['jaxlib'] = None; from laminax_ir.pytrees import pytree"
    with pytest.raises(subprocess.CalledProcessError) as error:
        run_with_backend("jaxlib", program)
    assert "ImportError: LAMINAX_PYTREE_BACKEND=jaxlib, but" in error.value.stderr
    with pytest.raises(subprocess.CalledProcessError) as error:
        run_with_backend("rust", "from laminax_ir.pytrees import pytree")
    assert "LAMINAX_PYTREE_BACKEND='rust' is not a pytree backend" in error.value.stderr


def test_registering_in_one_backend_leaves_the_other_alone():
    python = load_backend("python")["laminax_ir.pytrees.pytree"]
    jaxlib = load_backend("jaxlib")["laminax_ir.pytrees.pytree"]

    @python.register_static
    class OnlyHere:
        pass

    assert python.is_tree_node(OnlyHere) and not jaxlib.is_tree_node(OnlyHere)


def test_every_public_name_exists(pytree):
    assert len(set(pytree.__all__)) == len(pytree.__all__)
    for name in pytree.__all__:
        assert hasattr(pytree, name)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_examples_in_the_docstrings_run(backend):
    load_backend(backend)
    program = (
        "import doctest, importlib\n"
        "names = ['pytree', 'paths', 'prefixes', 'registration']\n"
        "results = [doctest.testmod(importlib.import_module('laminax_ir.pytrees.' + name)) for name in names]\n"
        "print(sum(r.failed for r in results), all(r.attempted for r in results))"
    )
    assert run_with_backend(backend, program).splitlines()[-1] == "0 True"
