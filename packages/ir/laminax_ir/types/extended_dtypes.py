"""Extended dtypes: element types that NumPy has no dtype for.

An extended dtype is an object, not a NumPy dtype: it names its place in the scalar type hierarchy (`type`), and its rules say how
its elements are stored, as small arrays of an ordinary dtype, and what their tangents are. The PRNG keys are one of them: an array of
`key<fry>` with shape (3,) is stored as u32[3,2]. Libraries define others by deriving from `ExtendedDType`; `primal_tangent_dtype` makes
numbers whose tangents have another dtype.
"""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

import numpy as np

from laminax_ir.options.records import Record
from laminax_ir.types.arguments import called_with

float0 = np.dtype([("float0", np.void, 0)])  # of the tangents of integers and booleans: the vector space of dimension 0


class extended(np.generic):
    """The scalar type above all extended dtypes, for `issubdtype(dtype, extended)`."""


class prng_key(extended):
    """The scalar type of the PRNG key dtypes, for `issubdtype(dtype, prng_key)`."""


_classes: set[type] = set()  # of extended dtypes


class ExtendedDType:
    """The base of extended dtypes; a subclass is immutable, hashable and compares by value, as a frozen dataclass does.

    A subclass has a `name`, the `type` that is its place in the hierarchy, a subclass of `extended`, and `_rules`, an object with

    * `physical_element_aval(dtype)`: how one element is stored, anything with a `shape` and an ordinary `dtype`;
    * `allow_conversion`: whether arrays may be converted to the dtype from the arrays that store them, and back; or the functions
      `convert_to(dtype_of_operand, dtype)` and `convert_from(dtype, new_dtype)`, which say so;
    * for derivatives `tangent_dtype(dtype)`: the dtype of tangents, which may be an ordinary one, `float0`, or the dtype itself, which then
      has the rules `zero(dtype)`, the zero tangent, and `add(dtype, x, y)`, the sum of two;
    * for `full` and the functions that are made of it `full(shape, fill_value, dtype)`.
    """

    __slots__ = ()

    type: type[extended]
    name: str
    _rules: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _classes.add(cls)

    @property
    def itemsize(self) -> int:
        """Bytes per element, as stored."""
        return self.physical_dtype.itemsize * math.prod(self.physical_shape)

    @property
    def physical_dtype(self) -> Any:
        """The dtype of the arrays that store elements, an ordinary one."""
        return np.dtype(rule_of(self, "physical_element_aval")(self).dtype)

    @property
    def physical_shape(self) -> tuple[int, ...]:
        """The shape that stores one element."""
        return tuple(rule_of(self, "physical_element_aval")(self).shape)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


def is_extended(dtype: Any) -> bool:
    """Whether this dtype object is an extended one."""
    return isinstance(dtype, ExtendedDType)


def has_user_dtypes() -> bool:
    """Whether libraries have defined extended dtypes: if not, no array needs rules of its own to be added."""
    return len(_classes) > _NUM_OWN_CLASSES


def rule_of(dtype: ExtendedDType, rule: str) -> Any:
    """What the rules of an extended dtype say.

    Raises:
      NotImplementedError: if they say nothing.
    """
    found = getattr(getattr(dtype, "_rules", None), rule, None)
    if found is None:
        raise NotImplementedError(f"the dtype {dtype!s} of the class {type(dtype).__name__} has no rule {rule!r}, which is needed here: "
                                  f"give it one, an attribute of its _rules")
    return found


def tangent_dtype_of(dtype: ExtendedDType) -> Any:
    """The dtype of the tangents of an array of an extended dtype: `float0`, an ordinary one, or an extended one."""
    found = rule_of(dtype, "tangent_dtype")(dtype)
    return found if isinstance(found, ExtendedDType) else np.dtype(found)


def is_conversion_allowed(old: Any, new: Any) -> bool:
    """Whether arrays of one dtype may be converted to another, one of which is an extended dtype."""
    dtype, rule = (new, "convert_to") if isinstance(new, ExtendedDType) else (old, "convert_from")
    by_dtypes = getattr(dtype._rules, rule, None)
    return bool(getattr(dtype._rules, "allow_conversion", False) if by_dtypes is None else by_dtypes(old, new))


# --- numbers with other tangents ---


class _StoredElement(NamedTuple):
    """How one element of an extended dtype is stored."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class primal_tangent_dtype_scalar(extended):
    """The scalar type of the dtypes that `primal_tangent_dtype` makes."""


class PrimalTangentDType(Record, ExtendedDType):
    """The dtype of numbers of `primal_dtype` whose tangents have `tangent_dtype`; see `primal_tangent_dtype`."""

    primal_dtype: np.dtype[Any]
    tangent_dtype: Any
    name: str

    type = primal_tangent_dtype_scalar

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    @property
    def _rules(self) -> Any:
        return _PrimalTangentRules


class _PrimalTangentRules:
    """The rules of `PrimalTangentDType`: what its fields say, and conversions to the primal dtype and back."""

    allow_conversion = True

    @staticmethod
    def physical_element_aval(dtype: PrimalTangentDType) -> _StoredElement:
        """One number of the primal dtype."""
        return _StoredElement((), dtype.primal_dtype)

    @staticmethod
    def tangent_dtype(dtype: PrimalTangentDType) -> Any:
        """The dtype that it was made with."""
        return dtype.tangent_dtype


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


class KeyRules:
    """The rules of the dtypes of PRNG keys: their words are no numbers, so that keys have neither conversions nor tangents."""

    allow_conversion = False

    @staticmethod
    def physical_element_aval(dtype: KeyDType) -> _StoredElement:
        """The words of one key."""
        return _StoredElement(dtype.impl.key_shape, KeyDType.physical_dtype)

    @staticmethod
    def tangent_dtype(_dtype: KeyDType) -> np.dtype[Any]:
        """No tangents."""
        return float0


class KeyDType(ExtendedDType):
    """The dtype of PRNG keys of one generator, `key<fry>`; two are equal when their generators are."""

    __slots__ = ("impl", "name", "itemsize", "_hash")

    type: Any = prng_key
    physical_dtype: Any = np.dtype(np.uint32)
    _rules = KeyRules

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


_NUM_OWN_CLASSES = len(_classes)
