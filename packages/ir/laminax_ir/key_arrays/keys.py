"""Arrays of random keys: a `key<fry>[3]` is stored as uint32 words, u32[3,2]."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Callable, ClassVar

import numpy as np

from laminax_ir.key_arrays.extended_arrays import ExtendedArray, register_array_class
from laminax_ir.options import config
from laminax_ir.programs.primitive import Primitive, Trait, shape_rule
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, register_value_type
from laminax_ir.types.errors import DTypeError, ShapeError

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

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


class PRNGKeyArray(ExtendedArray):
    """A concrete array of random keys, which the functions of the random module consume.

    Args:
      impl: the generator, or its name.
      base: the words, uint32 of shape `(*shape, *impl.key_shape)`.
    """

    __slots__ = ("_used",)
    _noun: ClassVar[str] = "a key array"
    _item: ClassVar[str] = "key"
    _advice: ClassVar[str] = "; random.split makes several of it"

    dtype: dtypes.KeyDType
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

    def _with_words(self, words: ArrayLike, arranged: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Array:
        """Some of these keys, arranged otherwise: their words, and how the marks of used ones are arranged."""
        if isinstance(words, Tracer):  # an index was traced
            return random_wrap_p.bind(words, impl=self.impl)
        keys = PRNGKeyArray(self.impl, words)
        if config.debug_key_reuse.value:
            keys._used = arranged(self.used())
        return keys

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use random.key_data(keys) for its words.")

    def __reduce__(self) -> tuple[Any, ...]:
        return PRNGKeyArray, (self.impl, self.base)


register_value_type(PRNGKeyArray, attrgetter("aval"))
register_array_class(PRNGKeyArray, dtypes.KeyDType)
