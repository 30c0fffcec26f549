"""Importing laminax: what it loads, what it starts, and that every name it lists is there."""

import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import textwrap

import pytest

import laminax

SUBMODULES = sorted(
    name.removeprefix("laminax.") for _, name, _ in pkgutil.walk_packages(laminax.__path__, "laminax.")
    if "._" not in name and name != "laminax.experimental.as_jax")  # importing that one changes what `import jax` means


def run_python(code: str, **environment: str) -> str:
    """Runs code in a fresh interpreter; returns what it printed."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "LAMINAX_", "XLA_", "TF_CPP"))}
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env={**inherited, "PYTHONPATH": path, **environment},
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip() + done.stderr.strip()


def test_importing_laminax_loads_little_and_starts_nothing():
    assert run_python("""
        import sys, threading
        import laminax
        assert threading.active_count() == 1
        for name in ("jax", "jaxlib", "scipy", "laminax_transforms", "laminax_lowering", "laminax._src.setup"):
            assert name not in sys.modules, name
        print("fine")""") == "fine"


def test_private_modules_of_jax_are_reached_without_an_import():
    assert run_python("""
        import laminax
        print(laminax._src.core.trace_state_clean())""") == "True"


@pytest.mark.parametrize("name", laminax._src.PRIVATE_MODULES)
def test_what_stands_for_a_private_module_can_be_imported(name):
    """`xla_metadata` was moved to another room, and its entry still named the old one."""
    assert getattr(laminax._src, name) is importlib.import_module(laminax._src.PRIVATE_MODULES[name])


def test_any_private_module_may_be_imported_first():
    """Importing one puts the layers together."""
    assert run_python("""
        from laminax._src.numerics.numpy.reductions import sum
        print(float((sum(2.0) + 1).mean()))  # the operator and the method come with it""") == "3.0"


def test_using_jit_loads_no_rules_and_starts_no_client():
    assert run_python("""
        import sys, threading
        import laminax
        laminax.jit, laminax.grad, laminax.vmap, laminax.lax, laminax.numpy, laminax.random, laminax.nn, laminax.tree
        step = laminax.jit(laminax.grad(lambda x: x))
        import laminax_runtime.backends.backends as backends
        assert not backends._clients
        loaded = [name for name in sys.modules if ".rules." in name or name.split(".")[0] in ("jax", "scipy")]
        assert not loaded, loaded
        assert threading.active_count() == 1
        print("fine")""") == "fine"


def test_a_first_program_loads_what_it_needs():
    """What prints programs, follows references and solves for symbolic sizes is for other programs; fractions is one of the latter's."""
    assert run_python("""
        import sys
        import laminax
        laminax.jit(lambda x: x * 2 + 1).lower(1.0)
        unneeded = {"laminax_ir.programs.printer", "laminax_ir.programs.layout", "laminax_ir.recording.discharge", """
                    """"laminax_ir.symbolic.symbolic_solving", "fractions"}
        assert not unneeded & sys.modules.keys(), unneeded & sys.modules.keys()
        print("fine")""") == "fine"


def test_a_first_call_loads_what_it_needs():
    """The stages ahead of time are for who asks for them, a tenth of what `jit` loads."""
    assert run_python("""
        import sys
        import laminax
        f = laminax.jit(lambda x: x * 2 + 1)
        f(1.0)
        needless = {"laminax._src.compiling.compiled", "laminax._src.compiling.stages"}
        assert not needless & sys.modules.keys(), needless & sys.modules.keys()
        f.lower(1.0)
        assert needless <= sys.modules.keys()
        print("fine")""") == "fine"


def test_a_first_array_loads_what_it_needs():
    """Arrays are made without what functions, transfers, products of matrices and checks need: a tenth of the time until there is one."""
    assert run_python("""
        import sys
        import laminax.numpy
        laminax.numpy.ones(3)
        needless = {f"laminax._src.{name}" for name in (
            "compiling.jit", "compiling.stages", "compiling.tracing", "compiling.abstract_calls", "compiling.checking.fault_search",
            "parallel.transfers", "parallel.sharding_constraints")}
        needless |= {f"laminax_ir.{name}" for name in (
            "ops.contraction", "ops.collectives", "ops.control_primitives", "ops.reduction", "programs.check", "functions.matmul")}
        assert not needless & sys.modules.keys(), needless & sys.modules.keys()
        print("fine")""") == "fine"


def test_settings_can_be_made_before_jaxlib_is_loaded():
    assert run_python("""
        import sys
        import laminax
        laminax.config.update("num_cpu_devices", 3)
        laminax.config.update("jax_platforms", "cpu")
        assert "jaxlib" not in sys.modules or not sys.modules["laminax_runtime.backends.backends"]._clients
        assert laminax.device_count() == 3
        print("fine")""") == "fine"


def test_the_first_computation_says_nothing_on_stderr():
    assert run_python("""
        from laminax import random
        import laminax.numpy as jnp
        print(jnp.arange(3) + 1)""") == "[1 2 3]"


@pytest.mark.parametrize("first, second", [("jax", "laminax"), ("laminax", "jax")])
def test_jax_and_laminax_refuse_to_share_a_process(first, second, tmp_path):
    (tmp_path / "jax.py").write_text("")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    assert "cannot be used in one process" in run_python(f"""
        import {first}
        try:
            import {second}
        except ImportError as error:
            print(error)""", PYTHONPATH=path)


def test_every_listed_name_is_there():
    assert dir(laminax) == sorted(laminax.__all__)
    for name in laminax.__all__:
        getattr(laminax, name)


@pytest.mark.parametrize("submodule", SUBMODULES)
def test_every_name_that_a_submodule_lists_is_there(submodule):
    module = importlib.import_module(f"laminax.{submodule}")
    assert module.__all__
    missing = []
    for name in module.__all__:
        try:
            getattr(module, name)
        except (AttributeError, ImportError) as error:
            missing.append(f"{name}: {error}")
    assert not missing


def test_submodules_are_attributes():
    assert laminax.numpy is importlib.import_module("laminax.numpy")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        laminax.nonsense


@pytest.mark.parametrize("submodule", ["", *SUBMODULES])
def test_public_functions_have_public_parameters(submodule):
    module = importlib.import_module(f"laminax.{submodule}".rstrip("."))
    for name in dir(module):
        function = getattr(module, name, None)
        if name.startswith("_") or not inspect.isroutine(function):
            continue
        try:
            parameters = inspect.signature(function).parameters
        except ValueError:  # in C++
            continue
        private = [p for p in parameters if p.startswith("_") and p not in ("_", "_dot_general", "_split_transpose")]  # these are JAX's
        assert not private, f"{name}{inspect.signature(function)}"


def test_parameters_that_callers_name_have_the_names_of_jax():
    names = {
        laminax.debug_nans: ["new_val"], laminax.transfer_guard: ["new_val"], laminax.Ref.addupdate: ["self", "x", "idx"],
        laminax.dlpack.from_dlpack: ["external_array", "device", "copy"],
        laminax.ffi.register_ffi_target: ["name", "fn", "platform", "api_version", "traits"],
        laminax.numpy.full_like: ["a", "fill_value", "dtype", "shape", "device", "out_sharding"],
    }
    for function, expected in names.items():
        assert list(inspect.signature(function).parameters) == expected
    [device] = laminax.dlpack.from_dlpack(laminax.numpy.ones(2), laminax.devices()[0]).devices()
    assert device == laminax.devices()[0]
