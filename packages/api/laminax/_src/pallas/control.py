"""What kernels are written with beside references: conditions, loops, memory for a part of the kernel, small arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import state as refs
from laminax_ir.ops.callbacks import debug_print as print_values
from laminax_ir.ops.checks import check
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.elementwise import add, convert_element_type, div, mul, sub
from laminax_ir.ops.loops import fori_loop
from laminax_ir.ops.shape import full
from laminax_ir.options.ambient import Override, define_ambient
from laminax_ir.pytrees.pytree import tree_map
from laminax_ir.refs.refs import RefView
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.avals import get_aval
from laminax_ir.types.canonical_dtypes import canonicalize_dtype

from laminax._src.numerics.numpy.reshaping import broadcast_to as broadcast
from laminax._src.pallas.operands import uninitialized
from laminax._src.pallas.tpu_memory import is_semaphore

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

debug_checks = define_ambient("debug checks of kernels", False, "Whether kernels check what debug_check is given.")


def when(condition: Any, /) -> Callable[[Callable[[], None]], None]:
    """A decorator that runs a function if a condition holds.

    Args:
      condition: a bool, or a boolean scalar that may be traced.

    Returns:
      A function of a function without arguments and results, which writes to references.

    Raises:
      TypeError: if the condition is no boolean scalar.

    Example:
      >>> def kernel(x_ref, o_ref):
      ...     @when(program_id(0) == 0)
      ...     def _():
      ...         o_ref[...] = x_ref[...]
    """
    def run(fun: Callable[[], None]) -> None:
        value = condition.concrete_value() if isinstance(condition, Tracer) else condition
        if value is None:
            cond(condition, fun, lambda: None)
        elif np.shape(value):
            raise TypeError(f"when: condition must be a boolean scalar, got an array of shape {np.shape(value)}")
        elif value:
            fun()
    return run


def loop(lower: ArrayLike, upper: ArrayLike, *, init_carry: Any = None, step: ArrayLike = 1,
         unroll: int | bool | None = None) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that runs a function for lower, lower + step, ... below upper.

    Args:
      lower, upper: integer scalars.
      init_carry: the first carry; None for a function of the index alone, which writes to references.
      step: a positive integer scalar.
      unroll: how many runs make a step of the loop, or whether all do, as for `lax.fori_loop`.

    Returns:
      A function of a function of the index, and of the carry, that returns the next one; it returns the last carry.

    Raises:
      ValueError: for a step that is known and not positive.

    Example:
      >>> def kernel(x_ref, o_ref):
      ...     @loop(0, 8, step=2)
      ...     def _(i):
      ...         o_ref[i] = x_ref[i]
    """
    if isinstance(step, (int, np.integer)) and step < 1:
        raise ValueError(f"loop: step must be positive, got {step}")

    def run(body: Callable[..., Any]) -> Any:
        count = cdiv(_minus(upper, lower), step)

        def one(i: Any, carry: Any) -> Any:
            index = add(lower, mul(i, _like(step, i)))
            return body(index) if init_carry is None else body(index, carry)
        return fori_loop(_zero_like(count), count, one, init_carry, unroll=unroll)
    return run


def _minus(a: Any, b: Any) -> Any:
    return a - b if isinstance(a, int) and isinstance(b, int) else sub(a, b)


def _like(x: Any, other: Any) -> Any:
    """The scalar in the dtype of another."""
    return convert_element_type(x, get_aval(other).dtype)


def _zero_like(x: Any) -> Any:
    return 0 if isinstance(x, int) else full((), 0, get_aval(x).dtype)


def cdiv(a: Any, b: Any) -> Any:
    """The quotient of two integers, rounded up: how many blocks of b cover a.

    Example:
      >>> cdiv(7, 3)
      3
    """
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    return div(add(a, sub(b, 1)), b)


def align_to(a: Any, alignment: Any) -> Any:
    """The least multiple of an integer that is not below another: `align_to(5, 4)` is 8."""
    blocks = cdiv(a, alignment)
    return blocks * alignment if isinstance(blocks, int) else mul(blocks, alignment)


def next_power_of_2(x: int) -> int:
    """The least power of two that is not below an int.

    Raises:
      ValueError: for a negative one.

    Example:
      >>> next_power_of_2(5)
      8
    """
    if x < 0:
        raise ValueError(f"next_power_of_2: x must not be negative, got {x}")
    return 1 << (x - 1).bit_length() if x else 1


def strides_from_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """How far apart neighbours along each axis lie in memory, in elements, where the last axis is contiguous.

    Example:
      >>> strides_from_shape((2, 3, 4))
      (12, 4, 1)
    """
    return tuple([int(np.prod(shape[i + 1:], dtype=np.int64)) for i in range(len(shape))])


def multiple_of(x: Array, values: Sequence[int] | int) -> Array:
    """The array, which the caller knows to be a multiple of these ints. Compilers of kernels use that; an interpreted kernel does not."""
    for value in [values] if isinstance(values, int) else values:
        if value < 1:
            raise ValueError(f"multiple_of: values must be positive ints, got {value}")
    return x


def broadcast_to(a: ArrayLike, shape: tuple[int, ...]) -> Array:
    """The array with the elements of its axes of size 1, and of those that it lacks in front, repeated to a shape.

    Raises:
      ValueError: if it cannot have that shape.
    """
    return broadcast(a, shape)


def delay(nanos: ArrayLike) -> None:
    """Lets a compiled kernel wait so many nanoseconds. Interpreted kernels do not wait."""


def debug_print(fmt: str, *args: ArrayLike) -> None:
    """Prints values from a kernel, at each step of the grid.

    Args:
      fmt: a text with a place for each value, `"x is {}"`. Without places the values follow the text.
      *args: arrays, scalars, and references, whose values are printed.

    Raises:
      IndexError: if the text mentions a value that is not given.

    Example:
      >>> def kernel(x_ref, o_ref):
      ...     debug_print("x is {}", x_ref[...])
    """
    values = [refs.get(x) if isinstance(x, (refs.Ref, RefView)) else x for x in args]
    print_values(fmt if "{" in fmt or not args else fmt + " {}" * len(args), *values)


def debug_check(condition: Any, message: str) -> None:
    """Checks a condition where `enable_debug_checks` is on: inside `checkify` with debug checks, an error if it does not hold.

    Args:
      condition: a boolean scalar.
      message: what the error says.
    """
    if debug_checks.value:
        check(condition, message, debug=True)


def enable_debug_checks(new_val: bool = True) -> Override:
    """A context manager in which `debug_check` checks."""
    return debug_checks(bool(new_val))


# Memory


def empty(shape: Sequence[int], dtype: Any, *, out_sharding: Any = None) -> Array:
    """An array whose elements nobody has written: NaN, the least integer or False.

    Args:
      shape, dtype: the array's.
      out_sharding: only None.

    Raises:
      NotImplementedError: for an out_sharding.
    """
    if out_sharding is not None:
        raise NotImplementedError("empty: out_sharding is not supported. Use reshard on the result.")
    kept = canonicalize_dtype(dtype)
    return full(tuple(shape), uninitialized(kept, False), kept)


def empty_like(x: Any) -> Any:
    """`empty` for each leaf of a pytree that has a shape and a dtype."""
    return tree_map(lambda leaf: empty(leaf.shape, leaf.dtype), x)


def empty_ref_like(x: Any) -> Any:
    """References to `empty` arrays, for each leaf of a pytree that has a shape and a dtype, such as types of memory.

    Example:
      >>> empty_ref_like(MemorySpace.ANY((2,), "int32")).shape
      (2,)
    """
    return tree_map(_allocated, x)


def _allocated(memory: Any) -> refs.Ref:
    dtype = canonicalize_dtype(memory.dtype)
    return refs.new_ref(full(tuple(memory.shape), uninitialized(dtype, is_semaphore(memory)), dtype))


def run_scoped(f: Callable[..., Any], *types: Any, collective_axes: Any = (), **kw_types: Any) -> Any:
    """Calls a function with references to memory that is there for the call.

    Args:
      f: function of references in the structures of the types.
      *types, **kw_types: types of memory, such as `MemorySpace.ANY((8,), "float32")`, or pytrees of them.
      collective_axes: only (); there are no other programs to share memory with.

    Returns:
      What f returns.

    Raises:
      NotImplementedError: for collective_axes.

    Example:
      >>> def kernel(x_ref, o_ref):
      ...     def body(acc_ref):
      ...         acc_ref[...] = x_ref[...] * 2
      ...         o_ref[...] = acc_ref[...]
      ...     run_scoped(body, MemorySpace.ANY((8,), "float32"))
    """
    if collective_axes not in ((), None):
        raise NotImplementedError(f"run_scoped: collective_axes={collective_axes!r} is not supported: an interpreted kernel is one program")
    return f(*empty_ref_like(types), **empty_ref_like(kw_types))


def with_scoped(*types: Any, collective_axes: Any = (), **kw_types: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function gets references to memory of these types, then its own arguments; see `run_scoped`."""
    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            def body(*owned: Any, **named: Any) -> Any:
                return f(*owned, *args, **named, **kwargs)
            return run_scoped(body, *types, collective_axes=collective_axes, **kw_types)
        return call
    return decorate


def run_state(f: Callable[[Any], None]) -> Callable[[Any], Any]:
    """A function of arrays from one that writes to references.

    Args:
      f: function of a pytree of references, which returns nothing.

    Returns:
      A function of a pytree of arrays that returns what is in the references after f.

    Example:
      >>> def increment(ref):
      ...     ref[...] += 1
      >>> run_state(increment)(laminax.numpy.arange(3))
      Array([1, 2, 3], dtype=int32)
    """
    def run(values: Any) -> Any:
        boxes = tree_map(refs.new_ref, values)
        f(boxes)
        return tree_map(refs.freeze, boxes)
    return run
