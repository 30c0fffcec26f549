"""Extended dtypes: element types that NumPy has no dtype for.

An extended dtype is an object, not a NumPy dtype: it names its place in the scalar type hierarchy (`type`) and how
its elements are stored, as small arrays of an ordinary dtype. The PRNG keys are the ones there are: an array of
`key<fry>` with shape (3,) is stored as u32[3,2].
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np

from laminax_ir.options.records import Record
from laminax_ir.types.arguments import called_with


class extended(np.generic):
    """The scalar type above all extended dtypes, for `issubdtype(dtype, extended)`."""


class prng_key(extended):
    """The scalar type of the PRNG key dtypes, for `issubdtype(dtype, prng_key)`."""


class ExtendedDType:
    """The base of extended dtypes; a subclass is immutable, hashable and compares by value."""

    __slots__ = ()

    type: type[extended]
    name: str
    itemsize: int  # bytes per element, as stored
    physical_dtype: np.dtype[Any]

    @property
    def physical_shape(self) -> tuple[int, ...]:
        """The shape that stores one element."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def is_extended(dtype: Any) -> bool:
    """Whether this dtype object is an extended one."""
    return isinstance(dtype, ExtendedDType)


# --- PRNG keys ---


class WordFunctions(NamedTuple):
    """The functions of a user's generator for arrays of keys, like those of `laminax_ir.random.generators` for the keys' words."""

    seed: Callable[..., Any]
    split: Callable[..., Any]
    fold_in: Callable[..., Any]
    bits: Callable[..., Any]


class PRNGImpl(Record):
    """A generator of random bits: its name, the tag its key dtype prints, and the shape of a key's uint32 words.

    `functions` is None for the generators of `laminax_ir.random.generators`, which are known by name.
    """

    name: str
    tag: str
    key_shape: tuple[int, ...]
    functions: WordFunctions | None = None

    def __str__(self) -> str:
        return self.tag

    def __repr__(self) -> str:
        return f"PRNGImpl(name={self.name!r}, tag={self.tag!r}, key_shape={self.key_shape!r})"


prng_impls: dict[str, PRNGImpl] = {
    impl.name: impl
    for impl in (
        PRNGImpl("threefry2x32", "fry", (2,)),
        PRNGImpl("rbg", "rbg", (4,)),
        PRNGImpl("unsafe_rbg", "urbg", (4,)),
        PRNGImpl("philox2x32", "phx2", (1,)),
        PRNGImpl("philox4x32", "phx4", (2,)),
        PRNGImpl("threefry4x32", "fry4", (4,)),
    )
}


class KeyDType(ExtendedDType):
    """The dtype of PRNG keys of one generator, `key<fry>`; two are equal when their generators are."""

    __slots__ = ("impl", "name", "itemsize", "_hash")

    type: Any = prng_key
    physical_dtype: Any = np.dtype(np.uint32)

    impl: PRNGImpl
    _hash: int

    def __init__(self, impl: PRNGImpl) -> None:
        set_once = object.__setattr__
        set_once(self, "impl", impl)
        set_once(self, "name", f"key<{impl.tag}>")
        set_once(self, "itemsize", self.physical_dtype.itemsize * int(np.prod(impl.key_shape)))
        set_once(self, "_hash", hash((KeyDType, impl.name)))

    @property
    def physical_shape(self) -> tuple[int, ...]:
        return self.impl.key_shape

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, KeyDType) and self.impl == other.impl)

    def __hash__(self) -> int:
        return self._hash

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a dtype is immutable; {self}.{name} cannot be assigned")

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyDType, (self.impl,)


_key_dtypes = {name: KeyDType(impl) for name, impl in prng_impls.items()}


def key_dtype(impl: str | PRNGImpl) -> KeyDType:
    """The dtype of the keys of a generator.

    Args:
        impl: a generator, or its name: 'threefry2x32', 'threefry4x32', 'philox2x32', 'philox4x32', 'rbg' or 'unsafe_rbg'.

    Raises:
        ValueError: no generator has this name.

    Example:
        >>> key_dtype("threefry2x32")
        key<fry>
    """
    if isinstance(impl, PRNGImpl):
        known = _key_dtypes.get(impl.name)
        return known if known is not None and known.impl is impl else KeyDType(impl)
    try:
        return _key_dtypes[impl]
    except KeyError:
        names = ", ".join(map(repr, _key_dtypes))
        raise ValueError(f"{called_with(impl)}There is no PRNG implementation {impl!r}. Use one of {names}.") from None
