"""The promotion lattice, all pairs in both orders, against tables that do not come from the implementation.

The oracle is JAX's document "Type promotion semantics": its edges are written here as data, and least upper bounds are
searched for in them; its printed table of the main types is written here as well, and checks the search.
"""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from laminax_ir.options import config
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

# --- the documented lattice ---

EDGES = {
    "b1": "i*",
    "i*": "u1 i1",
    "u1": "u2 i2",
    "u2": "i4 u4",
    "u4": "u8 i8",
    "u8": "f*",
    "i1": "i2",
    "i2": "i4",
    "i4": "i8",
    "i8": "f*",
    "f*": "c* f2 bf",
    "bf": "f4",
    "f2": "f4",
    "f4": "c8 f8",
    "f8": "c16",
    "c*": "c8",
    "c8": "c16",
    "c16": "",
}
MAIN = {
    "b1": "bool", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "bf": "bfloat16", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
}  # fmt: skip
WEAK = {"i*": int, "f*": float, "c*": complex}

# The document's table of the main types, row by row; its columns are in the order of its rows.
PUBLISHED_TABLE = """
b1   b1  u1  u2  u4  u8  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16 i*  f*  c*
u1   u1  u1  u2  u4  u8  i2  i2  i4  i8  bf  f2  f4  f8  c8  c16 u1  f*  c*
u2   u2  u2  u2  u4  u8  i4  i4  i4  i8  bf  f2  f4  f8  c8  c16 u2  f*  c*
u4   u4  u4  u4  u4  u8  i8  i8  i8  i8  bf  f2  f4  f8  c8  c16 u4  f*  c*
u8   u8  u8  u8  u8  u8  f*  f*  f*  f*  bf  f2  f4  f8  c8  c16 u8  f*  c*
i1   i1  i2  i4  i8  f*  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16 i1  f*  c*
i2   i2  i2  i4  i8  f*  i2  i2  i4  i8  bf  f2  f4  f8  c8  c16 i2  f*  c*
i4   i4  i4  i4  i8  f*  i4  i4  i4  i8  bf  f2  f4  f8  c8  c16 i4  f*  c*
i8   i8  i8  i8  i8  f*  i8  i8  i8  i8  bf  f2  f4  f8  c8  c16 i8  f*  c*
bf   bf  bf  bf  bf  bf  bf  bf  bf  bf  bf  f4  f4  f8  c8  c16 bf  bf  c8
f2   f2  f2  f2  f2  f2  f2  f2  f2  f2  f4  f2  f4  f8  c8  c16 f2  f2  c8
f4   f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8  c16 f4  f4  c8
f8   f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16 f8  f8  c16
c8   c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c8  c16 c8  c16 c8  c8  c8
c16  c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
i*   i*  u1  u2  u4  u8  i1  i2  i4  i8  bf  f2  f4  f8  c8  c16 i*  f*  c*
f*   f*  f*  f*  f*  f*  f*  f*  f*  f*  bf  f2  f4  f8  c8  c16 f*  f*  c*
c*   c*  c*  c*  c*  c*  c*  c*  c*  c*  c8  c8  c8  c16 c8  c16 c*  c*  c*
"""

# The types beside the main ones: the small integers stand above i*, the small floats above f*, nothing above either.
SMALL_INTEGERS = [n for n in ("int1", "int2", "int4", "uint1", "uint2", "uint4") if hasattr(ml_dtypes, n)]
SMALL_FLOATS = [n for n in dir(ml_dtypes) if n.startswith(("float8_", "float6_", "float4_"))]

STANDARD = {node: above.split() for node, above in EDGES.items()}
STANDARD["i*"] = STANDARD["i*"] + SMALL_INTEGERS
STANDARD["f*"] = STANDARD["f*"] + SMALL_FLOATS
STANDARD |= {name: [] for name in SMALL_INTEGERS + SMALL_FLOATS}

# Strict promotion: only Python scalars are promoted, to anything of their own or a later kind.
_INTEGERS = ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", *SMALL_INTEGERS]
_FLOATS = ["bf", "f2", "f4", "f8", *SMALL_FLOATS]
STRICT = {node: [] for node in STANDARD} | {
    "i*": ["f*", *_INTEGERS],
    "f*": ["c*", *_FLOATS],
    "c*": ["c8", "c16"],
}

LATTICES = {"standard": STANDARD, "strict": STRICT}
NODES = list(STANDARD)
NARROWED = {"i8": "i4", "u8": "u4", "f8": "f4", "c16": "c8"}


def least_upper_bound(lattice, *nodes):
    """The one common upper bound from which every other is reachable, or None; by search, without tables."""

    def reachable(node):
        found, frontier = set(), [node]
        while frontier:
            node = frontier.pop()
            if node not in found:
                found.add(node)
                frontier += lattice[node]
        return found

    common = set.intersection(*map(reachable, nodes))
    least = [node for node in common if common <= reachable(node)]
    return least[0] if least else None


def canonical(node, x64):
    return node if x64 else NARROWED.get(node, node)


def as_pair(node, x64):
    """The (dtype, weak_type) of a value at this node."""
    if node in WEAK:
        wide = {"i*": "i8", "f*": "f8", "c*": "c16"}[node]
        return np.dtype(MAIN[canonical(wide, x64)]), True
    node = canonical(node, x64)
    return np.dtype(getattr(ml_dtypes, node) if node not in MAIN else MAIN[node]), False


def as_dtype(node):
    return WEAK[node] if node in WEAK else as_pair(node, True)[0]


@pytest.fixture(params=[False, True], ids=["x32", "x64"])
def x64(request):
    with config.enable_x64(request.param):
        yield request.param


@pytest.fixture(params=["standard", "strict"])
def mode(request):
    with config.numpy_dtype_promotion(request.param):
        yield request.param


def published():
    rows = [line.split() for line in PUBLISHED_TABLE.split("\n") if line]
    columns = [row[0] for row in rows]
    return {(row[0], column): cell for row in rows for column, cell in zip(columns, row[1:], strict=True)}


# --- pairs ---


def test_the_search_in_the_documented_lattice_gives_the_documented_table():
    table = published()
    assert len(table) == 18 * 18
    assert {pair: least_upper_bound(STANDARD, *pair) for pair in table} == table


def test_every_supported_dtype_is_in_the_table():
    assert {as_pair(node, True)[0] for node in NODES if node not in WEAK} == dtypes.supported_dtypes - {dtypes.float0}


def test_published_table_with_64_bit_types():
    with config.enable_x64(True):
        for (a, b), expected in published().items():
            assert dtypes.promote_pair(*as_pair(a, True), *as_pair(b, True)) == as_pair(expected, True), (a, b)


def test_all_pairs_in_both_orders(x64, mode):
    for a, b in itertools.product(NODES, NODES):
        # Without 64-bit types there are no 64-bit operands: f8 and f4 are one type, so strict mode joins them.
        expected = least_upper_bound(LATTICES[mode], canonical(a, x64), canonical(b, x64))
        pairs = (*as_pair(a, True), *as_pair(b, True))  # given in their wide form all the same
        if expected is None:
            with pytest.raises(dtypes.TypePromotionError):
                dtypes.promote_pair(*pairs)
        else:
            assert dtypes.promote_pair(*pairs) == as_pair(expected, x64), (a, b)


def test_a_weak_operand_of_any_width_acts_as_its_python_type(x64, mode):
    """A weak float16 against a strong dtype is f*, as a Python float is."""
    kinds = {"i*": _INTEGERS, "f*": _FLOATS, "c*": ["c8", "c16"]}
    for weak_node, members in kinds.items():
        for member, strong in itertools.product(members, [n for n in NODES if n not in WEAK]):
            expected = least_upper_bound(LATTICES[mode], weak_node, canonical(strong, x64))
            weak, other = (as_pair(member, x64)[0], True), as_pair(strong, x64)
            for pairs in ((*weak, *other), (*other, *weak)):
                if expected is None:
                    with pytest.raises(dtypes.TypePromotionError):
                        dtypes.promote_pair(*pairs)
                else:
                    assert dtypes.promote_pair(*pairs) == as_pair(expected, x64), (member, strong)


@pytest.mark.parametrize(
    "a, b, expected",
    [
        ("int8", "int8", "int64"),
        ("uint8", "uint8", "uint64"),  # unsigned stays unsigned, as JAX 0.10.2 answers
        ("uint8", "int8", "int64"),
        ("float16", "bfloat16", "float64"),
        ("int16", "float16", "float64"),
        ("float16", "complex64", "complex128"),
        ("bfloat16", "bfloat16", "float64"),
    ],
)
def test_two_weak_operands_give_the_default_dtype_of_the_kind(a, b, expected):
    with config.enable_x64(True):
        assert dtypes.promote_pair(np.dtype(a), True, np.dtype(b), True) == (np.dtype(expected), True)
        assert dtypes.promote_pair(np.dtype(b), True, np.dtype(a), True) == (np.dtype(expected), True)


def test_promote_types_is_the_join_of_dtypes(x64, mode):
    """64-bit operands stay 64-bit whatever enable_x64 says, and a weak join is a 64-bit dtype."""
    weak_results = {"i*": "int64", "f*": "float64", "c*": "complex128"}
    for a, b in itertools.product(NODES, NODES):
        expected = least_upper_bound(LATTICES[mode], a, b)
        if expected is None:
            with pytest.raises(dtypes.TypePromotionError):
                dtypes.promote_types(as_dtype(a), as_dtype(b))
            continue
        has_wide = a in NARROWED or b in NARROWED
        if expected in weak_results:
            dtype = np.dtype(weak_results[expected])
        else:
            dtype = as_pair(expected, x64 or has_wide)[0]
        assert dtypes.promote_types(as_dtype(a), as_dtype(b)) == dtype, (a, b)


# --- many operands, and what is not a dtype ---


def test_result_type_of_three_is_their_least_upper_bound():
    """A fold over pairs must not depend on the order, nor differ from the bound of all three."""
    nodes = ["b1", "i*", "u1", "u8", "i1", "i8", "f*", "bf", "f2", "f4", "c*", "c8", SMALL_FLOATS[0], SMALL_INTEGERS[0]]
    with config.enable_x64(True):
        for triple in itertools.product(nodes, repeat=3):
            expected = least_upper_bound(STANDARD, *triple)
            operands = [as_dtype(node) for node in triple]
            if expected is None:
                with pytest.raises(dtypes.TypePromotionError):
                    dtypes.result_type(*operands)
            else:
                got = dtypes.result_type(*operands, return_weak_type_flag=True)
                assert got == as_pair(expected, True), triple


@pytest.mark.parametrize(
    "args, expected",
    [
        ((1,), ("int32", True)),
        ((True,), ("bool", False)),
        ((True, 1), ("int32", True)),
        ((1, 2.0), ("float32", True)),
        ((1.0, np.int8(1)), ("float32", True)),
        ((np.int8(1), 1000), ("int8", False)),
        ((np.zeros(2, np.int64),), ("int32", False)),  # numpy's values are strong and become 32-bit
        ((np.float64(1), np.float16(1)), ("float32", False)),
        ((ml_dtypes.bfloat16(1), np.float16(1)), ("float32", False)),
        (("float16", 1j), ("complex64", False)),
        ((int, np.uint8), ("uint8", False)),
        (("int32", "uint32"), ("int32", False)),
    ],
)
def test_result_type_of_values(args, expected):
    dtype, weak_type = expected
    for operands in itertools.permutations(args):
        assert dtypes.result_type(*operands, return_weak_type_flag=True) == (np.dtype(dtype), weak_type)
    assert dtypes.result_type(*args) == np.dtype(dtype)


def test_result_type_needs_operands_with_a_dtype():
    with pytest.raises(ValueError, match="at least one operand"):
        dtypes.result_type()
    with pytest.raises(TypeError, match="list, has no dtype"):
        dtypes.result_type(1, [2])


def test_keys_and_float0_combine_only_with_their_own_kind():
    fry, rbg = dtypes.key_dtype("threefry2x32"), dtypes.key_dtype("rbg")
    float32 = np.dtype("float32")
    for dtype in (fry, dtypes.float0):
        assert dtypes.promote_pair(dtype, False, dtype, False) == (dtype, False)
    own, none = "only with their own kind", "float0s do not support any operations by design"
    for a, b, error, message in [(fry, rbg, dtypes.TypePromotionError, own), (fry, float32, dtypes.TypePromotionError, own),
                                 (dtypes.float0, float32, TypeError, none), (fry, dtypes.float0, TypeError, none)]:
        for first, second in ((a, b), (b, a)):
            with pytest.raises(error, match=message):
                dtypes.promote_pair(first, False, second, False)
            with pytest.raises(error, match=message):
                dtypes.promote_types(first, second)


def test_an_answer_is_not_remembered_for_another_configuration():
    operands = (np.dtype("int32"), False, np.dtype("float32"), False)
    assert dtypes.promote_pair(*operands) == (np.dtype("float32"), False)
    with config.numpy_dtype_promotion("strict"), pytest.raises(dtypes.TypePromotionError):
        dtypes.promote_pair(*operands)
    wide = (np.dtype("int64"), False, np.dtype("int64"), False)
    assert dtypes.promote_pair(*wide) == (np.dtype("int32"), False)
    with config.enable_x64(True):
        assert dtypes.promote_pair(*wide) == (np.dtype("int64"), False)
    assert dtypes.promote_pair(*wide) == (np.dtype("int32"), False)


@pytest.mark.parametrize(
    "mode, a, b, parts",
    [
        ("standard", "float8_e5m2", "float32", ["float8_e5m2", "float32", "8-bit floats do not support", "astype('float32')"]),
        ("standard", "int4", "int8", ["int4", "int8", "4-bit integers do not support", "astype('int32')"]),
        ("strict", "int8", "float32", ["int8", "float32", "numpy_dtype_promotion=strict", "'standard'"]),
        ("strict", "bool", int, ["bool", "Python int", "numpy_dtype_promotion=strict"]),
    ],
)
def test_errors_name_the_dtypes_the_reason_and_the_way_out(mode, a, b, parts):
    with config.numpy_dtype_promotion(mode), pytest.raises(ValueError) as caught:
        dtypes.result_type(a, b)
    assert isinstance(caught.value, dtypes.TypePromotionError)
    for part in parts:
        assert part in str(caught.value)


def test_none_is_the_default_float_of_a_result_and_no_dtype_to_measure():
    for x64 in (False, True):
        with config.enable_x64(x64):
            expected = np.result_type(None) if x64 else np.dtype(np.float32)  # NumPy's default float is the wide one
            assert dtypes.result_type(None) == dtypes.result_type(None, 1) == dtypes.result_type(np.int8, None) == expected
            assert dtypes.result_type(None, return_weak_type_flag=True) == (expected, False)
    with pytest.raises(ValueError, match="dtype cannot be None. Pass a dtype such as 'float32'"):
        dtypes.itemsize_bits(None)


# --- several operands at once ---


class Operand:
    """A value known by its type."""

    def __init__(self, dtype, weak_type=False):
        self.aval = ShapedArray((), np.dtype(dtype), weak_type=weak_type)
        self.dtype = self.aval.dtype


@pytest.mark.parametrize("x64", [False, True])
def test_several_operands_are_joined_at_once(x64):
    """Paired with itself, a weak uint16 was the default unsigned integer, which met a Python int at float64."""
    default = "int64" if x64 else "int32"
    with config.enable_x64(x64):
        for narrow in ("uint8", "uint16"):
            for operands in ((Operand(narrow, True), 1), (1, Operand(narrow, True)), (Operand(narrow, True), Operand(narrow, True), 1)):
                assert dtypes.result_type(*operands, return_weak_type_flag=True) == (np.dtype(default), True)
            assert dtypes.result_type(Operand(narrow, True), Operand("uint32")) == np.dtype("uint32")
        assert dtypes.result_type(Operand("uint8", True), Operand("uint16"), Operand("int8")) == np.dtype("int32")
        for operands in itertools.permutations((1, np.uint8, Operand("float32", True))):
            assert dtypes.result_type(*operands, return_weak_type_flag=True) == (np.dtype("float64" if x64 else "float32"), True)


@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_the_order_of_operands_and_repetitions_do_not_matter(mode):
    rng = np.random.default_rng(5)
    values = [Operand(name, weak) for name in "bool uint8 uint16 int8 int32 float16 float32 complex64".split() for weak in (False, True)]
    values += [True, 1, 1.0, 1j]

    def outcome(operands):
        try:
            return dtypes.result_type(*operands, return_weak_type_flag=True)
        except dtypes.TypePromotionError:
            return "none"

    with config.numpy_dtype_promotion(mode):
        for _ in range(300):
            operands = [values[i] for i in rng.choice(len(values), 3)]
            outcomes = [outcome(each) for each in (*itertools.permutations(operands), [*operands, operands[0]])]
            assert all(found == outcomes[0] for found in outcomes), [(x.aval if isinstance(x, Operand) else x) for x in operands]


def test_one_weak_operand_is_the_default_of_its_kind():
    for mode in ("standard", "strict"):
        with config.numpy_dtype_promotion(mode):
            for dtype, expected in (("uint16", "uint32"), ("int8", "int32"), ("float16", "float32"), ("bool", "bool")):
                assert dtypes.result_type(Operand(dtype, True)) == np.dtype(expected)
    assert dtypes.result_type(Operand("bool", True), Operand("uint16", True)) == np.dtype("uint32")


def test_a_description_of_an_array_counts_with_its_dtype():
    described = ShapeDtypeStruct((), np.float32, weak_type=True)
    assert dtypes.result_type(described, np.float16) == np.dtype("float32")
    assert dtypes.result_type(described, return_weak_type_flag=True) == (np.dtype("float32"), False)


def test_derivatives_that_do_not_exist_have_no_common_dtype():
    """JAX's error is a ValueError, and that of operations on such values a TypeError: this one is both."""
    for error in (ValueError, TypeError, dtypes.TypePromotionError):
        for ask in (lambda: dtypes.result_type(Operand("int32"), dtypes.float0), lambda: dtypes.promote_types(dtypes.float0, "bool"),
                    lambda: dtypes.promote_types(dtypes.float0, dtypes.float0)):
            with pytest.raises(error, match="float0s do not support any operations by design"):
                ask()
