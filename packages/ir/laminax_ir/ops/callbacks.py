"""Callbacks: Python functions that a compiled program calls on the host.

The function gets arrays of its own (whose class the evaluator chooses; see `effects.set_call_context`) and returns arrays, or values that
NumPy makes arrays of, of the types announced.
`pure_callback` may be called any number of times, also none; `io_callback` and `debug_callback` have effects.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.ops.extended_dtypes import converted
from laminax_ir.ops.random_bits import random_unwrap
from laminax_ir.programs import effects
from laminax_ir.programs.effects import Effect, debug_effect, io_effect, ordered_debug_effect, ordered_io_effect
from laminax_ir.programs.primitive import Primitive, Trait, effects_rule, shape_rule
from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.tracing import source
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef
    from laminax_ir.types.annotations import ArrayLike

pure_callback_p = Primitive("pure_callback", multiple_results=True, family="callbacks", traits=(Trait.CALLS_PYTHON,))
io_callback_p = Primitive("io_callback", multiple_results=True, family="callbacks", traits=(Trait.CALLS_PYTHON,))
debug_callback_p = Primitive("debug_callback", multiple_results=True, family="callbacks", traits=(Trait.CALLS_PYTHON,))
inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True, family="callbacks")

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized", None)


class CallbackResultError(ValueError, RuntimeError):
    """The result of a callback is not as announced. In a compiled program XLA's runtime reports it, as a RuntimeError."""


class FlatCallback:
    """A user's function on flat arrays. Equal callbacks call equal functions in the same way, so that compiled programs are found again.

    Args:
      fun: the function.
      in_tree: the structure of its arguments, as (args, kwargs).
      name: the function that it was given to, for messages: "pure_callback".
    """

    __slots__ = ("fun", "in_tree", "name")

    def __init__(self, fun: Callable, in_tree: PyTreeDef, name: str) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.name = name

    def __call__(self, *flat: np.ndarray) -> Any:
        """The function's result. The function gets copies, since the arrays that a running program lends are gone afterwards."""
        with effects.call_context(flat) as leaves:
            args, kwargs = tree_unflatten(self.in_tree, leaves)
            try:
                return self.fun(*args, **kwargs)
            except Exception:
                self._log_failure()
                raise

    def _log_failure(self) -> None:
        """Logs the error that is being handled: where a compiled program calls, nobody may wait for its results, and see the error."""
        import logging  # 5 ms of import time that few need
        logging.getLogger("laminax").exception("jax.%s failed: the callback %r raised", self.name, self)

    def _key(self) -> tuple[_Print | Callable, PyTreeDef, str]:
        return self.fun, self.in_tree, self.name

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, FlatCallback) and self._key() == other._key()

    def __hash__(self) -> int:
        try:
            return hash(self._key())
        except TypeError:
            return hash((id(self.fun), self.in_tree, self.name))

    def __repr__(self) -> str:
        return f"{getattr(self.fun, '__name__', type(self.fun).__name__)}"


@shape_rule(pure_callback_p)
@shape_rule(io_callback_p)
def _callback_shape(*_avals: ShapedArray, result_avals: tuple[ShapedArray, ...], **_params: Any) -> list[ShapedArray]:
    return list(result_avals)


@effects_rule(io_callback_p)
def _io_effects(*_avals: ShapedArray, ordered: bool, **_params: Any) -> set[Effect]:
    return {ordered_io_effect if ordered else io_effect}


@shape_rule(debug_callback_p)
def _debug_shape(*_avals: ShapedArray, **_params: Any) -> list[ShapedArray]:
    return []


@shape_rule(inspect_sharding_p)
def _inspect_shape(_x: ShapedArray, *, callback: Callable[[Any], Any]) -> list[ShapedArray]:
    return []


@effects_rule(inspect_sharding_p)
def _inspect_effects(_x: ShapedArray, *, callback: Callable[[Any], Any]) -> set[Effect]:
    return {debug_effect}  # it stays, though it has no results


@effects_rule(debug_callback_p)
def _debug_effects(*_avals: ShapedArray, effect: Effect, **_params: Any) -> set[Effect]:
    return {effect}


def run_callback(callback: FlatCallback, result_avals: Sequence[ShapedArray], operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Calls back on NumPy arrays: the meaning of the operations.

    Raises:
      CallbackResultError: if a result has another shape or dtype than was announced, or there are more or fewer of them.
    """
    leaves = tree_flatten(callback(*operands))[0]
    if len(leaves) != len(result_avals):
        raise CallbackResultError(f"{callback.name}: the callback {callback!r} returned {len(leaves)} arrays, result_shape_dtypes "
                                  f"announced {len(result_avals)}")
    return [_checked_result(callback, i, leaf, aval) for i, (leaf, aval) in enumerate(zip(leaves, result_avals))]


def _checked_result(callback: FlatCallback, index: int, leaf: ArrayLike, aval: ShapedArray) -> np.ndarray:
    array = np.asarray(leaf)
    if dtypes.canonicalize_dtype(array.dtype) != aval.dtype and (type(leaf) not in dtypes.python_scalar_types
                                                                or not np.can_cast(array.dtype, aval.dtype, "same_kind")):
        raise CallbackResultError(f"{callback.name}: incorrect output dtype for return value #{index} of the callback {callback!r}: "
                                  f"expected {aval.dtype}, got {array.dtype}")
    if array.shape != aval.shape:
        raise CallbackResultError(f"{callback.name}: incorrect output shape for return value #{index} of the callback {callback!r}: "
                                  f"expected {aval.shape}, got {array.shape}")
    return np.ascontiguousarray(array, aval.dtype).reshape(aval.shape)


def flat_arguments(name: str, callback: Any, args: tuple, kwargs: dict) -> tuple[list[Any], FlatCallback]:
    """The arguments' leaves, and the callback on these."""
    if not callable(callback):
        raise TypeError(f"{name}: the callback must be callable, got {callback!r}")
    leaves, in_tree = tree_flatten((args, kwargs))
    for path, leaf in tree_flatten_with_path((args, kwargs))[0]:
        if not is_array_like(leaf):
            raise TypeError(f"{name}: the argument at {keystr(path[1:])} is not an array: got {leaf!r:.80} of type "
                            f"{type(leaf).__name__}. Let the callback close over it.")
    _refuse_keys(name, leaves)
    return leaves, FlatCallback(callback, in_tree, name)


def _refuse_keys(name: str, leaves: Sequence[Any]) -> None:
    for leaf in leaves:
        aval = get_aval(leaf)
        if dtypes.is_extended(aval.dtype):
            raise TypeError(f"{name}: NumPy has no arrays of random keys or other extended dtypes, got {aval.str_short()}. Pass "
                            "random.key_data(key), or what stores the array, and make a key of it again with random.wrap_key_data.")


def announced_avals(name: str, result_shape_dtypes: Any) -> tuple[tuple[ShapedArray, ...], Any]:
    """The avals and the structure of the announced results."""
    leaves, tree = tree_flatten(result_shape_dtypes)
    avals = []
    for leaf in leaves:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            raise TypeError(f"{name}: result_shape_dtypes must be a pytree of objects with shape and dtype, such as "
                            f"ShapeDtypeStruct; got {leaf!r:.80}")
        dtype = np.dtype(leaf.dtype)
        if dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(f"{name}: result_shape_dtypes cannot specify 64-bit types when `enable_x64` is disabled, got "
                             f"{dtype}")
        avals.append(ShapedArray(tuple(leaf.shape), dtype))
    return tuple(avals), tree


def _check_sharding(name: str, sharding: Any) -> None:
    """Refuses a sharding that does not name one device."""
    if sharding is not None and len(getattr(sharding, "device_set", ())) != 1:
        raise NotImplementedError(f"{name} only supports SingleDeviceSharding, which says which device calls; got sharding={sharding!r} of "
                                  f"type {type(sharding).__name__}")


def pure_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                  vmap_method: str | None = None, **kwargs: Any) -> Any:
    """Calls a Python function without side effects on the host, from a program that may be compiled.

    The function may be called several times, or not at all if its result is not needed. It cannot be differentiated:
    give the function around it a rule with `custom_jvp`.

    Args:
      callback: takes arrays, on the CPU, in containers like args and kwargs, returns arrays in a container like
        result_shape_dtypes.
      result_shape_dtypes: pytree of objects with shape and dtype that announces the result.
      *args, **kwargs: arrays in containers.
      sharding: a `SingleDeviceSharding` of the device that calls, where the compiler splits the program over several; by default the
        first one.
      vmap_method: what `vmap` does: "sequential" calls it once per example in a loop; "sequential_unrolled" the same
        without a loop; "expand_dims" calls it once with the batch in front of all arguments, of size 1 where an argument
        is not mapped; "broadcast_all" once, with unmapped arguments repeated; "legacy_vectorized" once, with unmapped
        arguments as they are. By default it is refused.

    Returns:
      Arrays in a container like result_shape_dtypes.

    Raises:
      ValueError: for an unknown vmap_method, or an announced 64-bit type without x64; when run, if the result is not as
        announced.

    Example:
      >>> pure_callback(np.sin, ShapeDtypeStruct((2,), "float32"), np.float32([0, 1]))
      Array([0.      , 0.841471], dtype=float32)
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"pure_callback: vmap_method must be one of the allowed methods {list(VMAP_METHODS)}, but got: {vmap_method}")
    _check_sharding("pure_callback", sharding)
    leaves, flat = flat_arguments("pure_callback", callback, args, kwargs)
    avals, tree = announced_avals("pure_callback", result_shape_dtypes)
    out = pure_callback_p.bind(*leaves, callback=flat, result_avals=avals, sharding=sharding, vmap_method=vmap_method)
    return tree_unflatten(tree, out)


def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None, ordered: bool = False,
                **kwargs: Any) -> Any:
    """Calls a Python function with side effects on the host, from a program that may be compiled: exactly once per run.

    Args:
      callback: takes arrays, on the CPU, in containers like args and kwargs, returns arrays in a container like
        result_shape_dtypes.
      result_shape_dtypes: pytree of objects with shape and dtype that announces the result; may be None.
      *args, **kwargs: arrays in containers.
      sharding: a `SingleDeviceSharding` of the device that calls, where the compiler splits the program over several; by default the
        first one.
      ordered: whether ordered callbacks are called in the order of the program; in `shard_map` and `pmap`, those of each device.

    Returns:
      Arrays in a container like result_shape_dtypes.
    """
    _check_sharding("io_callback", sharding)
    leaves, flat = flat_arguments("io_callback", callback, args, kwargs)
    avals, tree = announced_avals("io_callback", result_shape_dtypes)
    out = io_callback_p.bind(*leaves, callback=flat, result_avals=avals, sharding=sharding, ordered=bool(ordered))
    return tree_unflatten(tree, out)


def inspect_sharding(x: Any, callback: Callable[[Any], Any]) -> None:
    """Calls a function with the sharding of an array: at once, or for a traced value when the program is compiled."""
    x = x.base if isinstance(x, ExtendedArray) else x
    if not isinstance(x, Tracer) and (sharding := getattr(x, "sharding", None)) is not None:
        callback(sharding)
    else:  # NumPy's arrays are put where programs run
        inspect_sharding_p.bind(x, callback=callback)


def debug_callback(callback: Callable[..., Any] | None = None, *args: Any, ordered: bool = False, partitioned: bool = False,
                   **kwargs: Any) -> Callable[..., None] | None:
    """Calls a Python function on the host for its side effects, whatever transformations are applied.

    Under differentiation it sees the primal values; under `vmap` it is called once per example.

    Args:
      callback: takes arrays, on the CPU, in containers like args and kwargs; its result is ignored.
      *args, **kwargs: arrays in containers; leaves that are not arrays are passed on as they are, random keys as their words.
      ordered: whether such callbacks are called in the order of the program; in `shard_map` and `pmap`, those of each device.
      partitioned: whether, in a program that the compiler splits over devices, each device calls with the part of the values that it
        has, instead of one device with the whole.

    Returns:
      None. Without a callback, a function of it and the arguments, to which these options apply: there, `ordered` and `partitioned` are
      arguments like others.

    Raises:
      TypeError: if the callback is not callable, or there is none and there are arguments for it.

    Example:
      >>> debug_callback(ordered=True)(print, np.float32(1.5))
      1.5
    """
    if callback is None:
        _check_options_only("debug_callback", args, kwargs)
        return lambda callback, *args, **kwargs: _call_back(callback, args, kwargs, ordered, partitioned)
    _call_back(callback, args, kwargs, ordered, partitioned)
    return None


def _check_options_only(name: str, args: tuple, kwargs: dict[str, Any]) -> None:
    if args or kwargs:
        raise TypeError(f"{name} received unexpected arguments in the two-call form: {args=} {kwargs=}. The first call takes options, "
                        "ordered and partitioned; give the arguments to the function that it returns.")


def _call_back(callback: Callable[..., Any], args: tuple, kwargs: dict[str, Any], ordered: bool, partitioned: bool) -> None:
    if not callable(callback):
        raise TypeError(f"debug.callback: the callback must be callable, got {callback!r}")
    if ordered and partitioned:
        raise NotImplementedError("debug.callback: calls that each device makes for itself have no order among devices. Set ordered or "
                                  "partitioned, not both.")
    leaves, tree = tree_flatten((args, kwargs))
    arrays = [_stored(x) for x in leaves if is_array_like(x)]
    if len(arrays) == len(leaves):
        flat = FlatCallback(callback, tree, "debug.callback")
    else:
        flat = FlatCallback(_WithStaticLeaves(callback, tree, leaves), tree_flatten((tuple(arrays), {}))[1], "debug.callback")
    debug_callback_p.bind(*arrays, callback=flat, effect=ordered_debug_effect if ordered else debug_effect,
                          partitioned=bool(partitioned))


def _stored(x: ArrayLike) -> ArrayLike:
    """Arrays of extended dtypes as what stores them, such as the words of random keys, which NumPy has; other arrays as they are."""
    dtype = get_aval(x).dtype
    if not dtypes.is_extended(dtype):
        return x
    return random_unwrap(x) if isinstance(dtype, dtypes.KeyDType) else converted(x, dtype, dtype.physical_dtype)


class _WithStaticLeaves:
    """A function some of whose arguments' leaves are Python values known already."""

    def __init__(self, fun: Callable, tree: PyTreeDef, leaves: Sequence[Any]) -> None:
        self.fun = fun
        self.tree = tree
        self.is_array = [is_array_like(x) for x in leaves]
        self.static = [None if is_array else x for x, is_array in zip(leaves, self.is_array)]

    def __call__(self, *arrays: ArrayLike) -> Any:
        found = iter(arrays)
        args, kwargs = tree_unflatten(self.tree, [next(found) if a else x for a, x in zip(self.is_array, self.static)])
        return self.fun(*args, **kwargs)


class _Formatter(string.Formatter):
    """Python's formatting; complains of arguments that the text does not mention."""

    def check_unused_args(self, used_args: Any, args: Any, kwargs: Any) -> None:
        for kind, given in (("positional", range(len(args))), ("keyword", kwargs)):
            if unused := [key for key in given if key not in used_args]:
                break
        if unused:
            raise ValueError(f"Unused {kind} arguments to `laminax.debug.print`: {unused}. You may be passing an f-string (i.e, "
                             '`f"{x}"`) into `laminax.debug.print` and instead should pass in a regular string.')


_formatter = _Formatter()


class _Print:
    """Prints a text with values in it; equal for equal texts, so that compiled programs are found again.

    NumPy's print options are those of the thread that asked for the text, in which it need not be printed.
    """

    __slots__ = ("text", "options")
    __name__ = "print"

    def __init__(self, text: str) -> None:
        self.text = text
        self.options = np.get_printoptions()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        with np.printoptions(**self.options):
            text = self.text.format(*args, **kwargs)
        print(text, flush=True)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Print) and (self.text, self.options) == (other.text, other.options)

    def __hash__(self) -> int:
        return hash(self.text)


@dataclass(frozen=True)
class _Log:
    """Logs a text with values in it, as coming from a line of the user's program; equal for equal texts and lines."""

    text: str
    file: str = "unknown"
    line: int = 0
    function: str | None = None
    __name__ = "log"

    def __call__(self, *args: ArrayLike, **kwargs: Any) -> None:
        import logging  # 5 ms of import time that few need
        logger = logging.getLogger("laminax.debug")
        if logger.isEnabledFor(logging.INFO):
            text = self.text.format(*args, **kwargs)
            logger.handle(logger.makeRecord(logger.name, logging.INFO, self.file, self.line, text, (), None, self.function))


class _AnyValue:
    """Stands for a value that is not known yet, in a first check of the text."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, index: int | str) -> _AnyValue:
        return self


def debug_print(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False, skip_format_check: bool = False,
                **kwargs: Any) -> Callable[..., None] | None:
    """Prints values from a program that may be compiled.

    Args:
      fmt: a text with places for the values, `"x is {x}, y[0] is {}"`, as for `str.format`.
      *args, **kwargs: the values: arrays, containers of them, or any Python values.
      ordered: whether such texts are printed in the order of the program.
      partitioned: whether each device prints the part of the values that it has, as for `debug_callback`.
      skip_format_check: whether to leave it to the run to find that the text and the values do not fit.

    Returns:
      None. Without a text, a function of it and the values, to which these options apply.

    Raises:
      IndexError, KeyError: if the text mentions a value that is not given.
      ValueError: if it does not mention one that is given by name.

    Example:
      >>> debug_print("x = {x}", x=np.float32(1.5))
      x = 1.5
    """
    def print_(fmt: str, *args: Any, **kwargs: Any) -> None:
        _check_format("debug.print", fmt, args, kwargs, skip_format_check)
        _call_back(_Print(fmt), args, kwargs, ordered, partitioned)

    if fmt is None:
        _check_options_only("debug_print", args, kwargs)
        return print_
    print_(fmt, *args, **kwargs)
    return None


def debug_log(fmt: str | None = None, *args: Any, ordered: bool = False, partitioned: bool = False, skip_format_check: bool = False,
              **kwargs: Any) -> Callable[..., None] | None:
    """Logs values from a program that may be compiled, as `debug_print` prints them: to the logger "laminax.debug", at level INFO.

    The record's file and line are those of the call. Arguments and errors are those of `debug_print`.
    """
    def log(fmt: str, *args: Any, **kwargs: Any) -> None:
        _check_format("debug.log", fmt, args, kwargs, skip_format_check)
        where = source.position(source.current())
        record = _Log(fmt) if where is None else _Log(fmt, where.file, where.line, where.function)
        _call_back(record, args, kwargs, ordered, partitioned)

    if fmt is None:
        _check_options_only("debug_log", args, kwargs)
        return log
    log(fmt, *args, **kwargs)
    return None


def _check_format(name: str, fmt: Any, args: tuple, kwargs: dict, skips: bool) -> None:
    if not isinstance(fmt, str):
        raise TypeError(f"{name}: the format must be a string, got {fmt!r}")
    if not skips:
        _formatter.format(fmt, *[_AnyValue()] * len(args), **dict.fromkeys(kwargs, _AnyValue()))
