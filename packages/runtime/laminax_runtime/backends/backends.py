"""Backends: one PJRT client per platform, made when first asked for.

The platforms to start are the option `platforms` (or LAMINAX_PLATFORMS, or JAX_PLATFORMS), the first of which is the
default. Without it, an accelerator whose plugin is installed and works is the default, and the CPU otherwise; the CPU
is there in any case.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from laminax_ir.options.ambient import Ambient, Scope, subscribe
from laminax_runtime import _jaxlib
from laminax_runtime.backends import ffi, plugins, processes
from laminax_runtime.base import options
from laminax_runtime.base.errors import PlatformError

Client = _jaxlib.Client

# Users' names for platforms, and the names under which XLA knows these platforms.
_ALIASES = {"gpu": ("cuda", "rocm")}
_KNOWN = ("cpu", "gpu", "cuda", "rocm", "tpu")

_lock = threading.RLock()
_clients: dict[str, Client] = {}
_failures: dict[str, str] = {}
_registered: list[plugins.Plugin] = []
_default: str | None = None
_start_hooks: list[Callable[[Client], None]] = []
_warns_of_fork = False


def register_plugin(name: str, library_path: str, **client_options: Any) -> None:
    """Adds a PJRT plugin that `devices(name)` will load.

    Args:
        name: the platform's name.
        library_path: the plugin's shared library.
        **client_options: passed to the plugin when its client is made.

    Raises:
        PlatformError: the platform has already started.
    """
    with _lock:
        if name in _clients:
            raise PlatformError(f"register_plugin({name!r}): the platform has already started. Register it earlier.")
        _registered.append(plugins.Plugin(name, name, plugins.Path(library_path), client_options))


def client(platform: str | None = None) -> Client:
    """The client of a platform, made on the first call; None means the default platform.

    Raises:
        PlatformError: the platform is unknown, not installed, or does not start.
    """
    name = platform if platform is not None else _default
    found = None if name is None else _clients.get(name)
    return found if found is not None else _start(platform)


def when_started(hook: Callable[[Client], None]) -> None:
    """Registers a function that is called with each client before it is used; at once with the clients that have started.

    The layer of arrays makes the first array in this way (see `transfer`); devices alone need none.
    """
    with _lock:
        for started in _clients.values():
            hook(started)
        _start_hooks.append(hook)


def forget_clients() -> None:
    """Lets platforms start anew when they are next asked for; arrays of the old ones keep theirs alive."""
    global _default
    with _lock:
        _clients.clear()
        _failures.clear()
        _default = None
        processes.forget_started()


def started_clients() -> dict[str, Client]:
    """The clients that have started, by platform."""
    return dict(_clients)


def default_platform() -> str:
    """The default platform, under XLA's name for it ('cpu', 'cuda', 'rocm', 'tpu')."""
    if _default is None:
        _start(None)
    assert _default is not None  # a platform has started
    return _default


def _start(platform: str | None) -> Client:
    with _lock:
        if platform is None:
            return _clients[_start_default()]
        names = _ALIASES.get(platform, (platform,))
        for name in names:
            if name in _clients:
                return _clients[name]
        return _clients[_start_first_of(names, requested=platform)]


def _start_default() -> str:
    """Starts the platform that `platform_name` names or one that `platforms` lists, or the best there is; it becomes the default."""
    global _default
    if _default is not None:
        return _default
    if name := options.platform_name.value:
        started = [_start_first_of(_ALIASES.get(name, (name,)), requested=name)]
    elif listed := _listed_platforms():
        started = [_start_first_of(_ALIASES.get(name, (name,)), requested=name) for name in listed]
    else:
        started = [_start_best()]
    if processes.state.num_processes > 1 and "cpu" not in _clients and _is_allowed("cpu"):
        _start_first_of(("cpu",), requested="cpu")  # a platform starts in all processes at the same time, or in none
    _default = started[0]  # not known to other threads before it has started
    return _default


def _start_best() -> str:
    """Starts the first platform whose plugin works, or else the CPU."""
    for plugin in _plugins():
        try:
            return _start_first_of((plugin.platform,), requested=plugin.platform)
        except PlatformError as error:
            warnings.warn(f"{error} Falling back to the CPU.", RuntimeWarning, stacklevel=2)
    return _start_first_of(("cpu",), requested="cpu")


def _forget_default(option: Ambient, scope: Scope, value: object) -> None:
    global _default
    with _lock:
        _default = None


subscribe(_forget_default, options.platform_name)


def _start_first_of(names: tuple[str, ...], requested: str) -> str:
    """Starts the first of the platforms that is there and works."""
    if not _is_allowed(requested):
        listed = options.platforms.value
        raise PlatformError(f"Unknown backend: the platform {requested!r} is switched off: the option `platforms` is {listed!r}.")
    reasons = []
    for name in names:
        if name in _clients:
            return name
        if name not in _failures:
            try:
                started = _make_client(name)
                processes.note_started(started)
                for hook in _start_hooks:
                    hook(started)
                _watch_forks()
                _clients[name] = started
                _log("Started the platform %s: %d of its devices are here.", name, started.local_device_count())
                return name
            except Exception as error:  # noqa: BLE001  (whatever a broken plugin raises becomes the message)
                _failures[name] = str(error)
                _log("The platform %s cannot be started: %s", name, error)
        reasons.append(_failures[name])
    raise PlatformError(f"Unknown backend: the platform {requested!r} is not available. " + " ".join(dict.fromkeys(reasons)))


def _log(message: str, *values: Any) -> None:
    if "logging" in sys.modules:  # else nobody listens
        import logging
        logging.getLogger("laminax").info(message, *values)


def _watch_forks() -> None:
    """Has the process warn of forks from now on; a platform that has started has threads."""
    global _warns_of_fork
    if not _warns_of_fork:
        os.register_at_fork(before=_warn_of_fork)
        _warns_of_fork = True


def _warn_of_fork() -> None:
    warnings.warn("os.fork() was called. os.fork() is incompatible with multithreaded code, "
                  "and the runtime of laminax (as of JAX) is multithreaded, so this will likely lead to a deadlock. Start processes "
                  "afresh: multiprocessing.get_context('spawn'), or subprocess.",
                  RuntimeWarning, stacklevel=2)


def _is_allowed(platform: str) -> bool:
    """Whether the option `platforms` lets the platform start: 'gpu' stands for any kind of GPU, there and here."""
    listed = _listed_platforms()
    if not listed:
        return True
    names = {platform, *_ALIASES.get(platform, ()), *(alias for alias, kinds in _ALIASES.items() if platform in kinds)}
    return not names.isdisjoint(listed)


def _listed_platforms() -> list[str]:
    return [name.strip() for name in (options.platforms.value or "").split(",") if name.strip()]


def _make_client(name: str) -> Client:
    if name == "cpu":
        count = options.num_cpu_devices.value
        client = _jaxlib.make_cpu_client(
            asynchronous=options.cpu_enable_async_dispatch.value, num_devices=count if count > 0 else None, **processes.cpu_client_options()
        )
        options.has_cpu_started = True
        return client
    for plugin in _plugins():
        if plugin.platform == name:
            return _load(plugin)
    raise PlatformError(_how_to_install(name))


def _plugins() -> list[plugins.Plugin]:
    return [*_registered, *plugins.find_plugins()]


def _load(plugin: plugins.Plugin) -> Client:
    if not plugin.library.is_file():
        raise PlatformError(f"Its plugin's library {plugin.library} does not exist.")
    try:
        _load_library(plugin)
        client_options = {**processes.plugin_client_options(plugin.platform), **plugin.options}
        return _jaxlib.make_plugin_client(plugin.name, client_options, processes.state.client)
    except Exception as error:
        raise PlatformError(f"Its plugin {plugin.library} did not start: {error}") from error


def _load_library(plugin: plugins.Plugin) -> None:
    if not _jaxlib.is_plugin_loaded(plugin.name):
        capsule = _capsules[plugin.name] = _jaxlib.load_plugin(plugin.name, str(plugin.library))
        ffi.connect_plugin(plugin.platform, capsule)
    if not _jaxlib.is_plugin_initialized(plugin.name):
        _jaxlib.initialize_plugin(plugin.name)


_capsules: dict[str, Any] = {}  # by plugin: its C interface, as loading it gave


def loaded_plugin(platform: str) -> tuple[plugins.Plugin, Any]:
    """The plugin of a platform with its library loaded and no client made, and its C interface, or None where others loaded it.

    Raises:
        PlatformError: no plugin of this platform is installed, or its library does not load.
    """
    names = _ALIASES.get(platform, (platform,))
    with _lock:
        plugin = next((plugin for name in names for plugin in _plugins() if plugin.platform == name), None)
        if plugin is None:
            raise PlatformError(f"There is no topology of {platform!r}. {_how_to_install(names[0])}")
        if not plugin.library.is_file():
            raise PlatformError(f"There is no topology of {platform!r}: its plugin's library {plugin.library} does not exist.")
        try:
            _load_library(plugin)
        except Exception as error:
            raise PlatformError(f"The plugin {plugin.library} of {platform} did not load: {error}") from error
        return plugin, _capsules.get(plugin.name)


def _how_to_install(name: str) -> str:
    packages = {"cuda": "jax-cuda13-plugin or jax-cuda12-plugin", "rocm": "jax-rocm7-plugin", "tpu": "libtpu"}
    if name in packages:
        which = "of about the age" if name == "tpu" else "in the version"  # libtpu counts its own versions
        return f"No plugin for {name} is installed; install {packages[name]} {which} of jaxlib, {_jaxlib.version}."
    return f"There is no plugin of this name; the known platforms are {', '.join(_KNOWN)}."
