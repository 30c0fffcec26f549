"""Functions of pytrees as functions of their leaves, for libraries that call the interpreters themselves."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Sequence

from laminax_ir.pytrees.pytree import PyTreeDef, flatten_axes, tree_flatten, tree_unflatten
from laminax_ir.tracing.wrapped_functions import WrappedFun
from laminax_ir.types.avals import get_aval

from laminax._src.base.leaf_names import argument_names
from laminax._src.base.program_names import function_code, source_info
from laminax._src.compiling.abstract_arguments import as_abstract
from laminax._src.compiling.tracing import Call, function_name
from laminax._src.names.extend.debug_info import DebugInfo
from laminax._src.names.extend.linear_util import transformation_with_aux2

__all__ = [
    "debug_info", "donation_vector", "flatten_axes", "flatten_fun", "flatten_fun_nokwargs", "rebase_donate_argnums", "safe_map",
    "shaped_abstractify",
]


def debug_info(traced_for: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *, static_argnums: Sequence[int] = (),
               static_argnames: Sequence[str] = ()) -> DebugInfo:
    """The description of a function that is to be traced, for messages.

    Args:
      traced_for: what it is traced for, "jit".
      fun: the function.
      args, kwargs: its arguments.
      static_argnums, static_argnames: which of them are no arguments of the program.

    Returns:
      The function's name and place, and the names of the leaves of its arguments.

    Example:
      >>> debug_info("jit", lambda x, y: x, ((1, 2),), {"y": 3}).arg_names
      ('x[0]', 'x[1]', 'y')
    """
    call = Call(tuple(args), dict(kwargs), tuple(static_argnums), tuple(static_argnames))
    code = function_code(fun) if callable(fun) else None
    name = function_name(fun) if hasattr(fun, "__name__") or hasattr(fun, "func") else "<unknown>"
    names = argument_names(fun, call.in_tree, [i for i, _ in call.static_args])
    return DebugInfo(traced_for, source_info(name, code), tuple(names), None)


def flatten_fun(fun: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    """A function of the leaves of `(args, kwargs)` that returns the leaves of the result.

    Args:
      fun: the function, from `linear_util.wrap_init`.
      in_tree: the structure of `(args, kwargs)`.

    Returns:
      The flat function, and a function that gives the structure of the result once the flat one has run.
    """
    return transformation_with_aux2(_call_with_kwargs, fun, in_tree)


def flatten_fun_nokwargs(fun: WrappedFun, in_tree: PyTreeDef) -> tuple[WrappedFun, Callable[[], PyTreeDef]]:
    """As `flatten_fun`, where `in_tree` is the structure of the positional arguments alone."""
    return transformation_with_aux2(_call, fun, in_tree)


def _call_with_kwargs(fun: Callable[..., Any], store: Any, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    args, kwargs = tree_unflatten(in_tree, leaves)
    return _flat_result(store, fun(*args, **kwargs))


def _call(fun: Callable[..., Any], store: Any, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    return _flat_result(store, fun(*tree_unflatten(in_tree, leaves)))


def _flat_result(store: Any, result: Any) -> list[Any]:
    flat, tree = tree_flatten(result)
    store.store(tree)
    return flat


def donation_vector(donate_argnums: Iterable[int], donate_argnames: Iterable[str], in_tree: PyTreeDef,
                    kws: bool = True) -> tuple[bool, ...]:
    """Whether the array is donated, for each leaf of the arguments.

    Args:
      donate_argnums, donate_argnames: which arguments are donated, by position and by name.
      in_tree: the structure of `(args, kwargs)`, or that of args alone.
      kws: whether in_tree is of both.

    Example:
      >>> donation_vector((1,), ("y",), tree_structure(((1, (2, 3)), {"y": 4, "z": 5})))
      (False, True, True, True, False)
    """
    args, kwargs = in_tree.children() if kws else (in_tree, None)
    positions, names = set(donate_argnums), set(donate_argnames)
    flags = [flag for i, arg in enumerate(args.children()) for flag in [i in positions] * arg.num_leaves]
    if kwargs is not None and (data := kwargs.node_data()) is not None:
        flags += [flag for name, arg in zip(data[1], kwargs.children()) for flag in [name in names] * arg.num_leaves]
    return tuple(flags)


def rebase_donate_argnums(donate_argnums: Iterable[int], static_argnums: Iterable[int]) -> tuple[int, ...]:
    """The positions of donated arguments among those that are not static.

    Raises:
      ValueError: if a position is both donated and static.

    Example:
      >>> rebase_donate_argnums((3, 4), (0, 1))
      (1, 2)
    """
    static, donated = set(static_argnums), set(donate_argnums)
    if static & donated:
        raise ValueError(f"rebase_donate_argnums: `static_argnums` and `donate_argnums` cannot intersect, but {sorted(static & donated)} "
                         "are in both")
    return tuple(i - sum(j < i for j in static) for i in sorted(donated))


def safe_map(f: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """The list of `f`'s results over one or more sequences, which must be of one length.

    Raises:
      ValueError: they are not.

    Example:
      >>> safe_map(max, [1, 5], [4, 2])
      [4, 5]
    """
    return [f(*values) for values in zip(*args, strict=True)]


def shaped_abstractify(x: Any) -> Any:
    """The aval of a value, or of anything with a shape and a dtype."""
    return get_aval(as_abstract(x))
