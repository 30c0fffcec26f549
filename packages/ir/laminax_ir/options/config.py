"""Configuration: the options of tracing and of what users see, and all options under one roof.

    with enable_x64(True): ...             # this thread, inside the block
    config.update("jax_enable_x64", True)  # the process; "laminax_enable_x64" and "enable_x64" mean the same
    LAMINAX_ENABLE_X64=1 python train.py   # the process, from its start; JAX_ENABLE_X64=1 too
"""

from __future__ import annotations

from typing import Any

from laminax_ir.options.config_options import ValueType, all_options, boolean, define, find, integer, one_of

# --- the options ---

_MATMUL_PRECISIONS = (
    "default",
    "high",
    "highest",
    "bfloat16",
    "tensorfloat32",
    "float32",
    # dot algorithms: operand types, accumulator type, number of passes
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
)

enable_x64 = define(
    "enable_x64",
    False,
    boolean,
    "Keep 64-bit types; otherwise they become their 32-bit counterparts.",
    affects_tracing=True,
    aliases=("x64_enabled",),
    example="""
>>> with laminax.enable_x64():
...     jnp.arange(3.0).dtype
dtype('float64')
""",
)
explicit_x64_dtypes = define(
    "explicit_x64_dtypes",
    "warn",
    one_of("warn", "error", "allow"),
    "What becomes of 64-bit dtypes that are asked for without enable_x64: 32-bit ones with a warning, an error, or what was asked for.",
    affects_tracing=True,
)
numpy_dtype_promotion = define(
    "numpy_dtype_promotion",
    "standard",
    one_of("standard", "strict"),
    "How operands of different dtypes combine: by the whole lattice, or only Python scalars with arrays.",
    affects_tracing=True,
    example="""
>>> with laminax.numpy_dtype_promotion("strict"):
...     jnp.ones(2, jnp.int32) + jnp.ones(2)
Traceback (most recent call last):
  ...
TypePromotionError: Input dtypes int32 and float32 have no available implicit dtype promotion path...
""",
)
numpy_rank_promotion = define(
    "numpy_rank_promotion",
    "allow",
    one_of("allow", "warn", "raise"),
    "What to do when operands of different ranks are broadcast.",
    affects_tracing=True,
    example="""
>>> with laminax.numpy_rank_promotion("raise"):
...     jnp.ones((2, 3)) + jnp.ones(3)
Traceback (most recent call last):
  ...
ValueError: Operands could not be broadcast together for add on shapes (2, 3) (3,)...
""",
)
allow_f16_reductions = define(
    "allow_f16_reductions",
    True,
    boolean,
    "Let sums be made in 16 bits; otherwise a sum of several float16 or bfloat16 numbers is an error.",
    affects_tracing=True,
    example="""
>>> with laminax.allow_f16_reductions(False):
...     laminax.lax.reduce_sum(jnp.ones(4, jnp.float16), (0,))
Traceback (most recent call last):
  ...
ValueError: reduce_sum on operand f16[4] is not allowed...
""",
)
default_matmul_precision = define(
    "default_matmul_precision",
    None,
    one_of(*_MATMUL_PRECISIONS, optional=True),
    "The precision of matrix products and convolutions that do not state one; None is the platform's choice.",
    affects_tracing=True,
    example="""
>>> with laminax.default_matmul_precision("highest"):
...     jnp.ones(3) @ jnp.ones(3)
Array(3., dtype=float32)
""",
)
check = define(
    "check",
    False,
    boolean,
    "Check the types of each program as soon as it is traced.",
    affects_tracing=True,  # a program traced without the check must be traced again with it
    aliases=("enable_checks",),
    name_in_jax="enable_checks",
    example="""
>>> with laminax.enable_checks():
...     laminax.jit(lambda x: x * 2)(1.0)
Array(2., dtype=float32, weak_type=True)
""",
)
check_leaks = define(
    "check_leaks",
    False,
    boolean,
    "Raise as soon as a traced function returns while one of its tracers is still alive.",
    affects_tracing=True,  # a program traced without the check must be traced again with it
    aliases=("check_tracer_leaks", "checking_leaks"),
    name_in_jax="check_tracer_leaks",
    example="""
>>> kept = []
>>> with laminax.check_tracer_leaks():
...     laminax.jit(kept.append)(1.0)
Traceback (most recent call last):
  ...
LeakedTracerError: Leaked trace DynamicJaxprTrace: a value traced by jit(append) is still alive after that trace has ended...
""",
)
check_static_indices = define(
    "check_static_indices",
    False,
    boolean,
    "Raise when an int in x[...] is out of bounds, instead of taking the nearest element.",
    affects_tracing=True,  # a program traced without the check must be traced again with it
)
disable_bwd_checks = define(
    "disable_bwd_checks",
    False,
    boolean,
    "Leave the shapes and dtypes unchecked that backward rules of custom_vjp return.",
    affects_tracing=True,
)
disable_jit = define(
    "disable_jit",
    False,
    boolean,
    "Run jit's functions operation by operation, as plain Python.",
    affects_tracing=True,
)
debug_nans = define(
    "debug_nans",
    False,
    boolean,
    "Raise when an operation returns a NaN.",
    example="""
>>> with laminax.debug_nans():
...     jnp.log(-1.0)
Traceback (most recent call last):
  ...
FloatingPointError: invalid value (nan) encountered in log...
""",
)
debug_infs = define(
    "debug_infs",
    False,
    boolean,
    "Raise when an operation returns an infinity.",
    example="""
>>> with laminax.debug_infs():
...     jnp.log(0.0)
Traceback (most recent call last):
  ...
FloatingPointError: invalid value (inf) encountered in log...
""",
)
debug_key_reuse = define(
    "debug_key_reuse",
    False,
    boolean,
    "Raise when a random key is used a second time.",
    example="""
>>> key = laminax.random.key(0)
>>> with laminax.debug_key_reuse():
...     laminax.random.normal(key) + laminax.random.uniform(key)
Traceback (most recent call last):
  ...
KeyReuseError: Previously-consumed key passed to jit-compiled function at index 0...
""",
)
traceback_filtering = define(
    "traceback_filtering",
    "auto",
    one_of("off", "auto", "tracebackhide", "remove_frames", "quiet_remove_frames"),
    "How errors show laminax's own frames: all (off), marked for IPython (tracebackhide), or not: with the whole traceback as "
    "the error's cause (remove_frames), or a note (quiet_remove_frames). auto is tracebackhide in IPython, else the last.",
)
include_full_tracebacks_in_locations = define(
    "include_full_tracebacks_in_locations",
    False,
    boolean,
    "Give operations in compiled programs the positions of the user's calls around them too; tracing takes longer.",
    affects_tracing=True,  # a program traced without them must be traced again
)
traceback_in_locations_limit = define(
    "traceback_in_locations_limit",
    10,
    integer,
    "How many positions an operation has with include_full_tracebacks_in_locations; a negative number is no limit.",
    affects_tracing=True,
)
log_compiles = define(
    "log_compiles",
    False,
    boolean,
    "Log each compilation and what it was for, as warnings.",
    example="""
>>> with laminax.log_compiles():  # "Compiling jit(<lambda>) for arguments (f32[])" and more, as warnings
...     laminax.jit(lambda x: x * 2)(1.0)
Array(2., dtype=float32, weak_type=True)
""",
)
show_progress = define("show_progress", True, boolean, "Show a line in the terminal while something is traced or compiled for seconds.")
explain_cache_misses = define(
    "explain_cache_misses",
    False,
    boolean,
    "Log, as warnings, why a function is traced or compiled: it is new, or which argument or option changed, and how.",
    example="""
>>> with laminax.explain_cache_misses():  # "never seen function, defined at ..." and the like, as warnings
...     laminax.jit(lambda x: x * 2)(1.0)
Array(2., dtype=float32, weak_type=True)
""",
)
log_checkpoint_residuals = define(
    "log_checkpoint_residuals", False, boolean,
    "Log what each checkpointed function keeps for its derivative as a warning; without it, that is logged for debugging only."
)
captured_constants_warn_bytes = define(
    "captured_constants_warn_bytes",
    2 * 10**9,
    integer,
    "Warn when the constants that a compiled function captures take this many bytes; -1 never warns.",
)
cpu_kernels = define(
    "cpu_kernels",
    True,
    boolean,
    "Write programs for one CPU device as its compiler does well: with rules of its own for some operations, a small loop as one kernel.",
    affects_tracing=True,  # a program compiled without them is another one
)
no_tracing = define(
    "no_tracing",
    False,
    boolean,
    "Raise where a function would be traced for jit.",
    example="""
>>> with laminax.no_tracing():
...     laminax.jit(lambda x: x * 2)(1.0)
Traceback (most recent call last):
  ...
RuntimeError: jit(<lambda>) was to be traced, but the option no_tracing is set...
""",
)
default_prng_impl = define(
    "default_prng_impl",
    "threefry2x32",
    one_of("threefry2x32", "rbg", "unsafe_rbg", "philox2x32", "philox4x32", "threefry4x32"),
    "The generator behind random keys that do not name one.",
    affects_tracing=True,
    example="""
>>> with laminax.default_prng_impl("rbg"):
...     laminax.random.key(0).dtype
key<rbg>
""",
)
enable_custom_prng = define(
    "enable_custom_prng",
    False,
    boolean,
    "Make typed keys, as random.key does, where random.PRNGKey is called.",
    affects_tracing=True,
    example="""
>>> with laminax.enable_custom_prng():
...     laminax.random.PRNGKey(0).dtype
key<fry>
""",
)
legacy_prng_key = define(
    "legacy_prng_key",
    "allow",
    one_of("allow", "warn", "error"),
    "What to do when random functions are given the words of a key instead of a typed key.",
    affects_tracing=True,  # a program traced while they were allowed must be traced again
    example="""
>>> with laminax.legacy_prng_key("error"):
...     laminax.random.normal(laminax.random.PRNGKey(0))
Traceback (most recent call last):
  ...
ValueError: Legacy uint32 key array passed as key to jax.random function...
""",
)
random_seed_offset = define(
    "random_seed_offset", 0, integer, "Is added to the seed of every random key.", affects_tracing=True
)
high_dynamic_range_gumbel = define(
    "high_dynamic_range_gumbel",
    False,
    boolean,
    "Draw Gumbel samples, and those of categorical, with mode='high' where no mode is given.",
    affects_tracing=True,
)
softmax_custom_jvp = define(
    "softmax_custom_jvp",
    False,
    boolean,
    "Differentiate nn.softmax by a rule that keeps its result only.",
    affects_tracing=True,
    example="""
>>> with laminax.softmax_custom_jvp():
...     laminax.grad(lambda x: laminax.nn.softmax(x)[0])(jnp.zeros(2))
Array([ 0.25, -0.25], dtype=float32)
""",
)
threefry_partitionable = define(
    "threefry_partitionable",
    True,
    boolean,
    "Generate threefry's bits so that each shard computes its own part.",
    affects_tracing=True,
    example="""
>>> with laminax.threefry_partitionable(False):  # other bits than with True, of the same distribution
...     laminax.random.bits(laminax.random.key(0), (2,)).dtype
dtype('uint32')
""",
)


# --- the facade for users ---


class Config:
    """All options under one roof, by name: `config.update(name, value)` and `config.enable_x64`.

    Names work with the prefix "laminax_" or "jax_", or without one. Reading gives the value in this thread.
    """

    __slots__ = ()

    def update(self, name: str, value: Any) -> None:
        """Sets an option's global value.

        Raises:
            AttributeError: there is no such option.
            ValueError: the option does not take this value.

        Example:
            >>> config.update("jax_enable_x64", False)
        """
        find(name).set_global(value)

    def read(self, name: str) -> Any:
        """An option's value in this thread."""
        return find(name).value

    @property
    def values(self) -> dict[str, Any]:
        """Every option's value in this thread, by the name it has in JAX: `values["jax_enable_x64"]`."""
        return {"jax_" + option.name: option.value for option in all_options()}

    def config_with_absl(self) -> None:
        """Gives absl's command line a flag for each option, --jax_enable_x64 and so on; call it before absl parses.

        Raises:
            ImportError: the package absl-py is not installed.
        """
        from laminax_ir.options.absl_flags import define_flags

        define_flags()

    def parse_flags_with_absl(self) -> None:
        """Sets options from this program's command line, --jax_enable_x64=1 and so on; leaves other arguments alone.

        Raises:
            ImportError: the package absl-py is not installed.
        """
        from laminax_ir.options.absl_flags import parse_command_line

        parse_command_line()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy, pickle and doctest probe for these
            raise AttributeError(name)
        return find(name).value

    def __setattr__(self, name: str, value: bool) -> None:
        raise AttributeError(f"config.{name} cannot be assigned. Call config.update({name!r}, {value!r}).")

    def __dir__(self) -> list[str]:
        return ["config_with_absl", "parse_flags_with_absl", "read", "update", "values", *(option.name for option in all_options())]

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{option.name}={option.value!r}' for option in all_options())})"


config = Config()


def _check_names(value: Any) -> frozenset:
    if not isinstance(value, (set, frozenset)):
        raise TypeError(f"no_collectives: Expected axis name(s) as set or frozenset, got {value!r} of type {type(value).__name__}")
    return frozenset(value)


no_collectives = define(
    "no_collectives",
    frozenset(),
    ValueType("a set of names of mesh axes", _check_names, lambda text: frozenset(filter(None, text.split(",")))),
    "Mesh axes along which operations on explicitly split arrays, and collectives, must not have devices exchange data.",
    affects_tracing=True,
)

auto_pcast = define(
    "auto_pcast", True, boolean,
    "Whether inexact operands that are the same on all devices of a checked shard_map are taken to vary beside others that do; else such "
    "operations are refused, and lax.pcast says it.",
    affects_tracing=True,
    example="""
>>> f = laminax.shard_map(lambda x: x + jnp.ones(2), mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x"))
>>> with laminax.auto_pcast(False):  # x varies along the mesh's axis "x", the ones do not
...     f(jnp.ones(8))
Traceback (most recent call last):
  ...
ValueError: Primitive add requires varying manual axes to match...
""",
)

remove_size_one_mesh_axis_from_type = define(
    "remove_size_one_mesh_axis_from_type", False, boolean,
    "Whether types leave out mesh axes of size 1: those that split values over explicit axes, and those along which values vary.",
    affects_tracing=True,
    example="""
>>> one = laminax.make_mesh((1,), ("one",), (AxisType.Explicit,))
>>> with laminax.remove_size_one_mesh_axis_from_type(True):  # without it, the type is float32[4@one]
...     print(laminax.typeof(laminax.device_put(jnp.ones(4), NamedSharding(one, PartitionSpec("one")))))
float32[4]
""",
)
