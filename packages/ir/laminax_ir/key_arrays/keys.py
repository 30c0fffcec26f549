"""Arrays of random keys, and how extended dtypes are stored.

An array of keys of shape `s` is stored as uint32 words of shape `(*s, *key_shape)`: a `key<fry>[3]` is a u32[3,2].
`physical_aval` states it for avals, `PRNGKeyArray` holds a concrete one. The words may be a NumPy array or an array
of a runtime; a traced key is a tracer whose aval has the key dtype.
"""

from __future__ import annotations

import functools
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterator

import numpy as np

from laminax_ir.options import config
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.pytrees.pytree import dispatch_registry
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, register_value_type
from laminax_ir.types.errors import DTypeError, ShapeError
from laminax_ir.types.type_shardings import in_use

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """The aval of the ordinary array that stores a value: of a key array its words; of any other, the aval itself.

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


def _aval_of_keys(words: Any, shape: tuple[int, ...], dtype: dtypes.KeyDType) -> ShapedArray:
    """The aval of keys: split over explicit mesh axes as their words are, and in the same memory."""
    aval = ShapedArray(shape, dtype)
    if not in_use or (stored := getattr(words, "aval", None)) is None or stored._plain is None:
        return aval
    split = stored._split
    if split is not None:
        split = split.with_entries(split.spec.partitions[:aval.ndim])
    return aval.update(sharding=split, memory_space=stored.memory_space)


def stored_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the array that stores a value on a device: a key's words, and booleans for float0, which carries nothing."""
    return aval.update(dtype=np.bool_) if aval.dtype == dtypes.float0 else physical_aval(aval)


_WORD = np.dtype(np.uint32)


def check_key_data(name: str, impl: dtypes.PRNGImpl, words: Any) -> None:
    """Checks that an array, tracer or aval can be the words of keys of a generator.

    Raises:
      TypeError: if it is no uint32 array whose last axes are the generator's key shape.
    """
    if getattr(words, "dtype", None) is _WORD and words.shape[-len(impl.key_shape):] == impl.key_shape:
        return
    for attribute in ("ndim", "shape", "dtype"):
        if not hasattr(words, attribute):
            raise TypeError(f"{name}: invalid PRNG key data: an array with ndim, shape and dtype is expected, "
                            f"got a {type(words).__name__}: {words!r:.80}")
    if dtypes.is_extended(words.dtype) or words.dtype != np.uint32:
        raise DTypeError(f"{name}: invalid PRNG key data: the dtype must be uint32, got {words.dtype}")
    if tuple(words.shape[-len(impl.key_shape):]) != impl.key_shape:
        raise ShapeError(f"{name}: invalid PRNG key data: a key of {impl.name} has shape {impl.key_shape}, so the shape "
                         f"must end with it; got {tuple(words.shape)}. Make keys with random.key or random.PRNGKey.")


# Keys of words. The other operations on keys are in `ops.random_bits`.
random_wrap_p = Primitive("random_wrap", family="random_bits", traits=(Trait.EXACT_WHOLE,))


@shape_rule(random_wrap_p)
def _random_wrap_shape(words: ShapedArray, *, impl: dtypes.PRNGImpl) -> ShapedArray:
    check_key_data("random_wrap", impl, words)
    return ShapedArray(words.shape[:-len(impl.key_shape)], dtypes.key_dtype(impl), named_shape=words.named_shape)


def _row(i: int, used: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return used[i, ...]


class PRNGKeyArray:
    """A concrete array of random keys.

    It can be indexed, iterated over, reshaped and compared like any array, but not computed with; the functions of the random
    module consume it. Its operators are set on it where those of traced arrays are (`operators.py`).

    Args:
      impl: the generator, or its name.
      base: the words, uint32 of shape `(*shape, *impl.key_shape)`.
    """

    __slots__ = ("dtype", "base", "_used", "__weakref__")
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    __array_priority__ = 100

    dtype: dtypes.KeyDType
    base: Any
    sharding: Any  # set by the api package, as most methods are; so is the next
    committed: bool

    def __init__(self, impl: dtypes.PRNGImpl | str, base: ArrayLike) -> None:
        self.dtype = dtypes.key_dtype(impl)
        check_key_data("PRNGKeyArray", self.dtype.impl, base)
        self.base = base

    @property
    def impl(self) -> dtypes.PRNGImpl:
        return self.dtype.impl

    @property
    def _base_array(self) -> Any:  # libraries written for JAX read the words and the generator by these two names
        return self.base

    @property
    def _impl(self) -> dtypes.PRNGImpl:
        return self.dtype.impl

    def used(self) -> np.ndarray[Any, Any]:
        """Which keys were used while `debug_key_reuse` was on: writable bools, which arrays cut from this one share."""
        if not hasattr(self, "_used"):
            self._used = np.zeros(self.shape, bool)
        return self._used

    @property
    def _consumed(self) -> Any:  # the same by JAX's name
        return self.used()[()]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.base.shape[:-len(self.impl.key_shape)])

    @property
    def aval(self) -> ShapedArray:
        return _aval_of_keys(self.base, self.shape, self.dtype)

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
    def T(self) -> PRNGKeyArray:
        return self.transpose()

    def __getitem__(self, index: Any) -> Array:
        if not isinstance(index, tuple):
            index = (index,)
        has_ellipsis = any(i is Ellipsis for i in index)
        every_word = (slice(None),) * len(self.impl.key_shape)
        self._check_index(index, has_ellipsis)
        return self._with_words(self.base[(*index, *every_word) if has_ellipsis else index],
                                lambda used: used[index if has_ellipsis else (*index, ...)])

    def _check_index(self, index: tuple[Any, ...], has_ellipsis: bool) -> None:
        # A boolean mask takes as many axes as it has; None takes none.
        taken = sum(i.ndim if getattr(i, "dtype", None) == np.bool_ else 1
                    for i in index if i is not None and i is not Ellipsis)
        if taken > self.ndim:
            raise IndexError(f"Too many indices: a key array of shape {self.shape} has {self.ndim} axes, and {taken} were indexed")

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a scalar key")
        return self.shape[0]

    def __iter__(self) -> Iterator[PRNGKeyArray]:
        if not self.ndim:
            raise TypeError("iteration over a scalar key; random.split makes several of it")
        return (self._with_words(words, functools.partial(_row, i)) for i, words in enumerate(self.base))

    def reshape(self, *shape: Any, order: str = "C") -> PRNGKeyArray:
        """The same keys in another shape; one size may be -1. By the order "F" the first axis varies fastest."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if order == "F":
            return self.transpose().reshape(tuple(sizes)[::-1]).transpose()
        if order != "C":
            raise ValueError(f"reshape of a key array: order must be 'C' or 'F', got {order!r}")
        if -1 in sizes:
            sizes = np.empty(self.shape, bool).reshape(sizes).shape
        return self._with_words(self.base.reshape(*sizes, *self.impl.key_shape), lambda used: used.reshape(sizes))

    def ravel(self) -> PRNGKeyArray:
        """The same keys along one axis."""
        return self.reshape(self.size)

    flatten = ravel

    def squeeze(self, axis: Any = None) -> PRNGKeyArray:
        """Without the axes of size 1, or without the given ones."""
        return self.reshape(np.empty(self.shape, bool).squeeze(axis).shape)

    def transpose(self, *axes: Any) -> PRNGKeyArray:
        """With the axes permuted, reversed by default."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = tuple(order) or tuple(reversed(range(self.ndim)))
        if sorted(a % self.ndim for a in order) != list(range(self.ndim)):
            raise ValueError(f"transpose of a key array of shape {self.shape}: {order} is not a permutation of its axes")
        return self._with_words(self.base.transpose(*(a % self.ndim for a in order), *range(self.ndim, self.base.ndim)),
                                lambda used: used.transpose(order))

    def swapaxes(self, axis1: int, axis2: int) -> PRNGKeyArray:
        """With two axes exchanged."""
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return self.transpose(order)

    def copy(self) -> PRNGKeyArray:
        """A copy that owns its words."""
        return self._with_words(self.base.copy(), lambda used: used)

    def block_until_ready(self) -> PRNGKeyArray:
        """Waits until the words are computed."""
        wait = getattr(self.base, "block_until_ready", None)
        if wait is not None:
            wait()
        return self

    def _with_words(self, words: ArrayLike, arranged: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Array:
        """Some of these keys, arranged otherwise: their words, and how the marks of used ones are arranged."""
        if isinstance(words, Tracer):  # an index was traced
            return random_wrap_p.bind(words, impl=self.impl)
        keys = PRNGKeyArray(self.impl, words)
        if config.debug_key_reuse.value:
            keys._used = arranged(self.used())
        return keys

    def __bool__(self) -> bool:
        raise TypeError("a key array has no truth value")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use random.key_data(keys) for its words.")

    def __reduce__(self) -> tuple[Any, ...]:
        return PRNGKeyArray, (self.impl, self.base)

    def __repr__(self) -> str:
        return f"Array({self.shape}, dtype={self.dtype.name}) overlaying:\n{self.base}"


register_value_type(PRNGKeyArray, attrgetter("aval"))


def keys_of_words(dtype: dtypes.KeyDType, words: Any) -> PRNGKeyArray:
    """The keys stored in words that are known to fit: ten times faster than the constructor, which checks."""
    keys = object.__new__(PRNGKeyArray)
    keys.dtype, keys.base = dtype, words
    return keys


if dispatch_registry is not None:
    dispatch_registry.register_node(PRNGKeyArray, lambda keys: ((keys.base,), keys.dtype),
                                    lambda dtype, words: keys_of_words(dtype, words[0]))


# The form of keys in the reference evaluator


def record_dtype(impl: dtypes.PRNGImpl) -> np.dtype[Any]:
    """The NumPy dtype of one key as a record; its one field is named after the generator and holds the words.

    Raises:
      NotImplementedError: for a generator of the user's, which is made of functions that NumPy does not know.
    """
    if impl.functions is not None:
        raise NotImplementedError(f"the NumPy evaluator has only the generators of laminax, not {impl.name!r}. "
                                  "Compile the function with jit.")
    return np.dtype([(impl.name, np.uint32, impl.key_shape)])


def to_records(keys: Any) -> np.ndarray[Any, Any]:
    """A key array as a NumPy array of records, of the key array's own shape; records are returned as they are.

    NumPy moves records like any other element, so shape operations on keys need no rules of their own.
    """
    if not isinstance(keys, PRNGKeyArray):
        return np.asarray(keys)
    records = np.empty(keys.shape, record_dtype(keys.impl))
    records[keys.impl.name] = np.asarray(keys.base)
    return records


def from_records(records: np.ndarray[Any, Any]) -> PRNGKeyArray:
    """The inverse of `to_records`."""
    assert records.dtype.names is not None  # since they have fields
    (name,) = records.dtype.names
    return PRNGKeyArray(name, records[name])
