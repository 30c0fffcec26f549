"""Callbacks of programs for TPUs: values sent to the host and received from it, each through a channel of its own.

A function of Python runs once all its operands have come; the program waits where it receives the results. The channels' numbers are in
the text and in the calling convention, by which the runtime connects them with the function. Source: the StableHLO specification,
`send` and `recv` with `is_host_transfer`, and PJRT's convention for the attributes.
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np

from laminax_ir.programs.calling_conventions import HostTransfer
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import type_text

_TOKEN = "!stablehlo.token"
_SEND, _RECEIVE = 2, 3  # types of channels


def emit_host_transfer(ctx: FunctionWriter, function: Callable[..., Sequence[np.ndarray]], operands: Sequence[Value],
                       results: Sequence[ShapedArray], device_number: int | None) -> list[Value]:
    """Writes a call of a Python function of NumPy arrays, as `emit_callback`, for a platform that sends and receives.

    TPUs receive no empty arrays: those are constants here. And a call needs something to wait for: without operands a number is
    sent, without results one is received.
    """
    filled = [i for i, aval in enumerate(results) if 0 not in aval.shape]

    def call(*args: np.ndarray) -> tuple[np.ndarray, ...]:
        outs = function(*args[:len(operands)])
        return tuple([outs[i] for i in filled]) or (np.zeros((), np.float32),)

    sent = list(operands) or [ctx.constant(np.float32(0))]
    received = [results[i] for i in filled] or [ShapedArray((), np.dtype(np.float32))]
    token = ctx.new_name()
    ctx.lines.append(f'{token} = "stablehlo.create_token"() : () -> {_TOKEN}{ctx.loc}')
    sends, receives = [ctx.module.new_channel_number() for _ in sent], [ctx.module.new_channel_number() for _ in received]
    for value, channel in zip(sent, sends, strict=True):
        token, before = ctx.new_name(), token
        ctx.lines.append(f'{token} = "stablehlo.send"({value.name}, {before}) {{{_attributes(ctx, channel, _SEND, device_number)}}} : '
                         f"({type_text(value.aval)}, {_TOKEN}) -> {_TOKEN}{ctx.loc}")
    found = []
    for aval, channel in zip(received, receives, strict=True):
        name, before = ctx.new_name(), token
        ctx.lines.append(f'{name}:2 = "stablehlo.recv"({before}) {{{_attributes(ctx, channel, _RECEIVE, device_number)}}} : '
                         f"({_TOKEN}) -> ({type_text(aval)}, {_TOKEN}){ctx.loc}")
        token = f"{name}#1"
        found.append(Value(f"{name}#0", aval))
    ctx.module.host_transfers.append(HostTransfer(call, tuple([v.aval for v in sent]), tuple(received), tuple(sends), tuple(receives)))
    by_index = dict(zip(filled, found))
    return [by_index[i] if i in by_index else _empty(ctx, aval) for i, aval in enumerate(results)]


def _attributes(ctx: FunctionWriter, channel: int, kind: int, device_number: int | None) -> str:
    entries: dict[str, Any] = {
        "channel_handle": f"#stablehlo.channel_handle<handle = {channel}, type = {kind}>", "is_host_transfer": "true",
        "mhlo.frontend_attributes": f'{{_xla_host_transfer_handler_name = "pjrt_rendezvous", _xla_host_transfer_rendezvous = "{channel}"}}'}
    if device_number is not None:
        count = 1 if kind == _SEND else 2
        entries["sdy.sharding"] = f"#sdy.sharding_per_value<[{', '.join([ctx.module.meshes.on_device(device_number)] * count)}]>"
    return ", ".join(f"{name} = {value}" for name, value in entries.items())


def _empty(ctx: FunctionWriter, aval: ShapedArray) -> Value:
    return Value(ctx.constant(np.zeros(aval.shape, aval.dtype)).name, aval)
