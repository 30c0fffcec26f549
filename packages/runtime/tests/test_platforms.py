"""Clients start when they are needed, as they are asked to, or say why not."""

import pytest

import laminax_runtime as runtime
from laminax_ir.options.config import config


def test_import_starts_nothing(run_python):
    """No client means no threads; scipy comes with the first LAPACK call only."""
    out = run_python(
        """
        import sys, threading, os
        import laminax_runtime
        assert "jaxlib" not in sys.modules
        from laminax_runtime.running import dispatch; from laminax_runtime.compiling import compile; from laminax_runtime.arrays import transfer
        print(threading.active_count(), len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 1)
        print([name for name in ("scipy", "jax") if name in sys.modules])
        from laminax_runtime.backends import backends
        print(backends._clients)
    """,  # noqa: E501
        OPENBLAS_NUM_THREADS="1",
    )  # NumPy's BLAS starts threads of its own
    assert out.splitlines() == ["1 1", "[]", "{}"]


def test_every_public_name_is_there():
    assert runtime.__version__ == "0.2.0"
    for name in runtime.__all__:
        assert getattr(runtime, name) is not None
    assert set(dir(runtime)) == set(runtime.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        runtime.nonsense  # noqa: B018


def test_cpu_platform():
    assert runtime.devices("cpu") == runtime.devices("cpu")
    assert runtime.devices("cpu")[0].platform == "cpu"
    assert runtime.local_devices(backend="cpu") == runtime.devices("cpu")
    assert runtime.process_index() == 0 and runtime.process_count() == 1
    with pytest.raises(ValueError, match="there is no process 3"):
        runtime.local_devices(process_index=3)


def test_unknown_platform(run_python):
    out = run_python("""
        import laminax_runtime as runtime
        for name in ("nonsense", "tpu"):
            try:
                runtime.devices(name)
            except RuntimeError as error:
                print(type(error).__name__, error)
    """)
    first, second = out.splitlines()
    assert first.startswith("PlatformError Unknown backend: the platform 'nonsense' is not available. There is no plugin of this name")
    assert "cpu, gpu, cuda, rocm, tpu" in first
    assert second.startswith("PlatformError Unknown backend: the platform 'tpu' is not available. ")


@pytest.mark.parametrize(
    "settings, code",
    [
        ({"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}, ""),
        ({"LAMINAX_NUM_CPU_DEVICES": "3"}, ""),
        ({"JAX_NUM_CPU_DEVICES": "3"}, ""),
        ({}, "from laminax_ir.options.config import config; config.update('jax_num_cpu_devices', 3)"),
    ],
)
def test_number_of_cpu_devices(run_python, settings, code):
    prologue = "import laminax_runtime as runtime; runtime.num_cpu_devices;" + code
    assert run_python(prologue + "\nprint(runtime.device_count('cpu'))", **settings) == "3"


def test_choice_of_platforms(run_python):
    print_default = "import laminax_runtime as runtime\nprint(runtime.default_backend())"
    assert run_python(print_default, LAMINAX_PLATFORMS="cpu") == "cpu"
    assert run_python(print_default, JAX_PLATFORMS="cpu") == "cpu"
    out = run_python(
        """
        import laminax_runtime as runtime
        for ask in (runtime.default_backend, lambda: runtime.devices("cpu")):
            try:
                print(ask())
            except runtime.PlatformError as error:
                print(error)
        """,
        LAMINAX_PLATFORMS="nonsense",
    )
    first, second = out.splitlines()
    assert first.startswith("Unknown backend: the platform 'nonsense' is not available.")
    assert second == "Unknown backend: the platform 'cpu' is switched off: the option `platforms` is 'nonsense'."


def test_broken_plugins(run_python, tmp_path):
    """A plugin that does not load is an error when asked for, and a warning when it is not."""
    library = tmp_path / "jax_plugins" / "xla_cuda99" / "xla_cuda_plugin.so"
    library.parent.mkdir(parents=True)
    (library.parent / "__init__.py").write_text("raise AssertionError('the package of a plugin must not be imported')")
    library.write_bytes(b"not a library")
    out = run_python("""
        import warnings
        import laminax_runtime as runtime
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(runtime.default_backend())
        print(*(str(w.message) for w in caught))
        try:
            runtime.devices("gpu")
        except RuntimeError as error:
            print(error)
        try:
            runtime.register_plugin("mine", "/nowhere/plugin.so")
            runtime.devices("mine")
        except RuntimeError as error:
            print(error)
    """)
    default, warning, error, missing = out.splitlines()
    assert default == "cpu"
    assert str(library) in warning and "did not start" in warning and warning.endswith("Falling back to the CPU.")
    assert error.startswith("Unknown backend: the platform 'gpu' is not available. Its plugin ") and str(library) in error
    assert missing == "Unknown backend: the platform 'mine' is not available. Its plugin's library /nowhere/plugin.so does not exist."


def test_the_number_of_cpu_devices_cannot_be_changed_later():
    count = runtime.device_count("cpu")
    with pytest.raises(RuntimeError, match="num_cpu_devices cannot be set to 77: the CPU has started"):
        config.update("jax_num_cpu_devices", 77)
    config.update("jax_num_cpu_devices", config.jax_num_cpu_devices)
    assert runtime.device_count("cpu") == count


def test_dispatch_on_the_cpu_can_wait_for_the_results(run_python):
    """Products of large matrices take longer than the call that starts them (without the option this prints False)."""
    out = run_python(
        """
        import numpy as np
        from stablehlo_modules import aval, compile_text
        import laminax_runtime as runtime
        a = aval((600, 600))
        text = "func.func public @main(%x: tensor<600x600xf32>) -> tensor<600x600xf32> {\\n"
        for i in range(4):
            text += f"%{i} = stablehlo.dot_general %{i - 1 if i else 'x'}, %x, contracting_dims = [1] x [0] : "
            text += "(tensor<600x600xf32>, tensor<600x600xf32>) -> tensor<600x600xf32>\\n"
        program = compile_text(text + "return %3 : tensor<600x600xf32>\\n}", in_avals=[a], out_avals=[a])
        print(program.execute([np.zeros((600, 600), np.float32)])[0].is_ready())
    """,
        JAX_CPU_ENABLE_ASYNC_DISPATCH="0",
    )
    assert out == "True"


def test_fork_warns_once_there_are_threads(run_python):
    out = run_python("""
        import os, warnings
        import laminax_runtime as runtime

        def messages_of_fork():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                child = os.fork()
                if child == 0:
                    os._exit(0)
                os.waitpid(child, 0)
            return [str(w.message) for w in caught if w.category is RuntimeWarning]

        print(messages_of_fork())
        runtime.devices()
        [message] = messages_of_fork()
        print("os.fork() was called" in message and "spawn" in message)
    """, LAMINAX_PLATFORMS="cpu")
    assert out.splitlines() == ["[]", "True"]


def test_the_default_is_known_only_once_it_has_started(run_python):
    """While an accelerator starts in one thread, others wait for it instead of taking a CPU that is there already."""
    out = run_python("""
        import threading
        import laminax_runtime as runtime
        from laminax_runtime.backends import backends, plugins

        cpu = backends.client("cpu")
        make_client, may_start, is_starting = backends._make_client, threading.Event(), threading.Event()

        def slow(name):
            is_starting.set()
            may_start.wait(10)
            return make_client("cpu")  # stands for that of the accelerator

        backends._make_client = slow
        backends._registered.append(plugins.Plugin("slow", "slow", plugins.Path("slow.so")))
        found = []
        threads = [threading.Thread(target=lambda: found.append(backends.client())) for _ in range(2)]
        threads[0].start()
        is_starting.wait(10)
        threads[1].start()
        threads[1].join(0.2)
        may_start.set()
        for thread in threads:
            thread.join()
        print(len(found), found[0] is found[1], found[0] is cpu)
    """)
    assert out.splitlines() == ["2 True False"]
