"""Differentiation of functions on pytrees: `jvp`, `linearize` and `vjp`."""

from __future__ import annotations

from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, Callable, Sequence, cast

import numpy as np

from laminax_ir.functions.weak_scalars import shaped, weak_scalar
from laminax_ir.ops.collectives import psum_shared
from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.pytrees.pytree import keystr, structure_errors, tree_flatten, tree_flatten_with_path, tree_structure, tree_unflatten
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.refs.refs import Ref, argument_namer, check_aliases
from laminax_ir.tracing.manual_axes import checked_axes, varies_beyond
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_callable, function_name
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like, register_value_type
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.ref_types import AbstractRef
from laminax_transforms.base.flat_functions import FlatFunction, check_array_leaves
from laminax_transforms.base.zeros import ZERO, has_tangents, instantiate, instantiate_cotangent, spread
from laminax_transforms.batching.named_axes import checked_reduce_axes
from laminax_transforms.differentiation.differentiated_refs import with_dual_refs
from laminax_transforms.differentiation.differentiation import jvp_flat, linearize_flat
from laminax_transforms.differentiation.gradient_refs import (
    PullbackWithRefs,
    arrays_of,
    checked_entries,
    no_cotangents,
    unbound_error,
    with_arrays_for_refs,
)
from laminax_transforms.differentiation.linear import LinearProgram
from laminax_transforms.differentiation.linear_functions import LinearFunction, register_linear_function
from laminax_transforms.differentiation.nonzero_flags import flags_of, mirrored
from laminax_transforms.differentiation.pullbacks_with_logs import PullbackWithLogs
from laminax_transforms.differentiation.saved_values import Place, SavedValues, argument_places, is_whole, without_arguments

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import Jaxpr
    from laminax_ir.pytrees.pytree import PyTreeDef
    from laminax_ir.types.annotations import Array, ArrayLike


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
      >>> jvp(lambda x: x ** 2, (3.0,), (1.0,))
    """
    check_callable("jvp", fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("jvp: primal and tangent arguments to jax.jvp must be tuples or lists; found "
                        f"{type(primals).__name__} and {type(tangents).__name__}. Give one entry per argument of the function: "
                        "write jvp(f, (x,), (x_dot,)).")
    flat_primals, in_tree = tree_flatten(primals)
    flat_tangents, tangent_tree = tree_flatten(tangents)
    if in_tree != tangent_tree:
        raise TypeError("jvp: primal and tangent arguments to jax.jvp must have the same tree structure; " +
                        where_trees_part(in_tree, tangents, "primals", "tangents"))
    check_array_leaves("jvp: primals", primals)
    flat_fun = FlatFunction(fun, in_tree, has_aux)
    refs = [(i, p, t) for i, (p, t) in enumerate(zip(flat_primals, flat_tangents)) if isinstance(p, Ref)]
    flat_tangents = [_checked_tangent(f"tangents{keystr(path)}", p, t, *_JVP_MISMATCHES)
                     for (path, p), t in zip(tree_flatten_with_path(primals)[0], flat_tangents)]
    results, out_tangents = jvp_flat(with_dual_refs(flat_fun, refs) if refs else flat_fun, [shaped(x) for x in flat_primals], flat_tangents,
                                     f"jvp({function_name(fun)})")
    out_tangents = [instantiate(t, get_aval(r)) for r, t in zip(results, out_tangents)]
    result, tangent = tree_unflatten(flat_fun.out_tree, results), tree_unflatten(flat_fun.out_tree, out_tangents)
    return (result, tangent, flat_fun.aux) if has_aux else (result, tangent)


def where_trees_part(expected: Any, tree: Any, expected_name: str, tree_name: str) -> str:
    """The first place where a tree differs from the expected structure, as part of a sentence."""
    for mismatch in structure_errors(expected, tree, exact=True):
        where = keystr(mismatch.path)
        return f"{expected_name}{where} is {mismatch.prefix}, {tree_name}{where} is {mismatch.full}"
    return f"{expected_name} is {expected}, {tree_name} is {tree_structure(tree)}"


# The errors for a tangent whose shape, or whose dtype, differs from that of its primal.
_JVP_MISMATCHES = (ValueError("jvp called with different primal and tangent shapes"),
                   TypeError("jvp: primal and tangent arguments to jax.jvp do not match"))
_LINEARIZED_MISMATCHES = (ValueError("linearized function called on tangent values inconsistent with the original primal values"),) * 2


def _checked_tangent(what: str, primal: ArrayLike, tangent: ArrayLike, of_shape: Exception, of_dtype: Exception) -> Array:
    primal_aval = get_aval(primal)
    if isinstance(primal, Ref):
        return _checked_tangent_ref(what, primal, tangent, of_shape)
    expected = primal_aval.to_tangent_aval()
    if isinstance(expected, HiType):
        return _of_hi_type(f"{what}: the tangent", tangent, expected)
    if getattr(tangent, "dtype", None) == dtypes.float0 or expected.dtype == dtypes.float0:
        if getattr(tangent, "dtype", None) != expected.dtype or np.shape(tangent) != expected.shape:
            raise type(of_dtype)(f"{of_dtype}. {what}: the tangent of {primal_aval.str_short()} must be {expected.str_short()}, got "
                                 f"{_describe(tangent)}")
        return ZERO
    aval = get_aval(tangent)
    if aval.shape != expected.shape or aval.dtype != expected.dtype:
        error = of_dtype if aval.shape == expected.shape else of_shape
        raise type(error)(f"{error}. {what}: a tangent must have the shape and dtype of its primal, {expected.str_short()}; got "
                          f"{aval.str_short()}. Convert one of them.")
    return _as_weak_as(expected, _typed(tangent, expected))


def _check_variation_of_tangents(tangents: Sequence[Any], primal_avals: Sequence[ShapedArray], tree: Any) -> None:
    """Checks that no tangent varies along axes of devices along which its primal does not: the function was linearized at one point, which
    all devices have.

    Raises:
      ValueError: if one does.
    """
    for (path, _), t, aval in zip(tree_flatten_with_path(tree)[0], tangents, primal_avals):
        if t is not ZERO and (names := varies_beyond(get_aval(t), aval)):
            raise ValueError(f"{_LINEARIZED_MISMATCHES[0]}. tangents{keystr(path)}, {get_aval(t).str_short()}, varies along the axes "
                             f"{names} of devices, and its primal, {aval.str_short()}, does not. This might be fixed by applying "
                             f"`jax.lax.pcast(..., {names}, to='varying')` to the primal value passed to linearize.")


def _checked_tangent_ref(what: str, primal: Ref, tangent: Any, error: Exception) -> Any:
    """Checks a reference to tangents; returns the flat tangent, `ZERO`, since the reference goes with its primal as a `DualRef`."""
    if not isinstance(tangent, Ref) or get_aval(tangent) != primal.aval.to_tangent_aval():
        got = get_aval(tangent) if is_array_like(tangent) or isinstance(tangent, Ref) else type(tangent).__name__
        raise type(error)(f"{error}. {what}: the tangent of a reference, {primal.aval}, must be a reference to tangents, "
                          f"{primal.aval.to_tangent_aval()}, got {got}. Make one with new_ref(zeros_like(ref[...])), or close over the "
                          "reference.")
    return ZERO


def _of_hi_type(what: str, x: Any, expected: HiType) -> Any:
    """A tangent or cotangent of a type of users' own, checked."""
    found = get_aval(x) if is_array_like(x) else type(x).__name__
    if found is not expected:
        raise ValueError(f"{what} must be of the type {expected.str_short()}, got {found}")
    return x


def _typed(x: ArrayLike, aval: ShapedArray) -> Array:
    """The tangent or cotangent; a Python scalar, which has no shape for rules to read, becomes a scalar of the aval's dtype."""
    if type(x) not in dtypes.python_scalar_types:
        return x
    return weak_scalar(x, aval.dtype) if aval.weak_type else aval.dtype.type(x)


def _as_weak_as(primal_aval: ShapedArray, x: ArrayLike) -> Array:
    """A nonzero tangent or cotangent, made weakly typed if its primal is: operations with strongly typed values made it strong."""
    if isinstance(primal_aval, HiType) or not primal_aval.weak_type or get_aval(x).weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=primal_aval.dtype, weak_type=True)


def cotangent_of_type(ct: Any, primal_aval: ShapedArray) -> Any:
    """The cotangent of an argument, as an array of its type."""
    return instantiate_cotangent(ct, primal_aval) if ct is ZERO else _as_weak_as(primal_aval, ct)


def _describe(x: ArrayLike) -> str:
    return get_aval(x).str_short() if is_array_like(x) else f"{getattr(x, 'dtype', type(x).__name__)}{np.shape(x)}"


@api_boundary
def linearize(fun: Callable, *primals: Any, has_aux: bool = False, in_nzs: Any = None) -> tuple:
    """Linearizes a function at a point.

    Args:
      fun: function of arrays and pytrees of them.
      *primals: the point.
      has_aux: whether `fun` returns a pair (result, auxiliary data).
      in_nzs: which primals have tangents that may be nonzero: a bool, or a tree of bools that is a prefix of `primals`, where tuples may
        stand for other containers. The tangents of the others count as zero. Which results then have nonzero tangents is in
        `f_jvp.out_nzs`.

    Returns:
      `(result, f_jvp)`, where `f_jvp(*tangents)` is the derivative at the point, without evaluating `fun` again;
      and the auxiliary data as a third item with `has_aux`. `f_jvp` is a pytree and may be returned from a jitted function. It
      raises a TypeError for tangents of another structure than the primals', and a ValueError for tangents of other shapes or
      dtypes.

    Example:
      >>> y, f_jvp = linearize(jnp.sin, 0.0)
      >>> y, f_jvp(2.0)
      (Array(0., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable("linearize", fun)
    flat, in_tree = tree_flatten(primals)
    check_array_leaves("linearize: primals", primals)
    flat_fun = FlatFunction(fun, in_tree, has_aux)
    mask = [has_tangents(get_aval(x)) and not isinstance(x, Ref) for x in flat]
    if in_nzs is not None:
        mask = [has and nz for has, nz in zip(mask, flags_of(in_nzs, in_tree, "in_nzs", "the in_nzs argument to linearize"))]
    results, program = linearize_flat(flat_fun, [shaped(x) for x in flat], mask, f"linearize({function_name(fun)})", _paths(primals))
    in_avals = [get_aval(x) for x in flat]
    result_avals = [get_aval(r) for r in results]

    f_jvp = _LinearizedFunction(program, in_tree, flat_fun.out_tree, mask, in_avals, result_avals)
    result = tree_unflatten(flat_fun.out_tree, results)
    return (result, f_jvp, flat_fun.aux) if has_aux else (result, f_jvp)


@register_linear_function
class _LinearizedFunction(LinearFunction):
    """The derivative that `linearize` returns: a function of the tangents."""

    __slots__ = ("in_tree", "out_tree", "mask", "in_avals", "out_avals")

    def __init__(self, program: LinearProgram, in_tree: PyTreeDef, out_tree: PyTreeDef, mask: Sequence[bool],
                 in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> None:
        super().__init__(program)
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.mask = mask
        self.in_avals = in_avals
        self.out_avals = out_avals

    @property
    def out_nzs(self) -> Any:
        """Which results have tangents that may be nonzero: a tree of bools like the result."""
        return mirrored(self.out_tree, [index is not None for index in self.program.results])

    def __call__(self, *tangents: Any) -> Any:
        return self._results(self.program.apply(self._checked(tangents)))

    def _checked(self, tangents: tuple) -> list[Any]:
        """The tangents of the differentiated primals."""
        if tree_structure(tangents) != self.in_tree:
            raise TypeError("linearized function: the tangents must have the structure of the primals; " +
                            where_trees_part(self.in_tree, tangents, "primals", "tangents"))
        checked = [_checked_tangent(f"tangents{keystr(path)}", _AvalOnly(aval), t, *_LINEARIZED_MISMATCHES)
                   for aval, (path, t) in zip(self.in_avals, tree_flatten_with_path(tangents)[0])]
        if checked_axes():
            _check_variation_of_tangents(checked, self.in_avals, tangents)
        return [t for t, has in zip(checked, self.mask) if has]

    def _results(self, out: Sequence[Any]) -> Any:
        return tree_unflatten(self.out_tree, [instantiate(t, aval) for t, aval in zip(out, self.out_avals)])

    @property
    def func(self) -> partial:
        """The function of the residuals and the tangents: `func(*args, *tangents)` is what this function returns.

        It is a `functools.partial` of the linear program, which is `func.args[0]`: a jaxpr of the residuals and the tangents.
        """
        return partial(self._evaluate, self.program.to_jaxpr()[0])

    @property
    def args(self) -> tuple[list[Any]]:
        """The residuals, the values that are saved for the derivative: a list."""
        return (self.program.residuals(),)

    @property
    def keywords(self) -> dict[str, Any]:
        """No keyword arguments: `func`, `args` and `keywords` make this function look like a `functools.partial`."""
        return {}

    def _evaluate(self, jaxpr: Jaxpr, residuals: Sequence[Any], *tangents: Any) -> Any:
        avals = [aval.to_tangent_aval() for aval, has in zip(self.in_avals, self.mask) if has]
        given = [instantiate(t, aval) for t, aval in zip(self._checked(tangents), avals)]
        out = iter(eval_jaxpr(jaxpr, (), *residuals, *given))
        return self._results([ZERO if index is None else next(out) for index in self.program.results])


class _AvalOnly:
    """Stands for a value where only its aval is needed."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval


register_value_type(_AvalOnly, lambda x: x.aval)


@api_boundary
def vjp(fun: Callable, *primals: Any, has_aux: bool = False, reduce_axes: Sequence = (), saveable_args: Any = True,
        in_nzs: Any = None) -> tuple:
    """Evaluates a function and returns its vector-Jacobian product at that point (reverse mode).

    Args:
      fun: function of arrays and pytrees of them.
      *primals: the point.
      has_aux: whether `fun` returns a pair (result, auxiliary data).
      reduce_axes: names of mapped axes; the cotangent of a primal that is shared along one is summed over it, and the
        others stay per example.
      saveable_args: which primals may be saved for the pullback: a bool, or a tree of bools that is a prefix of `primals`, where tuples
        may stand for any container. Arguments that may not be saved have `NotSaveable()` in their places in `vjp_fun.args_res`, where they
        must be put before `vjp_fun` is called; what is computed of them is saved.
      in_nzs: which primals have tangents that may be nonzero, as for `linearize`; the cotangents of the others are zeros. Which results'
        cotangents count is in `vjp_fun.out_nzs`.

    Returns:
      `(result, vjp_fun)`, where `vjp_fun(cotangent)` takes a pytree like the result and returns a tuple with
      one cotangent per primal (`float0` zeros for integer primals); and the auxiliary data as a third item with
      `has_aux`. `vjp_fun` is a pytree and may be returned from a jitted function. `vjp_fun.with_refs(...)` is a function that adds
      cotangents to references; it must be used where a primal is a reference, whose cotangent is that of its initial value.

    Example:
      >>> y, f_vjp = vjp(jnp.multiply, 2.0, 3.0)
      >>> f_vjp(1.0)
      (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable("vjp", fun)
    reduce_axes = checked_reduce_axes("vjp", reduce_axes)
    flat, in_tree = tree_flatten(primals)
    check_array_leaves("vjp: primals", primals)
    flat_fun = FlatFunction(fun, in_tree, has_aux)
    in_avals = [get_aval(x) for x in flat]
    mask = tuple([has_tangents(aval) for aval in in_avals])
    saveable = flags_of(saveable_args, in_tree, "saveable_args", "the saveable_args argument to vjp")
    if in_nzs is not None:
        mask = tuple(has and nz for has, nz in zip(mask, flags_of(in_nzs, in_tree, "in_nzs", "the in_nzs argument to vjp")))
    refs = [(i, x) for i, x in enumerate(flat) if isinstance(x, Ref)]
    if len(refs) > 1:
        check_aliases(function_name(fun), "vjp", flat, (), argument_namer(fun, in_tree))
    run, write_back = with_arrays_for_refs(flat_fun, refs) if refs else (flat_fun, None)
    results, program = linearize_flat(run, [shaped(x) for x in (arrays_of(flat) if refs else flat)], mask, f"vjp({function_name(fun)})",
                                      _paths(primals))
    if write_back is not None:
        results = write_back(results)
    pullback = VJPFunction(program, function_name(fun), in_tree, flat_fun.out_tree, mask, tuple(in_avals),
                           tuple(get_aval(r) for r in results), reduce_axes, tuple(flat) if reduce_axes else (), tuple(map(id, flat)))
    if not all(saveable):
        pullback.let_go(saveable)
    result = tree_unflatten(flat_fun.out_tree, results)
    return (result, pullback, flat_fun.aux) if has_aux else (result, pullback)


def _paths(primals: tuple) -> Callable[[int], str]:
    """The names of the leaves of positional arguments in messages: `0['w']`."""
    def name(index: int) -> str:
        path, _ = tree_flatten_with_path(primals)[0][index]
        return f"{path[0].idx}{keystr(path[1:])}"
    return name


@register_linear_function
class VJPFunction(LinearFunction):
    """The pullback that `vjp` returns: a function of the cotangent.

    `args_res` has what it has saved of the arguments, a list with a tree for each, with `NotNeeded()` for leaves that are not saved as
    they are; `opaque_residuals` is the list of the other values. Both may be changed, such as `args_res[0] = None` and then back.
    """

    __slots__ = ("name", "in_tree", "out_tree", "mask", "in_avals", "out_avals", "reduce_axes", "_leaf_ids", "_places", "_saved")

    def __init__(self, program: LinearProgram, name: str, in_tree: PyTreeDef, out_tree: PyTreeDef, mask: tuple[bool, ...],
                 in_avals: tuple[ShapedArray, ...], out_avals: tuple[ShapedArray, ...], reduce_axes: tuple[Any, ...],
                 primals: Sequence[Any], leaf_ids: Sequence[int]) -> None:
        super().__init__(program, primals)
        self._leaf_ids: Sequence[int] | None = leaf_ids  # until the places of the arguments in the program are known
        self._places: tuple[Place, ...] = ()
        self._saved: SavedValues | None = None
        self.name = name
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.mask = mask
        self.in_avals = in_avals
        self.out_avals = out_avals
        self.reduce_axes = reduce_axes

    @property
    def out_nzs(self) -> Any:
        """Which results have cotangents that count: a tree of bools like the result."""
        return mirrored(self.out_tree, [index is not None for index in self.program.results])

    def __call__(self, *cotangents: ArrayLike) -> tuple[Array, ...]:
        for aval in self.in_avals:
            if isinstance(aval, AbstractRef):
                raise unbound_error(self.name, aval)
        return tree_unflatten(self.in_tree, self._pull_back(cotangents, self._called_program()))

    @property
    def args_res(self) -> list[Any]:
        """What is saved of the arguments: a list with a tree for each."""
        return self._saved_values().args_res

    @args_res.setter
    def args_res(self, trees: Sequence[Any]) -> None:
        self._saved_values().args_res = list(trees)

    @property
    def opaque_residuals(self) -> list[Any]:
        """The values that are saved beside those of the arguments."""
        return self._saved_values().opaque_residuals

    @opaque_residuals.setter
    def opaque_residuals(self, values: Sequence[Any]) -> None:
        self._saved_values().opaque_residuals = list(values)

    @property
    def jaxpr(self) -> Jaxpr:
        """The linear program that the function transposes: of what is saved and the tangents of the primals, to those of the result."""
        return self.current_program().to_jaxpr()[0]

    def _saved_values(self) -> SavedValues:
        if self._saved is None:
            self.settle()
            self._saved = SavedValues(self.program, self._places, self.in_tree)
        return self._saved

    def settle(self) -> None:
        if self._leaf_ids is not None:  # the arguments are in the program as they were given
            self._places, self._leaf_ids = argument_places(self.program, self._leaf_ids), None

    def let_go(self, saveable: Sequence[bool]) -> None:
        """Forgets the arguments that may not be saved, given by one flag for each leaf."""
        self.settle()
        self.program = without_arguments(self.program, self._places, saveable)

    def current_program(self) -> LinearProgram:
        return self.program if self._saved is None else self._saved.put_into(self.program, self.name, is_called=False)

    def _called_program(self) -> LinearProgram:
        """The program with the values that are in `args_res` and `opaque_residuals` now. None of them may be missing."""
        if self._saved is None and (not self._places or is_whole(self.program, self._places)):
            return self.program
        return self._saved_values().put_into(self.program, self.name, is_called=True)

    def replace(self, program: LinearProgram, primals: Sequence[Any]) -> LinearFunction:
        other = cast(VJPFunction, super().replace(program, primals))
        other._saved = None
        return other

    @property
    def with_logs(self) -> PullbackWithLogs:
        """The function of the cotangent that returns also what backward rules log, see `custom_vjp.defvjp_with_logs`.

        `with_logs(cotangent)` is a pair `(cotangents, logs)`, where `logs` is a dictionary; a scan stacks the logs of its steps, and `vmap`
        those of its examples. Raises ValueError if one key is logged twice, NotImplementedError for logs inside of a branch.

        Example:
          >>> f = custom_gradient(lambda x: (x ** 2, lambda ct: ((2 * ct * x,), {"ct": ct})), with_logs=True)
          >>> vjp(f, 3.0)[1].with_logs(1.0)[1]
          {'ct': Array(1., dtype=float32, weak_type=True)}
        """
        return PullbackWithLogs(f"vjp({self.name})", self)

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
          Ref(2., dtype=float32)
        """
        entries = checked_entries(self.name, self.in_tree, self.in_avals, maybe_ct_refs)
        return PullbackWithRefs(self.name, self._pull_back, self._called_program(), self.in_tree, self.mask, entries)

    def _pull_back(self, cotangents: tuple, program: LinearProgram, wanted: Sequence[bool] | None = None) -> list[Any]:
        """The cotangents of the leaves of the primals; for a reference, the cotangent of the array in it. None for those not `wanted`."""
        if len(cotangents) != 1:
            raise TypeError(f"The function returned by vjp applied to {self.name} was called with {len(cotangents)} arguments; it takes "
                            f"one, the cotangent of the result of {self.name}. If the result is a tuple or another container, give one "
                            "like it.")
        (cotangent,) = cotangents
        flat, ct_tree = tree_flatten(cotangent)
        if ct_tree != self.out_tree:
            raise ValueError("vjp: unexpected tree structure: the cotangent must have the structure of the function's result; " +
                             where_trees_part(self.out_tree, cotangent, "result", "cotangent"))
        paths = [keystr(path) for path, _ in tree_flatten_with_path(cotangent)[0]]
        cts = [_checked_cotangent(path, ct, aval) for path, ct, aval in zip(paths, flat, self.out_avals)]
        found = program.transpose([*cts, *no_cotangents(len(program.results) - len(cts))])
        in_cts = summed_over_axes(spread(found, self.mask), self.primals, self.reduce_axes)
        return [cotangent_of_type(ct, aval.inner_aval if isinstance(aval, AbstractRef) else aval) if is_wanted else None
                for ct, aval, is_wanted in zip(in_cts, self.in_avals, repeat(True) if wanted is None else wanted)]


def summed_over_axes(cts: list[Any], primals: Sequence[Any], reduce_axes: Sequence) -> list[Any]:
    """The cotangents (some may be `ZERO`), summed over the named axes where their primals are shared along them."""
    if not reduce_axes:
        return cts
    return [ct if ct is ZERO else psum_shared(ct, x, reduce_axes) for ct, x in zip(cts, primals)]


def _checked_cotangent(path: str, ct: ArrayLike, result_aval: ShapedArray) -> Array:
    expected = result_aval.to_ct_aval()
    if isinstance(expected, HiType):
        return _of_hi_type(f"vjp: the cotangent{path}", ct, expected)
    return ZERO if expected.dtype == dtypes.float0 else like_result("vjp: unexpected JAX type", path, ct, expected, ValueError)


def like_result(transform: str, path: str, ct: Any, expected: ShapedArray, error: type[Exception]) -> Any:
    aval = get_aval(ct)
    if aval.shape != expected.shape or aval.dtype != expected.dtype:
        raise error(f"{transform}: the cotangent{path} must have the shape and dtype of the result, {expected.str_short()}; got "
                    f"{aval.str_short()}. Convert or reshape it.")
    if names := varies_beyond(aval, expected):
        raise error(f"{transform}: the cotangent{path} must have the type of the result, {expected.str_short()}, which all devices have; "
                    f"got {aval.str_short()}, which varies along the axes {names} of devices. This might be fixed by applying "
                    f"`jax.lax.pcast(..., {names}, to='varying')` to the primal value, or by summing the cotangent by psum(..., {names}).")
    return _typed(ct, expected)
