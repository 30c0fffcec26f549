"""Callbacks on the reference evaluator: values, effects, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.callbacks import debug_callback, debug_print, io_callback, pure_callback
from laminax_ir.options import config
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.dce import dce_jaxpr
from laminax_ir.programs.effects import Effect, debug_effect, has_ordered, io_effect, ordered_debug_effect, ordered_io_effect
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

F32 = ShapedArray((3,), np.float32)
S32 = ShapeDtypeStruct((3,), np.float32)
X = np.float32([1, 2, 3])


def test_pure_callback():
    def both(x, *, scale):
        assert isinstance(x["a"], np.ndarray)
        return {"sin": np.sin(x["a"]) * scale, "sum": x["a"].sum()}

    shapes = {"sin": S32, "sum": ShapeDtypeStruct((), np.float32)}
    out = pure_callback(both, shapes, {"a": X}, scale=2.0)
    np.testing.assert_allclose(out["sin"], 2 * np.sin(X), rtol=1e-6)
    assert out["sum"] == 6
    closed = stage(lambda x: [pure_callback(np.sin, S32, x)], [F32])
    check_jaxpr(closed)
    assert not closed.effects
    np.testing.assert_allclose(evaluate(closed, X)[0], np.sin(X), rtol=1e-6)
    assert pure_callback(lambda: 3, ShapeDtypeStruct((), np.float32)).dtype == np.float32  # a Python number takes the dtype
    unused = stage(lambda x: [pure_callback(np.sin, S32, x), x], [F32])
    assert not dce_jaxpr(unused.jaxpr, [False, True])[0].eqns


def test_effects():
    seen = []

    def f(x):
        debug_callback(seen.append, x)
        debug_callback(lambda text, x: seen.append((text, x)), "text", x, ordered=True)
        io_callback(seen.append, None, x)
        return [io_callback(lambda x: seen.append(x) or 2 * x, S32, x, ordered=True)]

    closed = stage(f, [F32])
    check_jaxpr(closed)
    assert closed.effects == {debug_effect, ordered_debug_effect, io_effect, ordered_io_effect}
    assert has_ordered(closed.effects) and not has_ordered({io_effect})
    np.testing.assert_allclose(evaluate(closed, X)[0], 2 * X)
    assert len(seen) == 4 and seen[1][0] == "text"
    assert len(dce_jaxpr(closed.jaxpr, [False])[0].eqns) == 4
    assert "effect=OrderedDebug" in str(closed) and "io_callback[" in str(closed)


def test_kinds_of_effects_may_have_a_constructor_of_their_own():
    class Log(Effect):
        def __init__(self, name):  # as classes written for JAX have it, which call no other
            self.name = name

    assert str(Log("first")) == "first" and len({Log("first"), Log("first"), Log("second")}) == 2 and not has_ordered({Log("first")})


def test_a_callback_owns_its_arguments():
    kept = []
    x = X.copy()
    debug_callback(kept.append, x)
    x[:] = 0
    np.testing.assert_array_equal(kept[0], [1, 2, 3])


def test_debug_print(capsys):
    debug_print("x = {x}, {}, {:.2f} {name}", 3, np.float32(1.5), x=X, name="n")
    assert capsys.readouterr().out == "x = [1. 2. 3.], 3, 1.50 n\n"
    debug_print("{tree[a][0]} {}", (X[0],), tree={"a": X})
    assert capsys.readouterr().out.startswith("1.0 (array(1.")
    closed = stage(lambda x: [debug_print("{}", x)] and [x], [F32])
    again = stage(lambda x: [debug_print("{}", x)] and [x], [F32])
    assert closed.eqns[0].params == again.eqns[0].params  # equal texts are equal operations


@pytest.mark.parametrize("call, error, message", [
    (lambda: pure_callback(3, S32), TypeError, "pure_callback: the callback must be callable, got 3"),
    (lambda: pure_callback(np.sin, "f32", X), TypeError, "objects with shape and dtype"),
    (lambda: pure_callback(np.sin, S32, "text"), TypeError, r"the argument at \[0\] is not an array: got 'text'"),
    (lambda: pure_callback(np.sin, S32, X, vmap_method="bogus"), ValueError, "allowed methods .* but got: bogus"),
    (lambda: pure_callback(np.sin, S32, X, sharding=1), NotImplementedError, "only supports SingleDeviceSharding.*got sharding=1"),
    (lambda: pure_callback(np.sin, ShapeDtypeStruct((3,), np.float64), X), ValueError, "cannot specify 64-bit types"),
    (lambda: pure_callback(lambda x: x[:2], S32, X), ValueError, r"return value #0 .* expected \(3,\), got \(2,\)"),
    (lambda: pure_callback(lambda x: x.astype(int), S32, X), ValueError, "incorrect output dtype .* expected float32, got int64"),
    (lambda: pure_callback(lambda x: (x, x), S32, X), ValueError, "returned 2 arrays, result_shape_dtypes announced 1"),
    (lambda: io_callback(lambda x: 1 / 0, S32, X), ZeroDivisionError, "division by zero"),
    (lambda: debug_callback(3, X), TypeError, "must be callable"),
    (lambda: debug_callback(print, X, partitioned=True, ordered=True), NotImplementedError, "Set ordered or partitioned, not both"),
    (lambda: debug_callback(None, X, ordered=True), TypeError, "debug_callback received unexpected arguments in the two-call form"),
    (lambda: debug_print(ordered=True, x=X), TypeError, "debug_print received unexpected arguments in the two-call form"),
    (lambda: debug_print(ordered=True)("{}", 1, partitioned=True), ValueError, r"Unused keyword arguments .*\['partitioned'\]"),
    (lambda: debug_print(X), TypeError, "the format must be a string"),
    (lambda: debug_print("{} {}", X), IndexError, "out of range"),
    (lambda: debug_print("{x}", y=X), KeyError, "x"),
    (lambda: debug_print("a", x=X), ValueError, r"Unused keyword arguments to `laminax.debug.print`: \['x'\]"),
])
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_options_may_come_first(capsys):
    seen = []

    def f(x):
        debug_callback(ordered=True)(lambda x, ordered: seen.append((float(x), float(ordered))), x, ordered=x + 1)
        debug_print(ordered=True)("x is {x}", x=x)
        debug_print(partitioned=True)("x is {x}", x=x)
        return ()

    closed = stage(f, [ShapedArray((), np.dtype(np.float32))])
    assert [(eqn.params["effect"], eqn.params["partitioned"]) for eqn in closed.jaxpr.eqns if "effect" in eqn.params] == [
        (ordered_debug_effect, False), (ordered_debug_effect, False), (debug_effect, True)]
    evaluate(closed, np.float32(1))
    assert seen == [(1.0, 2.0)]
    assert capsys.readouterr().out == "x is 1.0\n" * 2


def test_texts_have_the_print_options_of_where_they_were_asked_for(capsys):
    x = np.float32([1.23456, 0.0000001])
    with np.printoptions(precision=2, suppress=True):
        closed = stage(lambda x: debug_print("{}", x) or (), [ShapedArray((2,), np.dtype(np.float32))])
        expected = str(x)
    evaluate(closed, x)
    assert capsys.readouterr().out == expected + "\n"


def test_random_keys_are_refused():
    key = ShapedArray((2,), dtypes.key_dtype("threefry2x32"))
    for call in (lambda k: pure_callback(np.sin, S32, k), lambda k: io_callback(print, None, k)):
        with pytest.raises(TypeError, match=r"NumPy has no arrays of random keys .*, got key<fry>\[2\]. Pass random.key_data"):
            stage(lambda k: call(k) or [], [key])


def test_64_bit_results_with_x64():
    with config.enable_x64(True):
        assert pure_callback(np.sin, ShapeDtypeStruct((3,), np.float64), X.astype(float)).dtype == np.float64
