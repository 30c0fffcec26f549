"""The runtime's options: which platforms and how many devices, where arrays go that name no device, and the cache on disk.

They live apart from the code that reads them so that they can be set before jaxlib is loaded.
"""

from __future__ import annotations

import enum
import os
import sys
from typing import Any

from laminax_ir.options import config_options
from laminax_ir.options.ambient import Ambient, Scope, subscribe
from laminax_ir.options.restoring import Together
from laminax_runtime.base import process_options  # noqa: F401  (defined with these)

# Set by `backends` when the CPU platform has started: its number of devices can no longer be chosen.
has_cpu_started = False


def _check_count(value: Any) -> int:
    value = -1 if value is None else value
    if not (isinstance(value, int) and not isinstance(value, bool) and (value > 0 or value == -1)):
        raise ValueError
    if has_cpu_started and value != num_cpu_devices.value:
        raise RuntimeError(
            f"num_cpu_devices cannot be set to {value!r}: the CPU has started. The laminax_num_cpu_devices or "
            "jax_num_cpu_devices config should be updated before backends are initialized: before the first array or device "
            "is asked for, right after the import. Or set it in the environment as LAMINAX_NUM_CPU_DEVICES."
        )
    return value


def _check_platforms(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise ValueError


def _check_names(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _check_device(value: str | None) -> str | None:
    if value is None or isinstance(value, str) or hasattr(value, "platform"):
        return value
    raise ValueError


def _check_folder(value: Any) -> str | None:
    if value is None or value == "":
        return None
    value = os.fspath(value) if isinstance(value, (str, os.PathLike)) else value
    if isinstance(value, str) and "://" not in value:
        return value
    raise ValueError


def _check_seconds(value: float) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
        return float(value)
    raise ValueError


def _check_size(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= -1:
        return value
    raise ValueError


def _parse_none(text: str) -> str | None:
    return None if text.strip().lower() in ("", "none") else text.strip()


platforms = config_options.define(
    "platforms",
    None,
    config_options.ValueType("None or a comma-separated list such as 'cpu' or 'cuda,cpu'", _check_platforms, _parse_none),
    "The platforms to start, the default one first; None takes an accelerator that works, else the CPU.",
)
platform_name = config_options.define(
    "platform_name",
    None,
    config_options.ValueType("None or a platform's name, such as 'cpu' or 'gpu'", _check_platforms, _parse_none),
    "The default platform, of those that are started; `platforms` is the newer way.",
)
num_cpu_devices = config_options.define(
    "num_cpu_devices",
    -1,
    config_options.ValueType("-1 or a positive int", _check_count, lambda text: _check_count(int(text) if _parse_none(text) else None)),
    "How many devices the CPU platform has; -1, or None, leaves it to XLA_FLAGS, whose default is one.",
)
cpu_enable_async_dispatch = config_options.define(
    "cpu_enable_async_dispatch",
    True,
    config_options.boolean,
    "Let computations on the CPU run beside Python; read when the CPU starts.",
)
default_device = config_options.define(
    "default_device",
    None,
    config_options.ValueType("None, a device or a platform's name", _check_device, _parse_none),
    "Where uncommitted arrays and computations go; None is the default platform's first device.",
    example="""
>>> with laminax.default_device(laminax.devices()[-1]):
...     jnp.ones(2).device == laminax.devices()[-1]
True
""",
)

# --- the persistent compilation cache, with the names that JAX's options have ---

_folder = config_options.ValueType("None or the path of a local folder", _check_folder, _parse_none)
_seconds = config_options.ValueType("a number of seconds, 0 or more", _check_seconds, lambda text: _check_seconds(float(text)))
_size = config_options.ValueType("a number of bytes, 0, or -1 for no limit", _check_size, lambda text: _check_size(int(text)))

compile_regions = config_options.define(
    "compile_regions",
    True,
    config_options.boolean,
    "Compile a program of many large and equal blocks as a few executables, run in turn; it concerns functions compiled from then on.",
)
enable_compilation_cache = config_options.define(
    "enable_compilation_cache",
    True,
    config_options.boolean,
    "Keep compiled programs on disk, for the next process.",
)
compilation_cache_dir = config_options.define(
    "compilation_cache_dir",
    None,
    _folder,
    "The folder of the compilation cache; None is laminax's part of the user's cache folder. One that others can write to is refused.",
)
compilation_cache_secret_file = config_options.define(
    "compilation_cache_secret_file",
    None,
    config_options.ValueType("None or the path of a local file", _check_folder, _parse_none),
    "A file with a secret that the users of a shared compilation cache have in common: its folder may be of another owner, "
    "and written by a group.",
)
# A single operation compiles in 10 to 30 ms, is stored in a quarter of that, and loaded in an eighth. Programs of libraries run dozens of
# operations before their first step: compiling them in each process took more than half of a small model's first step.
persistent_cache_min_compile_time_secs = config_options.define(
    "persistent_cache_min_compile_time_secs",
    0.01,
    _seconds,
    "Programs that take less time to compile, in seconds, are not kept on disk.",
)
persistent_cache_min_entry_size_bytes = config_options.define(
    "persistent_cache_min_entry_size_bytes",
    0,
    _size,
    "Programs of fewer bytes are not kept on disk; 0 and -1 keep them all.",
)
compilation_cache_max_size = config_options.define(
    "compilation_cache_max_size",
    2 << 30,
    _size,
    "The size in bytes below which the folder of the compilation cache is kept; -1 is no limit, 0 no cache.",
)
compilation_cache_include_metadata_in_key = config_options.define(
    "compilation_cache_include_metadata_in_key",
    False,
    config_options.boolean,
    "Tell programs on disk apart that differ only in source locations and name scopes.",
)
raise_persistent_cache_errors = config_options.define(
    "raise_persistent_cache_errors",
    False,
    config_options.boolean,
    "Raise when the compilation cache cannot be used, instead of warning and compiling.",
)

# --- options for the compiler ---

class CompilerEffortLevel(enum.Enum):
    """How much the compiler does, for the options `optimization_level` and `memory_fitting_level`; also made of a name, as of "O1".

    Example:
      >>> laminax.config.update("optimization_level", laminax.CompilerEffortLevel.O1)
      >>> laminax.config.update("optimization_level", "UNKNOWN")  # as before: the compiler decides
    """

    UNKNOWN = 0
    O0 = 9
    O1 = 19
    O2 = 29
    O3 = 39

    @classmethod
    def _missing_(cls, value: object) -> CompilerEffortLevel | None:
        return cls.__members__.get(value) if isinstance(value, str) else None


_EFFORTS = config_options.one_of(*CompilerEffortLevel.__members__)
optimization_level = config_options.define(
    "optimization_level",
    "UNKNOWN",
    _EFFORTS,
    "How much XLA does for short run times, O0 to O3; UNKNOWN leaves it to XLA.",
    affects_tracing=True,  # a program compiled with another level is another one
)
memory_fitting_level = config_options.define(
    "memory_fitting_level",
    "O2",
    _EFFORTS,
    "How much XLA does to make a program fit in the device's memory, O0 to O3.",
    affects_tracing=True,
)
disable_most_optimizations = config_options.define(
    "disable_most_optimizations",
    False,
    config_options.boolean,
    "Compile fast, for programs that run slowly: where the compiler's work costs more than it saves.",
    affects_tracing=True,
)
compiler_enable_remat_pass = config_options.define(
    "compiler_enable_remat_pass",
    True,
    config_options.boolean,
    "Let XLA compute values again when memory is short.",
    affects_tracing=True,
)

dump_ir_to = config_options.define(
    "dump_ir_to",
    None,
    _folder,
    "A folder in which to leave the StableHLO of every program that is compiled, as text.",
)
disallow_mesh_context_manager = config_options.define(
    "disallow_mesh_context_manager", False, config_options.boolean, "Raise at `with mesh:`, in favour of `set_mesh`."
)
no_execution = config_options.define(
    "no_execution",
    False,
    config_options.boolean,
    "Raise where a compiled program would be run.",
    example="""
>>> with laminax.no_execution():
...     laminax.jit(lambda x: x * 2)(1.0)
Traceback (most recent call last):
  ...
RuntimeError: jit__lambda was to be run, but the option no_execution is set...
""",
)

# --- guards, which `guards` hands to jaxlib ---

# The option of each direction, by jaxlib's name for it; None leaves the level to jaxlib, whose default is "allow".
_LEVELS = config_options.one_of("allow", "log", "disallow", "log_explicit", "disallow_explicit", optional=True)
TRANSFER_DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")
transfer_guard_host_to_device, transfer_guard_device_to_device, transfer_guard_device_to_host = transfer_guards = tuple(
    config_options.define(
        f"transfer_guard_{direction}",
        None,
        _LEVELS,
        f"What to do about transfers {direction.replace('_', ' ')}: allow, log or disallow the implicit ones, or all.",
        example=f"""
>>> with laminax.transfer_guard_{direction}("disallow"):  # device_put and device_get are explicit, so they may
...     laminax.device_get(laminax.device_put(np.float32([1, 2])))
array([1., 2.], dtype=float32)
""",
    )
    for direction in TRANSFER_DIRECTIONS
)
_all_transfers = config_options.define(
    "transfer_guard",
    None,
    _LEVELS,
    "The transfer guard of all three directions; set-only, the level of a direction is its own option's.",
)
array_garbage_collection_guard = config_options.define(
    "array_garbage_collection_guard",
    None,
    config_options.one_of("allow", "log", "fatal", optional=True),
    "What to do when an array is freed by the garbage collector, which is late, and not with its last reference.",
    example="""
>>> with laminax.array_garbage_collection_guard("log"):  # an array that only a cycle of references holds is reported when it goes
...     x = jnp.ones(2)
""",
)
thread_guard = config_options.define(
    "thread_guard",
    False,
    config_options.boolean,
    "Raise when a computation of several processes is started by another thread than the one that set this.",
    example="""
>>> with laminax.thread_guard():  # in this thread, computations of several processes may be started
...     laminax.jit(lambda x: x * 2)(1.0)
Array(2., dtype=float32, weak_type=True)
""",
)


def _set_all_directions(option: Ambient, scope: Scope, value: Any) -> None:
    if scope == "global" and value is not None:
        for guard in transfer_guards:
            guard.set_global(value)


subscribe(_set_all_directions, _all_transfers)

# --- logs ---

logging_level = config_options.define(
    "logging_level",
    "NOTSET",
    config_options.one_of("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", optional=True),
    "Write what laminax and jaxlib log to stderr, from this level on; NOTSET and None leave it to the program.",
)
debug_log_modules = config_options.define(
    "debug_log_modules",
    "",
    config_options.ValueType("comma-separated names of modules, such as 'laminax'", _check_names, str),
    "Write everything that these modules log to stderr.",
)


def _set_loggers(option: Ambient, scope: Scope, value: Any) -> None:
    if scope == "global" and (value != option.default or loggers_are_set()):
        from laminax_runtime.base import loggers  # with `logging`, which takes 5 ms

        loggers.write_to_stderr(logging_level.value, debug_log_modules.value)


def loggers_are_set() -> bool:
    """Whether one of the options has been at work, and so must be heard when it is set back."""
    return "laminax_runtime.base.loggers" in sys.modules


subscribe(_set_loggers, logging_level, debug_log_modules)


def transfer_guard(new_val: str | None) -> Together:
    """Context manager: what to do about transfers between host and devices, in all directions, in this thread.

    Transfers that were asked for, by `device_put` and `device_get`, are explicit; those that an operation needs, for
    operands in NumPy or Python, are implicit. On the CPU, arrays are read without a transfer.

    Args:
        new_val: "allow"; "log" or "disallow" the implicit ones; "log_explicit" or "disallow_explicit" all of them.

    Raises:
        ValueError: there is no such level.

    Example:
        >>> with transfer_guard("disallow"):
        ...     y = jnp.sin(x)  # x + 1 would raise: the 1 has to be brought to the device
    """
    return Together(*[guard(new_val) for guard in transfer_guards])
