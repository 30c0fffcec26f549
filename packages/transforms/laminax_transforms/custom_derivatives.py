"""Functions with derivative rules given by the user: `custom_jvp`, `custom_vjp`, and what is built on them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir import dtypes
from laminax_ir.arguments import by_position
from laminax_ir.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.errors import UnexpectedTracerError
from laminax_ir.jaxpr import Jaxpr, eval_jaxpr
from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall
from laminax_ir.ops.elementwise import convert_element_type, stop_gradient_p
from laminax_ir.pytree import (
    keystr, register_pytree_node, tree_flatten, tree_flatten_with_path, tree_map, tree_map_with_path, tree_structure, tree_unflatten,
)
from laminax_ir.staging import stage
from laminax_ir.trace import Tracer
from laminax_ir.tracebacks import api_boundary
from laminax_transforms.decorated import DecoratedFunction
from laminax_transforms.zeros import ZERO, instantiate, zeros_of


class SymbolicZero:
    """A zero tangent or cotangent handed to a rule that asked for symbolic zeros; has `shape`, `dtype`, `aval`."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)

    def __repr__(self):
        return f"SymbolicZero({self.aval.str_short()})"


def zero_from_primal(value: Any, symbolic_zeros: bool = False) -> Any:
    """Zero tangents for a pytree of values: arrays, or `SymbolicZero`s."""
    make = SymbolicZero if symbolic_zeros else zeros_of
    return tree_map(lambda x: make(get_aval(x).to_tangent_aval()), value)


@dataclass
class CustomVJPPrimal:
    """What the forward rule gets for each leaf with symbolic_zeros: the value, and whether it is differentiated."""
    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of the arguments of a forward rule with `symbolic_zeros`, without the marks of what is differentiated.

    Args:
      tree: a pytree whose leaves are `CustomVJPPrimal`.

    Returns:
      The same pytree with their values as leaves.

    Raises:
      TypeError: if a leaf is anything else.
    """
    def value(path, leaf):
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(f"custom_vjp_primal_tree_values: the leaves must be CustomVJPPrimal, as a forward rule with symbolic_zeros=True "
                            f"gets them; {keystr(path) or 'the argument'} is of type {type(leaf).__name__}.")
        return leaf.value

    return tree_map_with_path(value, tree)


def _name(fun: Callable) -> str:
    return getattr(fun, "__name__", None) or type(fun).__name__


class _Arguments:
    """What the rules need of a call's arguments: the non-differentiable ones, and where the differentiable leaves go.

    The leaves themselves are not kept: rules live as long as the program that the call is recorded in, and would hold
    on to the values of a finished trace.
    """

    __slots__ = ("args", "nondiff", "in_avals", "in_tree")

    def __init__(self, args: tuple, nondiff: tuple[int, ...], in_avals: list[ShapedArray], in_tree):
        self.args = tuple(x if i in nondiff else None for i, x in enumerate(args))
        self.nondiff = nondiff
        self.in_avals = in_avals
        self.in_tree = in_tree

    def stop_gradients(self) -> None:
        """Makes constants of those non-differentiable arguments that are traced: a rule gives them no derivative."""
        self.args = tuple(tree_map(lambda leaf: stop_gradient(leaf) if isinstance(leaf, Tracer) else leaf, x)
                          for x in self.args)

    def refuse_traced(self, name: str) -> None:
        """Raises if a non-differentiable argument is traced: a backward rule gets it after its trace has ended.

        Raises:
          UnexpectedTracerError: naming the argument.
        """
        for i in self.nondiff:
            for path, leaf in tree_flatten_with_path(self.args[i])[0]:
                if isinstance(leaf, Tracer):
                    raise UnexpectedTracerError(
                        f"custom_vjp function {name}: argument {i}{keystr(path)}, which nondiff_argnums says is not differentiated, "
                        f"is traced: {leaf.aval.str_short()}. nondiff_argnums is for what is no array, such as functions. Take the "
                        "argument out of it, hand it to the backward rule as a residual, and return None as its cotangent.")

    def nondiff_values(self) -> list[Any]:
        return [self.args[i] for i in self.nondiff]

    def full(self, leaves: Sequence[Any]) -> list[Any]:
        """The argument list with the given differentiable leaves."""
        found = iter(tree_unflatten(self.in_tree, leaves))
        return [x if i in self.nondiff else next(found) for i, x in enumerate(self.args)]

    def split(self, leaves: Sequence[Any]) -> tuple:
        """The differentiable arguments as a tuple."""
        return tuple(tree_unflatten(self.in_tree, leaves))


def _split_arguments(what: str, fun: Callable, args: tuple, kwargs: dict, nondiff_argnums: Sequence[int]) -> tuple[_Arguments, list[Any]]:
    """A call's arguments, split into what rules need and the differentiable leaves."""
    args = by_position(what, fun, args, kwargs)
    nondiff = tuple(sorted({i % len(args) for i in nondiff_argnums if -len(args) <= i < len(args)}))
    chosen = tuple(x for i, x in enumerate(args) if i not in nondiff)
    leaves, in_tree = tree_flatten(chosen)
    for path, leaf in tree_flatten_with_path(chosen)[0] if not all(map(is_array_like, leaves)) else ():
        if not is_array_like(leaf):
            raise TypeError(f"{what} {_name(fun)}: the argument{keystr(path)} is not an array: {leaf!r} of type "
                            f"{type(leaf).__name__}. List its position in nondiff_argnums.")
    return _Arguments(args, nondiff, [get_aval(x) for x in leaves], in_tree), leaves


def _nondiff(fun: Callable, argnums, argnames) -> tuple[int, ...]:
    if isinstance(argnums, int):
        argnums = (argnums,)
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if not names:
        return tuple(argnums)
    positions = list(inspect.signature(fun).parameters)
    unknown = [n for n in names if n not in positions]
    if unknown:
        raise ValueError(f"nondiff_argnames {unknown} are not parameters of {_name(fun)}, which takes {positions}")
    return (*argnums, *(positions.index(n) for n in names))


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

    def __init__(self, fun: Callable, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()):
        super().__init__(fun)
        self.nondiff_argnums = _nondiff(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable | None = None
        self.symbolic_zeros = False

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
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

    def defjvps(self, *jvps: Callable | None) -> None:
        """Defines the rule as a sum over arguments: `jvp(tangent, result, *primals)` each, or None for zero."""
        if self.nondiff_argnums:
            raise TypeError("defjvps does not support nondiff_argnums; use defjvp")

        def jvp(primals, tangents):
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
    def __call__(self, *args, **kwargs):
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {_name(self.fun)} using defjvp.")
        arguments, leaves = _split_arguments("custom_jvp", self.fun, args, kwargs, self.nondiff_argnums)
        arguments.stop_gradients()
        types: list[tuple[Any, list[ShapedArray]]] = []  # of the result, by each run of the function or its rule

        def fun(*leaves):
            out, tree = tree_flatten(self.fun(*arguments.full(leaves)))
            types.append((tree, [*map(get_aval, out)]))
            return out

        def jvp(primals, tangents):
            return self._run_rule(arguments, primals, tangents, types)

        jvp.__name__ = _name(self.jvp)  # programs show it
        outs = CustomJVPCall(fun, jvp, leaves, _name(self.fun)).bind()
        return tree_unflatten(types[-1][0], outs)

    def _run_rule(self, arguments: _Arguments, primals, tangents, types: list):
        avals = [get_aval(x) for x in primals]
        if self.symbolic_zeros:
            tangents = [SymbolicZero(aval.to_tangent_aval()) if t is ZERO else t for t, aval in zip(tangents, avals)]
        else:
            tangents = [instantiate(t, aval) for t, aval in zip(tangents, avals)]
        pair = self.jvp(*arguments.nondiff_values(), arguments.split(primals), arguments.split(tangents))
        rule, name = _name(self.jvp), _name(self.fun)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"Custom JVP rule {rule} for function {name} must produce a pair (list or tuple of length two) "
                            f"representing primal and tangent outputs, but got {pair!s:.80} of type {type(pair).__name__}.")
        results, tree = tree_flatten(pair[0])
        out_tangents, tangent_tree = tree_flatten(pair[1])
        if not tree == tangent_tree:
            raise TypeError(f"Custom JVP rule {rule} for function {name} must produce primal and tangent outputs with equal "
                            f"container (pytree) structures, but got {tree} and {tangent_tree} respectively.")
        out_avals = [*map(get_aval, results)]
        if types and (difference := _difference(types[-1], (tree, out_avals))):
            what, found, expected = difference
            demand = "with leaves of the same shape/dtype" if types[-1][0] == tree else "of the same container/pytree structure"
            raise TypeError(f"Custom JVP rule {rule} for function {name} must produce a pair (list or tuple of length two) where the first "
                            f"element represents the primal output (equal in value to the output of the custom_jvp-decorated function "
                            f"{name}, and in particular {demand}), but instead the JVP rule output's first element had {what}:\n    {found}\n"
                            f"while the custom_jvp-decorated function {name} had output {what}:\n    {expected}.")
        types.append((tree, out_avals))
        return results, [_checked_rule_tangent(rule, name, aval, t) for aval, t in zip(out_avals, out_tangents)]


def _difference(function_type: tuple, rule_type: tuple) -> tuple[str, str, str] | None:
    """In what the result of a rule is of another type than that of its function, and the two in words; None if it is of the same."""
    (tree, avals), (rule_tree, rule_avals) = function_type, rule_type
    if not tree == rule_tree:
        return "container/pytree structure", *(str(tree_unflatten(t, [*map(_Type, some)])) for t, some in (rule_type, function_type))
    if any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(avals, rule_avals)):
        return "shapes/dtypes of", *(", ".join(map(_long, some)) for some in (rule_avals, avals))
    return None


def _long(aval: ShapedArray) -> str:
    return aval.str_short(short_dtypes=False)


class _Type:
    """A leaf that prints as its type, for messages that print whole trees."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self):
        return _long(self.aval)


def _checked_rule_tangent(rule: str, name: str, aval: ShapedArray, tangent: Any) -> Any:
    if isinstance(tangent, SymbolicZero):
        return ZERO
    expected = aval.to_tangent_aval()
    if expected.dtype == dtypes.float0:
        return ZERO
    found = get_aval(tangent)
    if found.shape != expected.shape or found.dtype != expected.dtype:
        raise TypeError("Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. Expected "
                        f"{_long(expected)} (tangent type of {_long(aval)}) but got {_long(found)}. The rule is {rule}, "
                        f"for function {name}.")
    return tangent


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

    def __init__(self, fun: Callable, nondiff_argnums: int | Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()):
        super().__init__(fun)
        self.nondiff_argnums = _nondiff(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable | None = None
        self.bwd: Callable | None = None
        self.symbolic_zeros = False

    def defvjp(self, fwd: Callable, bwd: Callable, symbolic_zeros: bool = False, optimize_remat: bool = False) -> None:
        """Defines the rules.

        Args:
          fwd: `fwd(*args) -> (result, residuals)`, taking all arguments in their places.
          bwd: `bwd(*nondiff, residuals, cotangent) -> tuple` with one cotangent per differentiable argument, None for
            zero.
          symbolic_zeros: whether fwd gets `CustomVJPPrimal` leaves, and bwd `SymbolicZero` cotangents.
          optimize_remat: whether the forward pass of a checkpointed call runs the function, and not fwd, which is run for the
            backward pass then. It does so in either case.
        """
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros

    @api_boundary
    def __call__(self, *args, **kwargs):
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {_name(self.fun)} using defvjp.")
        arguments, leaves = _split_arguments("custom_vjp", self.fun, args, kwargs, self.nondiff_argnums)
        arguments.refuse_traced(_name(self.fun))
        types: list[tuple[Any, list[ShapedArray]]] = []  # of the result, by each run of the function or its forward rule

        def fun(*leaves):
            out, tree = tree_flatten(self.fun(*arguments.full(leaves)))
            types.append((tree, [*map(get_aval, out)]))
            return out

        def fwd(leaves, perturbed):
            return self._run_fwd(arguments, leaves, perturbed, types)

        fwd.__name__ = _name(self.fwd)  # programs show it
        outs = CustomVJPCall(fun, fwd, self.bwd, leaves, _name(self.fun)).bind()
        return tree_unflatten(types[-1][0], outs)

    def _run_fwd(self, arguments: _Arguments, leaves, perturbed, types: list):
        if self.symbolic_zeros:
            leaves = [CustomVJPPrimal(x, p) for x, p in zip(leaves, perturbed)]
        pair = self.fwd(*arguments.full(leaves))
        rule, name = _name(self.fwd), _name(self.fun)

        def complaint(what: str) -> str:
            return (f"Custom VJP fwd rule {rule} for function {name} must produce a pair (list or tuple of length two) where the first "
                    f"element represents the primal output (equal to the output of the custom_vjp-decorated function {name}) and "
                    "the second element represents residuals (i.e. values stored from the forward pass for use on the backward pass), but instead "
                    f"the fwd rule output{what}")

        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(complaint(f" was {pair!s:.80} of type {type(pair).__name__}."))
        results, tree = tree_flatten(pair[0])
        out_avals = [*map(get_aval, results)]
        if types and (difference := _difference(types[-1], (tree, out_avals))):
            what, found, expected = difference
            raise TypeError(complaint(f"'s first element had {what}:\n    {found}\nwhile the custom_vjp-decorated function {name} had "
                                      f"output {what}:\n    {expected}."))
        residuals, residual_tree = tree_flatten(pair[1])
        for leaf in residuals:
            if not is_array_like(leaf):
                raise TypeError(f"Custom VJP fwd rule {rule} for function {name}: residuals must be arrays, got {leaf!r}")
        types.append((tree, out_avals))
        return results, residuals, lambda values, cts: self._run_bwd(arguments, tree, out_avals, residual_tree, values, cts)

    def _run_bwd(self, arguments: _Arguments, out_tree, out_avals, residual_tree, residuals, cts) -> list[Any]:
        """The backward rule for one run of the forward rule."""
        cts = [ZERO if ct is None else ct for ct in cts]
        if self.symbolic_zeros:
            cts = [SymbolicZero(aval.to_tangent_aval()) if ct is ZERO else ct for ct, aval in zip(cts, out_avals)]
        else:
            cts = [instantiate(ct, aval) for ct, aval in zip(cts, out_avals)]
        result = self.bwd(*arguments.nondiff_values(), tree_unflatten(residual_tree, residuals), tree_unflatten(out_tree, cts))
        return self._checked_cotangents(arguments, result)

    def _checked_cotangents(self, arguments: _Arguments, result: Any) -> list[Any]:
        rule = _name(self.bwd)
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
        for index, (ct, aval) in enumerate(zip(flat, arguments.in_avals)):
            try:
                checked.append(_checked_cotangent(ct, aval.to_tangent_aval()))
            except _OfAnotherType as error:
                path = keystr(tree_flatten_with_path(examples)[0][index][0])
                raise ValueError(f"Custom VJP bwd rule {rule} must produce an output with the shapes and dtypes of the args tuple of the "
                                 f"primal function, but at output{path} the bwd rule produced an output of type {error.found} corresponding to an "
                                 f"input of type {_long(aval)}.{error.advice}") from None
        return checked


class _Hole:
    """A leaf of the arguments, which have some structure."""

    __slots__ = ()


_HOLE = _Hole()


def _matched(rule: str, position: int, example: Any, ct: Any) -> list[Any]:
    """What a rule returned for one argument, for each of its leaves. One value in the place of a container is that of all its
    leaves; None are zeros."""
    leaves, ct_tree = tree_flatten(ct, is_leaf=lambda x: x is None or isinstance(x, SymbolicZero))
    try:
        parts = ct_tree.flatten_up_to(example)
    except ValueError:
        raise TypeError(f"Custom VJP bwd rule {rule} must produce an output with the same container (pytree) structure as the "
                        f"args tuple of the primal function; for argument {position} it produced {ct_tree}, the argument is "
                        f"{tree_structure(example)}. None may stand for zeros.") from None
    return [leaf for leaf, part in zip(leaves, parts) for _ in tree_flatten(part)[0]]


class _OfAnotherType(Exception):
    """A cotangent is not of the type of its primal."""

    def __init__(self, found: str, advice: str = ""):
        self.found = found
        self.advice = advice


def _checked_cotangent(ct: Any, expected: ShapedArray) -> Any:
    """The cotangent in the dtype of its primal: rules may compute in a wider or narrower one."""
    if ct is None or expected.dtype == dtypes.float0:
        return ZERO
    if isinstance(ct, SymbolicZero):
        if (ct.shape, ct.dtype) != (expected.shape, expected.dtype):
            raise _OfAnotherType(f"SymbolicZero({_long(ct.aval)})", " Consider just returning a None here instead of a SymbolicZero.")
        return ZERO
    aval = get_aval(ct)
    if aval.shape == expected.shape:
        if aval.dtype == expected.dtype:
            return ct
        if dtypes.issubdtype(aval.dtype, np.complexfloating if expected.dtype.kind == "c" else dtypes.floating):
            return convert_element_type(ct, expected.dtype)
    raise _OfAnotherType(_long(aval))


def custom_gradient(fun: Callable) -> Callable:
    """Decorator: the function returns its result and its own pullback.

    Args:
      fun: `fun(*args) -> (result, vjp_fun)`, where `vjp_fun(cotangent)` returns the arguments' cotangents: one, or a
        tuple of as many as there are arguments.

    Returns:
      A function that returns only the result, with that derivative.
    """
    @custom_vjp
    def wrapped(*args):
        return fun(*args)[0]

    def fwd(*args):
        result, rule = fun(*args)
        leaves, out_tree = tree_flatten(result)
        trees: list[Any] = []

        def flat_rule(*cts):
            out, tree = tree_flatten(rule(tree_unflatten(out_tree, cts)))
            trees.append(tree)
            return out

        closed = stage(flat_rule, [get_aval(x).to_tangent_aval() for x in leaves], "custom_gradient")
        return result, _Pullback(closed.jaxpr, closed.consts, trees[0], len(args))

    def bwd(pullback, ct):
        out = tree_unflatten(pullback.out_tree, eval_jaxpr(pullback.jaxpr, pullback.consts, *tree_flatten(ct)[0]))
        return (out,) if pullback.num_args == 1 and not (isinstance(out, tuple) and len(out) == 1) else tuple(out)

    wrapped.defvjp(fwd, bwd)
    update_wrapper(wrapped, fun)
    return wrapped


@dataclass
class _Pullback:
    """A staged pullback, of which only the constants are arrays: a pytree, so that it can be a residual."""
    jaxpr: Jaxpr
    consts: list[Any]
    out_tree: Any
    num_args: int


register_pytree_node(_Pullback, lambda p: (p.consts, (p.jaxpr, p.out_tree, p.num_args)),
                     lambda static, consts: _Pullback(static[0], list(consts), *static[1:]))


def closure_convert(fun: Callable, *example_args: Any) -> tuple[Callable, list[Any]]:
    """Turns the traced values that a function closes over into explicit arguments.

    Args:
      fun: the function; it is traced here, once.
      *example_args: arrays like its arguments.

    Returns:
      `(converted, consts)`: `converted(*args, *consts)` computes what `fun(*args)` does; `consts` lists the differentiable
      values that were closed over.
    """
    leaves, in_tree = tree_flatten(example_args)
    trees: list[Any] = []

    def flat_fun(*args):
        out, tree = tree_flatten(fun(*tree_unflatten(in_tree, args)))
        trees.append(tree)
        return out

    closed = stage(flat_fun, [get_aval(x) for x in leaves], _name(fun))
    hoisted = [isinstance(c, Tracer) and dtypes.issubdtype(c.dtype, dtypes.inexact) for c in closed.consts]
    consts = [c for c, h in zip(closed.consts, hoisted) if h]

    def converted(*args):
        split = len(args) - len(consts)
        given, hoisted_values = args[:split], iter(args[split:])
        flat, tree = tree_flatten(tuple(given))
        if not tree == in_tree:
            raise TypeError("The inputs to the closure produced by closure_convert must have the structure of the example arguments, "
                            f"{in_tree}, and be followed by the {len(consts)} values that it closed over; got {tree}")
        values = [next(hoisted_values) if h else c for c, h in zip(closed.consts, hoisted)]
        return tree_unflatten(trees[0], eval_jaxpr(closed.jaxpr, values, *flat))

    return converted, consts


def stop_gradient(x: Any) -> Any:
    """The identity with derivative zero.

    Args:
      x: a pytree of arrays.

    Returns:
      The same pytree. Arrays that are not floating or complex have no derivative and stay as they are.

    Raises:
      TypeError: if a leaf is not an array.
    """
    def stop(path, leaf):
        if not is_array_like(leaf):
            raise TypeError(f"stop_gradient: x{keystr(path)} is not a valid type of array: {leaf!r} of type {type(leaf).__name__}. Leave what "
                            "is no array out of the tree.")
        return stop_gradient_p.bind(leaf) if dtypes.issubdtype(get_aval(leaf).dtype, dtypes.inexact) else leaf
    return tree_map_with_path(stop, x)


__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp", "custom_vjp_primal_tree_values",
           "stop_gradient", "zero_from_primal"]
