# Written by tools/stubs.py.
"""What kernels for TPUs are written with, interpreted. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax._array import Array
from laminax._src.pallas.interpreting import InterpretParams as _InterpretParams
from laminax._src.pallas.tpu import AsyncCopyDescriptor, GridDimensionSemantics as _GridDimensionSemantics
from laminax._src.pallas.tpu_memory import MemorySpace as _MemorySpace, SemaphoreType as _SemaphoreType
from laminax.typing import ArrayLike
from laminax_ir.options.ambient import Override
from typing import Any
from laminax._src.pallas.blocks import PrefetchScalarGridSpec as PrefetchScalarGridSpec
from laminax._src.pallas.interpreting import InterpretParams as InterpretParams
from laminax._src.pallas.tpu import CompilerParams as CompilerParams
from laminax._src.pallas.tpu import GridDimensionSemantics as GridDimensionSemantics
from laminax._src.pallas.tpu_memory import MemorySpace as MemorySpace
from laminax._src.pallas.tpu_memory import SemaphoreType as SemaphoreType

__all__: list[str]

ARBITRARY: _GridDimensionSemantics
CMEM: _MemorySpace
CORE_PARALLEL: _GridDimensionSemantics
HBM: _MemorySpace
PARALLEL: _GridDimensionSemantics
SEMAPHORE: _MemorySpace
SMEM: _MemorySpace
SUBCORE_PARALLEL: _GridDimensionSemantics
VMEM: _MemorySpace
VMEM_SHARED: _MemorySpace
def async_copy(
    src_ref: Any,
    dst_ref: Any,
    sem: Any = None,
    *,
    src_sem: Any = None,
    priority: int = 0,
    add: bool = False,
) -> AsyncCopyDescriptor:
    """`make_async_copy`, started; with `add` it adds to what is there."""
def bitcast(x: Array, ty: Any, dim: int = -2) -> Array:
    """The bits of an array as another dtype; a narrower one has more elements along an axis, the low bits first."""
dma_semaphore: _SemaphoreType
def emit_pipeline(
    body: Callable[..., None],
    *,
    grid: tuple[Any, ...],
    in_specs: Any = ...,
    out_specs: Any = ...,
    tiling: Any = None,
    core_axis: Any = None,
    core_axis_name: Any = None,
    dimension_semantics: Any = None,
    trace_scopes: bool = True,
    no_pipelining: bool = False,
    output_wait_read_only: bool = False,
) -> Callable[..., None]:
    """A function of references that runs a kernel over a grid of blocks of them, inside of another kernel."""
def force_tpu_interpret_mode(params: _InterpretParams = ...) -> Override:
    """A context manager in which kernels are interpreted that do not ask for it."""
def load(ref: Any, *, mask: Array | None = None, other: ArrayLike | None = None) -> Array:
    """What is in a reference, or in a part of it, `ref.at[...]`."""
def make_async_copy(src_ref: Any, dst_ref: Any, sem: Any = None, *, src_sem: Any = None) -> AsyncCopyDescriptor:
    """Describes a copy between two references, or parts of references, of one shape and dtype; `start()` makes it."""
def reciprocal(x: Array, *, approx: bool = False, full_range: bool = True) -> Array:
    """1 / x, exact in an interpreted kernel whatever approx and full_range are."""
def reset_tpu_interpret_mode_state() -> None:
    """Forgets what interpreted kernels left behind, which is nothing: their memory ends with the call."""
def roll(x: Array, shift: ArrayLike, axis: int, *, stride: int | None = None, stride_axis: int | None = None) -> Array:
    """The array with its elements moved along an axis; those that leave it at one end come back at the other."""
def set_tpu_interpret_mode(params: _InterpretParams = ...) -> None:
    """From now on, in this thread, kernels are interpreted that do not ask for it; see `force_tpu_interpret_mode`."""
def store(ref: Any, val: ArrayLike, *, mask: Array | None = None) -> None:
    """Writes to a reference, or to a part of it, `ref.at[...]`."""
def sync_copy(src_ref: Any, dst_ref: Any, *, add: bool = False) -> None:
    """Copies a pytree of references to another of the same structure, or adds to what is there."""
def touch(ref: Any) -> None:
    """Marks a reference as read and written for compilers of kernels. Without effect on interpreted ones."""
def with_memory_space_constraint(x: Array, memory_space: Any) -> Array:
    """The array, for compilers of kernels in some memory. Interpreted kernels have one memory."""
