"""Differentiation rules in JAX's form: tangents and cotangents that are zero arrive as `Zero`, and linear operands of a
transposition as `UndefinedPrimal`. laminax's own rules, of `laminax.extend`, get their avals instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.elementwise import add_p
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms.base import registry
from laminax_transforms.base.zeros import ZERO, Zero, zeros_of
from laminax_transforms.custom.rule_arguments import CustomVJPException
from laminax_transforms.differentiation.differentiation import DualTracer as JVPTracer
from laminax_transforms.differentiation.differentiation import JVPTrace

from laminax._src.names.interpreters.tables import RuleMapping

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["CustomVJPException", "JVPTrace", "JVPTracer", "Zero"]

add_jaxvals_p = add_p


class UndefinedPrimal:
    """Stands for an operand with respect to which an operation is transposed.

    Args:
      aval: its shape and dtype.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval: ShapedArray = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"


def is_undefined_primal(x: Any) -> bool:
    """In a transpose rule: whether this operand's cotangent is asked for."""
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent: Any) -> Any:
    """The tangent as an array: zeros for a `Zero`, anything else as it is."""
    return zeros_of(tangent.aval) if type(tangent) is Zero else tangent


def zeros_like_aval(aval: ShapedArray) -> Any:
    """An array of zeros of an aval's shape and dtype."""
    return zeros_of(aval)


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two arrays of one shape and dtype."""
    return add_p.bind(x, y)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, each an array or a `Zero`."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_p.bind(x, y)


def _symbolic(zero_or_value: Any, aval: ShapedArray) -> Any:
    return Zero(aval) if zero_or_value is ZERO else zero_or_value


def _plain(zero_or_value: Any) -> Any:
    return ZERO if zero_or_value is None or type(zero_or_value) is Zero else zero_or_value


# --- forward rules ---


def _store_jvp(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    def stored(primals: Sequence[Any], tangents: Sequence[ArrayLike], params: dict[str, float]) -> tuple[Any, Any]:
        shown = [_symbolic(t, get_aval(x).to_tangent_aval()) for x, t in zip(primals, tangents)]
        result, tangent = rule(tuple(primals), tuple(shown), **params)
        if primitive.multiple_results:
            return list(result), [_plain(t) for t in tangent]
        return result, _plain(tangent)
    return stored


def _load_jvp(primitive: Primitive, stored: Callable[..., Any]) -> Callable[..., Any]:
    def rule(primals: tuple[float, ...], tangents: tuple[Zero | float, ...], **params: Any) -> tuple[Array, Array]:
        result, tangent = stored(list(primals), [_plain(t) for t in tangents], params)
        if primitive.multiple_results:
            return result, [_symbolic(t, get_aval(r).to_tangent_aval()) for r, t in zip(result, tangent)]
        return result, _symbolic(tangent, get_aval(result).to_tangent_aval())
    return rule


primitive_jvps = RuleMapping(registry.jvp_rules, _store_jvp, _load_jvp)
"""`primitive_jvps[p] = rule`, where `rule(primals, tangents, **params)` returns the result and its tangent."""


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Defines the JVP as a sum over operands.

    Args:
      primitive: an operation with one result.
      *jvprules: for each operand `rule(tangent, *primals, **params)`, its part of the result's tangent, or None.
    """
    defjvp2(primitive, *[rule and _without_result(rule) for rule in jvprules])


def _without_result(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tangent, _result, *primals, **params: rule(tangent, *primals, **params)


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Defines the JVP as a sum over operands, each of which may use the result.

    Args:
      primitive: an operation with one result.
      *jvprules: for each operand `rule(tangent, result, *primals, **params)`, its part of the result's tangent, or None.
    """
    def rule(primals: tuple[Any, ...], tangents: tuple[ArrayLike, ...], **params: Any) -> tuple[Array, Array]:
        result = primitive.bind(*primals, **params)
        total: Any = Zero(get_aval(result).to_tangent_aval())
        for part, tangent in zip(jvprules, tangents):
            if part is not None and type(tangent) is not Zero:
                total = add_tangents(total, part(tangent, result, *primals, **params))
        return result, total
    primitive_jvps[primitive] = rule


# --- linear operations ---


def _store_transpose(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    def stored(ct: Any, *operands: Any, **params: Any) -> list[Any]:
        if primitive.multiple_results:
            operand_avals = [x if type(x) is ShapedArray else get_aval(x) for x in operands]
            ct = [_symbolic(c, a.to_tangent_aval()) for c, a in zip(ct, primitive.shape_rule(*operand_avals, **params))]
        shown = [UndefinedPrimal(x) if type(x) is ShapedArray else x for x in operands]
        cts = rule(ct, *shown, **params)
        if len(cts) != len(operands):
            raise TypeError(f"the transpose rule of {primitive} must return one cotangent or None for each of the {len(operands)} "
                            f"operands, got {len(cts)}")
        return [_plain(c) for c in cts]
    return stored


def _load_transpose(primitive: Primitive, stored: Callable[..., Any]) -> Callable[..., Any]:
    def rule(ct: Any, *operands: UndefinedPrimal | float, **params: Any) -> list[Array | None]:
        ct = [_plain(c) for c in ct] if primitive.multiple_results else ct
        own = [x.aval if type(x) is UndefinedPrimal else x for x in operands]
        cts = stored(ct, *own, **params)
        return [c if c is None or type(x) is not UndefinedPrimal else _symbolic(c, x.aval) for c, x in zip(cts, operands)]
    return rule


primitive_transposes = RuleMapping(registry.transpose_rules, _store_transpose, _load_transpose)
"""`primitive_transposes[p] = rule`, where `rule(ct, *operands, **params)` returns a cotangent or None for each operand."""


def get_primitive_transpose(p: Primitive) -> Callable[..., Any]:
    """The transpose rule of a primitive, in JAX's form.

    Raises:
      NotImplementedError: if it has none.
    """
    try:
        return primitive_transposes[p]
    except KeyError:
        raise NotImplementedError(f"Transpose rule (for reverse-mode differentiation) for '{p}' not implemented; set "
                                  f"primitive_transposes[{p}]") \
            from None


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Declares an operation linear in all its operands jointly.

    Args:
      primitive: the operation.
      transpose_rule: `rule(ct, **params)`, one cotangent for each operand.
    """
    deflinear2(primitive, lambda ct, *_operands, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Declares an operation linear in all its operands jointly.

    Args:
      primitive: the operation.
      transpose_rule: `rule(ct, *operands, **params)`, one cotangent for each operand.
    """
    def rule(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...], **params: Any) -> tuple[Array, Array]:
        result = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return result, [Zero(get_aval(r)) for r in result] if primitive.multiple_results else Zero(get_aval(result))
        return result, primitive.bind(*map(instantiate_zeros, tangents), **params)
    primitive_jvps[primitive] = rule
    primitive_transposes[primitive] = transpose_rule


def defbilinear(prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]) -> None:
    """Declares an operation of two operands linear in each of them.

    Args:
      prim: the operation, with one result.
      lhs_rule: `rule(ct, lhs, rhs, **params)`, the cotangent of the left operand, which is an `UndefinedPrimal`.
      rhs_rule: `rule(ct, lhs, rhs, **params)`, the cotangent of the right operand, which is an `UndefinedPrimal`.
    """
    defjvp(prim, lambda tangent, lhs, rhs, **params: prim.bind(tangent, rhs, **params),
           lambda tangent, lhs, rhs, **params: prim.bind(lhs, tangent, **params))

    def transpose(ct: Any, lhs: Any, rhs: Any, **params: Any) -> Sequence[Any]:
        if is_undefined_primal(lhs) == is_undefined_primal(rhs):
            raise TypeError(f"{prim} is linear in one operand at a time, and is transposed in {lhs!r} and {rhs!r}")
        return (lhs_rule(ct, lhs, rhs, **params), None) if is_undefined_primal(lhs) else (None, rhs_rule(ct, lhs, rhs, **params))
    primitive_transposes[prim] = transpose
