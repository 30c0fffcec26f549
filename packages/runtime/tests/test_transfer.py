"""Transfers keep values, types and immutability."""

import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import laminax_runtime as runtime
from laminax_ir.options import config
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.canonical_dtypes import float0
from laminax_runtime import device_get, device_put
from laminax_runtime.arrays import transfer


@pytest.mark.parametrize(
    "value, dtype, weak_type",
    [
        (True, "bool", False),
        (3, "int32", True),
        (2.5, "float32", True),
        (1j, "complex64", True),
        (np.float64(2), "float32", False),
        (np.int64(-2), "int32", False),
        (np.uint64(2), "uint32", False),
        (np.zeros(2), "float32", False),
        (np.zeros(2, np.complex128), "complex64", False),
        (ml_dtypes.bfloat16(2), "bfloat16", False),
        (np.zeros(2, ">f4"), "float32", False),
    ],
)
def test_types(value, dtype, weak_type):
    x = device_put(value)
    assert x.dtype == np.dtype(dtype) and x.weak_type is weak_type
    np.testing.assert_array_equal(np.asarray(x), np.asarray(value).astype(dtype))


@pytest.mark.parametrize("size", [3, 1000, 100_000])
@pytest.mark.parametrize("offset", [0, 1])
def test_arrays_do_not_change_with_their_source(size, offset):
    """Aligned NumPy arrays are what XLA would share; jaxlib's own default does."""
    memory = np.zeros(size + 32, np.float32)
    start = (-memory.ctypes.data // 4) % 16 + offset
    source = memory[start : start + size]
    frozen = source.view()
    frozen.flags.writeable = False  # read-only, but not for who holds `source`
    owner = np.zeros(size, np.float32)
    owner.flags.writeable = False  # read-only until its owner changes his mind
    arrays = [device_put(source), device_put(frozen), device_put(owner)]
    source[:] = 1
    owner.flags.writeable = True
    owner[:] = 1
    for x in arrays:
        assert not np.asarray(x).any()


def test_immutable_memory_is_shared():
    source = np.frombuffer(bytes(64 * 1024), np.float32)
    start = (-source.ctypes.data // 4) % 16
    aligned = source[start : start + 1024]
    assert device_put(aligned).unsafe_buffer_pointer() == aligned.ctypes.data


def test_a_source_is_let_go_when_python_collects_garbage():
    source = np.arange(10, dtype=np.int32)
    reference = weakref.ref(source)
    device_put(source).block_until_ready()
    del source
    gc.collect()
    assert reference() is None


def test_strided_and_subclassed_sources(rng):
    value = rng.normal(size=(6, 4)).astype(np.float32)
    for source in (value.T, value[::2, 1:], value[:, ::-1], value.view(np.recarray), value[:, :0]):
        np.testing.assert_array_equal(np.asarray(device_put(source)), np.asarray(source))


def test_an_array_that_is_there_already_is_itself():
    device = runtime.devices()[0]
    x = device_put(np.arange(3), device)
    assert device_put(x, device) is x and device_put(x, runtime.SingleDeviceSharding(device)) is x


def test_masked_arrays_are_refused():
    with pytest.raises(ValueError, match=r"numpy masked arrays are not supported.*x.filled\(value\)"):
        device_put(np.ma.array([1, 2], mask=[True, False]))


def test_aval_decides_type():
    from laminax_ir.types.avals import ShapedArray

    x = device_put(3, aval=ShapedArray((), np.dtype("float32"), True))
    assert x.dtype == np.float32 and x.weak_type and float(x) == 3
    assert not device_put(3, weak_type=False).weak_type


def test_device_get():
    value = np.arange(3)
    assert device_get(value) is value and device_get(2) == 2
    out = device_get(device_put(np.arange(3)))
    assert isinstance(out, np.ndarray) and out.tolist() == [0, 1, 2] and not out.flags.writeable


def test_float0_stays_with_numpy():
    zeros = np.zeros((2, 3), float0)
    assert device_put(zeros) is zeros


@pytest.mark.parametrize(
    "value", ["text", None, object(), [1, 2], np.array(["a"]), np.array([None]), np.datetime64("2020")]
)
def test_unsupported_values_are_named(value):
    with pytest.raises(runtime.UnsupportedValueError, match="cannot be put on a device") as error:
        device_put(value)
    assert isinstance(error.value, TypeError)
    assert type(value).__name__ in str(error.value) and repr(value)[:60] in str(error.value)


def test_integers_that_do_not_fit():
    with pytest.raises(OverflowError, match="too large to convert to int32"):
        device_put(2**40)
    with config.enable_x64(True):
        assert int(device_put(2**40)) == 2**40


def test_targets_that_are_none():
    with pytest.raises(TypeError, match="expected a device or a sharding, got 3 of type int"):
        device_put(1.0, 3)
    with pytest.raises(runtime.PlatformError, match="'nonsense' is"):
        device_put(1.0, "nonsense")


def test_64_bits_are_kept_where_the_program_has_them():
    """Whatever `enable_x64` says by then, and without sharing memory that the caller takes back."""
    x = np.arange(3, dtype=np.int64)
    for make in (lambda: transfer.put_exactly(x, ShapedArray((3,), np.int64)), lambda: transfer.copy_for_callback(x, runtime.devices()[0])):
        found = make()
        assert found.dtype == np.int64 and np.asarray(found).dtype == np.int64 and found.nbytes == 24
    x[0] = 9
    assert np.asarray(found)[0] == 0
    assert transfer.put_exactly(x, ShapedArray((3,), np.int32)).dtype == np.int32
