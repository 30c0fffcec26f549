"""Functions whose operations run in the order in which they are written: `program_order`.

The compiler may move an operation before another that it does not depend on, a transfer before a product. Here an optimization barrier
between each two operations makes the next one depend on the one before. Source: JAX's `jax.experimental.overlap`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, cast
from weakref import WeakSet

from laminax_ir.ops.elementwise import optimization_barrier_p
from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.pytrees.pytree import tree_flatten, tree_leaves, tree_structure, tree_unflatten
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.avals import ShapedArray

from laminax._src.base.program_names import ProgramName
from laminax._src.compiling.abstract_calls import make_jaxpr
from laminax._src.compiling.jit import jit


def program_order(f: Callable | None = None, *, enforce: bool, strict_in_out: bool | tuple[bool, bool] = False,
                  exclude_argnames: str | Sequence[str] | None = None) -> Callable:
    """Makes a function one whose operations run in the order in which they are written, or a part that such a function runs at once.

    Derivatives run their operations in the opposite order.

    Args:
      f: a function of pytrees of arrays. Left out, the answer is a decorator.
      enforce: True: each operation starts when the one before has ended, where an operation is a call of a jitted function, too. False:
        those of f have no order, but around f, inside of a function with enforce=True, they are one operation.
      strict_in_out: with enforce=True, whether the first operation waits for all arguments, and whatever uses one of the results for
        all of them; a pair for the two.
      exclude_argnames: with enforce=False, the parameters of f that need not wait for the operation before f.

    Returns:
      The function, or a decorator.

    Raises:
      TypeError: if f is no function, or a parameter is none of these.
      ValueError: if strict_in_out is given with enforce=False, exclude_argnames with enforce=True, or f has no such parameter.

    Example:
      >>> import laminax as jax
      >>> @program_order(enforce=True)
      ... def f(x, y):
      ...     return jnp.sin(x), jnp.cos(y)
      >>> [eqn.primitive.name for eqn in jax.make_jaxpr(f)(1.0, 2.0).eqns[0].params["jaxpr"].eqns]
      ['sin', 'optimization_barrier', 'cos']
    """
    strict = strict_in_out if isinstance(strict_in_out, tuple) else (strict_in_out, strict_in_out)
    names = (exclude_argnames,) if isinstance(exclude_argnames, str) else exclude_argnames or ()
    if not isinstance(enforce, bool):
        raise TypeError(f"program_order: enforce must be a bool, got {enforce!r}")
    if len(strict) != 2 or not all(isinstance(x, bool) for x in strict):
        raise TypeError(f"program_order: strict_in_out must be a bool or a pair of bools, got {strict_in_out!r}")
    if not isinstance(names, Sequence) or not all(isinstance(x, str) for x in names):
        raise TypeError(f"program_order: exclude_argnames must be a string or a sequence of strings, got {exclude_argnames!r}")
    if any(strict) and not enforce:
        raise ValueError(f"strict_in_out={strict_in_out} cannot be used with enforce=False, which has no order of operations. Give it to "
                         "the function with enforce=True around it.")
    if names and enforce:
        raise ValueError("exclude_argnames cannot be used with enforce=True. Give it to a function with enforce=False inside, whose "
                         "arguments then need not wait.")
    if f is None:
        return functools.partial(program_order, enforce=enforce, strict_in_out=strict_in_out, exclude_argnames=exclude_argnames)
    check_callable("program_order", f)
    _check_parameters(f, names)
    return _as_one_call(f, _in_order(f, *strict) if enforce else f, names)


def _check_parameters(f: Callable, names: Sequence[str]) -> None:
    if names and (missing := [name for name in names if name not in inspect.signature(f).parameters]):
        raise ValueError(f"program_order: exclude_argnames names {missing[0]!r}, but the parameters of the function are "
                         f"{', '.join(inspect.signature(f).parameters)}")


_calls: WeakSet[FunctionType] = WeakSet()  # the functions that `_as_one_call` makes


def _as_one_call(f: Callable, body: Callable, excluded: Sequence[str]) -> Callable:
    """f as a call of the program, in which those of its operands that need not wait are behind the others."""
    def program_order(layout: Any, in_order: list[Any], out_of_order: list[Any]) -> Any:
        tree, is_free = layout
        waiting, free = iter(in_order), iter(out_of_order)
        args, kwargs = tree_unflatten(tree, [next(free if alone else waiting) for alone in is_free])
        return body(*args, **kwargs)
    _calls.add(cast(FunctionType, program_order))
    called = jit(program_order, static_argnums=0)

    @wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = tree_flatten((args, kwargs))
        free = _of_parameters(f, args, kwargs, excluded) if excluded else [False] * len(leaves)
        return called((tree, tuple(free)), [x for x, alone in zip(leaves, free) if not alone],
                      [x for x, alone in zip(leaves, free) if alone])
    return call


def _of_parameters(f: Callable, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]) -> list[bool]:
    """For each leaf of a call's arguments whether it is of one of these parameters."""
    parameters = inspect.signature(f).parameters.values()
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    positional += [p.name for p in parameters if p.kind is p.VAR_POSITIONAL] * len(args)
    return tree_leaves((tuple([_all_leaves(x, name in names) for name, x in zip(positional, args)]),
                        {name: _all_leaves(x, name in names) for name, x in kwargs.items()}))


def _all_leaves(tree: Any, value: bool) -> Any:
    leaves, structure = tree_flatten(tree)
    return tree_unflatten(structure, [value] * len(leaves))


def _in_order(f: Callable, strict_in: bool, strict_out: bool) -> Callable:
    """f, traced, with barriers between its operations."""
    def body(*args: Any, **kwargs: Any) -> Any:
        closed, results = make_jaxpr(f, return_shape=True)(*args, **kwargs)
        ordered = with_barriers(closed.jaxpr, strict_in, strict_out)
        return tree_unflatten(tree_structure(results), eval_jaxpr(ordered, closed.consts, *tree_leaves((args, kwargs))))
    return body


def with_barriers(jaxpr: Jaxpr, strict_in: bool = False, strict_out: bool = False) -> Jaxpr:
    """The program with a barrier between each two equations: of the results of one and the operands of the next."""
    behind: dict[Atom, Atom] = {}  # for a variable the one that is it, behind the last barrier
    eqns: list[JaxprEqn] = []

    def barrier(variables: Sequence[Atom]) -> None:
        passed = [v for v in dict.fromkeys(variables) if not isinstance(v, Literal) and type(v.aval) is ShapedArray]
        if passed:
            results = [Var(v.aval) for v in passed]
            eqns.append(JaxprEqn([behind.get(v, v) for v in passed], results, optimization_barrier_p, {}))
            behind.update(zip(passed, results))

    if strict_in:
        barrier(jaxpr.invars)
    ended: list[Atom] = []  # results of equations that the next one waits for
    for eqn in jaxpr.eqns:
        operands = [v for v in _waiting_operands(eqn) if not isinstance(v, Literal)]
        if ended and operands:
            barrier([*ended, *operands])
            ended = []
        eqns.append(eqn.replace(invars=[v if isinstance(v, Literal) else behind.get(v, v) for v in eqn.invars]))
        ended += eqn.outvars
    if strict_out:
        barrier(jaxpr.outvars)
    return jaxpr.replace(outvars=[v if isinstance(v, Literal) else behind.get(v, v) for v in jaxpr.outvars], eqns=eqns)


def _waiting_operands(eqn: JaxprEqn) -> Sequence[Atom]:
    """The operands of an equation, less those that a call made by `program_order` has excluded: they are its last."""
    called = eqn.params.get("jaxpr")
    name = called.jaxpr.debug_info if isinstance(called, ClosedJaxpr) else None
    if not isinstance(name, ProgramName) or not isinstance(name.function, FunctionType) or name.function not in _calls:
        return eqn.invars
    free = sum(argument.startswith("out_of_order[") for argument in name.arg_names)
    return eqn.invars[:len(eqn.invars) - free]
