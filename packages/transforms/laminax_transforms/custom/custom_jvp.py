"""`custom_jvp`: functions with a forward-mode derivative rule given by the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence, cast

from laminax_ir.ops.calls import CustomJVPCall
from laminax_ir.pytrees.pytree import tree_flatten, tree_map, tree_unflatten
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.symbolic_zeros import SymbolicZero
from laminax_transforms.base.zeros import ZERO, instantiate
from laminax_transforms.custom.decorated import DecoratedFunction
from laminax_transforms.custom.rule_arguments import (
    RuleArguments,
    nondiff_positions,
    split_arguments,
    zero_from_primal,
)
from laminax_transforms.custom.rule_results import long_text, type_difference

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class custom_jvp(DecoratedFunction):  # noqa: N801  (a decorator)
    """Decorator: gives a function a rule for its Jacobian-vector product.

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that are not differentiated (functions, sizes); the rule gets them first.
      nondiff_argnames: names of such arguments.

    Example:
      >>> @custom_jvp
      ... def f(x, y):
      ...     return sin(x) * y
      >>> @f.defjvp
      ... def f_jvp(primals, tangents):
      ...     (x, y), (x_dot, y_dot) = primals, tangents
      ...     return f(x, y), cos(x) * x_dot * y + sin(x) * y_dot
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = (),
                 nondiff_argnames: str | Sequence[str] = ()) -> None:
        super().__init__(fun)
        self.nondiff_argnums: tuple[int, ...] = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Defines the rule.

        Args:
          jvp: `jvp(*nondiff, primals, tangents) -> (result, tangent of the result)`; linear in the tangents.
          symbolic_zeros: whether zero tangents come as `SymbolicZero`; otherwise they are arrays of zeros.

        Returns:
          `jvp`, so that this can be a decorator.
        """
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Defines the rule as a sum over arguments: for each a function `jvp(tangent, result, *primals)`, or None for zero."""
        if self.nondiff_argnums:
            raise TypeError("defjvps does not support nondiff_argnums; use defjvp")

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            result = self(*primals)
            total = None
            for rule, tangent in zip(jvps, tangents):
                if rule is not None:
                    term = rule(tangent, result, *primals)
                    total = term if total is None else tree_map(lambda a, b: a + b, total, term)
            if total is None:
                total = tree_map(zero_from_primal, result)
            return result, total

        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {function_name(self.fun)} using defjvp.")
        arguments, leaves = split_arguments("custom_jvp", self.fun, args, kwargs, self.nondiff_argnums)
        arguments.stop_gradients()
        types: list[tuple[Any, list[ShapedArray]]] = []  # the type of the result, appended by each run of the function or its rule

        def fun(*leaves: Any) -> Any:
            out, tree = tree_flatten(self.fun(*arguments.full(leaves)))
            types.append((tree, [*map(get_aval, out)]))
            return out

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            return self._run_rule(arguments, primals, tangents, types)

        jvp.__name__ = function_name(self.jvp)  # programs show it
        cast(Any, jvp).symbolic_zeros = self.symbolic_zeros
        outs = CustomJVPCall(fun, jvp, leaves, function_name(self.fun)).bind()
        return tree_unflatten(types[-1][0], outs)

    def _run_rule(self, arguments: RuleArguments, primals: Sequence[Any], tangents: Sequence[Any], types: list[Any]) -> tuple[Any, Any]:
        avals = [get_aval(x) for x in primals]
        if self.symbolic_zeros:
            tangents = [SymbolicZero(aval.to_tangent_aval()) if t is ZERO else t for t, aval in zip(tangents, avals)]
        else:
            tangents = [instantiate(t, aval) for t, aval in zip(tangents, avals)]
        pair = cast(Callable, self.jvp)(*arguments.nondiff_values(), arguments.split(primals), arguments.split(tangents))
        rule, name = function_name(self.jvp), function_name(self.fun)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"Custom JVP rule {rule} for function {name} must produce a pair (list or tuple of length two) "
                            f"representing primal and tangent outputs, but got {pair!s:.80} of type {type(pair).__name__}.")
        results, tree = tree_flatten(pair[0])
        out_tangents, tangent_tree = tree_flatten(pair[1])
        if not tree == tangent_tree:
            raise TypeError(f"Custom JVP rule {rule} for function {name} must produce primal and tangent outputs with equal "
                            f"container (pytree) structures, but got {tree} and {tangent_tree} respectively.")
        out_avals = [*map(get_aval, results)]
        if types and (difference := type_difference(types[-1], (tree, out_avals))):
            what, found, expected = difference
            demand = "with leaves of the same shape/dtype" if types[-1][0] == tree else "of the same container/pytree structure"
            raise TypeError(f"Custom JVP rule {rule} for function {name} must produce a pair (list or tuple of length two) where the first "
                            f"element represents the primal output (equal in value to the output of the custom_jvp-decorated function "
                            f"{name}, and in particular {demand}), but instead the JVP rule output's first element had "
                            f"{what}:\n    {found}\n"
                            f"while the custom_jvp-decorated function {name} had output {what}:\n    {expected}.")
        types.append((tree, out_avals))
        return results, [_checked_rule_tangent(rule, name, aval, t) for aval, t in zip(out_avals, out_tangents)]


def _checked_rule_tangent(rule: str, name: str, aval: ShapedArray, tangent: ArrayLike) -> Array:
    if isinstance(tangent, SymbolicZero):
        return ZERO
    expected = aval.to_tangent_aval()
    if isinstance(expected, HiType):
        if get_aval(tangent) is not expected:
            raise TypeError(f"{rule} of {name}: the tangent must be of the type {expected.str_short()}, got {long_text(get_aval(tangent))}")
        return tangent
    if expected.dtype == dtypes.float0:
        return ZERO
    found = get_aval(tangent)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise TypeError("Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. Expected "
                        f"{long_text(expected)} (tangent type of {long_text(aval)}) but got {long_text(found)}. The rule is {rule}, "
                        f"for function {name}.")
    return tangent
