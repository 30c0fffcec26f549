"""Options: global values, thread overrides, trace keys, mirrors, and the facade for users."""

from __future__ import annotations

import enum
import os
import pickle
import subprocess
import sys
import threading

import pytest

from laminax_ir.options import ambient, config, config_options
from laminax_ir.options.ambient import UNSET
from laminax_ir.options.config import enable_x64, numpy_dtype_promotion


@pytest.fixture(autouse=True)
def restored():
    before = [(option, option.get_global()) for option in config_options.all_options()]
    yield
    for option, value in before:
        option.set_local(UNSET)
        if option.get_global() != value:
            option.set_global(value)


def in_thread(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


# --- values ---


DEFAULTS = {
    "enable_x64": False,
    "numpy_dtype_promotion": "standard",
    "numpy_rank_promotion": "allow",
    "default_matmul_precision": None,
    "check": False,
    "check_leaks": False,
    "check_static_indices": False,
    "disable_bwd_checks": False,
    "disable_jit": False,
    "debug_nans": False,
    "debug_infs": False,
    "log_compiles": False,
    "explain_cache_misses": False,
    "default_prng_impl": "threefry2x32",
    "threefry_partitionable": True,
}


def test_defaults_are_those_of_jax():
    values = config.config.values  # other layers may have defined options of theirs
    assert {name: values["jax_" + name] for name in DEFAULTS} == DEFAULTS


def test_an_override_ends_with_its_block_and_nests():
    with enable_x64(True):
        assert enable_x64.value is True
        with enable_x64(False):
            assert enable_x64.value is False
        assert enable_x64.value is True
    assert enable_x64.value is False
    assert enable_x64.get_local() is UNSET


def test_an_override_ends_when_its_block_raises():
    with pytest.raises(ZeroDivisionError), enable_x64(True):
        raise ZeroDivisionError
    assert enable_x64.value is False


def test_one_context_manager_can_be_entered_inside_itself():
    override = enable_x64(True)
    with override, override:
        assert enable_x64.value
    assert enable_x64.get_local() is UNSET


def test_an_override_decorates_a_function():
    @numpy_dtype_promotion("strict")
    def mode(depth):
        return numpy_dtype_promotion.value if depth == 0 else mode(depth - 1)

    assert mode(2) == "strict"
    assert numpy_dtype_promotion.value == "standard"


def test_a_boolean_option_needs_no_value_and_another_does():
    with config.disable_jit():
        assert config.disable_jit.value is True
    with pytest.raises(TypeError, match=r"numpy_rank_promotion\(\) needs a value: one of 'allow', 'warn', 'raise'"):
        config.numpy_rank_promotion()


def test_an_override_is_seen_by_its_thread_alone_and_a_global_value_by_the_others():
    with enable_x64(True):
        assert in_thread(lambda: enable_x64.value) is False
    enable_x64.set_global(True)
    assert in_thread(lambda: enable_x64.value) is True
    with enable_x64(False):
        enable_x64.set_global(True)  # does not reach into the block
        assert enable_x64.value is False
        assert enable_x64.get_global() is True


def test_a_function_for_other_threads_can_carry_the_overrides_of_this_one():
    with enable_x64(True):
        carrying = ambient.with_overrides_of_this_thread(lambda: (enable_x64.value, numpy_dtype_promotion.value))
    numpy_dtype_promotion.set_global("strict")
    assert in_thread(lambda: (carrying(), enable_x64.value)) == ((True, "strict"), False)
    assert carrying() == (True, "strict") and enable_x64.value is False


def test_a_thread_sees_a_global_change_made_while_it_runs():
    started, changed, seen = threading.Event(), threading.Event(), []

    def watch():
        seen.append((enable_x64.value, ambient.trace_key()))
        started.set()
        changed.wait(10)
        seen.append((enable_x64.value, ambient.trace_key()))

    thread = threading.Thread(target=watch)
    thread.start()
    started.wait(10)
    enable_x64.set_global(True)
    changed.set()
    thread.join()
    assert [value for value, _ in seen] == [False, True]
    assert seen[1][1] is ambient.trace_key() is not seen[0][1]


@pytest.mark.parametrize(
    "option, value, parts",
    [
        (enable_x64, "yes", ["enable_x64", "'yes'", "True or False"]),
        (enable_x64, 2, ["enable_x64", "2", "True or False"]),
        (enable_x64, None, ["enable_x64", "None"]),
        (numpy_dtype_promotion, "lax", ["numpy_dtype_promotion", "'lax'", "'standard', 'strict'"]),
        (numpy_dtype_promotion, None, ["numpy_dtype_promotion", "None"]),
        (
            config.default_matmul_precision,
            "fast",
            ["default_matmul_precision", "'fast'", "None or one of", "'highest'"],
        ),
    ],
)
def test_a_wrong_value_is_refused_before_anything_changes(option, value, parts):
    before = option.value
    for change in (option, option.set_global, option.set_local, lambda v: config.config.update(option.name, v)):
        with pytest.raises(ValueError) as caught:
            change(value)
        for part in parts:
            assert part in str(caught.value)
    assert option.value == before and option.get_local() is UNSET


def test_matmul_precision_takes_names_and_enum_members():
    class Precision(enum.Enum):
        HIGHEST = 2

    class DotAlgorithmPreset(enum.Enum):
        BF16_BF16_F32_X3 = 1

    for value, name in [
        (None, None),
        ("tensorfloat32", "tensorfloat32"),
        (Precision.HIGHEST, "highest"),
        (DotAlgorithmPreset.BF16_BF16_F32_X3, "BF16_BF16_F32_X3"),
    ]:
        with config.default_matmul_precision(value):
            assert config.default_matmul_precision.value == name


def test_an_option_is_not_mistaken_for_its_value():
    with pytest.raises(TypeError, match=r"Read enable_x64.value"):
        bool(enable_x64)
    with pytest.raises(AttributeError, match=r"enable_x64.set_global\(value\)"):
        enable_x64.value = True


# --- trace keys ---


def test_equal_values_have_the_same_trace_key_however_they_came_about():
    plain = ambient.trace_key()
    with enable_x64(True):
        overridden = ambient.trace_key()
    assert ambient.trace_key() is plain is in_thread(ambient.trace_key)
    enable_x64.set_global(True)
    assert ambient.trace_key() is overridden is in_thread(ambient.trace_key) is not plain


def test_a_trace_key_changes_with_the_options_that_affect_tracing_only():
    other = {
        "numpy_dtype_promotion": "strict",
        "numpy_rank_promotion": "raise",
        "default_matmul_precision": "highest",
        "default_prng_impl": "rbg",
    }
    keys = {ambient.trace_key()}
    own = [option for option in config_options.all_options() if option.name in DEFAULTS]
    for option in own:
        with option(other.get(option.name, not option.value)):
            assert (ambient.trace_key() not in keys) == option.affects_tracing
            keys.add(ambient.trace_key())
    unaffected = {option.name for option in own if not option.affects_tracing}
    assert unaffected == {"debug_nans", "debug_infs", "log_compiles", "explain_cache_misses"}


def test_a_change_and_its_reversal_leave_no_stale_key():
    """A thread with an override once kept the key it had built between a global change and its reversal."""
    with config.disable_jit(True):
        first = ambient.trace_key()
        enable_x64.set_global(True)
        assert ambient.trace_key() is not first
        enable_x64.set_global(False)
        assert ambient.trace_key() is first


def test_trace_keys_say_how_they_differ_and_pickle_to_themselves():
    plain = ambient.trace_key()
    with enable_x64(True):
        assert ambient.trace_key().difference(plain) == {"enable_x64": (True, False)}
        assert "enable_x64=True" in repr(ambient.trace_key())
    assert pickle.loads(pickle.dumps(plain)) is plain


# --- mirrors ---


def test_a_subscriber_hears_the_present_and_every_change():
    heard = []
    with config.debug_nans(True):
        end = ambient.subscribe(lambda option, scope, value: heard.append((option.name, scope, value)))
    try:
        assert heard.pop() == ("debug_nans", "thread", UNSET)  # the block's end
        present, heard[:] = list(heard), []
        assert {"jax_" + entry[0] for entry in present if entry[1] == "global"} >= set(config.config.values)
        assert [entry for entry in present if entry[1] == "thread"] == [("debug_nans", "thread", True)]

        config.config.update("enable_x64", 1)
        with enable_x64(False), enable_x64(True):
            pass
        assert heard == [
            ("enable_x64", "global", True),
            ("enable_x64", "thread", False),
            ("enable_x64", "thread", True),
            ("enable_x64", "thread", False),
            ("enable_x64", "thread", UNSET),
        ]
    finally:
        end()
    heard.clear()
    enable_x64.set_global(False)
    assert heard == []


def test_a_subscriber_to_some_values_hears_of_no_other():
    heard = []
    end = ambient.subscribe(lambda option, scope, value: heard.append((option.name, scope, value)), enable_x64)
    try:
        assert heard == [("enable_x64", "global", False)]
        with config.debug_nans(True), enable_x64(True):
            pass
        assert heard[1:] == [("enable_x64", "thread", True), ("enable_x64", "thread", UNSET)]
    finally:
        end()
    with enable_x64(True):
        assert len(heard) == 3


def test_a_subscriber_is_called_in_the_thread_that_overrides():
    callers = []
    end = ambient.subscribe(lambda option, scope, value: callers.append(threading.get_ident()))
    try:
        callers.clear()

        def override():
            with enable_x64(True):
                return threading.get_ident()

        worker = in_thread(override)
        assert callers == [worker, worker] and worker != threading.get_ident()
    finally:
        end()


# --- the facade, the environment, new options ---


@pytest.mark.parametrize("name", ["enable_x64", "jax_enable_x64", "laminax_enable_x64", "x64_enabled"])
def test_every_spelling_names_the_same_option(name):
    config.config.update(name, True)
    assert config.config.read(name) is getattr(config.config, name) is enable_x64.value is True


def test_the_facade_reads_the_threads_value():
    with enable_x64(True):
        assert config.config.jax_enable_x64 is True
        assert config.config.values["jax_enable_x64"] is True
        assert "enable_x64=True" in repr(config.config)
    assert "enable_x64" in dir(config.config)


def test_an_unknown_name_is_refused_with_the_close_ones():
    for access in (config.config.read, lambda name: config.config.update(name, 1), lambda n: getattr(config.config, n)):
        with pytest.raises(
            AttributeError, match=r"no configuration option 'jax_enable_x46'.*Did you mean jax_enable_x64"
        ):
            access("jax_enable_x46")
    with pytest.raises(AttributeError, match=r"There are enable_x64, "):
        config.config.update("zzz", 1)
    with pytest.raises(AttributeError, match=r"config.update\('enable_x64', True\)"):
        config.config.enable_x64 = True


def run_with(environment, code):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True,
        text=True,
    )


def test_the_environment_sets_global_values():
    environment = {"LAMINAX_ENABLE_X64": "true", "LAMINAX_CHECK_LEAKS": "1", "LAMINAX_DEFAULT_MATMUL_PRECISION": "none"}
    done = run_with(
        environment,
        "from laminax_ir.options import config as c, ambient as o; import threading\n"
        "print(c.enable_x64.value, c.check_leaks.value, c.default_matmul_precision.value, c.disable_jit.value)\n"
        "threading.Thread(target=lambda: print(c.enable_x64.value, dict(o.trace_key().values)['enable_x64'])).start()",
    )
    assert done.stdout.split() == ["True", "True", "None", "False", "True", "True"], done.stderr


def test_a_wrong_environment_variable_is_named():
    done = run_with({"LAMINAX_ENABLE_X64": "maybe"}, "import laminax_ir.options.config")
    assert "ValueError: LAMINAX_ENABLE_X64 cannot be 'maybe': it must be True or False" in done.stderr


def test_a_layer_above_can_define_its_own_option():
    option = config_options.define("test_only", "a", config_options.one_of("a", "b"), "An option of a test.", aliases=("test_alias",))
    try:
        assert config.config.jax_test_alias == "a"
        with option("b"):
            assert config.config.laminax_test_only == "b"
        with pytest.raises(ValueError, match="the name 'test_alias' belongs to the option 'test_only'"):
            config_options.define("test_alias", "a", config_options.one_of("a"), "")
    finally:
        del config_options._options["test_only"], config_options._names["test_only"], config_options._names["test_alias"]


def test_the_generators_that_can_be_chosen_are_the_ones_there_are():
    from laminax_ir.types.extended_dtypes import prng_impls

    for name in prng_impls:
        with config.default_prng_impl(name):
            assert config.default_prng_impl.value == name
    assert config.default_prng_impl.value_type.description.count("'") == 2 * len(prng_impls)
