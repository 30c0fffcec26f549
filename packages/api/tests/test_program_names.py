"""What is known of the functions that programs are traced from: `jaxpr.debug_info` and `api_util.debug_info`."""

from __future__ import annotations

from functools import partial

import pytest

import laminax
from laminax import api_util


def many(x, y, *rest, **options):
    return {"a": x["ho"] + rest[1], "b": [y, options["n"]]}


class Layer:
    def __call__(self, y):
        return y


def test_the_program_of_a_jitted_function():
    traced = laminax.jit(many, static_argnums=1).trace({"ho": 1.0}, 2, 3.0, 4.0, n=5.0, m={"k": 6.0})
    info = traced.jaxpr.jaxpr.debug_info
    assert info == "jit(many)" and info.traced_for == "jit" and info.func_name == "many"
    assert info.func_src_info == f"many at {__file__}:{many.__code__.co_firstlineno}"
    assert info.arg_names == ("x['ho']", "rest[0]", "rest[1]", "options['m']['k']", "options['n']")
    assert info.result_paths == ("result['a']", "result['b'][0]", "result['b'][1]")
    text = traced.lower().as_text(debug_info=True)
    assert all(f'"{name}"' in text for name in ("x['ho']", "rest[1]", "options['n']")) and '"rest[0]"' not in text  # which is not read


def test_the_names_do_not_keep_the_function():
    def f(x):
        return x

    info = laminax.make_jaxpr(f)(1.0).jaxpr.debug_info
    assert info.arg_names == ("x",)
    del f
    assert info.arg_names == ("args[0]",) and info.func_name == "f"


@pytest.mark.parametrize("fun, args, kwargs, options, names", [
    (lambda x, y, *, z: x, ((1, 2), 3), {"z": {"b": 4, "a": 5}}, {}, ("x[0]", "x[1]", "y", "z['a']", "z['b']")),
    (lambda x, y, *, z: x, ((1, 2), 3), {"z": 4}, {"static_argnums": (0,), "static_argnames": ("z",)}, ("y",)),
    (partial(lambda x, y: x, 1), (2,), {}, {}, ("y",)),
    (max, (1,), {}, {}, ("args[0]",)),
    (Layer(), (1,), {}, {}, ("y",)),
])
def test_debug_info_of_a_call(fun, args, kwargs, options, names):
    info = api_util.debug_info("step", fun, args, kwargs, **options)
    assert info.traced_for == "step" and info.arg_names == names and info.result_paths is None


def test_places_are_told_where_there_are_some():
    assert api_util.debug_info("jit", many, (), {}).func_lineno == many.__code__.co_firstlineno
    assert api_util.debug_info("jit", max, (1,), {}).func_src_info == "max"
    assert api_util.debug_info("jit", Layer(), (1,), {}).func_src_info == "<unknown>"
