"""`ufunc`: an elementwise function with NumPy's methods that reduce, accumulate, tabulate and update with it.

The methods work for every function of two arguments, by a loop over the elements; a ufunc may be given better ones, as
those of `add` are, whose reduction is a sum. `ufuncs` and `logic` make the built-in ones with `builtin_ufunc`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import shape as shape_ops
from laminax_ir.tracing.trace import Tracer, eval_trace, state
from laminax_ir.tracing.tracebacks import shorten
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_runtime import ArrayImpl

from laminax._src.numerics.floor import compiled_function, eval_shape, fused
from laminax._src.numerics.numpy.apply import vectorize
from laminax._src.numerics.numpy.arguments import as_array, convert, ensure_array, ensure_arrays, one_axis, shape_of, user_dtype
from laminax._src.numerics.numpy.conditions import _where
from laminax._src.numerics.numpy.reshaping import moveaxis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class ufunc:
    """An elementwise function of scalars, with NumPy's methods. It does not change, and equals one made of the same parts.

    Args:
      func: takes `nin` arrays and returns `nout`, elementwise. Its name and documentation become the ufunc's.
      nin: the number of arguments.
      nout: the number of results.
      name: the name; by default that of func.
      nargs: the number of arguments again; must be nin, which is the default.
      identity: the neutral value of a function of two arguments, if it has one.
      call: what a call calls, if not func: something that computes the same.
      reduce, accumulate, at, reduceat: what these methods call, with the method's arguments by name (of `at` by position);
        by default loops of calls.

    Example:
      >>> add.reduce(arange(4)), multiply.accumulate(arange(1, 4)), add.at(zeros(2), 0, 5., inplace=False)
      (Array(6, dtype=int32), Array([1, 2, 6], dtype=int32), Array([5., 0.], dtype=float32))
    """

    __name__: str
    nin: int
    nout: int
    nargs: int
    identity: Any
    _func: Callable[..., Any]
    _call: Callable[..., Any]
    _own: dict[str, Callable[..., Any] | None]
    _key: tuple[Any, ...]  # what two equal ones have in common

    def __init__(self, func: Callable[..., Any], /, nin: int, nout: int, *, name: str | None = None, nargs: int | None = None,
                 identity: Any = None, call: Callable[..., Any] | None = None, reduce: Callable[..., Any] | None = None,
                 accumulate: Callable[..., Any] | None = None, at: Callable[..., Any] | None = None,
                 reduceat: Callable[..., Any] | None = None) -> None:
        if not callable(func):
            raise TypeError(f"ufunc: func must be callable, got {func!r}")
        nin, nout = operator.index(nin), operator.index(nout)
        if nin < 0 or nout < 1 or nargs not in (None, nin):
            raise ValueError(f"ufunc: nin must be at least 0, nout at least 1 and nargs equal to nin, got {nin}, {nout} and {nargs}")
        name = name or getattr(func, "__name__", type(func).__name__)
        parts = {"_func": func, "nin": nin, "nout": nout, "nargs": nin, "identity": identity, "_call": call or func,
                 "_own": {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}}
        self.__dict__.update(parts, __name__=name, __qualname__=name, __doc__=func.__doc__, __wrapped__=func,
                             _key=(func, name, nin, nout, identity, reduce, accumulate, at, reduceat))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self!r}: attribute {name!r} cannot be set. Make another ufunc instead, with frompyfunc.")

    __delattr__ = lambda self, name: self.__setattr__(name, None)  # noqa: E731

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ufunc) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<laminax.numpy.ufunc {self.__name__!r}>"

    def __reduce__(self) -> str:
        return self.__name__  # pickled by name, as functions are

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        try:
            if out is not None or where is not None:
                _refuse(f"{self.__name__}", out=out, where=where)
            return self._call(*args)
        except Exception as error:
            shorten(error)
            raise

    def reduce(self, a: ArrayLike, axis: int | tuple[int, ...] | None = 0, dtype: Any = None, out: None = None,
               keepdims: bool = False, initial: Any = None, where: Any = None) -> Array:
        """Combines the elements along an axis, from the first on.

        Args:
          a: an array.
          axis: the axis; None is the flat array.
          dtype: the dtype to compute in.
          out: must be None.
          keepdims: whether the axis stays, with size 1.
          initial: a scalar, what to start with; by default the identity, or the first element if there is none.
          where: a bool array that broadcasts to a; elements where it is false are left out.

        Raises:
          ValueError: if a is empty along the axis, or where is given, and there is neither an identity nor an initial.
        """
        self._check_binary("reduce")
        _refuse(f"{self.__name__}.reduce", out=out)
        a = ensure_array(f"{self.__name__}.reduce", a)
        if self.identity is None and initial is None and where is not None:
            raise ValueError(f"reduction operation {self.__name__!r} does not have an identity, so to use a where mask one has to "
                             "specify 'initial'")
        dtype = user_dtype(f"{self.__name__}.reduce", dtype)
        if own := self._own["reduce"]:
            return own(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
        if isinstance(axis, tuple):
            raise NotImplementedError(f"{self.__name__}.reduce: a tuple of axes is not supported, got {axis}; reduce one after the other")
        return _reduce(a, initial, where, function=self, axis=axis, dtype=dtype, keepdims=bool(keepdims))

    def accumulate(self, a: ArrayLike, axis: int | None = 0, dtype: Any = None, out: None = None) -> Array:
        """Combines the elements along an axis up to each one; parameters as for `reduce`."""
        self._check_binary("accumulate")
        _refuse(f"{self.__name__}.accumulate", out=out)
        dtype = user_dtype(f"{self.__name__}.accumulate", dtype)
        if axis is None and len(shape_of(a)) != 1:
            raise ValueError(f"{self.__name__}.accumulate does not allow multiple axes; got axis=None for {get_aval(a).str_short()}")
        a = ensure_array(f"{self.__name__}.accumulate", a)
        axis = one_axis(f"{self.__name__}.accumulate", 0 if axis is None else axis, len(shape_of(a)))
        if own := self._own["accumulate"]:
            return own(a, axis=axis, dtype=dtype)
        return _accumulate(a, function=self, axis=axis, dtype=dtype)

    def at(self, a: ArrayLike, indices: Any, b: ArrayLike | None = None, /, *, inplace: bool = True) -> Array:
        """An array with the function applied at an index, once for each time that an element is named.

        Args:
          a: an array.
          indices: an index, as in a[indices].
          b: the second argument of a function of two, which broadcasts to the shape of a[indices].
          inplace: must be False, because arrays do not change.
        """
        if inplace:
            raise NotImplementedError(f"{self.__name__}.at: arrays do not change, so the function cannot be applied in place. Pass "
                                      "inplace=False and use the returned array.")
        a = as_array(ensure_array(f"{self.__name__}.at", a))
        if own := self._own["at"]:
            return own(a, indices, b)
        if b is None:
            return a.at[indices].apply(self)
        positions, shape = _flat_positions(a, indices)
        return _at(a, positions, ensure_array(f"{self.__name__}.at", b), function=self, shape=shape)

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """The function of every element of A with every element of B: [*A.shape, *B.shape]."""
        self._check_binary("outer")
        A, B = ensure_arrays(f"{self.__name__}.outer", A, B)
        a_rank, b_rank = len(shape_of(A)), len(shape_of(B))
        return self(shape_ops.expand_dims(A, tuple(range(a_rank, a_rank + b_rank))) if b_rank else A,
                    shape_ops.expand_dims(B, tuple(range(a_rank))) if a_rank else B)

    def reduceat(self, a: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Reductions of slices along an axis: from each index to the next one, or to the end for the last.

        Args:
          a: an array.
          indices: int[n], where the slices start; of an index that is not below the next one, the element there is the result.
          axis: the axis.
          dtype: the dtype to compute in.
          out: must be None.

        Returns:
          An array with size n along the axis.
        """
        self._check_binary("reduceat")
        _refuse(f"{self.__name__}.reduceat", out=out)
        a, indices = ensure_arrays(f"{self.__name__}.reduceat", a, indices)
        if not dtypes.issubdtype(get_aval(indices).dtype, dtypes.integer) or len(shape_of(indices)) != 1:
            raise ValueError(f"{self.__name__}.reduceat: indices must be a vector and have an integer type, got "
                             f"{get_aval(indices).str_short()}")
        if axis is None or isinstance(axis, (tuple, list)):
            raise ValueError(f"{self.__name__}.reduceat requires a single integer axis, got {axis}")
        dtype = user_dtype(f"{self.__name__}.reduceat", dtype)
        if own := self._own["reduceat"]:
            return own(a, indices, axis=axis, dtype=dtype)
        return _reduceat(a, indices, function=self, axis=axis, dtype=dtype)

    def _check_binary(self, method: str) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs; {self.__name__} takes {self.nin} arguments")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value; {self.__name__} returns {self.nout}")


def _refuse(name: str, **parameters: Any) -> None:
    for parameter, value in parameters.items():
        if value is not None:
            raise NotImplementedError(f"{parameter} argument of {name}: not supported, because arrays do not change; got {value!r}. "
                                      "Use the returned array, and numpy.where.")


# --- the methods of a function of which nothing else is known: loops over the axis ---


def _prepared(name: str, a: Any, axis: int | None, dtype: Any) -> tuple[Any, int | None]:
    """The array in a dtype, the axis in front."""
    a = as_array(a if dtype is None else convert(a, dtype))
    if axis is None:
        return shape_ops.reshape(a, (a.size,)), None
    axis = one_axis(name, axis, len(a.shape))
    return moveaxis(a, axis, 0), axis


def _computed_in(function: ufunc, a: Any, dtype: Any) -> tuple[Any, Any]:
    """The array, converted if a dtype is given, and the dtype of results: what the function returns for such elements."""
    if dtype is not None:
        a = convert(a, dtype)
    element = ShapedArray((), get_aval(a).dtype)
    return a, dtype or eval_shape(function, element, element).dtype


@fused(static_argnames=("function", "axis", "dtype", "keepdims"))
def _reduce(a: ArrayLike, initial: Any, where: Any, *, function: Any, axis: int | None, dtype: Any, keepdims: bool) -> Array:
    from laminax_ir.ops.loops import scan

    name, shape = f"{function.__name__}.reduce", shape_of(a)
    if where is not None:
        where, _ = _prepared(name, shape_ops.broadcast_to_shape(where, shape), axis, np.dtype(bool))
    a, dtype = _computed_in(function, a, dtype)
    x, axis = _prepared(name, a, axis, None)
    if initial is None and function.identity is None:
        if x.shape[0] == 0:
            raise ValueError(f"zero-size array to reduction operation {function.__name__} which has no identity. Give initial, the "
                             "value for an empty reduction.")
        start, x = convert(x[0], dtype), x[1:]
    else:
        start = initial if initial is not None else function.identity
        start = shape_ops.broadcast_to_shape(convert(start, dtype), x.shape[1:])

    def step(accumulated: ArrayLike, row: Any) -> tuple[Array, None]:
        row, mask = row
        combined = convert(function(accumulated, row), dtype)
        return (combined if mask is None else _where(mask, combined, accumulated)), None

    result, _ = scan(step, start, (x, where))
    if keepdims:
        return shape_ops.expand_dims(result, tuple(range(len(shape))) if axis is None else (axis,))
    return result


@fused(static_argnames=("function", "axis", "dtype"))
def _accumulate(a: Any, *, function: Any, axis: Any, dtype: Any) -> Array:
    from laminax_ir.ops.loops import scan

    a, dtype = _computed_in(function, a, dtype)
    x, axis = _prepared(f"{function.__name__}.accumulate", a, axis, None)
    first = convert(x[:1], dtype)
    if x.shape[0] == 0:
        return moveaxis(first, 0, axis)

    def step(accumulated: ArrayLike, row: ArrayLike) -> tuple[Array, Array]:
        accumulated = convert(function(accumulated, row), dtype)
        return accumulated, accumulated

    _, rest = scan(step, first[0], x[1:])
    return moveaxis(shape_ops.concatenate([first, rest], 0), 0, axis)


def _flat_positions(a: Any, indices: Any) -> tuple[Any, tuple[int, ...]]:
    """Where the elements of a[indices] stand in the flat array, and how they are arranged; out of bounds is -size - 1."""
    own = shape_ops.reshape(np.arange(a.size, dtype=dtypes.scalar_dtype(int)), a.shape)
    found = as_array(own).at[indices].get(mode="fill", fill_value=-a.size - 1)
    return shape_ops.reshape(found, (found.size,)), found.shape


@fused(static_argnames=("function", "shape"))
def _at(a: ArrayLike, positions: ArrayLike, b: ArrayLike, *, function: ufunc, shape: tuple[int, ...]) -> Array:
    from laminax_ir.ops.loops import scan
    values = shape_ops.reshape(shape_ops.broadcast_to_shape(b, shape), positions.shape)

    def step(flat: ArrayLike, where_and_what: tuple[ArrayLike, ...]) -> tuple[Array, None]:
        position, value = where_and_what
        return flat.at[position].set(convert(function(flat[position], value), flat.dtype)), None

    flat, _ = scan(step, shape_ops.reshape(a, (a.size,)), (positions, values))
    return shape_ops.reshape(flat, a.shape)


@fused(static_argnames=("function", "axis", "dtype"))
def _reduceat(a: Any, indices: ArrayLike, *, function: Any, axis: Any, dtype: Any) -> Array:
    from laminax_ir.ops.loops import scan

    a, dtype = _computed_in(function, a, dtype)
    x, axis = _prepared(f"{function.__name__}.reduceat", a, axis, None)
    number = get_aval(indices).dtype
    ends = shape_ops.concatenate([indices[1:], shape_ops.full((1,), x.shape[0], number)], 0)

    def step(accumulated: ArrayLike, position_and_row: tuple[ArrayLike, ...]) -> tuple[Array, None]:
        position, row = position_and_row
        inside = op.bitwise_and(op.lt(indices, position), op.lt(position, ends))
        inside = shape_ops.expand_dims(inside, tuple(range(1, len(x.shape))))
        combined = convert(function(accumulated, shape_ops.expand_dims(row, (0,))), dtype)
        return op.select(shape_ops.broadcast_to_shape(inside, accumulated.shape), combined, accumulated), None

    result, _ = scan(step, convert(x[indices], dtype), (shape_ops.iota(number, x.shape[0]), x))
    return moveaxis(result, 0, axis)


# --- how ufuncs are made ---


def builtin_ufunc(identity: Any = None, *, on_tracers: Callable[..., Any] | None = None, is_composite: bool = False,
                  reduce: Callable[..., Any] | None = None,
                  accumulate: Callable[..., Any] | None = None, at: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]],
                  ufunc]:
    """Decorator: makes a NumPy function of one or two arrays a ufunc.

    Called on arrays outside of traces it is one compiled program, entered by the short way of the operators on arrays; on
    NumPy arrays and the like the same compiled by `fused`; in a trace, the function itself.

    Args:
      identity: the neutral value, if there is one.
      on_tracers: what the function does once it has checked its arguments, which tracers need not be.
      is_composite: whether it is several operations, which are worth recording.
      reduce, accumulate, at: better ones than loops.
    """
    def decorate(fun: Callable[..., Any]) -> ufunc:
        general = fused(fun)
        nin = fun.__code__.co_argcount
        result = (_UnaryUfunc if nin == 1 else _BinaryUfunc)(fun, nin, 1, identity=identity, reduce=reduce, accumulate=accumulate, at=at)
        del result.__dict__["__wrapped__"]  # its signature is that of the call, with `out` and `where`
        result.__dict__.update(__module__=fun.__module__, _on_tracers=on_tracers or (general if is_composite else fun), _general=general,
                               _compiled=compiled_function(lambda *args: [fun(*args)], fun.__name__))
        return result
    return decorate


_SCALARS = frozenset((bool, int, float, complex))


class _UnaryUfunc(ufunc):
    """A built-in one; its call has no detour."""

    _compiled: Callable[..., Any]  # for arrays
    _general: Callable[..., Any]  # for anything

    def __call__(self, x: Any, /, *, out: None = None, where: None = None) -> Any:  # type: ignore[override]  # it takes `nin` arguments
        try:
            if out is not None or where is not None:
                _refuse(self.__name__, out=out, where=where)
            if state.trace is not eval_trace:
                return self._func(x)
            return self._compiled(x) if type(x) is ArrayImpl else self._general(x)
        except Exception as error:
            shorten(error)
            raise


class _BinaryUfunc(ufunc):
    """A built-in one; its call has no detour."""

    _compiled: Callable[..., Any]  # for arrays
    _general: Callable[..., Any]  # for anything
    _on_tracers: Callable[..., Any]

    def __call__(self, x: Any, y: Any, /, *, out: None = None, where: None = None) -> Any:  # type: ignore[override]  # likewise
        try:
            if out is not None or where is not None:
                _refuse(self.__name__, out=out, where=where)
            if state.trace is not eval_trace:
                return (self._on_tracers if isinstance(x, Tracer) and isinstance(y, Tracer) else self._func)(x, y)
            if type(x) is ArrayImpl and (type(y) is ArrayImpl or type(y) in _SCALARS):
                return self._compiled(x, y)
            return self._general(x, y)
        except Exception as error:
            shorten(error)
            raise


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc from a function of scalars.

    Args:
      func: takes `nin` scalars and returns `nout`; it is mapped with `vectorize`.
      nin: the number of arguments.
      nout: the number of results.
      identity: the neutral value of a function of two arguments, if it has one.

    Example:
      >>> frompyfunc(lambda x, y: x * y % 7, nin=2, nout=1, identity=1).reduce(arange(1, 5))
      Array(3, dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity, call=vectorize(func))
