"""laminax.lax: the operations that everything else is made of.

They follow XLA closely: no promotion of dtypes between arrays and no broadcasting of ranks; `laminax.numpy` has the
NumPy-like functions on top. This module is a table of contents; a name's module is imported when the name is first used.
Primitives (`sin_p`, `scan_p`, ...) are found here under their own names too.
"""

from __future__ import annotations

import importlib
from typing import Any

_NAMES = {
    "laminax_ir.types.accuracy": "AccuracyMode Tolerance",
    "laminax_ir.ops.elementwise": """
        RoundingMethod abs acos acosh add asin asinh atan atan2 atanh bitcast_convert_type bitwise_and bitwise_not bitwise_or
        bitwise_xor cbrt ceil clamp clz complex conj convert_element_type copy cos cosh div eq exp exp2 expm1 floor ge gt imag
        integer_pow is_finite le log log1p log2 logistic lt max min mul mulhi ne neg nextafter one_minus_square population_count
        pow real reduce_precision rem round rsqrt select select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt
        square sub tan tanh""",
    "laminax_ir.ops.polynomial": "polynomial",
    "laminax_ir.ops.special": """
        bessel_i0e bessel_i1e betainc digamma erf erf_inv erfc igamma igamma_grad_a igammac lgamma polygamma random_gamma_grad
        zeta""",
    "laminax_ir.ops.contraction": """
        DotDimensionNumbers Precision PrecisionLike RaggedDotDimensionNumbers batch_matmul dot dot_general ragged_dot
        ragged_dot_general""",
    "laminax_ir.types.dot_algorithms": "DotAlgorithm DotAlgorithmPreset",
    "laminax_ir.ops.scaled_dot": "scaled_dot",
    "laminax_ir.ops.reduction": """
        argmax argmin reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor""",
    "laminax_ir.ops.cumulative": "associative_scan cumlogsumexp cummax cummin cumprod cumsum",
    "laminax_ir.ops.shape": """
        broadcast broadcast_in_dim broadcast_to_rank broadcasted_iota collapse concatenate expand_dims full
        full_like iota pad reshape rev split squeeze tile transpose""",
    "laminax_ir.ops.shape_arguments": "broadcast_shapes",
    "laminax_ir.ops.stacking": "stack unstack",
    "laminax_ir.ops.indexing": """
        GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers gather index_take scatter scatter_add scatter_apply
        scatter_max scatter_min scatter_mul scatter_sub""",
    "laminax_ir.ops.slicing": """
        dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim dynamic_update_slice
        dynamic_update_slice_in_dim index_in_dim slice slice_in_dim""",
    "laminax_ir.ops.convolution": """
        ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv conv_dimension_numbers conv_general_dilated conv_general_dilated_local
        conv_general_dilated_patches conv_transpose conv_with_general_padding padtype_to_pads""",
    "laminax_ir.ops.windows": "reduce_window",
    "laminax_ir.ops.shape_tuples": """
        conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple
        reduce_window_shape_tuple""",
    "laminax_ir.ops.sorting": "approx_max_k approx_min_k sort sort_key_val top_k",
    "laminax_ir.ops.fft": "FftType fft",
    "laminax_ir.ops.random_bits": "RandomAlgorithm rng_bit_generator rng_uniform",
    "laminax_ir.ops.control_flow": "cond platform_dependent switch",
    "laminax_ir.ops.loops": "fori_loop scan while_loop",
    "laminax_ir.ops.collectives": """
        all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute pshuffle psum psum_scatter pswapaxes""",
    "laminax_ir.ops.linear_solve": "",
    "laminax_ir.ops.composite": "composite",
    "laminax_ir.ops.hints": "dce_sink stage",
    "laminax_ir.ops.sharding": "",
    "laminax._src.parallel.sharding_constraints": "with_sharding_constraint",
    "laminax_ir.ops.derived": "broadcast_like dtype empty optimization_barrier reciprocal",
    "laminax_ir.ops.symbolic": "shape_as_value",
    "laminax_ir.ops.refused": "precv psend ragged_all_to_all",
    "laminax_ir.ops.tokens": "after_all create_token",
    "laminax_transforms.custom.rule_arguments": "stop_gradient",
    "laminax_transforms.custom.custom_solve": "custom_linear_solve custom_root",
    "laminax_transforms.batching.mapping": "map",
}

_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted([*_MODULE_OF, "linalg"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name == "linalg":
        return importlib.import_module(f"{__name__}.linalg")
    module = _MODULE_OF.get(name)
    if module is None:
        module = _module_of_primitive(name) if name.endswith("_p") else None
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("laminax._src")  # puts the layers together
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def _module_of_primitive(name: str) -> str | None:
    """The module that defines a primitive of this name, `sin_p`."""
    for module in _NAMES:
        if module.startswith("laminax_ir.ops.") and hasattr(importlib.import_module(module), name):
            return module
    return None


def __dir__() -> list[str]:
    return __all__
