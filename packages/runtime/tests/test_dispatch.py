"""Calls go through C++ once they have been seen, and to Python whenever something that matters has changed."""

import gc
import threading
import weakref

import numpy as np
import pytest
from stablehlo_modules import aval, binary, compile_text, module, tensor, unary

import laminax_runtime as runtime
from laminax_ir.options import config, config_options
from laminax_ir.pytrees import pytree
from laminax_runtime import DeletedArrayError, device_put


class Jitted:
    """A small `jit`: what the api does on a miss, for functions whose program is given as text."""

    def __init__(self, make_text, out_tree=None, make=runtime.make_jit_function, **options):
        self.misses = []
        self.make_text = make_text
        self.out_tree = out_tree or pytree.tree_structure(0)
        self.fun = lambda *args, **kwargs: ("python", args, kwargs)
        if make is runtime.make_jit_function:
            self.call = make(self.fun, "test", self.miss, cache_key=id(self), **options)
        else:
            self.call = make("test", self.miss, **options)

    def miss(self, *args, **kwargs):
        leaves = pytree.tree_leaves((args, kwargs))
        self.misses.append(leaves)
        avals = [device_put(x).aval for x in leaves]
        text, out_avals = self.make_text(*avals)
        executable = compile_text(text, in_avals=avals, out_avals=out_avals)
        outs = executable.execute(leaves)
        data = None
        if not runtime.is_tracing():
            data = runtime.fastpath_data(executable, self.out_tree, outs, leaves)
        return pytree.tree_unflatten(self.out_tree, outs), data, False

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)

    @property
    def count(self):
        return len(self.misses)


@pytest.fixture
def negate():
    return Jitted(lambda a: (unary("negate", a), [a]))


def test_the_second_call_stays_in_cpp(negate):
    x = device_put(np.arange(3.0))
    for _ in range(3):
        assert negate(x).tolist() == [0, -1, -2]
    assert negate.count == 1 and negate.call._cache_size() == 1
    out = negate(x)
    assert out.aval is x.aval and not out.committed and negate.count == 1


def test_types_and_placement_are_part_of_the_key(negate):
    values = [np.zeros(3), np.zeros(4), np.zeros(3, np.int32), 2.5, 3, np.float32(1)]
    for value in values:
        x = device_put(value)
        assert negate(x).aval is x.aval  # weak types included
    assert negate.count == len(values)
    negate(device_put(np.zeros(3), runtime.devices()[0]))
    assert negate.count == len(values) + 1
    assert negate(device_put(np.zeros(3), runtime.devices()[0])).committed
    assert negate.count == len(values) + 1


def test_numpy_arrays_and_scalars_are_arguments(negate):
    for value in (np.arange(3.0), np.arange(3), 2.5, 3, np.float64(3)):
        for _ in range(3):
            out = negate(value)
            np.testing.assert_array_equal(np.asarray(out), -np.asarray(value))
            assert out.dtype == device_put(value).dtype
    assert negate.count <= 5


def test_numpy_arguments_may_change_after_the_call():
    """The program may still be running: it is long, and XLA runs it in the background."""
    a = aval((1 << 20,))
    t = tensor(a)
    operations = [f'%{i} = "stablehlo.sine"(%{i - 1}) : ({t}) -> {t}' for i in range(1, 6)]
    start = f'%0 = "stablehlo.add"(%arg0, %arg0) : ({t}, {t}) -> {t}'
    text = module([a], [a, a], [start, *operations, "%5, %arg0"])
    function = Jitted(lambda *avals: (text, [a, a]), pytree.tree_structure((0, 0)))
    memory = np.zeros((1 << 20) + 16, np.float32)
    start = (-memory.ctypes.data // 4) % 16
    value = memory[start : start + (1 << 20)]
    for _ in range(4):
        value[:] = 0
        outs = function(value)
        value[:] = 1
        assert not any(np.asarray(out).any() for out in outs)
    assert function.count == 1


def test_pytrees_in_and_out():
    tree = pytree.tree_structure({"sum": 0})
    add = Jitted(lambda a, b: (binary("add", a), [a]), tree)
    for _ in range(2):
        out = add({"x": device_put(1.0), "y": device_put(2.0)})
        assert list(out) == ["sum"] and float(out["sum"]) == 3
    add((device_put(1.0), device_put(2.0)))
    assert add.count == 2


def test_static_arguments():
    function = Jitted(lambda a, *rest: (unary("negate", a), [a]), static_argnums=(1,), static_argnames=("mode",))
    x = device_put(1.0)
    misses = []
    for args, kwargs in [((x, 1), {}), ((x, 2), {}), ((x, 1), {"mode": "a"}), ((x, 1), {"mode": "b"})]:
        function.misses.clear()
        with pytest.raises(Exception):  # noqa: B017  (the static leaves are no arrays for this small jit)
            function(*args[:1], "static", **kwargs)
        misses.append(function.count)
    assert misses == [1, 1, 1, 1]


def test_nothing_of_a_trace_outlives_it(negate):
    x = device_put(1.0)
    negate(x)
    assert not runtime.is_tracing()
    runtime.set_tracing(True)
    try:
        assert runtime.is_tracing()
        negate(x), negate(x)
        assert negate.count == 3  # each call under a trace comes to Python
        seen = []
        thread = threading.Thread(target=lambda: seen.append((runtime.is_tracing(), negate(x))))
        thread.start(), thread.join()
        assert seen[0][0] is False and negate.count == 3  # the trace is this thread's alone
    finally:
        runtime.set_tracing(False)
    negate(x)
    assert negate.count == 3


def test_traced_values_come_to_python(negate):
    class Traced:
        pass

    received = []

    def miss(x):
        received.append(x)
        return x, None, False

    function = runtime.make_jit_function(lambda x: x, "f", miss)
    traced = Traced()
    assert function(traced) is traced and function(traced) is traced
    assert received == [traced, traced] and function._cache_size() == 0


@pytest.mark.parametrize(
    "option, value",
    [
        ("enable_x64", True),
        ("default_matmul_precision", "highest"),
        ("numpy_rank_promotion", "raise"),
        ("debug_nans", True),
        ("default_device", "cpu"),
    ],
)
def test_settings_do_not_share_entries(negate, option, value):
    x = device_put(1.0)
    negate(x)
    setting = next(o for o in config_options.all_options() if o.name == option)
    with setting(value):
        negate(x)
        assert negate.count == 2
        seen = []
        thread = threading.Thread(target=lambda: seen.append(negate(x)))
        thread.start(), thread.join()
        assert negate.count == 2  # another thread does not have this setting
    negate(x)
    assert negate.count == 2
    setting.set_global(value)
    try:
        negate(x)
        # entries tell a thread's setting from the global one, except where jaxlib itself reads it
        assert negate.count == (2 if option == "enable_x64" else 3)
    finally:
        setting.set_global(setting.default)


def test_a_setting_of_the_thread_hides_the_global_one_for_it_alone(negate):
    x = device_put(1.0)
    with config.default_matmul_precision("highest"):
        negate(x)
        config.numpy_rank_promotion.set_global("raise")
        try:
            negate(x)  # a change of another option shows inside too
            assert negate.count == 2
            with config.numpy_rank_promotion("allow"), config.default_matmul_precision("default"):
                negate(x)
            assert negate.count == 3
        finally:
            config.numpy_rank_promotion.set_global("allow")
        negate(x)
        assert negate.count == 3
    negate(x)
    assert negate.count == 4


def test_checked_results_come_to_python(negate):
    x = device_put(1.0)
    with config.debug_nans(True):
        negate(x), negate(x)
    assert negate.count == 2


def test_disable_jit_calls_the_function_itself(negate):
    with config.disable_jit(True):
        assert negate(5, a=1) == ("python", (5,), {"a": 1})
    assert negate.count == 0


def test_eager_functions_ignore_disable_jit_and_traces():
    class Eager(Jitted):
        def miss(self, x):
            self.misses.append(x)
            a = device_put(x).aval
            executable = compile_text(unary("negate", a), in_avals=[a], out_avals=[a])
            outs = executable.execute([x])
            return outs[0], runtime.fastpath_data(executable, self.out_tree, outs, [x]), False

    eager = Eager(None, make=runtime.make_eager_function)
    x = device_put(1.0)
    assert float(eager(x)) == -1 and float(eager(x)) == -1 and eager.count == 1
    with config.disable_jit(True):
        assert float(eager(x)) == -1 and eager.count == 1
        assert config.disable_jit.value
    runtime.set_tracing(True)
    try:
        eager(x), eager(x)
        assert eager.count == 2
    finally:
        runtime.set_tracing(False)


def test_deleted_arguments(negate):
    for _ in range(2):  # first without an entry, then with one
        x = device_put(np.ones(4))
        x.delete()
        with pytest.raises(DeletedArrayError, match=r"Array has been deleted with shape=float32\[4\]"):
            negate(x)
        negate(device_put(np.ones(4)))


def test_donated_arguments():
    donate = Jitted(lambda b: (unary("negate", b, {0: "{tf.aliasing_output = 0 : i32}"}), [b]))
    for _ in range(3):
        x = device_put(np.ones(4, np.float32))
        assert donate(x).tolist() == [-1] * 4
        assert x.is_deleted()
        with pytest.raises(
            ValueError, match="(Buffer|Array) has been deleted"
        ):  # the first are jaxlib 0.10.2's own words
            donate(x)
        with pytest.raises(DeletedArrayError, match="donate_argnums"):
            x.tolist()
    assert donate.call._cache_size() == 1


def test_unsupported_arguments(negate):
    with pytest.raises(runtime.UnsupportedValueError, match="'text'"):
        negate("text")


def test_entries_die_with_their_function():
    jitted = Jitted(lambda a: (unary("negate", a), [a]))
    jitted(device_put(1.0))
    alive = weakref.ref(jitted.fun)
    del jitted
    gc.collect()
    assert alive() is None


def test_clearing_caches(negate):
    x = device_put(1.0)
    negate(x)
    negate.call._clear_cache()
    assert negate.call._cache_size() == 0
    negate(x)
    assert negate.count == 2
    runtime.clear_dispatch_caches()
    negate(x)
    assert negate.count == 3


def test_equal_keys_share_entries():
    first = Jitted(lambda a: (unary("negate", a), [a]))
    key = ("inline", False)

    def fun(x):
        return x

    f, g = (runtime.make_jit_function(fun, "f", first.miss, cache_key=key) for _ in range(2))
    other = runtime.make_jit_function(fun, "f", first.miss, cache_key=("inline", True))
    x = device_put(1.0)
    f(x), g(x)
    assert first.count == 1
    other(x)
    assert first.count == 2


def test_install_jit_methods():
    runtime.install_jit_methods({"_method_for_test": lambda self: self.__name__})
    f = runtime.make_jit_function(lambda x: x, "f", lambda x: (x, None, False))
    f.__name__ = "named"
    assert f._method_for_test() == "named"
    with pytest.raises(ValueError, match="already has _method_for_test"):
        runtime.install_jit_methods({"_method_for_test": None})


def test_threads_dispatch_together(negate):
    x = device_put(np.arange(3.0))
    results = []

    def work():
        for _ in range(200):
            results.append(negate(x))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 1600 and all(out.tolist() == [0, -1, -2] for out in results[::100])
    assert negate.count <= 8
