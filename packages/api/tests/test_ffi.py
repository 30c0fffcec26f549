"""Native functions in programs: those that jaxlib has for linear algebra, against SciPy."""

import ctypes
import os

import numpy as np
import pytest
import scipy.linalg

import laminax_runtime

import laminax
import laminax.numpy as jnp
from laminax import ShapeDtypeStruct, dtypes, errors, extend, ffi
from laminax.experimental.layout import Layout


@pytest.fixture(scope="module", autouse=True)
def lapack():
    laminax_runtime.ensure_lapack()


@pytest.fixture
def matrices():
    return np.random.default_rng(0).normal(size=(4, 3, 3)).astype(np.float32)


def by_columns(rank):
    return *range(rank - 2), rank - 1, rank - 2


def lu(a, vmap_method="broadcast_all"):
    """LAPACK keeps matrices by columns, overwrites its argument and counts from 1."""
    results = [ShapeDtypeStruct(a.shape, a.dtype), ShapeDtypeStruct(a.shape[:-1], np.int32), ShapeDtypeStruct(a.shape[:-2], np.int32)]
    call = ffi.ffi_call("lapack_sgetrf_ffi", results, input_layouts=[by_columns(a.ndim)], vmap_method=vmap_method,
                        output_layouts=[by_columns(a.ndim), None, None], input_output_aliases={0: 0})
    factors, pivots, info = call(a)
    return factors, pivots - 1, info


@pytest.mark.parametrize("transform", [lambda f: f, laminax.jit])
def test_results_layouts_and_aliases(matrices, transform):
    factors, pivots, info = transform(lu)(matrices[0])
    expected, expected_pivots = scipy.linalg.lu_factor(matrices[0])
    np.testing.assert_allclose(factors, expected, rtol=1e-5)
    np.testing.assert_array_equal(pivots, expected_pivots)
    assert int(info) == 0


@pytest.mark.parametrize("method", ["broadcast_all", "expand_dims", "legacy_vectorized", "sequential", "sequential_unrolled"])
def test_vmap(matrices, method):
    factors, pivots, _ = laminax.jit(laminax.vmap(lambda a: lu(a, method), in_axes=1))(np.moveaxis(matrices, 0, 1))
    for i, a in enumerate(matrices):
        np.testing.assert_allclose(factors[i], scipy.linalg.lu_factor(a)[0], rtol=1e-5)
        np.testing.assert_array_equal(pivots[i], scipy.linalg.lu_factor(a)[1])


def solve_options(is_transposed):
    return {"side": np.uint8(ord("L")), "uplo": np.uint8(ord("L")), "trans_x": np.uint8(ord("T" if is_transposed else "N")),
            "diag": np.uint8(ord("N"))}


@pytest.mark.parametrize("is_transposed", [False, True])
def test_attributes(matrices, is_transposed):
    a, b = np.tril(matrices[0]) + 2 * np.eye(3, dtype=np.float32), matrices[1]
    call = ffi.ffi_call("lapack_strsm_ffi", ShapeDtypeStruct(b.shape, b.dtype), input_layouts=[(1, 0), (1, 0)],
                        output_layouts=(1, 0), input_output_aliases={1: 0})
    x = laminax.jit(lambda a, b: call(a, b, **solve_options(is_transposed)))(a, b)
    np.testing.assert_allclose(x, np.linalg.solve(a.T if is_transposed else a, b), rtol=1e-4)


def test_an_operation_of_ones_own(matrices):
    triangular_solve_p = extend.Primitive("test_ffi_triangular_solve")
    extend.shape_rule(triangular_solve_p)(lambda a, b, **_params: b)
    columns = [[0, 1], [0, 1]]  # the fastest first, as XLA lists them
    extend.lowering_rule(triangular_solve_p, platforms=("cpu",))(
        ffi.ffi_lowering("lapack_strsm_ffi", operand_layouts=columns, result_layouts=columns[:1], operand_output_aliases={1: 0},
                         backend_config={"diag": np.uint8(ord("N"))}))
    a, b = np.tril(matrices[0]) + 2 * np.eye(3, dtype=np.float32), matrices[1]
    options = {name: value for name, value in solve_options(False).items() if name != "diag"}
    np.testing.assert_allclose(triangular_solve_p.bind(jnp.asarray(a), jnp.asarray(b), **options), np.linalg.solve(a, b), rtol=1e-4)


def test_a_function_that_nobody_registered():
    call = ffi.ffi_call("no_such_function", ShapeDtypeStruct((), np.float32))
    for use in (call, laminax.jit(call)):
        with pytest.raises(errors.XlaRuntimeError, match="(?s)no_such_function.*compiling"):
            use(1.0)


def test_calls_with_side_effects_stay(matrices):
    def text(has_side_effect):
        call = ffi.ffi_call("no_such_function", ShapeDtypeStruct((), np.float32), has_side_effect=has_side_effect)
        return laminax.jit(lambda x: (call(x), x)[1]).lower(1.0).as_text()

    assert "no_such_function" in text(True) and "no_such_function" not in text(False)


def test_attributes_in_text():
    call = ffi.ffi_call("native", ShapeDtypeStruct((), np.float32))
    text = laminax.jit(lambda x: call(x, i=3, f=0.5, s='a"b', b=True, n=np.uint8(7), v=np.arange(2), t=(1, 2), d={"k": np.float32(1)})) \
        .lower(1.0).as_text()
    for attribute in ('i = 3 : i64', 'f = 5.000000e-01 : f64', 's = "a\\22b"', 'b = true', 'n = 7 : ui8', 't = [1, 2]',
                      'v = dense<[0, 1]> : tensor<2xi64>', 'd = {k = 1.000000e+00 : f32}'):
        assert attribute in text
    legacy = ffi.ffi_call("native", ShapeDtypeStruct((), np.float32), custom_call_api_version=1, legacy_backend_config="text")
    assert 'backend_config = "text"' in laminax.jit(legacy).lower(1.0).as_text()


@pytest.mark.parametrize("value, written", [
    (np.array(1, jnp.bfloat16), "dense<1.000000e+00> : tensor<bf16>"),
    (np.array([1, 2], jnp.float8_e4m3fn), "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf8E4M3FN>"),
    (np.array([1, -2], jnp.int4), "dense<[1, -2]> : tensor<2xi4>"),
    (np.array(3, jnp.uint2), "dense<3> : tensor<ui2>"),
    (np.array(1.5, jnp.bfloat16)[()], "1.500000e+00 : bf16"),
    (np.zeros((), dtypes.float0), "dense<false> : tensor<i1>"),
], ids=str)
def test_attributes_of_types_that_numpy_has_not(value, written):
    call = ffi.ffi_call("native", ShapeDtypeStruct((), np.float32))
    module = laminax.jit(lambda x: call(x, param=value)).lower(1.0).compiler_ir("stablehlo")
    (found,) = [op for op in module.body.operations[0].body.blocks[0].operations if op.operation.name == "stablehlo.custom_call"]
    assert str(found.attributes["mhlo.backend_config"]["param"]) == written  # where JAX's programs have the attributes


@pytest.mark.parametrize("layout, written", [((0, 1, 2), "[0, 1, 2]"), (None, "[2, 1, 0]"), (Layout((0, 2, 1)), "[1, 2, 0]")])
def test_layouts_of_a_lowering_rule(layout, written):
    copy_p = extend.Primitive("test_ffi_copy")
    extend.shape_rule(copy_p)(lambda x: x)
    extend.lowering_rule(copy_p)(ffi.ffi_lowering("native", operand_layouts=[layout], result_layouts=[layout]))
    text = laminax.jit(copy_p.bind).lower(jnp.ones((2, 3, 4))).as_text()
    for name in ("operand_layouts", "result_layouts"):
        assert f"{name} = [dense<{written}> : tensor<3xindex>]" in text  # the fastest first, as XLA lists them


@pytest.mark.parametrize("layouts, message", [
    ([None, None], r"operand_layouts has 2 layouts for 1 arrays\. Give one for each"),
    ([(0, 0, 1)], r"operand_layouts\[0\]=\(0, 0, 1\) must list the 3 axes of f32\[2,3,4\] once each"),
])
def test_layouts_that_do_not_fit_in_a_lowering_rule(layouts, message):
    copy_p = extend.Primitive("test_ffi_copy")
    extend.shape_rule(copy_p)(lambda x: x)
    extend.lowering_rule(copy_p)(ffi.ffi_lowering("native", operand_layouts=layouts))
    with pytest.raises(ValueError, match=message):
        laminax.jit(copy_p.bind).lower(jnp.ones((2, 3, 4)))


def test_capsules_and_headers():
    function = ctypes.pythonapi.Py_GetVersion
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    assert get_pointer(ffi.pycapsule(function), None) == ctypes.cast(function, ctypes.c_void_p).value
    with pytest.raises(TypeError, match="expected a function of a library loaded with ctypes, got 'text'"):
        ffi.pycapsule("text")
    assert os.path.isfile(os.path.join(ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))


class TypeId(ctypes.Structure):
    """`XLA_FFI_TypeId` of XLA's header."""

    _fields_ = [("type_id", ctypes.c_int64)]


def test_types_of_native_functions_get_numbers():
    """XLA writes the number of a type where the capsule points to; 0 is that of none."""
    make_capsule = ctypes.pythonapi.PyCapsule_New
    make_capsule.restype, make_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    first, second = TypeId(0), TypeId(0)
    for name, place in (("laminax_test_state", first), ("laminax_test_other_state", second)):
        ffi.register_ffi_type(name, {"type_id": make_capsule(ctypes.addressof(place), None, None)}, "cpu")
    assert 0 != first.type_id != second.type_id != 0
    for wrong in (make_capsule(ctypes.addressof(first), None, None), {"type_info": 1}, {"type_id": 1, "kind": 2}):
        with pytest.raises(TypeError, match="register_ffi_type: type_registration must be a dict with the capsule type_id"):
            ffi.register_ffi_type("laminax_test_wrong", wrong)
    with pytest.raises(ValueError, match="register_ffi_type_id is not supported.*Use register_ffi_type\\('mine'"):
        ffi.register_ffi_type_id("mine", 1)
