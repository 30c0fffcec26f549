"""What this process computes with, for reports of bugs."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np

import laminax_runtime as runtime

from laminax._version import __version__


def print_environment_info(return_string: bool = False) -> str | None:
    """Prints the versions of laminax and what it stands on, the devices, and the settings in the environment.

    Args:
      return_string: whether to return the text instead of printing it.

    Returns:
      The text, or None.

    Example:
      >>> print_environment_info(return_string=True).startswith("laminax: ")
      True
    """
    device = runtime.devices()[0]
    lines = [
        f"laminax: {__version__}",
        f"jaxlib:  {runtime.jaxlib_version()}",
        f"numpy:   {np.__version__}",
        f"python:  {' '.join(sys.version.split())}",
        f"device info: {device.device_kind}-{runtime.device_count()}, {runtime.local_device_count()} local devices",
        f"process_count: {runtime.process_count()}",
        f"platform: {platform.uname()}",
        *(f"{name}={value}" for name, value in os.environ.items() if name.startswith(("LAMINAX_", "JAX_", "XLA_"))),
    ]
    if device.platform == "gpu" and (listed := _nvidia_smi()):
        lines += ["", "$ nvidia-smi", listed]
    text = "\n".join(lines)
    if return_string:
        return text
    print(text)
    return None


def _nvidia_smi() -> str | None:
    """What NVIDIA's tool says of the GPUs, where there is one."""
    try:
        return subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return None
