# Written by tools/stubs.py.
"""Kernels over grids of blocks, which are interpreted. A table of contents: names load on first use."""

from collections.abc import Callable, Mapping, Sequence
from laminax._array import Array
from laminax._src.pallas.blocks import GridSpec as _GridSpec, NoBlockSpec, Squeezed as _Squeezed
from laminax._src.pallas.costs import CostEstimate as _CostEstimate
from laminax._src.pallas.memory import MemorySpace as _MemorySpace
from laminax._src.pallas.tpu_memory import SemaphoreType
from laminax.typing import ArrayLike
from laminax_ir.options.ambient import Override
from laminax_ir.refs.dynamic_slices import Slice as _Slice
from typing import Any
from laminax import ds as ds
from laminax._src.pallas.blocks import BlockDim as BlockDim
from laminax._src.pallas.blocks import BlockSpec as BlockSpec
from laminax._src.pallas.blocks import Blocked as Blocked
from laminax._src.pallas.blocks import BoundedSlice as BoundedSlice
from laminax._src.pallas.blocks import Buffered as Buffered
from laminax._src.pallas.blocks import Element as Element
from laminax._src.pallas.blocks import GridSpec as GridSpec
from laminax._src.pallas.blocks import Squeezed as Squeezed
from laminax._src.pallas.costs import CostEstimate as CostEstimate
from laminax._src.pallas.memory import MemoryRef as MemoryRef
from laminax._src.pallas.memory import MemorySpace as MemorySpace
from laminax.experimental.pallas import ops as ops
from laminax.experimental.pallas import tpu as tpu
from laminax.experimental.pallas import triton as triton
from laminax_ir.refs.dynamic_slices import Slice as Slice

__all__: list[str]

ANY: _MemorySpace
def align_to(a: Any, alignment: Any) -> Any:
    """The least multiple of an integer that is not below another: `align_to(5, 4)` is 8."""
def broadcast_to(a: ArrayLike, shape: tuple[int, ...]) -> Array:
    """The array with the elements of its axes of size 1, and of those that it lacks in front, repeated to a shape."""
def cdiv(a: Any, b: Any) -> Any:
    """The quotient of two integers, rounded up: how many blocks of b cover a."""
def debug_check(condition: Any, message: str) -> None:
    """Checks a condition where `enable_debug_checks` is on: inside `checkify` with debug checks, an error if it does not hold."""
def debug_print(fmt: str, *args: ArrayLike) -> None:
    """Prints values from a kernel, at each step of the grid."""
def delay(nanos: ArrayLike) -> None:
    """Lets a compiled kernel wait so many nanoseconds. Interpreted kernels do not wait."""
def dslice(start: Any, size: int | None = None, stride: int | None = None) -> slice | _Slice:
    """An index of `size` elements from `start` on, which may be traced, where `x[start:start + size]` needs known bounds."""
def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Array:
    """An array whose elements nobody has written: NaN, the least integer or False."""
def empty_like(x: Any) -> Any:
    """`empty` for each leaf of a pytree that has a shape and a dtype."""
def empty_ref_like(x: Any) -> Any:
    """References to `empty` arrays, for each leaf of a pytree that has a shape and a dtype, such as types of memory."""
def enable_debug_checks(new_val: bool = True) -> Override:
    """A context manager in which `debug_check` checks."""
def estimate_cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> _CostEstimate:
    """Counts what a function asks for, for arguments of some types."""
def loop(
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    init_carry: Any = None,
    step: ArrayLike = 1,
    unroll: int | bool | None = None,
) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that runs a function for lower, lower + step, ... below upper."""
def multiple_of(x: Array, values: Sequence[int] | int) -> Array:
    """The array, which the caller knows to be a multiple of these ints. Compilers of kernels use that; an interpreted kernel does not."""
def next_power_of_2(x: int) -> int:
    """The least power of two that is not below an int."""
no_block_spec: NoBlockSpec
def num_programs(axis: int) -> int | Array:
    """The number of steps along an axis of the grid."""
def pallas_call(
    kernel: Callable[..., None],
    out_shape: Any,
    *,
    grid_spec: _GridSpec | None = None,
    grid: Any = ...,
    in_specs: Any = ...,
    out_specs: Any = ...,
    scratch_shapes: Any = ...,
    input_output_aliases: Mapping[int, int] = ...,
    debug: bool = False,
    interpret: Any = False,
    name: str | None = None,
    compiler_params: Any = None,
    cost_estimate: Any = None,
    metadata: dict[str, str] | None = None,
) -> Callable[..., Any]:
    """Makes a function of arrays of a kernel that works on blocks of them, for each step of a grid."""
def program_id(axis: int) -> Array:
    """The index of the running step along an axis of the grid."""
def run_scoped(f: Callable[..., Any], *types: Any, collective_axes: Any = ..., **kw_types: Any) -> Any:
    """Calls a function with references to memory that is there for the call."""
def run_state(f: Callable[[Any], None]) -> Callable[[Any], Any]:
    """A function of arrays from one that writes to references."""
def semaphore() -> SemaphoreType:
    """The type of a semaphore, for scratch_shapes."""
def semaphore_read(sem_or_view: Any) -> Array:
    """The value of a semaphore, an int32 scalar."""
def semaphore_signal(
    sem_or_view: Any,
    inc: ArrayLike = 1,
    *,
    device_id: Any = None,
    device_id_type: Any = None,
    core_index: Any = None,
) -> None:
    """Adds to a semaphore."""
def semaphore_wait(sem_or_view: Any, value: ArrayLike = 1, *, decrement: bool = True) -> None:
    """Waits until a semaphore has a value, and takes it off."""
squeezed: _Squeezed
def strides_from_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """How far apart neighbours along each axis lie in memory, in elements, where the last axis is contiguous."""
def when(condition: Any, /) -> Callable[[Callable[[], None]], None]:
    """A decorator that runs a function if a condition holds."""
def with_scoped(*types: Any, collective_axes: Any = ..., **kw_types: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function gets references to memory of these types, then its own arguments; see `run_scoped`."""
