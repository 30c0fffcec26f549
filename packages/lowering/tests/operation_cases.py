"""One program for each operation of the IR, in which it occurs: what `test_every_platform` lowers."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Callable, NamedTuple, Sequence

import numpy as np

from laminax_ir import ops
from laminax_ir.ops import (
    backward_logs,
    buffer_callbacks,
    callbacks,
    calls,
    checks,
    collectives,
    composite,
    contraction,
    control_flow,
    convolution,
    cumulative,
    custom_partitioning,
    elementwise,
    exported,
    ffi,
    fft,
    hints,
    indexing,
    linalg,
    linear_call,
    linear_solve,
    loops,
    orthogonal,
    polynomial,
    random_bits,
    reduction,
    scaled_dot,
    shape,
    shard_map,
    sharding,
    slicing,
    sorting,
    special,
    stacking,
    user_operations,
    windows,
)
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.symbolic import symbolic_values
from laminax_ir.symbolic.symbolic_parsing import parse_shape
from laminax_ir.symbolic.symbolic_scope import SymbolicScope
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.array_layouts import Layout
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.dtypes import key_dtype, primal_tangent_dtype
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

AXES = (("i", 4), ("j", 2))  # the named axes around every case


class Case(NamedTuple):
    """A function on arrays of given avals; it may return one result, or a list or tuple of them."""
    fun: Callable
    avals: Sequence[ShapedArray]


class Split(NamedTuple):
    """A sharding, as far as the lowering looks at it."""
    mesh: AbstractMesh
    spec: PartitionSpec


def aval(dtype, *sizes: int) -> ShapedArray:
    return ShapedArray(sizes, key_dtype("threefry2x32") if dtype == "key" else np.dtype(dtype))


def program(case: Case, name: str) -> ClosedJaxpr:
    """The case's program."""
    def fun(*args):
        out = case.fun(*args)
        return list(out) if isinstance(out, (list, tuple)) else [out]
    with extend_axis_env(*AXES):
        return stage(fun, list(case.avals), name)


def primitives() -> dict[str, Primitive]:
    """Every operation that a module of `laminax_ir.ops` defines, by name."""
    modules = [importlib.import_module(f"{ops.__name__}.{info.name}") for info in pkgutil.iter_modules(ops.__path__)]
    return {value.name: value for module in modules for value in vars(module).values() if isinstance(value, Primitive)}


F32, F32S = aval("float32", 3, 4), aval("float32", 4)
I32, U32, BOOL, C64, KEYS = aval("int32", 3, 4), aval("uint32", 3, 4), aval("bool", 3, 4), aval("complex64", 3, 4), aval("key", 3)
INDEX, SQUARE, FLAG = aval("int32"), aval("float32", 2, 4, 4), aval("bool")
WINDOW = {"window_dimensions": (2, 2), "window_strides": (1, 2), "padding": ((0, 1), (1, 0)), "base_dilation": (1, 1),
          "window_dilation": (1, 1)}

CASES: dict[str, Case] = {}


def _define(avals: Sequence[ShapedArray], **functions: Callable) -> None:
    CASES.update({name.replace("__", "-"): Case(fun, avals) for name, fun in functions.items()})


el = elementwise
_define([F32], **{name: getattr(el, name) for name in (
    "abs acos acosh asin asinh atan atanh cbrt ceil cos cosh exp exp2 expm1 floor is_finite log log1p log2 logistic neg "
    "one_minus_square round rsqrt sign sin sinh sqrt square tan tanh copy").split()})
_define([F32, F32], **{name: getattr(el, name) for name in "add atan2 div eq ge gt le lt max min mul ne nextafter pow rem sub".split()})
_define([F32, F32], **{name: getattr(el, f"{name}_p").bind for name in ("eq_to", "le_to", "lt_to")}, complex=el.complex)
_define([I32, I32], **{"and": el.bitwise_and, "or": el.bitwise_or, "xor": el.bitwise_xor}, shift_left=el.shift_left, mulhi=el.mulhi,
        shift_right_arithmetic=el.shift_right_arithmetic, shift_right_logical=el.shift_right_logical)
_define([I32], **{"not": el.bitwise_not}, population_count=el.population_count, clz=el.clz)
_define([C64], real=el.real, imag=el.imag, conj=el.conj)
_define([F32], integer_pow=lambda x: el.integer_pow(x, -3), bitcast_convert_type=lambda x: el.bitcast_convert_type(x, np.int32),
        convert_element_type=lambda x: el.convert_element_type(x, np.bool_), reduce_precision=lambda x: el.reduce_precision(x, 5, 10),
        stop_gradient=el.stop_gradient_one)
_define([F32, F32, F32], clamp=el.clamp, optimization_barrier=el.optimization_barrier_flat,
        regularized_incomplete_beta=special.betainc)
_define([I32, F32, F32, F32], select_n=el.select_n)
_define([F32, F32], polynomial=lambda x, c: polynomial.polynomial(x, [c] * 9))

_define([F32], **{name: getattr(special, name) for name in "bessel_i0e bessel_i1e digamma erf erf_inv erfc lgamma".split()})
_define([F32, F32], **{name: getattr(special, name) for name in "igamma igamma_grad_a igammac polygamma random_gamma_grad zeta".split()})

_define([F32], broadcast_in_dim=lambda x: shape.broadcast_in_dim(x, (2, 3, 4), (1, 2)), reshape=lambda x: shape.reshape(x, (2, 6)),
        transpose=lambda x: shape.transpose(x, (1, 0)), rev=lambda x: shape.rev(x, (1,)), tile=lambda x: shape.tile(x, (2, 1)),
        split=lambda x: shape.split(x, (1, 3), 1), pad=lambda x: shape.pad(x, np.float32(0), ((1, -1, 0), (0, 2, 1))),
        concatenate=lambda x: shape.concatenate([x, x], 0), unstack=stacking.unstack, stack=lambda x: stacking.stack([x, x], 1))
_define([aval("float32", 1, 3)], squeeze=lambda x: shape.squeeze(x, (0,)))
_define([], iota=lambda: shape.broadcasted_iota(np.int32, (2, 3), 1), iota_2x32_shape=lambda: random_bits.iota_2x32_shape((2, 3)),
        platform_index=lambda: control_flow.platform_dependent(np.float32(1), cpu=el.sin, cuda=el.cos, default=el.tan),
        axis_index=lambda: collectives.axis_index("j"))

_define([F32],
        **{name: lambda x, f=getattr(reduction, name): f(x, (1,)) for name in "reduce_sum reduce_prod reduce_max reduce_min".split()},
        argmax=lambda x: reduction.argmax(x, 0, np.int32), argmin=lambda x: reduction.argmin(x, 1, np.int32),
        reduce=lambda x: reduction.reduce((x, x), (np.float32(0), np.float32(1)), lambda a, b: (el.add(a[0], b[0]), el.mul(a[1], b[1])),
                                          (0,)),
        **{name: lambda x, f=getattr(cumulative, name): f(x, 1) for name in "cumsum cumprod cummax cummin cumlogsumexp".split()},
        sort=lambda x: sorting.sort((x, x), 1, num_keys=2), top_k=lambda x: sorting.top_k(x, 2, axis=0),
        approx_top_k=lambda x: sorting.approx_min_k(x, 2, 0),
        reduce_window_sum=lambda x: windows.reduce_window(x, np.float32(0), el.add, **WINDOW),
        reduce_window_max=lambda x: windows.reduce_window(x, np.float32(-np.inf), el.max, **WINDOW),
        reduce_window_min=lambda x: windows.reduce_window(x, np.float32(np.inf), el.min, **WINDOW),
        reduce_window=lambda x: windows.reduce_window(x, np.float32(0), lambda a, b: el.add(a, el.sin(b)), **WINDOW))
_define([F32], backward_log=lambda x: (backward_logs.log({"x": x}, "f"), x)[1],
        check=lambda x: (checks.debug_check(el.gt(reduction.reduce_max(x, (0, 1)), np.float32(0)), "{}", x), x)[1],
        stage=lambda x: hints.stage_p.bind(x), todense=lambda x: hints.todense(x),
        dce_sink=lambda x: (hints.dce_sink(x, prevent_mlir_dce=True), x)[1],
        xla_metadata_value=lambda x: hints.with_xla_metadata(el.sin(x), layer=1))
_define([I32], reduce_xor=lambda x: reduction.reduce_xor(x, (0, 1)))
_define([BOOL], reduce_and=lambda x: reduction.reduce_and(x, (0, 1)), reduce_or=lambda x: reduction.reduce_or(x, (0,)))
_define([F32, F32], select_and_gather_add=lambda t, x: windows.select_and_gather_add(
    t, x, el.ge_p, (2, 2), (1, 2), ((0, 1), (1, 0)), (1, 1), (1, 1)))
_define([aval("float32", 2, 2), F32],
        select_and_scatter=lambda s, x: windows.select_and_scatter(x, el.gt, (2, 2), (1, 2), ((0, 0), (0, 0)), s, np.float32(0), el.add),
        select_and_scatter_add=lambda s, x: windows.select_and_scatter_add(s, x, el.ge_p, (2, 2), (1, 2), ((0, 0), (0, 0))))

_define([F32], slice=lambda x: slicing.slice(x, (1, 0), (3, 4), (1, 2)))
_define([F32, INDEX], dynamic_slice=lambda x, i: slicing.dynamic_slice(x, (i, 1), (2, 2)),
        dynamic_update_slice=lambda x, i: slicing.dynamic_update_slice(x, np.ones((2, 2), np.float32), (i, 1)))
_GATHER = indexing.GatherDimensionNumbers((1,), (0,), (0,))
_SCATTER = indexing.ScatterDimensionNumbers((1,), (0,), (0,))
_define([F32, aval("int32", 5, 1)], gather=lambda x, i: indexing.gather(x, i, _GATHER, (1, 4), mode="fill"))
_define([F32, aval("int32", 5, 1), aval("float32", 5, 4)], **{
    f"scatter{ending}": lambda x, i, u, f=getattr(indexing, f"scatter{ending.replace('-', '_')}"): f(x, i, u, _SCATTER, mode="clip")
    for ending in ("", "-add", "-sub", "-mul", "-min", "-max")})

_define([F32, aval("float32", 4, 5)], dot_general=lambda a, b: contraction.dot_general(a, b, (((1,), (0,)), ((), ())), precision="highest"))
_define([aval("float8_e4m3fn", 3, 4), aval("float8_e4m3fn", 4, 5), aval("float8_e8m0fnu", 3, 2)],
        scaled_dot=lambda a, b, s: scaled_dot.scaled_dot(a, b, lhs_scale=s))
_define([F32, aval("float32", 2, 4, 5), aval("int32", 2)], ragged_dot_general=contraction.ragged_dot)
_define([aval("float32", 2, 3, 8, 8), aval("float32", 4, 3, 3, 3)],
        conv_general_dilated=lambda x, w: convolution.conv_general_dilated(x, w, (1, 2), "SAME"))
_define([aval("complex64", 2, 3, 5)], fft=lambda x: fft.fft(x, "irfft", (3, 8)))

_define([aval("float32", 2, 5, 3)], lu=linalg.lu, geqrf=linalg.geqrf, qr=linalg.qr, svd=lambda x: linalg.svd(x, full_matrices=False))
_define([aval("float32", 2, 5, 3), aval("float32", 2, 3)], householder_product=linalg.householder_product)
_define([aval("float32", 2, 5, 3), aval("float32", 2, 3), aval("float32", 2, 5, 2)], ormqr=orthogonal.ormqr)
_define([SQUARE, aval("float32", 2, 4)], cholesky_update=orthogonal.cholesky_update)
_define([SQUARE], tridiagonal=orthogonal.tridiagonal)
_define([SQUARE], cholesky=linalg.cholesky, eig=linalg.eig, eigh=linalg.eigh, schur=linalg.schur, hessenberg=linalg.hessenberg)
_define([SQUARE, SQUARE], triangular_solve=lambda a, b: linalg.triangular_solve(a, b, left_side=True, transpose_a=True),
        symmetric_product=lambda a, c: linalg.symmetric_product(a, c, beta=1.0))
_define([aval("int32", 2, 3)], lu_pivots_to_permutation=lambda p: linalg.lu_pivots_to_permutation(p, 5))
_define([aval("float32", 2, 4)] * 3 + [SQUARE], tridiagonal_solve=linalg.tridiagonal_solve)

_define([KEYS], random_split=lambda k: random_bits.random_split(k, (2,)), random_bits=lambda k: random_bits.random_bits(k, 32, (5,)),
        random_unwrap=random_bits.random_unwrap, random_clone=random_bits.random_clone)
_define([KEYS, aval("uint32", 3)], random_fold_in=random_bits.random_fold_in)
_define([aval("uint32", 3)], random_seed=lambda s: random_bits.random_seed(s, "threefry2x32"))
_define([aval("uint32", 3, 2)], random_wrap=lambda w: random_bits.random_wrap(w, impl="threefry2x32"))
EDTYPE = primal_tangent_dtype("int8", "bfloat16")
_define([aval("int8", 3)], to_edtype=lambda x: elementwise.convert_element_type(x, EDTYPE),
        from_edtype=lambda x: elementwise.convert_element_type(elementwise.convert_element_type(x, EDTYPE), np.int8))
_define([aval("uint32", 4)], rng_bit_generator=lambda s: random_bits.rng_bit_generator(s, (3, 5), np.uint32))
_define([], rng_uniform=lambda: random_bits.rng_uniform(0.0, 1.0, (3, 5)))
_define([aval("uint32", 3)] * 4, threefry2x32=random_bits.threefry2x32)

_define([INDEX, F32], cond=lambda i, x: control_flow.switch(i, [el.sin, el.cos, el.tan], x),
        **{"while": lambda n, x: loops.while_loop(lambda c: el.lt(c[0], np.int32(9)), lambda c: (el.add(c[0], c[0]), el.sin(c[1])),
                                                  (n, x))})
_define([F32S, F32], scan=lambda c, xs: loops.scan(lambda c, x: (el.add(c, x), el.sin(c)), c, xs, reverse=True, unroll=2)[0])

_INNER = stage(lambda x: [el.sin(el.cos(x))], [F32], "inner")
_define([F32], jit=lambda x: calls.call_jaxpr(_INNER, *calls.call_jaxpr(_INNER, x, name="inner"), name="inner"),
        checkpoint=lambda x: calls.bind_checkpoint(_INNER, x, name="layer", prevent_cse=True, policy=None, differentiated=True),
        name=lambda x: calls.name_p.bind(x, name="kept"),
        custom_jvp_call=lambda x: calls.custom_jvp_call_p.bind(x, call_jaxpr=_INNER, jvp=None, name="f", num_consts=0),
        custom_vjp_call=lambda x: calls.custom_vjp_call_p.bind(x, call_jaxpr=_INNER, fwd=None, bwd=None, name="f", num_consts=0),
        custom_vjp_tangent=lambda x: calls.custom_vjp_tangent_p.bind(x, bwd=None, num_residuals=0, out_avals=[F32], name="f"),
        custom_vmap_call=lambda x: calls.custom_vmap_call_p.bind(x, call=_INNER, rule=None, name="f"),
        linear_call=lambda x: linear_call.bind_linear_call(_INNER, None, [], [x], "f"),
        call_hi_primitive=lambda x: user_operations.call_hi_primitive_p.bind(
            x, operation=user_operations.UserOperation("f"), call_jaxpr=_INNER, num_consts=0),
        custom_linear_solve=lambda x: linear_solve.bind_solve(
            linear_solve.SolveParts(_INNER, None, _INNER, None), linear_solve.SolveParts([], [], [], []), [x]))

_define([F32], custom_partitioning=lambda x: custom_partitioning.bind_custom_partitioning(
    _INNER, x, partitioner=None, sharding_rule="", name="f"))
_define([F32], composite=lambda x: composite.composite(lambda x, axis: el.sin(x), "my.sine", version=1)(x, axis=(0, 1)))
_define([F32], psum=lambda x: collectives.psum(x, "i"), pmax=lambda x: collectives.pmax(x, ("i", "j")),
        pmin=lambda x: collectives.pmin(x, "j"), all_gather=lambda x: collectives.all_gather(x, "i"),
        all_to_all=lambda x: collectives.all_to_all(x, "i", 1, 0), ppermute=lambda x: collectives.ppermute(x, "i", [(0, 1), (1, 0)]),
        psum_shared=lambda x: collectives.psum_shared(x, x, ("i",)))
_define([aval("float32", 8, 3)], reduce_scatter=lambda x: collectives.psum_scatter(x, "i", tiled=True))

_define([F32], pure_callback=lambda x: callbacks.pure_callback(np.sin, ShapeDtypeStruct((3, 4), np.float32), x),
        io_callback=lambda x: callbacks.io_callback(np.sin, ShapeDtypeStruct((3, 4), np.float32), x, ordered=True),
        debug_callback=lambda x: (callbacks.debug_callback(print, x), x)[1],
        inspect_sharding=lambda x: (callbacks.inspect_sharding(x, print), x)[1])

_SPLIT = Split(AbstractMesh((4,), ("data",), AxisType.Auto), PartitionSpec(None, "data"))
_define([F32], sharding_constraint=lambda x: sharding.sharding_constraint_p.bind(x, sharding=_SPLIT),
        device_put=lambda x: sharding.device_put_p.bind(x, sharding=_SPLIT), reshard=lambda x: sharding.reshard_p.bind(x, dst=None),
        layout_constraint=lambda x: sharding.layout_constraint_p.bind(x, layout=Layout(range(x.ndim)[::-1])))



def _per_device(x):
    """Each of four devices adds up its column with the others'."""
    with extend_axis_env(("i", 4)):
        body = stage(lambda part: [collectives.psum(el.sin(part), "i")], [aval("float32", 3, 1)], "body")
    return shard_map.bind_shard_map(body, x, mesh=AbstractMesh((4,), ("i",), AxisType.Auto), in_specs=[PartitionSpec(None, "i")],
                                    out_specs=[PartitionSpec()], manual_axes=("i",))


_define([F32], shard_map=_per_device, pvary=lambda x: collectives.pvary_p.bind(x, axes=("i",)))


def _with_open_sums(fun):
    """Each of four devices applies a function to its column, along an axis that is checked."""
    mesh = AbstractMesh((4,), ("i",), AxisType.Auto)

    def program(x):
        with running_along([("i", 4)], True, mesh):
            body = stage(lambda part: [fun(part)], [aval("float32", 3, 1).update(named_shape={"i": 4})], "body")
        return shard_map.bind_shard_map(body, x, mesh=mesh, in_specs=[PartitionSpec(None, "i")], out_specs=[PartitionSpec(None, "i")],
                                        manual_axes=("i",), check_vma=True)
    return program


def _opened(x):
    return collectives.pcast(x, "i", to="unreduced")


def _varying(x):
    return collectives.pcast(x, "i", to="varying")


_gathered = _with_open_sums(lambda x: _varying(collectives.all_gather(x, "i", axis=1, tiled=True, to="reduced")))
_scattered = _with_open_sums(lambda x: collectives.psum_scatter(_opened(shape.broadcast_in_dim(x, (3, 4), (0, 1))), "i",
                                                                scatter_dimension=1, tiled=True))
_summed = _with_open_sums(lambda x: _varying(collectives.pcast(collectives.psum(_opened(x), "i"), "i", to="reduced")))
_define([F32], all_gather_reduced=_gathered, unreduced_reduce_scatter=_scattered, unreduced_psum=_summed, vary_unreduced_cast=_summed,
        preduced=_summed, reduced_vary_cast=_summed)

_SINE = """module @sine {
  func.func public @main(%arg0: tensor<3x4xf32>) -> tensor<3x4xf32> {
    %0 = stablehlo.sine %arg0 : tensor<3x4xf32>
    return %0 : tensor<3x4xf32>
  }
}
"""
_define([F32], call_exported=lambda x: exported.call_exported(
    exported.StableHLOProgram("sine", _SINE, ["cuda"], [F32], [F32], is_for_any_platform=True), x))
(_SIZE,) = parse_shape("b", SymbolicScope())
_define([ShapedArray((_SIZE,), np.float32)], dim_as_value=lambda x: symbolic_values.dim_as_value(x.shape[0]))
_define([F32], buffer_callback=lambda x: buffer_callbacks.buffer_callback(
    print, ShapeDtypeStruct((3, 4), np.float32), has_side_effect=True, input_output_aliases={0: 0})(x))
_define([F32],
        ffi_call=lambda x: ffi.ffi_call("native", ShapeDtypeStruct((3, 4), np.float32), output_layouts=(1, 0))(x, scale=np.float32(2)))
