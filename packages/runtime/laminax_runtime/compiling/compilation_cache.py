"""The persistent compilation cache: compiled programs on disk, for the next process that wants the same.

Two programs are the same if the text of their modules is, source locations left out: where a line of the user's program
stands does not change machine code, and a checkout in another folder, or a comment added above, should still find what
was compiled. The price is that the metadata of a program taken from the cache (`as_text`, profiles) name the lines of
its first compilation; `compilation_cache_include_metadata_in_key` makes them part of the key.

Errors of the cache do not stop a program: a warning is given once, and the program is compiled. Source of the options: JAX's guide
"Persistent compilation cache".
"""

from __future__ import annotations

import functools
import os
import re
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laminax_ir.options import config
from laminax_runtime import _jaxlib
from laminax_runtime.backends import topologies
from laminax_runtime.base import monitoring, options
from laminax_runtime.compiling.disk_cache import DamagedEntryError, DiskCache, blake2b, read_secret


@dataclass(frozen=True)
class CacheKey:
    """The key of a compiled program: all that it depends on, each part readable or a digest.

    module: digest of the module's text.
    options: digest of the compile options; among them are the devices' ids, and what XLA_FLAGS says.
    compiler: jaxlib's version and the platform's, which on GPUs names that of CUDA or ROCm.
    machine: the kinds and number of devices; for the CPU its model, instruction sets and cores.
    """

    module: str
    options: str
    compiler: str
    machine: str

    @property
    def name(self) -> str:
        """The key as one digest: the name of the entry."""
        return _digest(repr(self).encode())


@dataclass
class Statistics:
    """The counts of the cache in this process: `misses` counts programs looked for in vain, `stores` those kept."""

    hits: int = 0
    misses: int = 0
    stores: int = 0
    troubles: int = 0


statistics = Statistics()
_SECONDS = struct.Struct("<d")  # that compiling took: what an entry begins with


def make_key(text: str, devices: tuple[_jaxlib.Device, ...], compile_options: _jaxlib.CompileOptions) -> CacheKey | None:
    """The key of a compilation, or None if the program must not come from the cache, or the cache is switched off."""
    if not options.enable_compilation_cache.value or options.compilation_cache_max_size.value == 0:
        return None
    # A dump is made by compiling. A client that only compiles loads nothing. And accelerators of several processes may tune a program
    # together while they compile it.
    is_tuned_together = len(_processes_of(devices)) > 1 and devices[0].platform != "cpu"
    if _is_dumping(compile_options) or topologies.is_compile_only(devices[0]) or is_tuned_together:
        return None
    if not options.compilation_cache_include_metadata_in_key.value:
        text = without_locations(text)
    client = devices[0].client
    return CacheKey(
        _digest(text.encode()),
        _digest(_options_text(compile_options)),
        f"jaxlib {_jaxlib.version}, {client.platform} {client.platform_version}, entries 3",
        _host() if client.platform == "cpu" else f"{client.device_count()} of {sorted({d.device_kind for d in devices})}",
    )


def _processes_of(devices: tuple[_jaxlib.Device, ...]) -> set[int]:
    return {device.process_index for device in devices}


def _is_dumping(compile_options: _jaxlib.CompileOptions) -> bool:
    overrides = compile_options.env_option_overrides
    return bool(compile_options.executable_build_options.debug_options.xla_dump_to) or any(
        name == "xla_dump_to" for name, _ in overrides
    )


_LOCATION = re.compile(r" loc\(#loc\d*\)")


def without_locations(text: str) -> str:
    """The text without locations as laminax_lowering writes them: an alias after each operation, defined at the end."""
    end = text.find("\n}\n#loc")
    return _LOCATION.sub("", text if end < 0 else text[:end])


def _options_text(compile_options: _jaxlib.CompileOptions) -> bytes:
    """The options as bytes that are equal in every process; the overrides are a map, of no fixed order."""
    overrides = sorted(compile_options.env_option_overrides)
    if not overrides:
        return compile_options.SerializeAsString()
    plain = _jaxlib.copied_options(compile_options)
    plain.env_option_overrides = []
    return plain.SerializeAsString() + repr(overrides).encode()


@functools.cache
def _host() -> str:
    """The host that XLA specialises CPU code for: the processor's model and instruction sets, and the cores to share loops among."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        with open("/proc/cpuinfo") as file:  # one paragraph per core
            lines = [line for line in iter(file.readline, "\n") if line.startswith(_CPU_LINES)]
    except OSError:
        lines = []
    if not lines:  # the processor cannot be asked, so entries stay on the machine that made them
        import platform  # which takes 3 ms

        lines = [platform.machine(), platform.processor(), platform.node()]
    return f"{cores} cores, {_digest(''.join(lines).encode())}"


_CPU_LINES = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=20).hexdigest()


def load(
    key: CacheKey, devices: tuple[_jaxlib.Device, ...], compile_options: _jaxlib.CompileOptions, name: str,
    host_callbacks: Sequence[Callable[..., Any]] = (),
) -> _jaxlib.LoadedExecutable | None:
    """The program of this key, calling these functions of Python, or None. Its custom calls must have been registered."""
    cache = _open()
    if cache is None:
        return None
    monitoring.record_event("/jax/compilation_cache/compile_requests_use_cache")
    start = time.perf_counter()
    try:
        entry = cache.read(key.name)
        if entry is not None:
            (seconds,), serialized = _SECONDS.unpack_from(entry), entry[_SECONDS.size:]
            loaded = devices[0].client.deserialize_executable(
                serialized, _jaxlib.DeviceList(devices), compile_options, list(host_callbacks))
            _count("hits")
            monitoring.record_event("/jax/compilation_cache/cache_hits")
            retrieval = time.perf_counter() - start
            monitoring.record_event_duration_secs("/jax/compilation_cache/cache_retrieval_time_sec", retrieval)
            monitoring.record_event_duration_secs("/jax/compilation_cache/compile_time_saved_sec", seconds - retrieval)
            _log(config.log_compiles.value, "hit for %s", name)
            return loaded
    except DamagedEntryError as error:
        _report_trouble("damaged", f"an entry is damaged, and was removed: {error}. The program is compiled again.")
    except _jaxlib.XlaRuntimeError as error:
        cache.remove(key.name)
        _report_trouble("refused", f"XLA cannot load an entry, which was removed: {error}. The program is compiled again.")
    except OSError as error:
        _report_trouble("read", f"it cannot be read: {error}. Programs are compiled without it.")
    _count("misses")
    monitoring.record_event("/jax/compilation_cache/cache_misses")
    _log(config.log_compiles.value, "miss for %s", name)
    _log(False, "what was looked for is %s", key)
    return None


def store(key: CacheKey, loaded: _jaxlib.LoadedExecutable, seconds: float, name: str, devices: tuple[_jaxlib.Device, ...],
          is_part: bool = False) -> None:
    """Keeps a program if compiling it took long enough, or if it is a part of a larger program; the first process that runs it does."""
    if loaded.client.process_index() != min(_processes_of(devices)):
        log_not_stored(name, "because another process does, on whose devices it runs too")
        return
    least_seconds, least_bytes = options.persistent_cache_min_compile_time_secs.value, options.persistent_cache_min_entry_size_bytes.value
    if seconds < least_seconds and not is_part:
        log_not_stored(name, f"because it took < {least_seconds:.2f} seconds to compile ({seconds:.2f}s)")
        return
    if (cache := _open()) is None:
        return
    try:
        serialized = loaded.client.serialize_executable(loaded)
        if len(serialized) < least_bytes:
            log_not_stored(name, f"because its size, {len(serialized)} bytes, is less than threshold, {least_bytes} bytes")
            return
        if cache.write(key.name, _SECONDS.pack(seconds) + serialized):
            _count("stores")
            _log(config.log_compiles.value, "stored %s, which took %.2f s to compile", name, seconds)
            _log(_explains(), "stored %s: written to persistent compilation cache with key %s", name, key.name)
    except _jaxlib.XlaRuntimeError as error:  # a platform, or a custom call, that cannot be serialised
        log_not_stored(name, f"because it cannot be serialised: {error}")
    except OSError as error:
        _report_trouble("write", f"it cannot be written: {error}. Set compilation_cache_dir to a folder that can.")


def _open() -> DiskCache | None:
    folder = options.compilation_cache_dir.value
    limit = options.compilation_cache_max_size.value
    try:
        return _cache_in(folder, None if limit < 0 else limit, options.compilation_cache_secret_file.value)
    except (OSError, RuntimeError) as error:  # there is no home
        _report_trouble("folder", f"there is no folder for it: {error}. Set compilation_cache_dir.")
        return None


@functools.lru_cache(maxsize=16)
def _cache_in(folder: str | None, max_bytes: int | None, secret_file: str | None) -> DiskCache:
    secret = None if secret_file is None else read_secret(Path(secret_file).expanduser())
    path = _user_cache_folder() / "laminax" / "compiled" if folder is None else Path(folder).expanduser().absolute()
    return DiskCache(path, max_bytes, secret=secret)


def _user_cache_folder() -> Path:
    """The folder that platformdirs names; on Linux without its import, which takes longer than a small program to compile."""
    if sys.platform == "linux":
        folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return folder if folder.is_absolute() else Path.home() / ".cache"
    import platformdirs

    return Path(platformdirs.user_cache_path())


_lock = threading.Lock()
_reported: set[str] = set()


def _count(what: str) -> None:
    with _lock:
        setattr(statistics, what, getattr(statistics, what) + 1)


def log_not_stored(name: str, why: str) -> None:
    """Logs that a program that was compiled is not kept for the next process."""
    _log(_explains(), "Not writing persistent cache entry for %s %s", name, why)


def _explains() -> bool:
    """Whether the user asks why programs are not in the cache, and has chosen its folder; all others get no explanations."""
    return config.explain_cache_misses.value and options.compilation_cache_dir.value is not None


def _log(is_asked_for: bool, message: str, *args: Any) -> None:
    """Logs a warning if that is asked for, else a message for debugging."""
    if is_asked_for or "logging" in sys.modules:  # importing it takes 5 ms, and nobody listens
        import logging

        level = logging.WARNING if is_asked_for else logging.DEBUG
        logging.getLogger("laminax").log(level, f"Persistent compilation cache: {message}.", *args)


def _report_trouble(kind: str, message: str) -> None:
    """One warning per kind of trouble: a program that compiles a thousand functions must not warn a thousand times."""
    message = f"The persistent compilation cache: {message}"
    if options.raise_persistent_cache_errors.value:
        raise RuntimeError(message)
    with _lock:
        statistics.troubles += 1
        if kind in _reported:
            return
        _reported.add(kind)
    warnings.warn(f"{message} LAMINAX_ENABLE_COMPILATION_CACHE=0 switches it off.", RuntimeWarning, stacklevel=3)
