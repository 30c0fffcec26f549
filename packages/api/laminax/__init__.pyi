# Written by tools/stubs.py.
"""laminax: function transformations for numerical Python, compiled by XLA."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from laminax._src.autojit.autojit import F
from laminax._src.compiling.stages import Lowered, Traced
from laminax._src.explaining.explain import Explain
from laminax_ir.options.ambient import Override
from laminax_ir.options.config import Config
from laminax_ir.options.config_options import Option
from laminax_ir.options.restoring import Together
from laminax_ir.options.user_contexts import UserContext
from laminax_ir.refs.dynamic_slices import Slice
from laminax_ir.refs.refs import Ref as _Ref
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ShapedArray
from laminax_runtime._jaxlib import Device as _Device
from laminax_runtime.arrays.arrays import ArrayImpl
from laminax_runtime.arrays.shardings import Index, Sharding
from laminax_runtime.backends.meshes import Mesh
from laminax_runtime.backends.placement import Device as __Device
from numpy.dtypes import VoidDType
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, overload
from laminax import ad as ad
from laminax import ad_checkpoint as ad_checkpoint
from laminax import api_util as api_util
from laminax import core as core
from laminax import custom_batching as custom_batching
from laminax import custom_derivatives as custom_derivatives
from laminax import custom_transpose as custom_transpose
from laminax import debug as debug
from laminax import distributed as distributed
from laminax import dlpack as dlpack
from laminax import dtypes as dtypes
from laminax import errors as errors
from laminax import example_libraries as example_libraries
from laminax import experimental as experimental
from laminax import export as export
from laminax import extend as extend
from laminax import ffi as ffi
from laminax import flatten_util as flatten_util
from laminax import image as image
from laminax import interpreters as interpreters
from laminax import lax as lax
from laminax import lib as lib
from laminax import linen as linen
from laminax import memory as memory
from laminax import monitoring as monitoring
from laminax import nn as nn
from laminax import numpy as numpy
from laminax import ops as ops
from laminax import profiler as profiler
from laminax import random as random
from laminax import ref as ref
from laminax import scipy as scipy
from laminax import sharding as sharding
from laminax import stages as stages
from laminax import test_util as test_util
from laminax import testing as testing
from laminax import tree as tree
from laminax import tree_util as tree_util
from laminax import typing as typing
from laminax import version as version
from laminax._array import Array as Array
from laminax._src.compiling.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from laminax_ir.ops.calls import Inline as Inline
from laminax_ir.refs.refs import Ref as Ref
from laminax_ir.types.partition_specs import P as P
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct as ShapeDtypeStruct
from laminax_runtime._jaxlib import Device as Device
from laminax_runtime._jaxlib import NamedSharding as NamedSharding
from laminax_runtime.arrays.arrays import Shard as Shard
from laminax_runtime.backends.meshes import set_mesh as set_mesh
from laminax_runtime.backends.meshes import use_abstract_mesh as use_abstract_mesh
from laminax_runtime.base.options import CompilerEffortLevel as CompilerEffortLevel
from laminax_transforms.custom.custom_jvp import custom_jvp as custom_jvp
from laminax_transforms.custom.custom_vjp import custom_vjp as custom_vjp
from laminax_transforms.rematerializing.checkpoint_policies import checkpoint_policies as checkpoint_policies

__all__: list[str]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_A = TypeVar("_A")
_R_co = TypeVar("_R_co", covariant=True)

class JitFunction(Protocol[_P, _R_co]):
    """A jitted function: called as the function itself, with the stages ahead of time beside."""

    __wrapped__: Callable[..., Any]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Callable[..., _R_co]: ...
    def trace(self, *args: _P.args, **kwargs: _P.kwargs) -> Traced:
        """Traces the function for arguments like these."""
    def lower(self, *args: _P.args, **kwargs: _P.kwargs) -> Lowered:
        """Lowers the function for arguments like these, arrays or ShapeDtypeStructs."""
    def eval_shape(self, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        """Shapes and dtypes of the result, without computing it."""
    def clear_cache(self) -> None:
        """Forgets the traced and compiled programs of this function."""

@overload
def jit(
    fun: Callable[_P, _R],
    /,
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> JitFunction[_P, _R]:
    """Sets up a function for just-in-time compilation."""
@overload
def jit(
    *,
    in_shardings: Any = ...,
    out_shardings: Any = ...,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    abstracted_axes: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> Callable[[Callable[_P, _R]], JitFunction[_P, _R]]:
    """Sets up a function for just-in-time compilation: a decorator with options."""
def grad(
    fun: Callable[_P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, Any]:
    """Makes a function that computes the gradient of a scalar function."""
@overload
def value_and_grad(
    fun: Callable[_P, tuple[_R, _A]],
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: Literal[True],
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, tuple[tuple[_R, _A], Any]]:
    """Makes a function that computes a scalar function's value, with what else it returns, and its gradient."""
@overload
def value_and_grad(
    fun: Callable[_P, _R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[_P, tuple[_R, Any]]:
    """Makes a function that computes a scalar function's value and its gradient."""
def jacfwd(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[_P, Any]:
    """Makes a function that computes the Jacobian column by column, in forward mode: best for few inputs."""
def jacrev(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False, allow_int: bool = False
) -> Callable[_P, Any]:
    """Makes a function that computes the Jacobian row by row, in reverse mode: best for few outputs."""
def hessian(
    fun: Callable[_P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[_P, Any]:
    """Makes a function that computes the Hessian, forward over reverse. Arguments as for `jacfwd`."""
@overload
def jvp(
    fun: Callable[..., _R], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = False
) -> tuple[_R, _R]:
    """The value of a function and its derivative along tangents."""
@overload
def jvp(
    fun: Callable[..., tuple[_R, _A]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[_R, _R, _A]:
    """The value of a function, its derivative along tangents, and what else it returns."""
def vmap(
    fun: Callable[_P, _R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Hashable = None,
    axis_size: int | None = None,
    spmd_axis_name: Hashable = None,
) -> Callable[_P, _R]:
    """Makes a function work on batches: it maps over axes of the arguments."""
@overload
def checkpoint(
    fun: Callable[_P, _R],
    *,
    concrete: bool = False,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[_P, _R]:
    """Makes a function recompute its intermediate values when it is differentiated, instead of keeping them."""
@overload
def checkpoint(
    fun: None = None,
    *,
    concrete: bool = False,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Callable[..., Any] | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Iterable[str] = (),
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Makes a function recompute its intermediate values when it is differentiated: a decorator with options."""
remat = checkpoint
def named_call(fun: Callable[_P, _R], *, name: str | None = None) -> Callable[_P, _R]:
    """Gives the operations of a function a common name, which profiles and compiled programs show."""
def block_until_ready(x: _A) -> _A:
    """Waits until every array of the pytree has been computed; returns x."""
def device_put(x: _A, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None) -> _A | Any:
    """Transfers values to a device."""

__version__: str
__version_info__: tuple[Any, ...]
allow_f16_reductions: Option
array_garbage_collection_guard: Option
auto_pcast: Option
def autojit(func: F) -> F:
    """`jit` for a function whose arguments and results are any objects: arrays are found in them, all else is static."""
check_tracer_leaks: Option
checking_leaks: Option
def clear_caches() -> None:
    """Forgets every traced function and compiled program."""
def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Turns the traced values that a function closes over into explicit arguments."""
config: Config
def copy_to_host_async(x: Any) -> Any:
    """Starts the copy of every array of the pytree to the host, so that a later `device_get` need not wait; returns x."""
def custom_gradient(
    fun: Callable[..., Any] | None = None,
    *,
    with_logs: bool = False,
    remat: bool = False,
    with_accums: Any = None,
) -> Callable[..., Any]:
    """Decorator: the function returns its result and its own pullback."""
debug_infs: Option
debug_key_reuse: Option
debug_nans: Option
def default_backend() -> str:
    """The default platform's name: 'cpu', 'gpu' or 'tpu'."""
default_device: Option
default_matmul_precision: Option
default_prng_impl: Option
def device_count(backend: str | None = None) -> int:
    """How many devices a platform has, over all processes."""
def device_get(x: Any) -> Any:
    """Transfers arrays to the host: a pytree like x, with NumPy arrays in the place of arrays."""
def device_put_replicated(x: Any, devices: Sequence[_Device]) -> Any:
    """Puts a copy of a value on each device, as one array with a new leading axis."""
def device_put_sharded(shards: Sequence[Any], devices: Sequence[_Device]) -> Any:
    """Puts one value on each device, as one array with a new leading axis."""
def devices(backend: str | None = None) -> list[__Device]:
    """All devices of a platform, those of other processes included, in the order of their ids."""
def disable_jit(disable: bool = True) -> Override:
    """Context manager: jitted functions run as plain Python inside, operation by operation, so that values can be seen."""
def ds(start: Any, size: int | None = None, stride: int | None = None) -> slice | Slice:
    """An index of `size` elements from `start` on, which may be traced, where `x[start:start + size]` needs known bounds."""
def effects_barrier() -> None:
    """Waits until the callbacks of all programs that were started have been called."""
def empty_ref(ty: Any, memory_space: Any = None, pin: bool = False) -> _Ref:
    """Makes a reference whose first value does not matter."""
enable_checks: Option
enable_custom_prng: Option
enable_x64: Option
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of a function's result, without computing it."""
explain: Explain
explain_cache_misses: Option
float0: VoidDType
def free_ref(ref: _Ref) -> None:
    """Ends the life of a reference: `freeze`, without the value."""
def freeze(ref: _Ref) -> Any:
    """The array in a reference, which must not be used afterwards."""
def fwd_and_bwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool = False,
    jitted: bool = True,
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Makes the functions of a forward and a backward pass, each compiled once however often they are called."""
def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh that `set_mesh` has set, or an abstract mesh without axes."""
def get_mesh() -> Mesh:
    """The mesh that `set_mesh` has set, or an empty one."""
def host_count(backend: str | None = None) -> int:
    """How many processes compute together."""
def host_id(backend: str | None = None) -> int:
    """This process's number among those that compute together."""
def host_ids(backend: str | None = None) -> list[int]:
    """The numbers of all processes that compute together."""
def jacobian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """Makes a function that computes the Jacobian row by row, in reverse mode: best for few outputs."""
legacy_prng_key: Option
def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Sequence[Any] = ...) -> Callable[..., Any]:
    """Transposes a function that is linear in all its arguments."""
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, in_nzs: Any = None) -> tuple[Any, ...]:
    """Linearizes a function at a point."""
def live_arrays(platform: str | None = None) -> list[Any]:
    """The arrays of a platform, by default the default one, that have not been deleted."""
def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext laminax` in IPython and Jupyter: dicts, lists and tuples that hold arrays of laminax are shown as trees that fold."""
def local_device_count(backend: str | None = None) -> int:
    """How many devices of a platform this process can address."""
def local_devices(process_index: int | None = None, backend: str | None = None, host_id: int | None = None) -> list[Any]:
    """The devices that belong to one process, by default to this one."""
log_compiles: Option
def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding,
    data_callback: Callable[[Index], Any],
    dtype: Any = None,
) -> ArrayImpl:
    """An array whose parts come from a function that is asked for each."""
def make_array_from_process_local_data(sharding: Sharding | Any, local_data: Any, global_shape: Sequence[int | None] | Any = None) -> Any:
    """Arrays from the data that this process has of them: all of it, where the devices are all this process's own."""
def make_array_from_single_device_arrays(shape: Sequence[int], sharding: Sharding, arrays: Sequence[Any], *, dtype: Any = None) -> Any:
    """An array, or an array of keys, whose parts are the given single-device arrays, without copying."""
def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = ...,
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[..., Any]:
    """Makes a function that returns the jaxpr of `fun` for example arguments."""
def make_mesh(
    axis_sizes: Sequence[int] | None = None,
    axis_names: str | Sequence[Hashable] = ...,
    axis_types: AxisType | Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Any] | None = None,
    axis_shapes: Sequence[int] | None = None,
) -> Mesh:
    """A mesh over the first devices there are, in their order."""
def make_user_context(default_value: Any = None) -> UserContext:
    """Makes a value on which traced programs depend: a jitted function is traced and compiled anew where it has another one."""
def named_scope(name: str) -> Any:
    """A context manager and decorator that adds a name to the operations made inside; profiles and HLO show it."""
def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None, pin: bool = False) -> _Ref:
    """Makes a reference to an array, which can be read and written."""
no_execution: Option
no_tracing: Option
numpy_dtype_promotion: Option
numpy_rank_promotion: Option
def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = ...,
    devices: Sequence[_Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = ...,
    global_arg_shapes: None = None,
) -> Any:
    """Maps a function over an axis of arrays in parallel, each slice on a device of its own."""
def print_environment_info(return_string: bool = False) -> str | None:
    """Prints the versions of laminax and what it stands on, the devices, and the settings in the environment."""
def process_count(backend: str | None = None) -> int:
    """How many processes compute together."""
def process_index(backend: str | None = None) -> int:
    """This process's number among those that compute together."""
def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes that compute together."""
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Calls a Python function without side effects on the host, from a program that may be compiled."""
remove_size_one_mesh_axis_from_type: Option
def reshard(xs: Any, out_shardings: Any) -> Any:
    """Changes the sharding of values, inside and outside of jitted functions alike; over explicit mesh axes their types change too."""
def shard_map(
    f: Callable[..., Any] | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = ...,
    mesh: Mesh | AbstractMesh | None = None,
    axis_names: Set[Hashable] = ...,
    check_vma: bool = True,
) -> Any:
    """Maps a function over the parts of arrays that the devices of a mesh hold."""
def smap(f: Callable[..., Any] | None = None, /, *, in_axes: Any = ..., out_axes: Any, axis_name: Hashable) -> Any:
    """Maps a function over the parts of arrays along one axis of the mesh that is set: `shard_map` in the words of `vmap`."""
softmax_custom_jvp: Option
thread_guard: Option
threefry_partitionable: Option
def transfer_guard(new_val: str | None) -> Together:
    """Context manager: what to do about transfers between host and devices, in all directions, in this thread."""
transfer_guard_device_to_device: Option
transfer_guard_device_to_host: Option
transfer_guard_host_to_device: Option
def typeof(x: Any) -> ShapedArray:
    """The aval of a value: shape, dtype and whether the dtype is weak; or of what a `ShapeDtypeStruct` describes."""
def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext laminax`: containers look as before."""
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Sequence[Any] = ...,
    saveable_args: Any = True,
    in_nzs: Any = None,
) -> tuple[Any, ...]:
    """Evaluates a function and returns its vector-Jacobian product at that point (reverse mode)."""
def xla_computation(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = ...,
    axis_env: Sequence[tuple[Any, int]] | None = None,
    in_parts: Any = None,
    out_parts: Any = None,
    backend: str | None = None,
    tuple_args: bool | None = False,
    instantiate_const_outputs: bool | None = None,
    return_shape: bool = False,
    donate_argnums: int | Sequence[int] = ...,
) -> Callable[..., Any]:
    """Makes a function that returns the XLA computation of `fun` for example arguments."""
