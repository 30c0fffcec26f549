"""The lane of GPUs: on one that is there, or compiled for those that the plugin describes."""

from __future__ import annotations

import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).absolute().parents[2]
sys.path[:0] = [str(ROOT / "packages/lowering/tests"), str(ROOT / "packages/ir/tests"), str(ROOT / "benchmarks"), str(ROOT / "examples")]

_DESCRIPTION = re.compile(rb"gpu_device_info \{\n.*?(?=\0)", re.DOTALL)


def described_gpus(library: pathlib.Path) -> dict[str, str]:
    """The texts of `GpuTargetConfigProto` that a plugin's library holds, by the name of the GPU."""
    texts = (match[0].decode("utf-8", "replace") for match in _DESCRIPTION.finditer(library.read_bytes()))
    return {found[1]: text for text in texts if (found := re.search(r'device_description_str: "(.*?)"', text)) is not None}


@pytest.fixture(scope="session")
def devices():
    """From a platform and a GPU's name to four such GPUs, of the descriptions in the CUDA plugin, which has those of others too."""
    from laminax_runtime.backends import plugins

    from laminax.experimental.topologies import get_topology_desc
    known = {}

    def of(platform, gpu):
        if (platform, gpu) not in known:
            found = [plugin for plugin in plugins.find_plugins() if plugin.platform == platform]
            if not found:
                pytest.skip(f"no plugin of {platform} is installed")
            config = described_gpus(found[0].library)[gpu]
            known[platform, gpu] = get_topology_desc("", platform, target_config=config, topology="1x1x8").devices
        return known[platform, gpu]

    return of
