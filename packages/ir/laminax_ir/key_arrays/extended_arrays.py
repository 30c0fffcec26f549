"""Arrays of extended dtypes as values, and how they are stored.

An array of shape `s` whose elements are stored as arrays of shape `e` is stored as one of shape `(*s, *e)`: a `key<fry>[3]` is a u32[3,2].
`physical_aval` states it for avals, `ExtendedArray` holds a concrete one; that of random keys, `PRNGKeyArray`, is a subclass. What stores
it may be a NumPy array or an array of a runtime; a traced array is a tracer whose aval has the extended dtype.
"""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterator

import numpy as np

from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.pytrees.pytree import dispatch_registry
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, register_value_type
from laminax_ir.types.extended_dtypes import ExtendedDType
from laminax_ir.types.type_shardings import in_use

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """The aval of the ordinary array that stores a value: of an array of keys their words; of one of an ordinary dtype, the aval itself.

    Example:
      >>> physical_aval(ShapedArray((3,), dtypes.key_dtype("threefry2x32"))).str_short()
      'u32[3,2]'
    """
    dtype = aval.dtype
    if not dtypes.is_extended(dtype):
        return aval
    shape = (*aval.shape, *dtype.physical_shape)
    if aval._split is None:
        return aval.update(shape=shape, dtype=dtype.physical_dtype)
    entries = [*aval._split.spec.partitions, *[None] * len(dtype.physical_shape)]  # the words of one element stay together
    return aval.update(shape=shape, dtype=dtype.physical_dtype, sharding=aval._split.with_entries(entries))


def _aval_of(stored: Any, shape: tuple[int, ...], dtype: ExtendedDType) -> ShapedArray:
    """The aval of an array of an extended dtype: split over explicit mesh axes as what stores it is, and in the same memory."""
    aval = ShapedArray(shape, dtype)
    if not in_use or (found := getattr(stored, "aval", None)) is None or found._plain is None:
        return aval
    split = found._split
    if split is not None:
        split = split.with_entries(split.spec.partitions[:aval.ndim])
    return aval.update(sharding=split, memory_space=found.memory_space)


def stored_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the array that stores a value on a device: that of `physical_aval`, and booleans for float0, which carries nothing."""
    return aval.update(dtype=np.bool_) if aval.dtype == dtypes.float0 else physical_aval(aval)


# Conversions between ordinary arrays and the arrays of extended dtypes that they store.
to_edtype_p = Primitive("to_edtype", family="extended_dtypes")
from_edtype_p = Primitive("from_edtype", family="extended_dtypes")


@shape_rule(to_edtype_p)
def _to_edtype_shape(x: ShapedArray, *, edtype: ExtendedDType) -> ShapedArray:
    element, wanted = edtype.physical_shape, edtype.physical_dtype
    if x.dtype != wanted:
        raise ValueError(f"convert_element_type: can only convert to extended dtype {edtype} from the dtype that stores it, "
                         f"{dtypes.dtype_name(wanted)}, got {x.str_short()}. Convert to that dtype first.")
    kept = x.ndim - len(element)
    if kept < 0 or x.shape[kept:] != element:
        raise ValueError(f"convert_element_type: can only convert to extended dtype {edtype} from an array whose last axes are those of "
                         f"its elements, {element}, got {x.str_short()}.")
    if x._split is not None and any(x._split.spec.partitions[kept:]):
        raise ValueError(f"convert_element_type: can only convert to extended dtype {edtype} from an array whose last {len(element)} axes, "
                         f"those of an element, are not split, got {x.str_short()}. Reshard it first.")
    return ShapedArray(x.shape[:kept], edtype, named_shape=x.named_shape)


@shape_rule(from_edtype_p)
def _from_edtype_shape(x: ShapedArray, *, dtype: np.dtype[Any]) -> ShapedArray:
    edtype = x.dtype
    if edtype.physical_dtype != dtype:
        raise ValueError(f"convert_element_type: can only convert from extended dtype {edtype} to the dtype that stores it, "
                         f"{dtypes.dtype_name(edtype.physical_dtype)}, got the dtype {dtypes.dtype_name(dtype)}. Convert to that dtype "
                         "first.")
    return ShapedArray((*x.shape, *edtype.physical_shape), dtype, named_shape=x.named_shape)


def _row(i: int, used: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return used[i, ...]


class ExtendedArray:
    """A concrete array of an extended dtype.

    It can be indexed, iterated over, reshaped and compared like any array, but not computed with: `lax.convert_element_type` makes one,
    and numbers of it, where the rules of its dtype allow that. Its operators are set on it where those of traced arrays are
    (`operators.py`).

    Args:
      dtype: the extended dtype.
      base: the array that stores it, of the shape `(*shape, *dtype.physical_shape)` and the dtype `dtype.physical_dtype`.
    """

    __slots__ = ("dtype", "base", "__weakref__")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    __array_priority__ = 100
    _noun: ClassVar[str] = "an array of an extended dtype"  # what errors call it
    _item: ClassVar[str] = "element"
    _advice: ClassVar[str] = ""

    dtype: Any
    base: Any
    sharding: Any  # set by the api package, as most methods are; so is the next
    committed: bool

    def __init__(self, dtype: ExtendedDType, base: Any) -> None:
        self.dtype = dtype
        self.base = base

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.base.shape[:self.base.ndim - len(self.dtype.physical_shape)])

    @property
    def aval(self) -> ShapedArray:
        return _aval_of(self.base, self.shape, self.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.itemsize * self.size

    @property
    def T(self) -> ExtendedArray:
        return self.transpose()

    def __getitem__(self, index: Any) -> Array:
        if not isinstance(index, tuple):
            index = (index,)
        has_ellipsis = any(i is Ellipsis for i in index)
        every_word = (slice(None),) * len(self.dtype.physical_shape)
        self._check_index(index, has_ellipsis)
        return self._with_words(self.base[(*index, *every_word) if has_ellipsis else index],
                                lambda used: used[index if has_ellipsis else (*index, ...)])

    def _check_index(self, index: tuple[Any, ...], has_ellipsis: bool) -> None:
        # A boolean mask takes as many axes as it has; None takes none.
        taken = sum(i.ndim if getattr(i, "dtype", None) == np.bool_ else 1
                    for i in index if i is not None and i is not Ellipsis)
        if taken > self.ndim:
            raise IndexError(f"Too many indices: {self._noun} of shape {self.shape} has {self.ndim} axes, and {taken} were indexed")

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError(f"len() of a scalar {self._item}")
        return self.shape[0]

    def __iter__(self) -> Iterator[ExtendedArray]:
        if not self.ndim:
            raise TypeError(f"iteration over a scalar {self._item}{self._advice}")
        return (self._with_words(words, functools.partial(_row, i)) for i, words in enumerate(self.base))

    def reshape(self, *shape: Any, order: str = "C") -> ExtendedArray:
        """The same elements in another shape; one size may be -1. By the order "F" the first axis varies fastest."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if order == "F":
            return self.transpose().reshape(tuple(sizes)[::-1]).transpose()
        if order != "C":
            raise ValueError(f"reshape of {self._noun}: order must be 'C' or 'F', got {order!r}")
        if -1 in sizes:
            sizes = np.empty(self.shape, bool).reshape(sizes).shape
        return self._with_words(self.base.reshape(*sizes, *self.dtype.physical_shape), lambda used: used.reshape(sizes))

    def ravel(self) -> ExtendedArray:
        """The same elements along one axis."""
        return self.reshape(self.size)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> ExtendedArray:
        """Without the axes of size 1, or without the given ones."""
        return self.reshape(np.empty(self.shape, bool).squeeze(axis).shape)

    def transpose(self, *axes: Any) -> ExtendedArray:
        """With the axes permuted, reversed by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = tuple(order) or tuple(reversed(range(self.ndim)))
        if sorted(a % self.ndim for a in order) != list(range(self.ndim)):
            raise ValueError(f"transpose of {self._noun} of shape {self.shape}: {order} is not a permutation of its axes")
        return self._with_words(self.base.transpose(*(a % self.ndim for a in order), *range(self.ndim, self.base.ndim)),
                                lambda used: used.transpose(order))

    def swapaxes(self, axis1: int, axis2: int) -> ExtendedArray:
        """With two axes exchanged."""
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return self.transpose(order)

    def copy(self) -> ExtendedArray:
        """A copy that owns what stores it."""
        return self._with_words(self.base.copy(), lambda used: used)

    def block_until_ready(self) -> ExtendedArray:
        """Waits until it is computed."""
        wait = getattr(self.base, "block_until_ready", None)
        if wait is not None:
            wait()
        return self

    def _with_words(self, stored: Any, arranged: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Array:
        """Some of these elements, arranged otherwise: what stores them, and how an array with one item for each is arranged."""
        if isinstance(stored, Tracer):  # an index was traced
            return to_edtype_p.bind(stored, edtype=self.dtype)
        return array_of_stored(self.dtype, stored)

    def __bool__(self) -> bool:
        raise TypeError(f"{self._noun} has no truth value")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(f"an array of the extended dtype {self.dtype} cannot be converted to a NumPy array. Convert it with "
                        f"lax.convert_element_type to {self.dtype.physical_dtype}, which stores it.")

    def __reduce__(self) -> tuple[Any, ...]:
        return ExtendedArray, (self.dtype, self.base)

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{self.base}"


register_value_type(ExtendedArray, attrgetter("aval"))
array_classes: dict[type[ExtendedDType], type[ExtendedArray]] = {}  # by class of dtypes, where it is a subclass


def array_of_stored(dtype: ExtendedDType, stored: Any) -> Any:
    """The array that another one is known to store: ten times faster than the constructor, which checks."""
    array: ExtendedArray = object.__new__(array_classes.get(type(dtype), ExtendedArray))
    array.dtype, array.base = dtype, stored
    return array


def register_array_class(cls: type[ExtendedArray], dtype_class: type[ExtendedDType] | None = None) -> None:
    """Says that instances of a class are arrays: values that dispatch takes apart, those of the dtypes of `dtype_class`, if it is given."""
    if dtype_class is not None:
        array_classes[dtype_class] = cls
    if dispatch_registry is not None:
        dispatch_registry.register_node(cls, lambda array: ((array.base,), array.dtype),
                                        lambda dtype, stored: array_of_stored(dtype, stored[0]))


register_array_class(ExtendedArray)


# The form in the reference evaluator

_ELEMENT = "element"  # the name of the one field of the records


def record_dtype(dtype: ExtendedDType) -> np.dtype[Any]:
    """The NumPy dtype of one element as a record; its one field holds what stores it. That of a key is named after the generator.

    Raises:
      NotImplementedError: for a generator of the user's, which is made of functions that NumPy does not know.
    """
    if not isinstance(dtype, dtypes.KeyDType):
        return np.dtype([(_ELEMENT, dtype.physical_dtype, dtype.physical_shape)])
    if dtype.impl.functions is not None:
        raise NotImplementedError(f"the NumPy evaluator has only the generators of laminax, not {dtype.impl.name!r}. "
                                  "Compile the function with jit.")
    return np.dtype([(dtype.impl.name, np.uint32, dtype.impl.key_shape)])


def to_records(array: Any) -> np.ndarray[Any, Any]:
    """An extended array as a NumPy array of records, of its own shape; records are returned as they are.

    NumPy moves records like any other element, so shape operations on extended arrays need no rules of their own.
    """
    return records_of(array.dtype, np.asarray(array.base)) if isinstance(array, ExtendedArray) else np.asarray(array)


def records_of(dtype: ExtendedDType, stored: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The records of elements, of the NumPy array that stores these."""
    form = record_dtype(dtype)
    records = np.empty(stored.shape[:stored.ndim - len(dtype.physical_shape)], form)
    assert form.names is not None  # since they have fields
    records[form.names[0]] = stored
    return records


def stored_in(records: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The inverse of `records_of`."""
    assert records.dtype.names is not None  # since they have fields
    return records[records.dtype.names[0]]


def from_records(dtype: ExtendedDType, records: np.ndarray[Any, Any]) -> ExtendedArray:
    """The inverse of `to_records`, for an array of a dtype."""
    return array_of_stored(dtype, stored_in(records))
