"""The inspection functions of the array API standard."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

if not hasattr(np, "__array_namespace_info__"):
    pytest.skip("NumPy has these functions since 2.1", allow_module_level=True)

NUMPY = np.__array_namespace_info__()


@pytest.mark.parametrize("kind", [None, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
                                  "numeric", ("bool", "integral")])
def test_dtypes_are_those_of_numpy_with_64_bits(kind):
    info = jnp.__array_namespace_info__()
    expected = {name: np.dtype(dtype) for name, dtype in NUMPY.dtypes(kind=kind).items()}
    with laminax.enable_x64(True):
        assert info.dtypes(kind=kind) == expected
    assert info.dtypes(kind=kind) == {name: dtype for name, dtype in expected.items() if dtype.itemsize < 8 or name == "complex64"}


def test_defaults_and_devices():
    info = jnp.__array_namespace_info__()
    assert info.default_dtypes() == {"real floating": jnp.zeros(()).dtype, "complex floating": jnp.asarray(1j).dtype,
                                     "integral": jnp.arange(1).dtype, "indexing": jnp.argmax(jnp.zeros(1)).dtype}
    with laminax.enable_x64(True):
        assert info.default_dtypes() == NUMPY.default_dtypes()
    assert info.default_device() is None and info.devices() == [None, *laminax.devices()]
    assert info.capabilities().keys() == NUMPY.capabilities().keys()
    assert jnp.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError, match="no kind 'floats'"):
        info.dtypes(kind="floats")
    with pytest.raises(ValueError, match="no device 'somewhere'"):
        info.dtypes(device="somewhere")
