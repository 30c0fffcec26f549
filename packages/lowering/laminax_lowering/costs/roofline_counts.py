"""What roofline models count: what rules are told of an equation, and the results that they return."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.abstract_meshes import NamedGrid
from laminax_ir.types.avals import ShapedArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineRuleContext:
    """What a rule is told of the equation that it counts, beside the shapes of the operands and the parameters.

    Args:
      name_stack: the scopes and transformations around it.
      primitive: the operation.
      avals_in, avals_out: the types of its operands and results, on one device.
      jaxpr_eqn_ctx: the equation itself, for what else is known of it.
      mesh: the mesh whose devices run the program, or None.
      pin_lhs_in_vmem, pin_rhs_in_vmem: as the user gave them to `roofline`.
    """

    name_stack: Any
    primitive: Primitive
    avals_in: Sequence[ShapedArray]
    avals_out: Sequence[ShapedArray]
    jaxpr_eqn_ctx: Any
    mesh: NamedGrid | None
    pin_lhs_in_vmem: bool
    pin_rhs_in_vmem: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineShape:
    """An array's shape and dtype, and what follows of them.

    Example:
      >>> RooflineShape(shape=(3, 8), dtype=np.dtype("float32")).bytes
      96
    """

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def from_aval(cls, aval: Any) -> RooflineShape:
        """The shape and dtype of a type.

        Raises:
          TypeError: if it is no array's.
        """
        if not isinstance(aval, ShapedArray):
            raise TypeError(f"RooflineShape.from_aval: expected the type of an array, a ShapedArray, got {aval!r} of type "
                            f"{type(aval).__name__}.")
        return cls(shape=aval.shape, dtype=aval.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The bytes in memory."""
        return int(self.size * self.dtype.itemsize)

    @classmethod
    def total_bytes(cls, avals: Sequence[Any]) -> int:
        """The bytes of all arrays of these types together."""
        return sum(cls.from_aval(aval).bytes for aval in avals)


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflineResult:
    """What a program, or a part of it, asks for on each device.

    Args:
      flops: operations on numbers in products.
      unfused_flops: those of all operations.
      ici_bytes: by mesh axis, the bytes that the busiest link along it carries.
      ici_latency: by mesh axis, the hops one after another.
      hbm_bytes: bytes that products read and write.
      peak_hbm_bytes: the most bytes that are alive at once.
      unfused_hbm_bytes: bytes that all operations read and write, were each of them alone.

    Example:
      >>> 2 * (RooflineResult(flops=3, peak_hbm_bytes=4) + RooflineResult(flops=2, peak_hbm_bytes=6))
      RooflineResult(flops=10, unfused_flops=0, ici_bytes={}, ici_latency={}, hbm_bytes=0, peak_hbm_bytes=12, unfused_hbm_bytes=0)
    """

    flops: int = 0
    unfused_flops: int = 0
    ici_bytes: dict[str, int] = field(default_factory=dict)
    ici_latency: dict[str, int] = field(default_factory=dict)
    hbm_bytes: int = 0
    peak_hbm_bytes: int = 0
    unfused_hbm_bytes: int = 0

    @classmethod
    def zeros(cls) -> RooflineResult:
        """The result of doing nothing."""
        return cls()

    def __add__(self, other: RooflineResult) -> RooflineResult:
        """One part after another: everything is summed, but for the peak, of which the larger counts."""
        return RooflineResult(
            flops=self.flops + other.flops, unfused_flops=self.unfused_flops + other.unfused_flops,
            ici_bytes=_sums(self.ici_bytes, other.ici_bytes), ici_latency=_sums(self.ici_latency, other.ici_latency),
            hbm_bytes=self.hbm_bytes + other.hbm_bytes, peak_hbm_bytes=max(self.peak_hbm_bytes, other.peak_hbm_bytes),
            unfused_hbm_bytes=self.unfused_hbm_bytes + other.unfused_hbm_bytes)

    def __mul__(self, constant: int | float) -> RooflineResult:
        """Every number times a constant."""
        return RooflineResult(
            flops=int(self.flops * constant), unfused_flops=int(self.unfused_flops * constant),
            ici_bytes={axis: int(n * constant) for axis, n in self.ici_bytes.items()},
            ici_latency={axis: int(n * constant) for axis, n in self.ici_latency.items()},
            hbm_bytes=int(self.hbm_bytes * constant), peak_hbm_bytes=int(self.peak_hbm_bytes * constant),
            unfused_hbm_bytes=int(self.unfused_hbm_bytes * constant))

    __rmul__ = __mul__


def _sums(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {axis: one.get(axis, 0) + other.get(axis, 0) for axis in {**one, **other}}
