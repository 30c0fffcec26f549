"""The module that is being written: its functions' names, its locations, its meshes, and what the lowering is for."""

from __future__ import annotations

from typing import Any, Callable, Mapping

from laminax_ir.programs.calling_conventions import HostTransfer, PartitionedCall
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.tracing import source
from laminax_ir.tracing.name_stacks import no_names, scope_path
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.planning.outlining import CallPlan
from laminax_lowering.writing.reduction_counts import ReductionCounts
from laminax_lowering.writing.shardings import MeshTable
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import string_text, symbol_text, type_text, types_text


class ModuleContext:
    """One module being written: its functions, its locations, and what the lowering is for.

    Args:
      platforms: one or several of "cpu", "cuda", "rocm" and "tpu".
      name: the module's name, `jit_step`.
      plan: what becomes of calls.
      axis_env: sizes of named axes.
    """

    def __init__(self, platforms: tuple[str, ...], name: str, plan: CallPlan, axis_env: Mapping[Any, int] | None = None) -> None:
        self.platforms = platforms
        self.plan = plan
        self.name = name
        self.axis_env: dict[Any, int] = dict(axis_env or {})
        self.functions: list[str] = []
        self.locations: list[str] = []
        self.keepalives: list[Any] = []
        self.call_targets: dict[str, None] = {}  # the names of the functions that custom calls are of, in order
        self.imported: dict[Any, str] = {}  # exported programs, and what they are called here
        self.host_callbacks: list[Callable[..., Any]] = []
        self.host_transfers: list[HostTransfer] = []  # functions that the program sends to and receives from
        self.inspections: list[tuple[Callable[[Any], Any], int]] = []  # functions of a value's sharding, with its rank
        self.partitioned_calls: list[PartitionedCall] = []  # whose programs the compiler asks for
        self.meshes: MeshTable = MeshTable()
        self.manual_mesh: Any = None  # of the manual computation that is being written, and the axes that it runs along
        self.manual_axes: frozenset[Any] = frozenset()
        self.axis_positions: dict[Any, Value] = {}  # of the device that runs it, where the compiler cannot be asked
        self.dimension_variables: tuple[str, ...] = ()  # of symbolic dimensions; see `dynamic_shapes`
        self.has_dynamic_shapes = False  # its own, or those of a program that it calls
        self.num_partitions = 1  # over how many devices the compiler splits the module
        self.devices: tuple[Any, ...] = ()  # those devices, by their numbers, where they are known
        self.uses_cpu_kernels = False  # whether it is certain to run on one CPU device, and may be written for that
        self.has_new_cpu_compiler = False  # for these kernels: that of jaxlib 0.12, which writes more of them than that of 0.10
        self.loop_depth = 0  # how many loops are around what is being written
        self.reductions = ReductionCounts()
        self._channels = 0
        self.signatures: dict[tuple[ShapedArray, ...], str] = {}
        self._function_names: dict[str, int] = {}
        self.private_functions: dict[tuple[ClosedJaxpr, tuple[str, ...], bool], str] = {}  # see the key
        self._places: dict[tuple[Any, ...], _Locations] = {}
        self._file_index: dict[Any, str] = {}
        self._aliases: dict[str, str] = {}

    def add_keepalive(self, value: Any) -> None:
        """Keeps a value as long as the compiled program, which may hold its address."""
        self.keepalives.append(value)

    def unique_name(self, name: str) -> str:
        """A function name not yet used in the module."""
        clean = symbol_text(name) if name else "fun"
        count = self._function_names.get(clean, 0)
        self._function_names[clean] = count + 1
        return clean if count == 0 else f"{clean}_{count}"

    def new_channel(self) -> str:
        """A channel for one operation between partitions."""
        return f"#stablehlo.channel_handle<handle = {self.new_channel_number()}, type = 1>"

    def new_channel_number(self) -> int:
        """The number of a channel that no other operation of the module uses."""
        self._channels += 1
        return self._channels

    def signature(self, avals: tuple[ShapedArray, ...]) -> str:
        """The type of an operation with one result, whose aval is the last: `(tensor<f32>, tensor<f32>) -> tensor<f32>`."""
        text = self.signatures.get(avals)
        if text is None:
            text = self.signatures[avals] = f"({types_text(avals[:-1])}) -> {type_text(avals[-1])}"
        return text

    def locations_at(self, scope: str, info: source.SourceInfo) -> dict[str, str]:
        """` loc(#loc3)` by the name of the operation, for equations of one place inside a scope."""
        key: tuple[Any, ...] = (scope, id(info.code), info.offset, info.name_stack)
        if type(info) is source.SourceInfoWithCallers:
            key += info.callers
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = _Locations(self, scope, info)
        return found

    def named_location(self, name: str) -> str:
        """` loc(#loc3)` for what has a name only."""
        return f" loc({self._alias(string_text(name))})"

    def _file_location(self, info: source.SourceInfo) -> str:
        """The place of the user's code: the function's name, and where in its file; and where it was called, if that is known."""
        alias = self._frame_location(info)
        if isinstance(info, source.SourceInfoWithCallers) and info.callers:
            callers = [self._frame_location(source.SourceInfo(*frame, no_names)) for frame in info.callers]
            while len(callers) > 1:  # the outermost first: a location refers to the one around it
                outer, inner = callers.pop(), callers.pop()
                callers.append(self._alias(f"callsite({inner} at {outer})"))
            alias = self._alias(f"callsite({alias} at {callers[0]})")
        return alias

    def _frame_location(self, info: source.SourceInfo) -> str:
        key = (id(info.code), info.offset)
        alias = self._file_index.get(key)
        if alias is None:
            where = source.position(info)
            if where is None:
                return "unknown"
            line = self._alias(f"{string_text(where.file)}:{where.line}:{where.column}")
            alias = self._file_index[key] = self._alias(f"{string_text(where.function)}({line})")
        return alias

    def _alias(self, location: str) -> str:
        alias = self._aliases.get(location)
        if alias is None:
            alias = self._aliases[location] = f"#loc{len(self.locations)}"
            self.locations.append(f"{alias} = loc({location})")
        return alias

    def text(self, attributes: Mapping[str, str]) -> str:
        """The module, when all of it is written."""
        self._places.clear()  # they refer to the module: without them it is freed at once, not by the cyclic collector
        listed = ", ".join(f"{key} = {value}" for key, value in attributes.items())
        return "\n".join([f"module @{self.name} attributes {{{listed}}} {{", *self.meshes.lines(), *self.functions, "}", *self.locations,
                          ""])


class _Locations(dict):
    """The locations of operations at one place: one alias per name, made when first asked for."""

    __slots__ = ("module", "scope", "info")

    def __init__(self, module: ModuleContext, scope: str, info: source.SourceInfo) -> None:
        self.module = module
        self.scope = scope
        self.info = info

    def __missing__(self, name: str) -> str:
        path = string_text(scope_path(self.scope, self.info.name_stack, name))
        text = self[name] = f" loc({self.module._alias(f'{path}({self.module._file_location(self.info)})')})"
        return text
