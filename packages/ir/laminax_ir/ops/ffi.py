"""Calls of native functions, which the compiler finds by the name they are registered under: XLA's foreign function interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence, cast

import numpy as np

from laminax_ir.ops.callbacks import VMAP_METHODS
from laminax_ir.programs.effects import CallEffect, Effect
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval

if TYPE_CHECKING:
    from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

ffi_call_p = Primitive("ffi_call", multiple_results=True, family="ffi")
ffi_effect = CallEffect("FFI")

TYPED_API = 4  # of StableHLO's custom calls: the functions that take attributes


@shape_rule(ffi_call_p)
def _ffi_call_shape(*_avals: ShapedArray, result_avals: tuple[ShapedArray, ...], **_params: Any) -> list[ShapedArray]:
    return list(result_avals)


@effects_rule(ffi_call_p)
def _ffi_call_effects(*_avals: ShapedArray, has_side_effect: bool, **_params: Any) -> set[Effect]:
    return {ffi_effect} if has_side_effect else set()


def ffi_call(target_name: str, result_shape_dtypes: Any, *, has_side_effect: bool = False, vmap_method: str | None = None,
             input_layouts: Sequence[Sequence[int] | None] | None = None,
             output_layouts: Sequence[int] | Sequence[Sequence[int] | None] | None = None,
             input_output_aliases: Mapping[int, int] | None = None, custom_call_api_version: int = TYPED_API,
             legacy_backend_config: str | None = None) -> Callable[..., Any]:
    """A function that calls a native function, also from compiled programs.

    Args:
      target_name: the name that the function is registered under, with `register_ffi_target`.
      result_shape_dtypes: an object with shape and dtype, such as `ShapeDtypeStruct`, or a sequence of them.
      has_side_effect: whether it must be called also where nobody reads its results.
      vmap_method: what `vmap` does, as for `pure_callback`.
      input_layouts: for each argument, the order of its axes in memory, the slowest first; None is the order of the axes.
      output_layouts: the same for the results; of a single result also without the sequence around it.
      input_output_aliases: which argument (key) shares its memory with which result (value).
      custom_call_api_version: 4 for XLA's typed interface; 1, 2 and 3 are older conventions, without attributes.
      legacy_backend_config: the text that functions of the older conventions are given.

    Returns:
      A function of the arguments, arrays by position, and the attributes, by name: bools, ints, floats, strings, NumPy scalars
      and arrays, tuples of integers, and dicts of these. It returns an array, or a list of them if a sequence was announced.

    Raises:
      ValueError: for an unknown vmap_method, results announced by something else, layouts or aliases that do not fit, or a
        mixture of the conventions.
      TypeError: if an attribute is none of these.

    Example:
      >>> ffi_call("rms_norm", ShapeDtypeStruct(x.shape, x.dtype))(x, eps=np.float32(1e-5))
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"ffi_call: vmap_method must be one of the allowed methods {list(VMAP_METHODS)}, but got: {vmap_method}")
    if legacy_backend_config is not None and custom_call_api_version >= TYPED_API:
        raise ValueError(f"ffi_call: The use of the legacy_backend_config parameter requires custom_call_api_version < {TYPED_API}; got "
                         f"{custom_call_api_version}. Give attributes by name instead.")
    is_sequence = isinstance(result_shape_dtypes, (list, tuple))
    result_avals = tuple(_announced_aval(i, x) for i, x in enumerate(result_shape_dtypes if is_sequence else [result_shape_dtypes]))
    if output_layouts is not None and not is_sequence and all(isinstance(axis, (int, np.integer)) for axis in output_layouts):
        output_layouts = cast(Any, [output_layouts])

    def call(*args: Any, **attributes: Any) -> Any:
        if attributes and custom_call_api_version < TYPED_API:
            raise ValueError(f"ffi_call: The use of ffi_call attributes requires a custom call API version of at least {TYPED_API}; got "
                             f"custom_call_api_version={custom_call_api_version}")
        avals = [get_aval(x) for x in args]
        results = ffi_call_p.bind(
            *args, target_name=target_name, result_avals=result_avals, has_side_effect=has_side_effect, vmap_method=vmap_method,
            input_layouts=_layouts("input argument", input_layouts, avals),
            output_layouts=_layouts("output", output_layouts, result_avals),
            input_output_aliases=checked_aliases("ffi_call", input_output_aliases, avals, result_avals),
            custom_call_api_version=custom_call_api_version, legacy_backend_config=legacy_backend_config,
            attributes=tuple((name, hashable_attribute(name, value)) for name, value in sorted(attributes.items())))
        return results if is_sequence else results[0]

    return call


def _announced_aval(position: int, announced: ShapeDtypeStruct | str) -> ShapedArray:
    """The aval of a result; the native function decides its dtype, which may have 64 bits without `enable_x64`."""
    if not (hasattr(announced, "shape") and hasattr(announced, "dtype")):
        raise ValueError("ffi_call: All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes, "
                         f"as ShapeDtypeStruct does; got {announced!r:.80} at position {position}")
    dtype = announced.dtype
    return ShapedArray(tuple(announced.shape), dtype if dtypes.is_extended(dtype) else np.dtype(dtype))


def _layouts(what: str, layouts: Sequence[Any] | None, avals: Sequence[ShapedArray]) -> tuple[tuple[int, ...], ...]:
    """The axes of each array, the slowest in memory first."""
    if layouts is None:
        return tuple(tuple(range(aval.ndim)) for aval in avals)
    if len(layouts) != len(avals):
        raise ValueError(f"ffi_call: the number of {what}s ({len(avals)}) must equal the number of {what.split()[0]} layouts "
                         f"({len(layouts)})")
    found = []
    for i, (layout, aval) in enumerate(zip(layouts, avals)):
        axes = tuple(range(aval.ndim)) if layout is None else tuple(getattr(layout, "major_to_minor", layout))
        if sorted(axes) != list(range(aval.ndim)):
            raise ValueError(f"ffi_call: the layout {axes} of {what} {i}, {aval.str_short()}, must list its {aval.ndim} axes once each")
        found.append(axes)
    return tuple(found)


def checked_aliases(name: str, aliases: Mapping[int, int] | None, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) \
        -> tuple[tuple[int, int], ...]:
    """Which operand shares its memory with which result, in the order of the operands; `name` is whose argument they are."""
    for i, j in (aliases or {}).items():
        for kind, index, avals in (("input", i, in_avals), ("output", j, out_avals)):
            if not 0 <= index < len(avals):
                raise ValueError(f"{name}: input_output_aliases contains the mapping '{i}:{j}' with {kind} index {index} outside the "
                                 f"range [0, {len(avals)}).")
        if (in_avals[i].shape, in_avals[i].dtype) != (out_avals[j].shape, out_avals[j].dtype):
            raise ValueError(f"{name}: input_output_aliases contains the mapping '{i}:{j}' referring to an input with abstract value "
                             f"{in_avals[i].str_short()} and an output with a different abstract value {out_avals[j].str_short()}.")
    return tuple(sorted((aliases or {}).items()))


class ArrayAttribute:
    """A NumPy array as part of a call's parameters: hashable, equal by its bytes."""

    __slots__ = ("value", "_key")

    def __init__(self, value: np.ndarray) -> None:
        self.value = value.copy()
        self.value.flags.writeable = False
        self._key = value.shape, value.dtype, value.tobytes()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ArrayAttribute) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return repr(self.value)


def hashable_attribute(name: str, value: Any) -> Any:
    """An attribute as it is kept in parameters: its kind, since 1, 1.0 and True are equal, and a hashable value.

    Raises:
      TypeError: if XLA has no such attribute.
    """
    if isinstance(value, (np.generic, np.ndarray)) and _is_real(value.dtype):
        array = np.zeros(np.shape(value), bool) if value.dtype == dtypes.float0 else np.asarray(value)  # as float0 is written everywhere
        return "array" if isinstance(value, np.ndarray) else "scalar", ArrayAttribute(array)
    for kind in (bool, int, float, str):
        if isinstance(value, kind) and not isinstance(value, np.generic):
            return kind.__name__, kind(value)
    if isinstance(value, tuple) and all(isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in value):
        return "tuple", tuple(map(int, value))
    if isinstance(value, Mapping):
        return "dict", tuple((key, hashable_attribute(f"{name}[{key!r}]", item)) for key, item in sorted(value.items()))
    raise TypeError(f"ffi_call: the attribute {name}={value!r:.80} of type {type(value).__name__} cannot be handed to a native function. "
                    "Attributes are bools, ints, floats, strings, NumPy scalars and arrays of real numbers, tuples of integers, and "
                    "dicts of these; pass anything else as an array argument.")


def _is_real(dtype: np.dtype) -> bool:
    return dtype in (np.bool_, dtypes.float0) or dtypes.issubdtype(dtype, dtypes.integer) or dtypes.issubdtype(dtype, dtypes.floating)
