"""Programs that NumPy computes to the bits of the CPU's compiler, so that small ones need no compiler.

What moves elements, computes with integers and booleans, compares, or hashes keys has one right answer. So has a sum, difference, product,
quotient or square root of floats, which IEEE 754 rounds in one way; of these a program may have one, since the compiler makes a product and
a sum that follow each other one operation with one rounding. The values are looked at, too: the CPU's programs take subnormal floats for
zeros, and which NaN or which of two zeros comes out is nobody's to say. Then, and for all other programs, there is no answer here.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval, stored_in
from laminax_ir.ops import conversion, elementwise, shape_primitives
from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.reference.evaluate import apply, reference_rule, to_numpy
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.extended_dtypes import KeyDType
from laminax_ir.types.memory_spaces import MemorySpace

_EXACT = frozenset((Trait.EXACT_MOVE, Trait.EXACT_WHOLE, Trait.EXACT_COMPARISON, Trait.EXACT_CHOICE, Trait.EXACT_ROUNDING))


def _exactness(primitive: Primitive) -> Trait | None:
    """How far an operation's reference is exact; None if it is not."""
    return next(iter(primitive.traits & _EXACT), None)


def _follows_hashes(primitive: Primitive) -> bool:
    """Whether an operation may follow hashes in another program than theirs.

    Of `log(u) - log1p(-u)` the compiler makes other operations of one rounding according to what else the kernel does: one element of 640
    differed. Of those that may follow it has one choice only.
    """
    return Trait.EXACT_MOVE in primitive.traits or Trait.FOLLOWS_HASHES in primitive.traits


_CONVERSIONS = (conversion.convert_element_type_p, conversion.bitcast_convert_type_p)
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_HASH = "threefry2x32"  # the generator of keys whose bits are the same on all platforms
_MOST_BYTES = 1 << 22
_LONG_ROW, _MANY_WORDS = 32, 1024


class ExactProgram:
    """A program that NumPy computes to the compiler's bits, for most values of its arguments."""

    def __init__(self, closed: ClosedJaxpr) -> None:
        self._closed = closed
        self._steps = [(eqn, kind) for eqn in closed.jaxpr.eqns if (kind := _exactness(eqn.primitive)) is not None]
        for eqn in closed.jaxpr.eqns:  # so that the first run does not wait for imports
            reference_rule[eqn.primitive]

    @property
    def hashes(self) -> bool:
        """Whether it hashes keys, which is dear to compile."""
        return any([Trait.HASHES_KEYS in eqn.primitive.traits for eqn, _ in self._steps])

    @property
    def in_avals(self) -> list[ShapedArray]:
        return self._closed.in_avals

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self._closed.out_avals

    def run(self, args: Sequence[Any]) -> list[Any] | None:
        """The results as NumPy arrays, of keys their words; None if these values are the compiler's.

        Args:
          args: one array, or number of the argument's type, per argument; keys as key arrays.
        """
        program = self._closed.jaxpr
        env = {v: to_numpy(x, v.aval) for v, x in zip((*program.constvars, *program.invars), (*self._closed.consts, *args), strict=True)}

        def read(atom: Atom) -> Any:
            return to_numpy(atom.val, atom.aval) if type(atom) is Literal else env[atom]

        for eqn, kind in self._steps:
            operands = [read(v) for v in eqn.invars]
            if kind not in (Trait.EXACT_MOVE, Trait.EXACT_WHOLE) and not all(map(_is_plain, operands)):
                return None
            if kind is Trait.EXACT_CHOICE and _are_zeros_of_two_signs(*operands):
                return None
            results = apply(eqn.primitive, operands, eqn.params, [v.aval for v in eqn.outvars])
            if kind is Trait.EXACT_ROUNDING and not all(map(_is_plain, results)):
                return None
            env.update(zip(eqn.outvars, results))
        return [_stored(read(v), v.aval) for v in program.outvars]


def exact_program(closed: ClosedJaxpr) -> ExactProgram | None:
    """The program for NumPy; None if its operations are not exact there, or its values are large."""
    eqns = closed.jaxpr.eqns
    inputs: list[Atom] = [*closed.jaxpr.constvars, *closed.jaxpr.invars]
    if closed.effects or not all(map(_has_exact_type, inputs)) or sum([_num_bytes(v.aval) for v in inputs]) > _MOST_BYTES:
        return None
    if not all(map(_is_exact, eqns)) or sum(map(_is_rounding, eqns)) > 1:
        return None
    if sum([_num_bytes(v.aval) for eqn in eqns for v in eqn.outvars]) > _MOST_BYTES:
        return None
    known: set[Var] = set(closed.jaxpr.constvars)  # to the compiler, which simplifies what is computed with them
    for eqn in eqns:
        if _is_rounding(eqn) and not all([_is_kept(eqn, v, known) for v in eqn.invars]):
            return None
        if eqn.primitive is elementwise.div_p and eqn.outvars[0].aval.shape and eqn.invars[1] not in inputs:
            return None  # the compiler looks through broadcasts
        if all([type(v) is Literal or v in known for v in eqn.invars]):
            known.update(eqn.outvars)
    return ExactProgram(closed)


class ExactPart(Record):
    """The part of a program that NumPy computes exactly.

    exact: the whole program, or that from its arguments to values that follow from the hashes of keys.
    rest: from these values and the program's arguments to its results, for the compiler; None if nothing is left.
    """
    exact: ExactProgram
    rest: ClosedJaxpr | None = None


def exact_part(closed: ClosedJaxpr) -> ExactPart | None:
    """What NumPy computes of a program: all, or the hashes of keys; None if it computes nothing."""
    if (whole := exact_program(closed)) is not None:
        return ExactPart(whole)
    return _split_at_hashes(closed)


def _split_at_hashes(closed: ClosedJaxpr) -> ExactPart | None:
    """The parts of a program that hashes keys of its arguments; None if it does not, or if the hashes are many."""
    jaxpr = closed.jaxpr
    if closed.effects or closed.consts or not any(Trait.HASHES_KEYS in eqn.primitive.traits for eqn in jaxpr.eqns):
        return None
    exact: dict[Var, JaxprEqn | None] = dict.fromkeys([v for v in jaxpr.invars if _has_exact_type(v)])
    hashing: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if all([type(v) is Literal or v in exact for v in eqn.invars]) and _is_exact(eqn) and not _is_rounding(eqn):
            exact.update(dict.fromkeys(eqn.outvars, eqn))
            if Trait.HASHES_KEYS in eqn.primitive.traits:
                hashing.append(eqn)
    needed = set(hashing)
    for eqn in reversed(jaxpr.eqns):
        if eqn in needed:
            needed.update([source for v in eqn.invars if type(v) is Var and (source := exact[v]) is not None])
    first, second = [eqn for eqn in jaxpr.eqns if eqn in needed], [eqn for eqn in jaxpr.eqns if eqn not in needed]
    read = {v for atoms in (*[eqn.invars for eqn in second], jaxpr.outvars) for v in atoms if type(v) is Var}
    if any([not _follows_hashes(eqn.primitive) for eqn in second]):
        return None
    if _has_contractions(second) and not all([_has_long_rows(eqn.outvars[0].aval) for eqn in hashing]):
        return None
    between = [v for eqn in first for v in eqn.outvars if v in read]
    num_bytes = sum([_num_bytes(v.aval) for eqn in first for v in eqn.outvars])
    if not between or num_bytes > _MOST_BYTES or any([dtypes.is_extended(v.aval.dtype) for v in between]):
        return None
    return ExactPart(ExactProgram(ClosedJaxpr(Jaxpr([], jaxpr.invars, between, first, debug_info=jaxpr.debug_info))),
                     ClosedJaxpr(Jaxpr([], [*between, *jaxpr.invars], jaxpr.outvars, second, debug_info=jaxpr.debug_info)))


def _has_long_rows(aval: ShapedArray) -> bool:
    """Whether the compiler makes loops over the rows of a value, and does not write them out, with or without the hash in them.

    In such loops it rounds a product and the sum that follows at once. Rows of five numbers it writes out: of 64 of these 58 of 1,920
    numbers differed. A truncated normal initial value of 128 by 512 is there in 73 ms of the processor instead of 161.
    """
    return bool(aval.shape) and aval.shape[-1] >= _LONG_ROW and math.prod(aval.shape) >= _MANY_WORDS


def _has_contractions(eqns: Sequence[JaxprEqn]) -> bool:
    """Whether floats are multiplied and added one after the other: the compiler rounds both at once, in some kernels and not in others.

    A product with a power of two is exact, so that it makes no difference. Nor is there one in loops over long rows (`_has_long_rows`).
    """
    constants: dict[Var, Any] = {}
    products: set[Var] = set()
    for eqn in eqns:
        out, operands = eqn.outvars[0], [v.val if type(v) is Literal else constants.get(v) for v in eqn.invars]
        if eqn.primitive in (elementwise.add_p, elementwise.sub_p):
            if any([type(v) is Var and v in products for v in eqn.invars]):
                return True
            if not out.aval.shape and all([x is not None for x in operands]):
                constants[out] = apply(eqn.primitive, [np.asarray(x, out.aval.dtype) for x in operands], eqn.params, [out.aval])[0]
        elif eqn.primitive is elementwise.mul_p and _is_rounding(eqn):
            if not any([x is not None and np.ndim(x) == 0 and np.frexp(abs(float(x)))[0] == 0.5 for x in operands]):
                products.add(out)
    return False


def _has_exact_type(v: Atom) -> bool:
    aval = v.aval
    if not isinstance(aval, ShapedArray) or aval.memory_space is not MemorySpace.Device or type(aval.size) is not int:
        return False
    if dtypes.is_extended(aval.dtype):
        return isinstance(aval.dtype, KeyDType) and aval.dtype.impl.name == _HASH
    return aval.dtype in _FLOATS or aval.dtype.kind in "biu" and aval.dtype.isbuiltin == 1


def _num_bytes(aval: ShapedArray) -> int:
    words = physical_aval(aval) if dtypes.is_extended(aval.dtype) else aval
    return words.size * words.dtype.itemsize


def _is_exact(eqn: JaxprEqn) -> bool:
    """Whether the reference of an equation's operation is exact for operands of its types."""
    primitive, kind = eqn.primitive, _exactness(eqn.primitive)
    if kind is None or any([dtypes.is_extended(v.aval.dtype) and not _has_exact_type(v) for v in (*eqn.invars, *eqn.outvars)]):
        return False
    operands, result = [v.aval.dtype for v in eqn.invars], eqn.outvars[0].aval.dtype
    if kind is Trait.EXACT_WHOLE and any(dtype in _FLOATS for dtype in operands):
        return False
    if any(map(dtypes.is_extended, operands)) and (kind not in (Trait.EXACT_MOVE, Trait.EXACT_WHOLE) or primitive in _CONVERSIONS):
        return False
    if primitive is conversion.convert_element_type_p:  # of floats, and to booleans, only to what they are
        return operands[0] == result or operands[0] not in _FLOATS and result != np.dtype(bool)
    if primitive is elementwise.integer_pow_p:
        return eqn.params["y"] in (1, 2)
    if primitive is elementwise.div_p:
        return result in _FLOATS and eqn.invars[1].aval.shape == eqn.outvars[0].aval.shape  # else a product with the inverse
    return primitive is not shape_primitives.iota_p or result not in _FLOATS or eqn.outvars[0].aval.size < 1 << 24


def _is_rounding(eqn: JaxprEqn) -> bool:
    """Whether an equation rounds floats."""
    return _exactness(eqn.primitive) is Trait.EXACT_ROUNDING and eqn.outvars[0].aval.dtype in _FLOATS


def _is_kept(eqn: JaxprEqn, operand: Atom, known: set[Var]) -> bool:
    """Whether the compiler rounds with this operand as it is: of constants it drops zeros, and divides by their inverse."""
    if type(operand) is Literal:
        return eqn.primitive is not elementwise.div_p and bool(operand.val != 0)
    return operand not in known


def _stored(value: np.ndarray, aval: ShapedArray) -> np.ndarray:
    """A result as the array that stores it: keys as their words."""
    return stored_in(value) if dtypes.is_extended(aval.dtype) else value


def _is_plain(x: np.ndarray) -> bool:
    """Whether no element is a NaN or subnormal, or has the magnitude to which a subnormal may have been rounded."""
    if x.dtype not in _FLOATS:
        return True
    magnitude, tiny = np.abs(x), np.finfo(x.dtype).tiny
    if magnitude.size and magnitude.min() > tiny:
        return True
    return bool(np.all((magnitude > tiny) | (magnitude == 0)))


def _are_zeros_of_two_signs(x: np.ndarray, y: np.ndarray) -> bool:
    return x.dtype in _FLOATS and bool(np.any((x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))))
