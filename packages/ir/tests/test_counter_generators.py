"""Philox and Threefry-4x32: the hashes against published vectors, keys and draws against the NumPy meaning and each other.

The vectors are those of Random123 (kat_vectors): a counter and a key of zeros, of ones, and of the digits of pi.
"""

import numpy as np
import pytest

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import random_bits as ops
from laminax_ir.options import config
from laminax_ir.random.counter_generators import _philox2x32, _philox4x32, _threefry4x32
from laminax_ir.random.generators import word_program
from laminax_ir.recording.staging import stage
from laminax_ir.reference import counter_generators as reference
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray

IMPLS = ("philox2x32", "philox4x32", "threefry4x32")
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89)
U32 = ShapedArray((), np.dtype(np.uint32))
VECTORS = {
    "philox2x32": ((0xFF1DAE59, 0x6CD10DF2), (0x2C3F628B, 0xAB4FD7AD), (0xDD7CE038, 0xF62A4C12)),
    "philox4x32": ((0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
                   (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
    "threefry4x32": ((0x9C6CA96A, 0xE17EAE66, 0xFC10ECD4, 0x5256A7D8), (0x2A881696, 0x57012287, 0xF6C7446E, 0xA16A6732),
                     (0x59CD1DBB, 0xB8879579, 0x86B5D00C, 0xAC8B6D84)),
}


@pytest.mark.parametrize("impl, mix", [("philox2x32", _philox2x32), ("philox4x32", _philox4x32), ("threefry4x32", _threefry4x32)])
def test_the_hashes_give_the_published_vectors(impl, mix):
    size, (key_size,) = len(VECTORS[impl][0]), dtypes.key_dtype(impl).impl.key_shape
    program = stage(lambda *words: mix(list(words[:key_size]), list(words[key_size:])), [U32] * (key_size + size))
    for fill, expected in zip(((0,) * 8, (2**32 - 1,) * 8, PI), VECTORS[impl]):
        counter, key = np.array(fill[:size], np.uint32), np.array(fill[size:size + key_size], np.uint32)
        assert tuple(map(int, evaluate(program, *key, *counter))) == expected
        assert tuple(map(int, getattr(reference, impl)(key, counter[None])[0])) == expected


@pytest.mark.parametrize("impl", IMPLS)
def test_programs_of_words_mean_what_numpy_computes(impl):
    (size,) = dtypes.key_dtype(impl).impl.key_shape
    words = np.random.default_rng(0).integers(0, 2**32, (2, 3, size), dtype=np.uint32)
    keys = ShapedArray((2, 3), dtypes.key_dtype(impl))
    data = np.array([5, 2**32 - 1, 0], np.uint32)

    def by_key(function, shape, dtype=np.uint32):
        return np.array([function(key) for key in words.reshape(-1, size)], dtype).reshape(2, 3, *shape)

    for shape in ((), (4,), (2, 0, 3)):
        got = evaluate(word_program(ops.random_split_p, [keys], {"shape": shape}), words)[0]
        np.testing.assert_array_equal(got, by_key(lambda k, s=shape: reference.split(impl, k, s), (*shape, size)))
    three = ShapedArray((3,), keys.dtype), ShapedArray((3,), data.dtype)
    got = evaluate(word_program(ops.random_fold_in_p, three, {}), words[0], data)[0]
    np.testing.assert_array_equal(got, [reference.folded(impl, key, int(d)) for key, d in zip(words[0], data)])
    for width in (8, 16, 32, 64):
        with config.enable_x64(width == 64):
            got = evaluate(word_program(ops.random_bits_p, [keys], {"bit_width": width, "shape": (5,)}), words)[0]
        assert got.dtype == f"uint{width}"
        np.testing.assert_array_equal(got, by_key(lambda k, w=width: reference.bits(impl, k, w, (5,)), (5,), got.dtype))


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("seed, x64", [(0, False), (7, False), (-1, False), (2**40 + 9, True), (-3, True)])
def test_seeds(impl, seed, x64):
    with config.enable_x64(x64):
        dtype = np.dtype(np.int64 if x64 else np.int32)
        key = evaluate(word_program(ops.random_seed_p, [ShapedArray((), dtype)], {"impl": dtypes.key_dtype(impl).impl}),
                       dtype.type(seed))[0]
    np.testing.assert_array_equal(key, reference.seeded(impl, seed % 2 ** (64 if x64 else 32)))


@pytest.mark.parametrize("impl", IMPLS[1:])
def test_new_keys_and_draws_are_hashes_of_other_counters(impl):
    """Were both counted in the same words, what was drawn with a key would tell the keys that are split from it."""
    key = PRNGKeyArray(impl, reference.seeded(impl, 3))
    new = np.asarray(ops.random_split(key, (200,)).base)
    assert len(np.unique(new, axis=0)) == 200
    assert not set(new.ravel().tolist()) & set(np.asarray(ops.random_bits(key, 32, (200,))).tolist())
