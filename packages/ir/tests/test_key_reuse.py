"""Which keys a program uses: rules of arranging operations, of loops and branches, of calls and of operations nobody knows."""

import numpy as np
import pytest

from laminax_ir.ops import shape, slicing
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.ops.random_bits import random_bits, random_clone, random_fold_in, random_split
from laminax_ir.programs.primitive import Primitive, shape_rule
from laminax_ir.random.key_reuse import key_uses
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import KeyReuseError

KEY = dtypes.key_dtype("threefry2x32")


def bits(key):
    return random_bits(key, bit_width=32, shape=())


def uses_of(fun, *shapes):
    """Of each operand the keys that are used, and of each result those that are used up."""
    closed = stage(fun, [ShapedArray(s, KEY) if isinstance(s, tuple) else s for s in shapes], "f")
    uses = key_uses(closed)
    return [[None if x is None else np.isin(x, list(uses.used)).tolist() for x in xs] for xs in (uses.operands, uses.results)]


def take(keys, i):
    return shape.squeeze(slicing.slice(keys, (i,), (i + 1,)), (0,))


def test_bits_and_split_use_a_key_up_and_fold_in_and_clone_do_not():
    assert uses_of(lambda k: [bits(k)], ()) == [[True], [None]]
    assert uses_of(lambda k: [random_split(k, (2,))], ()) == [[True], [[False, False]]]
    assert uses_of(lambda k: [random_fold_in(k, np.uint32(1)), random_clone(k), k], ()) == [[False], [False, False, False]]
    assert uses_of(lambda k: [bits(k), k], ()) == [[True], [None, True]]


def test_keys_are_known_through_arrangements():
    assert uses_of(lambda ks: [bits(take(ks, 1))], (3,)) == [[[False, True, False]], [None]]
    table = lambda ks: [bits(take(shape.reshape(shape.transpose(ks, (1, 0)), (4,)), 1))]  # noqa: E731
    assert uses_of(table, (2, 2)) == [[[[False, False], [True, False]]], [None]]
    joined = lambda k, j: [bits(take(shape.concatenate([shape.reshape(k, (1,)), shape.reshape(j, (1,))], 0), 1))]  # noqa: E731
    assert uses_of(joined, (), ()) == [[False, True], [None]]


@pytest.mark.parametrize("fun, words", [
    (lambda k: [bits(k), bits(k)], "In random_bits, argument 0 is already consumed"),
    (lambda k: [random_split(k, (2,)), random_split(k, (3,))], "In random_split, argument 0 is already consumed"),
    (lambda k: [bits(k), bits(take(shape.reshape(k, (1,)), 0))], "In random_bits"),
    (lambda k: scan(lambda c, _: (c, bits(k)), np.int32(0), None, length=2), "scan body function leads to key reuse .* iteration 2"),
    (lambda k: scan(lambda c, _: ((c[1], c[0]), bits(c[0])), (k, random_clone(k)), None, length=3)[1:], "iteration 3"),
    (lambda k: [while_loop(lambda c: c[0] < 3, lambda c: (c[0] + bits(c[1]), c[1]), (np.uint32(0), k))[0]],
     "while_loop body function leads"),
    (lambda k: [while_loop(lambda i: bits(k) > 3, lambda i: i + 1, np.int32(0))], "while_loop cond function leads to key reuse"),
    (lambda k: [cond(True, lambda k: bits(k), lambda k: np.uint32(0), k), bits(k)], "In random_bits"),
])
def test_a_second_use_is_refused(fun, words):
    with pytest.raises(KeyReuseError, match=words + r"(.|\n)*test_key_reuse.py"):
        uses_of(fun, ())


def test_loops_that_make_new_keys_are_fine():
    def body(key, x):
        pair = random_split(key, (2,))
        return take(pair, 0), bits(take(pair, 1)) + bits(x)

    closed = stage(lambda k, ks: [*scan(body, k, ks)], [ShapedArray((), KEY), ShapedArray((5,), KEY)], "f")
    uses = key_uses(closed)
    assert all(n in uses.used for x in uses.operands for n in x.flat) and uses.results[0].item() not in uses.used
    key_uses(stage(lambda k: [scan(lambda c, _: (c, bits(k)), np.int32(0), None, length=1)[1]], [ShapedArray((), KEY)], "f"))  # runs once


def test_branches_together_use_what_one_of_them_uses():
    one = lambda p, k, j: [cond(p, lambda k, j: bits(k), lambda k, j: np.uint32(1), k, j)]  # noqa: E731
    assert uses_of(one, ShapedArray((), np.bool_), (), ()) == [[None, True, False], [None]]


def test_an_operation_nobody_knows_uses_its_keys_and_makes_no_new_ones():
    unknown_p = Primitive("unknown_to_all")
    shape_rule(unknown_p)(lambda x: x)
    assert uses_of(lambda k: [unknown_p.bind(k)], ()) == [[True], [True]]
