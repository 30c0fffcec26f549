"""Clients of platforms and default devices. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "names.extend.backend": "backend_xla_version backends clear_in_memory_compilation_cache get_backend get_default_device",
    "names.refused": "clear_backends get_compile_options register_backend_cache register_backend_factory",
})
