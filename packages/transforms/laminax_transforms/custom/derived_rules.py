"""Rules of operations that users define, made of their other rules: set in the class body, `lin, linearized = linearize_from_jvp`.

Interpreters do not call them: they record a tape from the rule that the others are derived from. They are for users' code that calls
rules directly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from laminax_ir.pytrees.pytree import register_pytree_node, tree_leaves, tree_map, tree_unflatten
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.zeros import ZERO, Zero
from laminax_transforms.custom.accumulators import is_zero
from laminax_transforms.differentiation.differentiation import linear_program_of
from laminax_transforms.differentiation.linear import LinearProgram


class LinearMap:
    """The residuals of a derived `lin`: the linear program from the tangents that are not zero to the tangents of the results.

    Args:
      program: the linear program.
      has_tangent: which operands have tangents.
    """

    def __init__(self, program: LinearProgram, has_tangent: Sequence[bool]) -> None:
        self.program = program
        self.has_tangent = tuple(has_tangent)


def _parts(linear_map: LinearMap) -> tuple[tuple[Any, ...], tuple[LinearProgram, tuple[bool, ...]]]:
    residuals = linear_map.program.residuals()
    return tuple(residuals), (linear_map.program.with_residuals([None] * len(residuals)), linear_map.has_tangent)


register_pytree_node(LinearMap, _parts, lambda static, residuals: LinearMap(static[0].with_residuals(list(residuals)), static[1]))


def _recorded(self: Any, nzs_in: Any, primals: tuple, tangents_of: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, LinearMap]:
    """The results, and the linear map that `tangents_of`, from tangents to results and their tangents, computes."""
    flags, found = tree_leaves(nzs_in), []
    avals = [get_aval(x).to_tangent_aval() for x in tree_leaves(primals)]

    def tangent_map(*dots: Any) -> list[Any]:
        given = iter(dots)
        results, out_dots = tangents_of(tree_unflatten(self.in_tree, [next(given) if has else Zero(aval)
                                                                      for aval, has in zip(avals, flags)]))
        found.append(results)
        return [ZERO if is_zero(t) else t for t in self.out_tree.flatten_up_to(out_dots)]

    program = linear_program_of(tangent_map, [aval for aval, has in zip(avals, flags) if has])
    return found[0], LinearMap(program, flags)


def _lin_from_jvp(self: Any, nzs_in: Any, *primals: Any) -> tuple[Any, LinearMap]:
    return _recorded(self, nzs_in, primals, lambda tangents: self.jvp(primals, tangents))


def _linearized_from_jvp(self: Any, residuals: LinearMap, *tangents: Any) -> Any:
    dots = self.in_tree.flatten_up_to(tangents)
    given = [t.instantiate() if isinstance(t, Zero) else t for t, has in zip(dots, residuals.has_tangent) if has]
    out = residuals.program.apply(given)
    return tree_unflatten(self.out_tree, [Zero(aval.to_tangent_aval()) if t is ZERO else t for t, aval in zip(out, self.out_avals_flat)])


def _transposed(self: Any, linear_map: LinearMap, outgrad: Any) -> Any:
    in_cts = iter(linear_map.program.transpose([ZERO if is_zero(ct) else ct for ct in self.out_tree.flatten_up_to(outgrad)]))
    cts = [next(in_cts) if has else ZERO for has in linear_map.has_tangent]
    return tree_unflatten(self.in_tree, [Zero(aval.to_ct_aval()) if ct is ZERO else ct for ct, aval in zip(cts, self.in_avals_flat)])


def _vjp_fwd_from_jvp(self: Any, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
    return self(*primals), (primals, nzs_in)


def _vjp_bwd_from_jvp(self: Any, res: Any, outgrad: Any) -> Any:
    primals, nzs_in = res
    _, linear_map = _lin_from_jvp(self, tree_map(bool, nzs_in), *primals)
    return _transposed(self, linear_map, outgrad)


def _vjp_fwd_from_lin(self: Any, nzs_in: Any, *primals: Any) -> tuple[Any, LinearMap]:
    results, residuals, *more = self.lin(nzs_in, *primals)
    structured = tuple(more[1:])
    _, linear_map = _recorded(self, nzs_in, primals,
                              lambda tangents: (results, self.linearized(residuals, *structured, *tangents)))
    return results, linear_map


def _vjp_bwd_from_lin(self: Any, res: LinearMap, outgrad: Any) -> Any:
    return _transposed(self, res, outgrad)


def jvp_from_lin(self: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The rule of forward mode made of `lin` and `linearized`: set `jvp = jvp_from_lin` in the class body.

    Args:
      primals: the operands.
      tangents: their tangents, or `Zero`.

    Returns:
      The results and their tangents.

    Raises:
      TypeError: if `lin` is derived from `jvp` in turn.
    """
    if is_derived(type(self).lin):
        raise TypeError(f"subclass {type(self).__name__} can't set both `jvp = jvp_from_lin` and `lin, linearized = linearize_from_jvp`, "
                        "since each would be defined in terms of the other")
    nzs_in = tree_unflatten(self.in_tree, [not isinstance(t, Zero) for t in self.in_tree.flatten_up_to(tangents)])
    results, residuals, *more = self.lin(nzs_in, *primals)
    return results, self.linearized(residuals, *more[1:], *tangents)


class RulePair(NamedTuple):
    """Two rules that belong together, to be set in one assignment in a class body."""
    first: Callable[..., Any]
    second: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: it is a pair of rules, to be unpacked.

        Raises:
          TypeError: always.
        """
        name = next(name for name, pair in _pairs.items() if pair is self)
        raise TypeError(f"`{name}` is a pair of rules, not a single rule; unpack it in the class body: `{_targets[name]} = {name}`")


linearize_from_jvp = RulePair(_lin_from_jvp, _linearized_from_jvp)
vjp_from_jvp = RulePair(_vjp_fwd_from_jvp, _vjp_bwd_from_jvp)
vjp_from_lin = RulePair(_vjp_fwd_from_lin, _vjp_bwd_from_lin)
_pairs = {"linearize_from_jvp": linearize_from_jvp, "vjp_from_jvp": vjp_from_jvp, "vjp_from_lin": vjp_from_lin}
_targets = {"linearize_from_jvp": "lin, linearized", "vjp_from_jvp": "vjp_fwd, vjp_bwd_retval", "vjp_from_lin": "vjp_fwd, vjp_bwd_retval"}
_derived = frozenset(rule for pair in _pairs.values() for rule in pair)


def is_derived(rule: Any) -> bool:
    """Whether a rule, as an attribute of a class, is one of a pair of this module."""
    return rule in _derived
