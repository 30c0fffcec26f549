"""Lifted transformations that call a function once: `jit`, `remat`, `vmap`, and those that change how variables are stored."""

from __future__ import annotations

import dataclasses
import inspect
import threading
from functools import partial
from typing import Any, Callable, Hashable, Iterable, Mapping

import numpy as np

from laminax_ir.pytrees.pytree import broadcast_prefix, register_static, tree_leaves, tree_map
from laminax_ir.tracing.trace import is_tracing
from laminax_transforms import checkpoint as plain_checkpoint
from laminax_transforms import vmap as plain_vmap

from laminax._src.base.argument_names import int_tuple, resolve
from laminax._src.compiling.jit import jit as plain_jit
from laminax._src.linen import metadata
from laminax._src.linen.filters import Filter, names_of
from laminax._src.linen.lifting import Border, Groups, Keys, axes_in_and_out, split_keys
from laminax._src.linen.module_calls import ModuleCall, Transform, lift
from laminax._src.numerics.numpy import namespace as jnp


def _positions(function: Callable[..., Any], positions: int | Iterable[int], name: str = "static_argnums") -> tuple[int, ...]:
    """Positions of arguments of a function, none of them negative."""
    given = int_tuple(positions, name)
    if all(position >= 0 for position in given):
        return given
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    count = sum(parameter.kind in positional for parameter in inspect.signature(function).parameters.values())
    if any(position < -count for position in given):
        raise ValueError(f"{name}={given} of {function.__qualname__}, which takes {count} positional arguments, `self` among them.")
    return tuple(position % count if position < 0 else position for position in given)


def _shifted(positions: Iterable[int], by: int) -> tuple[int, ...]:
    """Positions among a method's arguments, `self` being 0, as positions among those of the pure function; without that of `self`."""
    return tuple(position + by for position in positions if position != 0)


@register_static
@dataclasses.dataclass(frozen=True)
class _Traced:
    """What tracing a call has done in Python, to be done again where the compiled program runs without tracing. A part of the
    program's result, without arrays."""
    counts: Hashable
    cursors: Hashable


class _Current(threading.local):
    """The calls of a jitted function that this thread is making, the innermost last: one of them is traced, if any is."""

    def __init__(self) -> None:
        self.calls: list[tuple[ModuleCall, Border]] = []


def jit(
    target: Any, variables: Filter = True, rngs: Filter = True, static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (), donate_argnums: int | Iterable[int] = (), device: Any = None, backend: str | None = None,
    methods: Any = None,
) -> Any:
    """Lifted version of `laminax.jit`: methods of a module that are compiled.

    A class that is lifted once has one cache for all its modules: equal modules with arguments of equal types are traced and compiled once,
    wherever in a model they stand.

    Args:
      target: a class of modules, or a function whose first argument is a module.
      variables: the collections that are lifted; others do not exist within.
      rngs: the streams of random keys that are lifted. Within are other keys than there would be without `jit`: each stream starts
        from a new key, so that the program does not depend on the module's place.
      static_argnums: positions of arguments that are compile-time constants, hashable values; the module's own position is 0, and it is
        static anyway.
      static_argnames: names of such arguments.
      donate_argnums: positions of arguments whose buffers the computation may overwrite. The module, 0, keeps its variables.
      device: where to run; by default where the arguments are, or the default device.
      backend: the platform to run on, "cpu", "gpu" or "tpu".
      methods: of a class, the methods that are compiled, a name or several; by default `__call__`.

    Returns:
      A class or function like the target.

    Example:
      >>> class Model(nn.Module):                                      # doctest: +SKIP
      ...     @nn.compact
      ...     def __call__(self, x, train):
      ...         for _ in range(12):
      ...             x = nn.jit(Block, static_argnums=2)()(x, train)  # compiled once
      ...         return x
    """
    def make(function: Callable[..., Any]) -> Transform:
        current = _Current()

        def pure(_key: Hashable, groups: Groups, keys: Keys, *args: Any, **kwargs: Any) -> Any:
            call, border = current.calls[-1]
            inner = border.open(groups, keys)
            result = call(inner, *args, **kwargs)
            return result, border.close(inner), _Traced(border.counts(), call.cursors)

        pure.__name__ = getattr(function, "__name__", "jit")
        static = resolve(function, _positions(function, static_argnums) or None, static_argnames or None, "static")
        donated = resolve(function, _positions(function, donate_argnums, "donate_argnums") or None, None, "donate")
        run = plain_jit(pure, static_argnums=(0, *_shifted(static[0], 2)), static_argnames=static[1],
                        donate_argnums=_shifted(donated[0], 2), donate_argnames=donated[1], device=device, backend=backend)

        def transform(call: ModuleCall) -> Any:
            border = Border(call.scopes, (variables,), (variables,), (rngs,), "jit")
            groups, keys = border.take()
            keys = border.folded(keys)
            current.calls.append((call, border))
            try:
                result, written, traced = run((call.fingerprint(), border.key()), groups, keys, *call.args, **call.kwargs)
            finally:
                current.calls.pop()
            border.set_counts(traced.counts)
            call.set_cursors(traced.cursors)
            border.put(written)
            return result

        return transform

    return lift(target, make, "Jit", methods, jit)


def remat(
    target: Any, variables: Filter = True, rngs: Filter = True, concrete: bool = False, prevent_cse: bool = True,
    static_argnums: int | Iterable[int] = (), policy: Callable[..., bool] | None = None, methods: Any = None,
) -> Any:
    """Lifted version of `laminax.checkpoint`: methods whose intermediate values are computed again for derivatives, and not kept.

    Args:
      target: a class of modules, or a function whose first argument is a module.
      variables: the collections that are lifted.
      rngs: the streams of random keys that are lifted.
      concrete: whether Python control flow may depend on the arguments' values, which must then be known.
      prevent_cse: whether the compiler is kept from merging the two computations; not needed within `scan`.
      static_argnums: positions of arguments that are compile-time constants; the module's own is 0.
      policy: which values are kept after all, see `laminax.checkpoint_policies`.
      methods: of a class, the methods that are transformed: a name or several, or a dict of names and options for each.

    Returns:
      A class or function like the target.
    """
    def make(function: Callable[..., Any]) -> Transform:
        static = _positions(function, static_argnums)

        def transform(call: ModuleCall) -> Any:
            border = Border(call.scopes, (variables,), (variables,), (rngs,), "remat")

            def pure(groups: Groups, keys: Keys, *args: Any, **kwargs: Any) -> Any:
                inner = border.open(groups, keys)
                return call(inner, *args, **kwargs), border.close(inner)

            if not is_tracing():  # nothing is differentiated: operations run as they would without remat, with the same bits
                args = tuple(arg if i + 1 in static else tree_map(jnp.asarray, arg) for i, arg in enumerate(call.args))
                result, written = pure(*border.take(), *args, **tree_map(jnp.asarray, call.kwargs))
            else:
                run = plain_checkpoint(pure, concrete=concrete, prevent_cse=prevent_cse, policy=policy, static_argnums=_shifted(static, 1))
                result, written = run(*border.take(), *call.args, **call.kwargs)
            border.put(written)
            return result

        return transform

    return lift(target, make, "Checkpoint", methods, remat)


def vmap(
    target: Any, variable_axes: Mapping[Filter, Any] = {}, split_rngs: Mapping[Filter, bool] = {}, in_axes: Any = 0, out_axes: Any = 0,
    axis_size: int | None = None, axis_name: str | None = None, spmd_axis_name: str | None = None,
    metadata_params: Mapping[Any, Any] = {}, methods: Any = None,
) -> Any:
    """Lifted version of `laminax.vmap`: methods along an axis of their arguments, and of variables.

    Args:
      target: a class of modules, or a function whose first argument is a module.
      variable_axes: for each filter of collections the axis along which its variables are stacked, None where all examples share them;
        `In(axis)` and `Out(axis)` where they only go in or come out. Other collections do not exist within.
      split_rngs: for each filter of streams whether each example has keys of its own. Other streams do not exist within.
      in_axes: the axes of the arguments, as for `laminax.vmap`.
      out_axes: those of the result.
      axis_size: the size of the axis; by default that of the arguments or variables.
      axis_name: its name, for collectives.
      spmd_axis_name: the mesh axis that it is split over.
      metadata_params: what boxes of variables are told of the axis.
      methods: of a class, the methods that are transformed: a name or several, or a dict of names and options for each.

    Returns:
      A class or function like the target.

    Example:
      >>> Heads = nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True}, in_axes=None, axis_size=4)  # doctest: +SKIP
    """
    axes_in, axes_out = axes_in_and_out(variable_axes)
    splits = tuple(split_rngs.values())

    def transform(call: ModuleCall) -> Any:
        if isinstance(in_axes, (tuple, list)) and len(in_axes) != len(call.args):
            raise ValueError(f"vmap: in_axes={in_axes} is for {len(in_axes)} arguments by position, and {len(call.args)} were given. "
                             "Arguments by name are mapped along their first axis.")
        border = Border(call.scopes, tuple(axes_in), tuple(axes_out), tuple(split_rngs), "vmap")
        groups, keys = border.take()
        size = axis_size
        if size is None:
            size = _mapped_size((in_axes, tuple(axes_in.values())), (call.args, groups))
        keys = split_keys(keys, splits, size)

        def pure(groups: Groups, keys: Keys, args: Any, kwargs: Any) -> Any:
            inner = border.open(groups, keys)
            return call(inner, *args, **kwargs), border.close(inner)

        run = plain_vmap(
            pure, in_axes=(tuple(axes_in.values()), tuple(0 if split else None for split in splits), in_axes, 0),
            out_axes=(out_axes, tuple(axes_out.values())), axis_size=size, axis_name=axis_name, spmd_axis_name=spmd_axis_name)
        result, written = run(metadata.without_axes(groups, axes_in.values(), metadata_params), keys, call.args, call.kwargs)
        border.put(metadata.with_axes(written, axes_out.values(), metadata_params))
        return result

    return lift(target, lambda _: transform, "Vmap", methods, vmap)


def _mapped_size(axes: Any, trees: Any) -> int:
    """The size of the mapped axis.

    Raises:
      ValueError: nothing is mapped.
    """
    for axis, leaf in zip(broadcast_prefix(axes, trees, is_leaf=lambda x: x is None), tree_leaves(trees)):
        if axis is not None:
            return np.shape(leaf)[axis]
    raise ValueError("vmap: axis_size should be specified manually, since no argument and no variable has a mapped axis.")


def map_variables(
    target: Any, mapped_collections: Filter = True, trans_in_fn: Callable[[Any], Any] = lambda variables: variables,
    trans_out_fn: Callable[[Any], Any] = lambda variables: variables, init: bool = False, mutable: bool = False, rngs: Filter = True,
    variables: Filter = True, methods: Any = None,
) -> Any:
    """Changes how a module sees some of its variables, whatever they are outside: tied, transposed, normalized, quantized.

    Args:
      target: a class of modules, or a function whose first argument is a module.
      mapped_collections: the collections that are changed.
      trans_in_fn: makes what the module sees of what is stored, `{collection: tree}`.
      trans_out_fn: makes what is stored of what the module has written.
      init: whether the module may initialize the variables: it is run once to do so, and what is made goes through both functions.
      mutable: whether the module may write them.
      rngs: the streams of random keys that are lifted.
      variables: the collections that are lifted, changed or not.
      methods: of a class, the methods that are transformed: a name or several, or a dict of names and options for each.

    Returns:
      A class or function like the target.
    """
    others = names_of(variables) - names_of(mapped_collections)
    written_by = (mapped_collections, others) if init or mutable else (False, others)

    def transform(call: ModuleCall) -> Any:
        border = Border(call.scopes, (mapped_collections, others), written_by, (rngs,), "map_variables")
        (stored, rest), keys = border.take()
        made: Any = None
        if init and any(root.store.mutable for root in border.roots):
            inner = border.open((stored, rest), keys)
            call(inner, *call.args, **call.kwargs)
            made = tuple(map(trans_out_fn, border.close(inner)[0]))
            stored = tuple({**old, **new} for old, new in zip(stored, made))
        seen = tuple(map(trans_in_fn, stored))
        inner = border.open((seen, rest), keys, mutable=True if mutable or init else others)
        result = call(inner, *call.args, **call.kwargs)
        changed, others_changed = border.close(inner)
        border.put((tuple(map(trans_out_fn, changed)), others_changed))
        return result

    return lift(target, lambda _: transform, "Map_variables", methods)


def add_metadata_axis(target: Any, variable_axes: Mapping[Filter, Any] = {}, metadata_params: Mapping[Any, Any] = {}) -> Any:
    """Tells the boxes of variables of an axis that the module does not know of, as `vmap` does for the one that it adds.

    Args:
      target: a class of modules, or a function whose first argument is a module.
      variable_axes: for each filter of collections the axis.
      metadata_params: what the boxes are told of it.

    Returns:
      A class or function like the target.
    """
    for collections, axis in variable_axes.items():
        target = map_variables(target, collections, partial(metadata.remove_axis, index=axis, params=metadata_params),
                               partial(metadata.add_axis, index=axis, params=metadata_params), init=True, mutable=True)
    return target


checkpoint = remat


def fold_rngs(target: Any, variables: Filter = True, rngs: Filter = True) -> Any:
    """Has a module draw its random keys from new streams, as `jit` does, without compiling it.

    Args:
      target: a class of modules, or a function whose first argument is a module.
      variables: the collections that are lifted.
      rngs: the streams that are.

    Returns:
      A class or function like the target.
    """
    def transform(call: ModuleCall) -> Any:
        border = Border(call.scopes, (variables,), (variables,), (rngs,), "fold_rngs")
        groups, keys = border.take()
        inner = border.open(groups, border.folded(keys))
        result = call(inner, *call.args, **call.kwargs)
        border.put(border.close(inner))
        return result

    return lift(target, lambda _: transform, "Fold_rngs")
