"""The way of an operand through the house, from `laminax.numpy.mean(x)` to the equation in a program, and no call on it goes up.

Counted are the files of the functions that get the operand as an argument, itself or within a tuple, list or dictionary of arguments.
The tracer that stands for an array in the program that is recorded for it is the same operand.

A call goes up, or climbs, where a function calls one of a higher room (`rooms.py`) or of a higher package, but for what is handed down: a
function that the caller has as an argument or from its surrounding function, such as the one that is traced, or as an attribute of
such an object, if its class is of a room that the caller may import, such as the shape rule of a primitive; and a method that a class
of such a room declares, such as `Trace.process`. What a lower room keeps in a variable of its module, and a higher one has put there, is
not handed down, and counts.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest
from import_graph import FOLDERS
from rooms import ROOMS

from laminax_ir.recording.staging_trace import StagedTracer

import laminax
import laminax.numpy as jnp

HEIGHTS = {"laminax_ir": 0, "laminax_transforms": 1, "laminax_lowering": 1, "laminax_runtime": 1, "laminax": 2}


def height(module: str) -> tuple[int, int]:
    """How high a module stands: the height of its package, then that of its room."""
    package = module.split(".")[0]
    prefix = "laminax._src" if package == "laminax" else package
    room = module.removeprefix(prefix + ".").partition(".")[0]
    rooms = [i for i, names in enumerate(ROOMS[prefix]) if room in names.split()]
    return HEIGHTS[package], rooms[0] if rooms else len(ROOMS[prefix])


def module_of(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "")


def is_ours(frame: FrameType) -> bool:
    return module_of(frame).split(".")[0] in FOLDERS


def contains(value: Any, operand: Any) -> bool:
    if value is operand:
        return True
    inside = value.values() if type(value) is dict else value if type(value) in (tuple, list) else ()
    return any(contains(x, operand) for x in inside)


def arguments(frame: FrameType) -> list[Any]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    return [frame.f_locals[name] for name in code.co_varnames[:count] if name in frame.f_locals]


def code_of(value: Any) -> CodeType | None:
    """The code that a call of the value runs, through `functools.wraps` and bound methods."""
    value = getattr(value, "__func__", value)
    return getattr(value, "__code__", None)


def is_known(kind: type, caller: FrameType) -> bool:
    """Whether a class is of a room that the caller may import."""
    return kind.__module__.split(".")[0] in FOLDERS and height(kind.__module__) <= height(module_of(caller))


def values_at_hand(caller: FrameType) -> Iterator[Any]:
    """The values that a function has from its caller and its surrounding function, and the attributes of those whose class it may know."""
    for value in caller.f_locals.values():
        yield value
        for kind in type(value).__mro__:
            if is_known(kind, caller):
                for name in (*getattr(kind, "__slots__", ()), *getattr(value, "__dict__", ())):
                    yield getattr(value, name, None)


def is_handed_down(caller: FrameType, called: FrameType) -> bool:
    if any(code_of(value) is called.f_code for value in values_at_hand(caller)):
        return True
    this = type(called.f_locals.get("self"))
    return any(is_known(kind, caller) and called.f_code.co_name in vars(kind) for kind in this.__mro__)


@dataclasses.dataclass
class Way:
    """What happens until the first equation is staged: the modules that get the operand, and the calls that go up."""

    operand: Any
    modules: list[str] = dataclasses.field(default_factory=list)
    climbs: list[str] = dataclasses.field(default_factory=list)
    is_staged: bool = False
    start: FrameType | None = None

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """A profile function."""
        if self.is_staged or not is_ours(frame):
            return
        if event == "return" and frame.f_code.co_name == "process":
            self.is_staged = True
        if event != "call":
            return
        if not isinstance(self.operand, StagedTracer):  # the tracer that stands for the array from here on
            tracers = (x for x in arguments(frame) if type(x) is StagedTracer and frame.f_code.co_name != "__init__")
            self.operand = next(tracers, self.operand)
        if any(contains(x, self.operand) for x in arguments(frame)) and module_of(frame) not in self.modules:
            self.modules.append(module_of(frame))
        caller = frame.f_back
        while caller not in (None, self.start) and not is_ours(caller):  # C++ and the standard library call back
            caller = caller.f_back
        if caller is not self.start and height(module_of(frame)) > height(module_of(caller)) and not is_handed_down(caller, frame):
            self.climbs.append(f"{module_of(caller)} calls {module_of(frame)}: {frame.f_code.co_name}")


def way_of(fun: Callable, operand: Any) -> Way:
    way = Way(operand, start=sys._getframe())
    before = sys.getprofile()
    sys.setprofile(way.note)
    try:
        fun(operand)
    finally:
        sys.setprofile(before)
    return way


def first_call(shape: tuple[int, ...]) -> Way:
    return way_of(jnp.mean, jnp.ones(shape))


def cached_call(shape: tuple[int, ...]) -> Way:
    x = jnp.ones(shape)
    jnp.mean(x).block_until_ready()
    return way_of(jnp.mean, x)


def traced_call(shape: tuple[int, ...]) -> Way:
    ways = []

    def f(x: Any) -> Any:
        ways.append(way_of(jnp.mean, x))
        return x

    laminax.make_jaxpr(f)(jnp.ones(shape))
    return ways[0]


@pytest.mark.parametrize("call, shape, most", [(first_call, (3, 4), 9), (cached_call, (5, 4), 4), (traced_call, (7, 4), 9)])
def test_the_operand_of_mean_goes_a_short_way_and_never_up(call, shape, most):
    jnp.mean(jnp.ones(11))  # imports the rules of its operations
    way = call(shape)
    assert "laminax._src.numerics.numpy.averages" in way.modules
    assert len(way.modules) <= most, "the operand goes through\n" + "\n".join(way.modules)
    assert not way.climbs, "these calls go up:\n" + "\n".join(way.climbs)
    assert way.is_staged is (call is not cached_call)


def test_a_call_of_what_a_higher_room_put_into_a_variable_climbs():
    lower: dict[str, Any] = {"__name__": "laminax_ir.types.example"}
    exec("hook = None\ndef through_hook(x):\n    return hook(x)\ndef handed(fun, x):\n    return fun(x)", lower)
    higher: dict[str, Any] = {"__name__": "laminax_ir.functions.example"}
    exec("def f(x):\n    return x", higher)
    lower["hook"] = higher["f"]
    assert way_of(lower["through_hook"], 1.5).climbs == ["laminax_ir.types.example calls laminax_ir.functions.example: f"]
    assert not way_of(lambda x: lower["handed"](higher["f"], x), 1.5).climbs


def test_who_declares_a_method_counts():
    below: dict[str, Any] = {"__name__": "laminax_ir.tracing.example"}
    exec("class Trace:\n    def process(self, x):\n        raise NotImplementedError", below)
    above: dict[str, Any] = {"__name__": "laminax_ir.recording.example", "Trace": below["Trace"]}
    exec("class Staging(Trace):\n    def process(self, x):\n        return x\n    def record(self, x):\n        return x", above)
    between: dict[str, Any] = {"__name__": "laminax_ir.programs.example"}
    exec("def bind(trace, x):\n    return trace.process(x)\ndef record(trace, x):\n    return trace.record(x)", between)
    assert not way_of(lambda x: between["bind"](above["Staging"](), x), 1.5).climbs
    assert way_of(lambda x: between["record"](above["Staging"](), x), 1.5).climbs
