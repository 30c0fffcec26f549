"""Differentiation of functions on pytrees: `jvp`, `linearize`, `vjp`, `grad` and what is built on them."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir import dtypes, source
from laminax_ir.arguments import check_callable
from laminax_ir.avals import ShapedArray, get_aval, is_array_like, register_value_type
from laminax_ir.ops.elementwise import convert_element_type_p
from laminax_ir.ops.shape import full
from laminax_ir.pytree import (
    keystr,
    structure_errors,
    tree_flatten,
    tree_flatten_with_path,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from laminax_ir.refs import Ref, check_returned
from laminax_ir.trace import is_tracing, state
from laminax_ir.tracebacks import api_boundary
from laminax_ir.weak_scalars import shaped, weak_scalar
from laminax_ir.wrapping import wraps
from laminax_transforms.differentiation import jvp_flat, linear_program_of, linearize_flat
from laminax_transforms.gradient_refs import (
    PullbackWithRefs,
    arrays_of,
    checked_entries,
    no_cotangents,
    unbound_error,
    with_arrays_for_refs,
)
from laminax_transforms.linear import LinearProgram
from laminax_transforms.linear_functions import LinearFunction, register_linear_function
from laminax_transforms.mapped_refs import with_dual_refs
from laminax_transforms.zeros import ZERO, instantiate, zeros_of


def _name(fun: Callable) -> str:
    return getattr(fun, "__name__", None) or type(fun).__name__


def _check_array_leaves(what: str, tree: Any, accepts: Callable[[Any], bool] = is_array_like) -> None:
    for path, leaf in tree_flatten_with_path(tree)[0]:
        if not accepts(leaf) and not isinstance(leaf, Ref):
            raise TypeError(f"{what}{keystr(path)} is not an array: got {leaf!r} of type {type(leaf).__name__}, which is not a valid JAX type. "
                            "Pass arrays or scalars, or close over it, or mark it as static.")


@api_boundary
def jvp(fun: Callable, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False) -> tuple:
    """Evaluates a function and its directional derivative together (forward mode).

    Args:
      fun: function of arrays, scalars and pytrees of them.
      primals: tuple or list of arguments, the point of differentiation.
      tangents: tuple or list of the same structure, shapes and dtypes: the direction. The tangent of an
        integer argument has dtype `float0`.
      has_aux: whether `fun` returns a pair (result, auxiliary data); the latter is not differentiated.

    Returns:
      `(result, tangent of the result)`, and the auxiliary data as a third item with `has_aux`.

    Raises:
      TypeError: if primals or tangents are not tuples or lists or differ in structure, or a tangent's dtype is not that of its
        primal.
      ValueError: if a tangent's shape is not that of its primal.

    Example:
      >>> jvp(ops.elementwise.sin, (0.1,), (0.2,))
    """
    check_callable("jvp", fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("primal and tangent arguments to jvp must be tuples or lists; found "
                        f"{type(primals).__name__} and {type(tangents).__name__}. Give one entry per argument of the function: "
                        "write jvp(f, (x,), (x_dot,)).")
    flat_primals, in_tree = tree_flatten(primals)
    flat_tangents, tangent_tree = tree_flatten(tangents)
    if in_tree != tangent_tree:
        raise TypeError("primal and tangent arguments to jvp must have the same tree structure; " +
                        _where_trees_part(in_tree, tangents, "primals", "tangents"))
    _check_array_leaves("jvp: primals", primals)
    flat_fun = _FlatFunction(fun, in_tree, has_aux)
    refs = [(i, p, t) for i, (p, t) in enumerate(zip(flat_primals, flat_tangents)) if isinstance(p, Ref)]
    flat_tangents = [_checked_tangent(f"tangents{keystr(path)}", p, t, *_JVP_MISMATCHES)
                     for (path, p), t in zip(tree_flatten_with_path(primals)[0], flat_tangents)]
    results, out_tangents = jvp_flat(with_dual_refs(flat_fun, refs) if refs else flat_fun, [shaped(x) for x in flat_primals], flat_tangents,
                                     f"jvp({_name(fun)})")
    out_tangents = [instantiate(t, get_aval(r)) for r, t in zip(results, out_tangents)]
    result, tangent = tree_unflatten(flat_fun.out_tree, results), tree_unflatten(flat_fun.out_tree, out_tangents)
    return (result, tangent, flat_fun.aux) if has_aux else (result, tangent)


def _where_trees_part(expected, tree: Any, expected_name: str, tree_name: str) -> str:
    """The first place where a tree has another structure than it should, as part of a sentence."""
    for mismatch in structure_errors(expected, tree, exact=True):
        where = keystr(mismatch.path)
        return f"{expected_name}{where} is {mismatch.prefix}, {tree_name}{where} is {mismatch.full}"
    return f"{expected_name} is {expected}, {tree_name} is {tree_structure(tree)}"


# What is raised for a tangent of another shape, and of another dtype, than its primal.
_JVP_MISMATCHES = (ValueError("jvp called with different primal and tangent shapes"),
                   TypeError("primal and tangent arguments to jvp do not match"))
_LINEARIZED_MISMATCHES = (ValueError("linearized function called on tangent values inconsistent with the original primal values"),) * 2


def _checked_tangent(what: str, primal: Any, tangent: Any, of_shape: Exception, of_dtype: Exception) -> Any:
    primal_aval = get_aval(primal)
    if isinstance(primal, Ref):
        return _checked_tangent_ref(what, primal, tangent, of_shape)
    expected = primal_aval.to_tangent_aval()
    if getattr(tangent, "dtype", None) == dtypes.float0 or expected.dtype == dtypes.float0:
        if getattr(tangent, "dtype", None) != expected.dtype or np.shape(tangent) != expected.shape:
            raise type(of_dtype)(f"{of_dtype}. {what}: the tangent of {primal_aval.str_short()} must be {expected.str_short()}, got "
                                 f"{_describe(tangent)}")
        return ZERO
    aval = get_aval(tangent)
    if aval.shape != expected.shape or aval.dtype != expected.dtype:
        error = of_dtype if aval.shape == expected.shape else of_shape
        raise type(error)(f"{error}. {what}: a tangent must have the shape and dtype of its primal, {expected.str_short()}; got {aval.str_short()}. "
                    "Convert one of them.")
    return _as_weak_as(expected, _typed(tangent, expected))


def _checked_tangent_ref(what: str, primal: Ref, tangent: Any, error: Exception) -> Any:
    """The tangent of a reference goes with it (see `DualRef`), and is none of the values."""
    if not isinstance(tangent, Ref) or get_aval(tangent) != primal.aval.to_tangent_aval():
        got = get_aval(tangent) if is_array_like(tangent) or isinstance(tangent, Ref) else type(tangent).__name__
        raise type(error)(f"{error}. {what}: the tangent of a reference, {primal.aval}, must be a reference to tangents, "
                          f"{primal.aval.to_tangent_aval()}, got {got}. Make one with new_ref(zeros_like(ref[...])), or close over the reference.")
    return ZERO


def _typed(x: Any, aval: ShapedArray) -> Any:
    """A tangent or cotangent; a Python scalar, which has no shape that rules could ask for, becomes one of the aval."""
    if type(x) not in dtypes.python_scalar_types:
        return x
    return weak_scalar(x, aval.dtype) if aval.weak_type else aval.dtype.type(x)


def _as_weak_as(primal_aval: ShapedArray, x: Any) -> Any:
    """A tangent or cotangent, not zero, that is weakly typed if its primal is: operations on strongly typed values made it strong."""
    if not primal_aval.weak_type or get_aval(x).weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=primal_aval.dtype, weak_type=True)


def _cotangent(ct: Any, primal_aval: ShapedArray) -> Any:
    """The cotangent of an argument, as an array of its type."""
    return instantiate(ct, primal_aval) if ct is ZERO else _as_weak_as(primal_aval, ct)


def _describe(x: Any) -> str:
    return get_aval(x).str_short() if is_array_like(x) else f"{getattr(x, 'dtype', type(x).__name__)}{np.shape(x)}"


class _FlatFunction:
    """A pytree function as a flat one; remembers the result's structure and the auxiliary data of one call."""

    __slots__ = ("fun", "in_tree", "has_aux", "out_tree", "aux", "result_name", "accepts", "is_leaf")

    def __init__(self, fun: Callable, in_tree, has_aux: bool = False, result_name: str = "the result of",
                 accepts: Callable[[Any], bool] = is_array_like, is_leaf: Callable[[Any], bool] | None = None):
        self.fun = fun
        self.in_tree = in_tree
        self.has_aux = has_aux
        self.result_name = result_name  # for messages, followed by the function's name
        self.accepts = accepts  # what a leaf of the result may be
        self.is_leaf = is_leaf  # which containers in the result are taken whole
        self.out_tree = None
        self.aux = None

    def __call__(self, *flat):
        result = self.fun(*tree_unflatten(self.in_tree, flat))
        if self.has_aux:
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError(f"with has_aux=True, {_name(self.fun)} must return a pair (result, aux), a two-element tuple, got "
                                f"{type(result).__name__}")
            result, aux = result
            self.aux = tree_map(state.trace.primal, aux)
        leaves, self.out_tree = tree_flatten(result, self.is_leaf)
        for leaf in leaves:
            if not self.accepts(leaf):
                check_returned(_name(self.fun), state.trace.name.partition("(")[0], result)
                _check_array_leaves(f"{self.result_name} {_name(self.fun)}", result, self.accepts)
        return leaves


@api_boundary
def linearize(fun: Callable, *primals: Any, has_aux: bool = False) -> tuple:
    """Linearizes a function at a point.

    Args:
      fun: function of arrays and pytrees of them.
      *primals: the point.
      has_aux: whether `fun` returns a pair (result, auxiliary data).

    Returns:
      `(result, f_jvp)`, where `f_jvp(*tangents)` is the derivative at the point, without evaluating `fun` again;
      and the auxiliary data as a third item with `has_aux`. `f_jvp` is a pytree and may be returned from a jitted function. It
      raises a TypeError for tangents of another structure than the primals', and a ValueError for tangents of other shapes or
      dtypes.
    """
    check_callable("linearize", fun)
    flat, in_tree = tree_flatten(primals)
    _check_array_leaves("linearize: primals", primals)
    flat_fun = _FlatFunction(fun, in_tree, has_aux)
    mask = [dtypes.issubdtype(get_aval(x).dtype, dtypes.inexact) and not isinstance(x, Ref) for x in flat]
    results, program = linearize_flat(flat_fun, [shaped(x) for x in flat], mask, f"linearize({_name(fun)})", _paths(primals))
    in_avals = [get_aval(x) for x in flat]
    result_avals = [get_aval(r) for r in results]

    f_jvp = _LinearizedFunction(program, in_tree, flat_fun.out_tree, mask, in_avals, result_avals)
    result = tree_unflatten(flat_fun.out_tree, results)
    return (result, f_jvp, flat_fun.aux) if has_aux else (result, f_jvp)


@register_linear_function
class _LinearizedFunction(LinearFunction):
    """The derivative that `linearize` returns: a function of the tangents."""

    __slots__ = ("in_tree", "out_tree", "mask", "in_avals", "out_avals")

    def __init__(self, program: LinearProgram, in_tree, out_tree, mask, in_avals, out_avals):
        super().__init__(program)
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.mask = mask
        self.in_avals = in_avals
        self.out_avals = out_avals

    def __call__(self, *tangents: Any) -> Any:
        if tree_structure(tangents) != self.in_tree:
            raise TypeError("linearized function: the tangents must have the structure of the primals; " +
                            _where_trees_part(self.in_tree, tangents, "primals", "tangents"))
        checked = [_checked_tangent(f"tangents{keystr(path)}", _AvalOnly(aval), t, *_LINEARIZED_MISMATCHES)
                   for aval, (path, t) in zip(self.in_avals, tree_flatten_with_path(tangents)[0])]
        out = self.program.apply([t for t, has in zip(checked, self.mask) if has])
        return tree_unflatten(self.out_tree, [instantiate(t, aval) for t, aval in zip(out, self.out_avals)])


class _AvalOnly:
    """Stands for a value of which only the aval matters."""

    __slots__ = ("aval",)

    def __init__(self, aval):
        self.aval = aval


register_value_type(_AvalOnly, lambda x: x.aval)


@api_boundary
def vjp(fun: Callable, *primals: Any, has_aux: bool = False, reduce_axes: Sequence = ()) -> tuple:
    """Evaluates a function and returns its vector-Jacobian product at that point (reverse mode).

    Args:
      fun: function of arrays and pytrees of them.
      *primals: the point.
      has_aux: whether `fun` returns a pair (result, auxiliary data).
      reduce_axes: names of mapped axes; the cotangent of a primal that is shared along one is summed over it, and the
        others stay per example.

    Returns:
      `(result, vjp_fun)`, where `vjp_fun(cotangent)` takes a pytree like the result and returns a tuple with
      one cotangent per primal (`float0` zeros for integer primals); and the auxiliary data as a third item with
      `has_aux`. `vjp_fun` is a pytree and may be returned from a jitted function. `vjp_fun.with_refs(...)` is a function that adds
      cotangents to references; it must be used where a primal is a reference, whose cotangent is that of what was in it at first.
    """
    check_callable("vjp", fun)
    flat, in_tree = tree_flatten(primals)
    _check_array_leaves("vjp: primals", primals)
    flat_fun = _FlatFunction(fun, in_tree, has_aux)
    in_avals = [get_aval(x) for x in flat]
    mask = tuple(dtypes.issubdtype(aval.dtype, dtypes.inexact) for aval in in_avals)
    refs = [(i, x) for i, x in enumerate(flat) if isinstance(x, Ref)]
    run, write_back = with_arrays_for_refs(flat_fun, refs) if refs else (flat_fun, None)
    results, program = linearize_flat(run, [shaped(x) for x in (arrays_of(flat) if refs else flat)], mask, f"vjp({_name(fun)})", _paths(primals))
    if write_back is not None:
        results = write_back(results)
    pullback = VJPFunction(program, _name(fun), in_tree, flat_fun.out_tree, mask, tuple(in_avals),
                           tuple(get_aval(r) for r in results), tuple(reduce_axes), tuple(flat) if reduce_axes else ())
    result = tree_unflatten(flat_fun.out_tree, results)
    return (result, pullback, flat_fun.aux) if has_aux else (result, pullback)


def _paths(primals: tuple) -> Callable[[int], str]:
    """What messages call the leaves of positional arguments: `0['w']`."""
    def name(index: int) -> str:
        path, _ = tree_flatten_with_path(primals)[0][index]
        return f"{path[0].idx}{keystr(path[1:])}"
    return name


@register_linear_function
class VJPFunction(LinearFunction):
    """The pullback that `vjp` returns: a function of the cotangent."""

    __slots__ = ("name", "in_tree", "out_tree", "mask", "in_avals", "out_avals", "reduce_axes")

    def __init__(self, program: LinearProgram, name: str, in_tree, out_tree, mask, in_avals, out_avals, reduce_axes, primals):
        super().__init__(program, primals)
        self.name = name
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.mask = mask
        self.in_avals = in_avals
        self.out_avals = out_avals
        self.reduce_axes = reduce_axes

    def __call__(self, *cotangents: Any) -> Any:
        for aval in self.in_avals:
            if type(aval) is not ShapedArray:
                raise unbound_error(self.name, aval)
        return tree_unflatten(self.in_tree, self._pull_back(cotangents, self.program))

    def with_refs(self, *maybe_ct_refs: Any) -> PullbackWithRefs:
        """The function of the cotangent that adds cotangents of the primals to references.

        Args:
          *maybe_ct_refs: one for each primal, a pytree like it with a `Ref` for each array, to which its cotangent is added, or
            `ad.GradValue()`, with which it is returned, or `ad.DontWant()`, with which it is not computed.

        Returns:
          A function from the cotangent of the result to a tuple of cotangents, with `ad.GradRef()` and `ad.DidntWant()` in the
          places of those that are not returned.

        Raises:
          ValueError: for another structure, or a reference that does not fit the cotangent.
          TypeError: for anything else.

        Example:
          >>> ref = new_ref(1.)
          >>> vjp(sin, 0.)[1].with_refs(ref)(1.)
          (GradRef(),)
          >>> ref
          Ref(2., dtype=float32, weak_type=True)
        """
        entries = checked_entries(self.name, self.in_tree, self.in_avals, maybe_ct_refs)
        return PullbackWithRefs(self.name, self._pull_back, self.program, self.in_tree, self.mask, entries)

    def _pull_back(self, cotangents: tuple, program: LinearProgram) -> list[Any]:
        """The cotangents of the leaves of the primals; for references those of the arrays."""
        if len(cotangents) != 1:
            raise TypeError(f"the function that vjp returned, applied to {self.name}, takes one argument, the cotangent of the result of "
                            f"{self.name}; got {len(cotangents)}. If the result is a tuple or another container, give one like it.")
        (cotangent,) = cotangents
        flat, ct_tree = tree_flatten(cotangent)
        if ct_tree != self.out_tree:
            raise ValueError("vjp: unexpected tree structure: the cotangent must have the structure of the function's result; " +
                             _where_trees_part(self.out_tree, cotangent, "result", "cotangent"))
        paths = [keystr(path) for path, _ in tree_flatten_with_path(cotangent)[0]]
        cts = [_checked_cotangent(path, ct, aval) for path, ct, aval in zip(paths, flat, self.out_avals)]
        found = iter(program.transpose([*cts, *no_cotangents(len(program.results) - len(cts))]))
        in_cts = _summed([next(found) if has else ZERO for has in self.mask], self.primals, self.reduce_axes)
        return [_cotangent(ct, aval if type(aval) is ShapedArray else aval.inner_aval) for ct, aval in zip(in_cts, self.in_avals)]


def _summed(cts: list[Any], primals: Sequence[Any], reduce_axes: Sequence) -> list[Any]:
    """Cotangents, those of primals that are shared along the named axes summed over them; they may be `ZERO`."""
    if not reduce_axes:
        return cts
    from laminax_ir.ops.collectives import psum_shared
    return [ct if ct is ZERO else psum_shared(ct, x, reduce_axes) for ct, x in zip(cts, primals)]


def _checked_cotangent(path: str, ct: Any, result_aval) -> Any:
    expected = result_aval.to_tangent_aval()
    return ZERO if expected.dtype == dtypes.float0 else _like_result("vjp: unexpected JAX type", path, ct, expected, ValueError)


def _like_result(transform: str, path: str, ct: Any, expected: ShapedArray, error: type[Exception]) -> Any:
    aval = get_aval(ct)
    if aval.shape != expected.shape or aval.dtype != expected.dtype:
        raise error(f"{transform}: the cotangent{path} must have the shape and dtype of the result, {expected.str_short()}; got "
                    f"{aval.str_short()}. Convert or reshape it.")
    return _typed(ct, expected)


@api_boundary
def linear_transpose(fun: Callable, *primals: Any, reduce_axes: Sequence = ()) -> Callable:
    """Transposes a function that is linear in all its arguments.

    Args:
      fun: the linear function.
      *primals: examples of its arguments: arrays or anything with shape and dtype.
      reduce_axes: names of mapped axes; the cotangent of an argument that is shared along one is summed over it.

    Returns:
      A function from a cotangent (a pytree like `fun`'s result) to a tuple of cotangents, one per primal. It is a pytree and
      may be returned from a jitted function.

    Raises:
      TypeError: if the function is not linear in its arguments, if arguments and results are not all floating or complex, or
        all integer; and, by the returned function, if the cotangent does not match the result.

    Example:
      >>> linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
      (6.0,)
    """
    flat, in_tree = tree_flatten(primals)
    avals = [_shape_dtype_aval(x) for x in flat]
    flat_fun = _FlatFunction(fun, in_tree)
    program = linear_program_of(flat_fun, avals)
    _check_linear_dtypes(fun, [aval.dtype for aval in avals], [aval.dtype for aval in program.out_avals if aval is not None])
    _check_jointly_linear(fun, program)
    likes = [x if is_array_like(x) else np.zeros((), np.float32) for x in flat]  # a shape alone is shared by all examples
    return _TransposedFunction(program, in_tree, flat_fun.out_tree, avals, tuple(reduce_axes), likes if reduce_axes else ())


@register_linear_function
class _TransposedFunction(LinearFunction):
    """The transpose that `linear_transpose` returns: a function of the cotangent."""

    __slots__ = ("in_tree", "out_tree", "in_avals", "reduce_axes")

    def __init__(self, program: LinearProgram, in_tree, out_tree, in_avals, reduce_axes, primals):
        super().__init__(program, primals)
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.in_avals = in_avals
        self.reduce_axes = reduce_axes

    def __call__(self, cotangent: Any) -> Any:
        paths = [keystr(path) for path, _ in tree_flatten_with_path(cotangent)[0]]
        cts, ct_tree = tree_flatten(cotangent)
        if ct_tree != self.out_tree:
            raise TypeError("linear_transpose: cotangent tree does not match: the cotangent must have the structure of the function's result; " +
                            _where_trees_part(self.out_tree, cotangent, "result", "cotangent"))
        cts = [ct if aval is None else _like_result("linear_transpose: cotangent type does not match", path, ct, aval, TypeError)
               for path, ct, aval in zip(paths, cts, self.program.out_avals)]
        in_cts = _summed(self.program.transpose(cts), self.primals, self.reduce_axes)
        return tree_unflatten(self.in_tree, [zeros_of(aval) if ct is ZERO else ct for ct, aval in zip(in_cts, self.in_avals)])


def _check_linear_dtypes(fun: Callable, ins: list, outs: list) -> None:
    """A linear function stays within the floating and complex numbers, or within the integers."""
    if not any(all(dtypes.issubdtype(dtype, kind) for dtype in [*ins, *outs]) for kind in (dtypes.inexact, dtypes.integer)):
        raise TypeError("linear_transpose only supports [float or complex] -> [float or complex], and integer -> integer functions, but "
                        f"{_name(fun)} is {[str(dtype) for dtype in ins]} -> {[str(dtype) for dtype in outs]}. Convert its arguments before, or "
                        "its results after it.")


_PRODUCTS = frozenset(("mul", "div", "dot_general", "conv_general_dilated"))


def _check_jointly_linear(fun: Callable, program: LinearProgram) -> None:
    """Products are linear in each operand alone: one of two values that both depend on the arguments is not linear."""
    for eqn in program.eqns:
        if eqn.primitive.name in _PRODUCTS and len(eqn.inputs) > 1:
            where = source.summarize(eqn.source)
            raise TypeError(f"linear_transpose: {_name(fun)} is not linear: {eqn.primitive}{' at ' + where if where else ''} "
                            "has two operands that depend on the arguments. Use vjp for functions that are not linear.")


def _shape_dtype_aval(x: Any):
    if is_array_like(x):
        return get_aval(x)
    return ShapedArray(x.shape, x.dtype)


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False,
         allow_int: bool = False, reduce_axes: Sequence = ()) -> Callable:
    """Makes a function that computes the gradient of a scalar function.

    Args:
      fun: function of arrays and pytrees of them whose result is a scalar.
      argnums: which positional arguments to differentiate, one index or a sequence of them.
      has_aux: whether `fun` returns a pair (scalar, auxiliary data).
      holomorphic: whether `fun` is holomorphic; arguments and result must then be complex.
      allow_int: whether integer arguments are allowed; their gradients are zeros of dtype `float0`.
      reduce_axes: names of mapped axes; the gradient of an argument that is shared along one is summed over it, and
        the others stay per example.

    Returns:
      A function of the same arguments that returns the gradient with respect to the argument(s): a pytree
      like the argument, a tuple of them if `argnums` is a sequence; and `(gradient, aux)` with `has_aux`.

    Raises:
      TypeError: if the result is not a scalar, or arguments or result are not of a differentiable dtype.

    Example:
      >>> grad(ops.elementwise.tanh)(0.2)
    """
    value_and_grad_fun = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes, _transform="grad")

    @api_boundary
    @wraps(fun, updated=())
    def grad_fun(*args, **kwargs):
        value, gradient = value_and_grad_fun(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return grad_fun


def value_and_grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False,
                   allow_int: bool = False, reduce_axes: Sequence = (), *, _transform: str = "value_and_grad") -> Callable:
    """Makes a function that computes both a scalar function and its gradient.

    Arguments are those of `grad`.

    Returns:
      A function of the same arguments that returns `(value, gradient)`, and `((value, aux), gradient)` with
      `has_aux`.
    """
    check_callable(_transform, fun)
    argnums = _checked_argnums(_transform, argnums)

    @api_boundary
    @wraps(fun, updated=())
    def value_and_grad_fun(*args, **kwargs):
        positions = _positions(_transform, fun, argnums, len(args))
        chosen = tuple(args[i] for i in positions)
        flat, in_tree = tree_flatten(chosen)
        in_avals = [_checked_input(_transform, chosen, positions, i, x, holomorphic, allow_int)
                    for i, x in enumerate(flat)]

        def fun_of_chosen(*values):
            full = list(args)
            for i, value in zip(positions, values):
                full[i] = value
            return fun(*full, **kwargs)

        fun_of_chosen.__name__ = _name(fun)
        flat_fun = _FlatFunction(fun_of_chosen, in_tree, has_aux)
        mask = [dtypes.issubdtype(aval.dtype, dtypes.inexact) for aval in in_avals]
        results, program = linearize_flat(flat_fun, [shaped(x) for x in flat], mask, f"{_transform}({_name(fun)})",
                                          lambda i: _input_name(chosen, positions, i).removeprefix("argument "))
        _check_scalar_output(_transform, fun, results, flat_fun.out_tree, holomorphic)
        seed = _one(get_aval(results[0]))
        found = iter(program.transpose([seed], used_up=True))
        cts = _summed([next(found) if has else ZERO for has in mask], flat, reduce_axes)
        gradient = tree_unflatten(in_tree, [_cotangent(ct, aval) for ct, aval in zip(cts, in_avals)])
        if isinstance(argnums, int):
            gradient = gradient[0]
        value = results[0]
        return ((value, flat_fun.aux), gradient) if has_aux else (value, gradient)

    return value_and_grad_fun


def _one(aval: ShapedArray) -> Any:
    """The cotangent of the scalar itself; while tracing a literal, which costs no equation."""
    if aval.weak_type:
        return weak_scalar(1, aval.dtype)
    return np.dtype(aval.dtype).type(1) if is_tracing() else full((), 1, aval.dtype)


def _checked_argnums(transform: str, argnums) -> int | tuple[int, ...]:
    if isinstance(argnums, (list, tuple)) and all(hasattr(i, "__index__") for i in argnums):
        return tuple(i.__index__() for i in argnums)
    if hasattr(argnums, "__index__") and not isinstance(argnums, bool):
        return argnums.__index__()
    raise TypeError(f"{transform}: argnums must be an integer or a tuple or list of integers, got {argnums!r} of type "
                    f"{type(argnums).__name__}")


def _positions(transform: str, fun: Callable, argnums: int | tuple[int, ...], count: int,
               error: type[Exception] = TypeError) -> tuple[int, ...]:
    positions = (argnums,) if isinstance(argnums, int) else argnums
    for i in positions:
        if not -count <= i < count:
            raise error(f"{transform}({_name(fun)}): differentiating with respect to argnums={argnums} requires at least "
                        f"{max(i + 1, -i)} positional arguments to be passed by the caller, but got only {count} positional arguments. "
                        "Give the arguments that are differentiated by position.")
    chosen = tuple(i % count for i in positions)
    if len(set(chosen)) < len(chosen):
        raise TypeError(f"{transform}({_name(fun)}): argnums={argnums} names an argument of {count} twice. Give each position once.")
    return chosen


def _checked_input(transform: str, chosen, positions, index: int, x: Any, holomorphic: bool, allow_int: bool):
    try:
        aval = get_aval(x)
    except TypeError:
        raise TypeError(f"{transform}: {_input_name(chosen, positions, index)}, {x!r} of type {type(x)} is not a valid JAX type. Only arrays "
                        "and pytrees of arrays can be differentiated; choose others with argnums, or convert it.") from None
    dtype = aval.dtype
    if dtypes.is_extended(dtype) and not allow_int:
        raise TypeError(f"{transform} requires real- or complex-valued inputs: cannot differentiate with respect to "
                        f"{_input_name(chosen, positions, index)} of dtype {aval.str_short()}")
    if holomorphic:
        if not dtypes.issubdtype(dtype, dtypes.complexfloating):
            raise TypeError(f"{transform} with holomorphic=True requires inputs with complex dtype, but got {dtype.name}: "
                            f"{_input_name(chosen, positions, index)} is {aval.str_short()}")
    elif dtypes.issubdtype(dtype, dtypes.integer) or dtypes.issubdtype(dtype, np.bool_):
        if not allow_int:
            raise TypeError(f"{transform} requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
                            f"np.inexact), but got {dtype.name}: {_input_name(chosen, positions, index)} is {aval.str_short()}. If you want to "
                            "use Boolean- or integer-valued inputs, use vjp or set allow_int to True; or convert it to a float.")
    return aval


def _input_name(chosen, positions, index: int) -> str:
    path, _ = tree_flatten_with_path(chosen)[0][index]
    return f"argument {positions[path[0].idx]}{keystr(path[1:])}"


def _check_scalar_output(transform: str, fun: Callable, results, out_tree, holomorphic: bool) -> None:
    if len(results) != 1 or out_tree != tree_structure(0):
        raise TypeError(f"Gradient only defined for scalar-output functions. {transform}({_name(fun)}): the function "
                        f"returned a {out_tree} instead of one scalar. Use has_aux=True to return more beside the scalar, "
                        "or vjp or jacrev.")
    aval = get_aval(results[0])
    if aval.shape != ():
        raise TypeError(f"Gradient only defined for scalar-output functions. {transform}({_name(fun)}): output had "
                        f"shape: {aval.shape}, {aval.str_short()}. Sum or average it, or use jacrev or vmap(grad(...)).")
    if holomorphic:
        if not dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
            raise TypeError(f"{transform} with holomorphic=True requires outputs with complex dtype, but got {aval.dtype.name}.")
    elif dtypes.issubdtype(aval.dtype, dtypes.complexfloating):
        raise TypeError(f"{transform} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}. For holomorphic differentiation, pass holomorphic=True. For differentiation of "
                        "non-holomorphic functions involving complex outputs, use vjp directly.")
    elif not dtypes.issubdtype(aval.dtype, dtypes.floating):
        raise TypeError(f"{transform} requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got "
                        f"{aval.dtype.name}. If you want to use integer outputs, use vjp directly.")
