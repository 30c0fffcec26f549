"""The CPU's kernel for sorts: to the last bit what the rule for all platforms gives, and what the operation means in NumPy."""

import jaxlib
import ml_dtypes
import numpy as np
import pytest
from stablehlo_runner import run_text

from laminax_ir.ops import sorting as ops
from laminax_ir.ops.shape import broadcasted_iota
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

NAN, INF = np.nan, np.inf
HARD = np.array([NAN, 1, -INF, -NAN, 0, -0.0, 0, INF, 2.5, -3, -0.0, 1, 1e-40, -1e-40, -2.5], np.float32)  # denormals among them


def shuffled(values, shape, dtype):
    with np.errstate(all="ignore"):
        return np.random.default_rng(0).choice(np.asarray(values).astype(dtype), shape)


def has_denormals(x):
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x.astype(np.float64)]
    return any(np.any((part != 0) & (abs(part) < 1e-38)) for part in parts)


def check(fun, *args, is_taken=True):
    with enable_x64(True):
        closed = stage(lambda *xs: list(fun(*xs)), [get_aval(x) for x in args])
    text, general = lower(closed, cpu_kernels=True).text, lower(closed).text
    assert ("stablehlo.shift_left" in text) == is_taken and "stablehlo.shift_left" not in general
    expected = evaluate(closed, *args)
    for result, by_rule, by_numpy in zip(run_text(text, list(args)), run_text(general, list(args)), expected, strict=True):
        assert result.tobytes() == by_rule.tobytes()
        if not any(map(has_denormals, args)):  # XLA takes them for zeros, NumPy does not
            assert result.tobytes() == by_numpy.tobytes()


def with_positions(x, dimension=-1, **options):
    return ops.sort((x, broadcasted_iota(np.int32, x.shape, dimension % len(x.shape))), dimension, **options)


@pytest.mark.parametrize("values", [HARD, HARD[:12], [-0.0, 0], [NAN, -NAN, 1]], ids=["denormals", "no denormals", "zeros", "nans"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", ml_dtypes.bfloat16])
def test_floats(dtype, values):
    x = shuffled(values, 700, dtype)
    check(lambda x: [ops.sort(x), *with_positions(x)], x)


def test_payloads_of_nan_stay():
    words = np.random.default_rng(0).integers(0x7F800001, 0x7FFFFFFF, 600).astype(np.uint32)
    words[::2] |= np.uint32(0x80000000)
    check(lambda x: [ops.sort(x)], words.view(np.float32))


@pytest.mark.parametrize("shape, dimension", [((30, 40), 0), ((30, 40), 1), ((5, 2, 70), 1), ((3, 1001), 1)])
def test_axes(shape, dimension):
    x, y = shuffled(HARD[:12], shape, np.float32), np.random.default_rng(1).normal(size=shape)
    check(lambda x, y: [ops.sort(x, dimension), *with_positions(x, dimension), *ops.sort((x, y), dimension)], x, y)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int8", "uint8", "int64", "uint64", "bool"])
def test_positions_of_integers(dtype):
    info = np.iinfo(dtype) if dtype != "bool" else np.iinfo("uint8")
    x = shuffled([info.max, 0, info.min, 1, 5, info.max - 1], 700, dtype)
    check(lambda x: with_positions(x), x)


def test_complex_numbers_and_several_keys():
    z = np.empty(3000, np.complex64)
    z.real, z.imag = shuffled(HARD[:12], 3000, np.float32), shuffled(HARD[:12], (2, 3000), np.float32)[1]
    check(lambda z: with_positions(z), z)
    a, b, c = z.real.copy(), np.random.default_rng(2).integers(-3, 3, 3000).astype(np.int32), np.arange(3000, dtype=np.float32)
    check(lambda a, b, c: ops.sort((b, a, c), num_keys=2), a, b, c)


@pytest.mark.parametrize("x, num_keys", [
    (np.ones(100, np.float32), 1), (np.arange(1000, dtype=np.int32), 1), (np.ones((1000, 1), np.float32), 1),
    (np.ones(1000, np.complex128), 1)],
    ids=["few", "integers", "axis of one", "four digits"])
def test_what_is_left_to_the_rule(x, num_keys):
    check(lambda x: [ops.sort(x, num_keys=num_keys)], x, is_taken=False)


NEW = tuple(map(int, jaxlib.__version__.split(".")[:2])) >= (0, 12)


@pytest.mark.skipif(not NEW, reason="the compiler of jaxlib 0.10 sorts floating-point numbers by a comparator only")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape, dimension", [((700,), 0), ((5,), 0), ((30, 40), 0), ((7, 0), 0), ((3, 1001), 1), ((20_000,), 0)])
@pytest.mark.parametrize("values", [HARD, HARD[:12]], ids=["denormals", "no denormals"])
def test_floats_alone_are_sorted_in_place(dtype, shape, dimension, values):
    x = shuffled(values, shape, dtype)
    with enable_x64(True):
        closed = stage(lambda x: [ops.sort(x, dimension)], [get_aval(x)])
    text = lower(closed, cpu_kernels=True, has_new_cpu_compiler=True).text
    assert "stablehlo.select" not in text and "TOTALORDER" not in text
    (result,), (by_rule,) = run_text(text, [x]), run_text(lower(closed).text, [x])
    assert result.tobytes() == by_rule.tobytes()
    if not has_denormals(x):
        np.testing.assert_array_equal(result, np.sort(x, dimension))


@pytest.mark.skipif(not NEW, reason="the compiler of jaxlib 0.10 sorts floating-point numbers by a comparator only")
def test_payloads_of_nan_stay_where_they_are_sorted_in_place():
    words = np.random.default_rng(0).integers(0x7F800001, 0x7FFFFFFF, 600).astype(np.uint32)
    words[::2] |= np.uint32(0x80000000)
    x = words.view(np.float32)
    text = lower(stage(lambda x: [ops.sort(x)], [get_aval(x)]), cpu_kernels=True, has_new_cpu_compiler=True).text
    assert run_text(text, [x])[0].tobytes() == x.tobytes()


@pytest.mark.skipif(not NEW, reason="jaxlib 0.10.2 refuses what several threads work on in small kernels")
def test_positions_of_many_in_small_kernels():
    x = shuffled(HARD[:12], (50_000,), np.float32)
    closed = stage(lambda x: list(with_positions(x)), [get_aval(x)])
    text = lower(closed, cpu_kernels=True, has_new_cpu_compiler=True).text
    assert text.count('xla_cpu_small_call="true"') == 3
    for result, by_numpy in zip(run_text(text, [x]), evaluate(closed, x), strict=True):
        assert result.tobytes() == by_numpy.tobytes()


def test_small_sorts_have_small_kernels():
    text = lower(stage(lambda x: [ops.sort(x)], [get_aval(np.ones(1000, np.float32))]), cpu_kernels=True).text
    assert text.count('xla_cpu_small_call="true"') == 2
    text = lower(stage(lambda x: [ops.sort(x)], [get_aval(np.ones(10_000, np.float32))]), cpu_kernels=True).text
    assert "xla_cpu_small_call" not in text  # jaxlib 0.10.2 refuses what several threads work on there
