"""The StableHLO text of random bits."""

import numpy as np

from laminax_ir.ops import random_bits as ops
from laminax_ir.ops.elementwise import bitwise_xor
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

KEY = ShapedArray((), dtypes.key_dtype("threefry2x32"))


def text_of(fun, *avals):
    return lower(stage(lambda *xs: [fun(*xs)], avals)).text


def test_a_key_is_the_tensor_of_its_words():
    text = text_of(lambda k: ops.random_split(k, (3,)), KEY)
    main = next(line for line in text.splitlines() if "@main" in line)
    assert "%arg0: tensor<2xui32>" in main and "tensor<3x2xui32>" in main
    assert "tensor<4xui32>" in text_of(ops.random_clone, ShapedArray((), dtypes.key_dtype("rbg")))


def test_wrapping_is_free():
    text = text_of(lambda w: ops.random_unwrap(ops.random_wrap(w, impl="threefry2x32")), ShapedArray((2,), np.uint32))
    assert "stablehlo" not in text


def test_the_hash_is_one_function_per_shape():
    def draw(key):
        total = ops.random_bits(key, 32, (5,))
        for i in range(4):
            total = bitwise_xor(total, ops.random_bits(ops.random_fold_in(key, np.uint32(i)), 32, (5,)))
        return total

    text = text_of(draw, KEY)
    assert text.count("func.func private @threefry2x32_bits") == 1
    assert text.count("call @threefry2x32_bits(") == 5
    assert text.count("func.func private @threefry2x32(") + text.count("func.func private @threefry2x32_1(") == 2


def test_numbers_folded_into_keys_are_kept_out_of_the_cpu_s_kernels():
    def new_keys(key, keys):
        return [ops.random_fold_in(key, np.uint32(i)) for i in range(3)] + [ops.random_fold_in(keys, np.arange(4, dtype=np.uint32))]

    closed = stage(new_keys, [KEY, ShapedArray((4,), KEY.dtype)])
    text = lower(closed, platform="cpu").text
    assert text.count('inlineable = "false"') == 3
    assert text.count("optimization_barrier") == 3 + 4  # the numbers of single keys; the results
    assert 'inlineable' not in lower(closed, platform="cuda").text


def test_twenty_rounds():
    words = [ShapedArray((3,), np.uint32)] * 4
    text = lower(stage(lambda *xs: list(ops.threefry2x32(*xs)), words)).text
    assert text.count('"stablehlo.shift_left"') == text.count('"stablehlo.shift_right_logical"') == 20


def test_counters_are_sums_of_iotas():
    text = lower(stage(lambda: list(ops.iota_2x32_shape((2, 3))), [])).text
    assert "{iota_dimension = 0 : i64} : () -> tensor<2x3xui32>" in text and "iota_dimension = 1" in text
    assert "reshape" not in text and "ui64" not in text
    large = lower(stage(lambda: list(ops.iota_2x32_shape((2**20, 2**13))), [])).text
    assert '"stablehlo.shift_right_logical"' in large and "tensor<1048576x8192xui64>" in large


def test_generator():
    text = lower(stage(lambda s: list(ops.rng_bit_generator(s, (5,), algorithm=ops.RandomAlgorithm.RNG_PHILOX)),
                       [ShapedArray((4,), np.uint32)])).text
    assert "{rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui32>)" in text


def test_rows_of_three_or_four_words_come_out_of_memory_on_the_cpu():
    """Samples that a kernel computes together with the hash have other last bits there than JAX's."""
    def text(shape, platform):
        return lower(stage(lambda k: [ops.random_bits(k, 32, shape)], [KEY]), platform=platform).text

    barrier = "stablehlo.optimization_barrier"
    assert all(barrier in text(shape, "cpu") for shape in [(24, 4), (8, 3), (2, 5, 3)])
    assert not any(barrier in text(shape, "cpu") for shape in [(4,), (24, 5), (4, 24), (3, 3, 16)])
    assert barrier not in text((24, 4), "cuda")


def test_a_thousand_words_come_out_of_memory_on_the_cpu():
    """A kernel with the hash and what reads it takes longer to compile than two; of many words it is faster."""
    def has_barrier(count, platform):
        text = lower(stage(lambda k: [ops.random_bits(k, 32, (count,))], [KEY]), platform=platform).text
        return "stablehlo.optimization_barrier" in text

    assert has_barrier(1000, "cpu") and not has_barrier(1000, "cuda")
    assert not has_barrier(20, "cpu") and not has_barrier(100_000, "cpu")
