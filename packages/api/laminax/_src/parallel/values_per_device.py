"""The values of a `shard_map` outside of jit, for a function that asks for them: `if total > 0`, `print(x)`, `range(n)`.

The function is recorded as under jit. Once it asks for a value, the operations recorded so far run, each as a program per device of its
own, and so do the later ones: at the next question, or at the end. A function that asks for no value becomes one program, which later
calls run; one that asks is called each time, since what it does may depend on the values.

Between operations, what a device has is its part of a whole array with a further first axis, which is split along the mesh axes along
which the value may vary.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

import laminax_runtime as runtime
from laminax_ir.ops.shape import reshape
from laminax_ir.options import ambient
from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import StagedTracer, StagingTrace
from laminax_ir.tracing.manual_axes import manual_axes, manual_mesh
from laminax_ir.tracing.trace import Trace, Tracer, axis_env, current_trace, state
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.partition_specs import PartitionSpec


class Parts(NamedTuple):
    """What the devices have of a value: a whole array, how it is split, and whether its first axis is one that was added."""
    whole: Any
    spec: PartitionSpec
    has_axis: bool


class Devices(NamedTuple):
    """Where a function runs: the mesh, the axes that it runs along, and whether types say along which of them values vary."""
    mesh: runtime.Mesh
    names: tuple[Hashable, ...]
    check_vma: bool

    def spec_of(self, aval: ShapedArray) -> PartitionSpec:
        """How a value with a further first axis is split."""
        own = frozenset(self.names)
        along = tuple(name for name in self.names if not self.check_vma or name in aval.named_shape)
        return PartitionSpec(along, unreduced=aval.mat.unreduced & own, reduced=aval.mat.reduced & own)


class Recorder:
    """Makes the trace of one call of a function that shard_map maps, and knows afterwards whether values were asked for.

    Args:
      shard_map: that function, which runs the single operations.
      devices: where the function runs.
      operands: the call's flat arguments.
      specs: how they are split.
      part_of: the type of a device's part, of a type and a spec.
    """

    def __init__(self, shard_map: Callable, devices: Devices, operands: Sequence[Any], specs: Sequence[PartitionSpec],
                 part_of: Callable[[ShapedArray, PartitionSpec], ShapedArray]) -> None:
        self.shard_map, self.devices, self.part_of = shard_map, devices, part_of
        self.operands, self.specs = tuple(operands), tuple(specs)
        self.has_run = False  # then the program only puts the results together, which are `operands`, split as `specs` say
        self._axis_sizes, self._manual_axes, self._manual_mesh = state.axis_sizes, manual_axes.value, manual_mesh.value

    @property
    def has_values(self) -> bool:
        """Whether all operands have values, and operations are evaluated at last."""
        trace: Trace | None = state.trace
        while trace is not None:
            if isinstance(trace, StagingTrace):
                return False
            trace = getattr(trace, "parent", None)
        return not any(isinstance(x, Tracer) and x.concrete_value() is None for x in self.operands)

    def __call__(self, name: str, argument_names: Sequence[str] | Callable[[int], str] | None = None) -> PerDeviceTrace:
        return PerDeviceTrace(self, name, argument_names)

    @contextmanager
    def outside(self, trace: Trace) -> Iterator[None]:
        """A context with what was ambient around the call, where a trace is current."""
        with current_trace(trace), manual_axes(self._manual_axes), manual_mesh(self._manual_mesh), axis_env(self._axis_sizes):
            yield


class PerDeviceTrace(StagingTrace):
    """Records operations, and runs those recorded so far when a value is asked for."""

    __slots__ = ("recorder", "parts")

    def __init__(self, recorder: Recorder, name: str, argument_names: Sequence[str] | Callable[[int], str] | None) -> None:
        super().__init__(name, argument_names)
        self.recorder = recorder
        self.parts: WeakKeyDictionary[Var, Parts] = WeakKeyDictionary()  # what has run, as long as the function has it

    def value_of(self, var: Var | Literal) -> Any | None:
        return self._common_value(var) if self.recorder.has_run and not self.ended and var in self.parts else None

    def demanded_value_of(self, var: Var | Literal) -> Any | None:
        if type(var) is Literal:
            return var.val
        if self._varying(var.aval) and self.recorder.devices.check_vma:
            return None
        return self._common_value(var) if self._run() else None

    def text_of(self, tracer: StagedTracer) -> str:
        if not self._run():
            return super().text_of(tracer)
        return "\n".join(f"{where}:\n{value}" for where, value in self._values_by_device(tracer.variable))

    def why_unknown(self, tracer: StagedTracer) -> str:
        if self.ended or self._has_refs():
            return super().why_unknown(tracer)
        along = self._varying(tracer.aval)
        if not along:
            return f"It is a value of {self.name}, which runs on every device of a mesh." if self.recorder.has_run \
                else super().why_unknown(tracer)
        how = "it may vary" if self.recorder.devices.check_vma else "it varies, or is in part that of other processes,"
        return (f"Its concrete value is not one value in {self.name}: {how} along the mesh axes {along}. Make it the same on these "
                "devices, with lax.psum or lax.pmax, say.")

    def finish(self, outputs: Iterable[Any]) -> ClosedJaxpr:
        """Ends the recording; if values were asked for, with a program that puts together the results that are there."""
        if not self.recorder.has_run:
            return super().finish(outputs)
        atoms = [self.lift(x) for x in outputs]
        self._run()
        results = [self._with_axis(atom) for atom in atoms]
        recorder, self.ended = self.recorder, True
        recorder.operands, recorder.specs = tuple(r.whole for r in results), tuple(r.spec for r in results)
        avals = [recorder.part_of(get_aval(r.whole), r.spec) for r in results]
        return stage(lambda *parts: [reshape(part, atom.aval.shape) for part, atom in zip(parts, atoms)], avals, self.name)

    def _varying(self, aval: ShapedArray) -> tuple[Hashable, ...]:
        """The axes along which values of a type may vary."""
        return self.recorder.devices.spec_of(aval).partitions[0]

    def _has_refs(self) -> bool:
        return self.has_outer_refs or any(eqn.effects and has_refs(eqn.effects) for eqn in self.eqns)

    def _run(self) -> bool:
        """Runs what has been recorded and not run; returns whether it could."""
        if self.ended or self._has_refs():
            return False
        recorder = self.recorder
        if not recorder.has_run:
            recorder.has_run = True
            self.parts.update((var, Parts(x, spec, False)) for var, x, spec in zip(self.invars, recorder.operands, recorder.specs))
        self.parts.update((var, Parts(value, PartitionSpec(), False)) for var, value, _ in self.constants.values() if var not in self.parts)
        eqns, self.eqns = self.eqns, []
        for eqn in eqns:
            self._run_equation(eqn)
        return True

    def _run_equation(self, eqn: JaxprEqn) -> None:
        places: dict[Var, int] = {}
        for var in eqn.invars:
            if type(var) is not Literal:
                places.setdefault(var, len(places))
        operands = [self.parts[var] for var in places]
        atoms = tuple(_literal_key(v) if type(v) is Literal else places[v] for v in eqn.invars)
        results = self._apply(_Operation(eqn, atoms, tuple(places), tuple(p.has_axis for p in operands)), operands,
                              [var.aval for var in eqn.outvars])
        self.parts.update(zip(eqn.outvars, results))

    def _with_axis(self, atom: Var | Literal) -> Parts:
        """A value with the further first axis."""
        if type(atom) is Literal:
            whole = np.asarray(atom.val)[None]
            return Parts(whole if not atom.aval.weak_type else whole.astype(atom.aval.dtype), PartitionSpec(), True)
        parts = self.parts[atom]
        return parts if parts.has_axis else self._apply(_with_first_axis, [parts], [atom.aval])[0]

    def _apply(self, fun: Callable[..., Any], operands: Sequence[Parts], avals: Sequence[ShapedArray]) -> list[Parts]:
        """Runs a function on the parts of the operands; the avals are those of its results without the first axis, which they have."""
        recorder = self.recorder
        devices, specs = recorder.devices, tuple(recorder.devices.spec_of(aval) for aval in avals)
        with recorder.outside(self.parent):
            mapped = recorder.shard_map(_shared(fun), mesh=devices.mesh, in_specs=tuple(p.spec for p in operands), out_specs=list(specs),
                                        axis_names=set(devices.names), check_vma=devices.check_vma)
            return [Parts(whole, spec, True) for whole, spec in zip(mapped(*[p.whole for p in operands]), specs)]

    def _common_value(self, var: Var | Literal) -> Any | None:
        """The value that all devices have; None if it is not the same, or not known."""
        along = self._varying(var.aval)
        whole = self._with_axis(var).whole
        whole = whole.demanded_value() if isinstance(whole, Tracer) else whole
        if whole is None or along and not getattr(whole, "is_fully_addressable", True):
            return None
        with self.recorder.outside(self.parent):
            if not along:
                return reshape(whole, var.aval.shape)
            values = np.asarray(whole)
        first = values[0]
        return first if all(value.tobytes() == first.tobytes() for value in values) else None

    def _values_by_device(self, var: Var | Literal) -> Iterator[tuple[str, Any]]:
        """For each place along the mesh axes: which devices it has, in words, and the value there."""
        devices = self.recorder.devices
        mesh, names = devices.mesh, devices.names
        along = self._varying(var.aval)
        whole = self._with_axis(var).whole
        whole = whole.demanded_value() if isinstance(whole, Tracer) else whole
        if whole is None:
            return
        found = {shard.device: shard.data for shard in getattr(whole, "addressable_shards", ())}
        axes = ", ".join(map(str, names)) + ("," if len(names) == 1 else "")
        for place in np.ndindex(*[mesh.shape[name] for name in names]):
            at = dict(zip(names, place))
            here = mesh.devices[tuple(at.get(name, slice(None)) for name in mesh.axis_names)]
            here = list(here.flat) if isinstance(here, np.ndarray) else [here]
            if found and len(here) == 1:
                if here[0] not in found:
                    continue  # a device of another process
                value = np.asarray(found[here[0]])[0]
            else:
                value = np.asarray(whole)[np.ravel_multi_index([at[n] for n in along], [mesh.shape[n] for n in along]) if along else 0]
            yield f"On {', '.join(map(str, here))} at mesh coordinates ({axes}) = {place}", value


class _Operation:
    """One equation as a function of the parts of its operands, each once, that gives its results a further first axis.

    Equal operations on equal types are equal, so that they are compiled once.
    """

    def __init__(self, eqn: JaxprEqn, atoms: tuple, invars: tuple[Var, ...], have_axis: tuple[bool, ...]) -> None:
        params = tuple((name, type(value), value) for name, value in sorted(eqn.params.items()))
        self._key = (eqn.primitive, params, atoms, tuple(var.aval for var in invars), have_axis, ambient.trace_key())
        self.jaxpr = Jaxpr([], list(invars), list(eqn.outvars), [eqn])
        self.have_axis = have_axis

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Operation) and self._key == other._key

    def __call__(self, *parts: Any) -> list[Any]:
        operands = [reshape(part, var.aval.shape) if has_axis else part
                    for part, var, has_axis in zip(parts, self.jaxpr.invars, self.have_axis)]
        return _add_axis(eval_jaxpr(self.jaxpr, (), *operands))


def _with_first_axis(part: Any) -> list[Any]:
    return _add_axis([part])


def _add_axis(results: Sequence[Any]) -> list[Any]:
    return [reshape(x, (1, *get_aval(x).shape)) for x in results]


def _literal_key(literal: Literal) -> tuple:
    return type(literal.val), np.asarray(literal.val).tobytes(), literal.aval


@lru_cache(1024)
def _kept(fun: Callable) -> Callable:
    return fun


def _shared(fun: Callable) -> Callable:
    """The first of equal functions, whose traced forms are known; the function itself if it cannot be hashed."""
    try:
        return _kept(fun)
    except TypeError:  # a parameter cannot be hashed
        return fun
