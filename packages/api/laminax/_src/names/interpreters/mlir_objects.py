"""Lowering rules that make objects of MLIR's Python bindings, as JAX's rules do, and the functions that such rules are written with.

laminax writes StableHLO as text. A rule that makes objects builds a function of a module of its own; its text goes into the program that
is being written, with a call of it where the operation stands. What the rule is given is both: an `ir.Value` in that function, and a value
of the text, so that a rule may also use laminax's writer.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from laminax_ir.programs.effects import ordered_effects
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.tokens import current_tokens, set_tokens
from laminax_lowering.writing.types import TOKEN, dense, element_type, splat, type_text
from laminax_runtime import mlir_bindings, new_mlir_context


class _Open(threading.local):
    """The functions that rules are building on this thread, the innermost last."""

    def __init__(self) -> None:
        self.functions: list[FunctionOfRule] = []


_open = _Open()


@functools.cache
def _operand_type() -> type:
    """The class of what rules are given."""
    class Operand(mlir_bindings("ir").Value):  # type: ignore[misc]  # a class that is known when this runs
        """A value of MLIR that is one of the text as well, of the name `name` and the type `aval`."""

        def __init__(self, value: Any, known: Value) -> None:
            super().__init__(value)
            self.name = known.name
            self.aval = known.aval
            self.shape = known.shape
            self.dtype = known.dtype

    return Operand


class FunctionOfRule:
    """The function that a rule builds, in a module of its own.

    Args:
      ctx: the writer of the function that the operation stands in.
      name: of the operation.
    """

    def __init__(self, ctx: FunctionWriter, name: str) -> None:
        self.ctx, self.name = ctx, ctx.module.unique_name(name)
        self.operands: list[Value] = []  # what it is called with
        self.declared: set[str] = set()  # the functions of the program that it calls
        self.ir, func = mlir_bindings("ir"), mlir_bindings("dialects.func")
        self.context = make_ir_context()
        with self.context, self.ir.Location.unknown():
            self.module = self.ir.Module.create()
            with self.ir.InsertionPoint(self.module.body):
                self.function = func.FuncOp(self.name, ([], []), visibility="private")
            self.block = self.function.add_entry_block()

    def write(self, rule: Callable[..., Any], operands: Sequence[Value], params: dict[str, Any]) -> list[Value]:
        """The results of a rule, in the text, where the tokens of the operation's ordered effects become those that the rule has set."""
        ctx, ordered = self.ctx, sorted(ordered_effects.filter_in(self.ctx.eqn.effects), key=str)
        _open.functions.append(self)
        outer = ctx.tokens_in, ctx.tokens_out
        try:
            with self.context, self.ir.Location.unknown(), self.ir.InsertionPoint(self.block):
                ctx.tokens_in = TokenSet(zip(ordered, [self.operand(x) for x in current_tokens(ctx, ordered)]))
                ctx.tokens_out = None
                returned = rule(ctx, *[self.operand(x) for x in operands], **params)
                results = flatten_ir_values(returned if isinstance(returned, (tuple, list)) else [returned])
                tokens = self._tokens_out(ordered) if ordered else []
                written = self._results(results, tokens)
        finally:
            _open.functions.pop()
            ctx.tokens_in, ctx.tokens_out = outer
        count = len(results)
        set_tokens(ctx, ordered, written[count:])
        return written[:count]

    def _tokens_out(self, ordered: Sequence[Any]) -> list[Any]:
        """The tokens that the rule has set for the operation's ordered effects."""
        name, found = self.ctx.eqn.primitive.name, self.ctx.tokens_out
        if found is None:
            raise ValueError(f"Lowering rule for `{name}` needs to set `tokens_out`: the operation has the ordered effects "
                             f"{', '.join(map(str, ordered))}. Call ctx.set_tokens_out(ctx.tokens_in.update_tokens(TokenSet(...))) with "
                             "the tokens after it, or ctx.set_tokens_out(ctx.tokens_in).")
        if found.effects() != set(ordered):
            raise ValueError(f"Lowering rule for `{name}` returns incorrect set of output token. Expected tokens for "
                             f"{', '.join(map(str, ordered))}, got some for {', '.join(map(str, found.effects()))}.")
        return [found.get(effect) for effect in ordered]

    def operand(self, value: Value) -> Any:
        """A value of the text as one of this function, which is called with it."""
        self.operands.append(value)
        return _operand_type()(self.block.add_argument(aval_to_ir_type(value.aval), self.ir.Location.unknown()), value)

    def _results(self, results: Sequence[Any], tokens: Sequence[Any]) -> list[Value]:
        """The results and tokens in the text, where the function is called for those that it made."""
        ctx, avals = self.ctx, self.ctx.avals_out
        if len(results) != len(avals):
            raise TypeError(f"the lowering rule of {ctx.eqn.primitive} returned {len(results)} values; the operation has {len(avals)} "
                            "results")
        results, avals = [*results, *tokens], [*avals, *[TOKEN] * len(tokens)]
        made = [(x, aval) for x, aval in zip(results, avals) if not hasattr(x, "name")]
        for x, aval in made:
            if str(x.type) != type_text(aval):
                raise TypeError(f"the lowering rule of {ctx.eqn.primitive} returned a value of type {x.type}, where the operation's "
                                f"result is a {type_text(aval)}. Its def_abstract_eval and its lowering rule must agree.")
        called = iter(self._called([x for x, _ in made], [aval for _, aval in made]) if made or len(self.block.operations) else ())
        return [Value(x.name, x.aval) if hasattr(x, "name") else next(called) for x in results]

    def _called(self, results: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Value]:
        """Writes the function into the module, and a call of it."""
        ir = self.ir
        mlir_bindings("dialects.func").ReturnOp(results)
        types = ir.FunctionType.get([x.type for x in self.block.arguments], [x.type for x in results])
        self.function.attributes["function_type"] = ir.TypeAttr.get(types)
        self.module.operation.verify()
        self.function.operation.walk(self._note_call_target)
        self.ctx.module.functions.append(self.function.operation.get_asm(enable_debug_info=False))
        return self.ctx.call(self.name, self.operands, avals)

    def _note_call_target(self, operation: Any) -> Any:
        """The names of functions outside of the program are known to the calling convention."""
        if operation.name == "stablehlo.custom_call":
            self.ctx.module.call_targets[operation.attributes["call_target_name"].value] = None
        return self.ir.WalkResult.ADVANCE

    def call(self, function: str, operands: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """Calls a function of the program that is being written, which this module only declares."""
        func = mlir_bindings("dialects.func")
        types = [x.type for x in operands], [aval_to_ir_type(aval) for aval in avals]
        if function not in self.declared:
            self.declared.add(function)
            with self.ir.InsertionPoint(self.module.body):
                func.FuncOp(function, types, visibility="private")
        return list(func.CallOp(types[1], function, operands).results)


class TokenSet:
    """The tokens for some ordered effects: `ctx.tokens_in` of a rule, and what it gives to `ctx.set_tokens_out`. It does not change.

    Args:
      *args, **kwargs: as for a dictionary of tokens by effects; a token is an `ir.Value`.

    Example:
      >>> from laminax.interpreters import mlir
      >>> tokens = mlir.TokenSet({"print": "token 0", "write": "token 1"})
      >>> tokens.update_tokens(mlir.TokenSet({"write": "token 2"})).items()
      (('print', 'token 0'), ('write', 'token 2'))
    """
    __slots__ = ("_tokens",)

    def __init__(self, *args: Iterable[tuple[Any, Any]] | Mapping[Any, Any], **kwargs: Any) -> None:
        self._tokens: dict[Any, Any] = dict(*args, **kwargs)

    @classmethod
    def create(cls, effects: Sequence[Any]) -> TokenSet:
        """New tokens for some effects, made by operations where the rule stands."""
        create = mlir_bindings("dialects.stablehlo").create_token
        return cls([(effect, create()) for effect in effects])

    def __len__(self) -> int:
        return len(self._tokens)

    def get(self, effect: Any) -> Any:
        """The token of an effect.

        Raises:
          KeyError: there is none.
        """
        return self._tokens[effect]

    def items(self) -> tuple[tuple[Any, Any], ...]:
        """The effects with their tokens, in order."""
        return tuple(self._tokens.items())

    def effects(self) -> set[Any]:
        """The effects."""
        return set(self._tokens)

    def subset(self, effects: Iterable[Any]) -> TokenSet:
        """The tokens of some of the effects."""
        return TokenSet([(effect, self._tokens[effect]) for effect in effects])

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """These tokens, with those of `tokens` in place of the ones for the same effects."""
        if not len(tokens):
            return self
        return TokenSet([(effect, tokens._tokens.get(effect, token)) for effect, token in self._tokens.items()])


def run_program(ctx: FunctionWriter, closed: ClosedJaxpr, operands: Sequence[Any]) -> list[Any]:
    """The results of a program in a lowering rule: values as the operands are, those of the text or those of MLIR."""
    if all(type(x) is Value for x in operands):
        return ctx.run(closed, operands)
    function = _open.functions[-1]
    if all(hasattr(x, "name") for x in operands):
        return [function.operand(x) for x in ctx.run(closed, operands)]
    if closed.consts:
        raise NotImplementedError(f"the lowering rule of {ctx.eqn.primitive} calls a function that closes over arrays, with values that "
                                  "MLIR operations made; pass the arrays to the function, or call it with the rule's own operands only")
    if len(ctx.platforms) > 1:
        raise NotImplementedError(f"the lowering rule of {ctx.eqn.primitive} calls a function with values that MLIR operations made, in a "
                                  f"program for {', '.join(ctx.platforms)}. Lower for one platform at a time.")
    return function.call(ctx.private_function(closed, f"{ctx.eqn.primitive}_function"), operands, closed.out_avals)


# What rules are written with. Each is to be called in a rule, or where a context of MLIR is entered.


def dtype_to_ir_type(dtype: Any) -> Any:
    """The MLIR type of an element.

    Args:
      dtype: a NumPy dtype, or what makes one.

    Raises:
      TypeError: no element of StableHLO is of this dtype.
    """
    return mlir_bindings("ir").Type.parse(element_type(dtype))


def aval_to_ir_type(ctx: Any, aval: ShapedArray | None = None) -> Any:
    """The MLIR tensor type of an abstract value; sizes that are expressions are dynamic.

    Args:
      ctx: the rule's `ctx.module_context`, which JAX 0.12 asks for and laminax does not need; or the abstract value, as for older JAX.
      aval: the abstract value.
    """
    return mlir_bindings("ir").Type.parse(type_text(ctx if aval is None else aval))


def aval_to_ir_types(ctx: Any, aval: ShapedArray | None = None) -> tuple[Any, ...]:
    """The MLIR types of an abstract value, of which there is one; arguments as for `aval_to_ir_type`."""
    return (aval_to_ir_type(ctx, aval),)


def ir_constant(val: Any, *, const_lowering: dict[tuple[int, ShapedArray | None], Any] | None = None,
                aval: ShapedArray | None = None) -> Any:
    """A constant.

    Args:
      val: a number or an array.
      const_lowering: values for some constants, by the constant's identity and abstract value.
      aval: whose dtype it gets; by default, its own as a NumPy array.

    Returns:
      The `ir.Value` of the constant operation, which is written where the rule stands.
    """
    if const_lowering is not None and (known := const_lowering.get((id(val), aval))) is not None:
        return known
    array = np.asarray(val, None if aval is None else aval.dtype)
    text = dense(array) if array.ndim else splat(array, (), array.dtype)
    return mlir_bindings("dialects.stablehlo").ConstantOp(mlir_bindings("ir").Attribute.parse(text)).result


def ir_constants(val: Any, *, const_lowering: dict[tuple[int, ShapedArray | None], Any] | None = None,
                 aval: ShapedArray | None = None) -> tuple[Any, ...]:
    """The constants that a value is, of which there is one; arguments as for `ir_constant`."""
    return (ir_constant(val, const_lowering=const_lowering, aval=aval),)


def dense_int_elements(xs: Sequence[int]) -> Any:
    """Integers as an attribute `dense<[...]> : tensor<nxi64>`."""
    return mlir_bindings("ir").DenseIntElementsAttr.get(np.asarray(xs, np.int64))


def dense_int_array(xs: Sequence[int]) -> Any:
    """Integers as an attribute `array<i64: ...>`."""
    return mlir_bindings("ir").DenseI64ArrayAttr.get(np.asarray(xs, np.int64))


def i32_attr(i: int) -> Any:
    """An integer of 32 bits as an attribute."""
    ir = mlir_bindings("ir")
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), i)


def i64_attr(i: int) -> Any:
    """An integer of 64 bits as an attribute."""
    ir = mlir_bindings("ir")
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), i)


def ir_attribute(val: Any) -> Any:
    """A value as an attribute: booleans, integers (i64), floats (f64), strings, bytes, NumPy scalars and arrays, dtypes, and sequences and
    dictionaries of such values.

    Raises:
      TypeError: for anything else.
    """
    ir = mlir_bindings("ir")
    if isinstance(val, ir.Attribute):
        return val
    if isinstance(val, bool):
        return ir.BoolAttr.get(val)
    if isinstance(val, int):
        return i64_attr(val)
    if isinstance(val, float):
        return ir.FloatAttr.get_f64(val)
    if isinstance(val, (str, bytes)):
        return ir.StringAttr.get(val)
    if isinstance(val, np.ndarray):
        return ir.Attribute.parse(dense(val))
    if isinstance(val, np.generic):
        kind = dtype_to_ir_type(val.dtype)
        return ir.FloatAttr.get(kind, float(val)) if np.issubdtype(val.dtype, np.floating) else ir.IntegerAttr.get(kind, int(val))
    if isinstance(val, np.dtype) or isinstance(val, type) and issubclass(val, np.generic):
        return ir.TypeAttr.get(dtype_to_ir_type(val))
    if isinstance(val, dict):
        return ir.DictAttr.get({key: ir_attribute(value) for key, value in val.items()})
    if isinstance(val, (tuple, list)):
        return ir.ArrayAttr.get([ir_attribute(value) for value in val])
    raise TypeError(f"ir_attribute: a {type(val).__name__} cannot be an attribute: {val!r}. Give an ir.Attribute, a number, a string, a "
                    "NumPy array or dtype, or a sequence or dictionary of these.")


def shape_tensor(ctx: Any, sizes: Sequence[Any] | None = None) -> Any:
    """Sizes as one value `i32[n]`: each is a number, or the `ir.Value` of a scalar.

    Args:
      ctx: the rule's `ctx.module_context`, which JAX 0.12 asks for and laminax does not need; or the sizes, as for older JAX.
      sizes: the sizes.

    Returns:
      The `ir.Value` of the operations, which are written where the rule stands.
    """
    stablehlo, ir = mlir_bindings("dialects.stablehlo"), mlir_bindings("ir")
    sizes = ctx if sizes is None else sizes
    if all(isinstance(size, (int, np.integer)) for size in sizes):
        return ir_constant(np.asarray(sizes, np.int32))
    one = ir.RankedTensorType.get([1], ir.IntegerType.get_signless(32))
    parts = []
    for size in sizes:
        if isinstance(size, (int, np.integer)):
            parts.append(ir_constant(np.asarray([size], np.int32)))
            continue
        scalar = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
        parts.append(stablehlo.reshape(one, size if size.type == scalar else stablehlo.convert(scalar, size)))
    return parts[0] if len(parts) == 1 else stablehlo.concatenate(parts, 0)


def token_type() -> Any:
    """The MLIR type of a token of StableHLO, which orders effects."""
    return mlir_bindings("ir").Type.parse("!stablehlo.token")


def flatten_ir_types(xs: Any) -> list[Any]:
    """The types in nested sequences of them, in order."""
    return [t for x in xs for t in flatten_ir_types(x)] if isinstance(xs, (tuple, list)) else [xs]


def flatten_ir_values(xs: Any) -> list[Any]:
    """The values in nested sequences of values and operations, in order; an operation stands for its results."""
    if isinstance(xs, (tuple, list)):
        return [v for x in xs for v in flatten_ir_values(x)]
    ir = mlir_bindings("ir")
    if isinstance(xs, (ir.OpView, ir.Operation)):
        return list(xs.results)
    if isinstance(xs, ir.OpResultList):
        return list(xs)
    return [xs]


def make_ir_context() -> Any:
    """A new context of MLIR with the dialects of StableHLO programs."""
    context = new_mlir_context()
    context.load_all_available_dialects()
    return context


def module_to_string(module: Any, enable_debug_info: bool | None = None) -> str:
    """The text of an MLIR module, with locations if enable_debug_info is True."""
    return module.operation.get_asm(enable_debug_info=bool(enable_debug_info))


def module_to_bytecode(module: Any) -> bytes:
    """An MLIR module as bytecode, without a version: for the same version of MLIR."""
    import io

    output = io.BytesIO()
    module.operation.write_bytecode(file=output)
    return output.getvalue()


def custom_call(call_target_name: str, *, result_types: Sequence[Any], operands: Sequence[Any],
                backend_config: str | bytes | dict[str, Any] | None = "", has_side_effect: bool = False,
                result_shapes: Sequence[Any] | None = None, called_computations: Sequence[str] = (), api_version: int = 2,
                operand_output_aliases: dict[int, int] | None = None, operand_layouts: Sequence[Sequence[int]] | None = None,
                result_layouts: Sequence[Sequence[int]] | None = None, extra_attributes: dict[str, Any] | None = None) -> Any:
    """In a rule: a call of a function outside of the program, which is registered under a name.

    Args:
      call_target_name: the name.
      result_types: the MLIR types of its results.
      operands: its arguments, values of MLIR.
      backend_config: what the function is given besides; a dictionary of attributes, by api_version=4 only.
      has_side_effect: whether it is called also where nothing needs its results.
      result_shapes: for results with dynamic sizes, the values of their shapes, one for each result.
      called_computations: names of functions of the module that it calls.
      api_version: of the calling convention; 4 is that of typed FFI functions.
      operand_output_aliases: by the number of an operand, the number of the result that takes its memory.
      operand_layouts: for each operand its axes, that which varies fastest first; by default the last axis first.
      result_layouts: the same for results.
      extra_attributes: further attributes of the operation.

    Returns:
      The operation, whose `results` are the values.

    Raises:
      ValueError: if there are not as many layouts as operands and results, or shapes as results; for a dictionary with an older
        calling convention.
    """
    ir, stablehlo = mlir_bindings("ir"), mlir_bindings("dialects.stablehlo")
    operands, attributes = list(operands), dict(extra_attributes or {})
    if isinstance(backend_config, dict):
        if api_version != 4:
            raise ValueError(f"custom_call {call_target_name}: backend_config is a dictionary, which api_version=4 takes; "
                             f"got api_version={api_version}")
        attributes["backend_config"] = ir.DictAttr.get(backend_config)
    else:
        attributes["backend_config"] = ir.StringAttr.get(backend_config or "")
    if result_shapes is not None:
        if len(result_shapes) != len(result_types):
            raise ValueError(f"custom_call {call_target_name}: {len(result_shapes)} result_shapes for {len(result_types)} results; "
                             "one for each is expected")
        first = len(operands)
        attributes["indices_of_shape_operands"] = dense_int_elements(range(first, first + len(result_shapes)))
        operands += result_shapes
        if operand_layouts is not None:
            operand_layouts = [*operand_layouts, *[[0]] * len(result_shapes)]
    attributes["call_target_name"] = ir.StringAttr.get(call_target_name)
    attributes["has_side_effect"] = ir.BoolAttr.get(has_side_effect)
    attributes["api_version"] = i32_attr(api_version)
    attributes["called_computations"] = ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name) for name in called_computations])
    if operand_output_aliases:
        single = len(result_types) == 1
        attributes["output_operand_aliases"] = ir.ArrayAttr.get([
            stablehlo.OutputOperandAlias.get(output_tuple_indices=[] if single else [result], operand_index=operand,
                                             operand_tuple_indices=[])
            for operand, result in operand_output_aliases.items()])
    if operand_layouts is not None or result_layouts is not None:
        layouts = (_layouts(call_target_name, "operand_layouts", operand_layouts, [x.type for x in operands]),
                   _layouts(call_target_name, "result_layouts", result_layouts, result_types))
        attributes["operand_layouts"], attributes["result_layouts"] = layouts
    return stablehlo.CustomCallOp.build_generic(results=list(result_types), operands=operands, attributes=attributes)


def _layouts(name: str, argument: str, layouts: Sequence[Sequence[int]] | None, types: Sequence[Any]) -> Any:
    """Layouts as an attribute; the usual ones where they are not given."""
    ir = mlir_bindings("ir")
    usual = [range(ir.RankedTensorType(t).rank)[::-1] for t in types] if layouts is None else layouts
    if len(usual) != len(types):
        raise ValueError(f"custom_call {name}: {len(usual)} {argument} for {len(types)} values; one for each is expected")
    return ir.ArrayAttr.get([ir.DenseIntElementsAttr.get(np.asarray(list(layout), np.int64), type=ir.IndexType.get()) for layout in usual])


def __getattr__(name: str) -> Any:
    """`ir`, MLIR's Python bindings, when they are first asked for."""
    if name == "ir":
        return mlir_bindings("ir")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
