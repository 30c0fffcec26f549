"""Symbolic dimensions: arithmetic and bounds against plain numbers put in for the variables, texts, constraints."""

import itertools
import math

import pytest

from laminax_ir.symbolic.symbolic_dims import InconclusiveDimensionOperation, SymbolicDim, max_dim, min_dim
from laminax_ir.symbolic.symbolic_parsing import parse_shape
from laminax_ir.symbolic.symbolic_scope import SymbolicScope
from laminax_ir.symbolic.symbolic_solving import ShapeSpecification
from laminax_ir.types.avals import ShapedArray

SCOPE = SymbolicScope()
A, B = parse_shape("a, b", SCOPE)

# Each a function that takes symbolic dimensions as well as ints.
FUNCTIONS = [
    lambda a, b: a + b * 2 - 3, lambda a, b: (a + b) * (a - b), lambda a, b: 5 - a * a, lambda a, b: -a, lambda a, b: a**2 * b,
    lambda a, b: (a + 7) // 3, lambda a, b: (a - 7) // -2, lambda a, b: (a - 7) % 4, lambda a, b: (3 - a) % -4,
    lambda a, b: (6 * a + 9) // 3,
    lambda a, b: (a * b + b) // b, lambda a, b: (a + b) // (b + 1), lambda a, b: (a + 2) % (b + 1), lambda a, b: 11 // (a + 1),
    lambda a, b: a - 2 * (a // 2), lambda a, b: max_dim(a, b) - a, lambda a, b: min_dim(a, 4) + max_dim(b - 3, 0),
    lambda a, b: b - max_dim(b - a, 0), lambda a, b: max_dim(15 - a, 0) // 3, lambda a, b: divmod(5 * a + 3, 5)[1] + divmod(a, b)[0],
    lambda a, b: -2 * (-b // 2) - b, lambda a, b: max_dim(a, b) - min_dim(a, b)]


@pytest.mark.parametrize("fun", FUNCTIONS)
def test_values_and_bounds_are_those_of_numbers(fun):
    found = fun(A, B)
    lower, upper = SCOPE.bounds(found)
    for a, b in itertools.product((1, 2, 3, 4, 5, 9, 16), repeat=2):
        value = found.evaluate({"a": a, "b": b}) if type(found) is SymbolicDim else found
        assert value == fun(a, b)
        assert lower <= value <= upper


@pytest.mark.parametrize("fun, bounds", [
    (lambda a, b: 5 * a - 2, (3, math.inf)), (lambda a, b: a % 5, (0, 4)), (lambda a, b: a - a // 2, (1, math.inf)),
    (lambda a, b: b - max_dim(b - a, 0), (1, math.inf)), (lambda a, b: max_dim(15 - a, 0), (0, 14)),
    (lambda a, b: a - b, (-math.inf, math.inf)),
    (lambda a, b: a - 2 * (a // 2), (0, 1)), (lambda a, b: max_dim(a, b) - a, (0, math.inf)), (lambda a, b: -11 // (a + 1), (-6, -1))])
def test_bounds_that_can_be_told_by_hand(fun, bounds):
    assert SCOPE.bounds(fun(A, B)) == bounds


def test_equal_expressions_are_equal():
    assert (A + B) * (A - B) == A * A - B * B and hash(A + B) == hash(B + A)
    assert A != B and A != 5 and A + 1 - A == 1 and type(A - A) is int
    assert (4 * A * B) // (2 * B) == 2 * A and (6 * A + 4) % 3 == 1
    assert ShapedArray((A + B, 3), "float32") is ShapedArray((B + A, 3), "float32")
    assert ShapedArray((A, 2 * B), "float32").str_short() == "f32[a,2*b]"


@pytest.mark.parametrize("text",
                         ["2*b + a", "a^2*b - 3", "- b + a", "3*a*mod(a + 2, b + 2)", "floordiv(a, 4) + a", "max(a, b)", "min(a, 5)"])
def test_texts_are_read_as_they_are_printed(text):
    (dim,) = parse_shape(text, SCOPE)
    assert str(dim) == text


def test_shapes_like_others():
    scope = SymbolicScope()
    assert parse_shape("(2, _, ...)", scope, (2, 3, 4, 5)) == (2, 3, 4, 5)
    assert parse_shape("", scope) == () and parse_shape("...", scope, (3,)) == (3,)
    b, three = parse_shape("b, ...", scope, (None, 3))
    assert str(b) == "b" and three == 3


@pytest.mark.parametrize("text, like, message", [
    ("2.5", None, "unexpected '2'"), ("a a", None, "expected the end"), ("a ^ a", None, "expected a number after"),
    ("_", None, "no 'like' shape was"),
    ("(a", None, "expected '\\)'"), ("mod(a)", None, "takes two operands"), ("..., 3", (1, 3), "must come last"),
    ("b, 3", (None, 4), "different size 3"),
    ("b, c, _", (2, 3), "we parsed 2 already and 'like' shape has only 2"), ("b", (2, 3), "has 1 axes, and 'like' shape has 2")])
def test_texts_that_cannot_be_read(text, like, message):
    with pytest.raises(ValueError, match=f"syntax error in symbolic shape '.*{message}"):
        parse_shape(text, SymbolicScope(), like)


@pytest.mark.parametrize("constraints, question", [
    (["a >= b", "b >= 4"], lambda a, b: a >= 3), (["a == 2*b"], lambda a, b: a == 2 * b and a > b),
    (["mod(a, 4) == 0"], lambda a, b: 4 * (a // 4) == a),
    (["2*a >= 5", "3*a <= 10"], lambda a, b: a <= 3 and a >= 3), (["max(a, b) == 5", "min(a, b) == 3"], lambda a, b: a <= 5 and b >= 3),
    (["a + 2 <= b"], lambda a, b: max_dim(a, b) == b)])
def test_constraints_decide(constraints, question):
    assert question(*parse_shape("a, b", SymbolicScope(constraints)))


@pytest.mark.parametrize("constraints, message", [
    ("a >= 1", "should be a sequence of strings"), (["a != 2"], "must contain one of '==' or '>=' or '<='"),
    (["a <= 0"], "Unsatisfiable explicit constraint: a <= 0"),
    (["a == a + 1"], "Unsatisfiable explicit constraint"), (["a >= b + 1", "b >= a"], "Unsatisfiable constraint")])
def test_constraints_that_cannot_be(constraints, message):
    with pytest.raises(ValueError, match=message):
        SymbolicScope(constraints)


def test_what_cannot_be_told_is_an_error():
    (a,) = parse_shape("a", SymbolicScope(["a >= 5"]))
    with pytest.raises(InconclusiveDimensionOperation, match=r"(?s)comparison 'a' >= '9' is inconclusive.*constraints:\s*a >= 5.*max_dim"):
        a >= 9
    with pytest.raises(InconclusiveDimensionOperation, match="'a - 7' is 0 is inconclusive"):
        bool(a - 7)
    with pytest.raises(InconclusiveDimensionOperation, match="in a context that requires a constant"):
        int(a)
    with pytest.raises(TypeError, match="is no number while a program is traced"):
        float(a)
    with pytest.raises(ValueError, match=r"(?s)Invalid mixing of symbolic scopes when computing a \+ a.*a >= 5.*and found for 'a' scope"):
        a + A
    with pytest.raises(InconclusiveDimensionOperation, match=r"Possible division by 0 in 'floordiv\(b, a - 7\)'"):
        B // (A - 7)


def test_variables_follow_from_sizes():
    given = [ShapedArray(parse_shape("a + 2*b, a, 7", SCOPE), "float32")]
    specification = ShapeSpecification(given, ["x"])
    assert specification.solve([(8, 2, 7)]) == {"a": 2, "b": 3}
    for shape, message in [((7, 2, 7),
                            "Division had remainder 1 when computing the value of 'b'.*'a' = 2 from specification 'a' for dimension "
                            r"x.shape\[1\] \(= 2\)"),
                           ((2, 2, 7), "Expected value >= 1 for dimension variable 'b'.*'b' = 0"),
                           ((8, 2, 6), r"Shape mismatch for x.shape\[2\] \(expected same constant\)")]:
        with pytest.raises(ValueError, match=message):
            specification.solve([shape])
    twice = ShapeSpecification([ShapedArray(parse_shape("a, a + 1", SCOPE), "float32")], ["x"])
    with pytest.raises(ValueError, match=r"x.shape\[1\] \(= 5\) and the specification 'a \+ 1' \(= 3\)"):
        twice.solve([(2, 5)])
    with pytest.raises(ValueError, match="Cannot solve for values of dimension variables {'a'}.*'a\\^2' for dimension size x.shape"):
        ShapeSpecification([ShapedArray((A * A,), "float32")], ["x"])
