"""What a model consists of: the calls of its modules, with the types of what they take, return and hold, and what they cost.

The model is run on types alone, and each call of a module is noted. `summary_table.py` draws the notes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Mapping

from laminax_ir.pytrees.pytree import tree_flatten, tree_map, tree_unflatten
from laminax_ir.types.avals import get_aval
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_transforms import vjp

from laminax._src.linen import metadata
from laminax._src.linen.base import context
from laminax._src.linen.calls import name_of, wrap_method
from laminax._src.linen.filters import DenyList, Filter
from laminax._src.linen.summary_table import drawn
from laminax._src.numerics.floor import eval_shape, jit
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax._src.linen.module import Module


@dataclasses.dataclass
class Row:
    """A call of a method of a module.

    Attributes:
      path: the module's place.
      module: the module, bound to nothing.
      method: the method's name.
      inputs: the arguments; types in place of arrays.
      outputs: the result, likewise.
      variables: the module's own variables by collection, types in place of arrays; none where the module was called before.
      counted: the variables that are counted: those of submodules too, where these are deeper than is shown.
      flops: the operations on floats of the call; None if they were not asked for.
      vjp_flops: those of the call and of its derivatives.
    """
    path: tuple[str, ...]
    module: Module
    method: str
    inputs: Any
    outputs: Any
    variables: dict[str, dict[str, Any]]
    counted: dict[str, dict[str, Any]]
    flops: int | None = None
    vjp_flops: int | None = None


@dataclasses.dataclass
class _Call:
    path: tuple[str, ...]
    module: Module
    method: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None


def rows_of(
    module: Module, rngs: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, mutable: Filter = DenyList("intermediates"),
    depth: int | None = None, show_repeated: bool = False, compute_flops: bool = False, compute_vjp_flops: bool = False,
) -> list[Row]:
    """The calls that `module.init(rngs, *args, **kwargs)` makes, in the order in which they begin.

    Args:
      module: the module.
      rngs: as for `init`.
      args: arguments of the method; `ShapeDtypeStruct`s will do.
      kwargs: likewise, and `method`, if it is not `__call__`.
      mutable: as for `init`.
      depth: how long paths may be.
      show_repeated: whether to have a row for each call of a module, not only for the first.
      compute_flops: whether to count operations.
      compute_vjp_flops: whether to count those of derivatives.
    """
    calls: list[_Call] = []
    variables = _traced(lambda *args, **kwargs: module.init(rngs, *args, mutable=mutable, **kwargs), args, kwargs, calls)
    paths = {call.path for call in calls}
    rows: list[Row] = []
    seen: set[tuple[str, ...]] = set()
    for call in calls:
        if depth is not None and len(call.path) > depth or (call.path in seen and not show_repeated):
            continue
        own, below = ({}, {}) if call.path in seen else _variables_at(call.path, variables, paths)
        seen.add(call.path)
        is_deepest = depth is not None and len(call.path) == depth
        row = Row(call.path, call.module, name_of(call.method), _inputs(call), call.result, own, below if is_deepest else own)
        if compute_flops:
            row.flops = _flops(call, rngs, mutable, with_derivatives=False)
        if compute_vjp_flops:
            row.vjp_flops = _flops(call, rngs, mutable, with_derivatives=True)
        rows.append(row)
    return rows


def _traced(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], calls: list[_Call]) -> Any:
    """The types of a function's result; calls of modules within are noted."""
    def begin(module: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], None]:
        if name_of(function) == "setup" or module.scope is None or not hasattr(type(module), name_of(function)):
            return lambda result: None  # functions that close over values of this trace could not be called again
        unbound = module.clone(parent=None, _deep_clone=True, _reset_names=True, name=None)
        call = _Call(module.path, unbound, function, _types(args), _types(kwargs))
        calls.append(call)

        def end(result: Any) -> None:
            call.result = _types(result)
        return end

    context.recorders.append(begin)
    try:
        return _on_types(eval_shape, function, args, kwargs)
    finally:
        context.recorders.pop()


def _on_types(transform: Callable[..., Any], function: Callable[..., Any], *trees: Any) -> Any:
    """`transform(f, *arrays)`, where f is the function as one of the arrays in the trees, of which args and kwargs are the last two."""
    leaves, treedef = tree_flatten(trees)
    places = [i for i, leaf in enumerate(leaves) if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]

    def of_arrays(*arrays: Any) -> Any:
        values = dict(zip(places, arrays))
        *first, args, kwargs = tree_unflatten(treedef, [values.get(i, leaf) for i, leaf in enumerate(leaves)])
        return function(*first, *args, **kwargs)

    return transform(of_arrays, *(leaves[i] for i in places))


def _types(tree: Any) -> Any:
    def type_of(x: Any) -> Any:
        return ShapeDtypeStruct(get_aval(x).shape, get_aval(x).dtype) if hasattr(x, "shape") and hasattr(x, "dtype") else x
    return tree_map(type_of, tree)


def _inputs(call: _Call) -> Any:
    """The arguments as they are shown: the only one alone, keywords as a dict at the end."""
    inputs = (*call.args, call.kwargs) if call.kwargs else call.args
    return inputs[0] if len(inputs) == 1 else inputs


def _variables_at(path: tuple[str, ...], variables: Mapping[str, Any], paths: set[tuple[str, ...]]) -> tuple[dict, dict]:
    """By collection the variables of the module at a path, without and with those of its submodules."""
    own: dict[str, dict[str, Any]] = {}
    below: dict[str, dict[str, Any]] = {}
    for collection, tree in variables.items():
        for name in path:
            tree = tree.get(name, {}) if isinstance(tree, Mapping) else {}
        if tree:
            below[collection] = dict(tree)
        if mine := {name: value for name, value in tree.items() if (*path, name) not in paths}:
            own[collection] = mine
    return own, below


def _flops(call: _Call, rngs: Any, mutable: Filter, with_derivatives: bool) -> int:
    """The operations of a call, as the compiler estimates them for the program before it is optimized."""
    def initialized(*args: Any, **kwargs: Any) -> Any:
        return call.module.init(rngs, *args, method=wrap_method(call.method), mutable=mutable, **kwargs)

    variables = metadata.unbox(_on_types(eval_shape, initialized, call.args, call.kwargs))  # those of modules from elsewhere are there too

    def run(variables: Any, *args: Any, **kwargs: Any) -> Any:
        return call.module.apply(variables, *args, rngs=rngs, method=wrap_method(call.method), mutable=True, **kwargs)

    def lowered(function: Callable[..., Any], *arrays: Any) -> Any:
        return jit(function).lower(*arrays)

    def with_vjp(function: Callable[..., Any], *arrays: Any) -> Any:
        floats = [i for i, x in enumerate(arrays) if jnp.issubdtype(x.dtype, jnp.inexact)]

        def forward_and_back(*arrays: Any) -> Any:
            def of_floats(*values: Any) -> Any:
                given = dict(zip(floats, values))
                return function(*(given.get(i, x) for i, x in enumerate(arrays)))
            result, backward = vjp(of_floats, *(arrays[i] for i in floats))
            return result, backward(tree_map(jnp.ones_like, result))
        return jit(forward_and_back).lower(*arrays)

    program = _on_types(with_vjp if with_derivatives else lowered, run, variables, call.args, call.kwargs)
    cost = program.cost_analysis()
    return int(cost.get("flops", 0)) if cost else 0


def tabulate(
    module: Module, rngs: Any, depth: int | None = None, show_repeated: bool = False, mutable: Filter = DenyList("intermediates"),
    console_kwargs: Mapping[str, Any] | None = None, table_kwargs: Mapping[str, Any] = {}, column_kwargs: Mapping[str, Any] = {},
    compute_flops: bool = False, compute_vjp_flops: bool = False, **kwargs: Any,
) -> Callable[..., str]:
    """A function of the arguments of a module that draws a table of its submodules: what each takes, returns and holds.

    Nothing is computed: the module is run on types alone. The package `rich` must be installed.

    Args:
      module: the module.
      rngs: a random key, or keys by stream.
      depth: how deep submodules may be; the variables of deeper ones are counted, not shown.
      show_repeated: whether modules that are called several times have several rows.
      mutable: the collections that are shown.
      console_kwargs: options of `rich.console.Console`.
      table_kwargs: options of `rich.table.Table`.
      column_kwargs: options of `rich.table.Column`.
      compute_flops: whether to show the operations on floats of each call.
      compute_vjp_flops: whether to show those of the call with its derivatives.
      **kwargs: arguments of the module.

    Returns:
      A function that takes the module's arguments and returns the table.

    Raises:
      ImportError: `rich` is not installed.

    Example:
      >>> print(nn.tabulate(model, lx.random.key(0))(x))     # doctest: +SKIP
    """
    def table(*args: Any, **more: Any) -> str:
        rows = rows_of(module, rngs, args, {**kwargs, **more}, mutable=mutable, depth=depth, show_repeated=show_repeated,
                       compute_flops=compute_flops, compute_vjp_flops=compute_vjp_flops)
        return drawn(type(module).__name__, rows, console_kwargs or {}, table_kwargs, column_kwargs)
    return table
