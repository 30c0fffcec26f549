"""Finding out what goes wrong: jit switched off, NaN traps, logs, leaks, and errors of traced values."""

import logging
import math
import pickle

import numpy as np
import pytest

from laminax_ir.tracing.trace import eval_trace, state
from laminax_runtime import is_tracing

import laminax
import laminax.numpy as jnp
from laminax import errors, monitoring

# --- disable_jit ---
from laminax._src.compiling.host_programs import eager_on_host


def test_disable_jit_example(capsys):
    @laminax.jit
    def f(x):
        y = x * 2
        print("Value of y is", y)
        return y + 3

    np.testing.assert_array_equal(f(jnp.array([1, 2, 3])), [5, 7, 9])
    assert capsys.readouterr().out.startswith("Value of y is JitTracer(int32[3])")
    with laminax.disable_jit():
        np.testing.assert_array_equal(f(jnp.array([1, 2, 3])), [5, 7, 9])
    assert capsys.readouterr().out == "Value of y is [2 4 6]\n"


def test_disable_jit_reaches_nested_functions_and_can_be_undone():
    seen = []
    inner = laminax.jit(lambda x: seen.append(x) or x * 2)
    outer = laminax.jit(lambda x, n: inner(x) * n, static_argnums=1)
    with laminax.disable_jit():
        assert float(outer(jnp.float32(1), 3)) == 6
        assert isinstance(seen[-1], laminax.Array) and float(seen[-1]) == 1
        with laminax.disable_jit(False), pytest.raises(errors.TracerBoolConversionError):
            laminax.jit(lambda x: 1 if x > 0 else 2)(1.0)
    assert float(outer(jnp.float32(2), 3)) == 12
    with pytest.raises(errors.ConcretizationTypeError):
        float(seen[-1])


# --- debug_nans, debug_infs ---


def test_debug_nans_names_the_operation_inside_a_jitted_function():
    inner = laminax.jit(lambda x: x / x)
    f = laminax.jit(lambda x: jnp.sin(x) + inner(x))
    assert np.isnan(f(0.0))
    with laminax.debug_nans(True):
        for _ in range(2):
            assert float(f(1.0)) == pytest.approx(np.sin(1.0) + 1)
            with pytest.raises(FloatingPointError, match=r"\(nan\) encountered in div at test_debugging.py:\d+ in <lambda>, inside"):
                f(0.0)
    assert np.isnan(f(0.0))


def test_debug_nans_of_single_operations_and_of_gradients():
    zero = jnp.float32(0)
    assert np.isnan(zero / zero)
    with laminax.debug_nans(True):
        with pytest.raises(FloatingPointError, match=r"\(nan\) encountered in div"):
            zero / zero
        with pytest.raises(FloatingPointError, match="log"):
            laminax.lax.log(jnp.float32(-1))
        with pytest.raises(FloatingPointError, match="mul"):
            laminax.jit(laminax.grad(lambda x: jnp.sqrt(x) * 0.0))(0.0)  # 0 times infinity
    assert np.isnan(zero / zero)


def test_debug_nans_with_donated_arguments():
    with laminax.debug_nans(True), pytest.raises(FloatingPointError, match="arguments were donated"):
        laminax.jit(jnp.log, donate_argnums=0)(jnp.float32(-1))


def log_of_less_each_time(c, x):
    return c - 1, jnp.log(c + x)


@pytest.mark.parametrize("loop, place", [
    (lambda x: laminax.lax.scan(log_of_less_each_time, x, jnp.zeros(50))[1], "iteration 3 of scan"),
    (lambda x: laminax.lax.scan(log_of_less_each_time, x, jnp.zeros(50), reverse=True)[1], "iteration 46 of scan"),
    (lambda x: laminax.lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, log_of_less_each_time(2.5 - c[0], 0.)[1]),
                                      (x - 2.5, x))[1], "iteration 3 of while"),
    (lambda x: laminax.lax.cond(x > 0, lambda x: log_of_less_each_time(-x, 0.0)[1], lambda x: x, x), "branch 1 of cond"),
])
def test_debug_nans_looks_into_loops_and_branches(loop, place):
    f = laminax.jit(lambda x: loop(x) * 2)
    with laminax.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        f(2.5)
    message = str(caught.value)
    assert "(nan) encountered in log at test_debugging.py:" in message and "in log_of_less_each_time" in message
    assert f"inside {place} at test_debugging.py:" in message and message.endswith("inside jit(<lambda>).")


def composite_log(x):
    return laminax.lax.composite(lambda x: jnp.log(x) + 1, "tests.log_plus_one")(x)


@laminax.custom_batching.custom_vmap
def mapped_log(x):
    return jnp.log(x) + 1


@mapped_log.def_vmap
def map_log(axis_size, in_batched, x):
    return mapped_log(x), in_batched[0]


@pytest.mark.parametrize("call, within", [
    (composite_log, r"composite\(tests.log_plus_one\)"), (mapped_log, r"custom_vmap_call\(mapped_log\)"),
    (laminax.checkpoint(jnp.log), r"checkpoint\(log\)"),
])
def test_debug_nans_looks_into_calls_of_every_kind(call, within):
    with laminax.debug_nans(True), pytest.raises(FloatingPointError, match=rf"encountered in log at .*inside {within}, inside jit"):
        laminax.jit(lambda x: call(x) * 2)(-1.0)


def test_debug_nans_in_nested_loops_and_checkpoints():
    def inner(c, x):
        return c * x, laminax.checkpoint(lambda c: jnp.sqrt(c))(c)

    f = laminax.jit(lambda x: laminax.lax.fori_loop(0, 3, lambda i, c: laminax.lax.scan(inner, c, jnp.array([1.0, -1.0]))[0], x))
    g = laminax.jit(lambda x: laminax.lax.scan(lambda c, _: (c, laminax.lax.scan(inner, c, jnp.array([1.0, -1.0, 1.0]))[1]), x,
                                               None, 2)[1])
    with laminax.debug_nans(True):
        assert float(f(2.0)) == -2  # NaNs that reach no result are nobody's trouble
        with pytest.raises(FloatingPointError, match="in sqrt at .*inside iteration 2 of scan at .*inside iteration 0 of scan"):
            g(2.0)


def test_debug_infs():
    f = laminax.jit(lambda x: 1 / x)
    with laminax.debug_infs(True), pytest.raises(FloatingPointError, match=r"\(inf\) encountered in div"):
        f(0.0)
    assert np.isinf(f(0.0))


# --- logs ---


def test_log_compiles(caplog):
    f = laminax.jit(lambda x: x + 41)
    with laminax.log_compiles(), caplog.at_level(logging.WARNING):
        f(np.ones(3, np.float32))
        f(np.ones(3, np.float32))
    messages = [r.getMessage() for r in caplog.records]
    assert messages[0].startswith("Finished tracing <lambda> for jit with arguments (f32[3]) in 0.")
    assert [m.split(" for ")[0] for m in messages[1:]] == ["Compiling jit(<lambda>)",
                                                       "Finished lowering jit(<lambda>)", "Finished XLA compilation of jit(<lambda>)"]
    assert all("for arguments (f32[3])" in m for m in messages[1:]) and " in 0." in messages[-1]


def test_compilations_are_logged_for_debugging_without_the_option(caplog):
    with caplog.at_level(logging.DEBUG):
        laminax.jit(lambda x: x + 42)(np.ones(3, np.float32))
    assert [r.levelno for r in caplog.records if "arguments (f32[3])" in r.getMessage()] == [logging.DEBUG] * 4


def test_log_compiles_of_single_operations(caplog):
    x = jnp.zeros((3, 5, 7))
    with laminax.log_compiles(), eager_on_host(False), caplog.at_level(logging.WARNING):
        x + x
    assert "Finished XLA compilation of jit(add) for arguments (f32[3,5,7], f32[3,5,7])" in caplog.text
    caplog.clear()
    with laminax.log_compiles(), caplog.at_level(logging.WARNING):
        x + x
    assert not caplog.records


def test_monitoring_hears_of_each_phase():
    heard, durations = [], []
    listener = lambda event, seconds, fun_name: heard.append((event.split("/")[-1], fun_name)) or durations.append(seconds)
    monitoring.register_event_duration_secs_listener(listener)
    try:
        f = laminax.jit(lambda x: x - 43)
        f(1.0), f(1.0)
    finally:
        monitoring.unregister_event_duration_listener(listener)
    f(1)
    phases = ["jaxpr_trace_duration", "jaxpr_to_mlir_module_duration", "backend_compile_duration"]
    assert heard == [(phase, "jit(<lambda>)") for phase in phases] and min(durations) > 0
    with pytest.raises(AssertionError, match="not registered"):
        monitoring.unregister_event_duration_listener(listener)


def test_events_of_users_own():
    heard = []
    monitoring.register_event_listener(lambda *args, **metadata: heard.append((*args, metadata)))
    monitoring.register_scalar_listener(lambda *args, **metadata: heard.append((*args, metadata)))
    monitoring.register_event_time_span_listener(lambda *args, **metadata: heard.append((*args, metadata)))
    try:
        monitoring.record_event("/step", kind="train")
        monitoring.record_scalar("/loss", 2.5)
        monitoring.record_event_time_span("/epoch", 1.0, 3.0)
    finally:
        monitoring.clear_event_listeners()
    monitoring.record_event("/step")
    assert heard == [("/step", {"kind": "train"}), ("/loss", 2.5, {}), ("/epoch", 1.0, 3.0, {})]
    with pytest.raises(TypeError, match="must be callable"):
        monitoring.register_event_listener("print")


# --- leaks ---


def test_a_leaked_tracer_says_who_made_it_and_who_used_it():
    kept = []

    @laminax.jit
    def step(x):
        kept.append(x * 2)
        return x

    step(1.0)
    for use in (lambda: kept[0] + 1, lambda: laminax.jit(lambda y: y + kept[0])(1.0), lambda: jnp.sin(kept[0])):
        with pytest.raises(errors.LeakedTracerError) as caught:
            use()
        assert "traced by jit(step)" in str(caught.value)
        assert "float32[], made by mul, which was created on line test_debugging.py" in str(caught.value)
        assert "Return it from the transformed function" in str(caught.value)


def test_names_of_equations_show_scopes_and_transformations():
    def step(x):
        with laminax.named_scope("layer"), laminax.named_scope("dense"):
            return laminax.lax.sin(x)

    for fun, x, name in [(step, 1.0, "layer/dense"), (laminax.vmap(step), np.ones(2), "vmap(layer)/dense"),
                         (laminax.named_scope("train")(lambda x: laminax.jvp(step, (x,), (x,))), 1.0, "train/jvp(layer)/dense")]:
        assert str(laminax.make_jaxpr(fun)(x).eqns[0].source_info.name_stack) == name
    assert str(laminax.make_jaxpr(lambda x: laminax.lax.sin(x))(1.0).eqns[0].source_info.name_stack) == ""
    assert str(laminax.make_jaxpr(laminax.grad(step))(1.0).eqns[-1].source_info.name_stack) == "transpose(jvp(layer))/dense"


def test_a_traced_value_cannot_be_pickled():
    with pytest.raises(errors.ConcretizationTypeError, match="(?s)pickling was asked of traced array.*argument x"):
        laminax.jit(lambda x: len(pickle.dumps(x)))(1.0)


@pytest.mark.parametrize("transform, argument", [(laminax.vmap, np.ones(3, np.float32)), (laminax.grad, 1.0)])
def test_tracers_leaked_from_other_transformations(transform, argument):
    kept = []
    transform(lambda x: kept.append(x) or x)(argument)
    with pytest.raises(errors.UnexpectedTracerError, match="was used after that trace had ended"):
        kept[0] + 1


def test_checking_leaks_reports_on_return():
    kept = []
    with laminax.checking_leaks():
        assert float(laminax.jit(laminax.grad(lambda x: x * x))(3.0)) == 6
        with pytest.raises(errors.LeakedTracerError, match="(?s)still alive.*kept by a list"):
            laminax.jit(lambda x: kept.append(x) or x)(1.0)


# --- traced values where Python needs concrete ones ---


def conditional(x):
    return x if x > 0 else -x


@pytest.mark.parametrize("fun, argument, error, messages", [
    (conditional, 1.0, errors.TracerBoolConversionError, ["made by gt at test_debugging.py", "in conditional", "lax.cond"]),
    (lambda x: 3 in x, np.arange(3), errors.TracerBoolConversionError, ["boolean conversion"]),
    (lambda x: np.sin(x), 1.0, errors.TracerArrayConversionError, ["argument x of jit(<lambda>)", "laminax.numpy"]),
    (lambda x: np.asarray(x), 1.0, errors.TracerArrayConversionError, ["argument x"]),
    (lambda x: int(x), 1, errors.ConcretizationTypeError, ["concrete value is expected", "static_argnums"]),
    (lambda x: range(x), 1, errors.TracerIntegerConversionError, ["__index__() method", "static"]),
    (lambda x: [1, 2][x], 1, errors.TracerIntegerConversionError, ["__index__() method"]),
    (lambda x: float(x), 1.0, errors.ConcretizationTypeError, ["concrete value is expected", "float"]),
    (lambda x: x.item(), 1.0, errors.ConcretizationTypeError, ["concrete value is expected: The item() method was called on traced array"]),
    (lambda x: x.tolist(), 1.0, errors.ConcretizationTypeError, ["concrete value is expected: The tolist() method was called on"]),
    (lambda x: complex(x), 1.0, errors.ConcretizationTypeError, ["concrete value is expected", "complex"]),
    (lambda x: {x: 1}, 1.0, TypeError, ["unhashable"]),
])
def test_traced_values_are_not_concrete(fun, argument, error, messages):
    with pytest.raises(error) as caught:
        laminax.jit(fun)(argument)
    for message in messages:
        assert message in str(caught.value)


def test_gradients_without_jit_see_concrete_values():
    assert float(laminax.grad(conditional)(-2.0)) == -1
    assert float(laminax.grad(lambda x: x ** int(x))(3.0)) == 27


@pytest.mark.parametrize("convert", [float, complex, math.sin])
@pytest.mark.parametrize("differentiate", [laminax.grad, lambda f: lambda x: laminax.jvp(f, (x,), (1.0,)),
                                           lambda f: lambda x: laminax.linearize(f, x)])
def test_a_conversion_to_a_float_does_not_lose_the_derivative_silently(convert, differentiate):
    """The gradient of math.sin was 0: the float that it takes knows nothing of its derivative."""
    with pytest.raises(errors.ConcretizationTypeError, match=r"(?s)concrete value is expected.*() of it would leave its derivative out"):
        differentiate(lambda x: convert(x) * x)(2.0)
    assert float(laminax.grad(lambda x: float(laminax.lax.stop_gradient(x)) * x)(2.0)) == 2


def test_an_exception_leaves_no_trace_behind():
    def failing(x):
        raise KeyError("from the user")

    g = laminax.jit(lambda x: x + 1)
    for transformed in (laminax.jit(failing), laminax.grad(failing), laminax.jit(laminax.vmap(laminax.grad(failing)))):
        with pytest.raises(KeyError, match="from the user"):
            transformed(np.ones(2))
    assert state.trace is eval_trace and not is_tracing() and not state.axis_sizes
    assert float(g(1.0)) == float(g(1.0)) == 2


# --- arguments and results that are no arrays ---


@pytest.mark.parametrize("call, path", [
    (lambda f: f("text"), "x"), (lambda f: f({"w": [1.0, "text"]}), r"x\['w'\]\[1\]"), (lambda f: f(1.0, "text"), r"rest\[0\]"),
    (lambda f: f(1.0, a={"b": "text"}), r"kwargs\['a'\]\['b'\]"), (lambda f: f(np.array(["text"])), "x"), (lambda f: f(object()), "x"),
])
def test_an_argument_that_is_no_array_is_named(call, path):
    with pytest.raises(TypeError, match=f"(?s)Error interpreting argument to .* at path {path}\\.\n  value: .*static_argnums"):
        call(laminax.jit(lambda x, *rest, **kwargs: 1))


def test_structs_are_no_values():
    struct = laminax.ShapeDtypeStruct((4, 2), np.int32)
    with pytest.raises(TypeError, match=r"Argument 'x\['b'\]' of shape int32\[4,2\] of type .*Struct'> is not a valid JAX type. A "
                                        "ShapeDtypeStruct does not have a value. Use lower"):
        laminax.jit(lambda x: x)({"b": struct})
    with pytest.raises(TypeError, match="A ShapeDtypeStruct does not have a value. Return arrays"):
        laminax.jit(lambda x: (x, struct))(1)


def test_a_result_that_is_no_array_is_named():
    with pytest.raises(TypeError, match=r"returned a value of type <class 'str'> at output component \['a'\]\[1\]"):
        laminax.jit(lambda x: {"a": (x, "text")})(1.0)


@pytest.mark.parametrize("operate", [lambda x, y: x + y, lambda x, y: jnp.maximum(x, y), laminax.lax.add])
def test_shapes_that_do_not_fit(operate):
    for run in (operate, laminax.jit(operate)):
        with pytest.raises(TypeError, match=r"add|max"):
            run(jnp.ones(3), jnp.ones(4))
    with pytest.raises(TypeError, match=r"f32\[2,3\]"):
        jnp.ones((2, 3)) @ jnp.ones((2, 3))


def test_numbers_that_do_not_fit():
    with pytest.raises(OverflowError, match="too large to convert to int32.*enable_x64"):
        laminax.jit(lambda x: x)(2 ** 40)
    add = laminax.jit(lambda x, y: x["a"] + y)
    for fine in (False, True):
        if fine:
            assert int(add({"a": 2}, 1)) == 3
        with pytest.raises(OverflowError, match=r"An overflow was .* an argument to jit\(<lambda>\), whose argument path is x\['a'\]. "
                                                r"Python int"):
            add({"a": 2 ** 31}, 1)
    with laminax.enable_x64(True):
        assert int(laminax.jit(lambda x: x)(2 ** 40)) == 2 ** 40


def test_a_leaked_tracer_as_an_argument():
    kept = []
    laminax.jit(lambda x: kept.append(x) or x)(1.0)
    for use in (laminax.jit(lambda x: x), laminax.grad(lambda x: x * 2)):
        with pytest.raises(errors.LeakedTracerError, match=r"argument x of jit\(<lambda>\)"):
            use(kept[0])


def test_disable_jit_runs_control_flow_in_python():
    seen = []
    with laminax.disable_jit():
        total, _ = laminax.lax.scan(lambda c, x: (c + x, seen.append(float(c))), 0.0, jnp.arange(3.0))
    assert float(total) == 3 and seen == [0, 0, 1]


def test_disable_jit_keeps_the_state_of_a_loop_in_arrays():
    seen = []
    with laminax.disable_jit():
        out = laminax.lax.while_loop(lambda s: s["n"] < 3, lambda s: {"n": seen.append(s["n"]) or s["n"] + 1, "x": np.float32(1)},
                                     {"n": np.int32(1), "x": 0.0})
    assert {type(x) for x in (*seen, *out.values())} == {type(jnp.zeros(()))} and int(out["n"]) == 3


def test_nans_of_arguments_and_constants_are_told_from_those_of_operations():
    with laminax.debug_nans(True):
        for argument in (np.nan, np.float32(np.nan)):
            with pytest.raises(FloatingPointError, match=r"\(nan\) encountered in jit\(f\).* the de-optimized function did not .* input"):
                laminax.jit(named("f", lambda x: x * 3.0))(argument)
        with pytest.raises(FloatingPointError, match=r"the de-optimized function did not compute it, but has it as a literal"):
            laminax.jit(named("f", lambda x: (np.nan, x + 2)))(3)


def named(name, fun):
    fun.__name__ = name
    return fun
