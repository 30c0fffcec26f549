"""Every operation on arrays refuses wrong arguments by an error that names it and shows what was wrong: shape, indexing, stacking,
sorting, reduction, cumulative and windowed operations. Which combinations of right arguments do not fit is in each family's file.
"""

from __future__ import annotations

import numpy as np
import pytest
from malformed import (
    AXES,
    AXIS,
    CALLABLE,
    DTYPE,
    INTEGER,
    MODULES,
    PLAIN_AXIS,
    SHAPE,
    SIZE,
    has_all_operations,
    is_accepted,
    is_refused,
    wrong_calls,
)

from laminax_ir.ops import cumulative, indexing, reduction, shape, shape_arguments, slicing, sorting, stacking, windows
from laminax_ir.ops import elementwise as op

f32, i32 = np.float32, np.int32
X, V = np.arange(12, dtype=f32).reshape(3, 4), np.arange(4, dtype=f32)
ONE, N = f32(1), np.arange(4, dtype=i32)
GATHER = indexing.GatherDimensionNumbers((1,), (0,), (0,))
SCATTER = indexing.ScatterDimensionNumbers((1,), (0,), (0,))
ROWS = np.array([[0], [2]], i32)
NUMBERS = [GATHER._replace(offset_dims=(5,)), GATHER._replace(collapsed_slice_dims=(7,)), GATHER._replace(start_index_map=(0, 0)),
           GATHER._replace(operand_batching_dims=(0,)), GATHER._replace(offset_dims=("x",)), GATHER._replace(offset_dims=3)]
SCATTER_NUMBERS = [*[indexing.ScatterDimensionNumbers(*n) for n in NUMBERS], None, ((1,), (0,), (0,)), "x"]
NUMBERS += [None, ((1,), (0,), (0,)), "x"]
WRONG_INDICES = [ROWS.astype(f32), np.array(0, i32), np.array([[0, 1]], i32), "no array"]
WINDOW = {"window_dimensions": [(2,), (2, 0), (2, 1.5), "x"], "window_strides": [(2,), (2, 0), (2, 1.5)],
          "padding": [((0, 0),), ((0, -9), (0, 0)), "FOO", ((0,), (0, 0)), ((0, 1.5), (0, 0))]}
DILATION = [(2,), (2, 0), (2, 1.5)]

SHAPES = {
    "broadcast_in_dim": (shape.broadcast_in_dim, {"operand": X, "shape": (2, 3, 4), "broadcast_dimensions": (1, 2)},
                         {"shape": [(2, 3, 5), (2, 3, -1), (2, 3, 1.5), "x"], "broadcast_dimensions": [*AXES, (1,), (2, 1), (-2, -1)]}),
    "broadcast": (shape.broadcast, {"operand": X, "sizes": (2,)}, {"sizes": SHAPE}),
    "broadcast_shapes": (shape_arguments.broadcast_shapes, {"*a": (3, 4), "*b": (1, 4)}, {"*b": [(3, 5), (2.5,), ("x",)]}),
    "broadcast_to_rank": (shape.broadcast_to_rank, {"x": X, "rank": 3}, {"rank": [1, *INTEGER]}),
    "broadcast_to_shape": (shape.broadcast_to_shape, {"x": X, "shape": (2, 3, 4)}, {"shape": [(2, 3, 5), (4,), (2, 3, 1.5)]}),
    "reshape": (shape.reshape, {"operand": X, "new_sizes": (4, 3), "dimensions": (1, 0)},
                {"new_sizes": [(5, 3), *SHAPE], "dimensions": AXES}),
    "transpose": (shape.transpose, {"operand": X, "permutation": (1, 0)}, {"permutation": [*AXES, (0,), (-1, 0)]}),
    "squeeze": (shape.squeeze, {"array": X[None], "dimensions": (0,)}, {"dimensions": [*AXES, (1,)]}),
    "expand_dims": (shape.expand_dims, {"array": X, "dimensions": (0,)}, {"dimensions": AXES}),
    "concatenate": (shape.concatenate, {"operands": [X, X], "dimension": 0},
                    {"operands": [[], [X, V], [X, X.astype(i32)], [X, X[:, :2]], [X, "x"]], "dimension": PLAIN_AXIS}),
    "pad": (shape.pad, {"operand": X, "padding_value": ONE, "padding_config": ((0, 0, 0), (1, 0, 0))},
            {"padding_value": [V, i32(1), "x"],
             "padding_config": [((0, 0, 0),), ((0, 0), (0, 0)), ((0, 0, -1), (0, 0, 0)), ((-9, 0, 0), (0, 0, 0)),
                                ((0, 0, 1.5), (0, 0, 0)), 3]}),
    "rev": (shape.rev, {"operand": X, "dimensions": (0,)}, {"dimensions": [*AXES, (-1,)]}),
    "iota": (shape.iota, {"dtype": i32, "size": 3}, {"dtype": [*DTYPE, bool], "size": SIZE}),
    "broadcasted_iota": (shape.broadcasted_iota, {"dtype": i32, "shape": (2, 3), "dimension": 1},
                         {"dtype": [*DTYPE, bool], "shape": SHAPE, "dimension": PLAIN_AXIS}),
    "split": (shape.split, {"operand": X, "sizes": (1, 3), "axis": 1},
              {"sizes": [(1, 2), (5, -1), (1, 1.5), 3, ("x",)], "axis": AXIS}),
    "collapse": (shape.collapse, {"operand": X, "start_dimension": 0, "stop_dimension": 2},
                 {"start_dimension": ["x", 1.5], "stop_dimension": ["x", 1.5]}),
    "tile": (shape.tile, {"operand": X, "reps": (2, 1)}, {"reps": [(2,), (2, -1), (2, 1.5), 3]}),
    "full": (shape.full, {"shape": (2, 3), "fill_value": 1.0, "dtype": f32},
             {"shape": SHAPE, "fill_value": [V, "x", 1j], "dtype": DTYPE}),
    "full_like": (shape.full_like, {"x": X, "fill_value": 1.0, "dtype": f32, "shape": (2,)},
                  {"x": [], "fill_value": [V, "x", 1j], "dtype": DTYPE, "shape": SHAPE}),
    "stack": (stacking.stack, {"operands": [X, X], "axis": 1}, {"operands": [[], [X, V], [X, X.astype(i32)], [X, "x"]], "axis": AXIS}),
    "unstack": (stacking.unstack, {"x": X, "axis": 1}, {"axis": AXIS}),
}

INDEXING = {
    "slice": (slicing.slice, {"operand": X, "start_indices": (0, 1), "limit_indices": (3, 4), "strides": (1, 2)},
              {"start_indices": [(0,), (-1, 0), (5, 1), (0, 1.5), 3], "limit_indices": [(3,), (3, 9), (3, 0), (3, 1.5), "x"],
               "strides": [(1,), (1, 0), (1, 1.5)]}),
    "slice_in_dim": (slicing.slice_in_dim, {"operand": X, "start_index": 0, "limit_index": 2, "stride": 1, "axis": 0},
                     {"start_index": INTEGER, "limit_index": INTEGER, "stride": [0, *INTEGER], "axis": AXIS}),
    "index_in_dim": (slicing.index_in_dim, {"operand": X, "index": 1, "axis": 0}, {"index": [9, -9, *INTEGER], "axis": AXIS}),
    "dynamic_slice": (slicing.dynamic_slice, {"operand": X, "start_indices": (i32(0), i32(1)), "slice_sizes": (2, 2)},
                      {"start_indices": [(i32(0),), (f32(0), f32(1)), (N, N), ("x", 0)],
                       "slice_sizes": [(2,), (2, 9), (2, -1), (2, 1.5), "x"]}),
    "dynamic_update_slice": (slicing.dynamic_update_slice, {"operand": X, "update": X[:2], "start_indices": (i32(0), i32(1))},
                             {"update": [V, np.ones((9, 1), f32), X.astype(i32)],
                              "start_indices": [(i32(0),), (f32(0), f32(1)), (N, N), ("x", 0)]}),
    "dynamic_slice_in_dim": (slicing.dynamic_slice_in_dim, {"operand": X, "start_index": i32(0), "slice_size": 2, "axis": 0},
                             {"slice_size": INTEGER, "axis": AXIS}),
    "dynamic_index_in_dim": (slicing.dynamic_index_in_dim, {"operand": X, "index": i32(0), "axis": 0}, {"axis": AXIS}),
    "dynamic_update_slice_in_dim": (slicing.dynamic_update_slice_in_dim,
                                    {"operand": X, "update": X[:2], "start_index": i32(0), "axis": 0}, {"axis": AXIS}),
    "dynamic_update_index_in_dim": (slicing.dynamic_update_index_in_dim, {"operand": X, "update": V, "index": i32(0), "axis": 0},
                                    {"update": [ONE[None, None, None]], "axis": AXIS}),
    "gather": (indexing.gather, {"operand": X, "start_indices": ROWS, "dimension_numbers": GATHER, "slice_sizes": (1, 4)},
               {"start_indices": WRONG_INDICES, "dimension_numbers": NUMBERS, "slice_sizes": [(1,), (1, 9), (2, 4), (1, 1.5), "x"]}),
    "scatter_apply": (indexing.scatter_apply, {"operand": X, "scatter_indices": ROWS, "func": lambda x: op.mul(x, 2.0),
                                               "dimension_numbers": SCATTER, "update_shape": (2, 4)},
                      {"func": [lambda x: op.lt(x, 0.0), lambda x: op.convert_element_type(x, i32)], "update_shape": [(2, 1.5)]}),
    "index_take": (indexing.index_take, {"src": X, "idxs": (np.array([0, 2]),), "axes": (0,)}, {"axes": [(9,), ("x",)]}),
} | {
    name: (getattr(indexing, name.replace("-", "_")),
           {"operand": X, "scatter_indices": ROWS, "updates": X[:2], "dimension_numbers": SCATTER},
           {"scatter_indices": WRONG_INDICES, "updates": [V, X[:2].astype(i32), np.ones((3, 4), f32)],
            "dimension_numbers": SCATTER_NUMBERS})
    for name in ("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max")
}

SORTING = {
    "sort": (sorting.sort, {"operand": [X, X], "dimension": 1, "num_keys": 1},
             {"operand": [[], [X, V], "x"], "dimension": AXIS, "num_keys": [0, 3, *INTEGER]}),
    "sort_key_val": (sorting.sort_key_val, {"keys": X, "values": X, "dimension": 1}, {"values": [V], "dimension": AXIS}),
    "top_k": (sorting.top_k, {"operand": X, "k": 2, "axis": 1}, {"operand": [X * 1j, ONE], "k": [-1, 5, *INTEGER], "axis": AXIS}),
    **{name: (getattr(sorting, name), {"operand": X, "k": 2, "reduction_dimension": 1, "recall_target": 0.9,
                                       "reduction_input_size_override": -1},
              {"operand": [N, ONE], "k": [0, 5, *INTEGER], "reduction_dimension": AXIS, "recall_target": [0.0, 1.5, "x"],
               "reduction_input_size_override": [2, *INTEGER]}) for name in ("approx_max_k", "approx_min_k")},
}

REDUCTIONS = {
    **{f"reduce_{name}": (getattr(reduction, f"reduce_{name}"), {"operand": X, "axes": (0,)}, {"axes": [*AXES, (-1,)]})
       for name in ("sum", "prod", "max", "min")},
    **{f"reduce_{name}": (getattr(reduction, f"reduce_{name}"), {"operand": N, "axes": (0,)}, {"operand": [X], "axes": [*AXES, (-1,)]})
       for name in ("and", "or", "xor")},
    **{name: (getattr(reduction, name), {"operand": X, "axis": 0, "index_dtype": i32},
              {"operand": [X * 1j, X[:0]], "axis": PLAIN_AXIS, "index_dtype": [*DTYPE, f32]}) for name in ("argmax", "argmin")},
    "reduce": (reduction.reduce, {"operands": X, "init_values": ONE, "computation": lambda a, b: op.max(a, b), "dimensions": (0,)},
               {"init_values": [V, i32(1), (ONE, ONE)], "computation": [3, lambda a, b: op.lt(a, b)], "dimensions": AXES}),
}

CUMULATIVE = {
    **{name: (getattr(cumulative, name), {"operand": X, "axis": 0}, {"operand": [X > 0, "x"], "axis": PLAIN_AXIS})
       for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")},
    "associative_scan": (cumulative.associative_scan, {"fn": op.add, "elems": X, "axis": 0},
                         {"fn": CALLABLE, "elems": [(), (X, V), "x"], "axis": AXIS}),
}

WINDOWS = {
    "reduce_window": (windows.reduce_window,
                      {"operand": X, "init_value": f32(0), "computation": op.add, "window_dimensions": (2, 2), "window_strides": (1, 1),
                       "padding": "VALID", "base_dilation": (1, 1), "window_dilation": (1, 1)},
                      WINDOW | {"init_value": [V, i32(1)], "computation": [3], "base_dilation": DILATION, "window_dilation": DILATION}),
    "select_and_scatter": (windows.select_and_scatter,
                           {"operand": X, "select": op.ge, "window_dimensions": (2, 2), "window_strides": (1, 1),
                            "padding": ((0, 0), (0, 0)), "source": X[:2, :3], "init_value": f32(0), "scatter": op.add},
                           WINDOW | {"select": [3, op.add], "source": [X, X[:2, :3].astype(i32)], "init_value": [V, i32(0)],
                                     "scatter": [3, op.ge]}),
    "select_and_scatter_add": (windows.select_and_scatter_add,
                               {"source": X[:2, :3], "operand": X, "select_prim": op.ge_p, "window_dimensions": (2, 2),
                                "window_strides": (1, 1), "padding": ((0, 0), (0, 0))},
                               WINDOW | {"source": [X, X[:2, :3].astype(i32)], "select_prim": [op.add_p, "x"]}),
    "select_and_gather_add": (windows.select_and_gather_add,
                              {"tangents": X, "operand": X, "select_prim": op.ge_p, "window_dimensions": (2, 2),
                               "window_strides": (1, 1), "padding": ((0, 0), (0, 0)), "base_dilation": (1, 1), "window_dilation": (1, 1)},
                              WINDOW | {"tangents": [V, X.astype(i32)], "select_prim": [op.add_p, "x"], "base_dilation": DILATION,
                                        "window_dilation": DILATION}),
}

RIGHT = SHAPES | INDEXING | SORTING | REDUCTIONS | CUMULATIVE | WINDOWS

# Functions of these modules that are no operations on arrays: they serve operations, or take what has a shape and no values.
HELPERS = {
    shape: set(),
    slicing: {"wrapped_index"},
    indexing: {"scatter_window", "default_fill_value"},
    reduction: {"reduced_shape", "split_operands", "check_monoid", "special_monoid", "identity", "least", "greatest"},
    cumulative: {"scan_associatively"}, windows: set(), sorting: set(), stacking: set(),
}


@pytest.mark.parametrize("name", MODULES[__name__.rpartition(".")[2]])
def test_every_operation_has_wrong_calls(name):
    (module,) = [module for module in HELPERS if module.__name__ == f"laminax_ir.ops.{name}"]
    has_all_operations(module, RIGHT, HELPERS[module])


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_calls_are_right(name):
    is_accepted(*RIGHT[name][:2])


@pytest.mark.parametrize("name, function, arguments, key, bad", wrong_calls(RIGHT))
def test_wrong_calls_are_refused(name, function, arguments, key, bad):
    is_refused(name, function, arguments, key, bad)
