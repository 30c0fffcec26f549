"""Arrays behave as NumPy's do where both can, and say clearly where they cannot."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import laminax_runtime as runtime
from laminax_ir.options import config
from laminax_runtime import DeletedArrayError, device_put
from laminax_runtime.arrays import dlpack


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0, 3), (2, 3), (1, 5, 7)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64", "bfloat16", "int4", "float8_e4m3fn"])
def test_value_and_metadata_agree_with_numpy(rng, shape, dtype):
    expected = np.asarray(rng.integers(0, 2, size=shape)).astype(dtype)
    x = device_put(expected)
    np.testing.assert_array_equal(np.asarray(x), expected)
    for name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(x, name) == getattr(expected, name), name
    assert x.tolist() == expected.tolist()
    assert not x.weak_type
    assert x.aval.shape == shape and x.aval.dtype == expected.dtype


def test_repr():
    assert repr(device_put(np.array([1.0, 2.0]))) == "Array([1., 2.], dtype=float32)"
    assert repr(device_put(2.5)) == "Array(2.5, dtype=float32, weak_type=True)"
    assert repr(device_put(True)) == "Array(True, dtype=bool)"
    assert repr(device_put(np.zeros((0, 3), np.int32))) == "Array([], shape=(0, 3), dtype=int32)"
    assert repr(device_put(np.eye(2, dtype=np.int8))) == "Array([[1, 0],\n       [0, 1]], dtype=int8)"
    assert repr(device_put(np.array([1, 2], ml_dtypes.bfloat16))) == "Array([1, 2], dtype=bfloat16)"
    long = repr(device_put(np.arange(10_000, dtype=np.int32)))
    assert long == "Array([   0,    1,    2, ..., 9997, 9998, 9999], dtype=int32)"


def test_repr_sets_the_dtype_off_when_the_last_line_is_full():
    with np.printoptions(linewidth=40):
        assert repr(device_put(np.arange(8, dtype=np.float32))) == "Array([0., 1., 2., 3., 4., 5., 6., 7.],      dtype=float32)"
        assert repr(device_put(np.arange(3, dtype=np.float32))) == "Array([0., 1., 2.], dtype=float32)"


def test_str_and_format():
    x = device_put(np.array([1.0, 2.0]))
    assert str(x) == "[1. 2.]"
    assert f"{device_put(3.14159):.2f}" == "3.14"
    assert f"{x}" == "[1. 2.]"


def test_conversions_to_python_scalars():
    assert int(device_put(7)) == 7
    assert float(device_put(2.5)) == 2.5
    assert complex(device_put(1 + 2j)) == 1 + 2j
    assert bool(device_put(np.array([[True]])))
    assert [10, 20, 30][device_put(1)] == 20
    assert device_put(np.arange(6).reshape(2, 3)).item(4) == 4
    with pytest.raises(TypeError, match="Only scalar arrays can be converted to Python scalars; got arr.ndim=1, shape \\(2,\\)"):
        float(device_put(np.zeros(2)))
    with pytest.raises(TypeError, match="Only integer scalar arrays can be converted to a scalar index"):
        range(device_put(1.0))
    with pytest.raises(TypeError, match="len\\(\\) of unsized object"):
        len(device_put(1.0))
    assert len(device_put(np.zeros((4, 2)))) == 4


@pytest.mark.parametrize("size", [2, 0])
def test_truth_value_is_refused_in_numpys_words(size):
    with pytest.raises(ValueError) as ours:
        bool(device_put(np.zeros(size)))
    if size or np.lib.NumpyVersion(np.__version__) >= "2.2.0":  # before, an empty array was false
        with pytest.raises(ValueError) as of_numpy:
            bool(np.zeros(size))
        assert str(ours.value) == str(of_numpy.value)


def test_hash_is_refused():
    with pytest.raises(TypeError, match="unhashable type"):
        hash(device_put(1))


def test_numpy_views_cannot_write():
    x = device_put(np.zeros(3))
    for view in (np.asarray(x), x._value):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1
        with pytest.raises(ValueError):
            view.flags.writeable = True
    mine = np.array(x)
    mine[0] = 1  # a copy is the caller's own
    assert np.asarray(x)[0] == 0
    assert np.asarray(x, dtype=np.float64).dtype == np.float64


def test_deleted_arrays_say_so():
    x = device_put(np.zeros((2, 3)))
    x.delete()
    assert x.is_deleted()
    for use in (lambda: repr(x), lambda: str(x), lambda: f"{x}", lambda: x._value, lambda: bool(x), x.devices, lambda: device_put(x),
                lambda: x.__dlpack__()):
        with pytest.raises(DeletedArrayError, match=r"Array has been deleted with shape=float32\[2,3\]"):
            use()
    with pytest.raises(RuntimeError, match="deleted"):
        x.block_until_ready()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int4"])
def test_pickle_and_copy(dtype):
    for x in (device_put(np.array([[1, 0], [0, 1]], dtype)), device_put(2.5)):
        for twin in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
            assert type(twin) is type(x) and twin.aval is x.aval
            np.testing.assert_array_equal(np.asarray(twin), np.asarray(x))
    twin = copy.copy(x)
    x.delete()
    assert float(twin) == 2.5  # the copy has memory of its own


def test_isinstance():
    x = device_put(1.0)
    assert isinstance(x, runtime.Array) and not isinstance(np.zeros(1), runtime.Array)
    assert issubclass(type(x), runtime.Array)

    class Traced:
        pass

    assert not isinstance(Traced(), runtime.Array)
    runtime.register_array_type(Traced)
    assert isinstance(Traced(), runtime.Array)
    with pytest.raises(TypeError, match="Array cannot be called"):
        runtime.Array()


def test_install_array_methods_refuses_a_name_twice():
    runtime.install_array_methods({"_twice_for_test": lambda self: 2})
    assert device_put(1.0)._twice_for_test() == 2
    with pytest.raises(ValueError, match="already has _twice_for_test"):
        runtime.install_array_methods({"_twice_for_test": lambda self: 3, "_never_for_test": lambda self: 3})
    assert not hasattr(device_put(1.0), "_never_for_test")
    with pytest.raises(ValueError, match="already has shape"):
        runtime.install_array_methods({"shape": property(lambda self: ())})


def aligned(values):
    """A NumPy array at a multiple of 64 bytes, which XLA takes without a copy."""
    memory = np.zeros(values.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start:start + values.nbytes].view(values.dtype)
    array[...] = values
    return array


def test_dlpack_of_types_that_are_not_ours():
    wide = aligned(np.arange(3, dtype=np.float64))
    narrow = runtime.from_dlpack(wide)
    assert narrow.dtype == np.float32 and narrow.tolist() == [0, 1, 2] and not narrow.committed
    assert runtime.from_dlpack(np.arange(3), device=runtime.devices()[0]).dtype == np.int32
    with pytest.raises(BufferError, match="copy=False forbids the conversion from float64 to float32.*enable_x64"):
        runtime.from_dlpack(wide, copy=False)
    with config.enable_x64(True):
        shared = runtime.from_dlpack(wide, copy=False)
        assert shared.dtype == np.float64 and shared.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "name, is_supported",
    [("bool", True), ("float32", True), ("complex64", True), ("bfloat16", True), ("int4", False)],
)
def test_dlpack_dtypes(name, is_supported):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    array = device_put(np.zeros(2, dtype))
    assert dlpack.is_supported_dtype(dtype) == is_supported
    if is_supported:
        assert runtime.from_dlpack(array).dtype == dtype
    else:
        with pytest.raises(BufferError, match=r"i4\[2\] cannot be shared"):
            array.__dlpack__()


def test_dlpack_both_ways():
    x = device_put(np.arange(6.0).reshape(2, 3))
    assert x.__dlpack_device__() == (1, 0)
    view = np.from_dlpack(x)
    np.testing.assert_array_equal(view, np.asarray(x))
    assert view.ctypes.data == x.unsafe_buffer_pointer()
    y = runtime.from_dlpack(np.arange(3, dtype=np.float32))
    assert y.dtype == np.float32 and y.shape == (3,) and y.tolist() == [0, 1, 2]
    assert runtime.from_dlpack(x).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    assert runtime.from_dlpack(x, copy=True).unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    with pytest.raises(TypeError, match="from_dlpack: a list has no __dlpack__"):
        runtime.from_dlpack([1, 2])


def test_dlpack_makes_no_copy_where_none_is_allowed():
    memory = aligned(np.zeros(9, np.float32))
    assert runtime.from_dlpack(memory[:8], copy=False).unsafe_buffer_pointer() == memory.ctypes.data
    unaligned = memory[1:]
    with pytest.raises(ValueError, match="from_dlpack: the input requires a copy, since its memory is not aligned to 64 bytes"):
        runtime.from_dlpack(unaligned, copy=False)
    for copied in (runtime.from_dlpack(unaligned), runtime.from_dlpack(unaligned, copy=True)):
        assert copied.unsafe_buffer_pointer() != unaligned.ctypes.data and copied.tolist() == [0] * 8


def test_memory_and_readiness():
    x = device_put(np.zeros((4, 5), np.float32))
    assert x.on_device_size_in_bytes() >= x.nbytes == 80
    assert x.block_until_ready() is x
    x.copy_to_host_async()
    assert x.is_ready()
    runtime.block_until_ready([x, 3, np.zeros(2)])


def test_shards_of_a_single_device_array():
    x = device_put(np.arange(3.0))
    (shard,) = x.addressable_shards
    assert shard.device in x.devices() and shard.index == (slice(None),) and shard.replica_id == 0
    np.testing.assert_array_equal(np.asarray(shard.data), np.arange(3.0))
    assert [s.device for s in x.global_shards] == [shard.device]
    assert x.is_fully_addressable and x.is_fully_replicated and not x.committed
    assert x.device == shard.device


def test_float64_where_enabled():
    with config.enable_x64(True):
        assert device_put(np.zeros(2)).dtype == np.float64
        assert device_put(1).dtype == np.int64
    assert device_put(np.zeros(2)).dtype == np.float32
