"""The writer that lowering rules get: operations (`operations.py`), and the programs that are made of them by the rules."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn
from laminax_ir.programs.result_types import is_explicit
from laminax_ir.tracing.name_stacks import NameStack, scope_path
from laminax_ir.tracing.operation_attributes import in_use
from laminax_ir.tracing.source import SourceInfo
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.planning.loop_residuals import with_fewer_residuals
from laminax_lowering.writing.explicit_axes import constrained, constrained_so, terms_kept
from laminax_lowering.writing.operation_attributes import attributed
from laminax_lowering.writing.operations import OperationWriter
from laminax_lowering.writing.registry import find_rule, rules_for, with_cpu_kernel
from laminax_lowering.writing.ssa_values import AtomValues, Value
from laminax_lowering.writing.types import type_text, types_text
from laminax_lowering.writing.uses import Uses

_INDEX = ShapedArray((), np.int32)


class Elementwise:
    """A lowering rule that writes one elementwise operation, of the name `op`, whatever the parameters."""

    def __init__(self, op: str, module: str) -> None:
        self.op = op
        self.__module__ = module  # where messages say that it stands

    def __call__(self, ctx: FunctionWriter, *operands: Value, **_params: Any) -> Value:
        return ctx.emit_elementwise(self.op, operands)


class FunctionWriter(OperationWriter):
    """Writes one function: the context that rules are given, to write operations and to write programs, equation by equation."""

    uses: Uses | None = None  # of the program that is being written, where CPU kernels may ask

    def jaxpr_region(self, closed: ClosedJaxpr, captured: Sequence[Value] = (), scope: Sequence[str] = ()) -> str:
        """A region that runs a jaxpr on the block's arguments, after `captured` values from outside; `scope` as for `run`."""
        jaxpr = closed.jaxpr
        return self.region([v.aval for v in jaxpr.invars[len(captured):]],
                           lambda *args: self.run(closed, [*captured, *args], scope))

    def private_function(self, closed: ClosedJaxpr, name: str) -> str:
        """The name of the module's private function for a jaxpr without constants, for these platforms; written on first use.

        Equal programs share one.
        """
        module = self.module
        closed = module.plan.programs.representative(closed)
        key = (closed, self.platforms, module.uses_cpu_kernels and module.loop_depth > 0)  # kernels are others in loops
        found = module.private_functions.get(key)
        if found is None:
            found = module.private_functions[key] = module.unique_name(name)
            module.functions.append(type(self)(module, self.platforms).write(closed.jaxpr, found, private=True))
        return found

    def call_program(self, closed: ClosedJaxpr, name: str, operands: Sequence[Value], results: Sequence[ShapedArray],
                     attributes: str = "") -> list[Value]:
        """Calls the private function for a program without constants."""
        leading = self.leading_arguments()
        if leading is None or self.module.axis_positions:  # a function does not see these positions
            return self.run(closed, operands)
        found = self.call(self.private_function(closed, name), [*leading, *operands], results, attributes)
        return [terms_kept(self, x) for x in found]

    def small_call(self, name: str, operands: Sequence[Value], write: Callable[..., Sequence[Value]]) -> list[Value]:
        """Calls a function that the CPU's compiler makes one kernel of, by its quickest way: half the compile time of its fusions.

        Only for one platform. Neither scatters, sorts, transforms nor custom calls may be in it, nor, for jaxlib 0.10.2, an operation large
        enough for several threads.

        Args:
          name: the function's name; a number is added where there is one.
          operands: its arguments.
          write: writes it, given a writer and its parameters as values; returns its results.
        """
        module, writer = self.module, type(self)(self.module, self.platforms)
        writer.eqn, writer.loc, writer.scope = self.eqn, self.loc, self.scope
        args = [Value(f"%arg{i}", x.aval) for i, x in enumerate(operands)]
        results = list(write(writer, *args))
        name, types = module.unique_name(name), types_text(x.aval for x in results)
        parameters = ", ".join([f"{x.name}: {type_text(x.aval)}" for x in args])
        module.functions.append("\n".join([f"func.func private @{name}({parameters}) -> ({types}) {{", *writer._constants.lines,
                                           *writer.lines, f"func.return {', '.join([x.name for x in results])} : {types}", "}"]))
        return self.call(name, operands, [x.aval for x in results],
                         ' {mhlo.frontend_attributes = {xla_cpu_small_call="true", inlineable="false"}}')

    def leading_parameters(self) -> list[str]:
        """The parameters that a function has before those of its program."""
        if len(self.platforms) == 1:
            return []
        self.platform_index = Value("%platform_index", _INDEX)
        return [f'%platform_index: {type_text(_INDEX)} {{jax.global_constant = "_platform_index"}}']

    def leading_arguments(self) -> list[Value] | None:
        """The values that calls pass for the `leading_parameters`; None where these are not at hand."""
        if len(self.platforms) == 1:
            return []
        return None if self.platform_index is None else [self.platform_index]

    def run(self, closed: ClosedJaxpr, operands: Sequence[Value], scope: Sequence[str] = ()) -> list[Value]:
        """Writes a program's operations in place; array constants become constant operations.

        Args:
          closed: the program.
          operands: its arguments.
          scope: what its operations' names have in front, after those of the equation that runs it: ["jit(f)"], or ["", "while", "body"]
            where the transformations of the equation do not go around it: vmap(jit(f)), but vmap()/while/body.
        """
        consts = [self.constant_array(c, v.aval) for c, v in zip(closed.consts, closed.jaxpr.constvars)]
        outer = self.scope
        if scope:
            self.scope = scope_path(outer, (*self.eqn.source_info.name_stack, *scope))
        try:
            return self.run_jaxpr(closed.jaxpr, [*consts, *operands])
        finally:
            self.scope = outer

    def name_call(self, name: str) -> None:
        """Locates the operations that are written next for this equation under the name `name`, instead of the operation's."""
        info = self.eqn.source_info
        self.loc = self.module.locations_at(self.scope, info._replace(name_stack=NameStack((*info.name_stack, name))))[""]

    def run_jaxpr(self, jaxpr: Jaxpr, operands: Sequence[Value], live: Sequence[JaxprEqn] | None = None) -> list[Value]:
        """Writes the live equations of a jaxpr; `operands` are its constvars' values, then its invars'."""
        env = AtomValues(self.literal, zip([*jaxpr.constvars, *jaxpr.invars], operands, strict=True))
        value_of = env.__getitem__
        is_split = is_explicit(jaxpr)
        has_attributes = bool(in_use)
        uses_cpu_kernels = self.module.uses_cpu_kernels
        rules = rules_for(self.platforms, is_split, has_attributes, uses_cpu_kernels)
        outer, scope = (self.eqn, self.loc, self.uses), self.scope
        place: SourceInfo | None = None  # several equations in a row come from one place
        names: dict[str, str] = {}
        eqns = live_equations(jaxpr)[0] if live is None else live
        if uses_cpu_kernels:
            eqns = with_fewer_residuals(eqns, jaxpr.outvars, self.module.plan.programs)
            self.uses = Uses(eqns, jaxpr.outvars)
        for eqn in eqns:
            primitive = eqn.primitive
            rule = rules.get(primitive)
            if rule is None:
                rule = find_rule(primitive, self.platforms)
                if uses_cpu_kernels:
                    rule = with_cpu_kernel(primitive, rule)
                if has_attributes:
                    rule = attributed(rule)
                if is_split:
                    rule = constrained(primitive, rule)
                rules[primitive] = rule
            if eqn.source_info is not place:
                place = eqn.source_info
                names = self.module.locations_at(scope, place)
            self.loc = names.get(primitive.name) or names[primitive.name]  # get is faster than the subscript of a subclass of dict
            self.eqn = eqn
            operands = list(map(value_of, eqn.invars))
            if type(rule) is Elementwise:  # what programs are mostly made of
                env[eqn.outvars[0]] = self.emit_elementwise(rule.op, operands)
                continue
            result = rule(self, *operands, **eqn.params)
            if primitive.multiple_results:
                env.update(zip(eqn.outvars, result, strict=True))
            else:
                env[eqn.outvars[0]] = result
        self.eqn, self.loc, self.uses = outer
        return list(map(value_of, jaxpr.outvars))

    def write(self, jaxpr: Jaxpr, name: str, *, private: bool = False, arg_attributes: Sequence[str] = (),
              arg_names: Sequence[str | None] = (),
              result_attributes: Sequence[str] = (), kept: Sequence[int] | None = None,
              live: Sequence[JaxprEqn] | None = None, result_moves: Sequence[str | None] | None = None,
              result_sums: Sequence[str | None] = ()) -> str:
        """The text of a function that runs a jaxpr.

        Args:
          jaxpr: the program; its constvars come first among the function's arguments.
          name: the function's name.
          arg_attributes, result_attributes: attribute dictionaries as text, one per argument and result.
          arg_names: the arguments' names in the user's program; they are their locations.
          kept: indices of the arguments the function takes; all by default.
          live: the jaxpr's live equations, if the caller knows them.
          result_moves: the kind of memory that each result is moved to; None leaves it where it is.
          result_sums: the sharding, as text, of each result that is returned as the terms of a sum; None leaves it as it is.
        """
        variables = [*jaxpr.constvars, *jaxpr.invars]
        taken = range(len(variables)) if kept is None else kept
        args: list[Any] = [None] * len(variables)
        header = self.leading_parameters()
        for position, i in enumerate(taken):
            args[i] = Value(f"%arg{position}", variables[i].aval)
            attribute = f" {arg_attributes[i]}" if arg_attributes and arg_attributes[i] else ""
            name_of = arg_names[i] if arg_names else None
            where = "" if name_of is None else self.module.named_location(name_of)
            header.append(f"%arg{position}: {type_text(variables[i].aval)}{attribute}{where}")
        if private:
            args = [None if x is None else terms_kept(self, x) for x in args]
        results = self.run_jaxpr(jaxpr, args, live)
        if any(result_sums):
            results = [x if text is None else constrained_so(self, x, text) for x, text in zip(results, result_sums, strict=True)]
        if result_moves and any(result_moves):
            results = [x if kind is None else self.put_in_memory(x, kind) for x, kind in zip(results, result_moves)]
        result_types = [type_text(v.aval) for v in results]
        if result_attributes:
            result_types = [f"{t} {a}" if a else t for t, a in zip(result_types, result_attributes)]
        visibility = "private" if private else "public"
        returned = (f"func.return {', '.join(v.name for v in results)} : {types_text(v.aval for v in results)}"
                    if results else "func.return")
        return "\n".join([f"func.func {visibility} @{name}({', '.join(header)}) -> ({', '.join(result_types)}) {{",
                          *self._constants.lines, *self.lines, returned, "}"])


def live_equations(jaxpr: Jaxpr) -> tuple[list[JaxprEqn], set[Any]]:
    """The equations with effects or whose results are used, in order; and all that they and the results read."""
    used = set(jaxpr.outvars)
    live = []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or not used.isdisjoint(eqn.outvars):
            live.append(eqn)
            used.update(eqn.invars)  # literals among them do no harm
    live.reverse()
    return live, used
