"""Programs with symbolic dimensions: StableHLO's dynamic shapes.

Rules are written for shapes that are numbers. `DynamicWriter` takes what they emit, and where a shape has symbolic dimensions writes
the dynamic form of the operation instead, whose shape is an operand. The values of the variables are parameters of every function,
`tensor<i64>`; the module's `main` computes them from its arguments' sizes, with assertions that these are as specified. Once `main` is
called with sizes that are numbers, the compiler's shape refinement makes all other sizes numbers.
Source: the StableHLO specification, "Dynamism" and the sections of the operations' names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.programs.jaxpr import ClosedJaxpr, JaxprEqn
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim
from laminax_ir.symbolic.symbolic_solving import ShapeSpecification
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.module_context import ModuleContext
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import SymbolicArray, string_text, type_text, types_text

_SIZE = ShapedArray((), np.int64)
_FLAG = ShapedArray((), np.bool_)

WRAPPED_MAIN = "_wrapped_jax_export_main"


def is_dynamic(aval: ShapedArray) -> bool:
    """Whether a type has symbolic dimensions."""
    return any(type(size) is SymbolicDim for size in aval.shape)


class DynamicWriter(FunctionWriter):
    """Writes one function of a program with symbolic dimensions; `dims` are the variables' values, None where they cannot be used."""

    def __init__(self, module: ModuleContext, platforms: tuple[str, ...]) -> None:
        super().__init__(module, platforms)
        self.dims: dict[str, Value] | None = {name: Value(f"%dim_{name}", _SIZE) for name in module.dimension_variables}

    def leading_parameters(self) -> list[str]:
        return [*super().leading_parameters(),
                *(f"{value.name}: {type_text(_SIZE)} {{jax.global_constant = {string_text(name)}}}"
                  for name, value in (self.dims or {}).items())]

    def leading_arguments(self) -> list[Value] | None:
        outer = super().leading_arguments()
        return None if outer is None or self.dims is None else [*outer, *self.dims.values()]

    def call_program(self, closed: ClosedJaxpr, name: str, operands: Sequence[Value], results: Sequence[ShapedArray],
                     attributes: str = "") -> list[Value]:
        """The call, without `attributes`: a call that the compiler must keep would keep it from learning the shapes."""
        return super().call_program(closed, name, operands, results)

    def region(self, arg_avals: Sequence[ShapedArray], body: Callable[..., Any], terminator: str = "stablehlo.return",
               isolated: bool = False) -> str:
        outer = self.dims
        if isolated:
            self.dims = None
        try:
            return super().region(arg_avals, body, terminator, isolated)
        finally:
            self.dims = outer

    # Sizes as values

    def size_value(self, dim: DimSize) -> Value:
        """The size of an axis as a scalar, i64[]."""
        if type(dim) is not SymbolicDim:
            return self.constant(int(dim), np.int64)
        if self.dims is None:
            raise NotImplementedError(f"{self.eqn.primitive}: the symbolic dimension '{dim}' is not known in computations of reductions "
                                      "and in programs per device (shard_map). Export for sizes that are numbers.")
        return dim.evaluate({name: _Number(self, value) for name, value in self.dims.items()}, _apply).value

    def shape_value(self, shape: Sequence[DimSize]) -> Value:
        """Sizes as a vector, i64[n]."""
        if not any(type(size) is SymbolicDim for size in shape):
            return self.constant(np.asarray(shape, np.int64))
        one = ShapedArray((1,), np.int64)
        parts = [super(DynamicWriter, self).emit("stablehlo.reshape", [self.size_value(size)], results=[one]) for size in shape]
        if len(parts) == 1:
            return parts[0]
        return super().emit("stablehlo.concatenate", parts, attributes={"dimension": "0 : i64"},
                            results=[ShapedArray((len(parts),), np.int64)])

    # Operations

    def emit(self, op: str, operands: Sequence[Value], *, attributes: Mapping[str, str] | None = None,
             regions: Sequence[str] = (), results: Sequence[ShapedArray] | None = None) -> Any:
        avals = self.avals_out if results is None else results
        given = attributes or {}
        if not any(map(is_dynamic, avals)) and not any(is_dynamic(x.aval) for x in operands) and \
                not any(isinstance(text, SymbolicArray) for text in given.values()):
            return super().emit(op, operands, attributes=attributes, regions=regions, results=avals)
        if op == "stablehlo.reduce_window" and any(isinstance(text, SymbolicArray) for text in given.values()):
            return self._emit_dynamic_reduce_window(operands, given, regions[0], avals)
        if op == "stablehlo.custom_call":
            return self._emit_dynamic_call(operands, given, avals)
        if op == "stablehlo.rng_bit_generator":  # a custom call that shape refinement makes the operation of
            return self._refined_call("stablehlo.dynamic_rng_bit_generator", [*operands, self.shape_value(avals[1].shape)], given, avals)
        form = _FORMS.get(op)
        if form is not None:
            return form(self, operands, given, avals[0])
        if op not in _INFERRED or any(isinstance(text, SymbolicArray) for text in given.values()):
            raise NotImplementedError(f"{self.eqn.primitive}: {op} with symbolic dimensions is not supported, for "
                                      f"{', '.join(aval.str_short() for aval in avals)}. Export for sizes that are numbers where it is "
                                      "used.")
        return super().emit(op, operands, attributes=attributes, regions=regions, results=avals)

    def emit_dynamic(self, op: str, operands: Sequence[Value], attributes: Mapping[str, str], result: ShapedArray) -> Value:
        """Writes the dynamic form of an operation as it is given."""
        return super().emit(op, operands, attributes=attributes, results=[result])

    def _emit_dynamic_call(self, operands: Sequence[Value], attributes: Mapping[str, str], results: Sequence[ShapedArray]) -> Any:
        """A custom call with the shapes of its results as further operands, which shape refinement takes away again.

        Its rule for splitting it over devices is left out, since it would say sizes.
        """
        kept = {name: text for name, text in attributes.items() if name != "sdy.sharding_rule"}
        shapes: list[Value] = []
        if any(map(is_dynamic, results)):
            shapes = [self.shape_value(_sizes(aval)) for aval in results]
            numbers = range(len(operands), len(operands) + len(shapes))
            kept["indices_of_shape_operands"] = f"dense<[{', '.join(map(str, numbers))}]> : tensor<{len(shapes)}xi64>"
            if "operand_layouts" in kept:
                layouts = [text for text in (kept["operand_layouts"][1:-1], *["dense<0> : tensor<1xindex>"] * len(shapes)) if text]
                kept["operand_layouts"] = f"[{', '.join(layouts)}]"
        return super().emit("stablehlo.custom_call", [*operands, *shapes], attributes=kept, results=results)

    def _emit_dynamic_reduce_window(self, operands: Sequence[Value], attributes: Mapping[str, str], region: str,
                                    results: Sequence[ShapedArray]) -> Any:
        """A custom call that shape refinement replaces by a `reduce_window`; its computation is a function of the module."""
        name = self.module.unique_name("reducer")
        head, _, body = region.removeprefix("{\n^bb0(").partition("):\n")
        lines, _, ending = body.rpartition('"stablehlo.return"(')
        returned, _, types = ending.partition(") : (")
        types = types.partition(") -> ()")[0]
        self.module.functions.append(f"func.func private @{name}({head}) -> ({types}) {{\n{lines}func.return {returned} : {types}\n}}")
        names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
        padding = attributes["padding"]
        if isinstance(padding, SymbolicArray):
            pairs = self.shape_value(padding.values)
            pairs = super().emit("stablehlo.reshape", [pairs], results=[ShapedArray((len(padding.values) // 2, 2), np.int64)])
        else:
            rank = len(_numbers(attributes[names[0]]))
            pairs = super().emit("stablehlo.constant", [], attributes={"value": padding}, results=[ShapedArray((rank, 2), np.int64)])
        return self._refined_call("stablehlo.dynamic_reduce_window",
                                  [*operands, *(self.shape_value(_numbers(attributes[n])) for n in names), pairs],
                                  {"called_computations": f"[@{name}]"}, results)

    def _refined_call(self, target: str, operands: Sequence[Value], attributes: Mapping[str, str], results: Sequence[ShapedArray]) -> Any:
        """A custom call that shape refinement replaces by an operation."""
        self.module.call_targets[target] = None
        return super().emit("stablehlo.custom_call", operands, results=results, attributes={
            "call_target_name": string_text(target), "api_version": "1 : i32", **attributes})

    def constant(self, value: Any, dtype: Any = None, shape: Sequence[DimSize] = ()) -> Value:
        if not any(type(size) is SymbolicDim for size in shape):
            return super().constant(value, dtype, shape)
        scalar = super().constant(value, dtype)
        return self.broadcast_to(scalar, shape)

    def broadcast_to(self, value: Value, shape: Sequence[DimSize]) -> Value:
        """Splats of symbolic shapes are computed where they are used: they are no constants yet."""
        if not any(type(size) is SymbolicDim for size in shape):
            return super().broadcast_to(value, shape)
        aval, shape = value.aval, tuple(shape)
        physical = physical_aval(aval).ndim - aval.ndim if dtypes.is_extended(aval.dtype) else 0
        axes = [*range(len(shape) - aval.ndim, len(shape)), *range(len(shape), len(shape) + physical)]
        text = f"array<i64: {', '.join(map(str, axes))}>" if axes else "array<i64>"
        return self.emit("stablehlo.broadcast_in_dim", [value], attributes={"broadcast_dimensions": text},
                         results=[aval.update(shape=shape)])

    # The module's entry

    def write_main(self, function: str, specification: ShapeSpecification, parameters: Sequence[ShapedArray],
                   results: Sequence[ShapedArray], arg_attributes: Sequence[str], result_attributes: Sequence[str]) -> str:
        """The text of `main`: it finds the variables' values, asserts that the sizes are as specified, and calls `function`."""
        header = FunctionWriter.leading_parameters(self)
        args = [Value(f"%arg{i}", aval) for i, aval in enumerate(parameters)]
        header += [f"{x.name}: {type_text(x.aval)}" + (f" {attribute}" if attribute else "") for x, attribute in zip(args, arg_attributes)]
        dims = self.dims = {}
        self._assert_specification(specification, args, dims)
        leading = [*(FunctionWriter.leading_arguments(self) or ()), *(dims[name] for name in self.module.dimension_variables)]
        outs = self.call(function, [*leading, *args], results)
        types = [type_text(x.aval) + (f" {attribute}" if attribute else "")
                 for x, attribute in zip(outs, result_attributes or [""] * len(outs))]
        ending = f"func.return {', '.join(x.name for x in outs)} : {types_text(x.aval for x in outs)}" if outs else "func.return"
        return "\n".join([f"func.func public @main({', '.join(header)}) -> ({', '.join(types)}) {{", *self._constants.lines, *self.lines,
                          ending, "}"])

    def _assert_specification(self, specification: ShapeSpecification, args: Sequence[Value], dims: dict[str, Value]) -> None:
        """Writes assertions that the arguments' sizes are as specified; the variables' values go into `dims`."""
        ending = " " + specification.describe() + "Obtained dimension variables: "

        def size_of(axis: Any) -> _Number:
            dimension = super(DynamicWriter, self).emit("stablehlo.get_dimension_size", [args[axis.argument]], attributes={
                "dimension": f"{axis.axis} : i64"}, results=[ShapedArray((), np.int32)])
            return _Number(self, super(DynamicWriter, self).emit("stablehlo.convert", [dimension], results=[_SIZE]))

        shown: list[Value] = []
        for step in specification.steps:
            rest = size_of(step.source) - _number(self, step.rest)
            if step.factor != 1:
                remainder = _apply("mod", rest, step.factor)
                self._assert(remainder.compared("EQ", 0),
                             f"Division had remainder {{0}} when computing the value of '{step.variable}'.{ending}",
                             [remainder.value, *shown], 1)
                rest = _apply("floordiv", rest, step.factor)
            dims[step.variable] = rest.value
            shown.append(rest.value)
            ending += f"'{step.variable}' = {{{len(shown) - 1}}} from specification '{step.source.dim}' for dimension " \
                f"{specification.place(step.source)}, "
            self._assert(rest.compared("GE", 1), f"Expected value >= 1 for dimension variable '{step.variable}'.{ending}", shown, 0)
        for axis in specification.checks:
            if type(axis.dim) is SymbolicDim:
                size, expected = size_of(axis), _number(self, axis.dim)
                self._assert(size.compared("EQ", expected),
                             f"Found inconsistency between dimension size {specification.place(axis)} (= {{0}}) and "
                             f"the specification '{axis.dim}' (= {{1}}).{ending}", [size.value, expected.value, *shown], 2)

    def _assert(self, condition: Value, message: str, shown: Sequence[Value], first: int) -> None:
        """Writes an assertion about shapes.

        Args:
          condition: bool[], which must hold when the program runs.
          message: the error; `{0}` stands for the first of `shown`, but in the part about dimension variables for number `first` of them.
          shown: integers that the message shows.
          first: how many of `shown` belong to the first part of the message.
        """
        head, end, tail = message.partition("Obtained dimension variables: ")
        for number in reversed(range(len(shown) - first)):
            tail = tail.replace(f"{{{number}}}", f"{{{number + first}}}")
        text = string_text(f"Input shapes do not match the polymorphic shapes specification. {head}{end}{tail}")
        self.custom_call("shape_assertion", [condition, *shown], results=[], attributes={
            "error_message": text, "has_side_effect": "true", "api_version": "2 : i32"})


def write_dynamic(module: ModuleContext, closed: ClosedJaxpr, name: str, specification: ShapeSpecification, live: Sequence[JaxprEqn],
                  arg_attributes: Sequence[str], result_attributes: Sequence[str]) -> SizedMain:
    """Writes a program with symbolic dimensions in its arguments' shapes: the function for it, and `main`.

    Args:
      specification: the types of the program's constants, and then of its arguments.

    Returns:
      What `main` is for arguments of given sizes.
    """
    module.dimension_variables = tuple(specification.variables)
    module.has_dynamic_shapes = True
    writer = DynamicWriter(module, module.platforms)
    writer.scope = f"jit({name})"
    function = module.unique_name(WRAPPED_MAIN)
    body = writer.write(closed.jaxpr, function, private=True, live=live)
    main = DynamicWriter(module, module.platforms).write_main(
        function, specification, specification.avals, closed.out_avals, arg_attributes, result_attributes)
    module.functions[:0] = [main, body]
    return SizedMain(main, function, module.dimension_variables, specification.avals, tuple(closed.out_avals), tuple(arg_attributes),
                     tuple(result_attributes))


@dataclass(frozen=True)
class SizedMain:
    """What `main` is for arguments of given sizes: it calls the function for all sizes with numbers for the variables.

    main: the text of the `main` that takes arguments of all sizes.
    function: the name of the function that it calls.
    variables: the function's first parameters, followed by `parameters`.
    parameters, results: the types of its arguments, the constants first, and of its results.
    arg_attributes, result_attributes: their attributes, as text.
    """
    main: str
    function: str
    variables: tuple[str, ...]
    parameters: tuple[ShapedArray, ...]
    results: tuple[ShapedArray, ...]
    arg_attributes: tuple[str, ...]
    result_attributes: tuple[str, ...]

    def text(self, sizes: Mapping[str, int], parameters: Sequence[ShapedArray], results: Sequence[ShapedArray]) -> str:
        """The text of `main` for arguments and results of these types, which are those of the program at these sizes."""
        header = [f"%arg{i}: {type_text(aval)}{_spaced(attribute)}"
                  for i, (aval, attribute) in enumerate(zip(parameters, self.arg_attributes, strict=True))]
        types = [type_text(aval) + _spaced(attribute) for aval, attribute in zip(results, self.result_attributes or [""] * len(results))]
        lines = [f'%dim{i} = "stablehlo.constant"() {{value = dense<{int(sizes[name])}> : tensor<i64>}} : () -> tensor<i64>'
                 for i, name in enumerate(self.variables)]
        args = [self._converted(lines, f"%arg{i}", f"%in{i}", aval, general)
                for i, (aval, general) in enumerate(zip(parameters, self.parameters, strict=True))]
        operands = [*(f"%dim{i}" for i in range(len(self.variables))), *args]
        operand_types = types_text((*[_SIZE] * len(self.variables), *self.parameters))
        result_types = types_text(self.results)
        left = f"%out:{len(results)} = " if len(results) > 1 else "%out = " if results else ""
        lines.append(f"{left}func.call @{self.function}({', '.join(operands)}) : ({operand_types}) -> ({result_types})")
        outs = ["%out"] if len(results) == 1 else [f"%out#{i}" for i in range(len(results))]
        outs = [self._converted(lines, x, f"%res{i}", general, aval)
                for i, (x, aval, general) in enumerate(zip(outs, results, self.results, strict=True))]
        ending = f"func.return {', '.join(outs)} : {types_text(results)}" if outs else "func.return"
        return "\n".join([f"func.func public @main({', '.join(header)}) -> ({', '.join(types)}) {{", *lines, ending, "}"])

    @staticmethod
    def _converted(lines: list[str], x: str, name: str, aval: ShapedArray, other: ShapedArray) -> str:
        """The name of a value of one type under another type, which says more, or less, of its shape."""
        before, after = type_text(aval), type_text(other)
        if before == after:
            return x
        lines.append(f'{name} = "stablehlo.convert"({x}) : ({before}) -> {after}')
        return name


def _spaced(attribute: str) -> str:
    return f" {attribute}" if attribute else ""


def retyped(ctx: FunctionWriter, x: Value, aval: ShapedArray) -> Value:
    """A value under a type that says more, or less, of its shape."""
    return (Value(x.name, aval) if type_text(x.aval) == type_text(aval)
            else FunctionWriter.emit(ctx, "stablehlo.convert", [x], results=[aval]))


# Sizes as numbers that are written


class _Number:
    """A scalar of the program, i64[], with the arithmetic of sizes."""

    def __init__(self, writer: DynamicWriter, value: Value) -> None:
        self.writer = writer
        self.value = value

    def _binary(self, op: str, other: _Number) -> _Number:
        return _Number(self.writer, FunctionWriter.emit(self.writer, op, [self.value, _number(self.writer, other).value], results=[_SIZE]))

    def __add__(self, other: Any) -> Any:
        return self._binary("stablehlo.add", other)

    def __sub__(self, other: _Number) -> _Number:
        return self._binary("stablehlo.subtract", other)

    def __mul__(self, other: Any) -> Any:
        return self._binary("stablehlo.multiply", other)

    __radd__, __rmul__ = __add__, __mul__

    def compared(self, direction: str, other: Any) -> Value:
        return FunctionWriter.emit(self.writer, "stablehlo.compare", [self.value, _number(self.writer, other).value], results=[_FLAG],
                                   attributes={"comparison_direction": f"#stablehlo<comparison_direction {direction}>"})


def _number(writer: DynamicWriter, x: Any) -> _Number:
    return x if isinstance(x, _Number) else _Number(writer, writer.size_value(x))


def _apply(name: str, x: Any, y: Any) -> Any:
    """`floordiv`, `mod`, `max` or `min`; division rounds down, while StableHLO's rounds towards 0."""
    writer = (x if isinstance(x, _Number) else y).writer
    x, y = _number(writer, x), _number(writer, y)
    if name in ("max", "min"):
        return x._binary(f"stablehlo.{name}imum", y)
    rest = x._binary("stablehlo.remainder", y)
    signs = rest._binary("stablehlo.multiply", y).compared("LT", 0)  # a rest that is not 0 has the sign of x
    if name == "mod":
        return _Number(writer, FunctionWriter.emit(writer, "stablehlo.select", [signs, (rest + y).value, rest.value], results=[_SIZE]))
    quotient = x._binary("stablehlo.divide", y)
    return _Number(writer, FunctionWriter.emit(writer, "stablehlo.select", [signs, (quotient - 1).value, quotient.value], results=[_SIZE]))


# The dynamic forms


def _sizes(aval: ShapedArray) -> tuple[DimSize, ...]:
    return physical_aval(aval).shape if dtypes.is_extended(aval.dtype) else aval.shape


def _numbers(attribute: str) -> Sequence[DimSize]:
    """The numbers in an attribute `array<i64: 0, 2>`."""
    if isinstance(attribute, SymbolicArray):
        return attribute.values
    listed = attribute.removeprefix("array<i64").removeprefix(":").removesuffix(">").strip()
    return tuple(int(number) for number in listed.split(",")) if listed else ()


def _broadcast(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Any:
    return ctx.emit_dynamic("stablehlo.dynamic_broadcast_in_dim", [*operands, ctx.shape_value(_sizes(result))], attributes, result)


def _reshape(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Any:
    if type_text(operands[0].aval) == type_text(result) and operands[0].aval.shape == result.shape:
        return Value(operands[0].name, result)
    return ctx.emit_dynamic("stablehlo.dynamic_reshape", [*operands, ctx.shape_value(_sizes(result))], attributes, result)


def _iota(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Value:
    return ctx.emit_dynamic("stablehlo.dynamic_iota", [ctx.shape_value(_sizes(result))], attributes, result)


def _pad(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Value:
    if not any(isinstance(text, SymbolicArray) for text in attributes.values()):
        return ctx.emit_dynamic("stablehlo.pad", operands, attributes, result)
    amounts = [ctx.shape_value(_numbers(attributes[name])) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
    return ctx.emit_dynamic("stablehlo.dynamic_pad", [*operands, *amounts], {}, result)


def _slice(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Value:
    if not any(isinstance(text, SymbolicArray) for text in attributes.values()):
        return ctx.emit_dynamic("stablehlo.slice", operands, attributes, result)
    bounds = [ctx.shape_value(_numbers(attributes[name])) for name in ("start_indices", "limit_indices", "strides")]
    return ctx.emit_dynamic("stablehlo.real_dynamic_slice", [*operands, *bounds], {}, result)


def _dynamic_slice(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Value:
    """Starts move back until the window fits, as in `dynamic_slice`."""
    if not isinstance(attributes["slice_sizes"], SymbolicArray):
        return ctx.emit_dynamic("stablehlo.dynamic_slice", operands, attributes, result)
    (x, *starts), sizes = operands, _numbers(attributes["slice_sizes"])
    firsts, one, vector = [], ShapedArray((1,), np.int64), ShapedArray((len(sizes),), np.int64)
    for start, size, whole in zip(starts, sizes, _sizes(x.aval)):
        first = _Number(ctx, start if start.aval.dtype == _SIZE.dtype
                        else FunctionWriter.emit(ctx, "stablehlo.convert", [start], results=[_SIZE]))
        first = _apply("max", _apply("min", first, _number(ctx, whole) - _number(ctx, size)), 0)
        firsts.append(FunctionWriter.emit(ctx, "stablehlo.reshape", [first.value], results=[one]))
    first = FunctionWriter.emit(ctx, "stablehlo.concatenate", firsts, attributes={"dimension": "0 : i64"}, results=[vector])
    limit = FunctionWriter.emit(ctx, "stablehlo.add", [first, ctx.shape_value(sizes)], results=[vector])  # the sum tells how wide it is
    return ctx.emit_dynamic("stablehlo.real_dynamic_slice", [x, first, limit, ctx.shape_value((1,) * len(sizes))], {}, result)


def _gather(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Value:
    if not isinstance(attributes["slice_sizes"], SymbolicArray):
        return ctx.emit_dynamic("stablehlo.gather", operands, attributes, result)
    rest = {name: text for name, text in attributes.items() if name != "slice_sizes"}
    return ctx.emit_dynamic("stablehlo.dynamic_gather", [*operands, ctx.shape_value(_numbers(attributes["slice_sizes"]))], rest, result)


def _convolution(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Value:
    padding = attributes.get("padding")
    if not isinstance(padding, SymbolicArray):
        return ctx.emit_dynamic("stablehlo.convolution", operands, attributes, result)
    pairs = ShapedArray((len(padding.values) // 2, 2), np.int64)
    amounts = FunctionWriter.emit(ctx, "stablehlo.reshape", [ctx.shape_value(padding.values)], results=[pairs])
    rest = {name: text for name, text in attributes.items() if name != "padding"}
    return ctx.emit_dynamic("stablehlo.dynamic_conv", [*operands, amounts], rest, result)


def _rng(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Value:
    """StableHLO's `rng` is dynamic already: its last operand is the shape of the result."""
    return ctx.emit_dynamic("stablehlo.rng", operands, attributes, result)


def _bitcast(ctx: DynamicWriter, operands: Sequence[Value], attributes: Any, result: Any) -> Value:
    if operands[0].aval.ndim != result.ndim:
        raise NotImplementedError(f"{ctx.eqn.primitive}: a bitcast of {operands[0].aval.str_short()} to {result.str_short()} has no form "
                                  "for symbolic dimensions: the compiler does not find its size. Export for sizes that are numbers, or "
                                  "cast to a dtype of the same width.")
    return ctx.emit_dynamic("stablehlo.bitcast_convert", operands, attributes, result)


_FORMS = {
    "stablehlo.convolution": _convolution, "stablehlo.rng": _rng, "stablehlo.bitcast_convert": _bitcast,
    "stablehlo.broadcast_in_dim": _broadcast, "stablehlo.reshape": _reshape, "stablehlo.iota": _iota, "stablehlo.pad": _pad,
    "stablehlo.slice": _slice, "stablehlo.dynamic_slice": _dynamic_slice, "stablehlo.gather": _gather}

# Operations whose results' shapes follow from their operands'.
_INFERRED = frozenset(f"stablehlo.{name}" for name in """
    abs add after_all and atan2 case cbrt ceil clamp collective_permute compare complex concatenate convert cosine count_leading_zeros
    divide dot_general dynamic_update_slice exponential exponential_minus_one floor if imag is_finite log log_plus_one logistic map maximum minimum
    multiply negate not optimization_barrier or popcnt power real reduce reduce_precision reduce_window remainder return reverse
    round_nearest_afz round_nearest_even rsqrt scatter select shift_left shift_right_arithmetic shift_right_logical sign sine sort sqrt fft select_and_scatter
    subtract tan tanh transpose while xor cholesky triangular_solve""".split()) | frozenset(f"chlo.{name}" for name in """
    acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf lgamma next_after polygamma sinh square tan
    top_k zeta""".split()) | frozenset((  # noqa: E501
    "sdy.manual_computation", "stablehlo.all_gather", "stablehlo.all_reduce", "stablehlo.all_to_all", "stablehlo.reduce_scatter"))
