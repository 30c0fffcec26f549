"""Which frames the tracebacks of errors show, by the option `traceback_filtering`."""

import gc
import inspect
import os
import subprocess
import sys
import traceback
import types
import weakref

import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax._src.names import traceback_util
from laminax.experimental import checkify


class Planned(Exception):
    pass


def fails(*_):
    raise Planned("on purpose")


def frames(call, mode="quiet_remove_frames", kind=Planned):
    """The error of a call, and the functions of its traceback below this one."""
    laminax.config.update("jax_traceback_filtering", mode)
    try:
        with pytest.raises(kind) as caught:
            call()
    finally:
        laminax.config.update("jax_traceback_filtering", "auto")
    entries = list(traceback.walk_tb(caught.value.__traceback__))
    return caught.value, [f for f, _ in entries if f.f_code.co_name != "frames" and "_pytest" not in f.f_code.co_filename]


def names(call, **options):
    return [frame.f_code.co_name for frame in frames(call, **options)[1]]


def nested(x):
    return 1 + laminax.vmap(laminax.jit(laminax.value_and_grad(inner)))(x)[0]


def inner(x):
    return lax.scan(body, x, None, 2)[0]


def body(x, _):
    return lax.cond(x > 0, fails, jnp.sin, x), None


def test_the_users_frames_remain_of_nested_transformations():
    x = jnp.ones(3)
    assert names(lambda: laminax.jit(nested)(x)) == ["<lambda>", "nested", "inner", "body", "fails"]
    assert len(names(lambda: laminax.jit(nested)(x), mode="off")) > 20


@pytest.mark.parametrize("call", [
    lambda: laminax.jit(fails)(1.0), lambda: laminax.jit(fails).lower(1.0), lambda: laminax.vmap(fails)(jnp.ones(2)),
    lambda: laminax.grad(fails)(1.0), lambda: laminax.jacfwd(fails)(1.0), lambda: laminax.hessian(fails)(1.0),
    lambda: laminax.jvp(fails, (1.0,), (1.0,)),
    lambda: laminax.vjp(fails, 1.0), lambda: laminax.linearize(fails, 1.0), lambda: laminax.checkpoint(fails)(1.0),
    lambda: laminax.custom_gradient(fails)(1.0), lambda: laminax.make_jaxpr(fails)(1.0), lambda: laminax.eval_shape(fails, 1.0),
    lambda: lax.switch(1, [jnp.sin, fails, jnp.cos], 1.0), lambda: lax.fori_loop(0, 3, fails, 1.0), lambda: lax.map(fails, jnp.ones(2)),
    lambda: lax.while_loop(lambda x: x > 0, fails, 1.0), lambda: lax.associative_scan(fails, jnp.ones(4)),
    lambda: lax.custom_root(fails, 0.0, lambda f, x: x, lambda g, y: y), lambda: lax.custom_linear_solve(fails, 1.0, lambda m, b: b),
    lambda: checkify.checkify(fails)(1.0), lambda: laminax.pmap(fails)(jnp.ones((1, 2))),
])
def test_every_function_that_calls_users_functions_is_a_boundary(call):
    assert names(call) == ["<lambda>", "fails"]


def test_errors_of_eager_operations():
    x, y = jnp.ones(3), jnp.ones(4)
    for call in (lambda: x + y, lambda: jnp.add(x, y), lambda: x[1.5], lambda: laminax.jit(abs)("a")):
        assert names(call, kind=Exception) == ["<lambda>"]


def test_whole_tracebacks_as_causes():
    error, shown = frames(lambda: laminax.jit(nested)(jnp.ones(3)), "remove_frames")
    assert [f.f_code.co_name for f in shown] == ["<lambda>", "nested", "inner", "body", "fails"]
    assert isinstance(error.__cause__, traceback_util.UnfilteredStackTrace) and "on purpose" in str(error.__cause__)
    whole = [f.f_code.co_name for f, _ in traceback.walk_tb(error.__cause__.__traceback__)]
    assert len(whole) > 20 and whole[-1] == "fails" and "test_whole_tracebacks_as_causes" in whole

    def caused():
        raise KeyError("second") from ValueError("first")

    error, _ = frames(laminax.jit(caused), "remove_frames", KeyError)
    assert isinstance(error.__cause__.__cause__, ValueError)


def test_notes_and_marks():
    error, _ = frames(lambda: laminax.jit(nested)(jnp.ones(3)))
    assert [note for note in error.__notes__ if "LAMINAX_TRACEBACK_FILTERING=off" in note] == error.__notes__ and len(error.__notes__) == 1
    _, all_frames = frames(lambda: laminax.jit(nested)(jnp.ones(3)), "tracebackhide")
    shown = [f.f_code.co_name for f in all_frames if "__tracebackhide__" not in f.f_locals]
    assert len(all_frames) > 20 and shown == ["<lambda>", "nested", "inner", "body", "fails"]


def test_libraries_hide_their_files_and_mark_their_functions():
    source = "def call(fun, x):\n    return fun(x)\n"
    library = types.ModuleType("library")
    exec(compile(source, "/nowhere/hidden_library.py", "exec"), library.__dict__)
    traceback_util.register_exclusion("/nowhere/hidden_library.py")
    assert names(lambda: traceback_util.api_boundary(library.call)(fails, 1.0)) == ["<lambda>", "fails"]
    frame = frames(lambda: library.call(fails, 1.0), "off")[1][1]
    assert not traceback_util.include_frame(frame)
    traceback_util._exclude_paths.remove("/nowhere/hidden_library.py")  # as flax does to show its own frames
    assert traceback_util.include_frame(frame)


@pytest.mark.parametrize("transform", [
    laminax.grad, laminax.value_and_grad, laminax.vmap, laminax.checkpoint, laminax.jit, laminax.jacfwd, laminax.jacrev,
    laminax.make_jaxpr, laminax.pmap, laminax.named_call,
], ids=lambda transform: transform.__name__)
def test_a_transformed_function_leads_back_to_the_function(transform):
    def scale(x, factor=2.0):
        return factor * x

    transformed = transform(scale)
    assert transformed.__wrapped__ is scale and inspect.signature(transformed) == inspect.signature(scale)


def test_the_mode_is_read_from_the_environment():
    program = "import laminax\nlaminax.jit(lambda x: 1 / 0)(1.0)\n"
    lengths = {}
    for mode in ("off", "auto"):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "JAX_TRACEBACK_FILTERING": mode}
        process = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        assert "ZeroDivisionError" in process.stderr
        lengths[mode] = process.stderr.count("File ")
    assert lengths["auto"] == 2 < lengths["off"]


@pytest.mark.parametrize("mode", ["off", "tracebackhide", "remove_frames", "quiet_remove_frames"])
def test_an_error_lets_go_of_what_its_frames_held(mode):
    """Without the collector of cycles: arrays on a device wait for no collection."""
    class Held:
        def __call__(self, x):
            raise ValueError("mine")

    held = Held()
    known = weakref.ref(held)
    fails = traceback_util.api_boundary(lambda held: traceback_util.api_boundary(held)(1.0))
    gc.collect()
    gc.disable()
    laminax.config.update("jax_traceback_filtering", mode)
    try:
        try:
            fails(held)
        except ValueError:
            pass
        del held
        assert known() is None
    finally:
        laminax.config.update("jax_traceback_filtering", "auto")
        gc.enable()
