"""Abstract values, the types of arrays: what is known of an array before it is computed, and the types of given values.

The one idea: avals are interned. Two avals that describe the same arrays are the same object, so shape
rules compare them with `is`, caches hash them by identity, and a rule may return its operand's aval
unchanged at no cost.
"""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

import numpy as np

from laminax_ir.options import config
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import GREATEST_RANK, GREATEST_SIZE, called_with, check_rank, check_size
from laminax_ir.types.memory_spaces import HOST_KIND, MemorySpace, space_of_kind
from laminax_ir.types.sizes import size_types
from laminax_ir.types.type_shardings import TypeSharding, as_sharding, axes_text, axis_text, in_use, parts_of, type_sharding

if TYPE_CHECKING:
    from laminax_ir.types.extended_dtypes import KeyDType
    from laminax_ir.types.manual_axis_types import ManualAxisType

_interned: dict[tuple[Any, ...], weakref.ref] = {}


class ShapedArray:
    """The type of an array: shape, dtype, whether the dtype is weak, and the named axes it varies over.

    Args:
      shape: the sizes of the axes, non-negative ints or symbolic dimensions.
      dtype: a NumPy dtype (ml_dtypes included) or an extended dtype such as a PRNG key's.
      weak_type: true when the dtype came from a Python scalar and yields to others in promotion.
      named_shape: mapping from axis name to size for the mapped axes the array varies over.
      sharding: how the array is split over explicit mesh axes: anything with `mesh` and `spec`; None where types do not say it.
      memory_space: the kind of memory that the array lies in.

    Instances are interned and immutable: equality is identity.
    """

    __slots__ = ("shape", "dtype", "weak_type", "ndim", "size", "memory_space", "_named", "_split", "_plain", "__weakref__")

    shape: tuple[int, ...]
    dtype: Any
    weak_type: bool
    ndim: int
    size: int
    memory_space: MemorySpace
    _named: tuple[tuple[Any, int], ...]  # the axes that it varies over, in the order of their names
    _split: TypeSharding | None  # the sharding, of which most arrays have none
    _plain: ShapedArray | None  # with a sharding, or in other memory than the device's own, the aval without these

    def __new__(cls, shape: tuple[int, ...], dtype: Any, weak_type: bool = False, *, named_shape: Mapping[Any, int] | None = None,
                sharding: Any = None, memory_space: MemorySpace = MemorySpace.Device) -> ShapedArray:
        if sharding is not None or memory_space is not MemorySpace.Device:
            return aval_in(split_aval(ShapedArray(shape, dtype, weak_type, named_shape=named_shape), sharding), memory_space)
        named = _named_key(named_shape) if named_shape else ()
        try:
            key = (shape, dtype, weak_type, named)
            found = _interned.get(key)
            aval: ShapedArray | None = None if found is None else found()
            if aval is not None:
                return aval
        except TypeError:  # an unhashable shape, such as a list
            pass
        return _intern(cls, shape, dtype, weak_type, named)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ShapedArray is immutable; use update({name}=...) to make another one")

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.shape, self.dtype, self.weak_type, self._named, self._split, self.memory_space)

    def __copy__(self) -> ShapedArray:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> ShapedArray:
        return self

    @property
    def named_shape(self) -> dict[Any, int]:
        """The named axes this value varies over, with their sizes."""
        return dict(self._named)

    @property
    def vma(self) -> frozenset[Any]:
        """The names in `named_shape`: inside of `shard_map`, the mesh axes along which the value varies."""
        return frozenset([name for name, _ in self._named])

    @property
    def mat(self) -> ManualAxisType:
        """The names in `named_shape`, and the sums that are open along axes that a program per device runs along."""
        from laminax_ir.types.manual_axis_types import ManualAxisType
        unreduced, reduced = _no_sums if self._split is None else self._split.manual_sums
        return ManualAxisType(varying=self.vma, unreduced=unreduced, reduced=reduced)

    manual_axis_type = mat

    @property
    def sharding(self) -> Any:
        """How the array is split over explicit mesh axes: a `NamedSharding` over a mesh without devices, with an entry for each axis.

        For a type without a sharding, the mesh is that of the function which is being traced, if there is one.
        """
        return as_sharding(self._split, self.ndim)

    def update(self, **changes: Any) -> ShapedArray:
        """The aval that differs from this one in the given fields. With another number of axes it has no sharding, unless one is given."""
        if self._plain is not None:
            return _update_variant(self, self._plain, changes)
        if "sharding" in changes or "memory_space" in changes:
            sharding, space = changes.pop("sharding", None), changes.pop("memory_space", MemorySpace.Device)
            return aval_in(split_aval(self.update(**changes), sharding), space)
        fields = {"shape": self.shape, "dtype": self.dtype, "weak_type": self.weak_type,
                  "named_shape": dict(self._named), **changes}
        return ShapedArray(fields["shape"], fields["dtype"], fields["weak_type"],
                           named_shape=fields["named_shape"])

    def strip_weak_type(self) -> ShapedArray:
        """The same aval with a strong dtype."""
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        """The aval of this array's tangents: itself when inexact, `float0` otherwise; an extended dtype says what its tangents are."""
        if dtypes.issubdtype(self.dtype, dtypes.inexact):
            return self
        dtype = dtypes.tangent_dtype_of(self.dtype) if dtypes.is_extended(self.dtype) else dtypes.float0
        return ShapedArray(self.shape, dtype, named_shape=dict(self._named), sharding=self._split, memory_space=self.memory_space)

    at_least_vspace = to_tangent_aval  # its older name

    def to_ct_aval(self) -> ShapedArray:
        """The aval of this array's cotangents: that of its tangents, with `unreduced` and `reduced` mesh axes exchanged."""
        if self._split is None or not self._split.has_sums:
            return self.to_tangent_aval()
        return split_aval(self.to_tangent_aval(), self._split.of_cotangents())

    def str_short(self, short_dtypes: bool = True) -> str:
        """The printed form used in jaxprs, `f32[2,3]`."""
        name = dtypes.short_name(self.dtype) if short_dtypes else getattr(self.dtype, "name", str(self.dtype))
        axes = ",".join(map(str, self.shape) if self._split is None else map(axis_text, self.shape, self._split.spec.partitions))
        where = "" if self.memory_space is MemorySpace.Device else f"<{self.memory_space.name.lower()}>"
        if self._split is None and not self._named:
            return f"{name}{where}[{axes}]"
        return f"{name}{where}[{axes}]{axes_text([axis for axis, _ in self._named], self._split)}"

    # What types of users' own (`hi_types`) that are made of types of arrays ask of these.

    def lo_ty(self) -> list[ShapedArray]:
        """The types of the arrays that a value consists of: itself."""
        return [self]

    def lower_val(self, value: Any) -> list[Any]:
        """The arrays that a value consists of: itself."""
        return [value]

    def raise_val(self, value: Any) -> Any:
        """The value that consists of this array: itself."""
        return value

    def inc_rank(self, size: int, spec: int | None) -> ShapedArray:
        """The type of a batch: with an axis of this size at the place `spec`; itself for None."""
        return self if spec is None else insert_axis(self, spec, size)

    def dec_rank(self, size: int, spec: int | None) -> ShapedArray:
        """The type of one example of a batch: without the axis at the place `spec`; itself for None."""
        return self if spec is None else remove_axis(self, spec)

    def leading_axis_spec(self) -> int:
        """The axis along which `scan` takes its steps: the first one."""
        return 0

    def normalize(self) -> ShapedArray:
        """The type with a strong dtype, which results of calls have."""
        return self.strip_weak_type()

    def vspace_zero(self) -> np.ndarray[Any, Any]:
        """Zeros of this type."""
        return np.zeros(self.shape, self.dtype)

    def vspace_add(self, x: Any, y: Any) -> Any:
        """The sum of two arrays."""
        return x + y

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(short_dtypes=False)}{weak})"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short(short_dtypes=False)


AbstractValue = ShapedArray
type_classes: set[type[Any]] = {ShapedArray}  # the classes of the types of values; those of users' own (`hi_types`) join it
_no_sums: tuple[frozenset[Any], frozenset[Any]] = frozenset(), frozenset()


def _intern(cls: type[ShapedArray], shape: tuple[int, ...], dtype: Any, weak_type: bool, named: tuple[Any, ...]) -> ShapedArray:
    """Makes the aval, or finds it under its normal form (tuple of ints, canonical dtype object)."""
    shape = tuple(size if type(size) in size_types else int(size) for size in shape)
    for size in shape:
        if type(size) is int and not 0 <= size <= GREATEST_SIZE:
            if size < 0:
                raise ValueError(f"ShapedArray: the shape {shape} has a negative axis size")
            check_size("ShapedArray", f"the size of an axis of {shape}", size)
    if len(shape) > GREATEST_RANK:
        check_rank("ShapedArray", len(shape))
    dtype = _normal_dtype(dtype)
    key = (shape, dtype, bool(weak_type), named)
    found = _interned.get(key)
    aval = found() if found is not None else None
    if aval is not None:
        return aval
    aval = object.__new__(cls)
    put = object.__setattr__
    put(aval, "shape", shape)
    put(aval, "dtype", dtype)
    put(aval, "weak_type", bool(weak_type))
    put(aval, "ndim", len(shape))
    put(aval, "size", math.prod(shape))
    put(aval, "memory_space", MemorySpace.Device)
    put(aval, "_named", named)
    put(aval, "_split", None)
    put(aval, "_plain", None)
    _interned[key] = weakref.ref(aval, lambda dead: _interned.pop(key, None) if _interned.get(key) is dead else None)
    return aval


def _normal_dtype(dtype: Any) -> KeyDType | np.dtype[Any]:
    if dtypes.is_extended(dtype):
        return dtype
    dtype = np.dtype(dtype)
    # NumPy has several equal dtype objects of unequal hash (`long` and `long long`, byte-swapped ones);
    # one per name keeps interning exact.
    if dtype.names is None and dtype.kind in "biufc":
        return np.dtype(dtype.name)
    return dtype


def _named_key(named_shape: Mapping[Any, int]) -> tuple[Any, ...]:
    return tuple(sorted(named_shape.items(), key=lambda item: (str(type(item[0])), str(item[0]))))


def _unpickle(shape: Sequence[Any], dtype: np.dtype[Any], weak_type: bool, named: tuple[Any, ...], sharding: Any = None,
              memory_space: MemorySpace = MemorySpace.Device) -> ShapedArray:
    return ShapedArray(shape, dtype, weak_type, named_shape=dict(named), sharding=sharding, memory_space=memory_space)


_interned_variants: dict[tuple[Any, ...], weakref.ref] = {}


def split_aval(aval: ShapedArray, sharding: Any) -> ShapedArray:
    """The aval with a sharding (anything with `mesh` and `spec`) over explicit mesh axes; without one for None or a mesh without these."""
    whole = aval if aval._plain is None else aval._plain
    return _variant(whole, None if sharding is None else type_sharding(sharding, whole.shape), aval.memory_space)


def aval_in(aval: ShapedArray, space: MemorySpace) -> ShapedArray:
    """The aval in a kind of memory."""
    if space is aval.memory_space:
        return aval
    if not isinstance(space, MemorySpace):
        raise TypeError(f"ShapedArray: memory_space must be a MemorySpace, got {space!r} of type {type(space).__name__}")
    return _variant(aval if aval._plain is None else aval._plain, aval._split, space)


def placed_aval(aval: ShapedArray, sharding: Any) -> ShapedArray:
    """The aval of arrays that are laid out as a sharding of the runtime says: split over its explicit mesh axes, in its kind of memory."""
    kind = getattr(sharding, "memory_kind", None)
    if not in_use and kind != HOST_KIND:
        return aval
    return aval_in(split_aval(aval, sharding), space_of_kind(kind))


def _variant(whole: ShapedArray, split: TypeSharding | None, space: MemorySpace) -> ShapedArray:
    """The one aval that is `whole` with a sharding and in a kind of memory."""
    if split is None and space is MemorySpace.Device:
        return whole
    key = whole, split, space
    found = _interned_variants.get(key)
    aval: ShapedArray | None = None if found is None else found()
    if aval is not None:
        return aval
    in_use.add("explicit axes" if space is MemorySpace.Device else "memories")
    aval = object.__new__(ShapedArray)
    put = object.__setattr__
    for name in ("shape", "dtype", "weak_type", "ndim", "size", "_named"):
        put(aval, name, getattr(whole, name))
    put(aval, "memory_space", space)
    put(aval, "_split", split)
    put(aval, "_plain", whole)
    _interned_variants[key] = weakref.ref(
        aval, lambda dead: _interned_variants.pop(key, None) if _interned_variants.get(key) is dead else None)
    return aval


def _update_variant(aval: ShapedArray, whole: ShapedArray, changes: dict[str, Any]) -> ShapedArray:
    """`update` of an aval with a sharding or in other memory, which is `whole` without these."""
    sharding, space = changes.pop("sharding", aval._split), changes.pop("memory_space", aval.memory_space)
    whole = whole.update(**changes)
    if isinstance(sharding, TypeSharding) and sharding is aval._split and whole.shape != aval.shape:
        entries = zip(sharding.spec.partitions, whole.shape) if whole.ndim == aval.ndim else [(None, 1)] * whole.ndim
        sharding = sharding.with_entries([None if entry is None or size % parts_of(entry, sharding.mesh) else entry
                                          for entry, size in entries])
    return aval_in(split_aval(whole, sharding), space)


def insert_axis(aval: ShapedArray, axis: int, size: int, entry: Any = None) -> ShapedArray:
    """The aval with one more axis, split over explicit mesh axes as an entry of a spec says."""
    shape = (*aval.shape[:axis], size, *aval.shape[axis:])
    if aval._split is None:
        return aval.update(shape=shape)
    entries = aval._split.spec.partitions
    return aval.update(shape=shape, sharding=aval._split.with_entries((*entries[:axis], entry, *entries[axis:])))


def remove_axis(aval: ShapedArray, axis: int) -> ShapedArray:
    """The aval of one slice along an axis."""
    shape = aval.shape[:axis] + aval.shape[axis + 1:]
    if aval._split is None:
        return aval.update(shape=shape) if aval._named or aval._plain is not None else ShapedArray(shape, aval.dtype, aval.weak_type)
    entries = aval._split.spec.partitions
    return aval.update(shape=shape, sharding=aval._split.with_entries(entries[:axis] + entries[axis + 1:]))


_aval_makers: dict[type[Any], Callable[[Any], ShapedArray]] = {}
_reference_types: list[type[Any]] = []


def register_value_type(cls: type[Any], make_aval: Callable[[Any], ShapedArray]) -> None:
    """Lets values of type `cls` be operands; `make_aval(value)` gives their aval."""
    _aval_makers[cls] = make_aval


def register_reference_type(cls: type[Any]) -> None:
    """Gives instances of `cls`, which are no arrays and no operands, the type in their attribute `aval`."""
    _reference_types.append(cls)


def get_aval(value: Any) -> ShapedArray:
    """The aval of a value: a tracer, an array, a NumPy array or scalar, a Python scalar.

    Raises:
      TypeError: if the value is none of these.
      ValueError: if it is a masked array of NumPy.
    """
    try:
        make = _aval_makers[type(value)]
    except KeyError:
        make = _find_maker(value)
    return make(value)


def _find_maker(value: Any) -> Callable[[Any], ShapedArray]:
    if isinstance(value, np.ndarray) and isinstance(value, np.ma.MaskedArray):
        raise ValueError(f"{called_with(value)}numpy masked arrays are not supported as direct inputs, got one of shape {value.shape}. Use "
                         "x.filled(value) to make it a plain array, or pass x.data and x.mask.")
    for base in type(value).__mro__:
        if base in _aval_makers:
            make = _aval_makers[type(value)] = _aval_makers[base]
            return make
    if hasattr(value, "__jax_array__"):
        return lambda v: get_aval(v.__jax_array__())
    if isinstance(value, tuple(_reference_types)):
        return lambda ref: ref.aval
    raise TypeError(
        f"{called_with(value)}a value of type {type(value).__module__}.{type(value).__qualname__} is not an array: {_shorten(value)}. "
        "Expected an array, a NumPy array or scalar, or a Python bool, int, float or complex.")


def is_array_like(value: Any) -> bool:
    """Whether `get_aval` accepts the value."""
    cls = type(value)
    return cls in _aval_makers or hasattr(value, "__jax_array__") or any(b in _aval_makers for b in cls.__mro__)


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _numpy_aval(array: np.ndarray[Any, Any]) -> ShapedArray:
    return ShapedArray(array.shape, dtypes.canonicalize_dtype(array.dtype))


_numpy_scalar_avals: dict[tuple[type[Any], bool], ShapedArray] = {}  # with and without 64-bit types


def _numpy_scalar_aval(value: np.generic) -> ShapedArray:
    key = type(value), config.enable_x64.value
    aval = _numpy_scalar_avals.get(key)
    if aval is None:
        aval = ShapedArray((), dtypes.canonicalize_dtype(value.dtype))
        if isinstance(value, (np.number, np.bool_)):  # strings and records have one type for many dtypes
            _numpy_scalar_avals[key] = aval
    return aval


def _python_scalar_maker(kind: type[Any]) -> Callable[[Any], ShapedArray]:
    avals: dict[bool, ShapedArray] = {}  # with and without 64-bit types

    def make(_value: Any) -> ShapedArray:
        is_wide = config.enable_x64.value
        aval = avals.get(is_wide)
        if aval is None:
            aval = avals[is_wide] = ShapedArray((), dtypes.scalar_dtype(kind), kind is not bool)
        return aval
    return make


register_value_type(np.ndarray, _numpy_aval)
register_value_type(np.generic, _numpy_scalar_aval)
for _kind in (bool, int, float, complex):
    register_value_type(_kind, _python_scalar_maker(_kind))
