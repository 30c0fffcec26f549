"""The writer of operations: SSA values, constants, regions and calls of one function, as text."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import ExtendedArray, physical_aval
from laminax_ir.programs.jaxpr import JaxprEqn, Literal, no_effects
from laminax_ir.programs.primitive import Primitive
from laminax_ir.symbolic.symbolic_dims import DimSize, SymbolicDim
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.module_context import ModuleContext
from laminax_lowering.writing.ssa_values import Constants, Value
from laminax_lowering.writing.tokens import current_tokens, set_tokens, token_keys
from laminax_lowering.writing.types import dense, splat, string_text, type_text, types_text

_new = object.__new__

# The equation of a writer before and after those of a program.
_NO_EQUATION = JaxprEqn([], [], Primitive("main"), {}, no_effects)


class OperationWriter:
    """Writes the operations of one function.

    `avals_in` and `avals_out` are those of the equation being lowered. `platforms` are those that the function is written for: with
    several, its first argument, `platform_index`, is the number of the platform that runs it.
    """

    def __init__(self, module: ModuleContext, platforms: tuple[str, ...]) -> None:
        self.module = module
        self.platforms = platforms
        self.platform_index: Value | None = None
        self.lines: list[str] = []
        self.eqn = _NO_EQUATION  # the one that is being written
        self.loc = ""
        self.scope = ""  # names of the calls around what is being written, `jit(f)/while/body`
        self.is_top_level = False
        self.tokens: dict[Any, Value] = {}  # order the ordered effects; see `writing.tokens`
        self.tokens_in: Any = None  # in a library's rule, the tokens for the ordered effects of its operation
        self.tokens_out: Any = None  # those that the rule has set
        self.iotas: dict[str, int] = {}  # of the values that are positions along an axis, the axis
        # On one CPU device, of the values that are slices without strides, by name: the array and the first index per axis.
        self.slices: dict[str, tuple[Value, tuple[int, ...]]] = {}
        self._count = 0
        self._constant_count = -1
        self._constants = Constants()

    @property
    def module_context(self) -> ModuleContext:
        """JAX's name of `module`, for rules that users write."""
        return self.module

    def set_tokens_out(self, tokens_out: Any) -> None:
        """For rules that libraries write: sets the tokens after the operation, one for each of `tokens_in`."""
        self.tokens_out = tokens_out

    @property
    def platform(self) -> str:
        """The platform, where there is one: always in rules for some platforms."""
        (platform,) = self.platforms
        return platform

    @property
    def avals_in(self) -> list[ShapedArray]:
        return [v.aval for v in self.eqn.invars]

    @property
    def avals_out(self) -> list[ShapedArray]:
        return [v.aval for v in self.eqn.outvars]

    # Writing operations

    def new_name(self) -> str:
        """A fresh SSA name."""
        self._count += 1
        return f"%{self._count}"

    def emit(self, op: str, operands: Sequence[Value], *, attributes: Mapping[str, str] | None = None,
             regions: Sequence[str] = (), results: Sequence[ShapedArray] | None = None) -> Any:
        """Writes one operation.

        Args:
          op: the operation's full name, `stablehlo.add`.
          operands: its operands.
          attributes: attribute texts by name.
          regions: region texts, from `region`.
          results: the results' avals; those of the equation by default.

        Returns:
          The result, or the list of them unless there is exactly one.
        """
        avals = self.avals_out if results is None else results
        names = ", ".join([v.name for v in operands])
        name = self.new_name()
        region = f" ({', '.join(regions)})" if regions else ""
        attrs = " {" + ", ".join([f"{key} = {value}" for key, value in attributes.items()]) + "}" if attributes else ""
        if len(avals) == 1:
            signature = self.module.signature((*[v.aval for v in operands], avals[0]))
            self.lines.append(f'{name} = "{op}"({names}){region}{attrs} : {signature}{self.loc}')
            return Value(name, avals[0])
        head = f"{name}:{len(avals)} = " if avals else ""
        types = types_text(v.aval for v in operands)
        self.lines.append(f'{head}"{op}"({names}){region}{attrs} : ({types}) -> ({types_text(avals)}){self.loc}')
        return [Value(f"{name}#{i}", aval) for i, aval in enumerate(avals)]

    def custom_call(self, target: str, operands: Sequence[Value], attributes: Mapping[str, str],
                    results: Sequence[ShapedArray] | None = None) -> Any:
        """Writes a call of a function outside of the program by its name, which the calling convention says too.

        Args:
          target: the function's name.
          operands: its operands.
          attributes: the other attributes of the operation.
          results: the results' avals; those of the equation by default.

        Returns:
          The result, or the list of them unless there is exactly one.
        """
        self.module.call_targets[target] = None
        return self.emit("stablehlo.custom_call", operands, attributes={"call_target_name": string_text(target), **attributes},
                         results=results)

    def emit_elementwise(self, op: str, operands: Sequence[Value], attributes: str = "") -> Value:
        """Writes an elementwise operation whose operands may have to be broadcast to the result's shape."""
        aval = self.eqn.outvars[0].aval
        if len(operands) == 2:  # what programs are mostly made of: worth a way without loops
            x, y = operands
            x_aval, y_aval = x.aval, y.aval
            if x_aval is not aval and x_aval.shape != aval.shape:
                x = self.broadcast_to(x, aval.shape)
                x_aval = x.aval
            if y_aval is not aval and y_aval.shape != aval.shape:
                y = self.broadcast_to(y, aval.shape)
                y_aval = y.aval
            names = f"{x.name}, {y.name}"
            avals: tuple[ShapedArray, ...] = (x_aval, y_aval, aval)
        else:
            operands = [v if v.aval.shape == aval.shape else self.broadcast_to(v, aval.shape) for v in operands]
            names, avals = ", ".join([v.name for v in operands]), (*[v.aval for v in operands], aval)
        self._count = count = self._count + 1
        value = _new(Value)  # a constructor in Python would take twice as long
        value.name = name = f"%{count}"
        value.aval = aval
        signature = self.module.signatures.get(avals) or self.module.signature(avals)
        self.lines.append(f'{name} = "{op}"({names}){attributes} : {signature}{self.loc}')
        return value

    def size_value(self, dim: DimSize) -> Value:
        """The value of a size that is an expression in variables, i64[]; the writer of dynamic shapes implements this."""
        raise NotImplementedError(f"{self.eqn.primitive}: the size {dim} is an expression, in a program that was lowered for sizes that "
                                  "are numbers")

    def size_number(self, dim: DimSize, dtype: Any) -> Value:
        """A size, a number or an expression, as a scalar of a dtype."""
        return self.convert(self.size_value(dim), dtype) if type(dim) is SymbolicDim else self.constant(dim, dtype)

    def shape_value(self, shape: Sequence[DimSize]) -> Value:
        """The values of several sizes as one array, i64[n]; as `size_value`."""
        raise NotImplementedError(f"{self.eqn.primitive}: the shape {tuple(shape)} has expressions, "
                                  "in a program that was lowered for sizes that are numbers")

    def constant(self, value: Any, dtype: Any = None, shape: Sequence[DimSize] = ()) -> Value:
        """A constant: a scalar repeated over `shape`, or a NumPy array. One operation per distinct constant."""
        array = np.asarray(value, dtype)
        if array.dtype.names is not None:  # float0, which carries nothing, is stored as booleans
            array = np.zeros(array.shape, bool)
        key: tuple[Any, ...] = (array.tobytes(), array.dtype, array.shape, shape)
        found = self._constants.values.get(key)
        if found is None:
            found = self._constants.values[key] = self._new_constant(array, tuple(shape) or array.shape)
        return found

    def _new_constant(self, array: np.ndarray[Any, Any], shape: tuple[DimSize, ...]) -> Value:
        aval = ShapedArray(shape, array.dtype)
        text = dense(array) if array.ndim else splat(array, shape, array.dtype)
        self._constant_count += 1
        name = f"%c{self._constant_count}"
        self._constants.lines.append(f'{name} = "stablehlo.constant"() {{value = {text}}} : () -> {type_text(aval)}')
        if not shape:
            self._constants.scalars[name] = array
        return Value(name, aval)

    def literal(self, literal: Literal) -> Value:
        """The constant for a literal of the program."""
        key = (id(literal.val), literal.aval)
        found = self._constants.literals.get(key)
        if found is None:
            value = Value(self.constant(literal.val, literal.aval.dtype).name, literal.aval)
            found = self._constants.literals[key] = value, literal.val  # kept, so that no other object gets its identity
        return found[0]

    def known_scalar(self, value: Value) -> np.ndarray[Any, Any] | None:
        """The scalar that a value is a constant of, or None."""
        return self._constants.scalars.get(value.name)

    def broadcast_to(self, value: Value, shape: Sequence[DimSize]) -> Value:
        """Broadcasts rank 0 or axes of size 1 to `shape`; a scalar constant becomes a constant of that shape."""
        aval, shape = value.aval, tuple(shape)
        known = self._constants
        splat = known.splats.get((value.name, shape))
        if splat is not None:
            return splat
        scalar = known.scalars.get(value.name)
        if scalar is not None:
            splat = known.splats[value.name, shape] = self.constant(scalar, shape=shape)
            return splat
        dims = range(len(shape) - aval.ndim, len(shape))
        physical = 0
        if dtypes.is_extended(aval.dtype):  # the key's own axes stay behind the array's
            physical = physical_aval(aval).ndim - aval.ndim
        listed = [*dims, *range(len(shape), len(shape) + physical)]
        attribute = f"array<i64: {', '.join(map(str, listed))}>" if listed else "array<i64>"
        return self.emit("stablehlo.broadcast_in_dim", [value], attributes={"broadcast_dimensions": attribute},
                         results=[aval.update(shape=shape)])

    def convert(self, value: Value, dtype: Any) -> Value:
        """Converts elements to another dtype with StableHLO's convert."""
        if value.aval.dtype == dtype:
            return value
        return self.emit("stablehlo.convert", [value], results=[ShapedArray(value.aval.shape, dtype)])

    def region(self, arg_avals: Sequence[ShapedArray], body: Callable[..., Sequence[Value] | Value],
               terminator: str = "stablehlo.return", isolated: bool = False) -> str:
        """A region with one block.

        Args:
          arg_avals: the block's arguments.
          body: writes the block, given its arguments as values; returns the results.
          isolated: whether constants are written inside; the computations of reductions take nothing from outside.
        """
        args = [Value(self.new_name(), aval) for aval in arg_avals]
        outer = self.lines, self._constants, self.is_top_level, self.platform_index
        self.lines, self.is_top_level = [], False
        if isolated:
            self._constants, self.platform_index = Constants(), None
        try:
            results = body(*args)
            results = [results] if isinstance(results, Value) else list(results)
            inner = [*self._constants.lines, *self.lines] if isolated else self.lines
        finally:
            self.lines, self._constants, self.is_top_level, self.platform_index = outer
        names = ", ".join(v.name for v in results)
        header = ", ".join(f"{v.name}: {type_text(v.aval)}" for v in args)
        block = [f"^bb0({header}):"] if args else []
        ending = f'"{terminator}"({names}) : ({types_text(v.aval for v in results)}) -> ()'
        return "{\n" + "\n".join([*block, *inner, ending]) + "\n}"

    def call(self, function: str, operands: Sequence[Value], results: Sequence[ShapedArray],
             attributes: str = "") -> list[Value]:
        """Calls a function of the module."""
        name = self.new_name()
        names = ", ".join([v.name for v in operands])
        head = f"{name}:{len(results)} = " if len(results) > 1 else f"{name} = " if results else ""
        self.lines.append(f"{head}func.call @{function}({names}){attributes} : "
                          f"({types_text(v.aval for v in operands)}) -> ({types_text(results)}){self.loc}")
        if len(results) == 1:
            return [Value(name, results[0])]
        return [Value(f"{name}#{i}", aval) for i, aval in enumerate(results)]

    def constant_array(self, value: Any, aval: ShapedArray) -> Value:
        """A constant operation for a concrete array."""
        if isinstance(value, ExtendedArray):  # stored as words
            return Value(self.constant(np.asarray(value.base)).name, aval)
        found = self.constant(np.asarray(value), aval.dtype)
        return Value(found.name, aval)

    def put_in_memory(self, x: Value, kind: str) -> Value:
        """The value in a kind of memory, "pinned_host"."""
        return self.custom_call("annotate_device_placement", [x], results=[x.aval], attributes={
            "backend_config": '""', "has_side_effect": "true",
            "mhlo.frontend_attributes": f"{{_xla_buffer_placement = {string_text(kind)}}}"})

    # Several platforms

    def by_platform(self, write: Callable[[], Value | Sequence[Value]], results: Sequence[ShapedArray] | None = None) -> Any:
        """Writes an equation once for each of the platforms, as branches of a case on the one that runs it.

        Args:
          write: writes it for `platform`; returns its result, or the list of them.
          results: the results' avals; those of the equation by default.

        Returns:
          What `write` returns.

        Raises:
          NotImplementedError: in the computation of a reduction, which takes nothing from outside.
        """
        platforms = self.platforms
        if len(platforms) == 1:
            return write()
        if self.platform_index is None:
            raise NotImplementedError(f"{self.eqn.primitive} is lowered differently for {', '.join(platforms)}, which the computation "
                                      "of a reduction cannot be. Lower for one platform at a time.")
        avals = list(self.avals_out if results is None else results)
        keys = token_keys(self.eqn.effects)
        before = current_tokens(self, keys)
        is_list = False

        def branch(platform: str) -> list[Value]:
            nonlocal is_list
            self.platforms = (platform,)
            set_tokens(self, keys, before)
            out = write()
            is_list = not isinstance(out, Value)
            written: list[Value] = [out] if isinstance(out, Value) else list(out)
            return [*written, *current_tokens(self, keys)]

        try:
            regions = [self.region([], lambda platform=platform: branch(platform)) for platform in platforms]
        finally:
            self.platforms = platforms
        out = self.emit("stablehlo.case", [self.platform_index], regions=regions, results=[*avals, *[x.aval for x in before]])
        out = [out] if isinstance(out, Value) else out
        set_tokens(self, keys, out[len(avals):])
        del out[len(avals):]
        return out if is_list else out[0]
