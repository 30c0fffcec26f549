"""Sparse values as references into a list of buffers: the form of `sparsify` that says which arrays share indices.

Values whose `indices_ref` is the same are known to have their entries at the same places: their sum and product need no search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence

from laminax_ir.pytrees import pytree

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import is_sparse
from laminax._src.numerics.sparse.bcoo import BCOO
from laminax._src.numerics.sparse.bcsr import BCSR
from laminax._src.numerics.sparse.transform import sparsify

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef


class SparsifyValue(NamedTuple):
    """An array as numbers of buffers of a `SparsifyEnv`: dense without `indices_ref`, BCSR with `indptr_ref`, else BCOO."""
    shape: tuple[int, ...]
    data_ref: int | None
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool | None = False
    unique_indices: bool | None = False

    def is_sparse(self) -> bool:
        """Whether it has indices."""
        return self.indices_ref is not None

    def is_bcsr(self) -> bool:
        """Whether it has compressed rows."""
        return self.indptr_ref is not None

    def is_bcoo(self) -> bool:
        """Whether it has coordinates."""
        return self.is_sparse() and not self.is_bcsr()

    def is_dense(self) -> bool:
        """Whether all elements are in its data."""
        return not self.is_sparse()


class SparsifyEnv:
    """A list of buffers, to which values refer by number.

    Args:
      bufs: the first buffers.

    Example:
      >>> env = SparsifyEnv([x.indices, x.data, y.data])
      >>> both = env.sparse(x.shape, data_ref=1, indices_ref=0), env.sparse(x.shape, data_ref=2, indices_ref=0)
      >>> results, _ = sparsify_raw(operator.add)(env, *both)
    """

    def __init__(self, bufs: Sequence[Any] = ()) -> None:
        self._buffers = list(bufs)

    def _push(self, buffer: Any) -> int:
        self._buffers.append(jnp.asarray(buffer))
        return len(self._buffers) - 1

    def data(self, spvalue: SparsifyValue) -> Any:
        """The buffer of a value's data."""
        if spvalue.data_ref is None:
            raise ValueError(f"SparsifyEnv.data: {spvalue} has no data")
        return self._buffers[spvalue.data_ref]

    def indices(self, spvalue: SparsifyValue) -> Any:
        """The buffer of a sparse value's indices."""
        if spvalue.indices_ref is None:
            raise ValueError(f"SparsifyEnv.indices: {spvalue} has no indices")
        return self._buffers[spvalue.indices_ref]

    def indptr(self, spvalue: SparsifyValue) -> Any:
        """The buffer that says where the rows of a BCSR value begin."""
        if spvalue.indptr_ref is None:
            raise ValueError(f"SparsifyEnv.indptr: {spvalue} has no indptr")
        return self._buffers[spvalue.indptr_ref]

    def dense(self, data: Any) -> SparsifyValue:
        """A dense value of a new buffer."""
        ref = self._push(data)
        return SparsifyValue(self._buffers[ref].shape, ref)

    def sparse(self, shape: Sequence[int], data: Any = None, indices: Any = None, indptr: Any = None, *, data_ref: int | None = None,
               indices_ref: int | None = None, indptr_ref: int | None = None, indices_sorted: bool = False,
               unique_indices: bool = False) -> SparsifyValue:
        """A sparse value, each of whose buffers is either a new one or one that is there, by its number.

        Raises:
          ValueError: if a buffer is given both ways, or the data or the indices are not given.
        """
        refs: list[int | None] = []
        for name, buffer, ref in (("data", data, data_ref), ("indices", indices, indices_ref), ("indptr", indptr, indptr_ref)):
            if buffer is not None and ref is not None or buffer is None and ref is None and name != "indptr":
                raise ValueError(f"SparsifyEnv.sparse: give either {name} or {name}_ref")
            refs.append(ref if buffer is None else self._push(buffer))
        data_ref, indices_ref, indptr_ref = refs
        return SparsifyValue(tuple(shape), data_ref, indices_ref, indptr_ref, indices_sorted, unique_indices)


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """A pytree of arrays, sparse or not, as one of values, each with buffers of its own."""
    def value(x: Any) -> SparsifyValue:
        if not is_sparse(x):
            return spenv.dense(x)
        _, *rest = x._info
        buffers = dict(zip(("data", "indices", "indptr"), x._bufs))
        return spenv.sparse(x.shape, **buffers, indices_sorted=rest[0], unique_indices=rest[1])
    return pytree.tree_map(value, args, is_leaf=is_sparse)


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """A pytree of values as one of arrays, sparse or not."""
    def array(value: SparsifyValue) -> Any:
        if value.is_dense():
            return spenv.data(value)
        known: dict[str, Any] = {"shape": value.shape, "indices_sorted": bool(value.indices_sorted),
                                 "unique_indices": bool(value.unique_indices)}
        if value.is_bcsr():
            return BCSR((spenv.data(value), spenv.indices(value), spenv.indptr(value)), **known)
        return BCOO((spenv.data(value), spenv.indices(value)), **known)
    return pytree.tree_map(array, spvalues, is_leaf=_is_value)


def _is_value(x: Any) -> bool:
    return isinstance(x, SparsifyValue)


def sparsify_raw(f: Callable) -> Callable:
    """As `sparsify`, of values that refer to the buffers of an environment.

    Returns:
      A function `(spenv, *spvalues, **params)` that returns the list of resulting values, in the same environment, and the structure of f's
      result. The keywords are passed to f as they are.
    """
    def wrapped(spenv: SparsifyEnv, *spvalues: SparsifyValue, **params: Any) -> tuple[list[SparsifyValue], PyTreeDef]:
        results = sparsify(lambda *args: f(*args, **params))(*spvalues_to_arrays(spenv, spvalues))
        flat, tree = pytree.tree_flatten(results, is_leaf=is_sparse)
        return arrays_to_spvalues(spenv, flat), tree
    return wrapped
