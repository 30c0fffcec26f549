"""Every public numeric function under strict promotion and under rank promotion "raise": plain arguments of one dtype and one rank.

The modes say what the user may mix. What our functions mix inside, numbers with arrays or vectors with matrices, must not raise. For each
public function plain arguments are looked for that it takes under the ordinary modes; it must take them under the others as well. A
function for which none are found needs a line in CALLS, or in NOT_CALLED with its reason, so the list is complete by construction.
"""

import importlib
import inspect
import types

import numpy as np
import pytest

from laminax_ir.types.promotion import TypePromotionError

import laminax
import laminax.numpy as jnp
import laminax.scipy.stats as stats
from laminax import lax
from laminax.scipy import linalg, ndimage, special

MODULES = ["numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.fft", "scipy.signal", "scipy.ndimage",
           "scipy.interpolate", "scipy.integrate", "scipy.cluster.vq", "nn", "lax", "lax.linalg"]
V = np.linspace(0.1, 0.9, 4, dtype=np.float32)
M = (np.eye(4) * 2 + 0.1).astype(np.float32)
I, B, S = np.arange(4, dtype=np.int32), np.arange(4) > 1, np.float32(0.5)
C, U, N = V.astype(np.complex64), np.arange(4, dtype=np.uint32), np.ones((4, 4), np.int32)

CANDIDATES = [
    (V,), (M,), (I,), (B,), (C,), (S,), (N,), (U,), (V, V), (M, M), (I, I), (B, B), (C, C), (U, U), (V, S), (V, 1), (2, V), (M, 1), (I, 1),
    ((V, V),), ([M, M],),
    (V, V, V), (I, I, I), (M, M, M), (V, V, V, V), (V, S, S), (S, S, V), (V, 0, 1), (M, 0, 1), (V, 1, 2), ((4,),), (4,),
    (V, (2, 2)), (M, (0, 1)), (M, (0,)), (V, (0,)), (M, (1, 0)), (V, 2, 2.0), ("i,i", V, V), (2, 3, 4), (V, jnp.float32),
]

DIMS = lax.ScatterDimensionNumbers((), (0,), (0,))
IMAGE, KERNEL = np.ones((1, 1, 8, 8), np.float32), np.ones((1, 1, 3, 3), np.float32)
CALLS = {  # calls of functions that take none of the candidates
    "numpy.apply_along_axis": lambda: jnp.apply_along_axis(jnp.sort, 0, M),
    "numpy.apply_over_axes": lambda: jnp.apply_over_axes(jnp.sum, M, [0]),
    "numpy.broadcast_to": lambda: jnp.broadcast_to(V, (2, 4)), "lax.empty": lambda: lax.empty((2, 2), np.float32),
    "lax.linalg.cholesky_update": lambda: lax.linalg.cholesky_update(M, V),
    "lax.iota": lambda: lax.iota(np.float32, 4), "numpy.roots": lambda: jnp.roots(V, strip_zeros=False),
    "lax.linalg.householder_product": lambda: lax.linalg.householder_product(M, V),
    "numpy.linalg.tensorsolve": lambda: jnp.linalg.tensorsolve(M, V),
    "numpy.cross": lambda: jnp.cross(V[:3], V[:3]), "numpy.linalg.cross": lambda: jnp.linalg.cross(V[:3], V[:3]),
    "numpy.dsplit": lambda: jnp.dsplit(np.ones((2, 2, 4), np.float32), 2),
    "numpy.fill_diagonal": lambda: jnp.fill_diagonal(M, S, inplace=False),
    "numpy.fromfunction": lambda: jnp.fromfunction(lambda i, j: i + j, (2, 2)),
    "numpy.full": lambda: jnp.full((2, 2), S), "lax.full": lambda: lax.full((2, 2), S), "numpy.kaiser": lambda: jnp.kaiser(4, 0.5),
    "numpy.mask_indices": lambda: jnp.mask_indices(3, jnp.triu), "numpy.place": lambda: jnp.place(V, B, V, inplace=False),
    "numpy.polyfit": lambda: jnp.polyfit(V, V, 2), "numpy.put": lambda: jnp.put(V, I, V, inplace=False),
    "numpy.put_along_axis": lambda: jnp.put_along_axis(V, I, V, 0, inplace=False),
    "numpy.ravel_multi_index": lambda: jnp.ravel_multi_index((I, I), (4, 4)), "numpy.union1d": lambda: jnp.union1d(V, V),
    "numpy.unique": lambda: jnp.unique(V, return_inverse=True), "numpy.unique_all": lambda: jnp.unique_all(V),
    "numpy.unique_counts": lambda: jnp.unique_counts(V), "numpy.unique_inverse": lambda: jnp.unique_inverse(V),
    "numpy.unique_values": lambda: jnp.unique_values(V), "numpy.unpackbits": lambda: jnp.unpackbits(np.ones(4, np.uint8)),
    "numpy.vectorize": lambda: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(V, V),
    "scipy.special.bessel_jn": lambda: special.bessel_jn(V, v=3),
    "scipy.special.sph_harm_y": lambda: special.sph_harm_y(I, I, V, V, n_max=4),
    "scipy.linalg.cho_solve": lambda: linalg.cho_solve(linalg.cho_factor(M), V),
    "scipy.linalg.eigh_tridiagonal": lambda: linalg.eigh_tridiagonal(V, V[1:], eigvals_only=True),
    "scipy.linalg.funm": lambda: linalg.funm(M, jnp.exp, disp=False), "scipy.linalg.leslie": lambda: linalg.leslie(V, V[1:]),
    "scipy.linalg.lu_solve": lambda: linalg.lu_solve(linalg.lu_factor(M), V),
    "scipy.ndimage.map_coordinates": lambda: ndimage.map_coordinates(V, [V], order=1),
    "nn.dot_product_attention": lambda: laminax.nn.dot_product_attention(*[np.ones((1, 4, 2, 8), np.float32)] * 3),
    "lax.argmax": lambda: lax.argmax(V, 0, np.int32), "lax.argmin": lambda: lax.argmin(V, 0, np.int32),
    "lax.associative_scan": lambda: lax.associative_scan(lax.add, V), "lax.broadcast_in_dim": lambda: lax.broadcast_in_dim(V, (2, 4), (1,)),
    "lax.broadcasted_iota": lambda: lax.broadcasted_iota(np.int32, (2, 2), 0), "lax.concatenate": lambda: lax.concatenate([V, V], 0),
    "lax.cond": lambda: lax.cond(True, jnp.sin, jnp.cos, V), "lax.conv": lambda: lax.conv(IMAGE, KERNEL, (1, 1), "SAME"),
    "lax.conv_general_dilated": lambda: lax.conv_general_dilated(IMAGE, KERNEL, (1, 1), "SAME"),
    "lax.conv_general_dilated_local": lambda: lax.conv_general_dilated_local(IMAGE, np.ones((1, 9, 6, 6), np.float32), (1, 1), "VALID",
                                                                             (3, 3)),
    "lax.conv_general_dilated_patches": lambda: lax.conv_general_dilated_patches(IMAGE, (3, 3), (1, 1), "SAME"),
    "lax.conv_transpose": lambda: lax.conv_transpose(IMAGE.transpose(0, 2, 3, 1), KERNEL.transpose(2, 3, 0, 1), (1, 1), "SAME"),
    "lax.conv_with_general_padding": lambda: lax.conv_with_general_padding(IMAGE, KERNEL, (1, 1), "SAME", None, None),
    "lax.custom_linear_solve": lambda: lax.custom_linear_solve(lambda x: 2 * x, V, lambda _, b: b / 2, symmetric=True),
    "lax.custom_root": lambda: lax.custom_root(lambda x: x * x - 2, S, lambda f, x: x + 1, lambda g, y: y / g(1.0)),
    "lax.dot_general": lambda: lax.dot_general(M, M, (((1,), (0,)), ((), ()))),
    "lax.dynamic_slice": lambda: lax.dynamic_slice(V, (1,), (2,)),
    "lax.dynamic_update_index_in_dim": lambda: lax.dynamic_update_index_in_dim(V, S, 1, 0),
    "lax.dynamic_update_slice": lambda: lax.dynamic_update_slice(V, V[:2], (1,)),
    "lax.dynamic_update_slice_in_dim": lambda: lax.dynamic_update_slice_in_dim(V, V[:2], 1, 0), "lax.fft": lambda: lax.fft(C, "FFT", (4,)),
    "lax.fori_loop": lambda: lax.fori_loop(0, 3, lambda i, x: x + 1, V), "lax.index_take": lambda: lax.index_take(V, (I,), (0,)),
    "lax.gather": lambda: lax.gather(V, I[:, None], lax.GatherDimensionNumbers((), (0,), (0,)), (1,)),
    "lax.map": lambda: lax.map(jnp.sin, V), "lax.pad": lambda: lax.pad(V, np.float32(0), [(1, 1, 0)]),
    "lax.platform_dependent": lambda: lax.platform_dependent(V, default=jnp.sin), "lax.ragged_dot": lambda: lax.ragged_dot(
        M, np.ones((2, 4, 4), np.float32), np.array([2, 2], np.int32)),
    "lax.reduce": lambda: lax.reduce(V, np.float32(0), lax.add, (0,)),
    "lax.reduce_and": lambda: lax.reduce_and(B, (0,)), "lax.reduce_or": lambda: lax.reduce_or(B, (0,)),
    "lax.reduce_xor": lambda: lax.reduce_xor(B, (0,)),
    "lax.reduce_window": lambda: lax.reduce_window(V, np.float32(0), lax.add, (2,), (1,), "VALID"),
    "lax.rng_bit_generator": lambda: lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (3,)),
    "lax.rng_uniform": lambda: lax.rng_uniform(np.float32(0), np.float32(1), (3,)),
    "lax.scan": lambda: lax.scan(lambda c, x: (c + x, c), S, V), "lax.slice": lambda: lax.slice(V, (0,), (2,)),
    **{f"lax.{name}": (lambda name=name: getattr(lax, name)(V, I[:, None], V, DIMS))
       for name in ("scatter", "scatter_add", "scatter_max", "scatter_min", "scatter_mul", "scatter_sub")},
    "lax.scatter_apply": lambda: lax.scatter_apply(V, I[:, None], jnp.sin, DIMS, update_shape=(4,)),
    "lax.squeeze": lambda: lax.squeeze(V[None], (0,)), "lax.switch": lambda: lax.switch(0, [jnp.sin, jnp.cos], V),
    "lax.while_loop": lambda: lax.while_loop(lambda x: x[0] < 3, lambda x: x + 1, V),
    "lax.linalg.lu_pivots_to_permutation": lambda: lax.linalg.lu_pivots_to_permutation(I, 4),
    "lax.linalg.ormqr": lambda: lax.linalg.ormqr(M, V, M),
    "lax.linalg.tridiagonal_solve": lambda: lax.linalg.tridiagonal_solve(V, V + 3, V, M),
}

OF_TYPES = "speaks of types or text, not of numbers"
OF_DEVICES = "communicates between devices"
NOT_CALLED = {
    **dict.fromkeys(("numpy.array_repr", "numpy.array_str", "numpy.einsum_path", "numpy.finfo", "numpy.iinfo", "numpy.issubdtype",
                     "numpy.promote_types", "numpy.result_type", "numpy.get_printoptions", "numpy.printoptions", "lax.dtype",
                     "lax.conv_dimension_numbers", "lax.conv_general_permutations", "lax.conv_general_shape_tuple", "lax.conv_shape_tuple",
                     "lax.conv_transpose_shape_tuple", "lax.padtype_to_pads", "lax.reduce_window_shape_tuple",
                     "nn.get_scaled_dot_general_config", "numpy.isdtype"), OF_TYPES),
    **dict.fromkeys(("lax.all_gather", "lax.all_to_all", "lax.axis_index", "lax.axis_size", "lax.pbroadcast", "lax.pcast", "lax.ppermute",
                     "lax.precv", "lax.psend", "lax.pshuffle", "lax.psum_scatter", "lax.pswapaxes", "lax.ragged_all_to_all",
                     "lax.with_sharding_constraint"), OF_DEVICES),
    **dict.fromkeys(("lax.after_all", "lax.create_token"), "of tokens, which are no numbers"),
    **dict.fromkeys(("numpy.fromfile", "numpy.load", "numpy.fromiter", "numpy.fromstring", "numpy.save", "numpy.savez"),
                    "reads or writes files and text"),
    **dict.fromkeys(("numpy.frompyfunc", "lax.composite"), "makes functions of the user's functions"),
    **dict.fromkeys(("nn.scaled_dot_general", "nn.scaled_matmul"), "takes operands of several dtypes, scales beside narrow values"),
    "lax.ragged_dot_general": "ragged_dot is this with its usual axes",
}

# What JAX refuses as well: integers beside the function's own fractions, complex numbers beside real ones, and operands that are no
# meaningful arguments, such as a matrix of tolerances. Lists of sizes are arrays of integers.
REFUSED = {
    ("strict", np.integer): {"numpy.unwrap", *(f"nn.{name}" for name in (
        "celu", "elu", "hard_sigmoid", "hard_silu", "hard_swish", "leaky_relu", "mish", "relu6", "selu", "sparse_plus", "sparse_sigmoid",
        "squareplus"))},
    ("strict", np.complex64): {"scipy.special.owens_t", "scipy.signal.welch", "nn.soft_sign",
                               *(f"scipy.stats.{name}.{f}" for name in ("laplace", "logistic") for f in ("pdf", "logpdf"))},
    ("raise", np.complex64): {"scipy.signal.welch"},
    ("strict", np.float32): {"numpy.array_equiv", "scipy.signal.welch"},  # sizes, and frequencies, as the other operand
    ("raise", np.float32): {"numpy.linalg.lstsq", "numpy.linalg.matrix_rank", "numpy.linalg.pinv", "scipy.stats.multivariate_normal.logpdf",
                            "scipy.stats.multivariate_normal.pdf"},
}


def public_functions():
    spaces = {name: importlib.import_module(f"laminax.{name}") for name in MODULES}
    spaces["scipy.stats"] = stats
    spaces |= {f"scipy.stats.{name}": getattr(stats, name) for name in dir(stats) if isinstance(getattr(stats, name), types.ModuleType)}
    found = {f"{space}.{name}": getattr(module, name, None) for space, module in sorted(spaces.items()) for name in sorted(dir(module))
             if not name.startswith("_")}  # older ml_dtypes have no int1
    return {name: value for name, value in found.items() if callable(value) and not inspect.isclass(value)}


def takes(call):
    try:
        laminax.eval_shape(call)
    except Exception:
        return False
    return True


def arrays(args):
    return [x for x in laminax.tree.leaves(args) if isinstance(x, (np.ndarray, np.generic))]


def one_dtype(args):
    found = {x.dtype for x in arrays(args)}
    return found.pop() if len(found) == 1 else None


def is_refused(name, mode, dtype):
    return any(m == mode and np.issubdtype(dtype, kind) and name in names for (m, kind), names in REFUSED.items())


MODES = [("strict", "allow"), ("standard", "raise")]
FUNCTIONS = public_functions()


@pytest.mark.parametrize("space", sorted({name.rpartition(".")[0] for name in FUNCTIONS}))
def test_functions_of_one_dtype_and_rank_take_their_arguments_under_both_modes(space):
    faults = []
    for name, fun in FUNCTIONS.items():
        if name.rpartition(".")[0] != space or name in NOT_CALLED:
            continue
        if name in CALLS:
            plain = [(None, CALLS[name])]
        else:
            given = [args for args in CANDIDATES if takes(lambda args=args: fun(*args))]
            assert given, f"{name}: give it a line in CALLS, or in NOT_CALLED with a reason"
            plain = [(one_dtype(args), lambda args=args: fun(*args)) for args in given
                     if one_dtype(args) not in (None, np.bool_) and len({x.ndim for x in arrays(args) if x.ndim}) <= 1]
        for dtypes, ranks in MODES:
            for dtype, call in plain:
                mode = dtypes if dtypes == "strict" else ranks
                if dtype is not None and is_refused(name, mode, dtype):
                    continue
                with laminax.numpy_dtype_promotion(dtypes), laminax.numpy_rank_promotion(ranks):
                    try:
                        call() if name in CALLS else laminax.eval_shape(call)
                    except Exception as error:
                        faults.append(f"{name}, {dtype}, {mode}: {error}")
    assert not faults, "\n".join(faults)


def test_the_tables_name_public_functions_only():
    assert not {*CALLS, *NOT_CALLED, *(name for names in REFUSED.values() for name in names)} - set(FUNCTIONS)


@pytest.mark.parametrize("name, args", [("scipy.special.multigammaln", (V + 3, 2)), ("scipy.stats.mode", (M,)), ("numpy.polyval", (V, M)),
                                        ("scipy.special.fresnel", (V,)), ("scipy.special.sici", (V + 4,)),
                                        ("scipy.special.owens_t", (V, V))])
def test_values_under_both_modes_are_scipys(name, args):
    space, _, attribute = name.rpartition(".")
    expected = getattr(np if space == "numpy" else pytest.importorskip(space), attribute)(*args)
    with laminax.numpy_dtype_promotion("strict"), laminax.numpy_rank_promotion("allow" if attribute == "polyval" else "raise"):
        found = FUNCTIONS[name](*args)
    for x, y in zip(laminax.tree.leaves(tuple(found) if isinstance(found, tuple) else found),
                    laminax.tree.leaves(tuple(expected) if isinstance(expected, tuple) else expected)):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-6)


def test_arrays_of_other_ranks_may_be_equivalent_under_rank_promotion_raise():
    with laminax.numpy_rank_promotion("raise"):
        assert jnp.array_equiv(V, np.stack([V, V]))
        assert not jnp.array_equiv(V, M)


def test_powers_of_booleans_are_numpys():
    np.testing.assert_array_equal(jnp.vander(B), np.vander(B.astype(int)))


@pytest.mark.parametrize("own, values", [(np.int32, np.float32), (np.float32, np.float16), (np.float32, np.int32), (np.int8, np.int32),
                                         (np.float32, np.complex64), (np.int32, np.bool_)])
@pytest.mark.parametrize("method", ["set", "add", "max"])
def test_updates_of_other_dtypes_are_refused_where_they_are_not_promoted(own, values, method):
    """Numbers of Python's, which have no dtype of their own, are taken."""
    if np.complex64 in (own, values) and method == "max":
        method = "multiply"
    x = jnp.zeros(3, own)
    with laminax.numpy_dtype_promotion("strict"):
        with pytest.raises(TypePromotionError, match="no available implicit dtype promotion path"):
            getattr(x.at[0], method)(np.ones((), values))
        assert getattr(x.at[0], method)(np.ones((), own)).dtype == getattr(x.at[0], method)(1).dtype == own
