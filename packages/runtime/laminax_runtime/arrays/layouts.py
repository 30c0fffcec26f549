"""How the elements of arrays lie in memory: jaxlib's layouts, and arrays brought into the ones that programs expect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laminax_ir.types.array_layouts import AUTO, Format, Layout, in_use
from laminax_runtime import _jaxlib
from laminax_runtime._jaxlib import ArrayImpl


def layout_from_jaxlib(layout: _jaxlib.PjRtLayout) -> Layout:
    """jaxlib's layout as users see it."""
    return Layout.from_pjrt_layout(layout)


def format_of(x: ArrayImpl) -> Format:
    """The array's layout and sharding."""
    return Format(None if x.is_deleted() else layout_from_jaxlib(x._pjrt_layout), x._sharding)


def layout_of(x: ArrayImpl) -> Layout | None:
    """The array's layout if it is another than its platform's default."""
    found = x._pjrt_layout
    return None if found == _default(x) else layout_from_jaxlib(found)


def _default(x: ArrayImpl) -> _jaxlib.PjRtLayout:
    device = x._sharding._device_assignment[0]
    return device.client.get_default_layout(x.dtype, x._sharding.shard_shape(x.shape), device)


def layout_text(layout: Layout | Any) -> str:
    """The text of a layout in the attribute `mhlo.layout_mode`."""
    if layout is AUTO:
        return "auto"
    order = layout.major_to_minor[::-1]
    if layout.tiling is None:
        return str(_jaxlib.XlaLayout(order))
    return str(_jaxlib.XlaLayout(order, layout.tiling, layout.sub_byte_element_size_in_bits))


class DemandedLayout:
    """A parameter's layout for C++ dispatch, which compares an array's layout with the result of `_to_xla_layout`."""

    __slots__ = ("layout",)

    def __init__(self, layout: _jaxlib.PjRtLayout) -> None:
        self.layout = layout

    def _to_xla_layout(self, _dtype: Any) -> _jaxlib.XlaLayout:
        return self.layout._xla_layout()


_relayouter: Callable[[ArrayImpl, Layout], ArrayImpl] | None = None


def set_relayouter(relayouter: Callable[[ArrayImpl, Layout], ArrayImpl]) -> None:
    """Installs the function that brings an array into another layout where it is, by a program that returns its argument."""
    global _relayouter
    _relayouter = relayouter


def relayout(x: ArrayImpl, layout: Layout) -> ArrayImpl:
    """The array in another layout, on the devices where it is."""
    if layout.is_met_by(layout_from_jaxlib(x._pjrt_layout)):
        return x
    if _relayouter is None:
        raise NotImplementedError("nothing is installed that changes layouts; see set_relayouter")
    return _relayouter(x, layout)


def in_default_layout(x: ArrayImpl) -> ArrayImpl:
    """The array in its platform's default layout."""
    return relayout(x, layout_from_jaxlib(_default(x))) if in_use and layout_of(x) is not None else x


def with_layout(x: ArrayImpl, layout: _jaxlib.PjRtLayout) -> ArrayImpl:
    """The array in a layout of jaxlib's."""
    return x if x._pjrt_layout == layout else relayout(x, layout_from_jaxlib(layout))
