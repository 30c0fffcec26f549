"""How the elements of arrays lie in memory, as users say it.

Source: JAX's documentation of `jax.experimental.layout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class _Auto:
    """Stands for a layout that the compiler chooses."""

    def __repr__(self) -> str:
        return "AUTO"

    def __reduce__(self) -> str:
        return "AUTO"


AUTO = _Auto()


class Layout:
    """The order of an array's axes in memory, and the tiles that it is cut into.

    Args:
      major_to_minor: the axes, from the one along which neighbours are furthest apart to that along which they are side by side.
      tiling: the shapes of the tiles, for platforms that have some; None is the platform's choice.
      sub_byte_element_size_in_bits: the size of elements that are smaller than a byte; 0 for all others.

    `Layout.AUTO` stands for the compiler's choice.
    """

    __slots__ = ("major_to_minor", "tiling", "sub_byte_element_size_in_bits")

    AUTO = AUTO

    @staticmethod
    def for_array(x: Any) -> Layout:
        """The layout of an array on devices."""
        return x.format.layout

    def __init__(self, major_to_minor: Sequence[int], tiling: Sequence[Sequence[int]] | None = None,
                 sub_byte_element_size_in_bits: int = 0) -> None:
        self.major_to_minor: tuple[int, ...] = tuple(major_to_minor)
        self.tiling: tuple[tuple[int, ...], ...] | None = None if tiling is None else tuple(map(tuple, tiling))
        self.sub_byte_element_size_in_bits: int = sub_byte_element_size_in_bits
        if sorted(self.major_to_minor) != list(range(len(self.major_to_minor))):
            raise ValueError(f"Layout: major_to_minor must have each axis once, 0 to {len(self.major_to_minor) - 1}, "
                             f"got {self.major_to_minor}")

    @staticmethod
    def from_pjrt_layout(pjrt_layout: Any) -> Layout:
        """The layout that jaxlib gives for an array or an executable, a `PjRtLayout`."""
        layout = pjrt_layout._xla_layout()
        return Layout(layout.minor_to_major()[::-1], layout.tiling(), layout.element_size_in_bits())

    def update(self, **changes: Any) -> Layout:
        """The layout that differs in the given parameters."""
        return Layout(**{name: getattr(self, name) for name in self.__slots__} | changes)

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raises ValueError if arrays of this shape have another number of axes."""
        if len(self.major_to_minor) != len(aval_shape):
            raise ValueError("Length of major_to_minor and the rank of the value should match. "
                             f"Got major_to_minor={self.major_to_minor} and shape={tuple(aval_shape)}. Name each axis of the array once.")

    def is_met_by(self, found: Layout) -> bool:
        """Whether arrays of the layout `found` have this one, which may leave tiles open."""
        return self.major_to_minor == found.major_to_minor and (self.tiling is None or (self.tiling or None) == (found.tiling or None))

    def _key(self) -> tuple[Any, ...]:
        return self.major_to_minor, self.tiling, self.sub_byte_element_size_in_bits

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Layout) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling}, "
                f"sub_byte_element_size_in_bits={self.sub_byte_element_size_in_bits})")


class Format:
    """A layout with a sharding.

    Args:
      layout: a `Layout`, `Layout.AUTO`, or None, the default of where it is used.
      sharding: how the array is split over devices, or None.

    Raises:
      ValueError: if there is a layout and no sharding.
      TypeError: if layout is no layout or sharding no sharding.
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Layout | _Auto | None = None, sharding: Any = None) -> None:
        if not (layout is None or layout is AUTO or isinstance(layout, Layout)):
            raise TypeError("Format: Invalid value received for the layout argument. Expected values are `None`, "
                            f"`Layout.AUTO` or an instance of `Layout`. Got {layout} of type {type(layout)}.")
        if not (sharding is None or hasattr(sharding, "is_fully_replicated")):
            raise TypeError("Format: Invalid value received for the sharding argument. Expected values are `None` or an instance of "
                            f"`laminax.sharding.Sharding`. Got {sharding} of type {type(sharding)}.")
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError(f"Format: Sharding has to be concrete when layout is of type {type(layout)}. "
                             "Please pass a `NamedSharding` or a `SingleDeviceSharding` to the sharding argument. "
                             f"Got sharding {sharding}.")
        self.layout: Layout | _Auto | None = layout
        self.sharding: Any | None = sharding

    def __eq__(self, other: object) -> bool:
        return (self.layout, self.sharding) == (other.layout, other.sharding) if isinstance(other, Format) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.layout, self.sharding))

    def __repr__(self) -> str:
        return f"Format(layout={self.layout}, sharding={self.sharding})"


# Holds "layouts" once a program has asked for layouts. While it is empty, all arrays lie in their platform's default layouts.
in_use: set[str] = set()
