"""Solvers that are differentiated through the equation that they solve, not through their iterations.

A linear solve or a root is defined by an equation; the implicit function theorem gives its derivative from that equation,
whatever iteration found the solution. Source: Blondel et al., "Efficient and Modular Implicit Differentiation",
NeurIPS 2022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import CustomJVPCall, close_over_constants
from laminax_ir.ops.linear_solve import SolveParts, bind_solve
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms.base.zeros import ZERO, instantiate
from laminax_transforms.differentiation.autodiff import linearize
from laminax_transforms.differentiation.differentiation import jvp_flat
from laminax_transforms.differentiation.linear_transposes import linear_transpose

if TYPE_CHECKING:
    from laminax_ir.pytrees.pytree import PyTreeDef


@api_boundary
def custom_linear_solve(matvec: Callable, b: Any, solve: Callable, transpose_solve: Callable | None = None,
                        symmetric: bool = False, has_aux: bool = False) -> Any:
    """Solves `matvec(x) = b` with the given solver; derivatives are solves, not derivatives of the solver.

    Args:
      matvec: linear function of a pytree like `b`, with a result like `b`; may close over arrays that are differentiated.
      b: right-hand side: array or pytree of them.
      solve: `solve(matvec, b)` returns the solution, a pytree like `b`.
      transpose_solve: `transpose_solve(vecmat, b)` solves with the transposed map; needed for reverse mode, unless the map is
        symmetric.
      symmetric: whether `matvec` is its own transpose. Its transpose is then not derived, and `transpose_solve` is by default `solve`.
      has_aux: whether `solve` and `transpose_solve` return a pair (solution, auxiliary data).

    Returns:
      The solution, a pytree like `b`; with `has_aux` a pair of it and the auxiliary data, which has derivative zero.

    Raises:
      TypeError: if `matvec` or a solver returns another structure or other dtypes than it should, or a given function is not callable.
      ValueError: if one returns other shapes.

    Example:
      >>> custom_linear_solve(lambda x: 2.0 * x, b, lambda matvec, b: b / 2.0)
    """
    for name, fun in (("matvec", matvec), ("solve", solve), ("transpose_solve", transpose_solve)):
        if not callable(fun) and not (fun is None and name == "transpose_solve"):
            raise TypeError(f"custom_linear_solve: {name} must be a function, got {fun!r}")
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, tree = tree_flatten(b)
    avals = [get_aval(x) for x in leaves]

    def trace(name: str, fun: Callable, aux: bool) -> tuple[ClosedJaxpr, list[Any], Any]:
        return _trace("custom_linear_solve", name, fun, tree, avals, aux)

    jaxpr, consts, _ = trace("matvec", matvec, False)
    solver, solver_consts, aux_tree = trace("solve", lambda x: solve(matvec, x), has_aux)
    jaxprs, constants = SolveParts(jaxpr, None, solver, None), SolveParts(consts, [], solver_consts, [])
    if transpose_solve is not None:
        if symmetric:
            vecmat, transposed, transposed_consts = matvec, jaxpr, consts
        else:
            vecmat = _transposed(matvec, b)
            transposed, transposed_consts, _ = trace("vecmat", vecmat, False)
        back, back_consts, _ = trace("transpose_solve", lambda x: transpose_solve(vecmat, x), has_aux)
        jaxprs = jaxprs._replace(vecmat=transposed, transpose_solve=back)
        constants = constants._replace(vecmat=transposed_consts, transpose_solve=back_consts)
    out = bind_solve(jaxprs, constants, leaves)
    x = tree_unflatten(tree, out[:len(leaves)])
    return (x, tree_unflatten(aux_tree, out[len(leaves):])) if has_aux else x


def _transposed(matvec: Callable, b: Any) -> Callable:
    transpose = linear_transpose(matvec, b)
    return lambda x: transpose(x)[0]


def _trace(caller: str, name: str, fun: Callable, tree: PyTreeDef, avals: Sequence[ShapedArray],
           has_aux: bool) -> tuple[ClosedJaxpr, list[Any], Any]:
    """The program of a function of one vector, with its constants as leading parameters; and the structure of its aux."""
    aux_tree = None

    def flat_fun(*flat: Any) -> list[Any]:
        nonlocal aux_tree
        result, aux = fun(tree_unflatten(tree, flat)), ()
        if has_aux:
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError(f"{caller}: with has_aux=True, {name} must return a pair (solution, aux), got "
                                f"{type(result).__name__}")
            result, aux = result
        leaves, out_tree = tree_flatten(result)
        if out_tree != tree:
            raise TypeError(f"{caller}: {name}() output pytree structure must be that of its argument, {tree}; got {out_tree}")
        for have, want in zip(map(get_aval, leaves), avals):
            if have.shape != want.shape:
                raise ValueError(f"{caller}: {name}() output shapes must be those of its argument, {want.str_short()}; got "
                                 f"{have.str_short()}")
            if have.dtype != want.dtype:
                raise TypeError(f"{caller}: {name}() output dtypes must be those of its argument, {want.str_short()}; got "
                                f"{have.str_short()}. Convert the result.")
        extra, aux_tree = tree_flatten(aux)
        return [*leaves, *extra]

    jaxpr, consts = close_over_constants(stage(flat_fun, avals, name))
    return jaxpr, consts, aux_tree


@api_boundary
def custom_root(f: Callable, initial_guess: Any, solve: Callable, tangent_solve: Callable, has_aux: bool = False) -> Any:
    """Finds `x` with `f(x) = 0` with the given solver; derivatives follow from `f`, not from the solver.

    Args:
      f: function of a pytree like `initial_guess`, with a result of the same structure, shapes and dtypes; may close over
        arrays that are differentiated.
      initial_guess: array or pytree of them; the solution has derivative zero with respect to it.
      solve: `solve(f, initial_guess)` returns the root.
      tangent_solve: `tangent_solve(g, y)` solves `g(x) = y` for the linear function `g`, the derivative of `f` at the root;
        for reverse mode it must itself be linear in `y` and transposable, as `custom_linear_solve` is.
      has_aux: whether `solve` returns a pair (root, auxiliary data).

    Returns:
      The root, a pytree like `initial_guess`; with `has_aux` a pair of it and the auxiliary data, which has derivative zero.

    Raises:
      TypeError: if `f` or a solver returns another structure or other dtypes than it should.
      ValueError: if one returns other shapes.

    Example:
      >>> custom_root(lambda x: x ** 2 - a, 1.0, bisect, lambda g, y: y / g(1.0))
    """
    guess, tree = tree_flatten(initial_guess)
    avals = [get_aval(x) for x in guess]
    residual, consts, _ = _trace("custom_root", "f", f, tree, avals, False)
    solver, solver_consts, aux_tree = _trace("custom_root", "solve", lambda x: solve(f, x), tree, avals, has_aux)
    tangent_solver = _trace_tangent_solve(f, tangent_solve, tree, avals)
    # The rule lives as long as the program that the call is recorded in, and must not hold on to the constants.
    tangent_program, tangent_consts = tangent_solver.jaxpr, list(tangent_solver.consts)
    counts = len(consts), len(solver_consts), len(tangent_consts)
    size = len(guess)

    def find(*operands: Any) -> Any:
        rest = operands[counts[0]:]
        return eval_jaxpr(solver.jaxpr, solver.consts, *rest[:counts[1]], *rest[counts[1] + counts[2]:])

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """0 = f_x x_dot + f_c c_dot, for the constants c that f closes over."""
        results = call(primals)  # not `find`: the root may be differentiated once more

        def at_root(*matrix: Any) -> Any:
            return eval_jaxpr(residual.jaxpr, residual.consts, *matrix, *results[:size])

        _, moved = jvp_flat(at_root, primals[:counts[0]], tangents[:counts[0]])
        if all(dot is ZERO for dot in moved):
            return results, [ZERO] * len(results)
        right = [instantiate(dot, aval) for dot, aval in zip(moved, avals)]
        closed_over = primals[counts[0] + counts[1]:sum(counts)]
        x_dot = eval_jaxpr(tangent_program, closed_over, *results[:size], *right)
        return results, [*map(op.neg, x_dot), *[ZERO] * (len(results) - size)]

    def call(operands: Sequence[Any]) -> Any:
        return CustomJVPCall(find, rule, operands, "custom_root").bind()

    out = call([*consts, *solver_consts, *tangent_consts, *guess])
    x = tree_unflatten(tree, out[:size])
    return (x, tree_unflatten(aux_tree, out[size:])) if has_aux else x


def _trace_tangent_solve(f: Callable, tangent_solve: Callable, tree: PyTreeDef, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """`(*x, *y) -> tangent_solve(derivative of f at x, y)`."""
    def flat_fun(*flat: Any) -> Any:
        x, y = tree_unflatten(tree, flat[:len(avals)]), tree_unflatten(tree, flat[len(avals):])
        _, derivative = linearize(f, x)
        leaves, out_tree = tree_flatten(tangent_solve(derivative, y))
        if out_tree != tree:
            raise TypeError(f"custom_root: tangent_solve() output pytree structure must be that of the root, {tree}; got {out_tree}")
        return leaves

    return stage(flat_fun, [*avals, *[aval.to_tangent_aval() for aval in avals]], "tangent_solve")
