"""What kernels for TPUs are written with, interpreted: copies between memories, semaphores, pipelines, and their options.

A copy is made when it starts; its semaphore counts the bytes that have arrived, and waiting takes them off again.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import state as refs
from laminax_ir.ops.loops import fori_loop
from laminax_ir.options.records import Record
from laminax_ir.pytrees.pytree import tree_flatten
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval

from laminax._src.numerics.numpy.repeating import roll as rolled
from laminax._src.numerics.numpy.reshaping import broadcast_to, moveaxis, reshape
from laminax._src.numerics.numpy.taking import take_along_axis
from laminax._src.pallas.blocks import no_block_spec
from laminax._src.pallas.interpreting import InterpretParams, forced_interpretation, product, unraveled
from laminax._src.pallas.operands import Surroundings, make_operand
from laminax._src.pallas.positions import Position, at
from laminax._src.pallas.tpu_memory import SemaphoreType

if TYPE_CHECKING:
    from laminax_ir.options.ambient import Override
    from laminax_ir.types.annotations import Array, ArrayLike


# Options


class GridDimensionSemantics(enum.Enum):
    """In which order the steps along an axis of the grid may run."""
    PARALLEL = "parallel"
    CORE_PARALLEL = "core_parallel"
    SUBCORE_PARALLEL = "subcore_parallel"
    ARBITRARY = "arbitrary"


PARALLEL, ARBITRARY = GridDimensionSemantics.PARALLEL, GridDimensionSemantics.ARBITRARY
CORE_PARALLEL, SUBCORE_PARALLEL = GridDimensionSemantics.CORE_PARALLEL, GridDimensionSemantics.SUBCORE_PARALLEL


class CompilerParams(Record):
    """Options of the compiler of kernels for TPUs. Without effect on interpreted kernels.

    Args:
      dimension_semantics: for each axis of the grid a `GridDimensionSemantics` or its value.
      allow_input_fusion: for each argument whether the operation that makes it may be part of the kernel.
      vmem_limit_bytes: how much vector memory the kernel may use.
      collective_id: the number of the barrier of kernels on several devices.
      has_side_effects: whether the kernel must run though nothing uses its results.
      flags, internal_scratch_in_bytes, serialization_format, disable_bounds_checks, disable_semaphore_checks, skip_device_barrier,
        allow_collective_id_without_custom_barrier, shape_invariant_numerics, use_tc_tiling_on_sc, needs_layout_passes,
        fuse_transposed_lhs_in_matmul, opt_level: as the compiler has them.
    """
    dimension_semantics: Sequence[Any] | None = None
    allow_input_fusion: Sequence[bool] | None = None
    vmem_limit_bytes: int | None = None
    collective_id: int | None = None
    has_side_effects: Any = False
    flags: dict[str, Any] | None = None
    internal_scratch_in_bytes: int | None = None
    serialization_format: int = 1
    disable_bounds_checks: bool = False
    disable_semaphore_checks: bool = False
    skip_device_barrier: bool = False
    allow_collective_id_without_custom_barrier: bool = False
    shape_invariant_numerics: bool = True
    use_tc_tiling_on_sc: bool | None = None
    needs_layout_passes: bool = True
    fuse_transposed_lhs_in_matmul: bool = False
    opt_level: int | None = None


def force_tpu_interpret_mode(params: InterpretParams = InterpretParams()) -> Override:
    """A context manager in which kernels are interpreted that do not ask for it.

    Args:
      params: how.
    """
    return forced_interpretation(params)


def set_tpu_interpret_mode(params: InterpretParams = InterpretParams()) -> None:
    """From now on, in this thread, kernels are interpreted that do not ask for it; see `force_tpu_interpret_mode`."""
    forced_interpretation.set_local(params)


def reset_tpu_interpret_mode_state() -> None:
    """Forgets what interpreted kernels left behind, which is nothing: their memory ends with the call."""


# Copies and semaphores


class AsyncCopyDescriptor:
    """A copy from one reference to another, made by `make_async_copy`."""

    def __init__(self, src_ref: Any, dst_ref: Any, sem: Any, src_sem: Any) -> None:
        self.src_ref, self.dst_ref, self.sem, self.src_sem = src_ref, dst_ref, sem, src_sem

    @property
    def _bytes(self) -> int:
        return int(np.prod(self.dst_ref.shape, dtype=np.int64)) * np.dtype(self.dst_ref.dtype).itemsize

    def start(self, priority: int = 0, *, add: bool = False) -> None:
        """Makes the copy, or adds to what is there. The priority is for compilers of kernels."""
        _copy(self.src_ref, self.dst_ref, add)
        for sem in (self.sem, self.src_sem):
            if sem is not None:
                semaphore_signal(sem, self._bytes)

    def wait(self) -> None:
        """Waits until what was copied has arrived, and has been read."""
        self.wait_recv()
        self.wait_send()

    def wait_recv(self) -> None:
        """Waits until what was copied has arrived."""
        if self.sem is not None:
            semaphore_wait(self.sem, self._bytes)

    def wait_send(self) -> None:
        """Waits until what was copied has been read."""
        if self.src_sem is not None:
            semaphore_wait(self.src_sem, self._bytes)


def _copy(src_ref: Any, dst_ref: Any, adds: bool = False) -> None:
    value = refs.get(src_ref)
    if adds:
        refs.addupdate(dst_ref, ..., value)
    else:
        refs.set(dst_ref, ..., value)


def make_async_copy(src_ref: Any, dst_ref: Any, sem: Any = None, *, src_sem: Any = None) -> AsyncCopyDescriptor:
    """Describes a copy between two references, or parts of references, of one shape and dtype; `start()` makes it.

    Args:
      src_ref: what is read.
      dst_ref: what is written.
      sem: a reference to a semaphore, which counts the bytes that have arrived.
      src_sem: one that counts the bytes that have been read.

    Returns:
      An `AsyncCopyDescriptor`.
    """
    return AsyncCopyDescriptor(src_ref, dst_ref, sem, src_sem)


def async_copy(src_ref: Any, dst_ref: Any, sem: Any = None, *, src_sem: Any = None, priority: int = 0,
               add: bool = False) -> AsyncCopyDescriptor:
    """`make_async_copy`, started; with `add` it adds to what is there."""
    copy = make_async_copy(src_ref, dst_ref, sem, src_sem=src_sem)
    copy.start(priority, add=add)
    return copy


def sync_copy(src_ref: Any, dst_ref: Any, *, add: bool = False) -> None:
    """Copies a pytree of references to another of the same structure, or adds to what is there.

    Raises:
      ValueError: if the structures differ.
    """
    sources, tree = tree_flatten(src_ref)
    targets, other = tree_flatten(dst_ref)
    if tree != other:
        raise ValueError(f"sync_copy: src_ref and dst_ref must have one structure, got {tree} and {other}")
    for source, target in zip(sources, targets):
        _copy(source, target, add)


def semaphore_signal(sem_or_view: Any, inc: ArrayLike = 1, *, device_id: Any = None, device_id_type: Any = None,
                     core_index: Any = None) -> None:
    """Adds to a semaphore.

    Args:
      sem_or_view: a reference to it.
      inc: how much.
      device_id, device_id_type, core_index: only None; an interpreted kernel runs on one device.

    Raises:
      NotImplementedError: for another device.
    """
    if device_id is not None or core_index is not None:
        raise NotImplementedError("semaphore_signal: device_id and core_index are not supported: an interpreted kernel runs on one device")
    refs.addupdate(sem_or_view, ..., op.convert_element_type(inc, np.int32))


def semaphore_wait(sem_or_view: Any, value: ArrayLike = 1, *, decrement: bool = True) -> None:
    """Waits until a semaphore has a value, and takes it off.

    Interpreted steps run one after the other, so that what has not been signalled before never will be: nothing waits.

    Args:
      sem_or_view: a reference to it.
      value: the value.
      decrement: whether to take it off.
    """
    if decrement:
        refs.addupdate(sem_or_view, ..., op.neg(op.convert_element_type(value, np.int32)))


def semaphore_read(sem_or_view: Any) -> Array:
    """The value of a semaphore, an int32 scalar."""
    return refs.get(sem_or_view)


def semaphore() -> SemaphoreType:
    """The type of a semaphore, for scratch_shapes."""
    return SemaphoreType.REGULAR


dma_semaphore = SemaphoreType.DMA


def touch(ref: Any) -> None:
    """Marks a reference as read and written for compilers of kernels. Without effect on interpreted ones."""


def with_memory_space_constraint(x: Array, memory_space: Any) -> Array:
    """The array, for compilers of kernels in some memory. Interpreted kernels have one memory."""
    return x


# Pipelines


def emit_pipeline(body: Callable[..., None], *, grid: tuple[Any, ...], in_specs: Any = (), out_specs: Any = (), tiling: Any = None,
                  core_axis: Any = None, core_axis_name: Any = None, dimension_semantics: Any = None, trace_scopes: bool = True,
                  no_pipelining: bool = False, output_wait_read_only: bool = False) -> Callable[..., None]:
    """A function of references that runs a kernel over a grid of blocks of them, inside of another kernel.

    Args:
      body: kernel of references to the blocks.
      grid: the sizes of the grid.
      in_specs, out_specs: sequences of `BlockSpec`s, one for each reference that is read and for each that is written; a single one may
        stand by itself.
      core_axis, core_axis_name: only None; an interpreted kernel runs on one core.
      tiling, dimension_semantics, trace_scopes, no_pipelining, output_wait_read_only: for compilers of kernels, without effect on
        interpreted ones.

    Returns:
      A function of the references that are read, those that are written, and `scratches=`, further references for the body.

    Raises:
      NotImplementedError: for core_axis.
    """
    if core_axis is not None or core_axis_name is not None:
        raise NotImplementedError("emit_pipeline: core_axis and core_axis_name are not supported: an interpreted kernel runs on one core")
    ins, outs = [tuple(x) if isinstance(x, (tuple, list)) else (x,) for x in (in_specs, out_specs)]
    sizes = tuple([n if isinstance(n, int) else op.convert_element_type(n, np.int32) for n in grid])
    surroundings = Surroundings(sizes)

    def run(*arguments: Any, scratches: Sequence[Any] = ()) -> None:
        if len(arguments) != len(ins) + len(outs):
            raise TypeError(f"emit_pipeline: the function takes {len(ins)} references that are read and {len(outs)} that are written, got "
                            f"{len(arguments)}")
        operands = [make_operand(f"args[{i}]", ShapedArray(ref.shape, ref.dtype), no_block_spec if spec is None else spec, surroundings)
                    for i, (ref, spec) in enumerate(zip(arguments, (*ins, *outs)))]

        def step(index: Any, _none: None) -> None:
            ids = unraveled(index, sizes)
            starts = [operand.starts([*ids, *surroundings.dynamic]) for operand in operands]
            arrays = [operand.padded(refs.get(ref), np.zeros((), ref.dtype)[()]) for operand, ref in zip(operands, arguments)]
            blocks = [refs.new_ref(operand.block(x, start)) for operand, x, start in zip(operands, arrays, starts)]
            with at(Position(tuple(ids), sizes)):
                body(*blocks, *scratches)
            for i in range(len(ins), len(arguments)):
                whole = operands[i].with_block(arrays[i], refs.freeze(blocks[i]), starts[i])
                refs.set(arguments[i], ..., operands[i].without_padding(whole))

        fori_loop(np.int32(0), product(sizes), step, None)
    return run


# Arithmetic


def roll(x: Array, shift: ArrayLike, axis: int, *, stride: int | None = None, stride_axis: int | None = None) -> Array:
    """The array with its elements moved along an axis; those that leave it at one end come back at the other.

    Args:
      x: an array.
      shift: by how many places, an integer scalar.
      axis: the axis.
      stride: how much further each next element of stride_axis is moved, an int that is not negative.
      stride_axis: that axis.

    Returns:
      An array of x's shape and dtype.

    Raises:
      ValueError: if only one of stride and stride_axis is given, or they are one axis, or the stride is negative.
    """
    if (stride is None) != (stride_axis is None):
        raise ValueError("roll: stride and stride_axis go together; give both or none")
    if stride is None or stride_axis is None:
        return rolled(x, shift, axis)
    ndim = len(get_aval(x).shape)
    axis, stride_axis = axis % ndim, stride_axis % ndim
    if axis == stride_axis or stride < 0:
        raise ValueError(f"roll: stride must not be negative and stride_axis must be another axis than axis, got stride={stride}, "
                         f"stride_axis={stride_axis}, axis={axis}")
    shape = get_aval(x).shape
    places, along = np.arange(shape[axis]), np.arange(shape[stride_axis])
    view = [1] * ndim
    rows, columns = list(view), list(view)
    rows[axis], columns[stride_axis] = shape[axis], shape[stride_axis]
    offsets = np.asarray(places.reshape(rows) - stride * along.reshape(columns), np.int32)
    index = op.rem(op.sub(offsets, op.convert_element_type(shift, np.int32)), np.int32(shape[axis]))
    index = op.select(op.lt(index, np.int32(0)), op.add(index, np.int32(shape[axis])), index)
    return take_along_axis(x, broadcast_to(index, shape), axis)


def bitcast(x: Array, ty: Any, dim: int = -2) -> Array:
    """The bits of an array as another dtype; a narrower one has more elements along an axis, the low bits first.

    Args:
      x: an array.
      ty: a dtype of as many bits, or of a divisor or multiple of them.
      dim: the axis, by default the last but one.

    Returns:
      An array of that dtype.

    Raises:
      ValueError: if the axis does not hold a whole number of wider elements.
    """
    dtype = dtypes.requested_dtype(ty, fun_name="bitcast")
    old, new = dtypes.bit_width(get_aval(x).dtype), dtypes.bit_width(dtype)
    if old == new:
        return op.bitcast_convert_type(x, dtype)
    shape = get_aval(x).shape
    dim %= len(shape)
    if old > new:
        parts = moveaxis(op.bitcast_convert_type(x, dtype), -1, dim + 1)
        return reshape(parts, (*shape[:dim], shape[dim] * (old // new), *shape[dim + 1:]))
    ratio = new // old
    if shape[dim] % ratio:
        raise ValueError(f"bitcast: axis {dim} of size {shape[dim]} must be a multiple of {ratio} for elements of {new} bits")
    parts = moveaxis(reshape(x, (*shape[:dim], shape[dim] // ratio, ratio, *shape[dim + 1:])), dim + 1, -1)
    return op.bitcast_convert_type(parts, dtype)


def reciprocal(x: Array, *, approx: bool = False, full_range: bool = True) -> Array:
    """1 / x, exact in an interpreted kernel whatever approx and full_range are."""
    return op.div(np.ones((), get_aval(x).dtype)[()], x)
