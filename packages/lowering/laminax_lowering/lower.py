"""Lowering: from a closed jaxpr to a StableHLO module as text."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Sequence

from laminax_ir.key_arrays.extended_arrays import physical_aval, stored_aval
from laminax_ir.ops.calls import jit_p
from laminax_ir.ops.sharding import layout_constraint_p
from laminax_ir.programs.calling_conventions import CallingConvention
from laminax_ir.programs.effects import lowerable_effects, ordered_effects, shardable_ordered_effects
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from laminax_ir.symbolic.sized_programs import value_at_sizes
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, is_constant_shape
from laminax_ir.tracing.explicit_axes import without_mesh
from laminax_ir.tracing.gc_pause import paused_collection
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.memory_spaces import HOST_KIND, MemorySpace
from laminax_lowering.planning.outlining import plan_calls
from laminax_lowering.writing.context import FunctionWriter, live_equations
from laminax_lowering.writing.module_context import ModuleContext
from laminax_lowering.writing.shardings import MeshTable, sharding_attribute, sharding_text
from laminax_lowering.writing.types import string_text, symbol_text

if TYPE_CHECKING:
    from laminax_ir.types.abstract_meshes import AbstractMesh
    from laminax_lowering.writing.dynamic_shapes import SizedMain

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


@dataclass(frozen=True)
class LoweredModule:
    """A module with its calling convention, and the program's values and types that it was made of.

    text: StableHLO, MLIR's generic form.
    name: the module's name.
    platforms: the platforms that it is written for; with several, its first argument is the number of the one that runs it, i32[].
    convention: how it is called, for the layer that compiles and runs it.
    consts: values to pass before the arguments.
    kept: indices of the arguments the module takes (after the consts); the others are unused.
    in_avals, out_avals: of all arguments and results, as the program has them.
    unusable_donations: donated arguments that no result can take the place of.
    sized_main: for a program with symbolic dimensions, what `main` is for arguments of given sizes.
    """
    text: str
    name: str
    platforms: tuple[str, ...]
    convention: CallingConvention
    consts: tuple[Any, ...]
    kept: tuple[int, ...]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    unusable_donations: tuple[ShapedArray, ...] = ()
    sized_main: SizedMain | None = None

    def at(self, sizes: Mapping[str, int]) -> LoweredModule:
        """The module of a program with symbolic dimensions, for arguments of given sizes: the compiler finds all other sizes.

        Args:
          sizes: a number for each variable.

        Raises:
          ValueError: if the module is for several platforms, or of a program without symbolic dimensions.
        """
        if self.sized_main is None or len(self.platforms) > 1:
            raise ValueError(f"LoweredModule.at: {self.name} has no symbolic dimensions, or is for several platforms")
        avals = value_at_sizes((self.convention.in_avals, self.convention.out_avals, self.in_avals, self.out_avals,
                                self.sized_main.parameters, self.sized_main.results), sizes)
        convention = replace(self.convention, in_avals=avals[0], out_avals=avals[1])
        main = self.sized_main.text(sizes, avals[4], avals[5])
        return replace(self, text=self.text.replace(self.sized_main.main, main, 1), convention=convention, in_avals=avals[2],
                       out_avals=avals[3], sized_main=None)


def lower(closed: ClosedJaxpr, *, name: str = "main", platform: str | Sequence[str] = "cpu", donated: Sequence[bool] | None = None,
          keep_unused: bool = False, arg_names: Sequence[str] | None = None, result_names: Sequence[str] | None = None,
          num_replicas: int = 1, num_partitions: int = 1, axis_env: dict | None = None,
          arg_shardings: Sequence[Any] | None = None, result_shardings: Sequence[Any] | None = None,
          arg_memories: Sequence[str | None] | None = None, result_memories: Sequence[str | None] | None = None,
          arg_layouts: Sequence[str | None] | None = None, result_layouts: Sequence[str | None] | None = None,
          inline_consts: bool = False, cpu_kernels: bool = False, has_new_cpu_compiler: bool = False,
          device_mesh: AbstractMesh | None = None, devices: Sequence[Any] = ()) -> LoweredModule:
    """Writes a program as a StableHLO module.

    Args:
      closed: the program.
      name: the function's name; the module is called `jit_<name>`.
      platform: "cpu", "cuda", "rocm" or "tpu", or several of them, for one module that runs on each.
      donated: which arguments' buffers may be overwritten.
      keep_unused: whether arguments that the program does not read stay among the module's arguments.
      arg_names: names of the arguments, `params['w']`: their locations, which the compiler's messages show.
      result_names: names of the results, `result['loss']`.
      num_replicas, num_partitions: how many devices run the module.
      axis_env: sizes of named axes that collectives refer to.
      arg_shardings, result_shardings: how XLA splits each: a sharding with `mesh` and `spec`, or HLO's text for one,
        "{replicated}"; None is its choice.
      arg_memories, result_memories: the kind of memory that each is in, "pinned_host"; None is the devices' own. By default it is as
        their types say.
      arg_layouts, result_layouts: how the elements of each lie in memory: XLA's text for a layout, "{0,1}", or "auto" for its choice; None
        is the platform's default, but for results of layout constraints, which say it.
      inline_consts: whether constants are written into the module, which then stands alone, instead of being its first
        arguments.
      cpu_kernels: whether a program for one CPU device, and no other platform, is written with the kernels that are faster there (see
        `writing.registry`). One for sizes that are expressions is not.
      has_new_cpu_compiler: for these kernels, whether the compiler is that of jaxlib 0.12, whose sort by a plain comparison puts NaN last.
      device_mesh: for the program of one device among those of a mesh, the mesh: its axes are named axes, along which collectives
        communicate between partitions.
      devices: those that the compiler splits the module over, in the order of their numbers, for operations that name one.

    Raises:
      ValueError: for an unknown platform, none, or one twice; for effects of kinds that no lowering rule is known to keep, and ordered
        ones of libraries' own in a program for several devices.
      NotImplementedError: if an operation has no lowering rule for one of the platforms.
    """
    platforms = (platform,) if isinstance(platform, str) else tuple(platform)
    for unknown in set(platforms) - set(PLATFORMS):
        raise ValueError(f"lower: unknown platform {unknown!r}; expected one of {', '.join(PLATFORMS)}")
    if not platforms or len(set(platforms)) < len(platforms):
        raise ValueError(f"lower: expected one platform or several different ones, got {platform!r}")
    if closed.effects:
        _check_effects(closed.effects, num_replicas * num_partitions)
    if inline_consts and closed.consts:
        closed = _with_inline_consts(closed, name)
    args = _Values(closed.in_avals, arg_names, arg_shardings, arg_memories or [*map(_memory_of_type, closed.in_avals)], arg_layouts)
    results = _Values(closed.out_avals, result_names, result_shardings, result_memories or [*map(_memory_of_type, closed.out_avals)],
                      _result_layouts(closed.jaxpr, result_layouts))
    with paused_collection(), without_mesh():  # rules make programs that serve all modules
        module = ModuleContext(platforms, _module_name(name), plan_calls(closed.jaxpr), axis_env)
        module.num_partitions, module.devices = num_partitions, tuple(devices)
        if device_mesh is not None:
            module.manual_mesh, module.manual_axes = device_mesh, frozenset(device_mesh.axis_names)
            module.axis_env = dict(device_mesh.shape)
        module.uses_cpu_kernels = (cpu_kernels and platforms == ("cpu",) and num_partitions == num_replicas == 1
                                   and not has_symbolic_sizes(closed.in_avals))
        module.has_new_cpu_compiler = has_new_cpu_compiler
        return _lower(closed, module, name, donated or (False,) * len(closed.in_avals), keep_unused, args, results, num_replicas)


def _check_effects(effects: frozenset[Any], device_count: int) -> None:
    """Raises ValueError if a program for so many devices cannot have these effects."""
    if unknown := lowerable_effects.filter_not_in(effects):
        raise ValueError(f"Cannot lower jaxpr with effects: {{{', '.join(sorted(map(repr, unknown)))}}}. Say that the lowering rules keep "
                         "them: lowerable_effects.add_type(type(effect)).")
    if device_count > 1 and (ordered := shardable_ordered_effects.filter_not_in(ordered_effects.filter_in(effects))):
        raise ValueError("The following ordered effects are not supported for more than 1 device: "
                         f"[{', '.join(sorted(map(str, ordered)))}]. Say that an order on each device is enough: "
                         "shardable_ordered_effects.add_type(type(effect)).")


class _Values(NamedTuple):
    """The arguments of a module, or its results: their types and names, how each is split, and where and how it lies in memory."""
    avals: Sequence[ShapedArray]
    names: Sequence[str] | None
    shardings: Sequence[Any] | None
    memories: Sequence[str | None]
    layouts: Sequence[str | None] | None


def _lower(closed: ClosedJaxpr, module: ModuleContext, name: str, donated: Sequence[bool], keep_unused: bool, args: _Values,
           results: _Values, num_replicas: int) -> LoweredModule:
    jaxpr = closed.jaxpr
    live, used = live_equations(jaxpr)
    is_dynamic = has_symbolic_sizes(closed.in_avals)
    # with symbolic dimensions, the sizes of an argument may be read although the argument is not
    kept = [i for i, v in enumerate(jaxpr.invars) if keep_unused or is_dynamic or v in used]
    aliases, unusable = donation_aliases(jaxpr, donated, kept, args, results)
    module.unique_name("main")
    const_avals = [v.aval for v in jaxpr.constvars]
    consts = _Values(const_avals, None, None, [*map(_memory_of_type, const_avals)], None)
    arg_attributes = [*_arg_attributes(module.meshes, consts, {}), *_arg_attributes(module.meshes, args, aliases)]
    result_attributes = _result_attributes(module.meshes, results)
    if is_dynamic:
        # Lazy: few programs have symbolic sizes.
        from laminax_ir.symbolic.symbolic_solving import ShapeSpecification
        from laminax_lowering.writing.dynamic_shapes import write_dynamic
        names = [*(f"consts[{i}]" for i in range(len(const_avals))), *(args.names or [f"args[{i}]" for i in range(len(args.avals))])]
        sized_main = write_dynamic(module, closed, name, ShapeSpecification([*const_avals, *closed.in_avals], names), live, arg_attributes,
                                   result_attributes)
    else:
        sized_main = None
        n_consts = len(const_avals)
        writer = FunctionWriter(module, module.platforms)
        writer.is_top_level, writer.scope = True, f"jit({name})"
        main = writer.write(
            jaxpr, "main", live=live, kept=[*range(n_consts), *(n_consts + i for i in kept)],
            arg_names=[*[None] * n_consts, *args.names] if args.names else (), arg_attributes=arg_attributes,
            result_attributes=result_attributes, result_moves=[*map(_move, closed.out_avals, results.memories)],
            result_sums=[*map(partial(_opened, module.meshes), closed.out_avals, results.shardings)] if results.shardings else ())
        module.functions.insert(0, main)
    attributes = {"mhlo.num_partitions": f"{module.num_partitions} : i32", "mhlo.num_replicas": f"{num_replicas} : i32"}
    if module.has_dynamic_shapes:
        attributes["jax.uses_shape_polymorphism"] = "true"
    convention = _convention(closed, module, kept, donated,
                             any(layout is not None for layout in (*(args.layouts or ()), *(results.layouts or ()))))
    return LoweredModule(module.text(attributes), module.name, module.platforms, convention, tuple(closed.consts), tuple(kept),
                         tuple(closed.in_avals), tuple(closed.out_avals), tuple(jaxpr.invars[i].aval for i in unusable), sized_main)


def has_symbolic_sizes(avals: Sequence[ShapedArray]) -> bool:
    """Whether sizes of arguments are expressions in variables."""
    return any(SymbolicDim in map(type, aval.shape) for aval in avals)


def _convention(closed: ClosedJaxpr, module: ModuleContext, kept: Sequence[int], donated: Sequence[bool],
                has_layouts: bool) -> CallingConvention:
    """How the module is called, constants first."""
    n_consts = len(closed.consts)
    is_kept = [False] * len(closed.in_avals)
    for i in kept:
        is_kept[i] = True
    return CallingConvention(
        in_avals=tuple([stored_aval(v.aval) for v in (*closed.jaxpr.constvars, *closed.jaxpr.invars)]),
        out_avals=tuple(map(stored_aval, closed.out_avals)),
        kept=(*[True] * n_consts, *is_kept),
        donated=(*[False] * n_consts, *donated),
        has_layouts=has_layouts,
        has_dynamic_shapes=module.has_dynamic_shapes,
        host_callbacks=tuple(module.host_callbacks),
        host_transfers=tuple(module.host_transfers),
        keepalives=tuple(module.keepalives),
        inspections=tuple(module.inspections),
        partitioned_calls=tuple(module.partitioned_calls),
        call_targets=tuple(module.call_targets),
        has_short_reductions=module.uses_cpu_kernels and module.reductions.are_short)


def _memory_of_type(aval: ShapedArray) -> str | None:
    """The kind of memory that values of a type are in; None for the devices' own."""
    return HOST_KIND if aval.memory_space is MemorySpace.Host else None


def _result_layouts(jaxpr: Jaxpr, given: Sequence[str | None] | None) -> Sequence[str | None] | None:
    """The layouts of the results: what is given, and what the program's constraints say."""
    if not layouts_in_use:
        return given
    constrained = {eqn.outvars[0]: eqn.params["layout"].major_to_minor for eqn in jaxpr.eqns if eqn.primitive is layout_constraint_p}
    if not constrained:
        return given
    return [layout or (f"{{{','.join(map(str, reversed(constrained[v])))}}}" if v in constrained else None)
            for v, layout in zip(jaxpr.outvars, given or [None] * len(jaxpr.outvars))]


def _move(aval: ShapedArray, kind: str | None) -> str | None:
    """Where a result of this type is to be moved, to be in a kind of memory; None if it is there."""
    return None if kind == _memory_of_type(aval) else kind or "device"


def _opened(meshes: MeshTable, aval: ShapedArray, sharding: Any) -> str | None:
    """The sharding, as text, of a result that is returned with other sums left open than in its type; None if they are the same."""
    spec = getattr(sharding, "spec", None)
    if spec is None or not spec.unreduced or aval._split is not None and aval._split.spec.unreduced == spec.unreduced:
        return None
    return sharding_text(meshes, sharding, aval)


def _module_name(name: str) -> str:
    return symbol_text(f"jit_{name}").rstrip("_")


def _with_inline_consts(closed: ClosedJaxpr, name: str) -> ClosedJaxpr:
    """A program without constants that calls `closed` in place, which writes its constants there."""
    invars = [Var(aval) for aval in closed.in_avals]
    outvars = [Var(aval) for aval in closed.out_avals]
    call = JaxprEqn(invars, outvars, jit_p, {"jaxpr": closed, "name": name, "inline": True}, closed.effects)
    return ClosedJaxpr(Jaxpr([], invars, outvars, [call], closed.effects, closed.jaxpr.debug_info))


def _arg_attributes(meshes: MeshTable, args: _Values, aliases: dict[int, str]) -> list[str]:
    """Donation, memories, layouts and shardings of the arguments."""
    return [_attributes(meshes, args, i, [aliases[i]] if i in aliases else []) for i in range(len(args.avals))]


def _result_attributes(meshes: MeshTable, results: _Values) -> list[str]:
    """Names, memories, layouts and shardings of the results; none at all if no result has one."""
    names = results.names
    texts = [_attributes(meshes, results, i, [f"jax.result_info = {string_text(names[i])}"] if names else [])
             for i in range(len(results.avals))]
    return texts if any(texts) else []


def _attributes(meshes: MeshTable, values: _Values, i: int, attributes: list[str]) -> str:
    """The attributes of one argument or result, as MLIR's dictionary, after those that are given."""
    if (memory := values.memories[i]) is not None:
        attributes.append(f"mhlo.memory_kind = {string_text(memory)}")
    if values.layouts and (layout := values.layouts[i]) is not None:
        attributes.append(f"mhlo.layout_mode = {string_text(layout)}")
    if values.shardings and values.shardings[i] is not None:
        attributes.append(sharding_attribute(meshes, values.shardings[i], values.avals[i]))
    return "{" + ", ".join(attributes) + "}" if attributes else ""


_DONOR = "jax.buffer_donor = true"
_UNPLACED = _Values((), None, None, (), None)


def donation_aliases(jaxpr: Jaxpr, donated: Sequence[bool], kept: Sequence[int], args: _Values = _UNPLACED,
                     results: _Values = _UNPLACED) -> tuple[dict[int, str], list[int]]:
    """Finds results that can take the buffers of donated arguments: for each the first of its type and memory that has none yet.

    Where the compiler chooses how arguments or results are split, it is left to it which result takes the buffer; also where only the
    number of bytes is that of a result, such as the argument in another shape.

    Args:
      jaxpr: the program.
      donated: which of its parameters are donated.
      kept: the indices of the parameters that the module takes.
      args, results: how they are split, and where and how they lie in memory; by default nothing is said of that.

    Returns:
      The attribute of each donated argument whose buffer can be used, by its index; and the indices of the others, in order.

    Raises:
      ValueError: if the compiler chooses the layout of a donated argument, or of the result that takes its buffer, and not of both;
        but where it also chooses how the result is split, it may find that none takes the buffer.
    """
    free: dict[tuple, list[int]] = {}
    for position, v in enumerate(jaxpr.outvars):
        aval = physical_aval(v.aval)
        free.setdefault((aval.shape, aval.dtype, results.memories and results.memories[position]), []).append(position)
    aliases, unusable = {}, []
    for i in kept:
        if not donated[i]:
            continue
        aval = physical_aval(jaxpr.invars[i].aval)
        matching = free.get((aval.shape, aval.dtype, args.memories and args.memories[i]))
        if not matching:
            unusable.append(i)
            continue
        aliases[i] = _DONOR
        position = matching.pop(0)
        given, taken = args.layouts[i] if args.layouts else None, results.layouts[position] if results.layouts else None
        if given != taken:
            is_split_as_chosen = (args.shardings is not None and args.shardings[i] is not None
                                  and (results.shardings is None or results.shardings[position] is None))
            if not is_split_as_chosen:
                _check_chosen_alike(i, given, position, taken)
            continue  # the compiler decides whether it can be reused
        if args.shardings is None and results.shardings is None or (
                args.shardings and results.shardings and args.shardings[i] is not None
                and args.shardings[i] == results.shardings[position]):
            aliases[i] = f"tf.aliasing_output = {position} : i32"
    sizes = [(math.prod(shape) * dtype.itemsize, memory) for (shape, dtype, memory), positions in free.items()
             if is_constant_shape(shape) for _ in positions]
    for i in tuple(unusable):
        aval = physical_aval(jaxpr.invars[i].aval)
        size = (aval.size * aval.dtype.itemsize, args.memories and args.memories[i]) if is_constant_shape(aval.shape) else None
        if size in sizes:
            sizes.remove(size)
            unusable.remove(i)
            aliases[i] = _DONOR
    return aliases, unusable


def _check_chosen_alike(argument: int, given: str | None, result: int, taken: str | None) -> None:
    if "auto" in (given, taken):
        side = "output" if given == "auto" else "input"
        raise ValueError(f"Input layout being donated, of argument {argument}, was {given or 'the default'} while output layout, of result "
                         f"{result}, was {taken or 'the default'}. Did you mean to set the **{side} layout** to **Layout.AUTO**? A buffer "
                         "is used again only in one layout, which the compiler then chooses for both.")
