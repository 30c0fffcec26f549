"""Values of types of users' own without the layers above: staged, lowered to programs of arrays, evaluated by NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.loops import scan
from laminax_ir.ops.user_operations import UserOperation, bind_user_operation
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.recording.type_lowering import has_hi_types, lowered
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.tracing.type_attributes import aval_method, aval_property
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import HiType, MappingSpec, register_hitype

F32 = np.dtype("float32")


@dataclass(frozen=True)
class Interval:
    low: Any
    high: Any


@dataclass(frozen=True)
class Front(MappingSpec):
    pass


@dataclass(frozen=True)
class IntervalType(HiType):
    shape: tuple[int, ...]

    def lo_ty(self) -> list[Any]:
        return [ShapedArray(self.shape, F32)] * 2

    def lower_val(self, interval: Interval) -> list[Any]:
        return [interval.low, interval.high]

    def raise_val(self, low: Any, high: Any) -> Interval:
        return Interval(low, high)

    def inc_rank(self, size: int, spec: Any) -> IntervalType:
        return IntervalType((size, *self.shape))

    def dec_rank(self, size: int, spec: Any) -> IntervalType:
        return IntervalType(self.shape[1:])

    def leading_axis_spec(self) -> Front:
        return Front()


register_hitype(Interval, lambda interval: IntervalType(np.shape(interval.low) if not hasattr(interval.low, "aval")
                                                        else interval.low.aval.shape))


class Negate(UserOperation):
    """-[a, b] is [-b, -a]."""

    def __init__(self, aval: IntervalType) -> None:
        super().__init__("negate")
        self.in_avals = self.out_avals = (aval,)

    def run(self, *operands: Any) -> list[Any]:
        (interval,) = operands
        return [Interval(-interval.high, -interval.low)]


def negate(interval: Any) -> Any:
    return bind_user_operation(Negate(get_aval(interval)), [interval])[0]


def arrays(*shape: int) -> tuple[Any, Any]:
    low = np.arange(np.prod(shape), dtype=F32).reshape(shape)
    return low, low + 1


def test_a_program_has_one_value_and_is_lowered_to_two():
    program = stage(lambda x: [negate(x)], [IntervalType((3,))])
    check_jaxpr(program)
    assert program.in_avals == [IntervalType((3,))] and program.out_avals[0] is IntervalType((3,))
    assert has_hi_types(program) and not has_hi_types(lowered(program))
    assert lowered(program).in_avals == [ShapedArray((3,), F32)] * 2
    assert lowered(program) is lowered(program)
    low, high = arrays(3)
    (found,) = evaluate(program, Interval(low, high))
    np.testing.assert_array_equal(found.low, -high)
    np.testing.assert_array_equal(found.high, -low)


def test_calls_and_loops_in_programs_are_lowered_with_them():
    inner = stage(lambda x: [negate(x)], [IntervalType((2,))])

    def fun(x: Any, xs: Any) -> list[Any]:
        (y,) = call_jaxpr(inner, x, name="inner")
        last, all_of_them = scan(lambda carry, x: (negate(carry), negate(x)), y, xs, length=3)
        return [last, all_of_them]

    program = stage(fun, [IntervalType((2,)), IntervalType((3, 2))])
    check_jaxpr(program)
    check_jaxpr(lowered(program))
    x, xs = arrays(2), arrays(3, 2)
    last, stacked = evaluate(program, Interval(*x), Interval(*xs))
    np.testing.assert_array_equal([last.low, last.high], x)  # negated four times
    np.testing.assert_array_equal([stacked.low, stacked.high], [-xs[1], -xs[0]])


def test_loops_take_it_outside_of_programs():
    x, xs = arrays(2), arrays(3, 2)
    last, stacked = scan(lambda carry, x: (negate(carry), negate(x)), Interval(*x), Interval(*xs), length=3)
    np.testing.assert_array_equal([last.low, last.high], [-x[1], -x[0]])
    np.testing.assert_array_equal([stacked.low, stacked.high], [-xs[1], -xs[0]])


def test_programs_without_such_values_are_left_as_they_are():
    program = stage(lambda x: [x * 2.0], [ShapedArray((3,), F32)])
    assert lowered(program) is program and not has_hi_types(program)


def test_traced_values_have_the_attributes_of_their_type():
    @dataclass(frozen=True)
    class Angle:
        turns: Any
        unit = "turns"
        T = "of the value"

    @dataclass(frozen=True)
    class AngleType(HiType):
        unit: str = "turns"

        def lo_ty(self) -> list[Any]:
            return [ShapedArray((), F32)]

        def lower_val(self, angle: Angle) -> list[Any]:
            return [angle.turns]

        def raise_val(self, turns: Any) -> Angle:
            return Angle(turns)

        turned = aval_method(lambda angle, by, *, twice=False: ("turned", angle, by, twice))
        T = aval_property(lambda angle: ("T", angle))  # which tracers of arrays have, too
        astype = aval_method(fun=lambda angle, unit: ("astype", angle, unit))

    register_hitype(Angle, lambda angle: AngleType())
    seen: dict[str, Any] = {}

    def f(angle: Any, x: Any) -> list[Any]:
        assert angle.unit == "turns" and angle.turned(3, twice=True) == ("turned", angle, 3, True)
        assert angle.T == ("T", angle) and angle.astype("degrees") == ("astype", angle, "degrees")
        for name in ("colour", "shape"):
            with pytest.raises(AttributeError, match=f"AngleType.* has no attribute '{name}'"):
                getattr(angle, name)
        with pytest.raises(AttributeError, match="'StagedTracer' object has no attribute 'turned'"):
            x.turned(1)
        with pytest.raises(AttributeError, match="how it is split over devices is known when the program runs"):
            x.sharding
        seen["angle"], seen["T"] = angle, x.T if hasattr(x, "T") else None
        return [angle]

    closed = stage(f, [AngleType(), ShapedArray((2, 3), F32)])
    assert closed.out_avals == [AngleType()] and seen["angle"].aval is AngleType()
    if seen["T"] is not None:  # with the api's methods
        assert seen["T"].shape == (3, 2)
