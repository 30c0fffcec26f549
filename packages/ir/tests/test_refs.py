"""References to arrays: reading and writing them, in programs too, against NumPy arrays that change in place."""

import copy

import numpy as np
import pytest

from laminax_ir.ops.control_flow import cond, switch
from laminax_ir.ops.elementwise import lt, mul, sin_p
from laminax_ir.ops.loops import fori_loop, scan, while_loop
from laminax_ir.ops.state import Ref, addupdate, addupdate_p, free_ref, freeze, freeze_p, get, get_p, new_ref, new_ref_p, set, swap, swap_p
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.effects import InternalRefEffect, ReadEffect, RefEffect, WriteEffect
from laminax_ir.recording.discharge import discharged
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.errors import NonConcreteBooleanIndexError, UnexpectedTracerError

INDICES = [
    0, -1, (2, 1), ..., (..., 2), (1, ...), slice(None), slice(1, 3), slice(0, 4, 2), (slice(1, 4, 2), slice(1, None, 2)), (slice(2, 2),),
    np.array([0, 3, 1]), (np.array([[1], [2]]), 2), (slice(1, 3), np.array([4, 0, 0])), (np.array([2, 0]), slice(0, 5, 3)),
    (np.array([3, -1]), np.array([1, 4])), (1, np.int64(2)), (),
]


def _array() -> np.ndarray:
    return np.arange(20, dtype=np.float32).reshape(4, 5)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_read_as_from_an_array(index):
    np.testing.assert_array_equal(new_ref(_array())[index], _array()[index])


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_read_in_programs_as_from_an_array(index):
    program = stage(lambda x: [new_ref(x)[index]], [new_ref(_array()).aval.inner_aval])
    np.testing.assert_array_equal(evaluate(program, _array())[0], _array()[index])


@pytest.mark.parametrize("index", [i for i in INDICES if not isinstance(i, tuple) or not any(str(x) == "[4 0 0]" for x in i)], ids=str)
def test_a_part_is_written_as_in_an_array(index):
    expected, ref = _array(), new_ref(_array())
    value = -1 - np.arange(expected[index].size, dtype=np.float32).reshape(expected[index].shape)
    expected[index] = value
    ref[index] = value
    np.testing.assert_array_equal(ref[...], expected)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_added_to_as_often_as_the_index_names_it(index):
    expected, ref = _array(), new_ref(_array())
    value = np.ones(expected[index].shape, np.float32)
    np.add.at(expected, index, value)
    addupdate(ref, index, value)
    np.testing.assert_array_equal(ref[...], expected)


def test_parts_between_three_axes_lie_as_in_numpy():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    ref, rows, columns = new_ref(x), np.array([0, 1, 1]), np.array([0, 1, 2])
    for index in ((rows, slice(None), columns), (slice(None), rows, columns), (0, slice(None), columns)):
        np.testing.assert_array_equal(ref[index], x[index])


def test_swap_returns_what_was_there():
    ref = new_ref(_array())
    np.testing.assert_array_equal(swap(ref, (slice(0, 2), 1), np.float32([7, 8])), _array()[:2, 1])
    np.testing.assert_array_equal(get(ref, (slice(None), 1)), [7, 8, 11, 16])


def test_views_read_and_write_the_reference():
    expected, ref = _array(), new_ref(_array())
    view = ref.at[1:3].at[:, np.array([0, 4])]
    assert view.shape == (2, 2)
    np.testing.assert_array_equal(view[1], expected[1:3][:, [0, 4]][1])
    view[...] = np.float32([[1, 2], [3, 4]])
    set(ref.at[0], 0, 9.)
    expected[1:3, [0, 4]] = [[1, 2], [3, 4]]
    expected[0, 0] = 9
    np.testing.assert_array_equal(ref[...], expected)


def test_a_reference_tells_type_and_length_and_is_not_its_copies():
    ref = new_ref(_array())
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((4, 5), np.float32, 2, 20, 4)
    assert isinstance(ref, Ref) and str(ref.aval) == "Ref{float32[4,5]}"
    other = copy.deepcopy(ref)
    other[0, 0] = 5.
    assert ref[0, 0] == 0 and other[0, 0] == 5


def test_a_weak_number_takes_the_dtype_of_the_reference_and_of_its_kind_only():
    ref = new_ref(np.zeros(2, np.int8))
    ref[0] = 3
    assert ref[...].dtype == np.int8 and ref[0] == 3
    with pytest.raises(ValueError, match=r"Invalid dtype for `swap`. Ref dtype: int8. Value dtype: float32"):
        ref[0] = 1.5


@pytest.mark.parametrize("use, error, message", [
    (lambda r: r[4], ValueError, "Out of bound indexer: idx=4, dim=4"),
    (lambda r: r[0, 0, 0], ValueError, "must not be longer than `shape`"),
    (lambda r: r[::-1], ValueError, "step >= 1"),
    (lambda r: r[..., ...], ValueError, "one ellipsis"),
    (lambda r: r[1.5], TypeError, "index must be an integer"),
    (lambda r: r[np.zeros((4, 5), bool)], NonConcreteBooleanIndexError, "boolean"),
    (lambda r: r.__setitem__(0, 1.), ValueError, r"Expected shape: \(5,\). Value shape: \(\)"),
    (lambda r: r.__setitem__(0, [1.] * 5), TypeError, "list"),
    (lambda r: addupdate(r, 0, 1.), ValueError, "Invalid shape for `addupdate`"),
    (lambda r: get(np.zeros(3), 0), ValueError, "Can only call `ref_get` on a `Ref`"),
    (lambda r: np.asarray(r), TypeError, "read it first"),
    (lambda r: new_ref(r), TypeError, "got a reference"),
    (lambda r: new_ref("x"), TypeError, "new_ref at position 0"),
    (lambda r: new_ref(1., kind="any"), ValueError, "kind must be None or .no_grad_no_remat., got .any."),
    (lambda r: Ref(1.), TypeError, "new_ref"),
    (lambda r: sin_p.bind(r), (TypeError, ValueError), "Ref"),
])
def test_what_does_not_fit_is_refused(use, error, message):
    with pytest.raises(error, match=message):
        use(new_ref(_array()))


def test_freezing_gives_the_value_and_ends_the_reference():
    ref = new_ref(2.)
    ref[...] = 3.
    assert freeze(ref) == 3.
    with pytest.raises(ValueError, match="frozen"):
        ref[...]
    other = new_ref(2.)
    free_ref(other)
    with pytest.raises(ValueError, match="frozen"):
        other[...] = 1.


def test_a_program_shows_what_it_does_to_references():
    ref = new_ref(np.zeros(3, np.float32))

    def fun(i):
        ref[i] = 2.
        addupdate(ref, slice(0, 2), ref[1:])
        own = new_ref(swap(ref, 0, 5.))
        return [freeze(own)]

    program = stage(fun, [new_ref(np.int32(1)).aval.inner_aval], keeps_refs=True)
    check_jaxpr(program)
    assert [eqn.primitive for eqn in program.eqns if eqn.primitive.family == "state"] == [
        swap_p, get_p, addupdate_p, swap_p, new_ref_p, freeze_p]
    assert {type(e) for e in program.effects} >= {ReadEffect, WriteEffect, InternalRefEffect}
    assert all(isinstance(e, RefEffect) for e in program.effects)
    text = str(program)
    assert "lambda a:Ref{f32[3]}; b:i32[]." in text and "a[b] <- 2.0:f32[]" in text and ":f32[2] <- a[1:]" in text
    assert "a[:2] += c" in text and "d:f32[], a[0] <- a[0], 5.0:f32[]" in text and "freeze" in text


def test_discharging_gives_a_pure_program_that_returns_what_was_written():
    ref, other = new_ref(np.zeros(3, np.float32)).aval, new_ref(1.).aval

    def fun(r, s):
        r[0] = s[...]
        return [r[...]]

    pure = discharged(stage(fun, [ref, other], keeps_refs=True))
    check_jaxpr(pure.closed)
    assert pure.written == (True, False) and not pure.closed.effects
    for result in evaluate(pure.closed, np.zeros(3), 4.):
        np.testing.assert_array_equal(result, [4, 0, 0])


def test_running_a_program_writes_to_the_references_it_closed_over():
    ref = new_ref(np.zeros(3, np.float32))
    program = stage(lambda: [ref.__setitem__(0, ref[0] + np.float32(1))] and [], [], keeps_refs=True)
    eval_jaxpr(program.jaxpr, program.consts)
    eval_jaxpr(program.jaxpr, program.consts)
    np.testing.assert_array_equal(ref[...], [2, 0, 0])


# Loops and branches, in the words of Python beside


def test_fori_loop_writes():
    ref, expected = new_ref(np.zeros(5, np.float32)), np.zeros(5)
    fori_loop(1, 5, lambda i, _: ref.__setitem__(i, ref[i - 1] * 2 + 1), None)
    for i in range(1, 5):
        expected[i] = expected[i - 1] * 2 + 1
    np.testing.assert_array_equal(ref[...], expected)


def test_scan_slices_references_and_carries_those_closed_over():
    rows, total, factor = new_ref(_array()), new_ref(np.zeros(5, np.float32)), new_ref(np.float32(2))

    def body(carry, row):
        row[1:3] = row[1:3] * factor[...]
        addupdate(total, ..., row[...])
        return carry + 1, (row[0], total[0])

    carry, (firsts, totals) = scan(body, 0, rows)
    expected = _array()
    expected[:, 1:3] *= 2
    assert carry == 4
    np.testing.assert_array_equal(rows[...], expected)
    np.testing.assert_array_equal(total[...], expected.sum(0))
    np.testing.assert_array_equal(firsts, expected[:, 0])
    np.testing.assert_array_equal(totals, np.cumsum(expected[:, 0]))


def test_scan_in_reverse_writes_the_slices_in_their_places():
    rows, last = new_ref(np.float32([1, 2, 3])), new_ref(np.float32(0))

    def body(_, row):
        row[...] = row[...] + last[...]
        last[...] = row[...]
        return None, None

    scan(body, None, rows, reverse=True)
    np.testing.assert_array_equal(rows[...], [6, 5, 3])


def test_while_loop_reads_in_the_condition_what_the_body_writes():
    ref, step, unread = new_ref(np.float32(1)), new_ref(np.float32(3)), new_ref(np.float32(0))

    def body(count):
        ref[...] = ref[...] * step[...]
        addupdate(unread, ..., np.float32(1))
        return count + 1

    assert while_loop(lambda count: lt(ref[...], np.float32(50)), body, 0) == 4
    assert ref[...] == 81 and unread[...] == 4 and step[...] == 3


def test_a_condition_writes_once_for_each_step_that_it_admits():
    asked, total = new_ref(np.float32(0)), new_ref(np.float32(0))

    def condition(x):
        addupdate(asked, ..., np.float32(1))
        return lt(x, np.float32(3))

    def body(x):
        addupdate(total, ..., asked[...])
        return x + np.float32(1)

    assert while_loop(condition, body, np.float32(0)) == 3
    assert asked[...] == 3 and total[...] == 1 + 2 + 3


@pytest.mark.parametrize("predicate", [True, False])
def test_branches_write_different_references(predicate):
    a, b, c = (new_ref(np.float32(i)) for i in range(3))

    def when_true(x, given):
        a[...] = x
        given[...] = mul(given[...], x)
        return b[...]

    def when_false(x, given):
        b[...] = x
        return a[...] + x

    result = cond(predicate, when_true, when_false, np.float32(10), c)
    assert (result, a[...], b[...], c[...]) == ((1, 10, 1, 20) if predicate else (10, 0, 10, 2))


@pytest.mark.parametrize("index", range(3))
def test_switch_writes_what_the_chosen_branch_writes(index):
    ref = new_ref(np.zeros(3, np.float32))
    switch(index, [lambda: ref.__setitem__(0, 1.), lambda: ref.__setitem__(1, 1.), lambda: None])
    np.testing.assert_array_equal(ref[...], [index == 0, index == 1, 0])


def test_loops_in_loops():
    ref, expected = new_ref(np.zeros((3, 4), np.float32)), np.zeros((3, 4))

    def outer(i, _):
        fori_loop(0, 4, lambda j, _: ref.__setitem__((i, j), (ref[i, j - 1] if isinstance(j, int) else ref[i, 0]) + np.float32(1)), None)
        cond(lt(i, 1), lambda: ref.__setitem__((i, 0), np.float32(9)), lambda: None)
        return None

    fori_loop(0, 3, outer, None)
    for i in range(3):
        for j in range(4):
            expected[i, j] = expected[i, 0] + 1
        expected[i, 0] = 9 if i < 1 else expected[i, 0]
    np.testing.assert_array_equal(ref[...], expected)


# What is refused


def test_a_reference_given_twice_is_refused():
    ref = new_ref(0.)
    with pytest.raises(ValueError, match=r"for cond.*appeared at both x and y"):
        cond(True, lambda x, y: None, lambda x, y: None, ref, ref)
    with pytest.raises(ValueError, match="both closed over and passed as the argument row"):
        scan(lambda _, row: (None, row[...] + rows[0]), None, rows := new_ref(np.zeros(3, np.float32)))


def test_references_are_not_results_of_traced_functions():
    ref = new_ref(0.)
    with pytest.raises(ValueError, match=r"traced for scan returned a mutable array reference of type Ref\{float32\[\]\} at .*\[0\]"):
        scan(lambda c, x: (c, x), ref, np.zeros(3))
    with pytest.raises(ValueError, match="traced for cond returned a mutable array reference"):
        cond(True, lambda: ref, lambda: ref)
    with pytest.raises(ValueError, match=r"created on line .*test_refs.py"):
        cond(True, lambda: new_ref(1.), lambda: new_ref(2.))


def test_a_reference_of_a_finished_program_is_refused():
    kept = []
    stage(lambda x: [kept.append(new_ref(x))] and [], [new_ref(1.).aval.inner_aval])
    with pytest.raises(UnexpectedTracerError, match=r"Ref\{float32\[\]\}.*was used outside"):
        kept[0][...]


def test_the_callers_references_are_not_frozen():
    ref = new_ref(0.)
    with pytest.raises(ValueError, match="was not made by this function"):
        cond(True, lambda: freeze(ref), lambda: 1.)


@pytest.mark.parametrize("make", [lambda f: f, lambda f: lambda: evaluate(stage(lambda: f(), []))])
def test_reading_and_writing_as_methods(make):
    def f():
        ref = new_ref(np.arange(4.0, dtype=np.float32))
        old = ref.swap(np.float32(7), 1)
        ref.set(np.float32([8, 9]), slice(2, None))
        part, whole = ref.get(slice(0, 2)), ref.get()
        return [old, part, whole, ref.swap(np.zeros(4, np.float32)), ref.get(3)]

    old, part, whole, last, zero = make(f)()
    assert (old, zero) == (1, 0) and np.asarray(part).tolist() == [0, 7]
    assert np.asarray(whole).tolist() == np.asarray(last).tolist() == [0, 7, 8, 9]
