"""Views of public modules under the names of JAX's private ones, for libraries that reach for these.

Most of what a private module of JAX defines is given by a public one. Where laminax has no module to put in its place, a view stands
there: a module without names of its own, which looks a name up in the modules of its row below and gives the first that it finds.
A name that none of them has is refused with the list of what was looked through.
"""

from __future__ import annotations

import importlib
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, Callable

_LAX = "laminax.lax laminax.extend.core.primitives"
_SHARDING = "laminax.sharding laminax:set_mesh,make_mesh,P"
_KEYS = "laminax.extend.random laminax_ir.key_arrays.keys:PRNGKeyArray"

# A private module, and where its names are: in modules, and with `module:name,name` those names of one.
_SOURCES = {
    "abstract_arrays": "laminax.core laminax.extend.core",
    "ad_checkpoint": "laminax.ad_checkpoint laminax.extend.core.primitives:remat_p",
    "array": "laminax:Array,Shard,make_array_from_callback,make_array_from_process_local_data,make_array_from_single_device_arrays "
             "laminax_runtime:ArrayImpl",
    "basearray": "laminax:Array laminax.typing",
    "callback": "laminax:pure_callback laminax.experimental:io_callback",
    "compute_on": "laminax.experimental.compute_on",
    "config": "laminax._settings laminax.config:update",
    "custom_batching": "laminax.custom_batching laminax.extend.core.primitives:custom_vmap_call_p",
    "custom_derivatives": "laminax.custom_derivatives",
    "custom_transpose": "laminax.custom_transpose",
    "debugging": "laminax.debug",
    "dlpack": "laminax.dlpack",
    "effects": "laminax.extend.core:Effect,Effects,no_effects "
               "laminax_ir.programs.effects:control_flow_allowed_effects,custom_derivatives_allowed_effects,lowerable_effects,"
               "ordered_effects,remat_allowed_effects,shardable_ordered_effects",
    "environment_info": "laminax:print_environment_info",
    "errors": "laminax.errors",
    "export": "laminax.export",
    "export._export": "laminax.export",
    "export.shape_poly": "laminax.export",
    "ffi": "laminax.ffi",
    "image": "laminax.image",
    "image.scale": "laminax.image",
    "interpreters": "laminax._src.names.interpreters",
    "interpreters.pxla": "laminax.interpreters.pxla",
    "layout": "laminax.experimental.layout",
    "lax": _LAX,
    "lax.linalg": "laminax.lax.linalg laminax.extend.core.primitives",
    "lib": "laminax.lib",
    "linear_util": "laminax.extend.linear_util",
    "memory": "laminax.memory",
    "mesh": _SHARDING,
    "mesh_utils": "laminax.experimental.mesh_utils",
    "monitoring": "laminax.monitoring",
    "named_sharding": _SHARDING,
    "nn": "laminax.nn",
    "nn.functions": "laminax.nn",
    "numpy": "laminax.numpy",
    "numpy.fft": "laminax.numpy.fft",
    "numpy.linalg": "laminax.numpy.linalg",
    "numpy.util": "laminax._src.names.numpy_util laminax.numpy:ndim,shape,size",
    "ops": "laminax.ops",
    "ops.scatter": "laminax.ops",
    "partition_spec": _SHARDING,
    "pjit": "laminax:jit laminax.experimental.pjit laminax.sharding laminax.lax:with_sharding_constraint "
            "laminax.extend.core.primitives:jit_p,reshard_p,sharding_constraint_p",
    "prng": _KEYS,
    "profiler": "laminax.profiler",
    "random": "laminax.random",
    "random.core": "laminax.random",
    "random.prng": _KEYS,
    "ref": "laminax.ref",
    "scipy": "laminax.scipy",
    "sharding": _SHARDING,
    "sharding_impls": _SHARDING,
    "source_info_util": "laminax.extend.source_info_util",
    "test_util": "laminax.test_util",
    "tree": "laminax.tree",
    "typing": "laminax._src.names.annotations",
    **dict.fromkeys((f"lax.{name}" for name in """
        ann control_flow control_flow.common control_flow.conditionals control_flow.loops control_flow.solves convolution erf fft lax
        lgamma other parallel slicing special utils windowed_reductions""".split()), _LAX),
    **dict.fromkeys((f"numpy.{name}" for name in """
        array_constructors array_creation einsum error index_tricks indexing lax_numpy polynomial reductions scalar_types setops sorting
        tensor_contractions ufunc_api ufuncs vectorize window_functions""".split()), "laminax.numpy"),
}
_made: dict[str, ModuleType] = {}


def top_level_names() -> list[str]:
    """The views that stand directly below `jax._src`."""
    return [name for name in _SOURCES if "." not in name]


def view(name: str) -> ModuleType | None:
    """What stands for `jax._src.NAME`; None where nothing does.

    Where the table has only the package above, `scipy` for `scipy.special`, it is the module of that name in the package's place.
    """
    if (made := _made.get(name)) is None and (sources := _SOURCES.get(name)) is not None:
        made = _made[name] = ModuleType(f"jax._src.{name}", f"What laminax gives of jax._src.{name}: names of {sources}.")
        made.__path__ = []
        made.__getattr__ = _finder(name, sources.split())  # type: ignore[method-assign]
    return made or _below(name)


def _below(name: str) -> ModuleType | None:
    above, _, child = name.rpartition(".")
    for source in _SOURCES.get(above, "").split():
        package = None if ":" in source else getattr(importlib.import_module(source), "__path__", None)
        if package and PathFinder.find_spec(f"{source}.{child}", package):
            return importlib.import_module(f"{source}.{child}")
    return None


def _finder(view_name: str, sources: list[str]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if f"{view_name}.{name}" in _SOURCES:
            return view(f"{view_name}.{name}")
        for source in sources if not name.startswith("__") else ():  # those are Python's questions to a module
            module, _, given = source.partition(":")
            if (not given or name in given.split(",")) and (value := getattr(_at(module), name, _absent)) is not _absent:
                return value
        if not name.startswith("_") and (below := _below(f"{view_name}.{name}")) is not None:
            return below
        raise AttributeError(_refusal(f"{view_name}.{name}"))
    return find


def missing(name: str) -> ModuleNotFoundError:
    """The error for `jax._src.NAME`, for which nothing stands: it may be meant as a module or, in `from ... import`, as a name of one."""
    above = name.rpartition(".")[0]
    if above in _SOURCES:  # not the name that is imported, or `from ... import` replaces this error by one without advice
        return ModuleNotFoundError(_refusal(name), name=f"jax._src.{above}")
    return ModuleNotFoundError(f"No module named 'jax._src.{name}': it is private to JAX, and laminax has nothing in its place. Use what "
                               f"JAX's public modules offer.", name=f"jax._src.{name}")


def _refusal(name: str) -> str:
    above, _, child = name.rpartition(".")
    return (f"module 'jax._src.{above}' has no {child!r}: it is private to JAX, and laminax offers in its place the names of "
            f"{', '.join(_SOURCES[above].split())}. Use one of these.")


def _at(path: str) -> Any:
    return importlib.import_module("laminax").config if path == "laminax.config" else importlib.import_module(path)


_absent = object()
