"""The rule tables of the transformations, and the decorators that fill them.

Each rule states mathematics for one primitive; symbolic zeros and unmapped operands are settled in the
interpreters, so that a rule meets only what it has to treat. Rules live in `laminax_transforms.rules`, in a
module named like the one that defines the primitive, which is imported when first needed.

  jvp_rule         rule(primals, tangents, **params) -> (result, tangent of the result)
  linearize_rule   rule(primals, tangents, **params) -> the same; takes the place of the JVP rule in linearization
  transpose_rule   rule(ct, *operands, **params) -> one cotangent or None per operand
  batching_rule    rule(operands, batch_axes, **params) -> (result, batch axis of the result)

Each name is a decorator; it puts the rule into the table of the same name in the plural, where the interpreter looks it up. With several
results, `result`, `tangent` and `ct` are lists. In a transpose rule the operands with respect to which the operation is linear are
given as their avals (`is_linear` tells).
"""

from __future__ import annotations

from typing import Any, Callable, Sequence, TypeVar

from laminax_ir.ops import elementwise
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.programs.primitive import Primitive, RuleTable
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import get_aval, type_classes
from laminax_transforms.base.zeros import ZERO, instantiate

Rule = TypeVar("Rule", bound=Callable)

_RULES = "laminax_transforms.rules"

jvp_rules = RuleTable("differentiation (JVP)", _RULES,
                      "Register one with jvp_rule, or wrap the function in custom_jvp or stop_gradient.", "Differentiation rule")
linearize_rules = RuleTable("linearization", _RULES)
transpose_rules = RuleTable("transpose", _RULES, "The operation is not linear, or reverse mode is not defined for it.",
                            "Transpose rule (for reverse-mode differentiation)")
batching_rules = RuleTable("batching (vmap)", _RULES, "Register one with batching_rule.", "Batching rule")

# Primitives that `define_zero_derivative` has named.
zero_derivatives: set[Primitive] = set()

# Primitives whose batching rule is asked even when no operand is mapped, if the mapped axis has a name: collectives, and control flow,
# whose programs may have some.
axis_primitives: set[Primitive] = set()


def jvp_rule(*primitives: Primitive, symbolic_zeros: bool = False) -> Callable[[Rule], Rule]:
    """Decorator: `rule(primals, tangents, **params) -> (result, tangent)`, or lists of them.

    Zero tangents arrive as arrays of zeros unless `symbolic_zeros`, in which case they arrive as `ZERO` and the
    rule may return `ZERO` too.
    """
    def register(rule: Rule) -> Rule:
        def with_symbolic_zeros(primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
            return rule(primals, tangents, **params)

        def with_arrays(primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
            full = [instantiate(t, get_aval(x)) if t is ZERO else t for x, t in zip(primals, tangents)]
            return rule(primals, full, **params)

        return _registered(jvp_rules, primitives, rule, with_symbolic_zeros if symbolic_zeros else with_arrays)
    return register


def linearize_rule(*primitives: Primitive) -> Callable[[Rule], Rule]:
    """Decorator: `rule(primals, tangents, **params) -> (result, tangent)`, for operations whose tangents are not recorded by
    their JVP rule, such as calls, whose program is split in two. Zero tangents arrive as `ZERO`.
    """
    def register(rule: Rule) -> Rule:
        def adapter(primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
            return rule(primals, tangents, **params)
        return _registered(linearize_rules, primitives, rule, adapter)
    return register


def transpose_rule(*primitives: Primitive) -> Callable[[Rule], Rule]:
    """Decorator: `rule(ct, *operands, **params)` returns one cotangent or None per operand."""
    def register(rule: Rule) -> Rule:
        return _registered(transpose_rules, primitives, rule, rule)
    return register


def _registered(table: RuleTable, primitives: Sequence[Primitive], rule: Rule, adapter: Callable) -> Rule:
    """Puts the rule into the table, in the form in which the interpreter calls it; returns the rule."""
    adapter.__module__ = rule.__module__  # for the message about a second rule
    for primitive in primitives:
        table.add(primitive, adapter)
    return rule


def define_jvp(primitive: Primitive, *partials: Callable | None) -> None:
    """Defines the JVP as a sum over operands.

    Args:
      primitive: an operation with one result.
      *partials: for each operand `partial(tangent, result, *operands, **params)`, its part of the result's
        tangent, which must be linear in `tangent`; or None where the derivative is zero.
    """
    def rule(primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
        trace = state.trace
        result = (trace.parent if trace.records_tangents else trace).process(primitive, primals, params)
        total: Any = ZERO
        for partial, tangent in zip(partials, tangents):
            if tangent is not ZERO and partial is not None:
                term = partial(tangent, result, *primals, **params)
                if term is not ZERO:
                    total = term if total is ZERO else elementwise.add_p.bind(total, term)
        if total is not ZERO and total.shape != result.shape:  # a rank-0 or size-1 operand beside larger ones
            total = broadcast_like(total, result.shape)
        return result, total

    rule.__module__ = getattr(next((p for p in partials if p is not None), rule), "__module__", rule.__module__)
    jvp_rules.add(primitive, rule)


def define_zero_derivative(*primitives: Primitive) -> None:
    """Declares operations whose derivative is zero wherever it exists (comparisons, rounding, integers)."""
    for primitive in primitives:
        jvp_rules.add(primitive, _zero_rule(primitive))
        zero_derivatives.add(primitive)


def _zero_rule(primitive: Primitive) -> Callable:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
        result = primitive.bind(*primals, **params)
        return result, [ZERO] * len(result) if primitive.multiple_results else ZERO
    return rule


def define_linear(primitive: Primitive) -> None:
    """Declares an operation linear in its only operand, or in all operands jointly: tangents go through it."""
    def rule(primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> tuple[Any, Any]:
        result = primitive.bind(*primals, **params)
        full = [instantiate(t, get_aval(x)) if t is ZERO else t for x, t in zip(primals, tangents)]
        return result, primitive.bind(*full, **params)
    jvp_rules.add(primitive, rule)


def broadcast_like(x: Any, shape: Sequence[int]) -> Any:
    """`x` (rank 0, or with axes of size 1) broadcast to `shape`."""
    rank = len(get_aval(x).shape)  # a Python number has no shape
    return broadcast_in_dim(x, shape, tuple(range(len(shape) - rank, len(shape))))


def batching_rule(*primitives: Primitive) -> Callable[[Rule], Rule]:
    """Decorator: `rule(operands, batch_axes, **params) -> (result, result's batch axis)`.

    At least one operand is mapped; the batch axis of an unmapped one is None. A result that does not depend on
    the mapped axis may have the batch axis None.
    """
    def register(rule: Rule) -> Rule:
        def adapter(_axis: Any, operands: Sequence[Any], batch_axes: Sequence[int | None], params: dict[str, Any]) -> Any:
            return rule(operands, batch_axes, **params)
        return _registered(batching_rules, primitives, rule, adapter)
    return register


def axis_batching_rule(*primitives: Primitive, uses_axis_name: bool = False) -> Callable[[Rule], Rule]:
    """Decorator: `rule(axis, operands, batch_axes, **params)`, for rules that need the mapped axis' size or name.

    With `uses_axis_name` the rule is also asked when no operand is mapped and the trace has a name.
    """
    def register(rule: Rule) -> Rule:
        def adapter(axis: Any, operands: Sequence[Any], batch_axes: Sequence[int | None], params: dict[str, Any]) -> Any:
            return rule(axis, operands, batch_axes, **params)
        if uses_axis_name:
            axis_primitives.update(primitives)
        return _registered(batching_rules, primitives, rule, adapter)
    return register


def is_asked_unmapped(primitive: Primitive) -> bool:
    """Whether the batching rule of an operation is asked though no operand is mapped, where the mapped axis has a name."""
    batching_rules.find(primitive)  # imports the family's rules, which fill `axis_primitives`
    return primitive in axis_primitives


def is_linear(operand: Any) -> bool:
    """In a transpose rule: whether the operation is to be transposed with respect to this operand."""
    return type(operand) in type_classes
