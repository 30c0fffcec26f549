"""Where operations come from: their names in the compiler's metadata, the user's functions and lines, names of arguments and results."""

import re

import numpy as np

from laminax_ir.ops import elementwise as el
from laminax_ir.ops.calls import bind_checkpoint, call_jaxpr
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.name_stacks import JVP, VMAP, NameStack, scope_path
from laminax_ir.tracing.trace import name_scope, state
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

F32 = ShapedArray((3,), np.dtype(np.float32))
FLAG = ShapedArray((), np.dtype(bool))


def names_of(fun, *avals) -> dict[str, str]:
    """The location's name of each kind of operation in `jit(f)`; of several, the last one's."""
    text = lower(stage(fun, avals, "f"), name="f").text
    locations = dict(re.findall(r'^(#loc\d+) = loc\("([^"]*)"', text, re.MULTILINE))
    found = re.findall(r'"(?:stablehlo|chlo)\.(\w+)"\(.* loc\((#loc\d+)\)$|func\.(call) .* loc\((#loc\d+)\)$', text, re.MULTILINE)
    return {op or call: locations[alias or call_alias] for op, alias, call, call_alias in found}


def block(x):
    with name_scope("inside"):
        return el.tanh(el.sin(x))


BLOCK = stage(lambda x: [block(x)], [F32], "block")


def test_scopes():
    def f(x):
        with name_scope("outer"), name_scope("inner"):
            y = el.sin(x)
        return [el.cos(y)]

    assert names_of(f, F32) == {"sine": "jit(f)/outer/inner/sin", "cosine": "jit(f)/cos"}


def test_a_call_written_in_place_has_its_name_in_front():
    def f(x):
        with name_scope("outer"):
            return call_jaxpr(BLOCK, x, name="block")

    assert names_of(f, F32) == {"sine": "jit(f)/outer/jit(block)/inside/sin", "tanh": "jit(f)/outer/jit(block)/inside/tanh"}


def test_a_function_has_names_of_its_own_which_the_compiler_appends_to_its_callers():
    def f(x):
        with name_scope("outer"):
            return call_jaxpr(BLOCK, *call_jaxpr(BLOCK, x, name="block"), name="block")

    assert names_of(f, F32) == {"sine": "inside/sin", "tanh": "inside/tanh", "call": "jit(f)/outer/jit(block)"}


def test_a_scope_around_tracing_is_not_in_the_program():
    with name_scope("around"):
        assert names_of(lambda x: [el.sin(x)], F32) == {"sine": "jit(f)/sin"}


def test_control_flow():
    def f(flag, x):
        with name_scope("outer"):
            x = cond(flag, el.sin, el.cos, x)
            x, _ = scan(lambda c, _: (el.tan(c), None), x, None, length=3)
            (x,) = bind_checkpoint(stage(lambda x: [el.exp(x)], [F32]), x, name="layer", prevent_cse=False, policy=None)
        return [el.sqrt(x)]

    names = names_of(f, FLAG, F32)
    assert names["sine"] == "jit(f)/outer/cond/branch_1_fun/sin" and names["cosine"] == "jit(f)/outer/cond/branch_0_fun/cos"
    assert names["tan"] == "jit(f)/outer/while/body/tan" and names["exponential"] == "jit(f)/outer/checkpoint/exp"
    assert names["sqrt"] == "jit(f)/sqrt"


def test_while():
    def f(x):
        return [while_loop(lambda c: el.lt(el.sin(c), np.float32(1)), el.cos, x)]

    names = names_of(f, ShapedArray((), np.dtype(np.float32)))
    assert names["sine"] == "jit(f)/while/cond/sin" and names["cosine"] == "jit(f)/while/body/cos"


def test_transformations_are_around_what_follows_them():
    """As JAX prints them."""
    assert scope_path("jit(f)", (VMAP, JVP, "outer", "inner"), "sin") == "jit(f)/vmap(jvp(outer))/inner/sin"
    assert scope_path("jit(f)", ("outer", JVP), "sin") == "jit(f)/outer/jvp()/sin"
    assert scope_path("", (), "sin") == "sin" and scope_path("jit(f)", ("outer",)) == "jit(f)/outer"


def test_transformations_go_around_calls_but_not_around_loops():
    """As JAX prints them: vmap(jit(block)), but vmap()/while/body."""
    def f(x):
        before, state.name_stack = state.name_stack, NameStack((VMAP,))
        try:
            x, _ = scan(lambda c, _: (el.tan(c), None), x, None, length=3)
            return call_jaxpr(BLOCK, x, name="block")
        finally:
            state.name_stack = before

    names = names_of(f, F32)
    assert names["tan"] == "jit(f)/vmap()/while/body/tan" and names["sine"] == "jit(f)/vmap(jit(block))/inside/sin"


def test_functions_files_and_lines():
    text = lower(stage(lambda x: [block(x)], [F32]), name="f").text
    line = block.__code__.co_firstlineno + 2
    (place,) = re.findall(rf'(#loc\d+) = loc\(".*test_locations.py":{line}:\d+\)\n#loc\d+ = loc\("block"\(\1\)\)\n', text)[:1]
    assert "stablehlo.tanh" in text and place
    assert len(re.findall(r"^#loc\d+ = ", text, re.MULTILINE)) == len(set(re.findall(r"^#loc\d+ = (.*)$", text, re.MULTILINE)))


def test_arguments_and_results_have_names():
    closed = stage(lambda x, y, z: [el.add(x, z), z], [F32, F32, F32])
    text = lower(closed, name="f", arg_names=["p['w']", "unused", 'a"b'], result_names=["result[0]", "result[1]"],
                 donated=[True, False, False]).text
    assert "@main(%arg0: tensor<3xf32> {tf.aliasing_output = 0 : i32} loc(#loc0), %arg1: tensor<3xf32> loc(#loc1))" in text
    assert "#loc0 = loc(\"p['w']\")" in text and '#loc1 = loc("a\\22b")' in text
    assert '(tensor<3xf32> {jax.result_info = "result[0]"}, tensor<3xf32> {jax.result_info = "result[1]"})' in text


def test_a_donated_argument_that_no_result_can_take_is_left_alone():
    module = lower(stage(lambda x: [el.eq(x, x)], [F32]), donated=[True])
    assert "aliasing_output" not in module.text and "buffer_donor" not in module.text and module.unusable_donations == (F32,)


def test_the_convention_says_how_main_is_called():
    table = np.arange(3, dtype=np.float32)
    closed = stage(lambda x, _unused, y: [el.add(x, table), y], [F32, F32, F32])
    assert len(closed.consts) == 1
    module = lower(closed, donated=(True, False, False), arg_layouts=(None, None, "{0}"))
    convention = module.convention
    assert convention.kept == (*[True] * len(closed.consts), True, False, True) and module.kept == (0, 2)
    assert convention.donated == (*[False] * len(closed.consts), True, False, False)
    assert convention.has_layouts and not convention.has_dynamic_shapes and not convention.needs_this_process
    assert not lower(closed).convention.has_layouts
    assert len(convention.in_avals) == len(closed.consts) + 3 and convention.out_avals == (F32, F32)
    assert convention.parameters == (0, 1, 3)
