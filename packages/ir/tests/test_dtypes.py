"""Dtypes: canonical forms, the dtype of a value, the hierarchy of scalar types, limits, names, PRNG key dtypes.

Oracles: NumPy for its own types; the formats' definitions (IEEE 754, the OCP 8-bit and microscaling specifications) for
the limits of the others; numbers that JAX 0.10.2 printed where a name or message is JAX's.
"""

from __future__ import annotations

import copy
import enum
import os
import pickle
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest

from laminax_ir.options import config
from laminax_ir.types import dtypes

NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
ML_FLOATS = [n for n in dir(ml_dtypes) if n.startswith(("bfloat", "float8_", "float6_", "float4_"))]
ML_SIGNED = [n for n in ("int1", "int2", "int4") if hasattr(ml_dtypes, n)]
ML_UNSIGNED = ["u" + n for n in ML_SIGNED]
NUMPY = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMPY += ["float16", "float32", "float64", "complex64", "complex128"]
ALL = NUMPY + ML_FLOATS + ML_SIGNED + ML_UNSIGNED


def np_dtype(name):
    return np.dtype(name if name in NUMPY else getattr(ml_dtypes, name))


# --- canonical dtypes ---


@pytest.mark.parametrize("name", ALL)
def test_canonicalization_narrows_64_bit_types_alone(name):
    narrow = np_dtype(NARROW.get(name, name))
    forms = [np_dtype(name), np_dtype(name).type, np_dtype(name).newbyteorder(">"), np.zeros((), np_dtype(name)).dtype]
    for form in forms + ([name] if name in NUMPY else []):
        assert dtypes.canonicalize_dtype(form) == narrow
        assert dtypes.canonicalize_dtype(form).isnative
        with config.enable_x64(True):
            assert dtypes.canonicalize_dtype(form) == np_dtype(name)
        assert dtypes.canonicalize_dtype(form) == narrow  # the answer under x64 was not remembered for this


def test_python_scalar_types_have_default_dtypes():
    with config.enable_x64(True):
        wide = {kind: dtypes.scalar_dtype(kind).name for kind in dtypes.python_scalar_types}
    assert wide == {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    for kind, name in wide.items():
        assert dtypes.scalar_dtype(kind) == NARROW.get(name, name)
        assert dtypes.canonicalize_dtype(kind) == dtypes.dtype(kind) == dtypes.scalar_dtype(kind)


@pytest.mark.parametrize("bad", [object, "O", "S3", "U", "datetime64[s]", [("a", "i4")], "V4", np.dtype("f4,f4")])
def test_dtypes_that_arrays_cannot_have_are_refused(bad):
    with pytest.raises(TypeError, match="Arrays cannot have the dtype"):
        dtypes.canonicalize_dtype(bad)


@pytest.mark.parametrize("bad", ["floaty", 3, [1, 2], object()])
def test_what_is_no_dtype_is_refused(bad):
    with pytest.raises(TypeError):
        dtypes.canonicalize_dtype(bad)


def test_long_doubles_are_refused_unless_they_are_doubles():
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is double here")
    with pytest.raises(TypeError, match="Arrays cannot have"):
        dtypes.canonicalize_dtype(np.longdouble)


def test_extended_dtypes_are_canonical_where_allowed():
    key = dtypes.key_dtype("rbg")
    assert dtypes.canonicalize_dtype(key, allow_extended_dtype=True) is key
    with pytest.raises(ValueError, match="key<rbg> is an extended dtype"):
        dtypes.canonicalize_dtype(key)
    assert dtypes.canonicalize_dtype(dtypes.float0) is dtypes.float0


def test_float0_is_an_empty_field():
    assert dtypes.float0.itemsize == 0
    assert np.zeros(3, dtypes.float0).shape == (3,)
    assert dtypes.float0 == np.dtype([("float0", np.void, 0)])


@pytest.mark.parametrize("name", NARROW)
def test_asking_for_64_bits_without_them_warns_in_the_users_line(name):
    with pytest.warns(UserWarning) as caught:
        assert dtypes.check_user_dtype_supported(name, "zeros") == np.dtype(NARROW[name])
    (warning,) = caught
    assert f"Explicitly requested dtype {name} requested in zeros is not available" in str(warning.message)
    assert f"truncated to dtype {NARROW[name]}" in str(warning.message)
    assert "laminax_enable_x64" in str(warning.message)
    assert warning.filename == __file__
    with pytest.warns(UserWarning, match=f"requested dtype {name} is not available"):
        dtypes.check_user_dtype_supported(np.dtype(name))


def test_asking_for_what_there_is_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for form in (int, float, complex, bool, "float32", np.int8, dtypes.bfloat16, dtypes.float0):
            assert dtypes.check_user_dtype_supported(form) == dtypes.canonicalize_dtype(form)
        key = dtypes.key_dtype("threefry2x32")
        assert dtypes.check_user_dtype_supported(key) is key
        with config.enable_x64(True):
            assert dtypes.check_user_dtype_supported("int64") == np.dtype("int64")
    with pytest.raises(TypeError, match="zeros: Arrays cannot have the dtype object"):
        dtypes.check_user_dtype_supported(object, "zeros")


# --- the dtype of a value ---


class Level(enum.IntEnum):
    LOW = 1


class Aval:
    def __init__(self, dtype, weak_type):
        self.dtype, self.weak_type = dtype, weak_type


class Traced:
    def __init__(self, aval):
        self.aval = aval


VALUES = [
    # value, dtype, weakly typed, Python type of its kind
    (True, "bool", False, bool),
    (1, "int32", True, int),
    (2**40, "int32", True, int),
    (1.5, "float32", True, float),
    (1j, "complex64", True, complex),
    (Level.LOW, "int32", True, int),
    (np.bool_(True), "bool", False, bool),
    (np.int64(1), "int32", False, int),
    (np.float64(1), "float32", False, float),  # a Python float by inheritance, and yet not weak
    (np.complex128(1), "complex64", False, complex),
    (np.uint8(1), "uint8", False, int),
    (np.zeros((0, 2), np.uint64), "uint32", False, int),
    (np.zeros(2, ">f4"), "float32", False, float),
    (np.dtype("int16"), "int16", False, int),
    (np.float16, "float16", False, float),
    ("uint16", "uint16", False, int),
    (float, "float32", False, float),
    (Aval(np.dtype("float16"), True), "float16", True, float),
    (Traced(Aval(np.dtype("float64"), False)), "float64", False, float),  # made under x64, keeps its dtype
]


@pytest.mark.parametrize("value, name, weak, kind", VALUES, ids=lambda v: str(v)[:20])
def test_the_dtype_of_a_value(value, name, weak, kind):
    assert dtypes.dtype(value) == np.dtype(name)
    assert dtypes.is_weakly_typed(value) is weak
    assert dtypes.scalar_type_of(value) is kind


@pytest.mark.parametrize("bad", [None, [1], (1, 2), object()])
def test_values_without_a_dtype_are_refused(bad):
    with pytest.raises(TypeError, match="has no dtype. Convert it to an array first"):
        dtypes.dtype(bad)


def test_arrays_of_objects_and_strings_are_refused():
    for bad in (np.array([object()]), np.array(["a"]), np.str_("a")):
        with pytest.raises(TypeError, match="Arrays cannot have the dtype"):
            dtypes.dtype(bad)


def test_keys_have_their_dtype_and_no_scalar_type():
    key = dtypes.key_dtype("rbg")
    assert dtypes.dtype(key) is key
    assert dtypes.dtype(Traced(Aval(key, False))) is key
    with pytest.raises(TypeError, match="key<rbg>"):
        dtypes.scalar_type_of(key)


def test_python_scalars_are_told_from_numpys():
    assert all(dtypes.is_python_scalar(x) for x in (True, 1, 1.0, 1j, Level.LOW))
    assert not any(dtypes.is_python_scalar(x) for x in (np.float64(1), np.bool_(1), np.zeros(()), "1", None, int))


# --- Python scalars as arrays ---


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        (3, None, "int32"),
        (2**31 - 1, None, "int32"),
        (-(2**31), None, "int32"),
        (True, None, "bool"),
        (0.1, None, "float32"),
        (1j, None, "complex64"),
        (Level.LOW, None, "int32"),
        (7, "int4", "int4"),
        (255, np.uint8, "uint8"),
        (2**70, np.float32, "float32"),
        (np.float64(2), None, "float32"),
        ([1, 2], None, "int32"),
        ([1.0, 2.0], dtypes.bfloat16, "bfloat16"),
        (1, "int64", "int32"),
    ],
)
def test_coercion_to_an_array(value, dtype, expected):
    dtype = getattr(ml_dtypes, dtype, dtype) if isinstance(dtype, str) else dtype
    array = dtypes.coerce_to_array(value, dtype)
    assert array.dtype == np_dtype(expected)
    np.testing.assert_array_equal(array, np.asarray(value).astype(np_dtype(expected)))


@pytest.mark.parametrize(
    "value, dtype, holds",
    [
        (2**31, None, "int32, which holds -2147483648 to 2147483647"),
        (-(2**31) - 1, None, "int32"),
        (2**70, None, "int32"),
        (256, np.uint8, "uint8, which holds 0 to 255"),
        (-1, np.uint32, "uint32"),
    ],
)
def test_a_python_int_that_does_not_fit_is_an_overflow(value, dtype, holds):
    with pytest.raises(OverflowError, match=f"Python int {value} too large to convert to {holds}.*\\. Use "):
        dtypes.coerce_to_array(value, dtype)


@pytest.mark.parametrize("value, dtype, low_bits", [(8, "int4", -8), (2, "int2", -2), (-1, "uint2", 3), (300, "uint4", 12)])
def test_a_python_int_wraps_around_in_dtypes_of_less_than_8_bits(value, dtype, low_bits):
    array = dtypes.coerce_to_array(value, getattr(ml_dtypes, dtype))
    assert array.dtype == np_dtype(dtype) and int(array) == low_bits


def test_an_overflow_says_when_64_bit_types_would_help():
    with pytest.raises(OverflowError, match="enable 64-bit types"):
        dtypes.coerce_to_array(2**31)
    with config.enable_x64(True):
        assert dtypes.coerce_to_array(2**31).dtype == np.int64
        with pytest.raises(OverflowError, match="Use a float, or a dtype that holds it"):
            dtypes.coerce_to_array(2**63)


# --- the hierarchy ---

ABSTRACT = {
    "generic": ALL,
    "number": [n for n in ALL if n != "bool"],
    "inexact": ["float16", "float32", "float64", "complex64", "complex128", *ML_FLOATS],
    "floating": ["float16", "float32", "float64", *ML_FLOATS],
    "complexfloating": ["complex64", "complex128"],
    "integer": [n for n in ALL if "int" in n],
    "signedinteger": [n for n in ALL if n.startswith("int")],
    "unsignedinteger": [n for n in ALL if n.startswith("uint")],
    "extended": [],
    "prng_key": [],
}


@pytest.mark.parametrize("abstract", ABSTRACT)
def test_every_dtype_is_under_its_abstract_types(abstract):
    above = getattr(dtypes, abstract)
    for _ in range(2):  # the second time from memory
        for form in (np_dtype, lambda name: np_dtype(name).type):
            assert [name for name in ALL if dtypes.issubdtype(form(name), above)] == [
                name for name in ALL if name in ABSTRACT[abstract]
            ]


def test_issubdtype_agrees_with_numpy_on_numpys_types():
    types = [*map(np.dtype, NUMPY), *map(lambda n: np.dtype(n).type, NUMPY), *NUMPY, int, float, complex, bool]
    types += [getattr(dtypes, name) for name in ABSTRACT if hasattr(np, name)]
    for a in types:
        for b in types:
            assert dtypes.issubdtype(a, b) == np.issubdtype(a, b), (a, b)


def test_concrete_types_are_under_themselves_alone():
    for a in ALL:
        assert [b for b in ALL if dtypes.issubdtype(np_dtype(a), np_dtype(b))] == [a]


def test_key_dtypes_are_under_the_extended_types():
    fry, rbg = dtypes.key_dtype("threefry2x32"), dtypes.key_dtype("rbg")
    for above in (dtypes.prng_key, dtypes.extended, dtypes.generic, fry):
        assert dtypes.issubdtype(fry, above)
    for above in (dtypes.number, dtypes.integer, np.dtype("uint32"), rbg):
        assert not dtypes.issubdtype(fry, above)
    assert dtypes.issubdtype(dtypes.prng_key, dtypes.extended)
    assert not dtypes.issubdtype(np.dtype("float32"), dtypes.extended)
    assert not dtypes.issubdtype(np.dtype("float32"), fry)


def test_issubdtype_refuses_what_is_no_type():
    for bad in (3, [1], "floaty"):
        with pytest.raises(TypeError):
            dtypes.issubdtype(bad, dtypes.floating)


# --- limits ---

# (eps, max, bits) by the formats: with m mantissa bits, eps is 2**-m.
FORMATS = {
    "bfloat16": (2.0**-7, (2 - 2.0**-7) * 2.0**127, 16),
    "float8_e4m3fn": (2.0**-3, 448.0, 8),
    "float8_e5m2": (2.0**-2, 57344.0, 8),
    "float8_e4m3fnuz": (2.0**-3, 240.0, 8),
    "float8_e4m3b11fnuz": (2.0**-3, 30.0, 8),
    "float8_e3m4": (2.0**-4, 15.5, 8),
    "float4_e2m1fn": (2.0**-1, 6.0, 4),
    "float6_e2m3fn": (2.0**-3, 7.5, 6),
    "float6_e3m2fn": (2.0**-2, 28.0, 6),
}


@pytest.mark.parametrize("name", [n for n in FORMATS if hasattr(ml_dtypes, n)])
def test_finfo_of_the_small_formats(name):
    info = dtypes.finfo(getattr(ml_dtypes, name))
    assert (float(info.eps), float(info.max), info.bits) == FORMATS[name]


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
def test_finfo_of_numpys_formats(name):
    mine, numpys = dtypes.finfo(name), np.finfo(name)
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "smallest_subnormal", "dtype"):
        assert getattr(mine, field) == getattr(numpys, field)


@pytest.mark.parametrize("name", [n for n in ALL if "int" in n])
def test_iinfo_is_twos_complement(name):
    bits, info = int(name.lstrip("uint")), dtypes.iinfo(np_dtype(name))
    low, high = (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    assert (int(info.min), int(info.max), info.bits) == (low, high, bits)
    assert dtypes.bit_width(np_dtype(name)) == bits


def test_limits_are_refused_for_other_kinds():
    for bad in ("int32", "bool", dtypes.key_dtype("rbg")):
        with pytest.raises(ValueError, match="finfo: .* is not a floating-point or complex dtype"):
            dtypes.finfo(bad)
    for bad in ("float32", "bool", dtypes.bfloat16, dtypes.key_dtype("rbg")):
        with pytest.raises(ValueError, match="iinfo: .* is not an integer dtype"):
            dtypes.iinfo(bad)


def test_bits_per_element():
    expected = {"bool": 8, "float32": 32, "complex128": 128, "bfloat16": 16, "float4_e2m1fn": 4, "float8_e5m2": 8}
    for name, bits in expected.items():
        assert dtypes.bit_width(np_dtype(name)) == bits
    assert dtypes.bit_width(dtypes.key_dtype("threefry2x32")) == 64


# --- related dtypes ---


@pytest.mark.parametrize(
    "name, inexact, floating, complex_",
    [
        ("bool", "float32", "float32", "complex64"),
        ("uint8", "float32", "float32", "complex64"),
        ("int4", "float32", "float32", "complex64"),
        ("int32", "float32", "float32", "complex64"),
        ("int64", "float64", "float64", "complex128"),
        ("bfloat16", "bfloat16", "bfloat16", "complex64"),
        ("float16", "float16", "float16", "complex64"),
        ("float64", "float64", "float64", "complex128"),
        ("float8_e5m2", "float8_e5m2", "float8_e5m2", "complex64"),
        ("complex64", "complex64", "float32", "complex64"),
        ("complex128", "complex128", "float64", "complex128"),
    ],
)
def test_related_dtypes(name, inexact, floating, complex_):
    functions = (dtypes.to_inexact_dtype, dtypes.to_floating_dtype, dtypes.to_complex_dtype)
    with config.enable_x64(True):
        assert [f(np_dtype(name)) for f in functions] == [np_dtype(n) for n in (inexact, floating, complex_)]
    narrow = [np_dtype(NARROW.get(n, n)) for n in (inexact, floating, complex_)]
    assert [f(np_dtype(name)) for f in functions] == narrow


# --- names ---


def test_short_names():
    expected = {
        "bool": "bool", "int8": "i8", "int64": "i64", "uint8": "u8", "uint32": "u32", "float16": "f16",
        "float32": "f32", "float64": "f64", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
        "int4": "i4", "uint4": "u4", "float8_e4m3fn": "f8_e4m3fn", "float8_e5m2": "f8_e5m2",
        "float8_e4m3b11fnuz": "f8_e4m3b11fnuz", "float4_e2m1fn": "f4_e2m1fn", "float6_e3m2fn": "f6_e3m2fn",
    }  # fmt: skip
    for name, short in expected.items():
        assert dtypes.short_name(np_dtype(name)) == short
        assert dtypes.short_name(np_dtype(name).type) == short
    assert dtypes.short_name(dtypes.float0) == "float0"
    assert dtypes.short_name("float32") == "f32"
    assert len({dtypes.short_name(np_dtype(name)) for name in ALL}) == len(ALL)


def test_full_names():
    assert [dtypes.dtype_name(np_dtype(name)) for name in ALL] == ALL
    assert dtypes.dtype_name(dtypes.float0) == "float0"
    assert dtypes.dtype_name(dtypes.key_dtype("unsafe_rbg")) == "key<urbg>"
    assert dtypes.dtype_name(np.float32) == "float32"


# --- PRNG keys ---


@pytest.mark.parametrize(
    "impl, name, shape",
    [("threefry2x32", "key<fry>", (2,)), ("rbg", "key<rbg>", (4,)), ("unsafe_rbg", "key<urbg>", (4,)),
     ("philox2x32", "key<phx2>", (1,)), ("philox4x32", "key<phx4>", (2,)), ("threefry4x32", "key<fry4>", (4,))],
)
def test_key_dtypes(impl, name, shape):
    key = dtypes.key_dtype(impl)
    assert str(key) == repr(key) == key.name == dtypes.short_name(key) == name
    assert key.impl.name == impl
    assert key.impl.key_shape == key.physical_shape == shape
    assert key.itemsize == np.zeros(shape, key.physical_dtype).nbytes
    assert key.type is dtypes.prng_key
    assert dtypes.is_extended(key) and not dtypes.is_extended(key.physical_dtype)


def test_key_dtypes_are_equal_if_their_generators_are():
    fry, rbg = dtypes.key_dtype("threefry2x32"), dtypes.key_dtype("rbg")
    again = dtypes.KeyDType(dtypes.PRNGImpl("rbg", "rbg", (4,)))
    assert rbg == again and hash(rbg) == hash(again) and rbg is not again
    assert fry != rbg and fry != np.dtype("uint32") and np.dtype("uint32") != fry and fry != "key<fry>"
    assert len({fry, rbg, again}) == 2
    for duplicate in (pickle.loads(pickle.dumps(fry)), copy.copy(fry), copy.deepcopy(fry)):
        assert duplicate == fry


def test_key_dtypes_are_immutable_and_unknown_generators_refused():
    with pytest.raises(AttributeError, match="immutable"):
        dtypes.key_dtype("rbg").name = "key"
    with pytest.raises(
        ValueError, match="no PRNG implementation 'philox'. Use one of 'threefry2x32', 'rbg', 'unsafe_rbg', 'philox2x32'"
    ):
        dtypes.key_dtype("philox")


# --- the package ---


def test_the_modules_import_only_numpy_and_ml_dtypes():
    code = (
        "import sys, numpy, ml_dtypes; before = set(sys.modules)\n"
        "import laminax_ir.types.dtypes\n"
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    new = set(done.stdout.split())
    assert "laminax_ir" in new and not new & {"jax", "jaxlib", "scipy"}


def test_every_supported_dtype_has_its_scalar_type_here():
    for name in ALL:
        found = getattr(dtypes, "bool_" if name == "bool" else name)
        assert np.dtype(found) == np_dtype(name)
