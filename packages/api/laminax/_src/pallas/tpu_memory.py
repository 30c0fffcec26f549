"""Memories and semaphores of TPUs, as types of references that kernels ask for."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from laminax_ir.types.avals import ShapedArray

from laminax._src.pallas.memory import MemoryRef, Space


class MemorySpace(Space):
    """Memories of a TPU."""
    VMEM = "vmem"
    VMEM_SHARED = "vmem_shared"
    SMEM = "smem"
    CMEM = "cmem"
    SEMAPHORE = "semaphore_mem"
    HBM = "hbm"


VMEM, VMEM_SHARED, SMEM, CMEM = MemorySpace.VMEM, MemorySpace.VMEM_SHARED, MemorySpace.SMEM, MemorySpace.CMEM
SEMAPHORE, HBM = MemorySpace.SEMAPHORE, MemorySpace.HBM


class SemaphoreType(enum.Enum):
    """Kinds of semaphores, which are integers that count: `SemaphoreType.DMA` asks for one, `SemaphoreType.DMA((2,))` for an array."""
    REGULAR = "regular"
    DMA = "dma"
    BARRIER = "barrier"

    def __call__(self, shape: tuple[int, ...] = ()) -> MemoryRef:
        return MemoryRef(ShapedArray(tuple(shape), np.dtype(np.int32)), MemorySpace.SEMAPHORE)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of one semaphore."""
        return ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """What a semaphore counts in."""
        return np.dtype(np.int32)


def is_semaphore(memory: Any) -> bool:
    """Whether a type of scratch memory is of semaphores, which begin at 0."""
    return isinstance(memory, SemaphoreType) or getattr(memory, "memory_space", None) is MemorySpace.SEMAPHORE
