"""Arguments of NumPy-style functions: what counts as an array, and how operands are brought to one dtype and rank.

Arrays, NumPy arrays, tracers and Python scalars are arrays; lists and tuples are not, because turning a long list into
an array is a cost that should be seen where it arises. `laminax.numpy.array` makes that step.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir.functions import promoted_operands
from laminax_ir.functions.promoted_operands import as_dtype, promote, promote_shapes
from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.ops.elementwise import convert_element_type
from laminax_ir.ops.shape import broadcasted_iota
from laminax_ir.ops.shape_arguments import canonical_axes, canonical_axis
from laminax_ir.symbolic.symbolic_dims import size_of
from laminax_ir.symbolic.symbolic_values import dim_as_value
from laminax_ir.tracing.trace import Tracer, is_tracing
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_ir.types.errors import ConcretizationTypeError, DTypeError
from laminax_runtime import device_put, put_constant

_HOST_TYPES = (np.ndarray, np.generic, bool, int, float, complex)

# Types known to be arrays; most calls pass these, so that one set lookup is all their checking costs.
_known_types: set[type] = {np.ndarray, bool, int, float, complex}


def ensure_arrays(name: str, *args: Any) -> Sequence[Any]:
    """The arguments, once it is certain that each is an array or a scalar.

    Raises:
      TypeError: if one is not; lists and tuples are not.
    """
    for x in args:
        if type(x) not in _known_types:
            return [_ensured(name, position, x) for position, x in enumerate(args)]
    return args


def ensure_array(name: str, x: Any) -> Any:
    """The argument, once it is certain that it is an array or a scalar."""
    return x if type(x) in _known_types else _ensured(name, 0, x)


def _ensured(name: str, position: int, x: Any) -> Any:
    if type(x) in _known_types:
        return x
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    if not is_array_like(x):
        advice = " Make an array of it with numpy.array or numpy.asarray." if isinstance(x, (list, tuple)) else ""
        raise TypeError(f"{name} requires ndarray or scalar arguments, got {type(x)} at position {position}.{advice}")
    _known_types.add(type(x))
    return x


def is_host_value(x: Any) -> bool:
    """Whether x is a Python scalar or a NumPy array or scalar: a value that a function may not return as it is."""
    return isinstance(x, _HOST_TYPES)


def as_array(x: Any) -> Any:
    """x, put on a device if it is a host value."""
    if isinstance(x, _HOST_TYPES):
        return put_constant(x) if is_tracing() else device_put(x)
    return x


def convert(x: Any, dtype: Any) -> Any:
    """x with elements of a canonical dtype, strongly typed."""
    aval = get_aval(x)
    if aval.dtype == dtype and not aval.weak_type and not isinstance(x, _HOST_TYPES):
        return x
    if dtypes.is_extended(dtype) or dtypes.is_extended(aval.dtype):
        return convert_element_type(x, dtype)
    if dtypes.issubdtype(aval.dtype, dtypes.complexfloating) and not dtypes.issubdtype(dtype, dtypes.complexfloating):
        return convert_element_type(x, dtype)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def promote_inexact(name: str, *args: Any) -> list[Any]:
    """Operands in one floating or complex dtype and, but for scalars, one rank: what `arctan2` and the like compute on."""
    dtype, weak = dtypes.result_type(*ensure_arrays(name, *args), return_weak_type_flag=True)
    dtype = dtypes.to_inexact_dtype(dtype)
    return promote_shapes(name, *[as_dtype(x, dtype, weak) for x in ensure_arrays(name, *args)])


def promote_real_inexact(name: str, **args: Any) -> list[Any]:
    """Operands as from `promote_inexact`, for a function that is defined for real numbers only; arguments by name, for the message.

    Raises:
      ValueError: if an operand is complex.
    """
    operands = promote_inexact(name, *args.values())
    for argument, x in zip(args, ensure_arrays(name, *args.values())):
        if dtypes.issubdtype(get_aval(x).dtype, dtypes.complexfloating):
            raise ValueError(f"Argument `{argument}` to {name} must be real-valued, got {get_aval(x).str_short()}: {name} does not support "
                             f"complex-valued inputs. Take its real part.")
    return operands


def promote_arrays(name: str, *args: Any) -> list[Any]:
    """Operands in their common dtype and, but for scalars, one rank."""
    return promote(name, *ensure_arrays(name, *args))


def promote_dtypes(name: str, *args: Any) -> list[Any]:
    """Operands in their common dtype; shapes are left alone."""
    return promoted_operands.promote_dtypes(*ensure_arrays(name, *args))


def inexact(name: str, x: Any) -> Any:
    """x itself if floating or complex, else converted to the float that functions like `sin` compute in."""
    x = ensure_array(name, x)
    aval = get_aval(x)
    if dtypes.issubdtype(aval.dtype, dtypes.inexact):
        return x
    return as_dtype(x, dtypes.to_inexact_dtype(aval.dtype), aval.weak_type)


def strong(x: Any) -> Any:
    """x with a dtype that does not yield in promotion."""
    aval = get_aval(x)
    return convert(x, aval.dtype) if aval.weak_type else x


def weak_like(result: Any, *operands: Any) -> Any:
    """The result with a dtype that yields in promotion, if those of all operands do; otherwise as it is."""
    aval = get_aval(result)
    if aval.weak_type or not all(get_aval(x).weak_type for x in operands):
        return result
    return convert_element_type_p.bind(result, new_dtype=aval.dtype, weak_type=True)


def strong_unless_scalar(result: Any, *operands: Any) -> Any:
    """The result of a function that has strongly typed constants: an array is strongly typed, a scalar only if an operand is."""
    return strong(result) if shape_of(result) else weak_like(result, *operands)


def promote_numeric(name: str, *args: Any) -> Sequence[Any]:
    """The arguments; where all are bools, as the default integer: for functions that have no meaning for bools."""
    arrays = ensure_arrays(name, *args)
    if all(type(x) is bool or getattr(x, "dtype", None) == np.bool_ for x in arrays):
        return [convert(x, dtypes.scalar_dtype(int)) for x in arrays]
    return arrays


def dtype_of(x: Any) -> Any:
    """The dtype of an array or scalar, a canonical one."""
    return get_aval(x).dtype


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array or scalar."""
    return get_aval(x).shape


def positions(count: Any) -> Any:
    """The numbers from 0 to `count` as an array of int32: a constant, or where the count is symbolic an array of the program."""
    return np.arange(count, dtype=np.int32) if type(count) is int else broadcasted_iota(np.int32, (count,), 0)


def size_scalar(size: Any, dtype: Any = np.dtype(np.int32)) -> Any:
    """A size as a scalar of a dtype: a constant, or where it is symbolic a value of the program."""
    return dtype.type(size) if type(size) is int else convert_element_type(dim_as_value(size), dtype)


def is_kind(x: Any, kind: Any) -> bool:
    """Whether the elements of x are of a kind such as `dtypes.inexact`."""
    return dtypes.issubdtype(get_aval(x).dtype, kind)


def user_dtype(name: str, dtype: Any) -> Any:
    """The canonical form of a dtype parameter; None stays None."""
    return None if dtype is None else dtypes.check_user_dtype_supported(dtype, name)


def refuse_out(name: str, out: Any) -> None:
    """Raises if NumPy's `out` parameter is used: arrays do not change.

    Raises:
      NotImplementedError: if out is not None.
    """
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to numpy.{name} is not supported, because arrays do not change; got a "
                                  f"{type(out).__name__}. Use the returned array instead.")


def one_axis(name: str, axis: Any, rank: int) -> int:
    """An axis in [0, rank), from one that may count from the end.

    Raises:
      ValueError: if it is out of range.
    """
    return canonical_axis(name, axis, rank)


def axis_tuple(name: str, axis: Any, rank: int) -> tuple[int, ...]:
    """The axes that NumPy's `axis` parameter means: all for None, one for an int, or a sequence of distinct ones.

    Raises:
      ValueError: if an axis is out of range or given twice.
      TypeError: if the parameter is none of these.
    """
    if axis is None:
        return tuple(range(rank))
    try:
        return (canonical_axis(name, operator.index(axis), rank),)
    except TypeError:
        pass
    if isinstance(axis, (str, bytes)) or isinstance(axis, Tracer):
        raise TypeError(f"{name}: axis must be None, an integer or a sequence of integers, got {axis!r}")
    axis = tuple(axis)
    if len({canonical_axis(name, a, rank) for a in axis}) < len(axis):
        raise ValueError(f"{name}: duplicate value in 'axis': {axis} has a repeated axis")
    return canonical_axes(name, axis, rank)


def concrete_int(name: str, parameter: str, value: Any) -> int:
    """A parameter that decides shapes or structure, as an int; a symbolic dimension stays one.

    Raises:
      TypeError: if it is not an integer, or is traced.
    """
    try:
        return size_of(value)
    except TypeError as error:
        if isinstance(value, Tracer):
            if (known := value.demanded_value()) is not None:  # of a differentiated number, say
                return int(known)
            raise ConcretizationTypeError(f"Abstract tracer value encountered where concrete value is expected. {name}: {parameter} must "
                                          f"be a concrete integer, got {value.aval.str_short()}. {error}") from None
        raise type(error)(f"{name}: {parameter} must be a concrete integer, got {value!r}. {error}") from None


def concrete_numpy(name: str, what: str, x: Any, advice: str = "") -> np.ndarray:
    """The value of an array that decides a shape, or whether the call is an error.

    Args:
      name, what: the function and its argument, for the message.
      x: the array.
      advice: what to do instead, where it is not to give `size`.

    Raises:
      ConcretizationTypeError: if it is traced.
    """
    if isinstance(x, Tracer):
        value = x.demanded_value()
        if value is None:
            if advice:
                raise ConcretizationTypeError(f"{name}: the value of {what}, {x.aval.str_short()}, is not known while the function is "
                                              f"traced. {advice}")
            raise ConcretizationTypeError(
                f"{name}: {what} decides the shape of the result, so its values must be known while the function is "
                f"traced; got {x.aval.str_short()}. Give `size` where the function has it, or call it outside of jit.")
        x = value
    if dtypes.is_extended(dtype_of(x)):
        raise DTypeError(f"{name} does not accept dtype {dtype_of(x)}: random keys have no order and no truth value. random.key_data(keys) "
                         "gives their words.")
    return np.asarray(x)


def concrete_or_error(force: Callable | None, val: Any, context: str = "") -> Any:
    """The value itself, converted by `force`.

    Args:
      force: a conversion such as `int`; None for none.
      val: a value.
      context: what needs it, for the message.

    Raises:
      ConcretizationTypeError: if it is traced.
    """
    if isinstance(val, Tracer):
        known = val.demanded_value()
        if known is None:
            raise ConcretizationTypeError(f"a concrete value is expected where {val.aval.str_short()} is traced. {context}".strip())
        val = known
    return val if force is None else force(val)
