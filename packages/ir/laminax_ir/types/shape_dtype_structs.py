"""`ShapeDtypeStruct`: the shape, dtype and placement of an array as users write them, for functions that need no data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.types import dtypes
from laminax_ir.types.array_layouts import AUTO, Format
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.type_shardings import sharding_of_spec

if TYPE_CHECKING:
    from laminax_ir.types.manual_axis_types import ManualAxisType


class ShapeDtypeStruct:
    """A stand-in for an array, with shape and dtype and no data.

    Args:
      shape: the sizes of the axes.
      dtype: anything `np.dtype` accepts, or an extended dtype.
      sharding: optional, how the array is laid out over devices; a `Format` says its layout too.
      weak_type: whether the dtype is weak.
      named_shape: mapping of the named axes the value varies over.
      manual_axis_type: inside of `shard_map`, along which mesh axes the array varies, a `ManualAxisType`; None where that is not said.
      is_ref: whether it stands for a reference to such an array.

    Raises:
      ValueError: if shape or dtype is None.
      TypeError: for `Layout.AUTO`, which is no layout, and for a manual_axis_type that is none.

    Example:
      >>> ShapeDtypeStruct((2, 3), np.float32)
      ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("shape", "dtype", "_sharding", "weak_type", "named_shape", "manual_axis_type", "is_ref", "_layout")

    counts_by_dtype = True  # in promotion it is as strong as its dtype, unlike an array that it describes; so it is in JAX

    def __init__(self, shape: Any, dtype: Any, *, sharding: Any = None, weak_type: bool = False,
                 named_shape: Mapping[Any, int] | None = None, manual_axis_type: ManualAxisType | None = None,
                 is_ref: bool = False) -> None:
        if dtype is None or shape is None:
            raise ValueError(f"ShapeDtypeStruct: {'dtype' if dtype is None else 'shape'} must be specified, got {shape=} and {dtype=}")
        self.shape: tuple[Any, ...] = tuple(shape)
        if any(size is None for size in self.shape):
            raise ValueError(f"ShapeDtypeStruct: `shape` cannot have None. Got {self.shape}. A size that is not known is a symbolic "
                             "dimension, which export.symbolic_shape makes.")
        self.dtype: Any = dtype if dtypes.is_extended(dtype) else np.dtype(dtype)
        if isinstance(sharding, Format):
            if sharding.layout is AUTO:
                raise TypeError("ShapeDtypeStruct: `Layout.AUTO` cannot be used in place of a device-local layout in a "
                                f"`ShapeDtypeStruct`. Got {sharding}. Give it to jit's in_shardings.")
            self._layout, self._sharding = sharding.layout, sharding.sharding
        else:
            self._layout, self._sharding = None, sharding
        spec = getattr(self._sharding, "spec", self._sharding)
        if isinstance(spec, PartitionSpec) and len(spec) > len(self.shape):
            raise ValueError(f"ShapeDtypeStruct: Sharding {self._sharding} is only valid for values of rank at least {len(spec)}, but was "
                             f"applied to a value of rank {len(self.shape)}, of the shape {self.shape}. Shorten the spec.")
        self.weak_type: bool = weak_type
        self.named_shape: dict[Any, int] = {} if named_shape is None else dict(named_shape)
        if manual_axis_type is not None:
            _check_manual_axis_type(manual_axis_type)
        self.manual_axis_type: ManualAxisType | None = manual_axis_type
        self.is_ref = bool(is_ref)

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """The struct of an array's type: with its sharding and layout, if it is committed to them.

        Args:
          x: an array, a tracer, a struct, a reference, or a number.
        """
        if isinstance(x, ShapeDtypeStruct):
            return cls(x.shape, x.dtype, sharding=x._place, weak_type=x.weak_type,
                       named_shape=x.named_shape, manual_axis_type=x.manual_axis_type, is_ref=x.is_ref)
        aval = get_aval(x)
        sharding = aval.sharding if aval._split is not None else x.format if getattr(x, "_committed", False) else None
        mat = aval.mat if aval._named or aval._split is not None else None
        mat = None if mat is None or mat.empty else mat
        return cls(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type, manual_axis_type=mat,
                   is_ref=not isinstance(aval, ShapedArray))

    @property
    def sharding(self) -> Any:
        """How it is split over devices, or None; a partition spec says it of the mesh that is set when this is asked.

        Raises:
          TypeError: if it was given as a partition spec, and no mesh is set.
          ValueError: if the mesh that is set has not the axes of the spec.
        """
        given = self._sharding
        if not isinstance(given, PartitionSpec):
            return given
        if (found := sharding_of_spec(given)) is None:
            raise TypeError("When specifying PartitionSpec to `ShapeDtypeStruct`, the context mesh cannot be empty; got "
                            f"{self}. Set a mesh with set_mesh(mesh), or give NamedSharding(mesh, spec).")
        return found

    @property
    def format(self) -> Format:
        """The layout and the sharding, each None where it is not known."""
        return Format(self._layout, self.sharding)

    @property
    def _place(self) -> Any:
        """The sharding, or sharding and layout, as they were given."""
        return self._sharding if self._layout is None else Format(self._layout, self._sharding)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """The same struct with the given fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__ if not name.startswith("_")}
        fields = {**fields, "sharding": self._place, **changes}
        if "sharding" in changes and self._layout is not None and not isinstance(changes["sharding"], Format):
            raise ValueError(f"updating ShapeDtypeStruct: it has a layout, {self._layout}, which may not go with the sharding "
                             f"{changes['sharding']}. Give sharding a Format, of a layout and a sharding.")
        return ShapeDtypeStruct(fields.pop("shape"), fields.pop("dtype"), **fields)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def _key(self) -> tuple[Any, ...]:
        return (self.shape, self.dtype, self._sharding, self.weak_type, tuple(self.named_shape.items()), self._layout,
                self.manual_axis_type, self.is_ref)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ShapeDtypeStruct) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        name = getattr(self.dtype, "name", str(self.dtype))
        extra = f", named_shape={self.named_shape}" if self.named_shape else ""
        extra += f", sharding={self._sharding}" if self._sharding is not None else ""
        extra += f", format={self._layout}" if self._layout is not None else ""
        extra += ", weak_type=True" if self.weak_type else ""
        extra += f", manual_axis_type={self.manual_axis_type}" if self.manual_axis_type is not None else ""
        extra += ", is_ref=True" if self.is_ref else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={name}{extra})"


def _check_manual_axis_type(given: Any) -> None:
    from laminax_ir.types.manual_axis_types import ManualAxisType
    if not isinstance(given, ManualAxisType):
        raise TypeError(f"ShapeDtypeStruct: `manual_axis_type` must be a `sharding.ManualAxisType`, got {given!r} of type "
                        f"{type(given).__name__}")
