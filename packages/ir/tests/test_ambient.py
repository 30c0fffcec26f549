"""Ambient values and what changes them: nothing stays changed that an error or a signal interrupted, and no key stays that nobody has."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from weakref import ref

import pytest

from laminax_ir.ops.checks import checks_indices
from laminax_ir.options import ambient, config
from laminax_ir.options.ambient import UNSET, define_ambient, trace_key
from laminax_ir.options.config import enable_x64
from laminax_ir.options.restoring import Together
from laminax_ir.tracing import trace
from laminax_ir.tracing.explicit_axes import abstract_mesh, is_resolving, sums_left_open
from laminax_ir.tracing.gc_pause import paused_collection
from laminax_ir.tracing.manual_axes import manual_axes, manual_mesh, running_along
from laminax_ir.tracing.operation_attributes import attributes_around, changed_attributes
from laminax_ir.tracing.trace import Trace, at_work, current_trace, eval_trace, extend_axis_env, name_scope, state

OF_THE_TRACE = (abstract_mesh, is_resolving, sums_left_open, manual_axes, manual_mesh, attributes_around, checks_indices)


# --- they are no options ---


@pytest.mark.parametrize("value", OF_THE_TRACE, ids=lambda value: value.name)
def test_the_state_of_traces_is_no_option(value):
    """`config.update` set it once."""
    for name in (value.name, "jax_" + value.name):
        with pytest.raises(AttributeError, match="no configuration option"):
            config.config.update(name, value.value)
    assert "jax_" + value.name not in config.config.values


def test_environment_variables_do_not_set_the_state_of_traces():
    """LAMINAX_SUMS_LEFT_OPEN=x broke the import once."""
    environment = {f"{prefix}_{value.name.upper()}": "1" for value in OF_THE_TRACE for prefix in ("LAMINAX", "JAX")}
    code = ("from laminax_ir.tracing.explicit_axes import *; from laminax_ir.options.ambient import _all; "
            "print([v.value for v in _all if not hasattr(v, 'doc')])")
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
                          capture_output=True, text=True)
    assert done.stdout.strip() and "1" not in done.stdout and "x" not in done.stdout, done.stderr


def test_an_ambient_value_cannot_be_mistaken_for_its_value_nor_assigned():
    with pytest.raises(TypeError, match=r"Read manual_axes.value"):
        bool(manual_axes)
    with pytest.raises(AttributeError, match=r"with manual_axes\(value\)"):
        manual_axes.value = ()


# --- keys ---


def test_trace_keys_are_freed_with_whoever_had_them():
    """50 blocks of metadata left 50 keys once."""
    keys = []
    for i in range(500):
        with changed_attributes({"step": i}):
            keys.append(ref(trace_key()))
    trace_key()
    gc.collect()
    assert [key for key in keys if key() is not None] == []
    assert len(ambient._trace_keys) < 200  # entries of keys that are gone are removed now and then


def test_equal_values_have_one_trace_key_while_somebody_has_it():
    with changed_attributes({"step": 1}):
        kept = trace_key()
    trace_key()
    gc.collect()
    with changed_attributes({"step": 1}):
        assert trace_key() is kept


@pytest.mark.parametrize("change", [manual_axes, manual_axes.set_local, running_along, enable_x64.set_local])
def test_a_value_without_a_hash_is_refused_before_anything_changes(change):
    before = trace_key()
    argument = ((([], 2, True),),) if change is not running_along else ([([], 2)], True)
    if change == enable_x64.set_local:
        argument = ([],)
    with pytest.raises((TypeError, ValueError), match="cannot be|unhashable"):
        with contextlib.ExitStack() as stack:
            stack.enter_context(change(*argument))
    assert trace_key() is before and manual_axes.get_local() is UNSET and not state.axis_sizes


# --- a callback that raises ---


@pytest.fixture
def refusing():
    """A subscriber that raises what the test puts into the list, once."""
    errors = []

    def callback(_value, _scope, _new):
        if errors:
            raise errors.pop()

    end = ambient.subscribe(callback)
    yield errors
    end()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("change",
                         [lambda: enable_x64(True).__enter__(), lambda: enable_x64.set_local(True), lambda: enable_x64.set_global(True),
                          lambda: changed_attributes({"a": 1}).__enter__(), lambda: running_along([("i", 2)], True).__enter__()])
def test_a_change_that_a_subscriber_refuses_is_taken_back(refusing, error, change):
    """Each call of the thread failed afterwards, once."""
    heard = {}
    before, names = trace_key(), state.name_stack
    end = ambient.subscribe(lambda value, scope, new: heard.__setitem__((value.name, scope), new))
    try:
        refusing.append(error)
        with pytest.raises(error):
            change()
        refusing.clear()
        assert trace_key() is before and state.name_stack is names and not state.axis_sizes
        assert enable_x64.get_local() is UNSET and enable_x64.get_global() is False
        assert heard.get(("enable_x64", "thread"), UNSET) is UNSET and heard[("enable_x64", "global")] is False
        assert heard.get(("manual_axes", "thread"), UNSET) is UNSET
    finally:
        end()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_change_back_that_a_subscriber_interrupts_is_made(refusing, error):
    before = trace_key()
    with pytest.raises(error), enable_x64(True):
        refusing.append(error)
    assert enable_x64.get_local() is UNSET and trace_key() is before


# --- signals ---


def managers():
    t = Trace()
    return [
        lambda: enable_x64(True), lambda: config.default_matmul_precision("highest"), lambda: current_trace(t),
        lambda: at_work(Trace(), "a", (("i", 2),)), lambda: name_scope("a"), lambda: extend_axis_env(("i", 2)),
        lambda: running_along([("i", 2)], True), lambda: changed_attributes({"a": 1}), paused_collection,
        lambda: Together(enable_x64(True), name_scope("a")),
    ]


def snapshot():
    return (state.trace, state.axis_sizes, state.name_stack, {v.name: v.get_local() for v in ambient._all}, gc.isenabled(),
            threading.get_ident() in trace.tracing_threads)


class Interrupted(KeyboardInterrupt):
    pass


def interrupt_at_each_point(make):
    """Runs a block once per point at which Python may handle a signal in laminax's own code, raising there; gives the outcomes.

    Python handles signals when it enters a function and after calls, which is when it calls a profile function.
    """
    count = 0
    while True:
        seen = 0

        def profiler(frame, event, _arg):
            nonlocal seen
            if "laminax_ir" in frame.f_code.co_filename and event in ("call", "return", "c_return"):
                seen += 1
                if seen == count + 1:
                    sys.setprofile(None)
                    raise Interrupted

        kept = None
        before = snapshot()
        try:
            manager = make()
            sys.setprofile(profiler)
            try:
                with manager:
                    pass
            finally:
                sys.setprofile(None)
        except Interrupted as error:
            kept = error  # as an interactive session keeps it, with all frames
        after = snapshot()
        yield before == after, count
        if kept is None:
            return
        count += 1


@pytest.mark.parametrize("make", managers(), ids=range(len(managers())))
def test_an_interrupt_leaves_nothing_changed(make):
    """Also when the exception is kept with its traceback, and so the frames of the functions that were interrupted."""
    outcomes = list(interrupt_at_each_point(make))
    assert len(outcomes) > 5  # else nothing was interrupted
    assert [count for is_same, count in outcomes if not is_same] == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_signals_leave_no_option_set():
    """Of 209 signals during such a block, 2 left the option set once."""
    def handler(_number, _frame):
        raise Interrupted

    previous = signal.signal(signal.SIGALRM, handler)
    left = []
    try:
        for i in range(300):
            kept = None
            try:  # a busy machine may take the time until the signal for anything, so all of it is in here
                signal.setitimer(signal.ITIMER_REAL, 0.0003 + i * 1e-7)
                end = time.monotonic() + 0.1  # the signal may come while the collector runs somebody's callback, and is lost then
                while time.monotonic() < end:
                    with config.default_matmul_precision("highest"):
                        pass
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted as error:
                kept = error
            if config.default_matmul_precision.get_local() is not UNSET:
                left.append((i, kept))
                config.default_matmul_precision.set_local(UNSET)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert left == []


# --- context managers as such ---


def test_they_can_be_entered_inside_themselves_and_decorate():
    scope = name_scope("a")
    with scope, scope:
        assert state.name_stack == ("a", "a")
    assert state.name_stack == ()

    @name_scope("b")
    def names(depth):
        return state.name_stack if depth == 0 else names(depth - 1)

    assert names(2) == ("b", "b", "b") and state.name_stack == ()


def test_they_work_in_exit_stacks_and_when_called_by_hand():
    with contextlib.ExitStack() as stack:
        stack.enter_context(enable_x64(True))
        stack.enter_context(current_trace(Trace()))
        assert enable_x64.value and state.trace is not eval_trace
    assert not enable_x64.value and state.trace is eval_trace
    manager = enable_x64(True)
    manager.__enter__()
    manager.__enter__()
    manager.__exit__(None, None, None)
    assert enable_x64.value
    manager.__exit__(None, None, None)
    assert enable_x64.get_local() is UNSET


def test_several_together_are_entered_in_order_and_left_in_reverse():
    with Together(name_scope("a"), name_scope("b")):
        assert state.name_stack == ("a", "b")
    assert state.name_stack == ()


def test_a_new_ambient_value_is_part_of_the_key_and_known_in_other_threads():
    before = trace_key()
    value = define_ambient("of_a_test", 0, "A value of a test.")  # as when its module is loaded: what was traced before stays known
    try:
        ambient._thread.memo = (None, None)
        assert trace_key() is before
        with value(1):
            assert trace_key().difference(before) == {"of_a_test": (1, 0)}
            carried = ambient.with_overrides_of_this_thread(lambda: value.value)
        results = []
        thread = threading.Thread(target=lambda: results.append((carried(), value.value)))
        thread.start()
        thread.join()
        assert results == [(1, 0)]
    finally:
        ambient._all.remove(value)
        ambient._thread.memo = (None, None)
