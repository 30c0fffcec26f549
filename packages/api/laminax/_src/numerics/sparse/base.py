"""The common parts of all sparse formats: a base class, the static properties of an array, errors and warnings."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn, Self

from laminax_ir.ops.shape_arguments import canonical_shape
from laminax_ir.tracing.trace import Tracer

from laminax._src.numerics.floor import block_until_ready

if TYPE_CHECKING:
    import numpy as np


class SparseEfficiencyError(ValueError):
    """An operation would store a sparse array inefficiently."""


class SparseEfficiencyWarning(UserWarning):
    """An operation stores a sparse array inefficiently."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """Kept for filters of warnings: laminax writes sparse products as gathers and scatters on all platforms, and never gives it."""


class SparseInfo(NamedTuple):
    """The static properties of a sparse array besides the shapes of its buffers.

    Attributes:
      shape: of the array that it stands for.
      indices_sorted: whether the entries are known to be in the order of their indices.
      unique_indices: whether no two entries are known to have the same index.
    """
    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


class JAXSparse:
    """Base of the sparse formats: arrays of which only some entries are stored.

    A format is a pytree whose leaves are its buffers, so that functions that are transformed take and return sparse arrays. What a
    format does not support raises NotImplementedError.
    """

    data: Any
    shape: tuple[int, ...]
    _has_rules = False  # whether `sparsify` has rules for the format
    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # as of arrays
    __array_ufunc__ = None  # an operator with a NumPy array on the left is the sparse array's

    def __init__(self, args: tuple[Any, ...], *, shape: Any) -> None:
        self.shape = canonical_shape(type(self).__name__, shape)

    def _set(self, names: tuple[str, ...], values: tuple[Any, ...]) -> Self:
        """Sets attributes without the checks of `__init__`: leaves of pytrees may be anything."""
        for name, value in zip(names, values, strict=True):
            setattr(self, name, value)
        return self

    @property
    def size(self) -> int:
        """Number of elements of the array, stored or not."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the elements."""
        return self.data.dtype

    @property
    def nse(self) -> int:
        """Number of entries that are stored, in each batch."""
        raise NotImplementedError(f"{self.__class__}.nse")

    @property
    def T(self) -> Any:  # noqa: N802  (NumPy's name)
        """The array with its axes reversed."""
        return self.transpose()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError(f"len() of {type(self).__name__} without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        name = type(self).__name__
        try:
            text = f"{name}({self.dtype.name}{list(self.shape)}, nse={self.nse}{self._described_layout()})"
        except Exception:  # a pytree that holds something else than arrays
            return f"{name}(<invalid>)"
        return f"{type(self.data).__name__}[{text}]" if isinstance(self.data, Tracer) else text

    def _described_layout(self) -> str:
        return ""

    def block_until_ready(self) -> Any:
        """Waits for the buffers to be computed, and returns the array itself."""
        return block_until_ready(self)

    def todense(self) -> Any:
        """The array with all its elements."""
        raise NotImplementedError(f"{self.__class__}.todense")

    def transpose(self, axes: Any = None) -> Any:
        """The array with its axes permuted."""
        raise NotImplementedError(f"{self.__class__}.transpose")


def _refusing(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{self.__class__}.{name}")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Not supported by this format."
    return method


for _name in ("__pos__", "__neg__", "__matmul__", "__rmatmul__", "__mul__", "__rmul__", "__add__", "__radd__", "__sub__", "__rsub__",
              "__truediv__", "__getitem__", "sum"):
    setattr(JAXSparse, _name, _refusing(_name))


def is_sparse(x: Any) -> bool:
    """Whether x is an array in a sparse format."""
    return isinstance(x, JAXSparse)


def with_data(x: Any, data: Any) -> Any:
    """A sparse array, of any format, with other values at the same places."""
    (_, *places), shape_and_order = x.tree_flatten()
    return type(x).tree_unflatten(shape_and_order, (data, *places))
