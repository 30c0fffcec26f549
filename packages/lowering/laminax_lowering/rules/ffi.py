"""Calls of native functions: custom calls with the attributes, layouts and aliases that were asked for.

Source: the StableHLO specification, `custom_call`, and XLA's documentation "XLA Custom Calls".
"""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from laminax_ir.ops.ffi import TYPED_API, ffi_call_p, hashable_attribute
from laminax_ir.types.array_layouts import Layout
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text, dense, element_type, scalar_text, string_text


@lowering_rule(ffi_call_p)
def _ffi_call(ctx: FunctionWriter, *operands: Value, target_name: str, result_avals: tuple[ShapedArray, ...], has_side_effect: bool,
              input_layouts: tuple[tuple[int, ...], ...], output_layouts: tuple[tuple[int, ...], ...], input_output_aliases: Any,
              custom_call_api_version: int, legacy_backend_config: str | None, attributes: tuple, vmap_method: str | None) -> list[Value]:
    config = attributes_text(attributes) if custom_call_api_version >= TYPED_API else string_text(legacy_backend_config or "")
    return emit_call(ctx, target_name, operands, result_avals, config, input_layouts, output_layouts, dict(input_output_aliases),
                     has_side_effect, custom_call_api_version)


def emit_call(ctx: FunctionWriter, target: str, operands: Sequence[Value], results: Sequence[ShapedArray], config: str,
              operand_layouts: Sequence[Sequence[int]], result_layouts: Sequence[Sequence[int]], aliases: Mapping[int, int],
              has_side_effect: bool = False, api_version: int = TYPED_API) -> list[Value]:
    """Writes a custom call; layouts name the axes from the slowest in memory to the fastest."""
    written = {"has_side_effect": bool_text(has_side_effect), "operand_layouts": _layouts_text(operand_layouts),
               "result_layouts": _layouts_text(result_layouts)}
    if api_version >= TYPED_API:  # XLA's form for the typed interface, which JAX writes and programs look into
        written |= {"api_version": "1 : i32", "backend_config": '""', "mhlo.backend_config": config}
    else:
        written |= {"api_version": f"{api_version} : i32", "backend_config": config}
    if aliases:
        written["output_operand_aliases"] = "[" + ", ".join(
            f"#stablehlo.output_operand_alias<output_tuple_indices = [{j if len(results) > 1 else ''}], operand_index = {i}, "
            "operand_tuple_indices = []>" for i, j in aliases.items()) + "]"
    out = ctx.custom_call(target, operands, written, list(results))
    return [out] if isinstance(out, Value) else out


def _layouts_text(layouts: Sequence[Sequence[int]]) -> str:
    """XLA lists axes from the fastest to the slowest."""
    return "[" + ", ".join(f"dense<{list(reversed(axes)) if axes else ''}> : tensor<{len(axes)}xindex>" for axes in layouts) + "]"


def attributes_text(attributes: Sequence[tuple[str, tuple[str, Any]]]) -> str:
    """Attributes, as `hashable_attribute` makes them, as an MLIR dictionary."""
    return "{" + ", ".join(f"{string_text(name)} = {_attribute_text(*kept)}" for name, kept in attributes) + "}"


def _attribute_text(kind: str, value: Any) -> str:
    match kind:
        case "bool":
            return bool_text(value)
        case "int":
            return f"{value} : i64"
        case "float" | "scalar" | "array":
            array = np.asarray(value, np.float64) if kind == "float" else value.value
            if kind == "array":
                return dense(array)
            return bool_text(array) if array.dtype == bool else f"{scalar_text(array)} : {element_type(array.dtype)}"
        case "str":
            return string_text(value)
        case "tuple":
            return "[" + ", ".join(f"{item} : i64" for item in value) + "]"
        case _:
            return attributes_text(value)


Layouts = Sequence[Sequence[int] | Layout | None]


class FfiCall(NamedTuple):
    """A call that was written."""
    results: list[Value]


def build_ffi_lowering_function(call_target_name: str, *, operand_layouts: Layouts | None = None, result_layouts: Layouts | None = None,
                                backend_config: Mapping[str, Any] | str | None = None, skip_ffi_layout_processing: bool = False,
                                has_side_effect: bool = False, operand_output_aliases: Mapping[int, int] | None = None,
                                api_version: int = TYPED_API) -> Callable[..., FfiCall]:
    """A function for lowering rules that writes a call of a native function.

    Args:
      call_target_name, ..., api_version: as for `ffi_lowering`.
      skip_ffi_layout_processing: must be False: layouts are always written.

    Returns:
      `call(ctx, *operands, **attributes)`, whose answer has the attribute `results`.

    Raises:
      NotImplementedError: for skip_ffi_layout_processing.
    """
    if skip_ffi_layout_processing:
        raise NotImplementedError("ffi_lowering: skip_ffi_layout_processing=True is not supported: layouts are always written. Leave it "
                                  "out; by default the last axis is the fastest.")

    def call(ctx: FunctionWriter, *operands: Value, **params: Any) -> FfiCall:
        results = ctx.avals_out
        if isinstance(backend_config, str):
            config = string_text(backend_config)
        else:
            given = {**(backend_config or {}), **params}
            config = attributes_text([(name, hashable_attribute(name, value)) for name, value in sorted(given.items())])
        layouts = (_slowest_first("operand_layouts", operand_layouts, [x.aval for x in operands]),
                   _slowest_first("result_layouts", result_layouts, results))
        return FfiCall(emit_call(ctx, call_target_name, operands, results, config, *layouts, operand_output_aliases or {}, has_side_effect,
                                 api_version))

    return call


def ffi_lowering(call_target_name: str, *, operand_layouts: Layouts | None = None, result_layouts: Layouts | None = None,
                 backend_config: Mapping[str, Any] | str | None = None,
                 skip_ffi_layout_processing: bool = False, has_side_effect: bool = False,
                 operand_output_aliases: Mapping[int, int] | None = None,
                 api_version: int = TYPED_API) -> Callable:
    """A lowering rule for a user's operation that is a native function.

    Args:
      call_target_name: the name that the function is registered under.
      operand_layouts, result_layouts: for each array the order of its axes in memory, the fastest first, as XLA has it, or a
        `Layout`; None, and by default all of them, have the last axis as the fastest.
      backend_config: attributes by name, beside the operation's parameters; for an older convention, a text.
      skip_ffi_layout_processing: must be False.
      has_side_effect: whether it must be called also where nobody reads its results.
      operand_output_aliases: which operand (key) shares its memory with which result (value).
      api_version: 4 for XLA's typed interface; 1, 2 and 3 are older conventions, which get no parameters.

    Returns:
      A rule for `laminax.extend.lowering_rule`: the operation's parameters become attributes.

    Example:
      >>> lowering_rule(rms_norm_p, platforms=("cpu",))(ffi_lowering("rms_norm"))
    """
    call = build_ffi_lowering_function(
        call_target_name, operand_layouts=operand_layouts, result_layouts=result_layouts, backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing, has_side_effect=has_side_effect,
        operand_output_aliases=operand_output_aliases, api_version=api_version)

    def rule(ctx: FunctionWriter, *operands: Value, **params: Any) -> Any:
        results = call(ctx, *operands, **params).results
        return results if ctx.eqn.primitive.multiple_results else results[0]

    return rule


def _slowest_first(name: str, layouts: Layouts | None, avals: Sequence[ShapedArray]) -> list[tuple[int, ...]]:
    if layouts is None:
        layouts = [None] * len(avals)
    if len(layouts) != len(avals):
        raise ValueError(f"ffi_lowering: {name} has {len(layouts)} layouts for {len(avals)} arrays. Give one for each, None where the last "
                         "axis is the fastest.")
    return [_axes_slowest_first(name, i, layout, aval) for i, (layout, aval) in enumerate(zip(layouts, avals))]


def _axes_slowest_first(name: str, position: int, layout: Sequence[int] | Layout | None, aval: ShapedArray) -> tuple[int, ...]:
    if layout is None:
        return tuple(range(aval.ndim))
    axes = tuple(layout.major_to_minor if isinstance(layout, Layout) else reversed(layout))
    if sorted(axes) != list(range(aval.ndim)):
        raise ValueError(f"ffi_lowering: {name}[{position}]={layout} must list the {aval.ndim} axes of {aval.str_short()} once each.")
    return axes
