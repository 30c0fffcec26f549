"""The calling convention of a module: a record that the layer which writes the module makes for the layer that compiles and runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from laminax_ir.options.records import Record
from laminax_ir.types.avals import ShapedArray


def inspection_key(index: int) -> str:
    """What stands in a module's text for the compiler's name of the index-th of its inspections."""
    return f"laminax_inspection_{index}_"


def partitioner_key(index: int) -> str:
    """What stands in a module's text for the compiler's name of the index-th of its partitioned calls."""
    return f"laminax_partitioner_{index}_"


class PartitionedCall(Record):
    """A call whose program on one device a function of Python makes.

    partitioner: from the shardings of operands and results that the compiler proposes to the text of the module of one device, and the
      shardings that operands and results shall have.
    operands, results: their types, of the whole arrays.
    """
    partitioner: Callable[..., Any]
    operands: tuple[ShapedArray, ...]
    results: tuple[ShapedArray, ...]


class HostTransfer(Record):
    """A function of Python that a program calls by sending values to the host and receiving others.

    function: takes one NumPy array per element of `operands`, and returns one per element of `results`.
    send_channels, receive_channels: the number of the channel of each, as in the module's text.
    """
    function: Callable[..., Any]
    operands: tuple[ShapedArray, ...]
    results: tuple[ShapedArray, ...]
    send_channels: tuple[int, ...]
    receive_channels: tuple[int, ...]


@dataclass(frozen=True)
class CallingConvention:
    """How the function `main` of a StableHLO module is called.

    All avals are those of the arrays that store the values: of key arrays, their words.

    in_avals: one per argument of the caller, the program's constants first.
    out_avals: one per result.
    kept: for each argument, whether `main` has a parameter for it; the others are unused.
    donated: for each argument, whether its buffer may be overwritten.
    has_layouts: whether some argument or result is given a memory layout; arrays may then have other layouts than the
      platform's default.
    has_dynamic_shapes: whether some shapes are not known before sizes are given to `main`, or to a function that it calls.
    host_callbacks: functions of Python that the program calls, by their index in the text.
    host_transfers: those that it sends to and receives from, by numbers of channels.
    inspections: functions of the sharding that the compiler chooses for a value, each with the value's rank; the text holds
      `inspection_key(i)` for the compiler's name of the i-th.
    keepalives: objects that must live as long as the compiled program, such as those whose addresses it holds.
    partitioned_calls: calls that the compiler asks about, likewise with `partitioner_key(i)`.
    call_targets: the names of the functions outside of the program that it calls: kernels, the compiler's, and users'.
    has_short_reductions: whether its reductions are in loops for the most part, and none is as long as those that a CPU's compiler had
      better leave to a library.
    """
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    kept: tuple[bool, ...]
    donated: tuple[bool, ...]
    has_layouts: bool = False
    has_dynamic_shapes: bool = False
    host_callbacks: tuple[Callable[..., Any], ...] = field(default=(), compare=False)
    host_transfers: tuple[HostTransfer, ...] = field(default=(), compare=False)
    keepalives: tuple[Any, ...] = field(default=(), compare=False)
    inspections: tuple[tuple[Callable[[Any], Any], int], ...] = field(default=(), compare=False)
    partitioned_calls: tuple[PartitionedCall, ...] = field(default=(), compare=False)
    call_targets: tuple[str, ...] = ()
    has_short_reductions: bool = False

    def __post_init__(self) -> None:
        count = len(self.in_avals)
        if not len(self.kept) == len(self.donated) == count:
            raise ValueError(f"CallingConvention: {count} arguments, but {len(self.kept)} flags in kept and {len(self.donated)} in "
                             "donated. Give one per argument, the constants included.")

    @property
    def needs_this_process(self) -> bool:
        """Whether the program reaches into this process, and so can be neither stored nor sent to another."""
        return bool(self.host_callbacks) or self.holds_addresses

    @property
    def holds_addresses(self) -> bool:
        """Whether the compiled program holds addresses of this process, or is connected to it. Functions in `host_callbacks` are neither:
        they are numbers to it, and another process gives it functions of its own."""
        return bool(self.host_transfers or self.keepalives or self.inspections or self.partitioned_calls)

    @property
    def parameters(self) -> tuple[int, ...]:
        """The numbers of the arguments that `main` has parameters for, in order."""
        return tuple([i for i, is_kept in enumerate(self.kept) if is_kept])
