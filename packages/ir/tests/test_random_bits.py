"""Random bits: published vectors, the numbers that current JAX gives, and one meaning stated twice.

The recorded numbers were made once, by hand, with JAX 0.10.2 on a CPU, from the key of seed 0.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import random_bits as ops
from laminax_ir.options import config
from laminax_ir.random.generators import threefry_program, word_program
from laminax_ir.recording.staging import stage
from laminax_ir.reference.counter_generators import philox4x32
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval

IMPLS = ("threefry2x32", "rbg", "unsafe_rbg")
FRY = dtypes.key_dtype("threefry2x32")


def key(seed: int = 0, impl: str = "threefry2x32"):
    return ops.random_seed(seed, impl)


# --- published vectors ---

# Random123's kat_vectors, threefry2x32 with 20 rounds: counter, key, result.
THREEFRY_VECTORS = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]
# The same file, philox4x32 with 10 rounds.
PHILOX_VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


@pytest.mark.parametrize("counter, words, expected", THREEFRY_VECTORS)
def test_threefry_known_answers(counter, words, expected):
    result = ops.threefry2x32(*map(np.uint32, (*words, *counter)))
    assert tuple(map(int, result)) == expected


def test_threefry_works_on_arrays_and_broadcasts_scalars():
    counters, words, expected = map(np.uint32, zip(*THREEFRY_VECTORS))
    np.testing.assert_array_equal(np.stack(ops.threefry2x32(*words.T, *counters.T), -1), expected)
    first = np.stack(ops.threefry2x32(np.uint32(0), np.uint32(0), counters[:, 0], counters[:, 1]), -1)
    np.testing.assert_array_equal(first[0], expected[0])


@pytest.mark.parametrize("counter, words, expected", PHILOX_VECTORS)
def test_philox_known_answers(counter, words, expected):
    assert tuple(map(int, philox4x32(np.uint32(words), np.uint32([counter]))[0])) == expected


# --- the numbers of current JAX ---

RECORDED = {
    ("default", "threefry2x32"): {
        "split": [[1797259609, 2579123966], [928981903, 3453687069]],
        "split 2x3": [[[1797259609, 2579123966], [928981903, 3453687069], [4146024105, 2718843009]],
            [[2467461003, 3840466878], [2285895361, 433833334], [1524306142, 1887795613]]],
        "fold_in 7": [2716826189, 292468403],
        "bits 8": [167, 146, 40, 53, 183],
        "bits 16": [20391, 13970, 3624, 43061, 15287],
        "bits 32": [4070199207, 4202968722, 1427181096, 2012915765, 2447653815],
        "bits 32 2x3": [[4070199207, 4202968722, 1427181096], [2012915765, 2447653815, 710830403]],
        "bits 32 scalar": 4070199207,
        "keys bits": [[3617712097, 783310428], [31327077, 89727312], [3875991361, 3918267949]],
        "keys split": [[[4165894930, 804218099], [1353695780, 2116000888]], [[346279018, 360566543],
            [3968330031, 3923691647]], [[2799984767, 1105366846], [3777617834, 145086855]]],
        "keys fold_in data": [[4165894930, 804218099], [3968330031, 3923691647], [915694800, 1641710144]],
        "keys fold_in 1": [[1353695780, 2116000888], [3968330031, 3923691647], [3777617834, 145086855]],
        "fold_in data": [[1797259609, 2579123966], [928981903, 3453687069], [4146024105, 2718843009]],
        "bits 8 3x5": [[167, 146, 40, 53, 183], [67, 125, 254, 99, 214], [13, 141, 169, 82, 11]],
        "bits 16 3x5": [[20391, 13970, 3624, 43061, 15287], [26947, 60029, 52478, 6499, 40406], [9997, 60813, 51369, 33618,
            57611]],
        "bits 32 3x5": [[4070199207, 4202968722, 1427181096, 2012915765, 2447653815], [710830403, 1332275837, 2961296638,
            3207338339, 734502358], [4232062733, 108588429, 2748958889, 2416739154, 3862094091]],
        "bits 8 scalar": 167,
        "bits 16 scalar": 20391,
        "fold_in 0": [1797259609, 2579123966],
        "fold_in 4294967295": [743310391, 3789761811],
        "seed 42": [0, 42],
        "seed -1": [0, 4294967295],
        "seed 2147483647": [0, 2147483647],
    },
    ("default", "rbg"): {
        "bits 8": [213, 141, 76, 216, 164],
        "bits 16": [59605, 50573, 44108, 56280, 52388],
        "bits 32": [1713891541, 3781805453, 3159862348, 2600524760, 4175744164],
        "bits 32 2x3": [[1713891541, 3781805453, 3159862348], [2600524760, 4175744164, 1555169499]],
        "keys bits": [[132991142, 1711370325], [2756298552, 622686569], [1540221606, 2998426742]],
        "bits 8 3x5": [[213, 141, 76, 216, 164], [219, 235, 103, 41, 166], [173, 228, 41, 166, 79]],
        "bits 16 3x5": [[59605, 50573, 44108, 56280, 52388], [219, 29931, 65383, 41769, 12966], [5037, 13796, 61225, 29862,
            4943]],
        "bits 32 3x5": [[1713891541, 3781805453, 3159862348, 2600524760, 4175744164], [1555169499, 2980410603, 159317863,
            83534633, 1372009126], [605361069, 1167144420, 3381718825, 1782871206, 2596868943]],
        "bits 8 scalar": 213,
        "bits 16 scalar": 59605,
        "bits 32 scalar": 1713891541,
        "fold_in 0": [1797259609, 2579123966, 1797259609, 2579123966],
        "fold_in 4294967295": [743310391, 3789761811, 743310391, 3789761811],
        "seed 42": [0, 42, 0, 42],
        "seed -1": [0, 4294967295, 0, 4294967295],
        "seed 2147483647": [0, 2147483647, 0, 2147483647],
    },
    ("default", "unsafe_rbg"): {
        "split": [[1713891541, 3781805453, 3159862348, 2600524760], [3614953066, 3503513258, 724076422,
            3372229774]],
        "split 2x3": [[[1713891541, 3781805453, 3159862348, 2600524760], [3614953066, 3503513258, 724076422,
            3372229774], [1393889421, 2738237077, 2849386114, 3441723459]], [[2086163448, 3390768380,
            1619075644, 4097201869], [894504322, 2241055792, 886472086, 2566139482], [389788960, 747087908,
            1412649825, 1255715256]]],
        "fold_in 7": [2104303640, 250182027, 1106406590, 1983638454],
        "keys bits": [[1363499890, 2071210588], [994584522, 3067681870], [3985361151, 2457012626]],
        "keys split": [[[1363499890, 2071210588, 994584522, 3067681870], [679632436, 2539423104, 2635650622,
            1271404966]], [[3506853183, 3528784731, 4129429673, 3242405926], [3164700266, 2200036853,
            3179645184, 3843145704]], [[1831918386, 2996999814, 3886638908, 2476943093], [3118080356,
            1727253169, 1527457612, 3418963440]]],
        "keys fold_in data": [[4040092009, 3417568823, 1311586161, 2147625738], [2005916347, 3910174823,
            682857461, 1395807302], [1385568077, 3462986388, 4001087074, 427999768]],
        "keys fold_in 1": [[803197916, 2028698422, 104381866, 118681118], [2660234595, 1230102545, 2437387872,
            1427247432], [451750788, 984911918, 330907492, 1362541957]],
        "fold_in data": [[2531852732, 718943162, 4068121405, 453177554], [2700612817, 969135821, 60494963,
            2586996936], [25364416, 1834931201, 1202557152, 3567667803]],
        "bits 8 3x5": [[213, 141, 76, 216, 164], [219, 235, 103, 41, 166], [173, 228, 41, 166, 79]],
        "bits 16 3x5": [[59605, 50573, 44108, 56280, 52388], [219, 29931, 65383, 41769, 12966], [5037, 13796, 61225, 29862,
            4943]],
        "bits 32 3x5": [[1713891541, 3781805453, 3159862348, 2600524760, 4175744164], [1555169499, 2980410603, 159317863,
            83534633, 1372009126], [605361069, 1167144420, 3381718825, 1782871206, 2596868943]],
        "bits 8 scalar": 213,
        "bits 16 scalar": 59605,
        "bits 32 scalar": 1713891541,
        "fold_in 0": [2531852732, 718943162, 4068121405, 453177554],
        "fold_in 4294967295": [3646892568, 2991114426, 1017510186, 181544407],
        "seed 42": [0, 42, 0, 42],
        "seed -1": [0, 4294967295, 0, 4294967295],
        "seed 2147483647": [0, 2147483647, 0, 2147483647],
    },
    ("enable_x64", "threefry2x32"): {
        "bits 64": [7719171245655871230, 3989946895414531357, 17807037942121513089, 10597664315880824766,
            9817845818006947190],
        "seed -1": [4294967295, 4294967295],
        "seed 2**40+5": [256, 5],
        "bits 64 3x5": [[7719171245655871230, 3989946895414531357, 17807037942121513089, 10597664315880824766,
            9817845818006947190], [6546845030869727645, 16288640597993196079, 11668679630963783347, 9846873402219628115,
            3535390102380848967], [15756778092345652540, 1096461385108259935, 11868482256730102034, 18337376427042140646,
            11105209520139223091]],
        "bits 64 scalar": 7719171245655871230,
        "seed 2**63-1": [2147483647, 4294967295],
        "seed -2**63": [2147483648, 0],
    },
    ("enable_x64", "rbg"): {
        "bits 64": [16242730742183356629, 11169168799798111308, 6679402142117448868, 684265014234019051,
            5892734326067077929],
        "seed -1": [4294967295, 4294967295, 4294967295, 4294967295],
        "seed 2**40+5": [256, 5, 256, 5],
        "bits 64 3x5": [[16242730742183356629, 11169168799798111308, 6679402142117448868, 684265014234019051,
            5892734326067077929], [5012847114214249389, 7657373526131797801, 7872641813117997903, 12795836425052210004,
            16915235817485461180], [511886651086640123, 6557199171514225562, 14893558121450392568, 637065424472824604,
            784853886890614065]],
        "bits 64 scalar": 16242730742183356629,
        "seed 2**63-1": [2147483647, 4294967295, 2147483647, 4294967295],
        "seed -2**63": [2147483648, 0, 2147483648, 0],
    },
    ("original", "threefry2x32"): {
        "split": [[4146024105, 967050713], [2718843009, 1272950319]],
        "split 2x3": [[[3792494674, 582972539], [2883479965, 3114868201], [1492792183, 3245818218]],
            [[2909014575, 82862454], [1782947029, 692041252], [1067690106, 2610540821]]],
        "fold_in 7": [2716826189, 292468403],
        "bits 8": [143, 35, 95, 55, 29],
        "bits 16": [20137, 63263, 64300, 20622, 16513],
        "bits 32": [2467461003, 428148500, 1688610540, 3840466878, 2562233961],
        "bits 32 2x3": [[2467461003, 428148500, 3186719485], [3840466878, 2562233961, 1946702221]],
        "keys bits": [[1985056621, 1992012105], [3851849748, 2075022713], [2515327004, 1284931425]],
        "keys split": [[[3574170082, 2412527398], [1704566554, 3503162380]], [[1530262840, 2749925033],
            [2167097895, 1933864296]], [[2338022071, 1108999154], [1694077080, 732156480]]],
        "bits 8 3x5": [[169, 78, 31, 247, 217], [5, 164, 57, 129, 64], [14, 162, 47, 174, 223]],
        "bits 16 3x5": [[65217, 34879, 7360, 22915, 42187], [23172, 1727, 62419, 50550, 6619], [31291, 64419, 60719, 12804,
            28937]],
        "bits 32 3x5": [[2292653872, 4174357202, 2646725894, 3731661025, 2709833381], [877817354, 3184928187, 645374554,
            931858003, 1395580008], [3159319543, 3403909611, 1595590687, 561027531, 207801998]],
        "bits 8 scalar": 89,
        "bits 16 scalar": 345,
        "bits 32 scalar": 1797259609,
        "fold_in 0": [1797259609, 2579123966],
        "fold_in 4294967295": [743310391, 3789761811],
    },
    ("enable_x64", "unsafe_rbg"): {
        "bits 64": [16242730742183356629, 11169168799798111308, 6679402142117448868, 684265014234019051,
            5892734326067077929],
        "bits 64 3x5": [[16242730742183356629, 11169168799798111308, 6679402142117448868, 684265014234019051,
            5892734326067077929], [5012847114214249389, 7657373526131797801, 7872641813117997903, 12795836425052210004,
            16915235817485461180], [511886651086640123, 6557199171514225562, 14893558121450392568, 637065424472824604,
            784853886890614065]],
        "bits 64 scalar": 16242730742183356629,
        "seed 2**63-1": [2147483647, 4294967295, 2147483647, 4294967295],
        "seed -2**63": [2147483648, 0, 2147483648, 0],
    },
    ("original", "rbg"): {
        "bits 32 3x5": [[1713891541, 3781805453, 3159862348, 2600524760, 4175744164], [1555169499, 2980410603, 159317863,
            83534633, 1372009126], [605361069, 1167144420, 3381718825, 1782871206, 2596868943]],
        "fold_in 0": [1797259609, 2579123966, 1797259609, 2579123966],
        "fold_in 4294967295": [743310391, 3789761811, 743310391, 3789761811],
    },
    ("original", "unsafe_rbg"): {
        "bits 32 3x5": [[1713891541, 3781805453, 3159862348, 2600524760, 4175744164], [1555169499, 2980410603, 159317863,
            83534633, 1372009126], [605361069, 1167144420, 3381718825, 1782871206, 2596868943]],
        "fold_in 0": [2531852732, 718943162, 4068121405, 453177554],
        "fold_in 4294967295": [3646892568, 2991114426, 1017510186, 181544407],
    },
    ("original64", "threefry2x32"): {
        "bits 64": [6546845030869727645, 11145505997521511287, 7887538918663226027, 4254113931155465902,
            6084817734820532975],
        "bits 64 2x3": [[16288640597993196079, 2503847989553946998, 12384452150129171669], [13378257055337395748,
            6411493606777137274, 13940683097681539349]],
        "bits 64 scalar": 3989946895414531357,
    },
}

MODES = {"default": {}, "enable_x64": {"enable_x64": True}, "original": {"threefry_partitionable": False},
         "original64": {"threefry_partitionable": False, "enable_x64": True}}


class mode:
    """Context manager: sets the options of one of MODES for this thread."""

    def __init__(self, name: str):
        self.options = [getattr(config, option)(value) for option, value in MODES[name].items()]

    def __enter__(self):
        for option in self.options:
            option.__enter__()

    def __exit__(self, *exc):
        for option in reversed(self.options):
            option.__exit__(*exc)


def quantity(name: str, impl: str):
    """Computes what a name of RECORDED says."""
    one, data = key(0, impl), np.arange(3, dtype=np.uint32)
    three = ops.random_split(one, (3,))
    match name.split():
        case ["split", *shape]:
            return ops.random_unwrap(ops.random_split(one, (2, 3) if shape else (2,)))
        case ["fold_in", "data"]:
            return ops.random_unwrap(ops.random_fold_in(one, data))
        case ["fold_in", number]:
            return ops.random_unwrap(ops.random_fold_in(one, np.uint32(int(number))))
        case ["bits", width, *shape]:
            return ops.random_bits(one, int(width), {"2x3": (2, 3), "3x5": (3, 5), "scalar": ()}[shape[0]] if shape else (5,))
        case ["seed", seed]:
            return ops.random_unwrap(key(eval(seed), impl))
        case ["keys", "bits"]:
            return ops.random_bits(three, 32, (2,))
        case ["keys", "split"]:
            return ops.random_unwrap(ops.random_split(three, (2,)))
        case ["keys", "fold_in", "data"]:
            return ops.random_unwrap(ops.random_fold_in(three, data))
        case ["keys", "fold_in", "1"]:
            return ops.random_unwrap(ops.random_fold_in(three, np.uint32(1)))


CASES = [(*case, name) for case, numbers in RECORDED.items() for name in numbers]


@pytest.mark.parametrize("mode_name, impl, name", CASES)
def test_bits_are_those_of_jax(mode_name, impl, name):
    with mode(mode_name):
        np.testing.assert_array_equal(quantity(name, impl), RECORDED[mode_name, impl][name])


def test_rbg_keys_are_threefry_keys_twice():
    recorded = RECORDED["default", "threefry2x32"]
    for name in ("split", "split 2x3", "fold_in 7", "keys split", "keys fold_in data", "keys fold_in 1", "fold_in data"):
        half = np.array(recorded[name])
        np.testing.assert_array_equal(quantity(name, "rbg"), np.concatenate([half, half], -1))


# From `rng_bit_generator` of JAX 0.10.2 on a CPU; the states with a full counter show the carry.
GENERATED = [
    ([1, 0, 0xFFFFFFFF, 0xFFFFFFFF], (5,), "uint32", 2, [1, 0, 1, 0],
     [0x586E44B1, 0x26DAB12A, 0xD8B888D9, 0xD93830CC, 0xE73404CF]),
    ([1, 0, 0xFFFFFFFF, 0xFFFFFFFF], (4, 2), "uint32", 1, [1, 0, 3, 0],
     [0x10902898, 0xB435A7FA, 0x525D7C76, 0x96EB2785, 0x0EC66872, 0x0296E954, 0x2D84E7B1, 0x802FD53B]),
    ([1, 0, 0xFFFFFFFF, 0xFFFFFFFF], (3, 2), "uint32", 1, [1, 0, 2, 0],
     [0x10902898, 0x525D7C76, 0xB435A7FA, 0x96EB2785, 0x0EC66872, 0x2D84E7B1]),
    ([1, 0, 0xFFFFFFFF, 0xFFFFFFFF], (5,), "uint64", 1, [1, 0, 4, 0],
     [0x525D7C7610902898, 0x96EB2785B435A7FA, 0x2D84E7B10EC66872, 0x802FD53B0296E954, 0xDF435003ED3492D3]),
    ([1, 0, 0xFFFFFFFF, 0xFFFFFFFF], (3,), "uint64", 0, [1, 0, 1, 0],
     [0x26DAB12A586E44B1, 0xD93830CCD8B888D9, 0x8CEDC5D3E73404CF]),
    ([0x11111111, 0x22222222, 0x33333333, 0x44444444], (3,), "uint8", 2, [0x11111111, 0x22222222, 0x33333334, 0x44444444],
     [0xF3, 0x38, 0xB0]),
    ([0x11111111, 0x22222222, 0x33333333, 0x44444444], (0,), "uint32", 1, [0x11111111, 0x22222222, 0x33333333, 0x44444444],
     []),
]


@pytest.mark.parametrize("state, shape, dtype, algorithm, new_state, bits", GENERATED)
def test_rng_bit_generator(state, shape, dtype, algorithm, new_state, bits):
    with config.enable_x64(True):
        after, result = ops.rng_bit_generator(np.uint32(state), shape, dtype, ops.RandomAlgorithm(algorithm))
    np.testing.assert_array_equal(after, np.uint32(new_state))
    np.testing.assert_array_equal(result.ravel(), np.array(bits, dtype))
    assert result.dtype == dtype and result.shape == shape


# --- the composition agrees with the reference ---

shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


def by_composition(primitive, *operands, **params):
    """The primitive on the words of its operands, through `word_program`."""
    program = word_program(primitive, [get_aval(x) for x in operands], params)
    return evaluate(program, *[x.base if isinstance(x, PRNGKeyArray) else x for x in operands])[0]


def words(x):
    return x.base if isinstance(x, PRNGKeyArray) else x


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.sampled_from(IMPLS), shapes, shapes, st.sampled_from((8, 16, 32, 64)), st.booleans())
def test_compositions_agree_with_the_reference(impl, keys_shape, shape, width, partitionable):
    size = int(np.prod(keys_shape))
    seeds = np.arange(size, dtype=np.int32).reshape(keys_shape) - 1
    with config.threefry_partitionable(partitionable), config.enable_x64(width == 64):
        keys = ops.random_seed(seeds, impl)
        np.testing.assert_array_equal(by_composition(ops.random_seed_p, seeds, impl=keys.impl), keys.base)
        layout = {} if partitionable else {"partitionable": False}
        for primitive, params in ((ops.random_split_p, {"shape": shape, **layout}),
                                  (ops.random_bits_p, {"bit_width": width, "shape": shape, **layout})):
            np.testing.assert_array_equal(by_composition(primitive, keys, **params), words(primitive.bind(keys, **params)))
        for data in (np.uint32(3), np.uint32(seeds)):
            np.testing.assert_array_equal(by_composition(ops.random_fold_in_p, keys, data), ops.random_fold_in(keys, data).base)


@pytest.mark.parametrize("counter, words, expected", THREEFRY_VECTORS)
def test_the_expanded_hash_gives_the_known_answers(counter, words, expected):
    program = threefry_program((2,))
    result = evaluate(program, *[np.full(2, word, np.uint32) for word in (*words, *counter)])
    np.testing.assert_array_equal(result, np.repeat(np.uint32(expected)[:, None], 2, 1))


def test_seeds_of_64_bits_by_composition():
    with config.enable_x64(True):
        seeds = np.array([2**40 + 5, -1, 7])
        np.testing.assert_array_equal(by_composition(ops.random_seed_p, seeds, impl=FRY.impl),
                                      [[256, 5], [2**32 - 1, 2**32 - 1], [0, 7]])


def test_an_array_of_keys_gives_what_each_key_gives():
    keys = ops.random_split(key(5), (2, 3))
    bits = ops.random_bits(keys, 16, (4,))
    for i, row in enumerate(keys):
        for j, one in enumerate(row):
            np.testing.assert_array_equal(bits[i, j], ops.random_bits(one, 16, (4,)))


# --- staging and the array class ---


def test_key_programs_print_as_in_jax():
    def program(seed):
        keys = ops.random_split(ops.random_fold_in(ops.random_seed(seed, "threefry2x32"), np.uint32(2)), (3,))
        return [ops.random_bits(keys, 32, (5,)), ops.random_unwrap(keys)]

    closed = stage(program, [ShapedArray((), np.int32)])
    assert str(closed) == """{ lambda ; a:i32[]. let
    b:key<fry>[] = random_seed[impl=fry] a
    c:key<fry>[] = random_fold_in b 2:u32[]
    d:key<fry>[3] = random_split[shape=(3,)] c
    e:u32[3,5] = random_bits[bit_width=32 shape=(5,)] d
    f:u32[3,2] = random_unwrap d
  in (e, f) }"""
    bits, _ = evaluate(closed, np.int32(4))
    keys = ops.random_split(ops.random_fold_in(key(4), np.uint32(2)), (3,))
    np.testing.assert_array_equal(bits, ops.random_bits(keys, 32, (5,)))


def test_keys_are_closed_over_and_passed_in_and_out():
    outside = key(1)
    closed = stage(lambda keys: [ops.random_clone(keys), ops.random_fold_in(outside, np.uint32(1))], [ShapedArray((3,), FRY)])
    keys = ops.random_split(key(0), (3,))
    same, folded = evaluate(closed, keys)
    np.testing.assert_array_equal(same.base, keys.base)
    np.testing.assert_array_equal(folded.base, ops.random_fold_in(outside, np.uint32(1)).base)


def test_wrap_is_the_inverse_of_unwrap():
    keys = ops.random_split(key(3, "rbg"), (2, 2))
    again = ops.random_wrap(ops.random_unwrap(keys), impl="rbg")
    assert again.aval is keys.aval
    np.testing.assert_array_equal(again.base, keys.base)


def test_key_array_behaves_as_an_array():
    keys = ops.random_split(key(0), (2, 3))
    assert (keys.shape, keys.ndim, keys.size, keys.dtype, len(keys)) == ((2, 3), 2, 6, FRY, 2)
    assert physical_aval(keys.aval).str_short() == "u32[2,3,2]"
    base = keys.base
    for got, expected in [(keys[1], base[1]), (keys[:, 1], base[:, 1]), (keys[..., 0], base[:, 0]), (keys[None], base[None]),
                          (keys.T, base.transpose(1, 0, 2)), (keys.reshape(3, -1), base.reshape(3, 2, 2)),
                          (keys.ravel(), base.reshape(6, 2)), (keys[np.array([True, False])], base[:1]),
                          (keys[:1].squeeze(), base[0]), (keys.swapaxes(0, 1), base.transpose(1, 0, 2))]:
        np.testing.assert_array_equal(got.base, expected)
    first, second = keys
    np.testing.assert_array_equal(second.base, base[1])
    assert repr(first[0]).startswith("Array((), dtype=key<fry>) overlaying:")


# --- wrong calls ---

u32 = np.zeros(2, np.uint32)
WRONG = [
    (lambda: ops.threefry2x32(u32, u32, u32, np.zeros(2, np.int32)), TypeError, "threefry2x32: its operands must be uint32"),
    (lambda: ops.threefry2x32(u32, u32, u32, np.zeros(3, np.uint32)), TypeError, r"threefry2x32 .*Axis 0 has sizes 2, 2, 2, 3"),
    (lambda: ops.rng_bit_generator(u32, (3,)), TypeError, r"rng_bit_generator: the key must be u32\[4\] or u64\[2\], got u32\[2\]"),
    (lambda: ops.rng_bit_generator(np.zeros(4, np.uint32), (3,), np.float32), TypeError, "unsupported dtype float32"),
    (lambda: ops.rng_bit_generator(np.zeros(4, np.uint32), (3,), out_sharding=1), TypeError, "out_sharding must be a PartitionSpec"),
    (lambda: ops.random_seed(1.5, "threefry2x32"), TypeError, "PRNG key seed must be an integer; got f32"),
    (lambda: ops.random_seed(0, "mersenne"), ValueError, "There is no PRNG implementation 'mersenne'"),
    (lambda: ops.random_wrap(u32, impl="rbg"), TypeError, r"a key of rbg has shape \(4,\).*got \(2,\)"),
    (lambda: ops.random_wrap(np.zeros((2, 2)), impl="threefry2x32"), TypeError, "the dtype must be uint32"),
    (lambda: ops.random_unwrap(u32), TypeError, r"random_unwrap: an array of keys is expected, got u32\[2\]"),
    (lambda: ops.random_split(u32, (2,)), TypeError, "random_split: an array of keys is expected"),
    (lambda: ops.random_split(key(), (-1,)), ValueError, r"random_split: the shape \(-1,\) has a negative size"),
    (lambda: ops.random_split(key(), (1.5,)), TypeError, "random_split: Shapes must be"),
    (lambda: ops.random_fold_in(key(), np.int32(1)), TypeError, r"random_fold_in: the data must be uint32, got i32\[\]"),
    (lambda: ops.random_fold_in(ops.random_split(key(), (2,)), np.zeros(3, np.uint32)), TypeError, "random_fold_in got incompatible"),
    (lambda: ops.random_bits(key(), 24, (2,)), TypeError, "the bit width must be 8, 16, 32 or 64, got 24"),
    (lambda: ops.random_bits(key(), 64, (2,)), TypeError, "64 bits need x64 mode"),
    (lambda: ops.random_bits(u32, 32, (2,)), TypeError, "random_bits: an array of keys is expected"),
    (lambda: ops.random_bits(key(), 32, (2, -3)), ValueError, "negative size"),
    (lambda: np.asarray(key()), TypeError, "use random.key_data|Use random.key_data"),
    (lambda: bool(key()), TypeError, "no truth value"),
    (lambda: key()[0], IndexError, "Too many indices: a key array"),
    (lambda: len(key()), TypeError, "len"),
    (lambda: iter(key()), TypeError, "iteration over a scalar key"),
]


@pytest.mark.parametrize("call, error, message", WRONG)
def test_wrong_calls(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("low, high",
                         [(np.float32(-1), np.float32(3)), (0.0, 1.0), (np.int32(-5), np.int32(9)), (np.uint8(0), np.uint8(200))])
def test_rng_uniform_stays_in_its_interval_and_fills_it(low, high):
    numbers = ops.rng_uniform(low, high, (40, 100))
    assert numbers.shape == (40, 100) and numbers.dtype == (np.float32 if isinstance(low, float) else low.dtype)
    assert np.all((numbers >= low) & (numbers < high))
    # the mean of 4000 uniform numbers is off by a standard deviation of 0.0046 of the width: nine of them are allowed
    assert (abs(np.mean(numbers, dtype=np.float64) - (float(low) + float(high)) / 2)
            < 0.0046 * 9 * (float(high) - float(low)) + 0.5 * (numbers.dtype.kind != "f"))
    assert not np.array_equal(numbers, ops.rng_uniform(low, high, (40, 100)))


@pytest.mark.parametrize("call, message", [
    (lambda: ops.rng_uniform(np.zeros(2, np.float32), 1.0, (3,)), r"must be scalars, got f32\[2\]"),
    (lambda: ops.rng_uniform(0, 1.0, (3,)), r"must have one dtype, floating or integer, got i32\[\] and f32\[\]"),
    (lambda: ops.rng_uniform(0.0, 1.0, (-3,)), "negative size"),
])
def test_malformed_rng_uniform(call, message):
    with pytest.raises(ValueError, match=message):
        call()
