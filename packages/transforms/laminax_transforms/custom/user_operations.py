"""Operations that users define with all their rules, as classes (JAX's hijax primitives): `HiPrim`.

An instance is an operation on operands of given types. Its methods are the rules, on pytrees; `_Rules` is the form in which
interpreters call them, on flat lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from laminax_ir.ops.backward_logs import log
from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall
from laminax_ir.ops.linear_call import bind_linear_call
from laminax_ir.ops.user_operations import UserOperation, bind_user_operation
from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.recording.staging import stage
from laminax_ir.refs.refs import Ref
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.hi_types import HiType, types_in_use
from laminax_ir.types.ref_types import AbstractRef
from laminax_transforms.base.registry import is_linear
from laminax_transforms.base.zeros import ZERO, Zero, instantiate
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.batching.batching import over_axis
from laminax_transforms.batching.custom_batches import batch_custom_jvp, batch_custom_vjp
from laminax_transforms.custom.accumulators import NullAccum, ValAccum, accumulators, is_zero, sums
from laminax_transforms.custom.derived_rules import is_derived
from laminax_transforms.differentiation.custom_vjp_tangents import linearize_custom_vjp


class HiPrim:
    """An operation with rules of its own; a subclass has the rules as methods, and calls `__init__` when it has set these attributes.

    Attributes:
      in_avals: the types of the operands, a tuple of pytrees of them.
      out_aval: the types of the results, a pytree.
      params: a dictionary of hashable parameters, which become attributes.
      effects: not used: effects are those of the operations in `expand`.

    `expand(*operands)` computes the results by other operations. The other rules are asked for where they are needed: `jvp(primals,
    tangents)` by forward mode; `lin(nzs_in, *primals)`, which returns results and residuals, and `linearized(residuals, *tangents)` by
    `linearize`; `vjp_fwd(nzs_in, *primals)`, which returns results and residuals, and `vjp_bwd_retval(residuals, ct)` or
    `vjp_bwd(residuals, ct, *accumulators)` by reverse mode; `transpose(ct, *operands)`, with accumulators in the places of the operands
    that it is linear in; `batch(axis_data, operands, batch_axes)` by `vmap`, which returns results and their batch axes. Zero tangents and
    cotangents arrive as `Zero`. `lin` and `vjp_fwd` may return a third value, which results have tangents, and a fourth, residuals that
    `linearized` and `vjp_bwd` get as an argument after the others.

    Raises:
      AttributeError: by `__init__`, if an attribute is missing.

    Example:
      >>> class Square(HiPrim):
      ...     def __init__(self, aval):
      ...         self.in_avals, self.out_aval, self.params = (aval,), aval, {}
      ...         super().__init__()
      ...     def expand(self, x):
      ...         return x * x
      ...     def vjp_fwd(self, nzs_in, x):
      ...         return self(x), x
      ...     def vjp_bwd_retval(self, x, ct):
      ...         return (2 * x * ct,)
      >>> grad(lambda x: Square(typeof(x))(x))(3.0)
      Array(6., dtype=float32, weak_type=True)
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()
    skip_linearization_on_zero_tangents: ClassVar[bool] = False

    def __init__(self) -> None:
        for name in ("in_avals", "out_aval", "params"):
            if not hasattr(self, name):
                raise AttributeError(f"{type(self).__name__}: subclass __init__ should set `self.{name}` before super().__init__()")
        self.in_avals_flat, self.in_tree = tree_flatten(self.in_avals)
        self.out_avals_flat, self.out_tree = tree_flatten(self.out_aval)
        self.__dict__.update(self.params)
        self.check(*self.in_avals)

    def check(self, *arg_tys: Any) -> None:
        """Checks the types of the operands; there is nothing to check unless a subclass says so."""

    @api_boundary
    def __call__(self, *args: Any) -> Any:
        name = type(self).__name__
        leaves, tree = tree_flatten(args)
        if not tree == self.in_tree:
            raise TypeError(f"{name}: the operands must have the structure of in_avals, {self.in_tree}, got {tree}.")
        for path, leaf in tree_flatten_with_path(args)[0]:
            if not is_array_like(leaf) and not isinstance(leaf, Ref):
                raise TypeError(f"{name}: the operand args{keystr(path)} is not an array: {leaf!r:.80} of type {type(leaf).__name__}.")
        for aval in (*self.in_avals_flat, *self.out_avals_flat):
            if not isinstance(aval, (ShapedArray, AbstractRef, HiType)):
                raise TypeError(f"{name}: in_avals and out_aval must be types of arrays (ShapedArray), of references, or of users' own "
                                f"(HiType), or pytrees of these, got {aval!r:.80} of type {type(aval).__name__}")
        if types_in_use():
            self._check_types(leaves)
        return tree_unflatten(self.out_tree, bind_user_operation(_Rules(self), leaves))

    def _check_types(self, leaves: Sequence[Any]) -> None:
        for i, (leaf, wanted) in enumerate(zip(leaves, self.in_avals_flat)):
            found = get_aval(leaf)
            if found is not wanted and (isinstance(found, HiType) or isinstance(wanted, HiType)):
                raise TypeError(f"{type(self).__name__}: operand {i} must be of the type {wanted.str_short()}, which in_avals says, got "
                                f"{found.str_short()}")

    def expand(self, *args: Any) -> Any:
        """The results, by other operations."""
        raise _no_rule(self, "running", "expand")

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        """The results and their tangents."""
        raise _no_rule(self, "jvp", "jvp")

    def lin(self, nzs_in: Any, *primals: Any) -> tuple:
        """The results, and residuals for `linearized`."""
        raise NotImplementedError(f"for linearize support, subclass {type(self).__name__} must implement `lin` and `linearized`, or derive "
                                  "them from its `jvp` rule by setting `lin, linearized = linearize_from_jvp`")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """The tangents of the results."""
        raise _no_rule(self, "linearize", "linearized")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> tuple:
        """The results, and residuals for the backward rule."""
        raise NotImplementedError(f"for grad support, subclass {type(self).__name__} must implement `vjp_fwd`, or derive its reverse-mode "
                                  "rules from its jvp or lin rules by setting `vjp_fwd, vjp_bwd_retval = vjp_from_jvp` (or "
                                  "`= vjp_from_lin`)")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> dict | None:
        """Adds the cotangents of the operands to the accumulators; what it returns is logged."""
        grads, logs = self.vjp_bwd_retval_logs(res, outgrad)
        accums, tree = tree_flatten(arg_accums)
        for accum, ct in zip(accums, tree.flatten_up_to(grads)):
            accum.accum(ct)
        return logs

    def vjp_bwd_retval_logs(self, res: Any, outgrad: Any, /) -> tuple[Any, dict | None]:
        """The cotangents of the operands, and what is logged."""
        return self.vjp_bwd_retval(res, outgrad), None

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> Any:
        """The cotangents of the operands."""
        raise NotImplementedError(f"for grad support, subclass {type(self).__name__} must implement `vjp_bwd` or `vjp_bwd_retval`, or "
                                  "derive its reverse-mode rules by setting `vjp_fwd, vjp_bwd_retval = vjp_from_jvp` (or `= vjp_from_lin`)")

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> dict | None:
        """The transpose rule: adds the cotangents of the linear operands to the accumulators in their places, and returns what is logged.

        Operations without this rule are transposed by way of `expand`.
        """
        raise _no_rule(self, "transpose", "transpose")

    def batch(self, axis_data: Any, args: Any, dims: Any) -> tuple[Any, Any]:
        """The results over a batch, and their batch axes."""
        raise _no_rule(self, "vmap", "batch")

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{' '.join(f'{k}={v}' for k, v in self.params.items() if not k.startswith('_'))}]"

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple(self.params.items())))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.params == other.params and self.effects == other.effects


def _no_rule(operation: HiPrim, purpose: str, method: str) -> NotImplementedError:
    return NotImplementedError(f"for {purpose} support, subclass {type(operation).__name__} must implement `{method}`")


class _Rules(UserOperation):
    """The rules of a `HiPrim`, on flat lists."""

    def __init__(self, prim: HiPrim) -> None:
        super().__init__(type(prim).__name__)
        self.prim: HiPrim = prim
        if any(isinstance(aval, HiType) for aval in (*prim.in_avals_flat, *prim.out_avals_flat)):
            self.in_avals, self.out_avals = prim.in_avals_flat, prim.out_avals_flat

    def __repr__(self) -> str:
        return repr(self.prim)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rules) and self.prim == other.prim

    def __hash__(self) -> int:
        return hash(self.prim)

    def run(self, *operands: Any) -> list[Any]:
        return self._results("expand", self.prim.expand(*self._args(operands)))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        dots = [Zero(get_aval(x).to_tangent_aval()) if t is ZERO else t for x, t in zip(primals, tangents)]
        results, out_dots = self.prim.jvp(self._args(primals), self._args(dots))
        return self._results("jvp", results), self._tangents("jvp", out_dots)

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Linearizes by a rule that the class defines: its reverse-mode rule if it has one, else `lin`, else `jvp`."""
        if self.has_reverse_rule:
            return self._linearize_with_vjp(primals, tangents)
        if self._defines("lin"):
            return self._linearize_with_lin(primals, tangents)
        if self._defines("jvp"):
            return self.jvp(primals, tangents)
        self.prim.vjp_fwd(self._args([t is not ZERO for t in tangents]), *self._args(primals))
        raise AssertionError("a rule that is derived needs the one it is derived from")

    @property
    def has_reverse_rule(self) -> bool:
        """Whether the derivative is by the rule of reverse mode."""
        return self._defines("vjp_fwd")

    def _defines(self, rule: str) -> bool:
        own = getattr(type(self.prim), rule)
        return own is not getattr(HiPrim, rule) and not is_derived(own)

    def _linearize_with_lin(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        results, residuals, nonzero, more = self._checked_forward("lin", primals, [t is not ZERO for t in tangents])
        dots = self._linearized([get_aval(x) for x in primals], (residuals, *more), tangents)
        return results, [t if has else ZERO for t, has in zip(dots, nonzero)]

    def _linearized(self, in_avals: Sequence[ShapedArray], residuals: tuple, tangents: Sequence[Any]) -> list[Any]:
        dots = [Zero(aval.to_tangent_aval()) if t is ZERO else t for aval, t in zip(in_avals, tangents)]
        return self._tangents("linearized", self.prim.linearized(*residuals, *self._args(dots)))

    def _linearize_with_vjp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        call = self.as_custom_vjp(primals)
        if not self._defines("lin") and not is_derived(type(self.prim).lin):
            return linearize_custom_vjp(call, primals, tangents)
        return self._with_both(call, primals, tangents)

    def as_custom_vjp(self, operands: Sequence[Any]) -> CustomVJPCall:
        """The call as one with a reverse rule only."""
        in_avals = [get_aval(x) for x in operands]

        def fwd(args: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any], Callable[..., Any]]:
            results, residuals, nonzero, more = self._checked_forward("vjp_fwd", args, perturbed)
            leaves, tree = tree_flatten((residuals, *more))
            out_avals = [get_aval(x) for x in results]
            return results, leaves, lambda values, cts: self._backward(in_avals, perturbed, tree_unflatten(tree, values), [
                Zero(aval.to_ct_aval()) if not has or is_zero(ct) else ct for ct, has, aval in zip(cts, nonzero, out_avals)])

        return CustomVJPCall(self.run, fwd, fwd, operands, self.name)

    def _with_both(self, call: CustomVJPCall, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The results and their tangents, as one linear call: forwards by `lin` or `jvp`, transposed by the reverse-mode rule."""
        perturbed = [t is not ZERO for t in tangents]
        results, residuals, backward = call.fwd(primals, perturbed)
        in_avals, out_avals = [get_aval(x) for x in primals], [get_aval(x) for x in results]
        count = len(residuals)

        def forward(*values: Any) -> list[Any]:
            given = iter(values[count + len(primals):])
            dots = [next(given) if has else ZERO for has in perturbed]
            xs = list(values[count:count + len(primals)])
            if self._defines("lin"):
                _, out_dots = self._linearize_with_lin(xs, dots)
            else:
                _, out_dots = self.jvp(xs, dots)
            return [instantiate(t, aval) for t, aval in zip(out_dots, out_avals)]

        def transpose(values: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            in_cts = backward(values[:count], cts)
            return [instantiate(ct, aval) for ct, aval, has in zip(in_cts, in_avals, perturbed) if has]

        dots = [t for t in tangents if t is not ZERO]
        fixed = [*residuals, *primals]
        program = stage(forward, [*map(get_aval, fixed), *map(get_aval, dots)], self.name)
        return results, bind_linear_call(program, transpose, fixed, dots, self.name)

    def _checked_forward(self, rule: str, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], Any, list[bool], tuple]:
        """The results of `lin` or `vjp_fwd`, the residuals, which results have tangents, and structured residuals, if any."""
        out = getattr(self.prim, rule)(self._args(list(perturbed)), *self._args(primals))
        if not isinstance(out, (tuple, list)) or not 2 <= len(out) <= 4:
            raise TypeError(f"{self.name}.{rule} must return the results and the residuals, and may return which results have tangents, "
                            f"and structured residuals; got {out!s:.80} of type {type(out).__name__}")
        results = self._results(rule, out[0])
        nonzero = out[2] if len(out) > 2 else True
        flags = [nonzero] * len(results) if isinstance(nonzero, bool) else self._leaves(rule, "nzs_out", nonzero)
        if len(out) == 4 and rule == "vjp_fwd" and type(self.prim).vjp_bwd is HiPrim.vjp_bwd:
            raise TypeError(f"{self.name} returned structured residuals from `vjp_fwd`, which requires overriding "
                            "`vjp_bwd(res, sres, outgrad, *arg_accums)`")
        return results, out[1], [bool(x) for x in flags], (out[3],) if len(out) == 4 else ()

    def _backward(self, in_avals: Sequence[Any], perturbed: Sequence[bool], residuals: tuple, cts: Sequence[Any]) -> list[Any]:
        accums = accumulators(in_avals, perturbed)
        self._log("vjp_bwd", self.prim.vjp_bwd(*residuals, tree_unflatten(self.prim.out_tree, cts), *self._args(accums)))
        return sums(accums)

    def _log(self, rule: str, logs: Any) -> None:
        if logs is not None and not isinstance(logs, dict):
            raise TypeError(f"{self.name}.{rule} should return None or a dict of backward-pass log entries, got {type(logs).__name__}")
        if logs:
            log(logs, self.name)

    def transpose(self, cts: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any] | None:
        if not self._defines("transpose"):
            if self.has_hi_types:
                raise _no_rule(self.prim, "transpose", "transpose")
            return None
        accums = [ValAccum(x) if is_linear(x) else NullAccum(x) for x in operands]
        given = [accum if is_linear(x) else x for x, accum in zip(operands, accums)]
        zeros = [Zero(aval.to_ct_aval()) if ct is ZERO else ct for ct, aval in zip(cts, self.prim.out_avals_flat)]
        self._log("transpose", self.prim.transpose(tree_unflatten(self.prim.out_tree, zeros), *self._args(given)))
        return [ct if is_linear(x) else None for x, ct in zip(operands, sums(accums))]

    def batch(self, axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[list[Any], list[int | None]]:
        if not self._defines("batch") and hasattr(self.prim, "batch_dim_rule"):  # the form that JAX had before
            return _BatchedRules(self, axis, batch_axes).bind(operands)
        results, axes = self.prim.batch(axis, self._args(operands), self._args(batch_axes))
        return self._results("batch", results), self._leaves("batch", "the batch axes", axes)

    def _args(self, leaves: Sequence[Any]) -> Any:
        return tree_unflatten(self.prim.in_tree, leaves)

    def _results(self, rule: str, results: Any) -> list[Any]:
        leaves, tree = tree_flatten(results)
        if not tree == self.prim.out_tree:
            raise TypeError(f"{self.name}.{rule} must return results with the structure of out_aval, {self.prim.out_tree}, got {tree}")
        return leaves

    def _tangents(self, rule: str, dots: Any) -> list[Any]:
        return [ZERO if is_zero(t) else t for t in self._leaves(rule, "tangents", dots)]

    def _leaves(self, rule: str, what: str, values: Any) -> list[Any]:
        try:
            return self.prim.out_tree.flatten_up_to(values)
        except ValueError as error:
            raise TypeError(f"{self.name}.{rule} must return {what} with the structure of out_aval, {self.prim.out_tree}: "
                            f"{error}") from None


class _BatchedRules(UserOperation):
    """An operation over a batch, all of whose rules are those for one example over the batch; results have the batch axis in front.

    Args:
      one: the operation on one example.
      axis: the mapped axis.
      batch_axes: the batch axes of the operands.
    """

    def __init__(self, one: _Rules | _BatchedRules, axis: Axis, batch_axes: Sequence[int | None]) -> None:
        super().__init__(one.name)
        self.one = one
        self.axis = axis
        self.batch_axes = tuple(batch_axes)

    def bind(self, operands: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
        """The results, and their batch axes."""
        results = bind_user_operation(self, operands)
        return results, [0] * len(results)

    def run(self, *operands: Any) -> list[Any]:
        call = CustomJVPCall(self.one.run, self.one.jvp, operands, self.name)
        return self._batched_jvp(call).call_primal()

    def _batched_jvp(self, call: CustomJVPCall) -> CustomJVPCall:
        return batch_custom_jvp(call, over_axis(self.axis), self.axis.size, call.operands, self.batch_axes)[0]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        return self._batched_jvp(CustomJVPCall(self.one.run, self.one.jvp, primals, self.name)).jvp(primals, tangents)

    def linearize(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        if self.has_reverse_rule:
            return linearize_custom_vjp(self.as_custom_vjp(primals), primals, tangents)
        return self.jvp(primals, tangents)

    @property
    def has_reverse_rule(self) -> bool:
        """Whether the derivative is by the rule of reverse mode."""
        return self.one.has_reverse_rule

    def as_custom_vjp(self, operands: Sequence[Any]) -> CustomVJPCall:
        """The call as one with a reverse rule only."""
        return batch_custom_vjp(self.one.as_custom_vjp(operands), over_axis(self.axis), self.axis.size, operands, self.batch_axes)[0]

    def batch(self, axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None]) -> tuple[list[Any], list[int | None]]:
        return _BatchedRules(self, axis, batch_axes).bind(operands)
