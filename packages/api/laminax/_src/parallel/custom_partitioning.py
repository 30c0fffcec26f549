"""`custom_partitioning`: functions with rules that tell the compiler how to split them, and what each device then computes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import laminax_runtime as runtime
from laminax_ir.ops.custom_partitioning import bind_custom_partitioning
from laminax_ir.pytrees.pytree import tree_flatten, tree_leaves, tree_unflatten
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import manual_axes, manual_mesh, running_along
from laminax_ir.types.arguments import check_callable, function_name
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_lowering import lower

from laminax._src.compiling.executables import lowering_platform
from laminax._src.parallel.sharding_rules import SdyShardingRule, parsed_rule


class custom_partitioning:  # noqa: N801  (JAX's name)
    """A function that says itself how it is split over devices.

    On one device, and inside of `shard_map`, it is the function. Where the compiler splits values over devices it proceeds by the sharding
    rule, and asks the partition rule for what each device computes. It has no derivative and no batching rule; `custom_vjp` and
    `custom_vmap` can give it some.

    Args:
      fun: the function of arrays and pytrees of them, by position.
      static_argnums: the positions of its static arguments, which rules get first.

    Example:
      >>> @custom_partitioning
      ... def double(x):
      ...     return x * 2
      >>> def partition(mesh, args, result):
      ...     return mesh, lambda x: x * 2, result.sharding, (args[0].sharding,)
      >>> double.def_partition(partition=partition, sharding_rule="i j -> i j")
    """

    def __init__(self, fun: Callable[..., Any], static_argnums: Sequence[int] = ()) -> None:
        check_callable("custom_partitioning", fun)
        functools.update_wrapper(self, fun)
        self.fun: Callable[..., Any] = fun
        self.static_argnums: tuple[int, ...] = tuple(static_argnums)
        self.partition: Callable[..., Any] | None = None
        self.infer_sharding_from_operands: Callable[..., Any] | None = None
        self.propagate_user_sharding: Callable[..., Any] | None = None
        self.sharding_rule: Any = None

    def def_partition(self, partition: Callable[..., Any], infer_sharding_from_operands: Callable[..., Any] | None = None,
                      propagate_user_sharding: Callable[..., Any] | None = None, decode_shardings: bool = True, sharding_rule: Any = None,
                      *, reduction_factors: Sequence[str] = (), need_replication_factors: Sequence[str] = (),
                      permutation_factors: Sequence[str] = (), **factor_sizes: int) -> None:
        """Declares the rules.

        Args:
          partition: `partition(*static_args, mesh, args, result) -> (mesh, device_fun, result_shardings, arg_shardings)`, where `args` and
            `result` are trees like the arguments and the result, of `ShapeDtypeStruct`s with the shardings that the compiler proposes, and
            `device_fun` computes a device's part of the result from its parts of the arguments. Mesh axes are named axes in it.
          infer_sharding_from_operands, propagate_user_sharding: not called: these are rules of the partitioner before Shardy, in whose
            place the sharding rule is.
          decode_shardings: must be True: rules get `NamedSharding`s.
          sharding_rule: how sizes of arguments and results belong together: text, "i j, j k -> i k", an `SdyShardingRule`, or a function
            `rule(*static_args, mesh, args, results)` of flat lists of `ShapeDtypeStruct`s that returns either, or a pair of text and a
            dict of the options below.
          reduction_factors, need_replication_factors, permutation_factors, **factor_sizes: for a rule as text, see `SdyShardingRule`.

        Raises:
          TypeError: if partition is not callable.
          NotImplementedError: for decode_shardings=False.
          ValueError: if the text of the rule cannot be read.
        """
        check_callable("custom_partitioning: partition", partition)
        if not decode_shardings:
            raise NotImplementedError("custom_partitioning: decode_shardings=False is not supported. Leave it out: rules get "
                                      "NamedShardings.")
        options = {"reduction_factors": reduction_factors, "need_replication_factors": need_replication_factors,
                   "permutation_factors": permutation_factors, **factor_sizes}
        self.partition = partition
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.propagate_user_sharding = propagate_user_sharding
        self.sharding_rule = parsed_rule(sharding_rule, options) if isinstance(sharding_rule, str) else sharding_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result.

        Raises:
          NotImplementedError: if no sharding rule was given, which the compiler proceeds by, or the function has effects or closes over
            arrays.
          ValueError: if no partition rule was given, or the sharding rule does not fit the arguments.
        """
        name = function_name(self.fun)
        if self.partition is None:
            raise ValueError(f"custom_partitioning: {name} has no partition rule. Give it one with def_partition.")
        if self.sharding_rule is None:
            raise NotImplementedError(f"custom_partitioning: {name} has no sharding rule, by which the compiler splits it. Please provide "
                                      "sharding_rule to migrate to Shardy: def_partition(..., sharding_rule='i j -> i j').")
        bound = inspect.signature(self.fun).bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.args
        positions = {i % len(given) for i in self.static_argnums} if given else set()
        static = tuple(given[i] for i in sorted(positions))
        leaves, in_tree = tree_flatten(tuple(x for i, x in enumerate(given) if i not in positions))
        trees: list[Any] = []

        def flat(*values: Any) -> Any:
            dynamic, fixed = iter(tree_unflatten(in_tree, values)), iter(static)
            out, tree = tree_flatten(self.fun(*[next(fixed) if i in positions else next(dynamic) for i in range(len(given))]))
            trees.append(tree)
            return out

        closed = stage(flat, [get_aval(x) for x in leaves], name)
        partitioner = _Partitioner(name, self.partition, static, in_tree, trees[-1], closed.in_avals, closed.out_avals)
        shapes = [a.shape for a in closed.in_avals], [a.shape for a in closed.out_avals]
        # inside of shard_map along all axes nothing is left to the compiler, and the rule is for other shapes
        rule = "" if _is_of_one_device() else self._rule(static, closed.in_avals, closed.out_avals).text(*shapes)
        out = bind_custom_partitioning(closed, *leaves, partitioner=partitioner, sharding_rule=rule, name=name)
        return tree_unflatten(trees[-1], out)

    def _rule(self, static: tuple, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> SdyShardingRule:
        rule, options = self.sharding_rule, {}
        if callable(rule):
            mesh = runtime.current_mesh() or runtime.entered_mesh()
            rule = rule(*static, mesh, [_struct(a) for a in in_avals], [_struct(a) for a in out_avals])
            if isinstance(rule, tuple):
                rule, options = rule
        if isinstance(rule, str):
            return parsed_rule(rule, options)
        if not isinstance(rule, SdyShardingRule):
            raise TypeError(f"custom_partitioning: sharding_rule must be text, an SdyShardingRule or a function that returns one, got "
                            f"{rule!r} of type {type(rule).__name__}")
        return rule


def _is_of_one_device() -> bool:
    mesh = manual_mesh.value
    return mesh is not None and {name for name, _, _ in manual_axes.value} >= set(mesh.axis_names)


def _struct(aval: ShapedArray, sharding: runtime.Sharding | None = None) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)


class _Partitioner:
    """What the compiler asks for the program of one device, for one call."""

    def __init__(self, name: str, partition: Callable[..., Any], static: tuple, in_tree: Any, out_tree: Any,
                 in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> None:
        self._name = name
        self._partition = partition
        self._static = static
        self._in_tree, self._out_tree = in_tree, out_tree
        self._in_avals, self._out_avals = in_avals, out_avals

    def __repr__(self) -> str:
        return f"<partition rule of {self._name}>"

    def __call__(self, in_shardings: Sequence[Any], out_shardings: Sequence[Any]) -> tuple[str, list[Any], list[Any]]:
        proposed = [s for s in (*in_shardings, *out_shardings) if isinstance(s, runtime.NamedSharding)]
        if not proposed:
            raise ValueError(f"custom_partitioning: {self._name} is split as {[*in_shardings, *out_shardings]}, which no mesh that is "
                             "known here says. Set a mesh with set_mesh, or give arguments on one.")
        args = tree_unflatten(self._in_tree, [_struct(a, s) for a, s in zip(self._in_avals, in_shardings)])
        result = tree_unflatten(self._out_tree, [_struct(a, s) for a, s in zip(self._out_avals, out_shardings)])
        mesh, device_fun, wanted_out, wanted_in = self._partition(*self._static, proposed[0].mesh, args, result)
        ins, outs = tree_leaves(wanted_in), tree_leaves(wanted_out)
        for what, found, avals in (("argument", ins, self._in_avals), ("result", outs, self._out_avals)):
            if len(found) != len(avals):
                raise ValueError(f"custom_partitioning: the partition rule of {self._name} returned {len(found)} {what} shardings for "
                                 f"{len(avals)} {what}s. Return one for each.")
        return self._text(mesh, device_fun, ins, outs), ins, outs

    def _text(self, mesh: runtime.Mesh, device_fun: Callable, ins: Sequence[Any], outs: Sequence[Any]) -> str:
        """The program of one device, as a module."""
        parts = [_part(a, s) for a, s in zip(self._in_avals, ins)]

        def flat(*values: Any) -> Any:
            return tree_leaves(device_fun(*tree_unflatten(self._in_tree, values)))

        with running_along([(name, mesh.shape[name]) for name in mesh.axis_names], False, None):
            closed = stage(flat, parts, self._name)
        found, expected = ([a.str_short() for a in avals] for avals in (closed.out_avals, map(_part, self._out_avals, outs)))
        if found != expected:
            raise ValueError(f"custom_partitioning: Mismatch in result shapes. Each device's function of {self._name} returned "
                             f"{', '.join(found)}, and the parts of the result are {', '.join(expected)}. Return the parts that the result "
                             "shardings say.")
        return lower(closed, platform=lowering_platform(mesh.devices.flat[0]), num_partitions=mesh.size, inline_consts=True,
                     keep_unused=True, device_mesh=mesh).text


def _part(aval: ShapedArray, sharding: runtime.Sharding) -> ShapedArray:
    return ShapedArray(sharding.shard_shape(aval.shape), aval.dtype)
