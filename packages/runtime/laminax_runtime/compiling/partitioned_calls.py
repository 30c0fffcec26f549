"""Calls for which a Python function makes the program of one device: the compiler asks for it while it splits the whole.

jaxlib knows one set of functions for all such calls; a call has a name in the text, under which its partitioner is found here for as long
as its program is being compiled.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from laminax_ir.programs.calling_conventions import CallingConvention, PartitionedCall, partitioner_key
from laminax_ir.types.avals import ShapedArray
from laminax_runtime import _jaxlib
from laminax_runtime.arrays import shardings
from laminax_runtime.arrays.hlo_shardings import REPLICATED
from laminax_runtime.arrays.named_shardings import as_given
from laminax_runtime.backends import placement


class _Compiled(NamedTuple):
    """A call in a program that is being compiled. The compiler's shardings are expressed over the meshes of the `known` ones."""
    call: PartitionedCall
    devices: tuple[placement.Device, ...]
    known: Sequence[tuple[shardings.Sharding, int | None]]
    failures: list[Exception]  # of the partitioners of this program: the compiler gives their text alone


_calls: dict[bytes, _Compiled] = {}
_numbers = itertools.count(1)


@contextmanager
def named_calls(text: str, convention: CallingConvention, devices: tuple[placement.Device, ...],
                known: Sequence[tuple[shardings.Sharding, int | None]]) -> Iterator[str]:
    """Context manager: the text of a module with names for its partitioned calls, which the compiler may ask about inside."""
    names: list[str] = []
    failures: list[Exception] = []
    for index, call in enumerate(convention.partitioned_calls):
        _register()
        name = str(next(_numbers))
        text = text.replace(partitioner_key(index), name)
        _calls[name.encode()] = _Compiled(call, devices, known, failures)
        names.append(name)
    try:
        yield text
    except _jaxlib.XlaRuntimeError:
        if failures:
            raise failures[0] from None
        raise
    finally:
        for name in names:
            del _calls[name.encode()]


@functools.cache
def _register() -> None:
    # no rules of propagation: the call's sharding rule, which Shardy reads, says it
    _jaxlib.register_custom_call_partitioner("CustomSPMDPartitioning", _propagated, _partition, _inferred, True)


def _propagated(sharding: _jaxlib.HloSharding, _shape: Any, _name: bytes) -> _jaxlib.HloSharding:
    return sharding


def _inferred(_shapes: Any, _shardings: Sequence[_jaxlib.HloSharding], _result: Any, _name: bytes) -> _jaxlib.HloSharding:
    return REPLICATED


def _partition(_shapes: Sequence[Any], operands: Sequence[_jaxlib.HloSharding], result_shape: Any, result: _jaxlib.HloSharding,
               name: bytes) -> tuple[bytes, list[_jaxlib.HloSharding], _jaxlib.HloSharding]:
    compiled = _calls[bytes(name)]
    call = compiled.call
    proposed = result.tuple_elements() if result_shape.is_tuple() else [result]
    try:
        text, wanted, results = call.partitioner([_as_given(s, aval, compiled) for s, aval in zip(operands, call.operands, strict=True)],
                                                 [_as_given(s, aval, compiled) for s, aval in zip(proposed, call.results, strict=True)])
    except Exception as error:
        compiled.failures.append(error)
        raise
    packed = [_as_hlo(s, aval) for s, aval in zip(results, call.results, strict=True)]
    return (text.encode(), [_as_hlo(s, aval) for s, aval in zip(wanted, call.operands, strict=True)],
            _jaxlib.tuple_sharding(result_shape, packed) if result_shape.is_tuple() else packed[0])


def _as_given(hlo: _jaxlib.HloSharding, aval: ShapedArray, compiled: _Compiled) -> shardings.Sharding:
    return as_given(hlo, aval.ndim, compiled.devices, compiled.known)


def _as_hlo(sharding: shardings.Sharding, aval: ShapedArray) -> _jaxlib.HloSharding:
    return sharding._to_xla_hlo_sharding(aval.ndim)
