"""`custom_vjp`: functions with a reverse-mode derivative rule given by the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence, cast

import numpy as np

from laminax_ir.ops.backward_logs import log
from laminax_ir.ops.calls import CustomVJPCall
from laminax_ir.ops.elementwise import in_exact_dtype
from laminax_ir.options.config import disable_bwd_checks
from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_structure, tree_unflatten
from laminax_ir.refs.refs import Ref, argument_namer, check_aliases, check_returned
from laminax_ir.tracing.manual_axes import checked_axes, varies_beyond
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import function_name
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.symbolic_zeros import SymbolicZero
from laminax_transforms.base.zeros import ZERO, has_tangents, instantiate_cotangent
from laminax_transforms.custom.accumulators import accumulators, sums
from laminax_transforms.custom.decorated import DecoratedFunction
from laminax_transforms.custom.rule_arguments import CustomVJPPrimal, RuleArguments, nondiff_positions, split_arguments
from laminax_transforms.custom.rule_results import long_text, type_difference

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


class custom_vjp(DecoratedFunction):  # noqa: N801  (a decorator)
    """Decorator: gives a function a rule for its vector-Jacobian product (reverse mode).

    Args:
      fun: the function.
      nondiff_argnums: positions of arguments that are not differentiated; the backward rule gets them first.
      nondiff_argnames: names of such arguments.

    Example:
      >>> @custom_vjp
      ... def clip_gradient(low, high, x):
      ...     return x
      >>> clip_gradient.defvjp(lambda low, high, x: (x, (low, high)),
      ...                      lambda bounds, ct: (None, None, clip(ct, *bounds)))
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: int | Sequence[int] = (),
                 nondiff_argnames: str | Sequence[str] = ()) -> None:
        super().__init__(fun)
        self.nondiff_argnums: tuple[int, ...] = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.symbolic_zeros = False
        self.optimize_remat = False
        self.has_logs = False
        self.has_accums = False

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False, optimize_remat: bool = False,
               generic_batching: bool = False) -> None:
        """Defines the rules.

        Args:
          fwd: `fwd(*args) -> (result, residuals)`, taking all arguments in their places.
          bwd: `bwd(*nondiff, residuals, cotangent) -> tuple` with one cotangent per differentiable argument, None for
            zero.
          symbolic_zeros: whether fwd gets `CustomVJPPrimal` leaves, and bwd `SymbolicZero` cotangents.
          optimize_remat: whether the forward pass of a checkpointed call that saves nothing runs the function instead of fwd; fwd
            then runs in the backward pass. In that case the result has no derivative in forward mode.
          generic_batching: only False: a result that a batch shares has one cotangent, which `bwd` gets once.

        Raises:
          NotImplementedError: for generic_batching.
        """
        if generic_batching:
            raise NotImplementedError("custom_vjp: defvjp(generic_batching=True) is not supported. Leave it out, and make the result "
                                      "depend on the mapped argument.")
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat
        self.has_logs = False
        self.has_accums = False

    def defvjp_with_logs(self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False, optimize_remat: bool = False,
                         generic_batching: bool = False) -> None:
        """Defines the rules, as `defvjp` does; the backward rule returns also values that it logs.

        Args:
          fwd, symbolic_zeros, optimize_remat, generic_batching: as for `defvjp`.
          bwd: `bwd(*nondiff, residuals, cotangent) -> (cotangents, logs)`, where `logs` is a dictionary of pytrees of arrays, or None.
            `vjp(...)[1].with_logs(cotangent)` returns them beside the cotangents; other derivatives drop them.

        Example:
          >>> f = custom_vjp(lambda x: 2 * x)
          >>> f.defvjp_with_logs(lambda x: (f(x), None), lambda _, ct: ((2 * ct,), {"ct": ct}))
          >>> vjp(f, 1.0)[1].with_logs(3.0)[1]
          {'ct': Array(3., dtype=float32, weak_type=True)}
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat, generic_batching)
        self.has_logs = True

    def defvjp_with_accums(self, fwd: Callable[..., Any], bwd: Callable[..., Any], symbolic_zeros: bool = False,
                           optimize_remat: bool = False, generic_batching: bool = False) -> None:
        """Defines the rules, as `defvjp` does; the backward rule adds the cotangents to accumulators that it gets.

        Args:
          fwd, symbolic_zeros, optimize_remat, generic_batching: as for `defvjp`.
          bwd: `bwd(*nondiff, residuals, cotangent, *accumulators)`, with one accumulator for each leaf of the arguments, in their
            structure, whose method `accum` adds a cotangent. That of an argument that is not differentiated is a `NullAccum`, which drops
            it. It returns None or a dictionary of values that it logs, as for `defvjp_with_logs`.

        Example:
          >>> f = custom_vjp(lambda x: 2 * x)
          >>> f.defvjp_with_accums(lambda x: (f(x), None), lambda _, ct, x_accum: x_accum.accum(2 * ct))
          >>> grad(f)(1.0)
          Array(2., dtype=float32, weak_type=True)
        """
        self.defvjp(fwd, bwd, symbolic_zeros, optimize_remat, generic_batching)
        self.has_accums = True

    def defremat(self, fwd: Callable[..., Any], rem: Callable[..., Any], bwd: Callable[..., Any], generic_batching: bool = False) -> None:
        """Not supported, as in JAX without its options `jax_custom_vjp3` and `jax_remat3`: rules for rematerialization.

        Raises:
          NotImplementedError: always.
        """
        raise _unsupported("defremat", "Wrap what is to be recomputed in checkpoint, or use defvjp(optimize_remat=True)")

    def defremat_with_logs(self, fwd: Callable[..., Any], rem: Callable[..., Any], bwd: Callable[..., Any],
                           generic_batching: bool = False) -> None:
        """Not supported, as `defremat`.

        Raises:
          NotImplementedError: always.
        """
        raise _unsupported("defremat_with_logs", "Wrap what is to be recomputed in checkpoint, or use defvjp(optimize_remat=True)")

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {function_name(self.fun)} using defvjp.")
        arguments, leaves = split_arguments("custom_vjp", self.fun, args, kwargs, self.nondiff_argnums)
        arguments.refuse_traced(function_name(self.fun))
        types: list[tuple[Any, list[ShapedArray]]] = []  # the type of the result, appended by each run of the function or its forward rule

        def fun(*leaves: Any) -> Any:
            result = self.fun(*arguments.full(leaves))
            out, tree = tree_flatten(result)
            if any(isinstance(x, Ref) for x in out):
                check_returned(function_name(self.fun), "custom_vjp primal function", result)
            types.append((tree, [*map(get_aval, out)]))
            return out

        def fwd(leaves: Any, perturbed: Any) -> Any:
            return self._run_fwd(arguments, leaves, perturbed, types)

        fwd.__name__ = function_name(self.fwd)  # programs show it
        cast(Any, fwd).optimize_remat = self.optimize_remat
        cast(Any, fwd).symbolic_zeros = self.symbolic_zeros
        check_aliases(function_name(self.fun), "custom_vjp", leaves, (), argument_namer(self.fun, arguments.in_tree))
        outs = CustomVJPCall(fun, fwd, self.bwd, leaves, function_name(self.fun)).bind()
        return tree_unflatten(types[-1][0], outs)

    def _run_fwd(self, arguments: RuleArguments, leaves: Any, perturbed: Any, types: list[Any]) -> tuple[Any, Any, Any]:
        if self.symbolic_zeros:
            leaves = [CustomVJPPrimal(x, p) for x, p in zip(leaves, perturbed)]
        pair = cast(Callable, self.fwd)(*arguments.full(leaves))
        rule, name = function_name(self.fwd), function_name(self.fun)

        def complaint(what: str) -> str:
            return (f"Custom VJP fwd rule {rule} for function {name} must produce a pair (list or tuple of length two) where the first "
                    f"element represents the primal output (equal to the output of the custom_vjp-decorated function {name}) and "
                    "the second element represents residuals (i.e. values stored from the forward pass for use on the backward pass), "
                    f"but instead the fwd rule output{what}")

        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(complaint(f" was {pair!s:.80} of type {type(pair).__name__}."))
        results, tree = tree_flatten(pair[0])
        out_avals = [*map(get_aval, results)]
        if types and (difference := type_difference(types[-1], (tree, out_avals))):
            what, found, expected = difference
            raise TypeError(complaint(f"'s first element had {what}:\n    {found}\nwhile the custom_vjp-decorated function {name} had "
                                      f"output {what}:\n    {expected}.\nIt got fwd output type {found} which doesn't match the function's "
                                      f"{expected}."))
        residuals, residual_tree = tree_flatten(pair[1])
        for leaf in residuals:
            if isinstance(leaf, Ref) and not any(leaf is x for x in leaves):
                raise ValueError(f"custom_vjp fwd function {rule}, the forward rule of {name}, returned a mutable array reference of type "
                                 f"{leaf.aval} as a residual, but may only return those that it gets as arguments. Return what is in it, "
                                 "ref[...].")
            if not is_array_like(leaf) and not isinstance(leaf, Ref):
                raise TypeError(f"Custom VJP fwd rule {rule} for function {name}: residuals must be arrays, got {leaf!r}")
        types.append((tree, out_avals))
        wanted = tuple(perturbed)
        return results, residuals, lambda values, cts: self._run_bwd(arguments, tree, out_avals, residual_tree, values, cts, wanted)

    def _run_bwd(self, arguments: RuleArguments, out_tree: Any, out_avals: Any, residual_tree: Any, residuals: Sequence[Any],
                 cts: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        """The backward rule for one run of the forward rule, whose operands in the wanted places have tangents."""
        cts = [ZERO if ct is None else ct for ct in cts]
        if self.symbolic_zeros:
            cts = [SymbolicZero(aval.to_ct_aval()) if ct is ZERO else ct for ct, aval in zip(cts, out_avals)]
        else:
            cts = [instantiate_cotangent(ct, aval) for ct, aval in zip(cts, out_avals)]
        given = (*arguments.nondiff_values(), tree_unflatten(residual_tree, residuals), tree_unflatten(out_tree, cts))
        if self.has_accums:
            return self._accumulated(arguments, given, wanted)
        result = cast(Callable, self.bwd)(*given)
        if self.has_logs:
            result, logs = split_logs("Custom VJP bwd rule", function_name(self.bwd), "defvjp_with_logs", result)
            checked = self._checked_cotangents(arguments, result, wanted)
            if logs:
                log(logs, function_name(self.fun))
            return checked
        return self._checked_cotangents(arguments, result, wanted)

    def _accumulated(self, arguments: RuleArguments, given: tuple, wanted: Sequence[bool]) -> list[Any]:
        """What a backward rule that takes accumulators adds to them."""
        accums = accumulators(arguments.in_avals, wanted)
        logs = cast(Callable, self.bwd)(*given, *arguments.split(accums))
        if logs is not None and not isinstance(logs, dict):
            raise TypeError(f"Custom VJP bwd rule {function_name(self.bwd)} was registered with defvjp_with_accums, and so must return "
                            f"None or a dict of backward-pass log entries, but got {logs!s:.80} of type {type(logs).__name__}. Add "
                            "cotangents to the accumulators, with accum.")
        if logs:
            log(checked_logs("Custom VJP bwd rule", function_name(self.bwd), logs), function_name(self.fun))
        return [_of_type(ct, aval.to_ct_aval()) for ct, aval in zip(sums(accums), arguments.in_avals)]

    def _checked_cotangents(self, arguments: RuleArguments, result: tuple[ArrayLike | None, ...], wanted: Sequence[bool]) -> list[Any]:
        """The cotangents by operand. None is an array of zeros, as in JAX: what goes on to backward rules of users, which then run, and
        may give more than multiples of it (those of Flax for numbers of eight bits give what is to be remembered)."""
        rule = function_name(self.bwd)
        if isinstance(result, list):
            result = tuple(result)
        examples = arguments.split([_HOLE] * len(arguments.in_avals))
        if not isinstance(result, tuple) or len(result) != len(examples):
            raise TypeError(f"Custom VJP bwd rule {rule} must produce an output with the same container (pytree) structure as "
                            "the args tuple of the primal function, and in particular must produce a tuple of length equal "
                            f"to the number of arguments to the primal function, but got bwd output structure "
                            f"{tree_structure(result)} for primal input structure {arguments.in_tree}.")
        flat: list[Any] = []
        for position, (example, ct) in enumerate(zip(examples, result)):
            flat.extend(_matched(rule, position, example, ct))
        checked = []
        checks_axes = bool(checked_axes()) and not (getattr(self.bwd, "__module__", None) or "").startswith("laminax")
        for index, (ct, aval) in enumerate(zip(flat, arguments.in_avals)):
            try:
                checked.append(_checked_cotangent(ct, aval.to_ct_aval()))
                if checks_axes and checked[-1] is not ZERO:
                    _check_variation(checked[-1], aval.to_ct_aval())
            except _OfAnotherType as error:
                path = keystr(tree_flatten_with_path(examples)[0][index][0])
                raise ValueError(f"Custom VJP bwd rule attached to {function_name(self.fun)}, {rule}, must produce an output with the same "
                                 f"type as the args tuple of the primal function, but at output{path} the bwd rule produced an output of "
                                 f"type {error.found} corresponding to an input of type {long_text(aval)}.{error.advice} "
                                 f"At output{path} the bwd rule attached to {function_name(self.fun)} produced an output of type "
                                 f"{error.found}, which is not the cotangent's."
                                 ) from None
        return [instantiate_cotangent(ct, aval) if is_wanted and has_tangents(aval) and not isinstance(aval, HiType) else ct
                for ct, aval, is_wanted in zip(checked, arguments.in_avals, wanted)]


def split_logs(what: str, rule: str, definer: str, result: Any) -> tuple[Any, dict[Any, Any]]:
    """The cotangents and the logs that a backward rule has returned.

    Raises:
      TypeError: if these are no pair, or the logs no dictionary of pytrees of arrays.
    """
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(f"{what} {rule} was defined with {definer} and so must produce a pair (in_cts, logs), but got {result!s:.80} "
                        f"of type {type(result).__name__}. Return None for the logs if there are none.")
    cts, logs = result
    if logs is not None and not isinstance(logs, dict):
        raise TypeError(f"{what} {rule} was defined with {definer}, and so the second element of the pair that it produces, the logs, "
                        f"must be None or a dict; got {logs!s:.80} of type {type(logs).__name__}.")
    return cts, checked_logs(what, rule, logs or {})


def checked_logs(what: str, rule: str, logs: dict[Any, Any]) -> dict[Any, Any]:
    """The logs of a backward rule.

    Raises:
      TypeError: if a value is no array.
    """
    for path, leaf in tree_flatten_with_path(logs)[0]:
        if not is_array_like(leaf):
            raise TypeError(f"{what} {rule}: what it logs must be arrays, got {leaf!r:.80} of type {type(leaf).__name__} at "
                            f"{keystr(path)}.")
    return logs


class _Hole:
    """Stands for a leaf in a tree that has the structure of the arguments."""

    __slots__ = ()


_HOLE = _Hole()


def _matched(rule: str, position: int, example: _Hole, ct: ArrayLike | None) -> list[Any]:
    """The cotangents that a rule returned for one argument, one per leaf; None is zero.

    One value in the place of a container counts for all leaves of the container.
    """
    leaves, ct_tree = tree_flatten(ct, is_leaf=lambda x: x is None or isinstance(x, SymbolicZero))
    try:
        parts = ct_tree.flatten_up_to(example)
    except ValueError:
        raise TypeError(f"Custom VJP bwd rule {rule} must produce an output with the same container (pytree) structure as the "
                        f"args tuple of the primal function; for argument {position} it produced {ct_tree}, the argument is "
                        f"{tree_structure(example)}. None may stand for zeros.") from None
    return [leaf for leaf, part in zip(leaves, parts) for _ in tree_flatten(part)[0]]


def _check_variation(ct: Any, expected: ShapedArray) -> None:
    """Checks that a cotangent varies along the same checked axes of devices as its primal."""
    aval = get_aval(ct)
    if names := varies_beyond(aval, expected):
        raise _OfAnotherType(long_text(aval), f" It varies along the axes {names} of devices, where all devices have the input: sum the "
                                              f"devices' shares in the rule, with lax.psum(..., {names}).")
    if names := varies_beyond(expected, aval):
        raise _OfAnotherType(long_text(aval), f" It is the same along the axes {names} of devices, along which the input varies: a sum of "
                                              "the devices' cotangents is not the cotangent of each. Leave the sum out, or say that it is "
                                              f"meant, with lax.pcast(..., {names}, to='varying').")


class _OfAnotherType(Exception):
    """A cotangent does not have the type that its primal asks for; `_checked_cotangents`, which knows the path, words the error."""

    def __init__(self, found: str, advice: str = "") -> None:
        self.found = found
        self.advice = advice


def _checked_cotangent(ct: Any, expected: ShapedArray) -> Any:
    """The cotangent in the dtype of its primal: rules may compute in a wider or narrower dtype."""
    if ct is None:
        return ZERO
    if isinstance(expected, HiType):
        if get_aval(ct) is not expected:
            raise _OfAnotherType(long_text(get_aval(ct)))
        return ct
    if expected.dtype == dtypes.float0:
        return ZERO
    if isinstance(ct, SymbolicZero):
        if (ct.shape, ct.dtype) != (expected.shape, expected.dtype):
            raise _OfAnotherType(f"SymbolicZero({long_text(ct.aval)})", " Consider just returning a None here instead of a SymbolicZero.")
        return ZERO
    aval = get_aval(ct)
    if aval.shape == expected.shape:
        if aval.dtype == expected.dtype or dtypes.is_extended(aval.dtype):  # backward rules before it may know what this dtype adds up
            return ct
        if dtypes.issubdtype(aval.dtype, np.complexfloating if expected.dtype.kind == "c" else dtypes.floating):
            return in_exact_dtype(ct, expected.dtype)
    if disable_bwd_checks.value:
        return ct
    raise _OfAnotherType(long_text(aval))


def _of_type(ct: Any, expected: ShapedArray) -> Any:
    """A cotangent that was accumulated, in the dtype of its operand's cotangents."""
    if isinstance(expected, HiType):
        return ct
    if ct is ZERO or expected.dtype == dtypes.float0:
        return ZERO
    found = get_aval(ct).dtype
    return ct if found == expected.dtype or dtypes.is_extended(found) else in_exact_dtype(ct, expected.dtype)


def _unsupported(method: str, instead: str) -> NotImplementedError:
    return NotImplementedError(f"custom_vjp: {method} is not supported. {instead}.")
