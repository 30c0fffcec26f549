"""Calls of programs that are known as StableHLO only: exported programs, perhaps from elsewhere."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

from laminax_ir.programs.primitive import Primitive, Trait, effects_rule, shape_rule
from laminax_ir.recording.staging_trace import record_explicitly
from laminax_ir.symbolic.symbolic_dims import evaluated
from laminax_ir.symbolic.symbolic_solving import ShapeSpecification
from laminax_ir.types.avals import ShapedArray, split_aval
from laminax_ir.types.memory_spaces import MemorySpace

call_exported_p = Primitive("call_exported", multiple_results=True, family="exported",
                            traits=(Trait.HAS_OWN_MEMORIES, Trait.LEAVES_SUMS_OPEN))


class StableHLOProgram:
    """A program as StableHLO text.

    Args:
      name: the function's name.
      text: the module; its function `main` takes and returns what the avals say. With several platforms, it takes the number
        of the one that runs it before them, i32[].
      platforms: the platforms that it was written for.
      in_avals, out_avals: of the arguments and results.
      is_for_any_platform: whether other platforms may run it too, as if they were the first of its own.
      nr_devices: over how many devices it is split.
      in_shardings, out_shardings: how arguments and results are split over a mesh of as many: each with `mesh` and `spec`, or None.
      is_split: whether it says of some value that each device has a part of it.
      specification: the shapes that arguments may have, where the module has symbolic dimensions.
      has_dynamic_shapes: whether its functions have such, its own or those that it calls.
      effects: what it does besides computing its results, in no order.

    Compared by identity.
    """

    __slots__ = ("name", "text", "platforms", "in_avals", "out_avals", "is_for_any_platform", "nr_devices", "in_shardings", "out_shardings",
                 "is_split", "specification", "has_dynamic_shapes", "effects", "__weakref__")

    def __init__(self, name: str, text: str, platforms: Sequence[str], in_avals: Sequence[ShapedArray],
                 out_avals: Sequence[ShapedArray], is_for_any_platform: bool = False, *, nr_devices: int = 1,
                 in_shardings: Sequence[Any] | None = None, out_shardings: Sequence[Any] | None = None, is_split: bool = False,
                 specification: ShapeSpecification | None = None, has_dynamic_shapes: bool = False,
                 effects: Iterable[Any] = ()) -> None:
        self.name = name
        self.text = text
        self.platforms = tuple(platforms)
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(split_aval(aval, None) for aval in out_avals)  # on the mesh of the call they are split anew
        self.is_for_any_platform = is_for_any_platform
        self.nr_devices = nr_devices
        self.in_shardings = (None,) * len(self.in_avals) if in_shardings is None else tuple(in_shardings)
        self.out_shardings = (None,) * len(self.out_avals) if out_shardings is None else tuple(out_shardings)
        self.is_split = is_split
        self.specification = specification
        self.has_dynamic_shapes = has_dynamic_shapes
        self.effects = frozenset(effects)

    def number_of(self, platform: str) -> int:
        """The number that stands for a platform.

        Raises:
          ValueError: if it was not exported for that one.
        """
        if platform in self.platforms:
            return self.platforms.index(platform)
        if not self.is_for_any_platform:
            raise ValueError(f"Function {self.name!r} was exported for platforms ({', '.join(self.platforms)}) but it is used on "
                             f"{platform!r}. Export it for that platform too: export({self.name}, platforms=[...]).")
        return 0

    def check_devices(self, count: int) -> None:
        """Whether it can be part of a program over `count` devices: one for a single device can, unless it is split over that.

        Raises:
          ValueError: if not.
        """
        words = f"Function {self.name!r} was exported for {self.nr_devices} devices and is called in a context with {count} devices"
        if count == self.nr_devices or self.nr_devices == 1 and not self.is_split:
            return
        if self.nr_devices == 1:
            raise ValueError(f"{words}, which is not allowed: the function contains non-replicated sharding annotations. Call it on one "
                             "device, or export it without shardings.")
        raise ValueError(f"{words}, which is not allowed. Put its arguments on a mesh of {self.nr_devices} devices, "
                         "device_put(x, exported.in_shardings_jax(mesh)[i]), or give shardings over one to the jit around the call.")

    def __repr__(self) -> str:
        return f"{self.name} for {', '.join(self.platforms)}"


@shape_rule(call_exported_p)
def _call_exported_shape(*avals: ShapedArray, program: StableHLOProgram) -> list[ShapedArray]:
    if program.specification is None:
        return list(program.out_avals)
    values = program.specification.solve([aval.shape for aval in avals])
    return [aval.update(shape=tuple(evaluated(size, values) for size in aval.shape)) for aval in program.out_avals]


@effects_rule(call_exported_p)
def _call_exported_effects(*_avals: ShapedArray, program: StableHLOProgram) -> frozenset[Any]:
    return program.effects


def call_exported(program: StableHLOProgram, *operands: Any) -> list:
    """Calls an exported program on operands of its avals' shapes and dtypes."""
    if any(aval.memory_space is not MemorySpace.Device for aval in program.out_avals):
        record_explicitly()
    return call_exported_p.bind(*operands, program=program)
