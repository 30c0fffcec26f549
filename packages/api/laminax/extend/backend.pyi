# Written by tools/stubs.py.
"""Clients of platforms and default devices. A table of contents: names load on first use."""

from typing import Any, NoReturn

__all__: list[str]

def backend_xla_version(platform: Any = None) -> int | None:
    """The version of XLA that a platform's plugin names; None where it names none."""
def backends() -> dict[str, Any]:
    """The clients that have been started, by platform; the default one is started."""
def clear_backends() -> NoReturn:
    """Not supported: the clients of platforms live as long as the process, because arrays refer to them."""
def clear_in_memory_compilation_cache() -> None:
    """Forgets compiled programs, with the traced functions they came from; those on disk stay."""
def get_backend(platform: Any = None) -> Any:
    """The client of a platform, started on the first call."""
def get_compile_options(
    num_replicas: int,
    num_partitions: int,
    device_assignment: Any = None,
    env_options_overrides: Any = None,
    fdo_profile: Any = None,
    detailed_logging: bool = True,
    backend: Any = None,
) -> NoReturn:
    """Not supported: XLA's options are given by name."""
def get_default_device() -> Any:
    """The device that new arrays are put on."""
def register_backend_cache(cache: Any, for_what: str) -> NoReturn:
    """Not supported: there is no moment at which such caches would be cleared, see `clear_backends`."""
def register_backend_factory(
    name: str,
    factory: Any,
    *,
    priority: int = 0,
    fail_quietly: bool = True,
    experimental: bool = False,
    make_topology: Any = None,
    c_api: Any = None,
) -> NoReturn:
    """Not supported: platforms come from PJRT plugins."""
