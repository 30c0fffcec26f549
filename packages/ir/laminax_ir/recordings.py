"""Recordings: the equations of a composite function, written into a program again without calling the function.

A function such as `softmax` records the same few equations each time that it is called with operands of the same types. The
first such call is an ordinary one; what it appended to the program is kept, with numbers in place of variables, and later
calls copy it: a microsecond per equation, where calling the function takes five to ten.
"""

from __future__ import annotations

import enum
from typing import Any, Callable, NamedTuple, Sequence
from weakref import WeakSet

import numpy as np

from laminax_ir import config_options, source
from laminax_ir.avals import get_aval
from laminax_ir.jaxpr import JaxprEqn, Literal, Var, no_effects
from laminax_ir.pytree import flatten
from laminax_ir.refs import Ref
from laminax_ir.staging import StagedTracer, StagingTrace, literal_types
from laminax_ir.trace import NameStack, Tracer, state

_new = object.__new__
_LIMIT = 256  # recordings per function
_LARGEST_CONSTANT = 1 << 20  # bytes; a larger one would be kept alive for long


class Step(NamedTuple):
    """An equation whose variables are places in a list of atoms."""
    primitive: Any
    params: dict[str, Any]
    operands: tuple[int, ...]
    avals: tuple[Any, ...]  # of its results, which come next in the list
    names: tuple[str, ...]  # the scopes in the function that it was made in


class Recording(NamedTuple):
    """What a call did: the list of atoms begins with the operands, the constants and the literals."""
    constants: tuple[tuple[Any, Any], ...]  # value and aval
    literals: tuple[Literal, ...]
    steps: tuple[Step, ...]
    outputs: tuple[tuple[int, int], ...]  # place, and number of the step that makes it, -1 for an operand or a constant
    out_tree: Any  # None for a single result


class RecordedFunction:
    """A function of arrays as it is called while `StagingTrace` is current.

    Args:
      fun: depends on nothing but its arguments and the options that affect tracing.
    """

    __slots__ = ("fun", "recordings", "__weakref__")

    def __init__(self, fun: Callable):
        self.fun = fun
        self.recordings: dict[tuple, Recording | None] = {}
        _functions.add(self)

    def __call__(self, trace: StagingTrace, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Calls the function, or copies what an equal call has recorded."""
        operands: list[StagedTracer] = []
        key: list[Any] = []
        if not (_describe(args, trace, operands, key) and (not kwargs or _describe_named(kwargs, trace, operands, key))):
            return self.fun(*args, **kwargs)
        key += (config_options.trace_key(), *state.axis_sizes.items())
        key = tuple(key)
        recording = self.recordings.get(key)
        if recording is not None:
            return _replay(recording, trace, operands)
        return self.fun(*args, **kwargs) if key in self.recordings else self._record(trace, key, operands, args, kwargs)

    def _record(self, trace: StagingTrace, key: tuple, operands: Sequence[StagedTracer], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        start, warnings = len(trace.eqns), state.warnings
        result = self.fun(*args, **kwargs)
        if len({x.var for x in operands}) == len(operands):  # else the equations would not tell which operand is meant
            if len(self.recordings) >= _LIMIT:
                self.recordings.clear()
            self.recordings[key] = _recording(trace, trace.eqns[start:], operands, result) if state.warnings == warnings else None
        return result


_functions: WeakSet[RecordedFunction] = WeakSet()


def forget_recordings() -> None:
    """Empties the recordings of every function."""
    for function in _functions:
        function.recordings.clear()


# --- keys ---

_BY_VALUE = frozenset((bool, int, str))


def _describe(values: Sequence[Any], trace: StagingTrace, operands: list, key: list) -> bool:
    """Appends what tells the values apart, and those that are tracers to the operands; False if one cannot be told."""
    for x in values:
        kind = type(x)
        if kind is StagedTracer:
            if x._trace is not trace:
                return False
            operands.append(x)
            key.append(x.aval)
        elif x is None:
            key.append(None)
        elif kind in _BY_VALUE:
            key += kind, x
        elif kind is tuple or kind is list:
            key += kind, len(x)
            if not _describe(x, trace, operands, key):
                return False
        elif kind is float or kind is complex:  # repr tells 0.0 from -0.0, and is the same for each NaN
            key += kind, repr(x)
        elif kind in literal_types:  # NumPy's scalars, and the runtime's arrays, of which only scalars are literals
            if x.shape != ():
                return False
            key += kind, get_aval(x), x.tobytes()
        elif kind is type or isinstance(x, (np.dtype, enum.Enum)):
            key += kind, x
        else:
            return False
    return True


def _describe_named(kwargs: dict[str, Any], trace: StagingTrace, operands: list, key: list) -> bool:
    key += kwargs
    return _describe(kwargs.values(), trace, operands, key)


# --- recording ---


def _recording(trace: StagingTrace, eqns: Sequence[JaxprEqn], operands: Sequence[StagedTracer], result: Any) -> Recording | None:
    """What was done since; None if it cannot be done again, such as an effect, or a value of an outer trace."""
    if state.source is not None or any(eqn.effects for eqn in eqns):
        return None
    leaves, out_tree = flatten(result)
    if not leaves or not all(type(x) is StagedTracer and x._trace is trace for x in leaves):
        return None
    known = {*(x.var for x in operands), *(var for eqn in eqns for var in eqn.outvars)}
    constants = {var: value for var, value, _ in trace.constants.values()}
    used_constants: dict[Var, Any] = {}
    literals: dict[int, Literal] = {}
    for atom in (*(atom for eqn in eqns for atom in eqn.invars), *(x.var for x in leaves)):
        if type(atom) is Literal:
            literals[id(atom)] = atom
        elif atom not in known:
            if atom not in constants or not _may_be_kept(constants[atom]):
                return None
            used_constants[atom] = constants[atom]
    atoms = [*(x.var for x in operands), *used_constants, *literals.values()]
    places = {id(atom): place for place, atom in enumerate(atoms)}
    steps, maker, depth = [], {}, len(state.name_stack)  # equations have the caller's scopes too
    for number, eqn in enumerate(eqns):
        names = eqn.source_info.name_stack[depth:]
        steps.append(Step(eqn.primitive, eqn.params, tuple(places[id(atom)] for atom in eqn.invars), tuple(v.aval for v in eqn.outvars), names))
        for var in eqn.outvars:
            maker[id(var)] = number
            places[id(var)] = len(places)
    outputs = tuple((places[id(x.var)], maker.get(id(x.var), -1)) for x in leaves)
    return Recording(tuple((value, var.aval) for var, value in used_constants.items()), tuple(literals.values()), tuple(steps), outputs,
                     None if result is leaves[0] else out_tree)


def _may_be_kept(constant: Any) -> bool:
    return not isinstance(constant, (Tracer, Ref)) and constant.nbytes <= _LARGEST_CONSTANT


# --- copying ---


def _replay(recording: Recording, trace: StagingTrace, operands: Sequence[StagedTracer]) -> Any:
    constants, literals, steps, outputs, out_tree = recording
    atoms: list[Any] = [x.var for x in operands]
    if constants:
        operands = [*operands, *(trace._constant(value, aval) for value, aval in constants)]
        atoms = [x.var for x in operands]
    atoms += literals
    own_source = state.source
    origin = source.current() if own_source is None else own_source
    eqns = trace.eqns
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
    for place, number in outputs:
        if number < 0:
            results.append(operands[place])
        else:
            var = atoms[place]
            results.append(StagedTracer(trace, var.aval, var, eqns[first + number]))
    return results[0] if out_tree is None else out_tree.unflatten(results)


def _inside(origin: source.SourceInfo, names: tuple[str, ...]) -> source.SourceInfo:
    return origin._replace(name_stack=NameStack((*origin.name_stack, *names)))
