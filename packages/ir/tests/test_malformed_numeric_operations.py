"""Every operation on numbers refuses wrong arguments by an error that names it and shows what was wrong: elementwise and special
functions, contractions, convolutions, Fourier transforms and linear algebra. Which combinations of right arguments do not fit is
in each family's file, and which dtypes each elementwise operation takes in the drawn tests.
"""

from __future__ import annotations

import numpy as np
import pytest
from malformed import DTYPE, INTEGER, MODULES, has_all_operations, is_accepted, is_refused, wrong_calls

from laminax_ir.ops import contraction, convolution, derived, fft, linalg, orthogonal, polar, polynomial, scaled_dot, special
from laminax_ir.ops import elementwise as op

f32, i32 = np.float32, np.int32
X, N, B, Z = np.full((3, 4), 0.5, f32), np.full((3, 4), 2, i32), np.ones((3, 4), bool), np.full((3, 4), 1 + 1j, np.complex64)
OTHER = np.ones((2, 4), f32)  # fits neither
FLOAT_ONLY = [N, B]

UNARY = {
    **{name: (X, FLOAT_ONLY) for name in (
        "exp", "exp2", "expm1", "log", "log1p", "log2", "logistic", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "floor", "ceil", "round", "is_finite")},
    **{name: (X, [B]) for name in ("neg", "sign", "abs", "square", "one_minus_square")},
    "real": (Z, [X, N]), "imag": (Z, [X, N]), "conj": (X, FLOAT_ONLY),
    **{name: (N, [X, B]) for name in ("population_count", "clz")}, "bitwise_not": (N, [X, Z]), "copy": (X, []),
    "stop_gradient_one": (X, []),
}
PAIRS = {
    **{name: (X, [B[:, :1], N, OTHER]) for name in ("add", "sub", "mul", "div", "atan2", "nextafter", "rem", "max", "min", "lt", "le",
                                                   "gt", "ge", "eq", "ne", "eq_to", "lt_to", "le_to", "complex")},
    "pow": (X, [B, OTHER, Z]),
    **{name: (N, [X, OTHER.astype(i32), N.astype(np.int8)]) for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right_arithmetic", "shift_right_logical", "mulhi")},
}
ELEMENTWISE = {
    **{name: (getattr(op, name), {"*x": x}, {"*x": [*bad, "no array", object]}) for name, (x, bad) in UNARY.items()},
    **{name: (getattr(op, name), {"*x": x, "*y": x}, {"*x": ["no array", object], "*y": [*bad, "no array", object]})
       for name, (x, bad) in PAIRS.items()},
    "integer_pow": (op.integer_pow, {"x": N, "y": 2}, {"x": [B, "no array"], "y": [-1, *INTEGER]}),
    "select_n": (op.select_n, {"*which": B, "*case": X, "*other": X}, {"*which": [X, B[0], "no array"],
                                                                        "*other": [OTHER, N, "no array"]}),
    "select": (op.select, {"pred": B, "on_true": X, "on_false": X}, {"pred": [B[0], X], "on_true": [OTHER, N]}),
    "clamp": (op.clamp, {"min": f32(0), "x": X, "max": f32(1)}, {"min": [X[0], i32(0)], "max": [OTHER, "no array"], "x": [Z]}),
    "convert_element_type": (op.convert_element_type, {"operand": X, "new_dtype": i32}, {"new_dtype": DTYPE}),
    "bitcast_convert_type": (op.bitcast_convert_type, {"operand": X, "new_dtype": i32},
                             {"operand": [B, Z], "new_dtype": [*DTYPE, bool, np.complex64]}),
    "reduce_precision": (op.reduce_precision, {"operand": X, "exponent_bits": 5, "mantissa_bits": 10},
                         {"operand": [N, Z], "exponent_bits": [0, *INTEGER], "mantissa_bits": [-1, *INTEGER]}),
    "optimization_barrier_flat": (op.optimization_barrier_flat, {"*operand": X}, {"*operand": ["no array"]}),
}

SPECIAL = {
    **{name: (getattr(special, name), {"x": X}, {"x": [N, Z, "no array"]})
       for name in ("erf", "erfc", "erf_inv", "lgamma", "digamma", "bessel_i0e", "bessel_i1e")},
    **{name: (getattr(special, name), {"a": X, "x": X}, {"a": [N, "no array"], "x": [OTHER, N]})
       for name in ("igamma", "igammac", "igamma_grad_a", "random_gamma_grad")},
    "polygamma": (special.polygamma, {"m": X * 2, "x": X}, {"m": [N, "no array"], "x": [OTHER, N]}),
    "zeta": (special.zeta, {"x": X + 2, "q": X}, {"x": [N, "no array"], "q": [OTHER, N]}),
    "betainc": (special.betainc, {"a": X, "b": X, "x": X}, {"a": [N, "no array"], "b": [OTHER], "x": [OTHER, N]}),
}

L, R = np.ones((2, 3, 4), f32), np.ones((2, 4, 5), f32)
NUMBERS = (((2,), (1,)), ((0,), (0,)))
WRONG_NUMBERS = [(((2, 1), (1,)), ((0,), (0,))), (((9,), (1,)), ((0,), (0,))), (((2, 2), (1, 1)), ((), ())), (((2,), (1,)), ((2,), (0,))),
                 (((2,), (2,)), ((0,), (0,))), ((2,), (1,)), (((2.5,), (1,)), ((0,), (0,))), "x"]
RAGGED = contraction.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
CONTRACTION = {
    "dot_general": (contraction.dot_general, {"lhs": L, "rhs": R, "dimension_numbers": NUMBERS, "precision": "high",
                                              "preferred_element_type": f32},
                    {"dimension_numbers": WRONG_NUMBERS, "precision": ["exact", 3, ("high",) * 3], "preferred_element_type": DTYPE}),
    "dot": (contraction.dot, {"lhs": X, "rhs": X.T, "precision": "high"}, {"lhs": [L], "rhs": [X], "precision": ["exact"]}),
    "batch_matmul": (contraction.batch_matmul, {"lhs": L, "rhs": R}, {"lhs": [L[0], f32(1)], "rhs": [L, "no array"]}),
    "ragged_dot": (contraction.ragged_dot, {"lhs": L[0], "rhs": R, "group_sizes": np.ones(2, i32)},
                   {"lhs": [L], "rhs": [X], "group_sizes": [np.ones(2, f32), np.ones(3, i32), "no array"]}),
    "ragged_dot_general": (contraction.ragged_dot_general,
                           {"lhs": L[0], "rhs": R, "group_sizes": np.ones(2, i32), "ragged_dot_dimension_numbers": RAGGED},
                           {"group_sizes": [np.ones(2, f32), np.ones(3, i32)],
                            "ragged_dot_dimension_numbers": [RAGGED._replace(lhs_ragged_dimensions=(9,)), RAGGED._replace(
                                rhs_group_dimensions=(7,))]}),
    "scaled_dot": (scaled_dot.scaled_dot, {"lhs": L, "rhs": R, "lhs_scale": np.ones((2, 3, 2), f32), "preferred_element_type": f32},
                   {"lhs": [L[0], L.astype(i32)], "rhs": [L], "lhs_scale": [np.ones((2, 3, 3), f32), np.ones(3, f32)],
                    "preferred_element_type": DTYPE}),
}

IMAGE, KERNEL = np.ones((1, 2, 6, 6), f32), np.ones((4, 2, 3, 3), f32)
PADDING = ["FOO", [(0, 0)], [(0, 0), (0, 1.5)], 3]
PER_AXIS = [(1,), (1, 0), (1, 1.5)]
CONVOLUTION = {
    "conv_general_dilated": (convolution.conv_general_dilated,
                             {"lhs": IMAGE, "rhs": KERNEL, "window_strides": (1, 1), "padding": "SAME", "lhs_dilation": (1, 1),
                              "rhs_dilation": (1, 1), "dimension_numbers": None, "feature_group_count": 1, "batch_group_count": 1},
                             {"lhs": [IMAGE[0], IMAGE[:, :1], IMAGE.astype(i32)], "rhs": [KERNEL[0], "no array"],
                              "window_strides": PER_AXIS, "padding": PADDING, "lhs_dilation": PER_AXIS, "rhs_dilation": PER_AXIS,
                              "dimension_numbers": [("NCHW", "OIHW"), ("NCHW", "OIHW", "NCXX"), "x"],
                              "feature_group_count": [0, 3, *INTEGER], "batch_group_count": [0, 3, *INTEGER]}),
    "conv": (convolution.conv, {"lhs": IMAGE, "rhs": KERNEL, "window_strides": (1, 1), "padding": "SAME"},
             {"lhs": [IMAGE[0]], "window_strides": PER_AXIS, "padding": ["FOO"]}),
    "conv_with_general_padding": (convolution.conv_with_general_padding,
                                  {"lhs": IMAGE, "rhs": KERNEL, "window_strides": (1, 1), "padding": "SAME", "lhs_dilation": (1, 1),
                                   "rhs_dilation": (1, 1)}, {"lhs": [IMAGE[0]], "window_strides": PER_AXIS, "padding": PADDING}),
    "conv_transpose": (convolution.conv_transpose, {"lhs": np.ones((1, 6, 2), f32), "rhs": np.ones((3, 2, 4), f32), "strides": (2,),
                                                    "padding": "SAME"},
                       {"lhs": [X[0], np.ones((1, 6, 3), f32)], "strides": [(2, 2), (0,), (1.5,)], "padding": ["FOO", 3]}),
    "conv_general_dilated_patches": (convolution.conv_general_dilated_patches,
                                     {"lhs": IMAGE, "filter_shape": (2, 2), "window_strides": (1, 1), "padding": "VALID"},
                                     {"filter_shape": [(2,), (2, 1.5)], "window_strides": PER_AXIS, "padding": ["FOO"]}),
    "conv_general_dilated_local": (convolution.conv_general_dilated_local,
                                   {"lhs": np.ones((1, 2, 5), f32), "rhs": np.ones((3, 4, 4), f32), "window_strides": (1,),
                                    "padding": "VALID", "filter_shape": (2,)},
                                   {"window_strides": [(1, 1), (0,)], "padding": ["FOO"], "filter_shape": [(2, 2), (1.5,)]}),
    "conv_dimension_numbers": (convolution.conv_dimension_numbers, {"lhs_shape": (1, 2, 6), "rhs_shape": (3, 2, 2),
                                                                    "dimension_numbers": ("NCH", "OIH", "NCH")},
                               {"lhs_shape": [(1, 2)], "rhs_shape": [(3, 2, 2, 2)],
                                "dimension_numbers": [("NCH", "OIH"), ("NCH", "OIH", "NCX"), ("NNH", "OIH", "NCH"), 3]}),
}

FFT = {
    "fft": (fft.fft, {"x": Z, "fft_type": "FFT", "fft_lengths": (4,)},
            {"fft_type": ["DFT", 7, None], "fft_lengths": [(5,), (3, 4, 4), (1.5,), ("x",)]}),
}

A, SQUARE, VECTOR = np.ones((4, 3), f32), np.eye(3, dtype=f32), np.ones(3, f32)
NOT_SQUARE = [A, VECTOR, SQUARE.astype(i32), SQUARE.astype(np.float16)]
NO_MATRIX = [VECTOR, A.astype(i32)]
LINALG = {
    **{name: (getattr(linalg, name), {"x": SQUARE}, {"x": [*NOT_SQUARE, "no array"]}) for name in ("cholesky", "eigh", "eig", "schur")},
    "hessenberg": (linalg.hessenberg, {"a": SQUARE}, {"a": [*NOT_SQUARE, "no array"]}),
    **{name: (getattr(linalg, name), {"x": A}, {"x": [*NO_MATRIX, "no array"]}) for name in ("lu", "qr", "svd")},
    "geqrf": (linalg.geqrf, {"a": A}, {"a": [*NO_MATRIX, "no array"]}),
    "householder_product": (linalg.householder_product, {"a": A, "taus": VECTOR},
                            {"a": [*NO_MATRIX, A.T], "taus": [np.ones(4, f32), A, np.ones(3, i32)]}),
    "lu_pivots_to_permutation": (linalg.lu_pivots_to_permutation, {"pivots": np.arange(3, dtype=i32), "permutation_size": 4},
                                 {"pivots": [VECTOR, i32(1)], "permutation_size": [2, *INTEGER]}),
    "triangular_solve": (linalg.triangular_solve, {"a": SQUARE, "b": A}, {"a": NOT_SQUARE, "b": [A.T, SQUARE.astype(np.complex64)]}),
    "tridiagonal_solve": (linalg.tridiagonal_solve, {"dl": VECTOR, "d": VECTOR, "du": VECTOR, "b": A[:3]},
                          {"dl": [np.ones(4, f32)], "d": [VECTOR.astype(i32)], "b": [A, VECTOR]}),
    "symmetric_product": (linalg.symmetric_product, {"a_matrix": A, "c_matrix": np.eye(4, dtype=f32)},
                          {"a_matrix": NO_MATRIX, "c_matrix": [SQUARE, A]}),
    "ormqr": (orthogonal.ormqr, {"a": A, "taus": VECTOR, "c": A}, {"a": NO_MATRIX, "taus": [np.ones(4, f32), A], "c": [SQUARE, VECTOR]}),
    "tridiagonal": (orthogonal.tridiagonal, {"a": SQUARE}, {"a": [*NOT_SQUARE, SQUARE[:0, :0]]}),
    "cholesky_update": (orthogonal.cholesky_update, {"r_matrix": SQUARE, "w_vector": VECTOR},
                        {"r_matrix": [*NOT_SQUARE, SQUARE.astype(np.complex64)], "w_vector": [np.ones(4, f32), SQUARE]}),
    "qdwh": (polar.qdwh, {"x": A}, {"x": [*NO_MATRIX, "no array"]}),
}

DERIVED = {
    "reciprocal": (derived.reciprocal, {"x": X}, {"x": [N, B]}),
    "empty": (derived.empty, {"shape": (2,), "dtype": f32}, {"shape": [(-1,), (1.5,)], "dtype": DTYPE}),
    "broadcast_like": (derived.broadcast_like, {"arr": X, "like_arr": X[None]}, {"arr": [OTHER], "like_arr": [X[0]]}),
    "optimization_barrier": (lambda operand: derived.optimization_barrier(operand), {"operand": X}, {"operand": ["no array"]}),
    "dtype": (derived.dtype, {"x": X}, {"x": [object()]}),
}

POLYNOMIAL = {
    "polynomial": (polynomial.polynomial, {"x": X, "coeffs": [X, f32(2), 3], "unroll": 2},
                   {"x": [B, X[0], OTHER, "no array", object], "coeffs": ["x", [X, OTHER], [OTHER], [X, X[0]], [1, 2, "x"], [1, object]],
                    "unroll": [0, -1, *INTEGER]}),
}

RIGHT = ELEMENTWISE | SPECIAL | CONTRACTION | CONVOLUTION | FFT | LINALG | POLYNOMIAL | DERIVED
HELPERS = {
    op: {"in_exact_dtype"}, special: set(),
    contraction: {"canonicalize_precision", "refuse_out_sharding", "free_axes", "contraction_dtype",
                  "canonicalize_dot_dimension_numbers", "canonical_preferred", "outer_ragged_axes", "dot_general_shape"},
    scaled_dot: {"scaled_product"}, fft: set(), orthogonal: set(), polar: set(), polynomial: set(), derived: {"optimization_barrier"},
    convolution: {"dilated", "windows_along", "padtype_to_pads", "canonical_pads", "check_per_axis", "int_tuple", "transposed_pads"},
    linalg: {"check_all_singular_values", "adjoint", "swap_last", "matmul", "triangle", "symmetrize"},
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
