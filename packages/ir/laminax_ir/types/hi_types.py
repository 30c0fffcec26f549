"""Types of users' own: values that are one value in traces and programs, and several arrays where a program is compiled.

A subclass of `HiType` says which arrays a value of the type consists of, what its tangents are, and what a batch of such values is. The
class of the values is registered with the function that gives their types. Types are interned, as those of arrays are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

from laminax_ir.types.avals import get_aval, register_value_type, type_classes
from laminax_ir.types.memory_spaces import MemorySpace


class _Interning(type):
    """The class of users' types: of equal instances there is one."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        try:
            known = _interned.setdefault(made, ref(made))()
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: a type must be hashable and comparable, such as a frozen dataclass with hashable fields: "
                            f"{error}") from None
        return made if known is None else known


_OF_ARRAYS = ("shape", "dtype", "ndim", "size", "sharding", "named_shape", "update")
_interned: WeakKeyDictionary[Any, ref[Any]] = WeakKeyDictionary()


class HiType(metaclass=_Interning):
    """A type of values that consist of arrays, and are single values of this type in traces and programs.

    Instances are hashable and comparable, as those of a frozen dataclass are. A subclass defines

    * `lo_ty()`: the types of the arrays that a value consists of, a list;
    * `lower_val(value)`: the list of these arrays, and `raise_val(*arrays)`, the value that consists of them;
    * for derivatives `to_tangent_aval()`: the type of tangents; if that is a type of users too, its `vspace_zero()` gives the zero tangent
      and its `vspace_add(x, y)` the sum of two;
    * for `vmap` `inc_rank(size, spec)` and `dec_rank(size, spec)`: the type of a batch, and of one example of a batch, where a
      `MappingSpec` says how it is mapped; for `scan` `leading_axis_spec()`, the spec of its leading axis;
    * for programs `str_short(short_dtypes=False)`: how the type is printed.

    Traced values have the attributes of their type; those that it marks with `aval_property` and `aval_method` get the value.

    Example:
      >>> from dataclasses import dataclass
      >>> @dataclass(frozen=True)
      ... class PairType(HiType):
      ...     shape: tuple
      ...     def lo_ty(self):
      ...         return [ShapedArray(self.shape, np.dtype("float32"))] * 2
      ...     def lower_val(self, pair):
      ...         return [pair.re, pair.im]
      ...     def raise_val(self, re, im):
      ...         return Pair(re, im)
    """

    # What the layers ask of a type, under names that the fields of a subclass do not have; the rest is in `__getattr__`.
    _plain = None
    _split = None
    _named: tuple[Any, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        type_classes.add(cls)

    def lo_ty(self) -> list[Any]:
        """The types of the arrays that a value consists of."""
        raise self._missing("lo_ty", "lowering")

    def lower_val(self, hi_val: Any) -> list[Any]:
        """The arrays that a value consists of."""
        raise self._missing("lower_val", "lowering")

    def raise_val(self, *lo_vals: Any) -> Any:
        """The value that consists of these arrays."""
        raise self._missing("raise_val", "lowering")

    def to_tangent_aval(self) -> Any:
        """The type of tangents."""
        raise self._missing("to_tangent_aval", "derivatives")

    def to_ct_aval(self) -> Any:
        """The type of cotangents: that of tangents, unless a subclass says otherwise."""
        return self.to_tangent_aval()

    def vspace_zero(self) -> Any:
        """The zero of a type of tangents."""
        raise self._missing("vspace_zero", "derivatives")

    def vspace_add(self, x: Any, y: Any) -> Any:
        """The sum of two values of a type of tangents."""
        raise self._missing("vspace_add", "derivatives")

    def inc_rank(self, size: int, spec: Any) -> Any:
        """The type of a batch of values of this type."""
        raise self._missing("inc_rank", "vmap")

    def dec_rank(self, size: int, spec: Any) -> Any:
        """The type of one example of a batch that has this type."""
        raise self._missing("dec_rank", "vmap")

    def leading_axis_spec(self) -> Any:
        """The `MappingSpec` for the leading axis, along which `scan` takes its steps."""
        raise self._missing("leading_axis_spec", "scan")

    def shard(self, mesh: Any, manual_axes: Any, check_vma: bool, spec: Any) -> Any:
        """The type of one device's part; `shard_map` does not take such values yet."""
        raise self._missing("shard", "shard_map")

    def unshard(self, mesh: Any, check_vma: bool, spec: Any) -> Any:
        """The type whose parts have this type; `shard_map` does not take such values yet."""
        raise self._missing("unshard", "shard_map")

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """How programs print the type."""
        return repr(self)

    def strip_weak_type(self) -> HiType:
        """The type itself: only types of arrays can be weak."""
        return self

    normalize = strip_weak_type

    def __getattr__(self, name: str) -> Any:
        if name == "weak_type":
            return False
        if name == "memory_space":
            return MemorySpace.Device
        if name in _OF_ARRAYS:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}: its values are no arrays. Apply operations that are "
                                 "defined for the type (HiPrim), of which some may make arrays of them.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _missing(self, method: str, purpose: str) -> NotImplementedError:
        return NotImplementedError(f"{purpose} requires the HiType {self!r} to implement the `{method}` method: define it in the class "
                                   f"{type(self).__name__}")

    def __copy__(self) -> HiType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> HiType:
        return self


class ValueAttribute:
    """An attribute of a type that traced values of the type have in a form of their own."""

    def of(self, value: Any) -> Any:
        """The attribute of a value."""
        raise NotImplementedError


class MappingSpec:
    """How values of a type of users' own are mapped: instances of a subclass are entries of `in_axes` and `out_axes`.

    They are hashable and comparable, as those of a frozen dataclass are.
    """


class HiPspec:
    """How `shard_map` splits values of a type of users' own: subclasses can be defined; `shard_map` does not take such values yet."""

    def to_lo(self) -> tuple[Any, ...]:
        """One `PartitionSpec` for each array that a value consists of."""
        raise NotImplementedError(f"{type(self).__name__} must define `to_lo`, which gives one PartitionSpec for each array")


_typeof: dict[type, Callable[[Any], Any]] = {}


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Says that instances of a class are values of a type of users' own.

    Args:
      val_cls: the class of the values. It is no pytree: its instances are leaves.
      typeof_fn: from a value to its type, a `HiType`.

    Raises:
      TypeError: if the class is none, or the function cannot be called.
      ValueError: if the class has another such function already.
    """
    if not isinstance(val_cls, type) or not callable(typeof_fn):
        raise TypeError(f"register_hitype: expected a class and a function from its instances to their type, got {val_cls!r} and "
                        f"{typeof_fn!r}")
    if _typeof.setdefault(val_cls, typeof_fn) is not typeof_fn:
        raise ValueError(f"register_hitype: {val_cls.__name__} has a type already, by {_typeof[val_cls]!r}")
    register_value_type(val_cls, typeof_fn)


def types_in_use() -> bool:
    """Whether there are types of users at all: if not, no program has any."""
    return bool(_interned)


def is_container(value: Any) -> bool:
    """Whether a value is one of a user's type itself, and no tracer of one."""
    return type(value) in _typeof or bool(_typeof) and any(base in _typeof for base in type(value).__mro__)


def lo_avals(aval: Any) -> list[Any]:
    """The types of the arrays that values of a type consist of; an array's own type alone."""
    if not isinstance(aval, HiType):
        return [aval]
    return [lo for part in aval.lo_ty() for lo in lo_avals(part)]


def lowered_values(values: Sequence[Any]) -> list[Any]:
    """The values, in which containers have been replaced by the arrays that they consist of."""
    return [lo for x in values for lo in (_arrays_of(x) if is_container(x) else (x,))]


def _arrays_of(value: Any) -> list[Any]:
    aval = get_aval(value)
    arrays = list(aval.lower_val(value))
    expected = lo_avals(aval)
    arrays = lowered_values(arrays)
    if len(arrays) != len(expected):
        raise TypeError(f"{type(aval).__name__}.lower_val must return one array for each of the types that lo_ty gives, {len(expected)}, "
                        f"got {len(arrays)}")
    return arrays


def raised_values(avals: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Values of these types, made of the arrays that they consist of."""
    rest = iter(arrays)
    return [_raised(aval, rest) for aval in avals]


def _raised(aval: Any, rest: Iterator[Any]) -> Any:
    if not isinstance(aval, HiType):
        return next(rest)
    return aval.raise_val(*[_raised(part, rest) for part in aval.lo_ty()])


def batched_type(aval: Any, size: int, spec: Any) -> Any:
    """The type of a batch of values of a user's type, mapped as a spec says.

    Raises:
      TypeError: if the spec is none.
    """
    return aval.inc_rank(size, checked_spec(aval, spec))


def checked_spec(aval: Any, spec: Any) -> Any:
    """The spec, if it is a `MappingSpec`.

    Raises:
      TypeError: if it is not.
    """
    if not isinstance(spec, MappingSpec):
        raise TypeError(f"a value of the type {aval.str_short()} is mapped as a MappingSpec of it says, got {spec!r}: give one in in_axes "
                        "or out_axes, or return one from the operation's batch rule.")
    return spec
