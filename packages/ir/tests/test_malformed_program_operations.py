"""Control flow, collectives, callbacks, random bits and composites refuse wrong arguments by an error that names the operation and
shows what was wrong. What the functions that are passed may return is in each family's file.
"""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
from malformed import (
    AXIS,
    CALLABLE,
    DTYPE,
    ELSEWHERE,
    INTEGER,
    MODULES,
    SHAPE,
    has_all_operations,
    is_accepted,
    is_refused,
    wrong_calls,
)

import laminax_ir.ops
from laminax_ir.ops import callbacks, collectives, composite, control_flow, loops, random_bits
from laminax_ir.ops import elementwise as op
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

f32, i32, u32 = np.float32, np.int32, np.uint32
X, S = np.ones((1, 4), f32), ShapeDtypeStruct((1, 4), f32)

CONTROL = {
    "cond": (control_flow.cond, {"*pred": True, "*true_fun": lambda x: x, "*false_fun": lambda x: op.neg(x), "*operand": X},
             {"*pred": [X, 1j, "x", None], "*true_fun": CALLABLE, "*false_fun": [*CALLABLE, lambda x: op.convert_element_type(x, i32)]}),
    "switch": (control_flow.switch, {"*index": 0, "*branches": [lambda x: x, lambda x: op.neg(x)], "*operand": X},
               {"*index": [1.5, "x", X], "*branches": [[], [3], 3, [lambda x: x, lambda x: op.convert_element_type(x, i32)]]}),
    "platform_dependent": (control_flow.platform_dependent, {"*operand": X, "cpu": lambda x: x, "default": lambda x: x},
                           {"cpu": CALLABLE, "default": CALLABLE}),
    "while_loop": (loops.while_loop, {"cond_fun": lambda c: op.lt(c, 3.0), "body_fun": lambda c: op.add(c, 1.0), "init_val": 0.0},
                   {"cond_fun": [*CALLABLE, lambda c: c], "body_fun": CALLABLE, "init_val": ["x"]}),
    "fori_loop": (loops.fori_loop, {"lower": 0, "upper": 3, "body_fun": lambda i, c: op.add(c, 1.0), "init_val": 0.0},
                  {"lower": ["x", 0.5, X], "upper": ["x", 0.5, X], "body_fun": CALLABLE, "init_val": ["x"]}),
    "scan": (loops.scan, {"f": lambda c, x: (c, x), "init": 0.0, "xs": X, "length": 1, "unroll": 1},
             {"f": [*CALLABLE, lambda c, x: c, lambda c, x: ((c, c), x)], "init": ["x"], "xs": ["x", f32(1)], "length": [4, -1, *INTEGER],
              "unroll": [-1, *INTEGER]}),
}

NAME = ["unbound", ("i", "i"), 7]
GROUPS = [[[0, 1]], 3, [["x"]]]
COLLECTIVES = {
    **{name: (getattr(collectives, name), {"x": X, "axis_name": "i", "axis_index_groups": [[0]]},
              {"axis_name": NAME, "axis_index_groups": GROUPS}) for name in ("psum", "pmax", "pmin", "pmean")},
    "all_gather": (collectives.all_gather, {"x": X, "axis_name": "i", "axis": 0}, {"axis_name": NAME, "axis": AXIS}),
    "psum_scatter": (collectives.psum_scatter, {"x": X, "axis_name": "i", "scatter_dimension": 0},
                     {"x": [X[:, :0].T], "axis_name": NAME, "scatter_dimension": [1, *AXIS]}),
    "all_to_all": (collectives.all_to_all, {"x": X, "axis_name": "i", "split_axis": 0, "concat_axis": 1},
                   {"axis_name": NAME, "split_axis": [1, *AXIS], "concat_axis": AXIS}),
    "ppermute": (collectives.ppermute, {"x": X, "axis_name": "i", "perm": [(0, 0)]},
                 {"axis_name": NAME, "perm": [[(0, 1)], [(0, 0), (0, 0)], [0], 3, [(0, 0.5)]]}),
    "pshuffle": (collectives.pshuffle, {"x": X, "axis_name": "i", "perm": [0]}, {"axis_name": NAME, "perm": [[1], [0, 0], ["x"], 3]}),
    "pswapaxes": (collectives.pswapaxes, {"x": X, "axis_name": "i", "axis": 0}, {"axis_name": NAME, "axis": [1, *AXIS]}),
    "pbroadcast": (collectives.pbroadcast, {"x": X, "axis_name": "i", "source": 0}, {"axis_name": NAME, "source": [1, -1, *INTEGER]}),
    "axis_index": (collectives.axis_index, {"axis_name": "i"}, {"axis_name": ["unbound", 7]}),
    "axis_size": (collectives.axis_size, {"axis_name": "i"}, {"axis_name": ["unbound", 7]}),
    "pcast": (collectives.pcast, {"x": X, "axis_name": "i", "to": "varying"}, {"axis_name": ["unbound"]}),
    "psum_shared": (collectives.psum_shared, {"x": X, "like": X, "axes": ("i",)}, {"axes": [("unbound",)]}),
}

CALLBACKS = {
    **{name: (getattr(callbacks, name), {"*callback": lambda x: x, "*result_shape_dtypes": S, "*x": X},
              {"*callback": CALLABLE, "*result_shape_dtypes": ["x", 3], "*x": ["text", object]})
       for name in ("pure_callback", "io_callback")},
    "debug_callback": (callbacks.debug_callback, {"*callback": lambda x: None, "*x": X}, {"*callback": CALLABLE, "*x": []}),
    "inspect_sharding": (callbacks.inspect_sharding, {"x": X, "callback": lambda sharding: None}, {"x": ["no array", object]}),
    **{name: (getattr(callbacks, name), {"*fmt": "{}", "*x": X}, {"*fmt": [3, X], "*x": []}) for name in ("debug_print", "debug_log")},
    "composite": (lambda decomposition, name: composite.composite(decomposition, name)(X),
                  {"decomposition": lambda x: op.neg(x), "name": "my.neg"}, {"name": [3, None]}),
}

KEYS = random_bits.random_seed(np.arange(2, dtype=i32), "threefry2x32")
NO_KEYS = [np.zeros(2, u32), "x"]
STATE = np.zeros(4, u32)
WORDS = np.zeros(2, u32)
RANDOM = {
    "threefry2x32": (random_bits.threefry2x32, {"key1": WORDS, "key2": WORDS, "x1": WORDS, "x2": WORDS},
                     {"key1": [WORDS.astype(i32)], "x2": [np.zeros(3, u32), f32(1), "x"]}),
    "iota_2x32_shape": (random_bits.iota_2x32_shape, {"shape": (2,)}, {"shape": SHAPE}),
    "rng_bit_generator": (random_bits.rng_bit_generator, {"key": STATE, "shape": (2,), "dtype": u32, "algorithm": 2},
                          {"key": [WORDS, STATE.astype(i32), "x"], "shape": SHAPE, "dtype": [f32, *DTYPE], "algorithm": [7, "x"]}),
    "rng_uniform": (random_bits.rng_uniform, {"a": f32(0), "b": f32(1), "shape": (2,)}, {"a": [WORDS, i32(0)], "b": [X], "shape": SHAPE}),
    "random_seed": (random_bits.random_seed, {"seeds": np.arange(2, dtype=i32), "impl": "threefry2x32"},
                    {"seeds": [X, "x", f32(1.5)], "impl": ["mersenne", 3]}),
    "random_wrap": (random_bits.random_wrap, {"words": WORDS, "impl": "threefry2x32"},
                    {"words": [STATE, WORDS.astype(i32), u32(1), "x"], "impl": ["mersenne", 3]}),
    "random_unwrap": (random_bits.random_unwrap, {"keys": KEYS}, {"keys": NO_KEYS}),
    "random_clone": (random_bits.random_clone, {"keys": KEYS}, {"keys": NO_KEYS}),
    "random_split": (random_bits.random_split, {"keys": KEYS, "shape": (2,)}, {"keys": NO_KEYS, "shape": SHAPE}),
    "random_fold_in": (random_bits.random_fold_in, {"keys": KEYS, "data": WORDS},
                       {"keys": NO_KEYS, "data": [WORDS.astype(i32), np.zeros(3, u32), 1.5, "x"]}),
    "random_bits": (random_bits.random_bits, {"keys": KEYS, "bit_width": 32, "shape": (2,)},
                    {"keys": NO_KEYS, "bit_width": [24, 1.5, "x"], "shape": SHAPE}),
}

RIGHT = CONTROL | COLLECTIVES | CALLBACKS | RANDOM
HELPERS = {
    control_flow: {"platform_switch"}, loops: {"as_array", "scan_slices"}, callbacks: {"announced_avals", "flat_arguments", "run_callback"},
    collectives: {"vary", "group_index"}, random_bits: set(),
}


@pytest.fixture(autouse=True)
def one_participant():
    with extend_axis_env(("i", 1)):
        yield


@pytest.mark.parametrize("name", MODULES[__name__.rpartition(".")[2]])
def test_every_operation_has_wrong_calls(name):
    (module,) = [module for module in HELPERS if module.__name__ == f"laminax_ir.ops.{name}"]
    has_all_operations(module, RIGHT, HELPERS[module])


def test_every_family_has_wrong_calls_somewhere():
    modules = {name: importlib.import_module(f"laminax_ir.ops.{name}") for _, name, _ in pkgutil.iter_modules(laminax_ir.ops.__path__)}
    families = {x.family for module in modules.values() for x in vars(module).values() if isinstance(x, Primitive)}
    listed = {name for names in MODULES.values() for name in names} | ELSEWHERE
    assert families <= listed, f"make wrong calls of the operations of {families - listed}, and name the file in malformed.MODULES"
    assert listed <= set(modules)


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_calls_are_right(name):
    is_accepted(*RIGHT[name][:2])


@pytest.mark.parametrize("name, function, arguments, key, bad", wrong_calls(RIGHT))
def test_wrong_calls_are_refused(name, function, arguments, key, bad):
    is_refused(name, function, arguments, key, bad)
