"""Guards whose work shows in another process: what is logged, and what ends it."""

import pytest


def test_transfers_are_logged(run_python):
    code = """
        import os, sys
        os.dup2(1, 2)  # jaxlib logs to stderr
        import numpy as np
        import laminax_runtime as runtime
        x = np.ones(3, np.float32)
        runtime.device_put(x)
        with runtime.transfer_guard("log"):
            runtime.device_put(x)
            runtime.explicit_transfer("device_put")(runtime.device_put)(x)
            with runtime.unguarded_transfers():
                runtime.device_put(x)
        with runtime.transfer_guard("log_explicit"):
            runtime.explicit_transfer("device_put")(runtime.device_put)(x)
    """
    assert run_python(code, TF_CPP_MIN_LOG_LEVEL="0").count("host-to-device transfer: aval") == 2


def test_the_levels_can_come_from_the_environment(run_python):
    code = """
        import numpy as np
        import laminax_runtime as runtime
        try:
            runtime.device_put(np.ones(3))
        except runtime.XlaRuntimeError as error:
            print(error)
    """
    assert "Disallowed host-to-device" in run_python(code, JAX_TRANSFER_GUARD_HOST_TO_DEVICE="disallow")
    assert "Disallowed host-to-device" in run_python(code, LAMINAX_TRANSFER_GUARD="disallow")


@pytest.mark.parametrize("level, is_reported", [("log", True), ("allow", False)])
def test_arrays_freed_by_the_collector(run_python, level, is_reported):
    code = f"""
        import gc, os
        os.dup2(1, 2)
        import numpy as np
        import laminax_runtime as runtime
        gc.disable()
        cycle = [runtime.device_put(np.ones(3))]
        cycle.append(cycle)
        with runtime.array_garbage_collection_guard("{level}"):
            del cycle
            gc.collect()
    """
    assert ("deleted by the Python garbage collector" in run_python(code)) == is_reported
