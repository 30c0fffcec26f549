"""Platforms and devices, by the names that older programs use. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "names.extend.backend": "backends get_backend",
    "names.xla_bridge": "default_backend device_count devices local_device_count local_devices process_count process_index"})
