"""Native functions of GPU plugins: where they come from, and when they are registered.

There is no GPU here: packages of the plugins' names stand in for them, and write down what is registered with them.
"""

import pytest

EXTENSION = """
registered = []

def register_custom_call_target(c_api, name, target, platform, api_version=0, traits=0):
    registered.append((name, target, platform, api_version, traits, c_api))

def register_custom_type(c_api, name, type_id):
    registered.append((name, type_id, "type", c_api))

def ffi_types():
    return {"Cache": "cache type"}

def ffi_handlers():
    return {"xla_ffi_python_gpu_callback": {"execute": "callback"}}
"""

KERNELS = {
    "_solver": '{"cusolver_getrf_ffi": "getrf"}', "_linalg": '{"cu_lu_pivots_to_permutation": "pivots"}',
    "_sparse": '{"cusparse_gtsv2_ffi": "gtsv2"}', "_prng": '{"cu_threefry2x32_ffi": "threefry"}',
    "_hybrid": '{"cuhybrid_eig_real": "eig"}',
}

PROGRAM = """
from jax_cuda13_plugin import _hybrid, cuda_plugin_extension as extension
from laminax_runtime.backends import ffi

class Client:
    platform, platform_version = "cuda", "PJRT C API cuda 13000"

def show(title):
    print(title, sorted(entry[0] for entry in extension.registered))
    extension.registered.clear()
"""


@pytest.fixture
def plugin_package(tmp_path):
    folder = tmp_path / "jax_cuda13_plugin"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "cuda_plugin_extension.py").write_text(EXTENSION)
    for name, kernels in KERNELS.items():
        (folder / f"{name}.py").write_text(f"started = []\ndef registrations(): return {kernels}\ndef initialize(): started.append(1)\n")


def test_what_waits_for_a_plugin_is_registered_with_it(plugin_package, run_python):
    out = run_python(PROGRAM + """
ffi.register_ffi_target("mine", "address", "cuda", traits=1)
ffi.register_ffi_type("State", {"type_id": "number"}, "cuda")
show("before")
ffi.connect_plugin("cuda", None)
print(extension.registered[-1])
show("loaded")
ffi.register_ffi_target("later", "address", "gpu", api_version=0)
ffi.register_ffi_type("Other", {"type_id": "number", "type_info": "functions"}, "gpu")
print(extension.registered)
""")
    before, mine, loaded, later = out.splitlines()
    assert before == "before []"
    assert mine == "('mine', 'address', 'CUDA', 1, 1, None)"
    assert loaded == "loaded ['Cache', 'State', 'mine', 'xla_ffi_python_gpu_callback']"
    assert later == ("[('later', 'address', 'CUDA', 0, 0, None), "
                     "('Other', {'type_id': 'number', 'type_info': 'functions'}, 'type', None)]")


def test_kernels_are_registered_when_a_program_names_one(plugin_package, run_python):
    out = run_python(PROGRAM + """
ffi.connect_plugin("cuda", None)
extension.registered.clear()
ffi.ensure_kernels([], Client)
ffi.ensure_kernels(["mycusolver_ffi"], Client)
show("none")
ffi.ensure_kernels(["cusolver_getrf_ffi"], Client)
print(sorted(entry[:4] for entry in extension.registered)[0])
show("one")
print(_hybrid.started)
ffi.ensure_kernels(["cuhybrid_eig_real"], Client)
ffi.ensure_kernels(["cuhybrid_eig_real"], Client)
show("again")
print(_hybrid.started)
""")
    assert out.splitlines() == [
        "none []", "('cu_lu_pivots_to_permutation', 'pivots', 'CUDA', 1)",
        "one ['cu_lu_pivots_to_permutation', 'cu_threefry2x32_ffi', 'cuhybrid_eig_real', 'cusolver_getrf_ffi', 'cusparse_gtsv2_ffi']",
        "[]", "again []", "[1]"]


def test_a_missing_package_is_named(run_python):
    out = run_python("""
from laminax_runtime import PlatformError; from laminax_runtime.backends import ffi

class Client:
    platform, platform_version = "gpu", "rocm 70000"

ffi.connect_plugin("rocm", None)  # programs without native functions run
ffi.connect_plugin("tpu", None)
for ask in (lambda: ffi.ensure_kernels(["hipsolver_getrf_ffi"], Client), lambda: ffi.register_ffi_target("mine", "address", "rocm")):
    try:
        ask()
    except PlatformError as error:
        print(error)
""")
    first, second = out.splitlines()
    assert first == second and first.startswith("Native functions for rocm need a package that is not installed")
    assert first.endswith(": jax-rocm7-plugin.")
