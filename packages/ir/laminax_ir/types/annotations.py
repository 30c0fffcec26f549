"""Names for annotations of values that have no class of their own.

An array is a NumPy array, an array of a runtime, or a tracer; these share no class, and this layer knows only the first
and the last. To a type checker the names mean `Any`; to a reader they say what is meant.
"""

from typing import Any, TypeAlias

Array: TypeAlias = Any  # with a shape and a dtype: `f32[3]`
ArrayLike: TypeAlias = Any  # an array, or a Python or NumPy number that stands for one of rank 0
DTypeLike: TypeAlias = Any  # a NumPy dtype, a scalar type, the name of one, or something with a dtype
