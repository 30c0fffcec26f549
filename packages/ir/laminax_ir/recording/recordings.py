"""Recordings: the equations of a composite function, written into a program again without calling the function.

A function such as `softmax` records the same few equations each time that it is called with operands of the same types. The first such call
is an ordinary one; the equations that it appended to the program are kept, with numbers in place of variables, and later calls copy them: a
microsecond per equation, where calling the function takes five to ten. Between the function and the program
there may be transformations: a recording of mapped operands has the equations of the whole batch.
"""

from __future__ import annotations

import enum
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, Protocol, Sequence, cast
from weakref import WeakSet

import numpy as np

from laminax_ir.options import ambient
from laminax_ir.programs.jaxpr import JaxprEqn, Literal, Var, no_effects
from laminax_ir.pytrees.pytree import flatten
from laminax_ir.recording.staging_trace import StagedTracer, StagingTrace, literal_types
from laminax_ir.refs.refs import Ref
from laminax_ir.tracing import source
from laminax_ir.tracing.name_stacks import NameStack
from laminax_ir.tracing.trace import ConstantFoldingTrace, Trace, Tracer, current_trace, eval_trace, state
from laminax_ir.types.warning_counts import given as warnings_given

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

_new = object.__new__
_LIMIT = 256  # recordings per function
_LARGEST_CONSTANT = 1 << 20  # bytes; a larger one would be kept alive for long


class Mapping(Protocol):
    """A transformation that equations can be copied through: a trace with a `recording_key`, on which the equations depend."""

    recording_key: Any

    def split(self, x: Any) -> tuple[Any, Any]:
        """A value as the parent has it, and what the transformation adds to it."""

    def join(self, value: Any, part: Any, /) -> Any:
        """The inverse of `split`."""


class Step(NamedTuple):
    """An equation whose variables are places in a list of atoms."""
    primitive: Any
    params: dict[str, Any]
    operands: tuple[int, ...]
    avals: tuple[Any, ...]  # of its results, which come next in the list
    names: tuple[str, ...]  # the scopes in the function that it was made in


class Recording(NamedTuple):
    """The equations of a call. Their list of atoms begins with the operands, the constants and the literals."""
    constants: tuple[tuple[Any, Any], ...]  # value and aval
    literals: tuple[Literal, ...]
    steps: tuple[Step, ...]
    # place, number of the step that makes it, -1 for an operand or a constant, and parts (`_split`)
    outputs: tuple[tuple[int, int, tuple], ...]
    out_tree: Any  # None for a single result


class RecordedFunction:
    """A function of arrays as it is called in a trace.

    Args:
      fun: a function that depends only on its arguments and the options that affect tracing.
    """

    __slots__ = ("fun", "whole", "recordings", "__weakref__")

    def __init__(self, fun: Callable) -> None:
        self.fun = fun
        self.whole = fun  # the function where it is called on values
        self.recordings: dict[tuple, Recording | None] = {}
        _functions.add(self)

    def __call__(self, trace: Trace, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Calls the function, or copies what an equal call has recorded.

        Args:
          trace: the current one.
        """
        levels: Sequence[Mapping] = ()
        if type(trace) is StagingTrace:
            program = trace
        elif type(trace) is ConstantFoldingTrace:
            return self._folded(args, kwargs)
        elif (found := _find_program(trace)) is not None:
            program, levels = found
        else:
            return self.fun(*args, **kwargs)
        if program.is_explicit:
            return self.fun(*args, **kwargs)
        operands: list[StagedTracer] = []
        words: list[Any] = []
        if not (_describe(args, program, levels, operands, words)
                and (not kwargs or _describe_named(kwargs, program, levels, operands, words))):
            return self.fun(*args, **kwargs)
        words += (ambient.trace_key(), *state.axis_sizes.items(), *[level.recording_key for level in levels])
        key = tuple(words)
        recording = self.recordings.get(key)
        if recording is not None:
            return _replay(recording, program, levels, operands)
        if key in self.recordings or state.source is not None:  # equations on behalf of others do not show their scopes
            return self.fun(*args, **kwargs)
        start, warnings = len(program.eqns), warnings_given.count
        result = self.fun(*args, **kwargs)
        if len({x.variable for x in operands}) == len(operands):  # else the equations would not tell which operand is meant
            if len(self.recordings) >= _LIMIT:
                self.recordings.clear()
            self.recordings[key] = (None if warnings_given.count != warnings or program.is_explicit
                                    else _recording(program, levels, program.eqns[start:], operands, result))
        return result

    def _folded(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The function of values as outside of all traces, with the same last bits; where tracers take part, its operations."""
        if any(isinstance(x, Tracer) for x in flatten((args, kwargs))[0]):
            return self.fun(*args, **kwargs)
        with current_trace(eval_trace):
            return self.whole(*args, **kwargs)


def recorded(fun: Callable) -> Callable:
    """Decorator: in a trace the function is a `RecordedFunction`; it takes its arguments by position."""
    in_trace = RecordedFunction(fun)

    @wraps(fun)
    def call(*args: Any) -> Any:
        trace = state.trace
        return fun(*args) if trace is eval_trace else in_trace(trace, args, {})

    return call


_functions: WeakSet[RecordedFunction] = WeakSet()


def forget_recordings() -> None:
    """Empties the recordings of every function."""
    for function in _functions:
        function.recordings.clear()


# --- transformations ---

def _find_program(trace: Trace) -> tuple[StagingTrace, Sequence[Mapping]] | None:
    """The program that a function's equations end up in, and the transformations that map its operands, the innermost first."""
    levels: list[Mapping] = []
    while type(trace) is not StagingTrace:
        if not trace.is_recorded:
            return None
        if trace.recording_key is not None:
            levels.append(cast(Mapping, trace))
        trace = trace.parent
    return trace, levels


def _split(x: ArrayLike, levels: Sequence[Mapping]) -> tuple[Any, tuple]:
    """A value as the program has it, and what each transformation adds to it."""
    parts = []
    for level in levels:
        x, part = level.split(x)
        parts.append(part)
    return x, tuple(parts)


# --- keys ---

_BY_VALUE = frozenset((bool, int, str))


def _describe(values: Iterable[Any], program: StagingTrace, levels: Sequence[Mapping], operands: list, key: list) -> bool:
    """Appends to `key` what tells the values apart, and to `operands` the tracers among them; False if a value cannot be part of a key."""
    for x in values:
        kind = type(x)
        if kind is StagedTracer:
            if x._trace is not program:
                return False
            operands.append(x)
            key.append(x.aval)
        elif levels and isinstance(x, Tracer):
            x, parts = _split(x, levels)
            if type(x) is not StagedTracer or x._trace is not program:
                return False
            operands.append(x)
            key += x.aval, parts
        elif x is None:
            key.append(None)
        elif kind in _BY_VALUE:
            key += kind, x
        elif kind is tuple or kind is list:
            key += kind, len(x)
            if not _describe(x, program, levels, operands, key):
                return False
        elif kind is float or kind is complex:  # repr tells 0.0 from -0.0, and is the same for each NaN
            key += kind, repr(x)
        elif isinstance(x, np.generic) and kind in literal_types:  # the runtime's arrays are literals too, but may be deleted
            key += kind, x.tobytes()
        elif kind is type or isinstance(x, (np.dtype, enum.Enum)):
            key += kind, x
        else:
            return False
    return True


def _describe_named(kwargs: dict[str, Any], program: StagingTrace, levels: Sequence[Mapping], operands: list, key: list) -> bool:
    key += kwargs
    return _describe(kwargs.values(), program, levels, operands, key)


# --- recording ---


def _recording(program: StagingTrace, levels: Sequence[Mapping], eqns: Sequence[JaxprEqn], operands: Sequence[StagedTracer],
               result: Any) -> Recording | None:
    """The recording of the equations; None if they cannot be copied, such as those with an effect, or a value of an outer trace."""
    if any(eqn.effects for eqn in eqns):
        return None
    results, out_tree = flatten(result)
    split = [_split(x, levels) for x in results]
    if not results or not all(type(x) is StagedTracer and x._trace is program for x, _ in split):
        return None
    leaves = [x for x, _ in split]
    known = {*(x.variable for x in operands), *(var for eqn in eqns for var in eqn.outvars)}
    constants = {var: value for var, value, _ in program.constants.values()}
    used_constants: dict[Var, Any] = {}
    literals: dict[int, Literal] = {}
    for atom in (*(atom for eqn in eqns for atom in eqn.invars), *(x.variable for x in leaves)):
        if atom in known:
            continue
        if type(atom) is Literal:
            literals[id(atom)] = atom
        else:
            if atom not in constants or not _may_be_kept(constants[atom]):
                return None
            used_constants[atom] = constants[atom]
    atoms = [*(x.variable for x in operands), *used_constants, *literals.values()]
    places = {id(atom): place for place, atom in enumerate(atoms)}
    steps, maker, depth = [], {}, len(state.name_stack)  # equations have the caller's scopes too
    for number, eqn in enumerate(eqns):
        names = eqn.source_info.name_stack[depth:]
        steps.append(Step(eqn.primitive, eqn.params, tuple(places[id(atom)] for atom in eqn.invars), tuple(v.aval for v in eqn.outvars),
                          names))
        for var in eqn.outvars:
            maker[id(var)] = number
            places[id(var)] = len(places)
    outputs = tuple((places[id(x.variable)], maker.get(id(x.variable), -1), parts) for x, parts in split)
    return Recording(tuple((value, var.aval) for var, value in used_constants.items()), tuple(literals.values()), tuple(steps), outputs,
                     None if result is results[0] else out_tree)


def _may_be_kept(constant: ArrayLike) -> bool:
    return not isinstance(constant, (Tracer, Ref)) and constant.nbytes <= _LARGEST_CONSTANT


# --- copying ---


def _replay(recording: Recording, program: StagingTrace, levels: Sequence[Mapping], operands: Sequence[StagedTracer]) -> Any:
    constants, literals, steps, outputs, out_tree = recording
    atoms: list[Any] = [x.variable for x in operands]
    if constants:
        operands = [*operands, *(program._constant(value, aval) for value, aval in constants)]
        atoms = [x.variable for x in operands]
    atoms += literals
    own_source = state.source
    origin = source.current() if own_source is None else own_source
    eqns = program.eqns
    first = len(eqns)
    append = eqns.append
    for primitive, params, places, avals, names in steps:
        eqn = _new(JaxprEqn)
        eqn.invars = [atoms[place] for place in places]
        outvars = []
        for aval in avals:
            var = _new(Var)
            var.aval = aval
            outvars.append(var)
        atoms += outvars
        eqn.outvars = outvars
        eqn.primitive = primitive
        eqn.params = params
        eqn.effects = no_effects
        eqn.source_info = origin if not names or own_source is not None else _inside(origin, names)
        append(eqn)
    results = []
    for place, number, parts in outputs:
        if number < 0:
            x = operands[place]
        else:
            var = atoms[place]
            x = StagedTracer(program, var.aval, var, eqns[first + number])
        for level, part in zip(reversed(levels), reversed(parts)):
            x = level.join(x, part)
        results.append(x)
    return results[0] if out_tree is None else out_tree.unflatten(results)


def _inside(origin: source.SourceInfo, names: tuple[str, ...]) -> source.SourceInfo:
    return origin._replace(name_stack=NameStack((*origin.name_stack, *names)))
