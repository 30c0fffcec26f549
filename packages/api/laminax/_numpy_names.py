"""Which module of the numerics has which name of `laminax.numpy`.

The public module is a table of contents by it, and so is the namespace that the numerics above NumPy's functions use.
"""

from __future__ import annotations

import math

MODULES = {
    "array_api": "__array_api_version__ __array_namespace_info__",
    "conversion": "array asarray astype copy from_dlpack frombuffer fromfile fromiter fromstring",
    "creation": "empty empty_like eye full full_like identity ones ones_like zeros zeros_like",
    "ranges": "arange fromfunction geomspace indices linspace logspace meshgrid",
    "elementary": """acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cbrt conj conjugate cos
        cosh deg2rad degrees exp exp2 expm1 imag log log10 log1p log2 rad2deg radians real reciprocal sin sinc sinh sqrt tan
        tanh""",
    "rounding": "abs absolute around ceil fabs fix floor negative positive rint round sign square trunc",
    "arithmetic": """add arctan2 atan2 divide divmod float_power floor_divide fmax fmin fmod gcd heaviside hypot lcm maximum
        minimum mod multiply pow power remainder subtract true_divide""",
    "logarithmic_sums": "logaddexp logaddexp2",
    "float_parts": "copysign frexp ldexp modf nextafter spacing",
    "logic": """allclose array_equal array_equiv bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or
        bitwise_right_shift bitwise_xor equal greater greater_equal invert isclose iscomplex iscomplexobj isfinite isinf isnan
        isneginf isposinf isreal isrealobj isscalar left_shift less less_equal logical_and logical_not logical_or logical_xor
        not_equal right_shift signbit""",
    "selection": "choose clip nan_to_num piecewise select where",
    "reductions": "all amax amin any argmax argmin count_nonzero max min minmax prod ptp sum",
    "averages": "average mean std var",
    "nan_reductions": "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar",
    "cumulative": "cumprod cumsum cumulative_prod cumulative_sum nancumprod nancumsum",
    "reshaping": """atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to expand_dims flip fliplr
        flipud matrix_transpose moveaxis ndim permute_dims ravel reshape rollaxis rot90 shape size squeeze swapaxes
        transpose""",
    "joining": """append array_split block column_stack concat concatenate dsplit dstack hsplit hstack split stack unstack
        vsplit vstack""",
    "repeating": "repeat resize roll tile trim_zeros",
    "padding": "pad",
    "taking": "take take_along_axis",
    "placing": "place put put_along_axis",
    "matrix_products": "cross dot inner kron matmul matvec outer tensordot vdot vecdot vecmat",
    "diagonals": """diag diag_indices diag_indices_from diagflat diagonal fill_diagonal mask_indices trace tri tril tril_indices
        tril_indices_from triu triu_indices triu_indices_from vander""",
    "einsum": "einsum einsum_path",
    "sorting": "argpartition argsort lexsort partition sort sort_complex top_k",
    "finding": "argwhere compress extract flatnonzero nonzero",
    "searching": "digitize searchsorted",
    "set_ops": """intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse unique_values""",
    "covariance": "corrcoef cov",
    "histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "differences": "diff ediff1d gradient interp trapezoid unwrap",
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "signals": "bartlett blackman convolve correlate hamming hanning i0 kaiser",
    "polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "apply": "apply_along_axis apply_over_axes vectorize",
    "ufunc": "frompyfunc ufunc",
    "index_tricks": """c_ delete index_exp insert ix_ mgrid ogrid r_ ravel_multi_index s_ unravel_index""",
    "bits": "packbits unpackbits",
    "scalar_types": """bfloat16 bool bool_ can_cast cdouble character complex128 complex64 complex_ complexfloating csingle double dtype
        finfo flexible float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3
        float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float_ floating generic iinfo
        inexact int1 int16 int2 int32 int4 int64 int8 int_ integer isdtype issubdtype number object_ promote_types result_type
        signedinteger single uint uint1 uint16 uint2 uint32 uint4 uint64 uint8 unsignedinteger""",
    "files": "array_repr array_str get_printoptions iterable load printoptions save savez set_printoptions",
}

MODULE_OF = {name: module for module, names in MODULES.items() for name in names.split()}
CONSTANTS = {"e": math.e, "euler_gamma": 0.5772156649015329, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}
